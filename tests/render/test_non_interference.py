"""docs/architecture.md 3: of the original's hull nothing passes into the new face but soft light.

With landmarks and fit held fixed, the original's face is replaced by noise of the same low-frequency light. What is
published may then change by no more than a soft field. The inside of an open mouth is the only exception.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.frames import Planes
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation, Observer
from streamdeid.protect.levels import Level
from streamdeid.render.expression import transfer_expression
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedMemory
from tests.drawn_faces import (
    Scene,
    inside_hull,
    inside_lips,
    noise_of_same_light,
    pose_at,
    scene,
    some_identity,
    with_mouth,
)
from tests.posed_heads import lit_alike, pose_face

_LIGHT = 10.0
"""Blur, pixels of the model's frame, up to which the person's colours may be carried: the light field's own scale."""
_WIDTH = 150.0
"""Width of the faces in pixels; the feather may reach 7 % of it inwards."""
_RIM = 0.08 * _WIDTH
_LEAK = 0.006
"""Share of the original's detail that rounding to whole grey levels can pretend to let through."""


@dataclass(frozen=True)
class Pair:
    """The same face seen as it is and as noise, and what is published of each."""

    original: tuple[Scene, Scene]
    seen: Observation
    published: tuple[Planes, Planes]
    drawn_at: NDArray[np.bool_]
    """Where the covers lie, eroded by the feather."""
    laid: NDArray[np.float64]
    """The new face's points (81, 2) in pixels of the picture."""


def _fine(plane: NDArray[np.uint8], sigma: float = 0.03 * _WIDTH) -> NDArray[np.float64]:
    """What of a plane is finer than light."""
    picture = plane.astype(np.float64)
    return picture - cv2.GaussianBlur(picture, (0, 0), sigma)


def _leak(pair: Pair, where: NDArray[np.bool_]) -> float:
    """Share of the change of the original's luma detail that is found again in the published luma."""
    before, after = (_fine(p[0].y) - _fine(p[1].y) for p in (tuple(s.planes for s in pair.original), pair.published))
    return float((before[where] * after[where]).sum() / (before[where] ** 2).sum())


def _neutral(seen: Observation) -> Neutral:
    return Neutral(seen.frontal, seen.small_texture, seen.hair)


def _pair(
    model: AppearanceModel,
    fitting: FitModel,
    light: LightFrame,
    opening: float,
    level: Level = Level.OWN_FACE,
    turn: float = 0.0,
    held: bool = True,
) -> Pair:
    """held: whether a posed face has the same light in both pictures, instead of reading it in each."""
    person, texture = model.decode(some_identity(model, 3))
    pose = pose_at(model, _WIDTH, yaw=turn)
    rest, shape = with_mouth(person, 0.0), with_mouth(person, opening)
    noise = noise_of_same_light(texture, model, _LIGHT)
    scenes = scene(model, shape, texture, pose), scene(model, shape, noise, pose)
    if opening:
        # In the hole of the mouth, too: what shows there must be told apart.
        scenes[1].planes.y[inside_lips(scenes[1].points)] ^= 64
    first = Observer(fitting)(scenes[0].planes, scenes[0].face, 0.0)
    second = Observer(fitting)(scenes[1].planes, scenes[1].face, 0.0)
    seen = first, replace(first, small_texture=second.small_texture, hair=second.hair)
    at_rest = [_neutral(replace(s, frontal=s.frontal - shape + rest)) if opening else _neutral(s) for s in seen]
    face = NewFace.of(some_identity(model, 8), fitting)
    frame, memory = PosedFrame.of(fitting, light), PosedMemory()
    published = []
    for made, observed, neutral in zip(scenes, seen, at_rest, strict=True):
        out = made.planes.copy()
        if level is Level.OWN_FACE:
            drawn = render_surrogate(out, made.planes, observed, neutral, face, fitting, light, Blending())
        else:
            drawn = pose_face(out, made.planes, made.face, face, frame, memory)
            memory = lit_alike(memory, face, frame) if held else PosedMemory()
        assert drawn
        published.append(out)
    laid = first.pose.to_image(transfer_expression(first.frontal, at_rest[0].shape, face.shape), model.depth)
    return Pair(scenes, first, (published[0], published[1]), inside_hull(scenes[0].points, shrink=_RIM), laid)


@pytest.mark.parametrize("turn", [0.0, 0.35])
@pytest.mark.parametrize("level", [Level.OWN_FACE, Level.POSED])
def test_detail_of_a_closed_face_does_not_pass(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, level: Level, turn: float
) -> None:
    pair = _pair(model, fitting, light, 0.0, level, turn)
    where = pair.drawn_at
    one, other = (made.planes for made in pair.original)
    assert np.abs(_fine(one.y) - _fine(other.y))[where].mean() > 8, "the face was not replaced by noise"
    assert abs(_leak(pair, where)) < _LEAK
    for plane in ("y", "u", "v"):
        a, b = (getattr(p, plane) for p in pair.published)
        inside = where if plane == "y" else where[::2, ::2]
        change = np.abs(a.astype(float) - b)[inside]
        assert change.mean() < 2.0 and change.max() <= (0 if level is Level.POSED else 5), plane
        fine = np.abs(_fine(a) - _fine(b))[inside]
        assert np.percentile(fine, 99) < 1.5, plane  # rounding of both, and the field's own slope


@pytest.mark.parametrize("turn", [0.0, 0.35])
def test_the_light_that_a_posed_face_reads_carries_no_detail(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, turn: float
) -> None:
    pair = _pair(model, fitting, light, 0.0, Level.POSED, turn, held=False)
    changed = pair.published[0].y.astype(int) - pair.published[1].y
    assert changed[pair.drawn_at].any(), "light is read"
    assert abs(_leak(pair, pair.drawn_at)) < _LEAK


def test_only_the_inside_of_an_open_mouth_is_shown(
    model: AppearanceModel, fitting: FitModel, light: LightFrame
) -> None:
    pair = _pair(model, fitting, light, 0.5)
    lips = inside_lips(pair.laid, shrink=-4.0)  # its soft edge
    middle = inside_lips(pair.laid, shrink=4.0)
    assert middle.sum() > 100
    change = np.abs(pair.published[0].y.astype(float) - pair.published[1].y)
    assert change[middle].mean() > 20, "teeth and tongue are the original's"
    outside = pair.drawn_at & ~lips
    assert abs(_leak(pair, outside)) < _LEAK
    assert change[outside].max() <= 8


def test_eyes_are_not_copied(model: AppearanceModel, fitting: FitModel, light: LightFrame) -> None:
    pair = _pair(model, fitting, light, 0.0)
    eyes = np.zeros_like(pair.drawn_at)
    for eye in (pair.seen.points[36:42], pair.seen.points[42:48]):
        (x0, y0), (x1, y1) = eye.min(axis=0).astype(int) - 3, eye.max(axis=0).astype(int) + 4
        eyes[y0:y1, x0:x1] = True
    assert abs(_leak(pair, eyes)) < _LEAK


def test_the_measure_notices_a_leak(model: AppearanceModel, fitting: FitModel, light: LightFrame) -> None:
    pair = _pair(model, fitting, light, 0.0)
    mixed = []
    for made, out in zip(pair.original, pair.published, strict=True):
        copy = out.copy()
        copy.y[:] = np.round(0.97 * out.y + 0.03 * made.planes.y)
        mixed.append(copy)
    assert _leak(replace(pair, published=(mixed[0], mixed[1])), pair.drawn_at) == pytest.approx(0.03, abs=0.005)
