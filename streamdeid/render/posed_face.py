"""The posed face: a surrogate rendered at a pose, over the whole region of a face (docs/methods.md 8.2).

It is for faces whose landmarks are missing or cannot be trusted, and for those turned too far. Nothing original is
left in the region: it shows the surrogate's solid with a z-buffer, the surrogate's skin beside the solid, and the
background beyond its profile. Of the person pass the pose, six numbers, and the light, five (`posed_light`); of one
whose landmarks are believed, what mouth, eyes and brows do, eight; of one with dark hair that was seen before, how dark
it is, one (not with `--strict`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.mesh_render import render_turned
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.solid_face import seen as seen_by
from streamdeid.core.arrays import Box, Pixels, Points
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import INNER_LIP, LEFT_EYE, RIGHT_EYE
from streamdeid.core.mesh_triangles import MOUTH, TRIANGLES
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.observe.turned_view import Gesture
from streamdeid.render.background import Background
from streamdeid.render.blend import Blend, composed, no_membrane
from streamdeid.render.colourless import without_colours
from streamdeid.render.eyes import narrowed, render_eye
from streamdeid.render.light import LightFrame
from streamdeid.render.lit_face import at_eye, lit_eye, lit_texture
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_fill import Agreement, filled
from streamdeid.render.posed_hair import HairColour, HairPlace
from streamdeid.render.posed_light import LitSkin, PosedLight
from streamdeid.render.posed_region import HeadOutline, posed_region, region_bounds
from streamdeid.render.scene_grain import SceneGrain, soften_colours
from streamdeid.render.turned_face import LitFace, TurnedPatch, plain_sides
from streamdeid.render.turned_mouth import render_inside
from streamdeid.render.turned_rim import RimProfile
from streamdeid.render.turned_shape import RestingSolid, gestured

STILL = Gesture(0.0, 0.0, 0.0, 0.0, (1.0, 1.0), (0.0, 0.0))
"""Mouth shut, eyes open: the gesture that is shown where none is known."""
_TOWARDS = 0.34
"""Share of the way from no gesture to the one that is told, or back, by which it comes or goes in each frame: where the
landmarks are believed in every other frame only, a smile must not flicker."""
_FINEST = 0.02
"""Steps of a gesture (of its pixels tenfold): the shape of a head that keeps still is computed once."""
_BEGINS, _ENDS = 8.0, 7.0
"""Widths in pixels: a posed face begins from the first, and ends below the second. Two limits avoid flicker."""
_RIM, _LEAST_RIM = 0.08, 3.0
"""Breadth of the soft rim outside the region, as a share of the face's width, and in pixels at least."""
_EYES_FROM = 16.0
"""Width in pixels from which eyes are rendered; in smaller faces only the texture's dark lids can be seen."""
_SIZES = 1.2
"""Ratio of the sizes in which a texture is kept: the texture is finer than the picture by less than that."""
_PLAIN_FROM, _PLAIN_OVER = 0.35, 0.3
"""Yaw in radians from which plain skin replaces the rim of the texture, and the range over which it does."""
_GRAIN_FROM = 24.0
"""Width in pixels from which a face gets the scene's sharpness and grain."""
_BACKGROUND_FROM = 20.0
"""Width in pixels from which the background beside a face is shown as it was a moment ago: beside smaller ones it is
two or three pixels broad, and a blur is as good."""


Others = Callable[[Points], Sequence[Points]]
"""Gives the regions (m, 2) of other heads, convex, that may meet the rectangle between two corners (2, 2), pixels."""


def _nobody(_corners: Points) -> Sequence[Points]:
    return ()


@dataclass(frozen=True)
class PosedFrame:
    """What is constant in rendering posed faces."""

    fitting: FitModel
    light: LightFrame
    outline: HeadOutline
    skin: LitSkin

    @classmethod
    def of(cls, fitting: FitModel, light: LightFrame) -> PosedFrame:
        """The constant parts for a model."""
        return cls(fitting, light, HeadOutline.of(fitting), LitSkin.of(fitting, light.covering))


@dataclass(frozen=True)
class PosedHead:
    """A head that is to be shown as a posed face."""

    pose: KeypointPose
    ellipse: Points
    """float64 (n, 2): ellipse of the face in its detection's box (`posed_region.face_ellipse`), pixels."""
    gesture: Gesture = STILL
    sighted: Points | None = None
    """float64 (n, 2): where the detector saw the face, if known. The region holds these points, too, wherever the pose
    puts the head."""
    hair: float | None = None
    """Natural log of the brightness of the person's hair over that of the skin (`HairDarkness`), if known."""

    def region(self, frame: PosedFrame, mesh: Points | None = None) -> Points:
        """The region (n, 2) that is replaced: without the surrogate's mesh (m, 3) the least one, with it the whole."""
        return posed_region(self.pose, frame.outline, [*self._seen(), *([] if mesh is None else [mesh[:, :2]])])

    def bounds(self, frame: PosedFrame) -> Box:
        """A box, pixels, that holds the least region."""
        return region_bounds(self.pose, frame.outline, self._seen())

    def _seen(self) -> list[Points]:
        return [self.ellipse] if self.sighted is None else [self.ellipse, self.sighted]


@dataclass
class PosedMemory:
    """What rendering remembers of a track's posed face from frame to frame."""

    light: PosedLight = field(default_factory=PosedLight)
    scene: SceneGrain = field(default_factory=SceneGrain)
    hair: HairColour = field(default_factory=HairColour)
    agreement: Agreement = field(default_factory=Agreement)
    rendered: bool = False
    """Whether the posed face was rendered the last time that it was to be."""
    _told: tuple[Gesture, float] | None = None
    """The gesture that was told last, and how much of it is shown; None before the first frame in a row."""
    _of: NewFace | None = None
    _gesture: Gesture | None = None
    _rest: RestingSolid | None = None
    _shape: tuple[Points, RestingSolid] | None = None
    _plain: Pixels | None = None
    _small: tuple[Pixels, Pixels] | None = None

    def gesture(self, told: Gesture | None) -> Gesture:
        """The gesture to show in a frame that tells this one, or none."""
        last, share = (STILL, 0.0 if told is None else 1.0) if self._told is None else self._told
        share = max(share - _TOWARDS, 0.0) if told is None else min(share + _TOWARDS, 1.0)
        self._told = last if told is None else told, share
        return _partly(*self._told)

    def rest(self) -> None:
        """Note that no posed face was shown in a frame: the next one has no gesture of before, nor any background."""
        self._told, self.agreement = None, Agreement()

    def shape(self, face: NewFace, gesture: Gesture, frame: PosedFrame) -> tuple[Points, RestingSolid]:
        """The surrogate's mesh (468, 3) and points in the model's frame, kept while face and gesture stay the same."""
        if self._of is not face:
            self._of, self._shape, self._plain, self._small = face, None, None, None
            self._rest = RestingSolid.of(face.shape, frame.fitting.model, frame.light.slopes)
            self.light = PosedLight()
        if self._shape is None or self._gesture != gesture:
            assert self._rest is not None
            moved = gestured(self._rest, gesture, frame.fitting.model.smile)
            self._shape, self._gesture = (frame.fitting.solid.solid(moved.shape, moved.depth), moved), gesture
        return self._shape

    def texture(self, face: NewFace, pose: KeypointPose, frame: PosedFrame) -> Pixels:
        """The surrogate's picture (h, w, 3), about as fine as the face is large; a turned face has a plain rim."""
        share = min(1.0, _SIZES ** math.ceil(math.log(max(pose.size, 24.0) / face.picture.shape[1], _SIZES)))
        size = round(share * face.picture.shape[1]), round(share * face.picture.shape[0])
        if self._plain is None:
            self._plain = plain_sides(face.picture, frame.fitting.model)
        if self._small is None or self._small[0].shape[1::-1] != size:
            self._small = (
                np.asarray(cv2.resize(face.picture, size, interpolation=cv2.INTER_AREA), np.float32),
                np.asarray(cv2.resize(self._plain, size, interpolation=cv2.INTER_AREA), np.float32),
            )
        turned = np.float32(np.clip((abs(pose.yaw) - _PLAIN_FROM) / _PLAIN_OVER, 0, 1))
        own, plain = self._small
        return own + turned * (plain - own) if turned > 0 else own


def _partly(gesture: Gesture, share: float) -> Gesture:
    """A share, 0 to 1, of a gesture, in steps."""

    def part(value: float, step: float, still: float = 0.0) -> float:
        return step * round((still + share * (value - still)) / step)

    (left, right), brows = gesture.lids, gesture.raised
    return Gesture(
        part(gesture.gape, _FINEST),
        part(gesture.upper, 10 * _FINEST),
        part(gesture.smile, _FINEST),
        part(gesture.wider, 10 * _FINEST),
        (part(left, _FINEST, 1.0), part(right, _FINEST, 1.0)),
        (part(brows[0], 10 * _FINEST), part(brows[1], 10 * _FINEST)),
    )


def rim_of(size: float) -> float:
    """Breadth of the soft rim outside the region of a face of so many pixels' width, pixels."""
    return max(_LEAST_RIM, _RIM * size)


def render_posed_face(
    out: Planes,
    original: Planes,
    head: PosedHead,
    face: NewFace,
    frame: PosedFrame,
    memory: PosedMemory,
    others: Others = _nobody,
    background: Background | None = None,
) -> Points | None:
    """Render a surrogate over a head, in place, and return the replaced region (n, 2), its corners in turn in pixels.

    out: the picture as it is published so far, from which the surroundings are taken. original: of its pixels in the
    region only the light is read. others: gives the regions of other heads, from which nothing is taken. background: of
    the stream. Returns None, and renders nothing, when the face is smaller than 8 pixels (7 if it was rendered before),
    lies outside the picture, or anything is not finite.
    """
    pose = head.pose
    if not (np.isfinite([pose.x, pose.y, pose.yaw, pose.nod, pose.roll]).all() and np.isfinite(head.ellipse).all()):
        return None
    least, memory.rendered = _ENDS if memory.rendered else _BEGINS, False
    if not least <= pose.size < math.inf:
        return None
    view = pose.head_pose(frame.outline.head)
    solid, shape = memory.shape(face, head.gesture, frame)
    mesh = seen_by(solid, view)
    region = head.region(frame, mesh)
    rim = rim_of(pose.size)
    room = 2 * rim + 4
    corners = np.stack([region.min(axis=0) - room, region.max(axis=0) + room])
    memory.light.read(original, view, head.ellipse, frame.skin, face)
    picture, towards = memory.texture(face, pose, frame), memory.light.towards
    lit = LitFace(memory.light.field(frame.skin, pose.yaw), picture, face, face.eyes, frame.light, out.colour, towards)
    texture = lit_texture(picture, lit.field, lit.colour)
    texture = frame.light.covering.laid(texture, memory.light.mask, lit.field, lit.colour)
    places = (frame.fitting.solid.mesh[:, :2] + 0.5) * (texture.shape[1] / frame.outline.head.width) - 0.5
    rendered = render_turned(texture, places, mesh, TRIANGLES, out.size, corners)
    if rendered is None:
        return None
    none = np.zeros((0, 0), np.float32)
    points = seen_by(np.column_stack([shape.shape, shape.depth]), view)[:, :2]
    patch = TurnedPatch(rendered.patch, points, none, none, rendered.owner, rendered.owner_chroma)
    if pose.size >= _EYES_FROM:
        _render_eyes(patch, shape, view, lit, narrowed(pose.yaw), frame.fitting.model)
    if head.gesture.gape > 0 and memory.light.mask.shown < 1:
        _render_mouth(patch, head.gesture, view, frame.fitting.model, 1 - memory.light.mask.shown)
    profile, place = RimProfile.of(mesh, pose.yaw), HairPlace.of(view, mesh)
    memory.hair.dark = head.hair
    behind = None if background is None or pose.size < _BACKGROUND_FROM else background.behind(rendered.patch)
    memories = memory.hair, memory.agreement
    whole = filled(rendered, mesh, out, region, rim, profile, place, *memories, behind, others(corners))
    if whole is None:
        return None
    soften_colours(whole.patch)
    if pose.size >= _GRAIN_FROM:
        memory.scene.match(whole.patch, out, region)
    without_colours(whole.patch, original, whole.free)
    memory.rendered = composed(whole.patch, Blend(whole.weights, no_membrane()), out)
    return region if memory.rendered else None


def _render_eyes(
    patch: TurnedPatch, shape: RestingSolid, view: HeadPose, lit: LitFace, squash: float, model: AppearanceModel
) -> None:
    """Render eyes that look straight ahead. squash: width of an iris over its height."""
    for i, lids in enumerate((LEFT_EYE, RIGHT_EYE)):
        x, y, radius = (float(value) for value in model.iris[i])
        middle = np.array([x, y]) + (shape.shape - model.mean_shape)[lids].mean(axis=0)
        iris = view.to_image(middle[None], shape.depth[lids].mean(keepdims=True))[0]
        colours = lit_eye(lit.eyes[i], at_eye(lit.field, i, model), lit.colour)
        with patch.only(i + 1, patch.points[lids]) as only:
            render_eye(only, patch.points[lids], iris, radius * view.scale, colours, squash, lit.towards)


def _render_mouth(
    patch: TurnedPatch, gesture: Gesture, view: HeadPose, model: AppearanceModel, strength: float
) -> None:
    """Render the inside of an open mouth. strength: 0 to 1."""
    mouth, covered = patch.points[INNER_LIP], patch.patch.covered_luma > 0
    if covered.any():
        across = float(np.linalg.norm(model.mean_shape[64] - model.mean_shape[60])) * view.scale
        chroma = patch.patch.uv[patch.patch.covered > 0]
        skin = np.array([np.median(patch.patch.y[covered]), *np.median(chroma, axis=0)], np.float32)
        with patch.only(MOUTH, mouth) as only:
            render_inside(only, mouth, skin, across, gesture.smile, strength)
