"""A second training that keeps the identity space of the first, and refuses where it is another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.same_space import in_space_of
from streamdeid.cli.train import same_donors
from streamdeid.errors import InputError
from streamdeid.surrogates.gallery import Gallery


def _again(model: AppearanceModel) -> AppearanceModel:
    """The same training as another processor rounds it: signs of some components turned, last bits changed."""
    signs = np.where(np.arange(len(model.shape_basis)) % 3, 1.0, -1.0)[:, None]
    return replace(
        model,
        mean_shape=model.mean_shape + 1e-13,
        shape_basis=model.shape_basis * signs * (1 + 1e-12),
        shape_variances=model.shape_variances * (1 + 1e-12),
        mean_texture=model.mean_texture * np.float32(1 + 2e-7),
        mean_mesh=model.mean_mesh + 1.0,
        smile=2 * model.smile,
        smile_folds=-model.smile_folds,
        sha256="",
    )


def test_the_space_is_kept_bit_for_bit_and_what_is_new_is_new(model: AppearanceModel) -> None:
    kept = in_space_of(model, _again(model))
    for name in ("mean_shape", "shape_basis", "shape_variances", "mean_texture", "texture_basis", "fit_basis"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(model, name))
    np.testing.assert_array_equal(kept.mean_mesh, model.mean_mesh + 1.0)
    np.testing.assert_array_equal(kept.smile, 2 * model.smile)
    np.testing.assert_array_equal(kept.smile_folds, -model.smile_folds)
    assert kept.sha256 == ""  # it is no file yet


@pytest.mark.parametrize("name", ["mean_shape", "shape_basis", "texture_variances", "mean_texture", "iris", "fit_mean"])
def test_another_space_is_refused(model: AppearanceModel, name: str) -> None:
    array = getattr(model, name).copy()
    array.ravel()[np.abs(array).argmax()] *= 1.001
    with pytest.raises(InputError, match=name):
        in_space_of(model, replace(model, **{name: array}))


def test_fewer_components_are_another_space(model: AppearanceModel) -> None:
    fewer = replace(model, shape_basis=model.shape_basis[:-1], shape_variances=model.shape_variances[:-1])
    with pytest.raises(InputError, match="shape_basis"):
        in_space_of(model, fewer)


def test_donors_are_kept_with_the_space(gallery: Gallery) -> None:
    again = replace(gallery, identities=gallery.identities * (1 + 1e-7), model_sha256="1" * 64)
    kept = same_donors(gallery, again)
    np.testing.assert_array_equal(kept.identities, gallery.identities)
    assert kept.model_sha256 == "1" * 64
    for other in (
        replace(again, identities=gallery.identities[::-1]),
        replace(again, identities=gallery.identities[:-1]),
        replace(again, gender=gallery.gender[::-1]),
    ):
        with pytest.raises(InputError, match="other donors"):
            same_donors(gallery, other)
