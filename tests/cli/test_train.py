"""Training on drawn photographs: the same bytes twice, a symmetric mean, and people kept apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel, load_model, save_model
from streamdeid.aam.piecewise_affine import spread
from streamdeid.aam.procrustes import align
from streamdeid.aam.smile import amount
from streamdeid.aam.train import (
    Sample,
    TrainingSettings,
    annotate,
    learn_folds,
    mirrored,
    sample_of,
    texture_of_sample,
    train,
)
from streamdeid.core.face_mesh import MESH_MIRROR
from streamdeid.core.faces import Face
from streamdeid.core.ibug68 import MIRROR
from streamdeid.errors import InputError
from tests.drawn_faces import face_at, pose_at, scene, some_identity

_SETTINGS = TrainingSettings(width=80, most_texture=12, fit_width=40, fit_components=8)
_PEOPLE = 8
_NOSE_TIP, _TEMPLES = 4, [162, 389]
_MESH_POINTS, _VERTICES = [33, 133, 362, 263, 4, 10], [36, 39, 42, 45, 30, 74]
"""Points of the mesh, and the vertices that they are: corners of the eyes, tip of the nose, middle of the forehead."""


@pytest.fixture(scope="module")
def samples(model: AppearanceModel) -> list[Sample]:
    made = []
    for seed in range(_PEOPLE):
        shape, texture = model.decode(some_identity(model, seed))
        view = scene(model, shape, texture, pose_at(model, 150, roll=0.03 * seed))
        given = sample_of(view.rgb, view.face)
        uneven = np.random.default_rng(seed).normal(0, 3, given.depth.shape)  # no landmarker is symmetric
        made.append(replace(given, depth=given.depth + uneven))
    return made


@pytest.fixture(scope="module")
def trained(samples: list[Sample]) -> AppearanceModel:
    return train(samples, _SETTINGS)


def test_training_twice_gives_the_same_bytes(samples: list[Sample], trained: AppearanceModel, tmp_path: Path) -> None:
    save_model(tmp_path / "one.npz", trained)
    save_model(tmp_path / "two.npz", train(samples, _SETTINGS))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert load_model(tmp_path / "one.npz").frame_size == trained.frame_size


def test_the_mean_face_is_its_own_mirror_image(trained: AppearanceModel) -> None:
    width = trained.frame_size[0]
    flipped = trained.mean_shape[MIRROR] * (-1, 1) + (width - 1, 0)
    np.testing.assert_allclose(flipped, trained.mean_shape, atol=1e-6)
    np.testing.assert_allclose(trained.depth[MIRROR], trained.depth, atol=1e-6)
    picture = spread(trained.mean_texture, trained.table, fill=-1)
    both = (picture[:, ::-1] >= 0) & (picture >= 0)
    assert np.abs(picture - picture[:, ::-1])[both].mean() < 2.0
    np.testing.assert_allclose(trained.iris[0] * (-1, 1, 1) + (width - 1, 0, 0), trained.iris[1], atol=0.5)


def test_the_mean_mesh_lies_on_the_mean_shape_and_is_its_own_mirror_image(
    samples: list[Sample], trained: AppearanceModel
) -> None:
    mesh, width = trained.mean_mesh, trained.frame_size[0]
    np.testing.assert_allclose(mesh[MESH_MIRROR] * (-1, 1, 1) + (width - 1, 0, 0), mesh, atol=1e-9)
    # The mesh of a drawn person moves with the vertices; so the mean does with their mean. Lips of the drawn are open.
    np.testing.assert_allclose(mesh[_MESH_POINTS, :2], trained.mean_shape[_VERTICES], atol=0.02 * width)
    by_hand = [align(s.points, trained.mean_shape) for s in samples]
    deep = np.mean([(s.mesh[:, 2] - s.depth.mean()) * a.scale for s, a in zip(samples, by_hand, strict=True)], axis=0)
    np.testing.assert_allclose(mesh[:, 2], (deep + deep[MESH_MIRROR]) / 2, atol=1e-6)
    assert mesh[_NOSE_TIP, 2] < mesh[_TEMPLES, 2].min()  # away from the camera


def test_a_smile_is_learnt_from_pairs_and_none_without(samples: list[Sample], trained: AppearanceModel) -> None:
    assert not trained.smile.any() and not trained.smile_weights.any() and not trained.smile_folds.any()
    lift = np.zeros_like(samples[0].points)
    lift[[48, 54]] = [(-4, -6), (4, -6)]  # in pixels of pictures in which a face is 150 wide
    smiling = [replace(s, points=s.points + lift) for s in samples]
    pairs = [(i, i + len(samples)) for i in range(len(samples))]
    found = train([*samples, *smiling], _SETTINGS, pairs)
    scale = _SETTINGS.width / 150
    # Alignment gives a little of it to all points.
    np.testing.assert_allclose(found.smile[[48, 54]], np.array([(-4, -6), (4, -6)]) * scale, atol=0.7 * scale)
    assert np.abs(np.delete(found.smile, [48, 54], axis=0)).max() < 0.7 * scale
    assert (found.smile * found.smile_weights).sum() == pytest.approx(1.0)
    for s, t in zip(samples, smiling, strict=True):
        rest, smile = (
            amount(align(p, found.mean_shape)(p), found.mean_shape, found.smile_weights) for p in (s.points, t.points)
        )
        assert rest < 0.35 and smile > 0.65


def test_folds_are_what_smiles_add_to_the_skin_whatever_the_exposure() -> None:
    rng = np.random.default_rng(1)
    rest = rng.uniform(80, 160, (6, 50, 3)).astype(np.float32)
    fold = np.zeros((50, 3))
    fold[:10], fold[10:15] = -0.2, 0.1
    smiling = (rest * np.exp(fold + rng.normal(0, 0.1, (6, 1, 3)))).astype(np.float32)
    # Three people, each sample followed by its mirror image; the smiling ones after all at rest.
    found = learn_folds([*rest, *smiling], [(0, 3), (1, 4), (2, 5)])
    assert found.shape == (50, 3) and found.dtype == np.float32
    np.testing.assert_allclose(found, fold, atol=0.02)
    np.testing.assert_array_equal(learn_folds([*rest], []), np.zeros((50, 3)))


def test_sizes_are_those_asked_for(trained: AppearanceModel) -> None:
    assert trained.frame_size[0] == _SETTINGS.width and trained.fit_width == _SETTINGS.fit_width
    assert 1 <= len(trained.texture_variances) <= _SETTINGS.most_texture
    assert len(trained.fit_variances) <= _SETTINGS.fit_components
    low, high = trained.mean_shape.min(axis=0), trained.mean_shape.max(axis=0)
    assert (low >= 0).all() and high[0] <= trained.frame_size[0] - 1 and high[1] <= trained.frame_size[1] - 1
    assert len(trained.table.rows) == len(trained.mean_texture)


def test_the_mesh_covers_the_face_but_for_the_mouth(trained: AppearanceModel) -> None:
    used = set(trained.triangles.ravel().tolist())
    assert used == set(range(81))
    corners = trained.mean_shape[trained.triangles]
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    assert (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0] > 0).all()


def test_people_of_the_training_set_are_told_apart(samples: list[Sample], trained: AppearanceModel) -> None:
    def vector(given: Sample) -> NDArray[np.float64]:
        return trained.identity(given.points, texture_of_sample(given, trained.mean_shape, trained.table))

    vectors = np.stack([vector(given) for given in samples])
    apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    nearest = apart[~np.eye(_PEOPLE, dtype=bool)].min()
    dimmed = replace(samples[0], image=(0.8 * samples[0].image).astype(np.uint8))
    assert np.linalg.norm(vector(dimmed) - vectors[0]) < 0.4 * nearest


def test_a_mirrored_sample_is_the_mirrored_picture(samples: list[Sample]) -> None:
    given, other = samples[3], mirrored(samples[3])
    again = mirrored(other)
    np.testing.assert_array_equal(again.image, given.image)
    np.testing.assert_allclose(again.points, given.points)
    np.testing.assert_allclose(again.iris, given.iris)
    np.testing.assert_allclose(again.depth, given.depth)
    np.testing.assert_allclose(again.mesh, given.mesh)
    width = given.image.shape[1]
    np.testing.assert_allclose(other.points[45], given.points[36] * (-1, 1) + (width - 1, 0))
    x, y = (int(v) for v in np.round(given.points[30]))
    np.testing.assert_array_equal(other.image[y, width - 1 - x], given.image[y, x])


def test_a_sample_without_all_points_is_refused(model: AppearanceModel, samples: list[Sample]) -> None:
    face = face_at(samples[0].points, model, 0.7)
    names = ("landmarks", "forehead", "iris", "depth", "mesh")
    for lost in names:
        parts = {name: getattr(face, name) for name in names if name != lost}
        with pytest.raises(InputError):
            sample_of(samples[0].image, Face(face.box, 0.9, **parts))


def test_a_photograph_of_none_or_of_two_is_refused(
    model: AppearanceModel, samples: list[Sample], tmp_path: Path
) -> None:
    path = tmp_path / "person.png"
    cv2.imwrite(str(path), samples[0].image[:, :, ::-1])
    face = face_at(samples[0].points, model, 0.7)
    assert annotate(path, lambda _: [face]).points.shape == (81, 2)
    np.testing.assert_array_equal(annotate(path, lambda _: [face]).image, samples[0].image)
    for found in ([], [face, face], [Face(face.box, 0.9)]):
        with pytest.raises(InputError, match=r"person\.png"):
            annotate(path, lambda _, found=found: found)
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(InputError, match=r"text\.png"):
        annotate(tmp_path / "text.png", lambda _: [face])
