"""The neutral face of a person, found among talking, blinking and turning."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Floats
from streamdeid.observe.neutral import NeutralEstimator
from streamdeid.observe.rest import opened
from tests.drawn_faces import some_identity, with_mouth


def _blinked(shape: Floats) -> Floats:
    shape = shape.copy()
    for upper, lower in (((37, 38), (41, 40)), ((43, 44), (47, 46))):
        shape[list(upper)] = shape[list(lower)]
    return shape


def _texture(level: float) -> NDArray[np.float32]:
    return np.full((50, 3), level, np.float32)


def _feed(
    estimator: NeutralEstimator, shape: Floats, level: float = 100.0, yaw: float = 0.0, hair: float | None = None
) -> None:
    estimator.observe(shape, yaw, 0.0, _texture(level), _texture(level), hair)


@pytest.fixture(scope="module")
def rest(model: AppearanceModel) -> Floats:
    return with_mouth(model.decode(some_identity(model, 2))[0], 0.0)


def test_rest_is_found_among_speech_blinks_and_turns(rest: Floats) -> None:
    rng = np.random.default_rng(1)
    estimator = NeutralEstimator()
    for i in range(120):
        noisy = rest + rng.normal(0, 0.3, rest.shape)
        if i % 4 == 0:
            _feed(estimator, noisy, 100)
        elif i % 4 == 1:
            _feed(estimator, with_mouth(noisy, 0.5), 50)
        elif i % 4 == 2:
            _feed(estimator, _blinked(noisy), 150)
        else:
            _feed(estimator, noisy, 200, yaw=0.7)
    neutral = estimator.neutral(0.0)
    np.testing.assert_allclose(neutral.shape, rest, atol=0.8)
    np.testing.assert_allclose(neutral.small_texture, 100)
    np.testing.assert_allclose(estimator.texture(), 100)
    np.testing.assert_array_equal(estimator.shape(), neutral.shape)


def test_a_head_that_never_faces_the_camera_is_known_to_be_turned(rest: Floats) -> None:
    estimator = NeutralEstimator()
    for i in range(20):
        _feed(estimator, rest, 100, yaw=0.5 + 0.01 * (i % 3))
    assert estimator.neutral(0.0).yaw == pytest.approx(0.5, abs=0.02)
    for _ in range(40):
        _feed(estimator, rest, 140, yaw=0.0)
    assert [estimator.neutral(float(time)).yaw for time in range(1, 61)][-1] == pytest.approx(0, abs=0.02)


def test_a_few_frames_at_rest_outweigh_many_others(rest: Floats) -> None:
    estimator = NeutralEstimator()
    for i in range(24):
        _feed(estimator, rest if i < 9 else with_mouth(rest, 0.5), 100 if i < 9 else 200)
    np.testing.assert_allclose(estimator.neutral(0.0).shape, rest, atol=1e-9)
    np.testing.assert_allclose(estimator.texture(), 100)


def test_what_is_asked_for_is_what_would_be_kept(rest: Floats) -> None:
    estimator = NeutralEstimator()
    assert not estimator.ready and estimator.wants(with_mouth(rest, 0.8), 0.5, 0.0)
    talking = with_mouth(rest, 0.3)
    for _ in range(60):
        _feed(estimator, talking)
    assert estimator.ready
    assert estimator.wants(rest, 0.0, 0.0)
    assert not estimator.wants(with_mouth(rest, 0.6), 0.0, 0.0)
    assert not estimator.wants(_blinked(talking), 0.0, 0.0)
    assert not estimator.wants(talking, 0.5, 0.0) and not estimator.wants(talking, 0.0, -0.5)


def test_memory_does_not_grow(rest: Floats) -> None:
    estimator = NeutralEstimator()
    for _ in range(300):
        _feed(estimator, rest)
    assert len(estimator._kept) < 100


def test_a_shown_neutral_does_not_jump(rest: Floats) -> None:
    estimator = NeutralEstimator()
    _feed(estimator, with_mouth(rest, 0.5), 60)
    first = estimator.neutral(0.0)
    for _ in range(40):
        _feed(estimator, rest, 120)
    levels = [float(estimator.neutral(i / 25).small_texture.mean()) for i in range(1, 1500)]
    steps = np.diff([float(first.small_texture.mean()), *levels])
    assert steps.max() <= 60 * 0.3 and (steps >= -1e-4).all(), "a fraction of the way at a time, never back"
    assert levels[-1] == pytest.approx(120, abs=2), "and it gets there"
    np.testing.assert_allclose(estimator.neutral(60.0).shape, rest, atol=0.3)


def test_a_neutral_moves_the_more_slowly_the_longer_it_has_been_known(rest: Floats) -> None:
    mouths, levels = [], []
    for known in (1, 5, 60):
        estimator = NeutralEstimator()
        wide = _smiling(rest, 0.2)
        _feed(estimator, wide, 60)
        for i in range(25 * known):
            estimator.neutral(i / 25)
        for _ in range(40):
            _feed(estimator, rest, 120)
        after = [estimator.neutral(known + i / 25) for i in range(50)][-1]
        mouths.append(float(np.abs(after.shape - wide).max() / np.abs(rest - wide).max()))
        levels.append(float(after.small_texture.mean()) - 60)
    assert 0.9 > mouths[0] > 1.5 * mouths[1] > 1.5 * 1.1 * mouths[2] > 0.1, mouths
    assert max(levels) - min(levels) < 6 and min(levels) > 30, "light changes as fast as ever"


def test_what_was_known_of_a_turned_head_counts_for_nothing_when_it_faces_the_camera(rest: Floats) -> None:
    estimator, turned = NeutralEstimator(), _smiling(rest, 0.05)
    for i in range(25 * 60):
        if i < 100:
            _feed(estimator, turned, yaw=0.9)
        estimator.neutral(i / 25)
    for _ in range(40):
        _feed(estimator, rest)
    after = [estimator.neutral(60 + i / 25) for i in range(75)][-1]
    assert np.abs(after.shape - rest).max() < 0.4 * np.abs(turned - rest).max(), "within three seconds"


def test_one_long_smile_of_somebody_known_for_a_minute_is_no_rest(rest: Floats) -> None:
    estimator = NeutralEstimator()
    for i in range(1500 + 600):
        _feed(estimator, rest if i < 1500 else _smiling(rest, 0.2), yaw=0.05 if i < 1500 else 0.0)
    np.testing.assert_allclose(estimator.shape(), rest, atol=0.01)


def _smiling(shape: Floats, much: float) -> Floats:
    """With the corners of a shut mouth drawn apart and up, by so many shares of its width."""
    shape = shape.copy()
    width = shape[54, 0] - shape[48, 0]
    shape[[48, 60]] += (-much * width / 2, -much * width / 2)
    shape[[54, 64]] += (much * width / 2, -much * width / 2)
    return shape


def test_who_smiles_with_a_shut_mouth_for_a_while_is_not_at_rest_smiling(rest: Floats) -> None:
    rng = np.random.default_rng(3)
    estimator, shown = NeutralEstimator(), []
    for i in range(500):
        smiles = i >= 100 and i % 100 < 40
        # The smile is the calmer of the two: eyes and head say nothing against it.
        shape = _smiling(rest, 0.2) if smiles else with_mouth(rest, 0.02) + rng.normal(0, 0.2, rest.shape)
        _feed(estimator, shape, yaw=0.0 if smiles else 0.05)
        shown.append(estimator.neutral(i / 25).shape)
    corners = np.array([s[[48, 54]] for s in shown])
    away = np.abs(corners - rest[[48, 54]]).max()
    assert away < 0.25 * np.abs(_smiling(rest, 0.2) - rest).max(), "at any time"


@pytest.mark.parametrize(("every", "known"), [(1, True), (2, True), (5, False)])
def test_hair_is_known_when_half_the_frames_know_it(rest: Floats, every: int, known: bool) -> None:
    estimator = NeutralEstimator()
    for i in range(20):
        # The same restlessness for all: whichever half is kept, the share of those that know is that of all.
        _feed(estimator, rest, hair=-0.5 if i % every == 0 else None)
    hair = estimator.neutral(0.0).hair
    assert hair == (pytest.approx(-0.5) if known else None)


def test_who_leans_out_of_the_picture_keeps_the_hair_they_had(rest: Floats) -> None:
    """Irises and brows go with it, and would jump."""
    estimator = NeutralEstimator()
    for _ in range(20):
        _feed(estimator, rest, yaw=0.2, hair=-1.2)
    assert estimator.neutral(0.0).hair == pytest.approx(-1.2)
    shown = []
    for i in range(200):  # calmer than what was seen before
        _feed(estimator, rest, hair=None)
        shown.append(estimator.neutral(i / 25).hair)
    assert shown == pytest.approx([-1.2] * 200)


def test_one_cap_does_not_make_the_hair_dark(rest: Floats) -> None:
    estimator = NeutralEstimator()
    for i in range(20):
        _feed(estimator, rest, hair=-2.0 if i == 3 else -0.2)
    assert estimator.neutral(0.0).hair == pytest.approx(-0.2)


def test_frames_without_a_full_texture_do_not_count_towards_it(rest: Floats) -> None:
    estimator = NeutralEstimator()
    for i in range(10):
        estimator.observe(rest, 0.0, 0.0, _texture(10), _texture(80) if i % 2 else None)
    np.testing.assert_allclose(estimator.texture(), 80)


def _squinted(shape: Floats, share: float) -> Floats:
    """With eyes open by a share of what they are."""
    return _blinked(shape) + share * (shape - _blinked(shape))


def test_who_squints_for_most_of_a_shot_is_known_to_open_the_eyes_wider(rest: Floats) -> None:
    estimator = NeutralEstimator()
    for i in range(200):
        _feed(estimator, rest if i % 10 < 3 else _squinted(rest, 0.5))
    neutral = estimator.neutral(0.0)
    np.testing.assert_allclose(neutral.shape, _squinted(rest, 0.5), atol=1e-6)
    assert neutral.open == pytest.approx(2 / 1.15)
    lids = opened(neutral.shape, neutral.open)[[37, 38, 43, 44]] - neutral.shape[[41, 40, 47, 46]]
    np.testing.assert_allclose(lids, 0.5 * neutral.open * (rest[[37, 38, 43, 44]] - rest[[41, 40, 47, 46]]), atol=1e-6)


def test_blinks_and_noise_and_a_stare_now_and_then_say_nothing_of_how_eyes_open(rest: Floats) -> None:
    rng = np.random.default_rng(4)
    estimator = NeutralEstimator()
    for i in range(200):
        shape = _squinted(rest, 1.5) if i % 10 == 0 else _blinked(rest) if i % 10 == 1 else rest
        _feed(estimator, shape + rng.normal(0, 0.2, rest.shape))
    neutral = estimator.neutral(0.0)
    assert neutral.open == 1.0
    assert opened(neutral.shape, neutral.open) is neutral.shape


def test_how_wide_eyes_open_changes_slowly_and_is_bounded(rest: Floats) -> None:
    estimator = NeutralEstimator()
    for _ in range(100):
        _feed(estimator, _squinted(rest, 0.3))
    assert estimator.neutral(0.0).open == 1.0
    for _ in range(60):
        _feed(estimator, rest)
    shown = [estimator.neutral(1 + n / 25).open for n in range(500)]
    assert all(0 <= b - a < 0.3 for a, b in itertools.pairwise(shown)) and shown[-1] == pytest.approx(2.0, abs=0.05)
