"""Children's faces: proportions of growth taken back, no paint and no beard, and a function of the surrogate alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.fit import FitModel
from streamdeid.aam.masked_blur import FLOOR
from streamdeid.core.arrays import Points
from streamdeid.core.colour import LUMA
from streamdeid.core.ibug68 import LEFT_EYE, MIRROR, OUTLINE, RIGHT_EYE
from streamdeid.core.whose import Whose
from streamdeid.render.childlike import childlike_shape, childlike_skin
from streamdeid.render.decoded_faces import DecodedFaces
from streamdeid.render.expression import transfer_expression
from streamdeid.render.new_face import NewFace
from tests.drawn_faces import some_identity


def _height(shape: Points, points: object) -> float:
    """Where some points lie between hairline (0) and chin (1)."""
    top, chin = shape[74, 1], shape[8, 1]
    return float((shape[points][:, 1].mean() - top) / (chin - top))


def _size(shape: Points, a: int, b: int) -> float:
    """Distance of two points over the width of the face."""
    return float(np.linalg.norm(shape[a] - shape[b]) / np.linalg.norm(shape[16] - shape[0]))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_a_childs_eyes_are_low_and_large_and_nose_and_mouth_small(fitting: FitModel, seed: int) -> None:
    model = fitting.model
    adult, _ = model.decode(some_identity(model, seed))
    before = adult.copy()
    child = childlike_shape(adult, model.mean_shape)
    assert (adult == before).all()
    assert np.linalg.norm(child[OUTLINE] - child[OUTLINE].mean(axis=0)) == pytest.approx(
        np.linalg.norm(adult[OUTLINE] - adult[OUTLINE].mean(axis=0))
    )
    for eye in (LEFT_EYE, RIGHT_EYE):
        assert _height(child, eye) > _height(adult, eye) + 0.01
        # In a picture the outline is the person's.
        assert transfer_expression(adult, adult, child)[eye][:, 1].mean() > adult[eye][:, 1].mean() + 1
    assert _size(child, 36, 39) > _size(adult, 36, 39) and _size(child, 37, 41) > 1.1 * _size(adult, 37, 41)
    assert _size(child, 48, 54) < 0.95 * _size(adult, 48, 54) and _size(child, 31, 35) < 0.95 * _size(adult, 31, 35)
    assert _size(child, 27, 33) < _size(adult, 27, 33), "a shorter nose"


def test_a_mirrored_face_has_a_mirrored_child(fitting: FitModel) -> None:
    mean = fitting.model.mean_shape
    adult, _ = fitting.model.decode(some_identity(fitting.model, 2))
    middle = np.array([2 * mean[:, 0].mean(), 0.0])
    turned = middle + adult[MIRROR] * (-1, 1)
    np.testing.assert_allclose(
        middle + childlike_shape(turned, mean)[MIRROR] * (-1, 1), childlike_shape(adult, mean), atol=1e-6
    )


def test_parts_keep_their_form(fitting: FitModel) -> None:
    """An eye that strain had bent would slant."""
    model = fitting.model
    adult, _ = model.decode(some_identity(model, 7))
    child = childlike_shape(adult, model.mean_shape)
    for part, wider in ((LEFT_EYE, (1.06, 1.25)), (slice(48, 68), (0.86, 0.82))):
        own, new = (shape[part] - shape[part].mean(axis=0) for shape in (adult, child))
        np.testing.assert_allclose(new, own * wider, atol=1e-9)


def test_brows_lips_and_lids_stand_out_less_and_skin_stays(fitting: FitModel) -> None:
    model = fitting.model
    picture = NewFace.of(some_identity(model, 3), fitting, beard=False).picture
    zones, got = model.albedo.zones, childlike_skin(picture, model.albedo.zones)
    before, after = (np.log(each + FLOOR) @ LUMA for each in (picture, got))
    level = float(np.median(before[zones.skin > 0.99]))
    for zone in (zones.brows, zones.lips, zones.lids):
        inside = zone > 0.9
        assert np.abs(after[inside] - level).mean() < 0.9 * np.abs(before[inside] - level).mean()
    plain = (zones.brows == 0) & (zones.lips == 0) & (zones.lids == 0)
    np.testing.assert_allclose(got[plain], picture[plain], atol=1e-3)


def test_everybody_gets_a_childs_face_where_that_is_asked_for(fitting: FitModel) -> None:
    vector = some_identity(fitting.model, 5)
    faces = DecodedFaces(fitting, children=True)
    first, adult = faces(Whose(1), vector, True), NewFace.of(vector, fitting)
    assert not first.beard and faces(Whose(1), vector, True) is first and (first.vector == vector).all()
    assert (first.shape == NewFace.of(vector, fitting, child=True).shape).all()
    assert (NewFace.of(vector, fitting, child=True).picture == first.picture).all()
    assert np.abs(first.shape - adult.shape).max() > 3 and np.abs(first.picture - adult.picture).max() > 10
