"""Lips of a surrogate meet in one dark line, whatever the texture has between them."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.aam.masked_blur import FLOOR
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA
from streamdeid.render.new_face import NewFace
from tests.drawn_faces import some_identity


@pytest.fixture(scope="module", params=[1, 2, 3])
def picture(fitting: FitModel, request: pytest.FixtureRequest) -> Pixels:
    return NewFace.photographed(some_identity(fitting.model, request.param), fitting).picture


def _drawn(picture: Pixels, fitting: FitModel) -> Pixels:
    return fitting.model.contact_line.drawn(picture)


def _middle(fitting: FitModel) -> tuple[int, slice]:
    """Row of the middle of the lips, and the columns of their inner half."""
    shape = fitting.model.mean_shape
    return round(float(shape[[62, 66], 1].mean())), slice(round(shape[61, 0]), round(shape[63, 0]) + 1)


def test_the_line_is_dark_and_without_blocks(picture: Pixels, fitting: FitModel) -> None:
    got = np.log(_drawn(picture, fitting) @ LUMA + FLOOR)
    row, columns = _middle(fitting)
    line = got[row, columns]
    above, below = got[row - 5, columns], got[row + 6, columns]
    assert ((above + below) / 2 - line).mean() == pytest.approx(0.5, abs=0.15)
    assert np.abs(np.diff(line)).max() < 0.05, "no steps along it"


def test_what_is_between_the_lips_does_not_count(picture: Pixels, fitting: FitModel) -> None:
    row, columns = _middle(fitting)
    spoilt = picture.copy()
    spoilt[row - 1 : row + 2, columns] = (
        np.random.default_rng(0).uniform(0, 255, (3, columns.stop - columns.start, 3)).astype(np.float32)
    )
    np.testing.assert_allclose(_drawn(spoilt, fitting), _drawn(picture, fitting), atol=1e-3)


def test_all_but_the_lips_stays(picture: Pixels, fitting: FitModel) -> None:
    before, got = picture.copy(), _drawn(picture, fitting)
    assert (picture == before).all()
    outside = fitting.model.albedo.zones.lips < 0.02
    np.testing.assert_allclose(got[outside], picture[outside], rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("child", [False, True])
def test_every_new_face_has_it(fitting: FitModel, child: bool) -> None:
    """A child's pale lips meet in a line as dark as an adult's."""
    got = NewFace.of(some_identity(fitting.model, 8), fitting, beard=False, child=child).picture
    log, (row, columns) = np.log(got @ LUMA + FLOOR), _middle(fitting)
    depth = (log[row - 5, columns] + log[row + 6, columns]) / 2 - log[row, columns]
    assert depth.mean() == pytest.approx(0.5, abs=0.15)
