"""New faces that are kept decoded: always those of the vector that was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.core.whose import Whose
from streamdeid.render import decoded_faces
from streamdeid.render.decoded_faces import DecodedFaces
from streamdeid.render.new_face import NewFace


def _vectors(fitting: FitModel, count: int) -> list[Points]:
    deviations = np.sqrt(fitting.model.variances)
    return [np.random.default_rng(seed).standard_normal(len(deviations)) * deviations for seed in range(count)]


def test_a_face_is_decoded_once_and_is_that_of_its_vector(fitting: FitModel) -> None:
    one, other = _vectors(fitting, 2)
    faces = DecodedFaces(fitting)
    first = faces(Whose(1), one, True)
    assert faces(Whose(1), one.copy(), True) is first
    assert (first.picture == NewFace.of(one, fitting).picture).all()
    assert not faces(Whose(1), one, False).beard
    changed = faces(Whose(1), other, True)
    assert (changed.vector == other).all() and (changed.picture == NewFace.of(other, fitting).picture).all()


def test_whoever_keeps_a_face_under_another_number_has_it_at_once(fitting: FitModel) -> None:
    one, other = _vectors(fitting, 2)
    faces = DecodedFaces(fitting)
    provisional = faces(Whose(7, provisional=True), one, True)
    assert faces(Whose(2), one.copy(), True) is provisional and faces(Whose(3), one, False) is not provisional
    assert (
        faces(Whose(7, provisional=True), other, True) is not provisional and faces(Whose(2), one, True) is provisional
    )


def test_a_face_on_the_way_to_another_is_what_their_mixed_vector_decodes_to(fitting: FitModel) -> None:
    one, other = _vectors(fitting, 2)
    before, own = NewFace.of(one, fitting, beard=False), NewFace.of(other, fitting)
    for share in (0.25, 0.75):
        mixed = before.towards(own, share)
        decoded = NewFace.of((1 - share) * one + share * other, fitting, beard=share >= 0.5)
        assert np.abs(mixed.vector - decoded.vector).max() < 1e-9 and mixed.beard == (share >= 0.5)
        away = np.abs(mixed.picture - decoded.picture)
        assert away.mean() < 1 and away.mean() < 0.25 * np.abs(before.picture - own.picture).mean()
        assert np.abs(mixed.shape - decoded.shape).max() < 0.01 * fitting.model.table.size[0]
        assert mixed.picture.dtype == np.float32 and mixed.small_texture.dtype == np.float32
        assert np.abs(mixed.small_texture - decoded.small_texture).mean() < 1
        for half, whole in zip(mixed.eyes, decoded.eyes, strict=True):
            for name in ("sclera", "iris", "pupil"):
                assert np.abs(getattr(half, name) - getattr(whole, name)).max() < 12
    assert (before.towards(own, 0.0).picture == before.picture).all()


def test_a_few_are_kept_those_asked_for_last(fitting: FitModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_faces, "_LEAST", 2)
    one, other, third = _vectors(fitting, 3)
    faces = DecodedFaces(fitting)
    first, second = faces(Whose(1), one, True), faces(Whose(2), other, True)
    faces(Whose(1), one, True)
    faces(Whose(3), third, True)
    assert len(faces) == 2 and faces(Whose(1), one, True) is first and faces(Whose(2), other, True) is not second
    faces.forget(Whose(1))
    faces.forget(Whose(7))
    assert faces(Whose(1), one, True) is not first


def test_all_who_are_shown_are_kept_however_many(fitting: FitModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoded_faces, "_LEAST", 2)
    faces, vectors = DecodedFaces(fitting), _vectors(fitting, 5)
    faces.make_room(5)
    first = [faces(Whose(number), vector, True) for number, vector in enumerate(vectors)]
    again = [faces(Whose(number), vector, True) for number, vector in enumerate(vectors)]
    assert all(one is other for one, other in zip(first, again, strict=True))
    faces.make_room(1)
    assert len(faces) == 2 and faces(Whose(4), vectors[4], True) is first[4]
