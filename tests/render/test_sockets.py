"""Eye sockets in hard light: darkened by one number, within bounds, and not by paint, hair or what is not seen."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.masked_blur import FLOOR
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import INNER_LIP, LEFT_EYE, RIGHT_EYE
from streamdeid.render.light import LightFrame, StaticLight, static_light
from streamdeid.render.new_face import NewFace
from streamdeid.render.sockets import _DEEPEST, _USUAL
from tests.drawn_faces import pose_at, some_identity


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


@pytest.mark.parametrize("share", [-0.4, 0.0, 0.5, 1.0, 3.0])
def test_dark_sockets_are_found_and_what_is_usual_is_let_be(light: LightFrame, face: NewFace, share: float) -> None:
    own = face.small_texture
    person = _deep(light, own, share)
    found, evidence = light.sockets.share(person, own, np.ones(len(own)))
    assert evidence == 1
    assert found == pytest.approx(share, rel=0.1, abs=0.03)
    assert _darker(light, person, own) == pytest.approx(np.clip(found - _USUAL, 0, _DEEPEST))
    assert _darker(light, person, _deep(light, own, 1.0)) == pytest.approx(
        np.clip(found - 1 - _USUAL, 0, _DEEPEST), abs=0.1
    ), "drawn so already"


def test_of_people_in_the_studio_nine_tenths_have_what_is_usual(light: LightFrame, fitting: FitModel) -> None:
    whole = np.ones(len(light.table.rows))
    others = [NewFace.of(some_identity(fitting.model, 1000 + i), fitting) for i in range(3)]
    shares = []
    for i in range(60):
        person = NewFace.photographed(some_identity(fitting.model, i), fitting).small_texture
        other = others[i % 3]
        lit = static_light(light, person, other, whole)
        drawn = other.small_texture * np.exp(lit.field[_at(light)] - _darker_part(light, lit, person, other))
        shares.append(light.sockets.share(person, drawn, whole)[0])
    assert np.mean(np.array(shares) < _USUAL) == pytest.approx(0.9, abs=0.07)


def _darker_part(light: LightFrame, lit: StaticLight, person: Pixels, other: NewFace) -> Pixels:
    """What of a light (f, 1) is sockets: it is fitted without them."""
    without = replace(light, sockets=replace(light.sockets, studio=np.zeros_like(light.sockets.studio)))
    return (lit.field - static_light(without, person, other, np.ones(len(person))).field)[_at(light)]


def test_pencil_lashes_and_a_wisp_of_hair_are_no_dark_sockets(
    light: LightFrame, face: NewFace, fitting: FitModel
) -> None:
    """Lines about the lids, hair over the outer corner of one eye, dark eyes and broader brows: most of the skin about
    the eyes is as it was."""
    mesh, own, whole = fitting.model.mean_shape * fitting.scale, face.small_texture, np.ones(len(face.small_texture))
    zones = Zones.of(fitting.model.mean_shape, fitting.model.frame_size[0], light.table.size)
    before = light.sockets.share(own, own, whole)[0]
    lines = np.zeros(light.sockets.studio.shape, np.uint8)
    for eye in (LEFT_EYE, RIGHT_EYE):
        cv2.polylines(lines, [mesh[eye].round().astype(np.int32)], True, (1,), 1)
    wisp = light.table.columns < mesh[LEFT_EYE][0, 0] + 3
    for dark, most in (
        (lines[_at(light)] > 0, 0.3),
        (wisp, 0.3),
        (zones.eyes[_at(light)] > 0.2, 0.25),
        (zones.brows[_at(light)] > 0.2, 0.15),
    ):
        person = own.copy()
        person[dark] *= 0.4
        assert light.sockets.share(person, own, whole)[0] - before < most
        assert _darker(light, person, own) == 0


@pytest.mark.parametrize("yaw", [0.9, 1.1])
def test_what_is_not_seen_is_not_asked(light: LightFrame, face: NewFace, fitting: FitModel, yaw: float) -> None:
    """Hair in the hidden half of a turned head, and a head of which nothing is seen."""
    own, well = face.small_texture, light.seen_from(pose_at(fitting.model, 150.0, yaw=yaw).rotation[2])
    person = own.copy()
    hidden = well < 0.3
    person[hidden] = np.random.default_rng(5).uniform(0, 40, (hidden.sum(), 3))
    share, evidence = light.sockets.share(person, own, well)
    assert abs(share) < 0.2
    assert 0.3 < evidence < 0.9
    assert _darker(light, person, own, well) == 0
    assert _darker(light, person, own, np.zeros(len(own))) == 0, "nothing was seen"


def test_of_what_is_hardly_seen_little_is_drawn(light: LightFrame, face: NewFace) -> None:
    own = face.small_texture
    person = _deep(light, own, 1.2)
    whole, half = _darker(light, person, own), _darker(light, person, own, np.full(len(own), 0.5))
    assert whole > 0.3
    assert half == pytest.approx(whole / 2, rel=0.05)


def test_the_light_of_a_scene_has_them(light: LightFrame, face: NewFace) -> None:
    studio, own, whole = light.sockets.studio[_at(light)], face.small_texture, np.ones(len(face.small_texture))
    even, hard = (static_light(light, texture, face, whole) for texture in (own, _deep(light, own, 2.5)))
    change = (hard.field - even.field).mean(axis=2)[_at(light)]
    dark = studio < 0.5 * studio.min()
    assert change[dark].mean() < 0.9 * _DEEPEST * studio[dark].mean()
    assert abs(np.median(change)) < 0.03
