"""The recognisers that attack pictures: they know unaltered faces again, and take only what they can use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.procrustes import align
from streamdeid.core.faces import Face
from streamdeid.errors import InputError
from streamdeid.identity.face_recogniser import FaceRecogniser
from streamdeid.identity.picture_recognisers import DlibResnet, OnnxRecogniser, registered
from streamdeid.lab.picture_attacks.laboratory import described
from streamdeid.lab.picture_attacks.picture_sets import black_hull, compressed, originals
from streamdeid.lab.recognisers import PixelEigenfaces, Refit, recognisers
from tests.drawn_photographs import photographs
from tests.tiny_onnx import averaging_network


def _knows_again(recogniser: FaceRecogniser, model: AppearanceModel) -> bool:
    people = photographs(model, range(8))
    known, again = originals(people, "known"), compressed(people, "again")
    a, b = described(recogniser, known), described(recogniser, again)
    apart = np.linalg.norm(b[:, None] - a[None], axis=2)
    return bool((apart.argmin(axis=1) == np.arange(8)).all())


def test_pixel_eigenfaces_know_faces_again_and_see_no_background(model: AppearanceModel) -> None:
    people = photographs(model, range(8))
    held = originals(people, "held")
    eigenfaces = PixelEigenfaces(held.pictures, held.landmarks)
    assert _knows_again(eigenfaces, model)
    blank = [np.where(np.arange(320)[:, None, None] < 60, 0, picture).astype(np.uint8) for picture in held.pictures]
    for picture, without, points in zip(held.pictures, blank, held.landmarks, strict=True):
        assert np.allclose(eigenfaces(picture, points), eigenfaces(without, points))


def test_the_refitted_model_knows_faces_again_and_loses_what_shows_none(model: AppearanceModel) -> None:
    people = photographs(model, range(8))
    by_picture = {p.image.tobytes(): p.face for p in people}

    def detect(image: NDArray[np.uint8]) -> list[Face]:
        face = by_picture.get(image.tobytes())
        return [face] if face is not None else []

    known = originals(people, "known")
    rows = described(Refit(model, detect), known)
    assert np.isfinite(rows).all() and len(np.unique(rows, axis=0)) == 8
    hidden = black_hull(people)
    assert np.isnan(described(Refit(model, detect), hidden)).all()


def test_dlib_knows_faces_again_and_nobody_behind_a_black_hull(model: AppearanceModel) -> None:
    pytest.importorskip("dlib", reason="the extra `evaluation` is not installed")
    resnet = DlibResnet()
    assert _knows_again(resnet, model)
    hidden = black_hull(photographs(model, range(2)))
    assert described(resnet, hidden).shape == (2, 128)


def test_a_network_of_the_users_own_runs_and_gives_unit_vectors(tmp_path: Path, model: AppearanceModel) -> None:
    path = tmp_path / "mine.onnx"
    path.write_bytes(averaging_network())
    own = OnnxRecogniser(path)
    held = originals(photographs(model, range(3)), "held")
    rows = described(own, held)
    assert own.name == "mine" and rows.shape == (3, 3)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)
    # The network averages each channel of (x - 127.5) / 127.5 over the aligned picture.
    chip = registered(held.pictures[0], held.landmarks[0], _FIVE, (112, 112)).astype(np.float64)
    mean = ((chip - 127.5) / 127.5).mean(axis=(0, 1))
    assert np.allclose(rows[0], mean / np.linalg.norm(mean), atol=1e-3)


def test_what_is_no_network_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no recogniser"):
        OnnxRecogniser(tmp_path / "missing.onnx")
    (tmp_path / "text.onnx").write_text("no network")
    with pytest.raises(InputError, match="not a recogniser"):
        OnnxRecogniser(tmp_path / "text.onnx")


def test_five_points_are_laid_where_they_belong(model: AppearanceModel) -> None:
    (person,) = photographs(model, range(1))
    points = person.sample.points[:68]
    marked = person.image.copy()
    x, y = np.rint(points[36:42].mean(axis=0)).astype(int)
    marked[y - 3 : y + 4, x - 3 : x + 4] = (255, 0, 255)
    plain, chip = (registered(p, points, _FIVE, (112, 112)).astype(int) for p in (person.image, marked))
    pink = np.abs(chip - plain).max(axis=2) > 40
    assert pink.any()
    rows, columns = np.nonzero(pink)
    five = [points[36:42].mean(axis=0), points[42:48].mean(axis=0), points[30], points[48], points[54]]
    there = align(np.stack(five), _FIVE)(np.array([x, y], np.float64))
    assert np.abs(np.array([columns.mean(), rows.mean()]) - there).max() < 0.7
    assert np.abs(there - _FIVE[0]).max() < 8  # faces differ from the mean one


def test_what_cannot_be_had_is_named(monkeypatch: pytest.MonkeyPatch, model: AppearanceModel) -> None:
    monkeypatch.setattr("streamdeid.identity.picture_recognisers.util.find_spec", lambda name: None)
    held = originals(photographs(model, range(3)), "held")
    found, missing = recognisers((held.pictures, held.landmarks), model, lambda image: [], None)
    assert len(found) == 2 and len(missing) == 1
    assert missing[0].startswith("not run") and "streamdeid[evaluation]" in missing[0]


_FIVE = np.array([[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]])
