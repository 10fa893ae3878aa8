"""New faces that are kept decoded: always those of the vector that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.render import decoded_faces
from streamdeid.render.decoded_faces import DecodedFaces
from streamdeid.render.new_face import NewFace


def _vectors(fitting: FitModel, count: int) -> list[Points]:
    deviations = np.sqrt(fitting.model.variances)
    return [np.random.default_rng(seed).standard_normal(len(deviations)) * deviations for seed in range(count)]


def test_a_face_is_decoded_once_and_is_that_of_its_vector(fitting: FitModel) -> None:
    one, other = _vectors(fitting, 2)
    faces = DecodedFaces(fitting)
    first = faces(1, one, True)
    assert faces(1, one.copy(), True) is first
    assert (first.picture == NewFace.of(one, fitting).picture).all()
    assert not faces(1, one, False).beard
    changed = faces(1, other, True)
    assert (changed.vector == other).all() and (changed.picture == NewFace.of(other, fitting).picture).all()


def test_a_few_are_kept_those_asked_for_last(fitting: FitModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_faces, "_MOST", 2)
    one, other, third = _vectors(fitting, 3)
    faces = DecodedFaces(fitting)
    first, second = faces(1, one, True), faces(2, other, True)
    faces(1, one, True)
    faces(3, third, True)
    assert len(faces) == 2 and faces(1, one, True) is first and faces(2, other, True) is not second
    faces.forget(1)
    faces.forget(7)
    assert faces(1, one, True) is not first
