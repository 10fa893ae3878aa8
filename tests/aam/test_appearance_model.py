"""The model as a codec and as a file: round trips, and files that are not what they claim."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel, load_model, save_model
from streamdeid.core.arrays import Pixels
from streamdeid.core.arrays_file import Arrays, read_arrays, write_arrays
from streamdeid.errors import ModelError
from streamdeid.surrogates.gallery import Gallery
from tests.drawn_faces import pose_at, scene, some_identity


@pytest.fixture(scope="module")
def small(model: AppearanceModel) -> AppearanceModel:
    """The model with few components: quick to write."""
    return replace(model, texture_basis=model.texture_basis[:3], texture_variances=model.texture_variances[:3])


@pytest.fixture
def arrays(small: AppearanceModel, tmp_path: Path) -> Arrays:
    save_model(tmp_path / "whole.npz", small)
    return read_arrays(tmp_path / "whole.npz")[0]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_shape_of_an_identity_survives_decoding_and_encoding(model: AppearanceModel, seed: int) -> None:
    vector = some_identity(model, seed, 0.5)
    shape, texture = model.decode(vector)
    s = len(model.shape_variances)
    again = model.identity(shape, texture)[:s]
    np.testing.assert_allclose(again, vector[:s], atol=0.05 * np.sqrt(model.variances[0]))


def test_texture_of_an_identity_survives_but_for_hair_and_sheen(model: AppearanceModel) -> None:
    errors, sizes = [], []
    s = len(model.shape_variances)
    for seed in range(6):
        vector = some_identity(model, seed, 0.4)
        again = model.identity(*model.decode(vector))
        errors.append(float(np.linalg.norm((again - vector)[s:])))
        sizes.append(float(np.linalg.norm(vector[s:])))
    assert np.mean(errors) < 0.5 * np.mean(sizes)


def test_the_mean_face_is_the_zero_vector(model: AppearanceModel) -> None:
    unread = replace(model, texture_basis=np.full_like(model.texture_basis, np.nan))  # 25 MiB, in each part of a stream
    shape, texture = unread.decode(np.zeros(len(model.variances)))
    np.testing.assert_allclose(shape, model.mean_shape)
    np.testing.assert_allclose(texture, np.clip(model.mean_texture, 0, 255), atol=1e-3)
    assert np.linalg.norm(model.identity(shape, texture)) < 0.15 * np.sqrt(model.variances.sum())


@pytest.mark.parametrize(("scale", "angle"), [(0.3, 0.0), (4.0, 0.5), (1.0, -1.0)])
def test_place_size_and_turn_are_no_part_of_an_identity(model: AppearanceModel, scale: float, angle: float) -> None:
    shape, texture = model.decode(some_identity(model, 3))
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(
        model.identity(shape @ turn.T + np.array([70, -30]), texture), model.identity(shape, texture), atol=1e-3
    )


@pytest.mark.parametrize("tone", [(0.6, 0.6, 0.6), (1.15, 1.0, 0.8)])
def test_brightness_and_tone_are_no_part_of_an_identity(
    model: AppearanceModel, tone: tuple[float, float, float]
) -> None:
    shape, texture = model.decode(some_identity(model, 4, 0.4))
    texture = np.clip(texture, 5, 200)
    one, other = model.identity(shape, texture), model.identity(shape, texture * np.float32(tone))
    assert np.linalg.norm(one - other) < 0.25 * np.linalg.norm(one)


def test_a_decoded_texture_can_be_shown(model: AppearanceModel) -> None:
    _, texture = model.decode(some_identity(model, 5, 6.0))
    assert texture.min() >= 0 and texture.max() <= 255
    assert texture.dtype == np.float32 and texture.shape == model.mean_texture.shape


def test_texture_is_read_under_the_mesh(model: AppearanceModel) -> None:
    shape, texture = model.decode(some_identity(model, 6, 0.4))
    made = scene(model, shape, texture, pose_at(model, 260.0), (320, 340))
    found: Pixels = model.texture_of(made.rgb, made.points)
    assert np.abs(found - texture).mean() < 3.0


def test_bases_are_orthonormal_and_variances_fall(model: AppearanceModel) -> None:
    for basis in (model.shape_basis, model.fit_basis.astype(float), model.texture_basis.astype(float)):
        np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=0.02)
    for variances in (model.shape_variances, model.texture_variances, model.fit_variances):
        assert (np.diff(variances) <= 1e-9).all() and (variances > 0).all()


def test_gallery_and_model_belong_together(model: AppearanceModel, gallery: Gallery) -> None:
    gallery.require_model(model.sha256)
    assert gallery.identities.shape[1] == len(model.variances)
    with pytest.raises(ModelError):
        gallery.require_model("0" * 64)


def test_a_saved_model_is_loaded_as_it_was(small: AppearanceModel, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    sha256 = save_model(path, small)
    loaded = load_model(path)
    assert loaded.sha256 == sha256 and loaded.frame_size == small.frame_size and loaded.fit_width == small.fit_width
    kept = ("mean_shape", "depth", "triangles", "shape_basis", "texture_basis", "iris", "fit_basis", "mean_mesh")
    for name in (*kept, "smile", "smile_weights", "smile_folds", "studio"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(small, name))
    assert save_model(tmp_path / "again.npz", loaded) == sha256
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_a_missing_model_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere"):
        load_model(tmp_path / "nowhere.npz")


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_a_tampered_model_is_refused(small: AppearanceModel, tmp_path: Path, place: float) -> None:
    path = tmp_path / "model.npz"
    save_model(path, small)
    content = bytearray(path.read_bytes())
    content[int(place * len(content))] ^= 0x10
    path.write_bytes(content)
    with pytest.raises(ModelError):
        load_model(path)


@pytest.mark.parametrize("keep", [0, 100, 20_000])
def test_a_cut_off_model_is_refused(small: AppearanceModel, tmp_path: Path, keep: int) -> None:
    path = tmp_path / "model.npz"
    save_model(path, small)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ModelError):
        load_model(path)


@pytest.mark.parametrize(
    "name", ["mean_shape", "triangles", "texture_basis", "iris", "fit_width", "frame_size", "format", "mean_mesh"]
)
def test_a_model_that_lacks_an_array_is_refused(arrays: Arrays, tmp_path: Path, name: str) -> None:
    del arrays[name]
    write_arrays(tmp_path / "model.npz", arrays)
    with pytest.raises(ModelError, match=name):
        load_model(tmp_path / "model.npz")


@pytest.mark.parametrize(
    "name",
    [
        "mean_shape",
        "depth",
        "triangles",
        "shape_basis",
        "mean_texture",
        "texture_basis",
        "iris",
        "fit_basis",
        "fit_mean",
        "mean_mesh",
        "smile",
        "smile_weights",
        "smile_folds",
        "studio",
    ],
)
def test_a_model_with_an_array_of_the_wrong_shape_is_refused(arrays: Arrays, tmp_path: Path, name: str) -> None:
    arrays[name] = arrays[name][..., :-1]
    write_arrays(tmp_path / "model.npz", arrays)
    with pytest.raises(ModelError):
        load_model(tmp_path / "model.npz")


@pytest.mark.parametrize("name", ["mean_shape", "texture_basis", "triangles", "mean_mesh", "smile"])
def test_a_model_with_an_array_of_the_wrong_type_is_refused(arrays: Arrays, tmp_path: Path, name: str) -> None:
    arrays[name] = arrays[name].astype(np.float32 if name != "triangles" else np.int64)
    write_arrays(tmp_path / "model.npz", arrays)
    with pytest.raises(ModelError, match=name):
        load_model(tmp_path / "model.npz")


@pytest.mark.parametrize("vertex", [-1, 81])
def test_triangles_of_vertices_that_do_not_exist_are_refused(arrays: Arrays, tmp_path: Path, vertex: int) -> None:
    arrays["triangles"] = arrays["triangles"].copy()
    arrays["triangles"][0, 0] = vertex
    write_arrays(tmp_path / "model.npz", arrays)
    with pytest.raises(ModelError):
        load_model(tmp_path / "model.npz")


def test_a_model_whose_mesh_has_other_pixels_than_its_texture_is_refused(arrays: Arrays, tmp_path: Path) -> None:
    """Otherwise the first face would end the run, or be drawn from memory beyond the texture."""
    for name, value in (
        ("frame_size", np.array([190, 237])),
        ("mean_shape", 0.9 * arrays["mean_shape"]),
        ("fit_width", np.array(60)),
    ):
        write_arrays(tmp_path / "model.npz", {**arrays, name: value})
        with pytest.raises(ModelError):
            load_model(tmp_path / "model.npz")


def test_another_format_is_refused(arrays: Arrays, tmp_path: Path) -> None:
    write_arrays(tmp_path / "model.npz", {**arrays, "format": np.array(99)})
    with pytest.raises(ModelError, match="99"):
        load_model(tmp_path / "model.npz")
