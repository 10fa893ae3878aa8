"""Reading sets of photographs, and publishing them as a stream would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import identity_of, listed, read_labels, read_photographs, reduced
from streamdeid.core.faces import Face, Keypoints
from streamdeid.errors import InputError, SettingsError
from streamdeid.lab.published_pictures import MEAN_FACE, NOTHING_CHANGED, Publisher, even_planes, whole_rgb
from streamdeid.surrogates.choice import SAMPLED
from streamdeid.surrogates.gallery import Gallery
from tests.drawn_faces import inside_hull
from tests.drawn_photographs import photograph, photographs

KEY = bytes(32)


def _written(directory: Path, names: Sequence[str]) -> None:
    directory.mkdir(parents=True)
    for name in names:
        cv2.imwrite(str(directory / name), np.full((8, 8, 3), 90, np.uint8))


def test_neutral_ones_come_first_and_most_limits_people(tmp_path: Path) -> None:
    root = tmp_path / "some"
    _written(root / "neutral", ["b.jpg", "a.jpg", "notes.txt"][:2])
    _written(root / "smiling", ["a.jpg", "c.png"])
    (root / "info.csv").write_text("face_id,face_age\na,31\n")
    assert [(e, p.name) for e, p in listed(root)] == [
        ("neutral", "a.jpg"), ("neutral", "b.jpg"), ("smiling", "a.jpg"), ("smiling", "c.png")
    ]  # fmt: skip
    assert [p.stem for _, p in listed(root, most=1)] == ["a", "a"]
    assert read_labels(root) == {"some/a": {"face_id": "a", "face_age": "31"}}
    assert read_labels(tmp_path) == {}


def test_what_shows_no_face_is_left_out_and_the_best_face_is_taken(tmp_path: Path, model: AppearanceModel) -> None:
    _written(tmp_path / "set", ["a.jpg", "b.jpg"])
    known = photograph(model, 1).face
    weaker = replace(known, box=(0, 0, 1, 1), score=0.1)
    answers: list[list[Face]] = [[], [Face((0, 0, 4, 4), 0.99), weaker, known]]
    told: list[str] = []

    def detect(image: NDArray[np.uint8]) -> list[Face]:
        return answers.pop(0)

    (found,) = read_photographs(tmp_path / "set", detect, told.append)
    assert found.person == "set/b" and found.face is known and told == ["a.jpg", "b.jpg"]


def test_what_is_no_set_or_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a directory"):
        read_photographs(tmp_path / "nowhere", lambda image: [])
    with pytest.raises(InputError, match="no photographs"):
        read_photographs(tmp_path, lambda image: [])
    (tmp_path / "a.jpg").write_bytes(b"no picture")
    with pytest.raises(InputError, match="not a picture"):
        read_photographs(tmp_path, lambda image: [])


def test_reducing_keeps_the_identity(model: AppearanceModel) -> None:
    given = photograph(model, 3)
    small = reduced(given, 120.0)
    assert np.ptp(small.sample.points[:, 0]) == pytest.approx(120.0, rel=0.01)
    assert reduced(given, 1000.0) is given
    scale = 120.0 / np.ptp(given.sample.points[:, 0])
    np.testing.assert_allclose(small.sample.mesh, given.sample.mesh * scale, atol=1.5)
    before, after = identity_of(given, model), identity_of(small, model)
    other = identity_of(photograph(model, 4), model)
    assert np.linalg.norm(before - after) < 0.3 * np.linalg.norm(before - other)


def test_reducing_takes_the_second_networks_points_along(model: AppearanceModel) -> None:
    given = photograph(model, 3)
    eyes_and_mouth = np.array([[100.0, 120], [180, 120], [140, 160], [110, 200], [170, 200]])
    seen = Keypoints((80.0, 60.0, 200.0, 240.0), eyes_and_mouth, 0.9)
    small = reduced(replace(given, face=replace(given.face, keypoints=seen)), 120.0)
    scale = small.image.shape[1] / given.image.shape[1]
    assert small.face.keypoints is not None
    np.testing.assert_allclose(small.face.keypoints.points, eyes_and_mouth * scale, atol=1)
    np.testing.assert_allclose(small.face.keypoints.box, np.array(seen.box) * scale, atol=1)


def test_methods_publish_what_they_promise(fitting: FitModel, gallery: Gallery) -> None:
    people = photographs(fitting.model, range(3))
    for method, same in ((MEAN_FACE, True), (SAMPLED, False), ("k-diff-furthest-paper", False)):
        publisher = Publisher(fitting, gallery, method, KEY)
        pictures = [publisher.publish(i + 1, [p])[0] for i, p in enumerate(people)]
        assert all(picture is not None for picture in pictures)
        vectors = np.stack([publisher.vector(i + 1) for i in range(3)])  # type: ignore[misc]
        assert (len(np.unique(vectors, axis=0)) == 1) is same
        for picture, person in zip(pictures, people, strict=True):
            inside = inside_hull(person.sample.points, shrink=12)
            assert np.abs(picture[inside].astype(int) - person.image[inside]).mean() > 4  # type: ignore[index]
            unchanged = whole_rgb(even_planes(person.image))
            assert np.array_equal(picture[:20], unchanged[:20])  # type: ignore[index]
    own = Publisher(fitting, gallery, NOTHING_CHANGED, KEY)
    own.publish(1, [people[0]])
    assert np.linalg.norm(own.vector(1) - identity_of(people[0], fitting.model)) < 1500


def test_a_second_picture_shows_the_same_surrogate_with_its_own_expression(fitting: FitModel, gallery: Gallery) -> None:
    closed, opened = (photograph(fitting.model, 5, expression=e) for e in ("neutral", "open"))
    publisher = Publisher(fitting, gallery, SAMPLED, KEY)
    first, second, third = publisher.publish(1, [closed, opened, closed])
    assert first is not None and second is not None and third is not None
    lips = slice(205, 265), slice(110, 210)
    changed, same = (np.abs(first[lips].astype(int) - other[lips]).mean() for other in (second, third))
    assert changed > 5 and changed > 4 * same


def test_masks_publish_and_unknown_methods_are_refused(fitting: FitModel, gallery: Gallery) -> None:
    person = photograph(fitting.model, 6)
    publisher = Publisher(fitting, gallery, "blackout", KEY)
    (picture,) = publisher.publish(1, [person])
    assert picture is not None and picture[inside_hull(person.sample.points)].max() <= 3
    assert publisher.vector(1) is None
    with pytest.raises(SettingsError, match="unknown method"):
        Publisher(fitting, gallery, "magic", KEY)
