"""The rule for gender: its third class, what it is learnt from, and how right it is about people it has not seen."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from streamdeid.aam import variations
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.train import sample_of, texture_of_sample
from streamdeid.aam.variations import filmed, variation
from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.surrogates.attributes import EITHER, ELSEWHERE, GENDER_SURE, fit_discriminant, rule_for
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.gender_rule import SHAPE_SHRINKAGE, SHRINKAGE, learn_gender, rightness
from tests import simulated_faces
from tests.drawn_faces import pose_at, scene, some_identity


def _people(count: int = 30, gap: float = 6.0) -> tuple[list[Floats], list[str]]:
    """People of two classes `gap` standard deviations apart along one of eight dimensions, in four variations each."""
    rng = np.random.default_rng(3)
    labels = ["female", "male"] * (count // 2)
    centres = rng.standard_normal((count, 8))
    centres[:, 0] += np.where(np.array(labels) == "male", gap / 2, -gap / 2)
    return [centre + 0.2 * rng.standard_normal((4, 8)) for centre in centres], labels


def test_clear_people_are_told_right_and_others_are_either() -> None:
    people, labels = _people()
    rule = learn_gender(people, labels)
    assert rule is not None and rule.names.tolist() == ["female", "male"]
    right, neither, wrong = rightness(rule, labels)
    assert right > 0.9 and wrong < 1e-9 and right + neither + wrong == pytest.approx(1.0)
    people, labels = _people(gap=2.0)
    rule = learn_gender(people, labels)
    assert rule is not None
    assert rightness(rule, labels)[1] > 0.3
    wrong = [rightness(rule, labels, name)[2] for name in ("female", "male")]
    assert wrong[1] < 0.1 < wrong[0] < 0.25  # a forced choice would be wrong about one of six of both


def test_people_are_judged_by_a_rule_that_has_not_seen_them() -> None:
    """With labels dealt out at random there is nothing to learn: whoever were judged by their own rule would be told
    right all the same."""
    people, labels = _people(gap=0.0)
    rule = learn_gender(people, labels)
    assert rule is not None
    right, _, wrong = rightness(rule, labels)
    assert right - wrong < 0.35
    np.testing.assert_allclose(rule.seen.sum(axis=1), 1.0)


def test_without_two_classes_there_is_no_rule() -> None:
    people, _ = _people(4)
    assert learn_gender(people, ["female"] * 4) is None
    assert learn_gender(people, [""] * 4) is None
    assert learn_gender(people, ["female", "female", "female", "male"]) is None  # nobody is left to learn men from
    assert learn_gender(people, ["female", "male", "female", "male"]) is not None
    with pytest.raises(SettingsError, match="two genders"):
        rule_for(simulated_faces.gallery(), "gender")


def test_who_states_no_gender_is_judged_and_teaches_nothing() -> None:
    people, labels = _people()
    hidden = ["", *labels[1:]]
    rule, without = learn_gender(people, hidden), learn_gender(people[1:], labels[1:])
    assert rule is not None and without is not None
    np.testing.assert_allclose(rule.weights, without.weights)
    assert rule.seen[0, 0] == 1.0
    assert rightness(rule, hidden)[0] == pytest.approx(rightness(without, labels[1:])[0])


def test_the_shipped_rule_is_right_about_donors_and_takes_the_mean_face_for_no_woman(gallery: Gallery) -> None:
    rule = rule_for(gallery, "gender")
    assert rule.sure == GENDER_SURE and rule.classes == ("female", "male", EITHER)
    found = np.array([rule.estimate(y) for y in gallery.identities])
    assert (found == gallery.gender).mean() > 0.9
    assert not ((found != gallery.gender) & (found != EITHER)).any()
    assert rule.estimate(np.zeros(gallery.identities.shape[1])) != "female"
    assert gallery.gender_rule is not None
    for name, least, most in (("female", 0.5, 0.1), ("male", 0.85, 0.02)):  # models/CARD.md
        right, _, wrong = rightness(gallery.gender_rule, gallery.gender.tolist(), name)
        assert right > least and wrong < most


def test_people_before_other_cameras_are_judged_by_a_moved_border_and_drawn_faces_are_not(gallery: Gallery) -> None:
    rule = rule_for(gallery, "gender")
    female, male = rule.names.index("female"), rule.names.index("male")
    along = rule.weights[male] - rule.weights[female]
    drawn = (rule.offsets[female] - rule.offsets[male]) / (along @ along) * along
    one = along / (along @ along)  # adds 1 to the log odds
    for more, sure in ((0.0, False), (GENDER_SURE - 0.01, False), (GENDER_SURE + 0.01, True)):
        assert rule.odds((drawn + more * one)[None])[0] == pytest.approx(more, abs=1e-9)
        assert rule.unsure((drawn + more * one)[None])[0] != sure
    moved = drawn - ELSEWHERE["male"] * one
    for more, told in ((-GENDER_SURE - 0.01, "female"), (0.01 - GENDER_SURE, EITHER), (0.0, EITHER)):
        assert rule.estimate(moved + more * one) == told
    assert [rule.estimate(moved + more * one) for more in (GENDER_SURE - 0.01, GENDER_SURE + 0.01)] == [EITHER, "male"]


def test_the_shape_counts_a_quarter() -> None:
    """Landmarks of small faces are not exact. People who differ in the shape as much as in the texture are told by the
    texture; the shape alone moves a score by a quarter of what the same rule would move it by."""
    rng = np.random.default_rng(5)
    labels = ["female", "male"] * 20
    side = np.where(np.array(labels) == "male", 1.5, -1.5)
    people = [np.array([s, 0, s, 0]) + 0.8 * rng.standard_normal((4, 4)) for s in side]
    rows = np.concatenate(people)
    rule = learn_gender(people, labels, 2)
    assert rule is not None
    parts = [
        fit_discriminant(rows[:, some], np.repeat(labels, 4).tolist(), shrinkage)
        for some, shrinkage in ((slice(0, 2), SHAPE_SHRINKAGE), (slice(2, 4), SHRINKAGE))
    ]
    np.testing.assert_allclose(rule.weights[:, :2], 0.25 * parts[0].weights)
    np.testing.assert_allclose(rule.weights[:, 2:], parts[1].weights)
    np.testing.assert_allclose(rule.offsets, 0.25 * parts[0].offsets + parts[1].offsets)


def test_faces_between_the_classes_are_those_nearest_to_the_border(gallery: Gallery) -> None:
    rule = rule_for(gallery, "gender")
    between = rule.between(gallery.identities, gallery.gender.tolist())
    assert between.sum() == 44
    odds = np.abs(np.diff(gallery.identities @ rule.weights.T + rule.offsets, axis=1)[:, 0])
    for name in rule.names:
        own = gallery.gender == name
        assert (between & own).sum() == 22
        assert odds[between & own].max() <= odds[~between & own].min()


def test_variations_keep_the_person_and_change_what_cameras_change(model: AppearanceModel) -> None:
    plain, varied = [], []
    for seed in range(5):
        shape, texture = model.decode(some_identity(model, seed, 0.5))
        view = scene(model, shape, texture, pose_at(model, 200.0), (300, 320))
        given = sample_of(view.rgb, view.face)
        plain.append(model.identity(given.points, texture_of_sample(given, model.mean_shape, model.table)))
        rng = np.random.default_rng(seed)
        varied.append([variation(given, model, rng) for _ in range(24)])
    spread = np.array(varied) - np.array(plain)[:, None]
    assert (np.linalg.norm(spread, axis=2) > 0.1 * np.linalg.norm(np.array(plain), axis=1)[:, None]).all()
    apart = np.linalg.norm(np.mean(varied, axis=1)[:, None] - np.array(plain), axis=2)
    assert (apart.argmin(axis=1) == np.arange(len(plain))).all()


def test_variations_follow_the_seed(model: AppearanceModel) -> None:
    shape, texture = model.decode(some_identity(model, 1, 0.5))
    given = sample_of(*(lambda view: (view.rgb, view.face))(scene(model, shape, texture, pose_at(model, 200.0))))
    one, two, other = (variation(given, model, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, other)


def test_every_other_variation_is_seen_in_a_mirror(model: AppearanceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a change of light or turn two variations are left."""
    monkeypatch.setattr(variations, "_lit", lambda texture, model, rng: texture)
    monkeypatch.setattr(variations, "_TURN", 0.0)
    shape, texture = model.decode(some_identity(model, 1, 0.5))
    given = sample_of(*(lambda view: (view.rgb, view.face))(scene(model, shape, texture, pose_at(model, 200.0))))
    found = [variation(given, model, np.random.default_rng(seed)) for seed in range(24)]
    same = [np.allclose(one, found[0]) for one in found]
    assert 6 <= sum(same) <= 18
    other = found[same.index(False)]
    assert all(np.allclose(one, found[0]) or np.allclose(one, other) for one in found)


@pytest.mark.parametrize("name", ["_NOISE", "_SHARPENED", "_SATURATION", "_GAMMA", "_TONE", "_EXPOSURE", "_SHOWN"])
def test_everything_that_differs_between_cameras_changes_the_picture(
    name: str, model: AppearanceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = scene(model, *model.decode(some_identity(model, 1, 0.5)), pose_at(model, 200.0), (300, 320))
    without = {"_NOISE": (1e-9, 1e-8), "_SHARPENED": -0.8, "_SHOWN": (1 - 1e-9, 1.0)}.get(name, 0.0)
    before = [filmed(view.rgb, 200.0, np.random.default_rng(seed)) for seed in range(6)]
    monkeypatch.setattr(variations, name, without)
    after = [filmed(view.rgb, 200.0, np.random.default_rng(seed)) for seed in range(6)]
    assert any((one != other).mean() > 0.2 for one, other in zip(before, after, strict=True))


def test_a_filmed_photograph_shows_the_same_smaller_and_softer(
    model: AppearanceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, texture = model.decode(some_identity(model, 1, 0.5))
    view = scene(model, shape, texture, pose_at(model, 200.0), (300, 320))
    width = float(np.ptp(view.face.landmarks[:, 0])) if view.face.landmarks is not None else 0.0
    sizes = set()
    for seed in range(12):
        seen = filmed(view.rgb, width, np.random.default_rng(seed))
        again = filmed(view.rgb, width, np.random.default_rng(seed))
        np.testing.assert_array_equal(seen, again)
        assert seen.dtype == np.uint8 and seen.shape[2] == 3 and min(seen.shape[:2]) >= 160
        with monkeypatch.context() as without:  # a border
            without.setattr(variations, "_LEAST_SIDE", 0)
            seen = filmed(view.rgb, width, np.random.default_rng(seed))
        sizes.add(seen.shape)
        side = 36, 34  # reduced to the smallest size, both show the same
        one, other = (cv2.resize(each, side, interpolation=cv2.INTER_AREA).mean(axis=2) for each in (seen, view.rgb))
        assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.9
    assert len(sizes) > 6
