"""What a file keeps of a face: near the face, the same when it is kept again, read as it was written."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamdeid.analysis.keypoint_coding import coded_keypoints, decoded_keypoints, keypoint_bytes
from streamdeid.analysis.point_coding import Misfit, coded, coded_bytes, decoded
from streamdeid.analysis.stored_faces import (
    HAS_KEYPOINTS,
    FaceNumbers,
    KeypointNumbers,
    face_from,
    fit_together,
    numbers_of,
    points_of,
    stored,
)
from streamdeid.core.faces import Face, Keypoints
from tests.analysis.made_recordings import assert_same_face, made_face, made_keypoints

_ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)
_BOX = st.floats(-1e9, 1e9)
_SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("width", [3.0, 20.0, 77.7, 300.0, 1900.0])
def test_a_kept_face_is_near_the_face(width: float) -> None:
    face = made_face(np.random.default_rng(1), width)
    kept = stored(face)
    most = max(face.width, face.height) / 1800 * 1.1 + 2**-11  # half a step, and the finest one
    for name in ("landmarks", "forehead", "iris", "depth", "mesh"):
        assert np.abs(getattr(kept, name) - getattr(face, name)).max() <= (
            most if name in ("mesh", "iris") else 3 * most
        )
    assert kept.box[0] <= face.box[0] <= kept.box[0] + 1 / 64 and kept.box[3] - 1 / 64 <= face.box[3] <= kept.box[3]
    assert abs(kept.score - face.score) <= 1 / 65_536 >= abs(kept.evidence - face.evidence)
    assert kept.keypoints is not None and face.keypoints is not None
    assert np.abs(kept.keypoints.points - face.keypoints.points).max() <= most
    assert np.abs(np.subtract(kept.keypoints.box, face.keypoints.box)).max() <= most
    assert abs(kept.keypoints.score - face.keypoints.score) <= 1 / 65_536
    assert kept.surveyed is not None and face.surveyed is not None
    assert abs(kept.surveyed - face.surveyed) <= 1 / 4096


@given(
    _SEEDS,
    st.floats(0.5, 4000),
    st.floats(-3000, 30_000),
    st.sets(st.sampled_from(["iris", "depth", "mesh", "landmarks", "keypoints", "surveyed"])),
)
@settings(deadline=None, max_examples=60)
def test_keeping_what_was_kept_changes_nothing(seed: int, width: float, place: float, left_out: set[str]) -> None:
    face = replace(made_face(np.random.default_rng(seed), width, place, -place / 2), **dict.fromkeys(left_out))
    kept = stored(face)
    assert_same_face(kept, stored(kept))
    for name in ("keypoints", "surveyed", "landmarks"):
        assert (getattr(kept, name) is None) == (name in left_out)


@given(st.tuples(_ANY, _ANY, _ANY, _ANY), arrays(np.float64, (5, 2), elements=_ANY, fill=_ANY), _ANY, _ANY)
@settings(deadline=None, max_examples=100)
def test_of_any_keypoints_something_sound_is_kept_or_nothing(
    box: tuple[float, float, float, float], points: np.ndarray, score: float, surveyed: float
) -> None:
    face = replace(made_face(np.random.default_rng(0)), keypoints=Keypoints(box, points, score), surveyed=surveyed)
    kept = stored(face)
    assert_same_face(kept, stored(kept))
    assert kept.landmarks is not None
    assert (kept.surveyed is None) == (not np.isfinite(surveyed))
    if kept.keypoints is not None:
        x0, y0, x1, y1 = kept.keypoints.box
        assert x0 < x1 and y0 < y1 and np.isfinite(kept.keypoints.points).all() and 0 <= kept.keypoints.score <= 1


@pytest.mark.parametrize(
    "wrong",
    [
        Keypoints((90.0, 40.0, 110.0, 60.0), np.full((5, 2), np.nan), 0.9),
        Keypoints((90.0, 40.0, 110.0, float("inf")), np.full((5, 2), 50.0), 0.9),
        Keypoints((90.0, 40.0, 110.0, 60.0), np.full((5, 2), 5000.0), 0.9),
        Keypoints((110.0, 40.0, 90.0, 60.0), np.full((5, 2), 50.0), 0.9),
        Keypoints((90.0, 40.0, 110.0, 60.0), np.full((5, 2), 50.0), float("nan")),
    ],
)
def test_keypoints_that_cannot_be_are_left_out_and_nothing_else(wrong: Keypoints) -> None:
    face = made_face(np.random.default_rng(2))
    assert_same_face(stored(replace(face, keypoints=wrong)), stored(replace(face, keypoints=None)))


def test_keypoints_alone_are_kept() -> None:
    """A profile whose mesh nobody believes: a second network sees it, the landmarker does not."""
    face = Face((60.0, 10.0, 140.0, 90.0), 0.5, keypoints=made_keypoints(np.random.default_rng(1)))
    numbers = numbers_of(face)
    assert numbers.parts == HAS_KEYPOINTS and points_of(numbers.parts) == 0
    kept = face_from(numbers)
    assert kept.landmarks is None and kept.keypoints is not None and kept.outline == kept.keypoints.box


@given(_SEEDS, st.booleans())
@settings(deadline=None, max_examples=40)
def test_the_wildest_keypoints_are_read_as_they_were_coded(seed: int, predict: bool) -> None:
    rng = np.random.default_rng(seed)
    faces = []
    for box in rng.integers(-1000, 1000, (70, 2)).tolist():
        keys = rng.integers(-(1 << 14) + 1, 1 << 14, (7, 2))
        keys[:2].sort(axis=0)
        keys[1] = np.maximum(keys[1], keys[0] + 1) if keys[0].max() < (1 << 14) - 1 else keys[1]
        numbers = KeypointNumbers(keys, int(rng.integers(0, 32_769))) if (keys[1] > keys[0]).all() else None
        parts = (0 if numbers is None else HAS_KEYPOINTS) | int(rng.integers(0, 2))
        faces.append(FaceNumbers((*box, 2000, 2000), 0, 0, 0, parts, np.zeros((0, 3), np.int64), numbers))
    data = coded_keypoints(faces, predict=predict)
    parts_of = [face.parts for face in faces]
    assert len(data) == keypoint_bytes(parts_of)
    for face, read in zip(faces, decoded_keypoints(b"ab" + data, 2, parts_of), strict=True):
        if face.keypoints is None or read is None:
            assert face.keypoints is read
        else:
            assert (face.keypoints.points == read.points).all() and face.keypoints.score == read.score


@given(_SEEDS, st.integers(0, 400))
@settings(deadline=None, max_examples=60)
def test_bytes_that_nobody_coded_are_keypoints_or_refused(seed: int, changes: int) -> None:
    rng = np.random.default_rng(seed)
    faces = [numbers_of(made_face(rng, 100, 100 + 5 * i)) for i in range(6)]
    parts = [face.parts for face in faces]
    data = bytearray(coded_keypoints(faces))
    for place in rng.integers(0, len(data), changes):
        data[place] = rng.integers(0, 256)
    try:
        read = decoded_keypoints(bytes(data), 0, parts)
    except Misfit:
        return
    for one in read:
        assert one is not None and np.abs(one.points).max() < 1 << 14 and one.score <= 32_768
        assert (one.points[0] < one.points[1]).all()


def test_keypoints_that_stay_where_they_were_cost_little() -> None:
    seen = made_keypoints(np.random.default_rng(5))
    faces = []
    for i in range(30):
        x, y = 5.3 * i, 3.1 * i
        x0, y0, x1, y1 = seen.box
        moved = Keypoints((x0 + x, y0 + y, x1 + x, y1 + y), seen.points + np.array((x, y)), 0.9)
        faces.append(numbers_of(Face((60.0 + x, 10.0 + y, 140.0 + x, 90.0 + y), 0.5, keypoints=moved)))
    assert len(zlib.compress(coded_keypoints(faces))) < 30 * 6


@given(
    st.tuples(_BOX, _BOX, _BOX, _BOX),
    arrays(np.float64, (468, 3), elements=_ANY, fill=_ANY),
    arrays(np.float64, (81, 2), elements=_ANY, fill=_ANY),
    _ANY.filter(lambda value: value == value),
)
@settings(deadline=None, max_examples=60)
def test_of_any_face_something_is_kept(
    box: tuple[float, ...], mesh: np.ndarray, points: np.ndarray, score: float
) -> None:
    x0, y0, x1, y1 = box
    kept = stored(Face((x0, y0, x1, y1), score, points[:68], points[68:], presence=score, mesh=mesh))
    assert_same_face(kept, stored(kept))
    assert 0 <= kept.score <= 1
    if not (np.isfinite(mesh).all() and np.isfinite(points).all()):
        assert kept.landmarks is None and kept.mesh is None
    if kept.landmarks is not None:
        assert np.isfinite(kept.landmarks).all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_box_that_is_no_place_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        stored(Face((0.0, bad, 1.0, 1.0), 1.0))


def test_landmarks_without_forehead_points_are_not_kept() -> None:
    kept = stored(replace(made_face(np.random.default_rng(2)), forehead=None))
    assert kept.landmarks is None and kept.mesh is None and kept.presence > 0


def test_landmarks_that_are_not_the_meshs_are_kept_beside_it() -> None:
    face = made_face(np.random.default_rng(3))
    assert face.landmarks is not None
    other = replace(face, landmarks=face.landmarks + 1.0)
    kept = stored(other)
    assert kept.landmarks is not None and np.abs(kept.landmarks - other.landmarks).max() < 0.1
    assert numbers_of(other).points.shape[0] == 81 + 10 + 468 > numbers_of(face).points.shape[0]


def _followed(rng: np.random.Generator) -> list[FaceNumbers]:
    """Two faces that move, one with fewer parts, and one without landmarks."""
    faces: list[Face] = []
    for i in range(20):
        faces += [made_face(rng, 60 + i, 100 + 2 * i), Face((0.0, 0.0, 9.0, 9.0), 0.5)]
        faces.append(
            replace(made_face(rng, 200, 300 - i), mesh=None, iris=None if i % 2 else np.full((2, 5, 2), 300.0))
        )
    return [numbers_of(face) for face in faces]


def test_points_are_read_as_they_were_coded() -> None:
    faces = _followed(np.random.default_rng(4))
    parts = [face.parts for face in faces]
    assert len(set(parts)) == 4
    data = coded(faces)
    assert len(data) == coded_bytes(parts)
    for face, points in zip(faces, decoded(data, parts), strict=True):
        assert (face.points == points).all()
        assert_same_face(face_from(replace(face, points=points)), face_from(face))


@given(_SEEDS, st.booleans())
@settings(deadline=None, max_examples=20)
def test_the_wildest_points_are_read_as_they_were_coded(seed: int, predict: bool) -> None:
    rng = np.random.default_rng(seed)
    parts = [int(rng.choice([p for p in range(32) if fit_together(p)])) for _ in range(6)]
    wild = [rng.integers(-(1 << 14) + 1, 1 << 14, (points_of(part), 3)) for part in parts]
    faces = [FaceNumbers((0, 0, 64, 64), 0, 0, 0, part, points) for part, points in zip(parts, wild, strict=True)]
    read = decoded(coded(faces, predict=predict), parts)
    assert all((points == face.points).all() for points, face in zip(read, faces, strict=True))


@given(_SEEDS, st.integers(1, 400))
@settings(deadline=None, max_examples=40)
def test_bytes_that_nobody_coded_are_points_or_refused(seed: int, changes: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [31, 0, 1, 9, 31]
    data = bytearray(coded_bytes(parts))
    for place in rng.integers(0, len(data), changes):
        data[place] = rng.integers(0, 256)
    try:
        read = decoded(bytes(data), parts)
    except Misfit:
        return
    assert [len(points) for points in read] == [points_of(part) for part in parts]
    assert all(np.abs(points).max(initial=0) < 1 << 14 for points in read)


def test_a_still_face_costs_little_and_one_that_moves_is_predicted() -> None:
    faces = [numbers_of(made_face(np.random.default_rng(5), 100, 100 + 5 * i, 80 + 3 * i)) for i in range(30)]
    assert len(zlib.compress(coded(faces))) < 30 * 250
