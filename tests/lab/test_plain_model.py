"""The plain model of the papers' experiments: what its parameters mean, what it draws, which files it takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from streamdeid.core.arrays import Floats
from streamdeid.errors import InputError
from streamdeid.lab.papers.plain_model import (
    LANDMARKS,
    AnnotatedFace,
    PlainModel,
    read_face,
    read_points,
    train,
    usable,
)


def _arc(left: tuple[float, float], right: tuple[float, float], height: float, count: int) -> Floats:
    share = np.linspace(0.0, 1.0, count)[:, None]
    line = np.array(left) * (1.0 - share) + np.array(right) * share
    return np.asarray(line + np.concatenate([0.0 * share, height * np.sin(np.pi * share)], axis=1))


def layout() -> Floats:
    """The 68 points of a face that nobody has, float64 (68, 2), about 100 wide and 100 high."""
    turn = np.linspace(np.pi, 0.0, 17)
    jaw = np.stack([50.0 * np.cos(turn), 15.0 + 55.0 * np.sin(turn)], axis=1)
    brows = [_arc((-40.0, -10.0), (-10.0, -10.0), -8.0, 5), _arc((10.0, -10.0), (40.0, -10.0), -8.0, 5)]
    nose = [_arc((0.0, 0.0), (0.0, 24.0), 0.0, 4), _arc((-10.0, 28.0), (10.0, 28.0), 3.0, 5)]
    eyes = [
        np.concatenate(
            [_arc((x - 9.0, 3.0), (x + 9.0, 3.0), -5.0, 4), _arc((x + 9.0, 3.0), (x - 9.0, 3.0), 4.0, 4)[1:3]]
        )
        for x in (-25.0, 25.0)
    ]
    lips = [_arc((-18.0, 45.0), (18.0, 45.0), -6.0, 7), _arc((18.0, 45.0), (-18.0, 45.0), 8.0, 7)[1:6]]
    inner = [_arc((-13.0, 45.0), (13.0, 45.0), -2.0, 5), _arc((13.0, 45.0), (-13.0, 45.0), 3.0, 5)[1:4]]
    return np.concatenate([jaw, *brows, *nose, *eyes, *lips, *inner])


def drawn(count: int, seed: int) -> list[AnnotatedFace]:
    """Faces of a few factors: width, length, mouth, unsteady points; brightness (the strongest), redness, shadow."""
    rng = np.random.default_rng(seed)
    base, columns = layout(), np.mgrid[0:160, 0:160][1].astype(np.float64)
    faces = []
    for number in range(count):
        wide, long, mouth = rng.normal(0.0, 0.06, 3)
        points = base * (1.0 + wide, 1.0 + long)
        points[48:] = (points[48:] - points[48:].mean(axis=0)) * (1.0 + 3.0 * mouth, 1.0) + points[48:].mean(axis=0)
        points = points + np.array([80.0, 70.0]) + rng.normal(0.0, 0.3, points.shape)
        bright, red, shade = rng.normal(0.0, (0.12, 0.03, 0.04))
        even = 0.55 + bright + shade * (columns - 80.0) / 40.0
        picture = np.stack([even + tint * red for tint in (2, 0, -2)], axis=2)
        image = np.clip(picture * 255.0, 0, 255).astype(np.uint8)
        for part in (slice(36, 42), slice(42, 48), slice(48, 60)):
            cv2.fillPoly(image, [np.rint(points[part]).astype(np.int32)], tuple((image[0, 0] * 0.5).tolist()))
        faces.append(AnnotatedFace(f"drawn/{number}", image, points))
    return faces


def write(face: AnnotatedFace, picture: Path) -> None:
    """A picture and its `.pts` file, whose points are counted from 1."""
    picture.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(picture), face.image[:, :, ::-1])
    lines = "\n".join(f"{x:.3f} {y:.3f}" for x, y in face.points + 1.0)
    picture.with_suffix(".pts").write_text(f"version: 1\nn_points: {LANDMARKS}\n{{\n{lines}\n}}\n", encoding="ascii")


@pytest.fixture(scope="module")
def model() -> PlainModel:
    return train(drawn(70, 1), width=60)


def test_a_face_is_nine_and_fifty_parameters(model: PlainModel) -> None:
    assert model.parameters(drawn(1, 2)[0]).shape == (59,)
    assert model.shape.basis.shape == (9, 136)
    assert np.allclose(model.shape.basis @ model.shape.basis.T, np.eye(9), atol=1e-9)
    assert np.allclose(model.texture.basis @ model.texture.basis.T, np.eye(50), atol=1e-9)


def test_the_first_texture_parameter_is_the_strongest_factor(model: PlainModel) -> None:
    faces = drawn(30, 3)
    first = [model.parameters(face)[9] for face in faces]
    assert abs(np.corrcoef(first, [model.grey(face) for face in faces])[0, 1]) > 0.98


def test_units_are_pixels_and_grey_levels_up_to_one(model: PlainModel) -> None:
    face = drawn(1, 4)[0]
    brighter = replace(face, image=(face.image + 20).astype(np.uint8))
    assert face.image.max() < 235
    change = model.parameters(brighter) - model.parameters(face)
    # The basis holds nearly all of an even change of 20 levels in every value.
    assert np.linalg.norm(change) == pytest.approx(20 / 255 * np.sqrt(model.texture.mean.size), rel=0.02)
    assert np.allclose(change[:9], 0.0)


def test_parameters_do_not_depend_on_place_size_or_turn_of_the_face(model: PlainModel) -> None:
    face = drawn(1, 5)[0]
    height, width = face.image.shape[:2]
    turn = np.asarray(cv2.getRotationMatrix2D((width / 2, height / 2), 8.0, 1.3), np.float64)
    turn[:, 2] += 5.0
    image = cv2.warpAffine(face.image, turn, (width + 20, height + 20), borderMode=cv2.BORDER_REPLICATE)
    moved = AnnotatedFace("moved", np.asarray(image, np.uint8), face.points @ turn[:, :2].T + turn[:, 2])
    there, here = model.parameters(moved), model.parameters(face)
    assert np.allclose(there[:9], here[:9], atol=1e-6)
    others = np.stack([model.parameters(other)[9:] for other in drawn(20, 6)])
    assert np.linalg.norm(there - here) < 0.2 * np.linalg.norm(others - here[9:], axis=1).min()


def test_a_face_is_drawn_from_its_parameters(model: PlainModel) -> None:
    faces = drawn(6, 1)  # of the training set
    pictures = [model.decode(model.parameters(face)) for face in faces]
    width, height = model.table.size
    assert all(picture.shape == (height, width, 3) and picture.dtype == np.uint8 for picture in pictures)
    grey = [
        picture[height // 2 - 10 : height // 2 + 10, width // 2 - 8 : width // 2 + 8].mean() for picture in pictures
    ]
    assert np.corrcoef(grey, [model.grey(face) for face in faces])[0, 1] > 0.98
    mean = model.decode(np.zeros(59)).astype(float)
    inside = mean[model.table.rows, model.table.columns]
    assert np.abs(inside.ravel() - 255.0 * model.texture.mean).mean() < 2.0
    assert (mean[0, 0] == 255.0).all()


def test_training_twice_gives_the_same() -> None:
    faces = drawn(20, 7)
    first, second = (train(faces, shape_components=3, texture_components=4, width=40) for _ in range(2))
    assert np.array_equal(first.parameters(faces[0]), second.parameters(faces[0]))
    assert first.parameters(faces[0]).shape == (7,)


def test_too_few_pictures_are_refused() -> None:
    with pytest.raises(InputError, match="too few"):
        train(drawn(50, 8))


def test_pictures_too_alike_are_refused() -> None:
    face = drawn(1, 8)[0]
    with pytest.raises(InputError, match="too alike"):
        train([face] * 60)


def test_points_are_read_as_counted_from_zero(tmp_path: Path) -> None:
    face = drawn(1, 9)[0]
    write(face, tmp_path / "trainset" / "a.png")
    read = read_face(tmp_path / "trainset" / "a.png")
    assert np.allclose(read.points, face.points, atol=1e-3)
    assert np.array_equal(read.image, face.image)
    assert read.name == "trainset/a"


@pytest.mark.parametrize(
    "text", ["", "version: 1\n{\n1 2\n}\n", "{\nx y\n}\n", "{\n1 2\n3\n}\n", "{\n" + "nan 1\n" * 68 + "}\n"]
)
def test_bad_files_of_points_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.pts"
    path.write_text(text, encoding="ascii")
    with pytest.raises(InputError, match=r"a\.pts"):
        read_points(path)


def test_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"b\.pts"):
        read_points(tmp_path / "b.pts")
    with pytest.raises(InputError, match=r"b\.png"):
        read_face(tmp_path / "b.png")


def test_grey_pictures_and_points_outside_are_not_usable() -> None:
    face = drawn(1, 10)[0]
    coloured = replace(face, image=np.clip(face.image + np.array([20, 0, 0]), 0, 255).astype(np.uint8))
    assert usable(coloured)
    assert not usable(replace(face, image=np.repeat(face.image[:, :, :1], 3, axis=2)))
    assert not usable(replace(coloured, points=face.points - np.array([60.0, 0.0])))
    assert not usable(replace(coloured, points=face.points + np.array([0.0, 60.0])))
