"""Eye sockets in hard light: darkened by one number, within bounds, and not by paint, hair or what is not seen."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.masked_blur import FLOOR
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import INNER_LIP, LEFT_EYE, RIGHT_EYE
from streamdeid.render.light import LightFrame, static_light
from streamdeid.render.new_face import NewFace
from streamdeid.render.sockets import _DEEPEST
from tests.drawn_faces import some_identity


@pytest.fixture(scope="module")
def face(fitting: FitModel) -> NewFace:
    return NewFace.of(some_identity(fitting.model, 3), fitting)


def _at(light: LightFrame) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return light.table.rows, light.table.columns


def _darker(light: LightFrame, person: Pixels, drawn: Pixels, well: Points | None = None) -> float:
    return light.sockets.darker(person, drawn, np.ones(len(person)) if well is None else well)


def _deep(light: LightFrame, texture: Pixels, share: float) -> Pixels:
    """A small texture (f, 3) with sockets darker by a share of the studio's."""
    return np.asarray((texture + FLOOR) * np.exp(share * light.sockets.studio[_at(light)])[:, None] - FLOOR, np.float32)


def test_sockets_are_about_the_eyes_and_darker(light: LightFrame, fitting: FitModel) -> None:
    studio, mesh = light.sockets.studio, fitting.model.mean_shape * fitting.scale
    assert (studio <= 0).all()
    for eye in (LEFT_EYE, RIGHT_EYE):
        x, y = mesh[eye].mean(axis=0).astype(int)
        assert -0.6 < studio[y - 3, x] < -0.05, "below the brow"
    for far in (mesh[33], mesh[INNER_LIP].mean(axis=0), mesh[8] - (0, 3)):
        assert abs(studio[int(far[1]), int(far[0])]) < 0.01


@pytest.mark.parametrize("share", [-0.4, 0.0, 0.3, 0.7, 3.0])
def test_dark_sockets_are_found_within_bounds(light: LightFrame, face: NewFace, share: float) -> None:
    own = face.small_texture
    person = _deep(light, own, share)
    assert _darker(light, person, own) == pytest.approx(np.clip(share, 0, _DEEPEST), abs=0.03)
    left = np.clip(share - 0.5, 0, _DEEPEST)
    assert _darker(light, person, _deep(light, own, 0.5)) == pytest.approx(left, abs=0.03), "drawn so already"


def test_pencil_and_a_wisp_of_hair_are_no_dark_sockets(light: LightFrame, face: NewFace, fitting: FitModel) -> None:
    """Lines about the lids, and hair over the outer corner of one eye: most of the skin about the eyes is as it was."""
    mesh = fitting.model.mean_shape * fitting.scale
    lines = np.zeros(light.sockets.studio.shape, np.uint8)
    for eye in (LEFT_EYE, RIGHT_EYE):
        cv2.polylines(lines, [mesh[eye].round().astype(np.int32)], True, (1,), 1)
    hair = light.table.columns < mesh[LEFT_EYE][0, 0] + 3
    person = face.small_texture.copy()
    person[(lines[_at(light)] > 0) | hair] *= 0.4
    assert _darker(light, person, face.small_texture) < 0.3


def test_what_is_not_seen_is_not_asked(light: LightFrame, face: NewFace) -> None:
    hidden = light.table.columns < 0.65 * light.table.size[0]
    person = face.small_texture.copy()
    person[hidden] = np.random.default_rng(5).uniform(0, 40, (hidden.sum(), 3))
    assert _darker(light, person, face.small_texture) == pytest.approx(_DEEPEST)
    assert _darker(light, person, face.small_texture, np.where(hidden, 0.0, 1.0)) < 0.05, "but for the blur"
    assert _darker(light, person, face.small_texture, np.zeros(len(person))) == 0, "nothing was seen"


def test_the_light_of_a_scene_has_them(light: LightFrame, face: NewFace) -> None:
    studio, own = light.sockets.studio[_at(light)], face.small_texture
    even, hard = (static_light(light, texture, face) for texture in (own, _deep(light, own, 0.7)))
    change = (hard.field - even.field).mean(axis=2)[_at(light)]
    dark = studio < 0.5 * studio.min()
    assert change[dark].mean() == pytest.approx(0.7 * studio[dark].mean(), rel=0.25)
    assert abs(np.median(change)) < 0.02
