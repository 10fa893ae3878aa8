"""A turned head: the surrogate rendered as a solid, with a z-buffer (docs/methods.md 6.3 item 4).

Up to 25 degrees of yaw a face is rendered flat, on the person's own landmarks. From there to 38 degrees its vertices
move to those of the solid: it is one mesh all the while, and two pictures are never mixed. The solid is the surrogate's
own shape with a few numbers of a gesture (`turned_shape`); of the person it has only the pose.

P3 handles large poses with one appearance model for each range of views, switched by yaw. A single model with a
three-dimensional shape needs no switch, so nothing jumps. It also needs no photographs of turned heads, which the
training set has not. It lacks the sides of the head, which keep the person's own hair and ears.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.masked_blur import masked_blur
from streamdeid.aam.mesh_render import Owners, render_turned
from streamdeid.aam.smooth_step import smooth_step
from streamdeid.aam.solid_face import seen as seen_by
from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.convex import convex
from streamdeid.core.frames import Colour, Planes
from streamdeid.core.ibug68 import INNER_LIP, LEFT_EYE, NOSTRILS, OUTLINE, RIGHT_EYE
from streamdeid.core.mesh_triangles import BESIDE, MOUTH, TRIANGLES
from streamdeid.observe.observation import Observation
from streamdeid.observe.turned_view import TurnedView
from streamdeid.render.blend import Feather
from streamdeid.render.copied_pixels import copy_polygon
from streamdeid.render.eyes import EyeColours, narrowed, render_eye
from streamdeid.render.gaze import irises
from streamdeid.render.light import LightFrame
from streamdeid.render.lit_face import at_eye, lit_eye, lit_texture
from streamdeid.render.mouth import render_mouth
from streamdeid.render.new_face import NewFace
from streamdeid.render.scene_grain import soften_colours
from streamdeid.render.turned_mouth import render_inside
from streamdeid.render.turned_rim import Reach, RimProfile, covering, weights
from streamdeid.render.turned_shape import Growth, RestingSolid, gestured
from streamdeid.render.worn import Worn

_BEHIND, _BEFORE = 0.035, 0.11
"""How far the redaction of a solid face reaches beyond the person's outline on the side that is seen, and beyond the
profile, as shares of the face's width seen from the front. The landmarker's profile is off by 1 to 5 % of it at 60
degrees, by 8 % on some noses (docs/methods.md 6.3), and half of what lies in the feather shows through. A flat face's
outline reaches so far by itself (`outline.bulge`)."""
_SOON = 4.0
"""The first of these is reached in full when a face is solid by one over this: its own outline draws back before."""
_SIDE, _SIDE_FADES = 0.13, 0.08
"""Width of the texture's rim that is replaced by skin from farther in, and the range over which this fades, as shares
of the texture's width. What is seen edge on in a frontal photograph becomes streaks and hair when the head turns."""
_SKIN_REACHES = (0.1, 0.3)
"""Blurs of the skin that is carried to the rim, as shares of the width; the nearer one counts where it finds enough
skin."""
_EYES = LEFT_EYE, RIGHT_EYE


@dataclass(frozen=True)
class LitFace:
    """A surrogate and the light that it is in."""

    field: Pixels
    """float32 (gh, gw, 3): natural log of the gain, in the small frame of light."""
    picture: Pixels
    """float32 (h, w, 3): the surrogate's even skin, RGB in the model's frame."""
    face: NewFace
    eyes: tuple[EyeColours, EyeColours]
    """Colours of the surrogate's eyes, image-left first."""
    light: LightFrame
    colour: Colour
    towards: Points
    """float64 (2,): where the light comes from in the picture."""
    mask: Worn = Worn()
    """The mask before the face."""

    def texture(self, picture: Pixels, yaw: float) -> Pixels:
        """A picture of the surrogate in this light, YUV (h, w, 3), with a nose smoothed for a yaw (`NoseFlanks`)."""
        texture = self.light.flanks.smoothed(lit_texture(picture, self.field, self.colour), yaw)
        return self.light.covering.laid(texture, self.mask, self.field, self.colour)


@dataclass(frozen=True)
class Copied:
    """What is copied from the original."""

    eyes: bool
    """Whether both eyes are copied, as the user may ask for."""
    mouth: bool
    """Whether the inside of the mouth is copied, as far as the face is flat; not where something may be before it."""


@dataclass
class TurnedMemory:
    """What rendering remembers of a track whose head is turned."""

    growth: Growth = field(default_factory=Growth)
    _rest: tuple[NewFace, RestingSolid] | None = None
    _sided: tuple[Pixels, Pixels] | None = None

    def rest(self, lit: LitFace, fitting: FitModel) -> RestingSolid:
        """The solid of a surrogate at rest, kept as long as the surrogate is the same one."""
        if self._rest is None or self._rest[0] is not lit.face:
            self._rest = lit.face, RestingSolid.of(lit.face.shape, fitting.model, lit.light.slopes)
        return self._rest[1]

    def picture(self, picture: Pixels, fitting: FitModel, share: float) -> Pixels:
        """A surrogate's picture (h, w, 3) with plain skin at its sides, as far as the face is rendered solid.

        The plain sides are kept as long as the picture is the same array.
        """
        if self._sided is None or self._sided[0] is not picture:
            self._sided = picture, plain_sides(picture, fitting.model)
        return picture + np.float32(share) * (self._sided[1] - picture)


@dataclass(frozen=True)
class TurnedPatch:
    """A turned face, into which eyes and mouth are rendered."""

    patch: Patch
    points: Points = field(repr=False)
    """float64 (81, 2): landmarks and forehead points of the face in the picture."""
    weights: Pixels = field(repr=False)
    """float32 (ceil(h / 2), ceil(w / 2)): weights for blending the patch."""
    sharp: Pixels = field(repr=False)
    """float32 (ceil(h / 2), ceil(w / 2)): the same with a sharp rim all around."""
    owner: Owners = field(repr=False)
    owner_chroma: Owners = field(repr=False)

    @contextmanager
    def only(self, part: int, about: Points) -> Iterator[Patch]:
        """The patch, to be rendered into about points (n, 2) of the picture.

        Of what is changed, only pixels on one opening of the mesh (`mesh_triangles`) or beside it stay changed: so a
        nose hides the far eye.
        """
        before = []
        for plane, owner, scale in ((self.patch.y, self.owner, 1), (self.patch.uv, self.owner_chroma, 2)):
            where = _surroundings(about - (self.patch.x0, self.patch.y0), scale)
            before.append((plane[where], plane[where].copy(), BESIDE[owner[where]] != part, owner[where] < 0))
        yield self.patch
        for region, was, elsewhere, nowhere in before:
            hidden = elsewhere | nowhere
            region[hidden] = was[hidden]


def _surroundings(points: Points, scale: int) -> tuple[slice, slice]:
    """The rows and columns of a plane about points (n, 2) of a plane `scale` times as large.

    They reach beyond the points as far as these lie apart.
    """
    low, high = points.min(axis=0) / scale, points.max(axis=0) / scale
    reach = float((high - low).max()) + 4
    (x0, y0), (x1, y1) = (np.maximum(low - reach, 0).astype(int), np.maximum(high + reach, 0).astype(int))
    return slice(y0, y1), slice(x0, x1)


def render_turned_face(
    lit: LitFace,
    flat: Points,
    seen: Observation,
    view: TurnedView,
    original: Planes,
    fitting: FitModel,
    memory: TurnedMemory,
    margin: float,
    copied: Copied,
) -> TurnedPatch | None:
    """A surrogate rendered as a head turned like the one that was seen, with its eyes and mouth.

    flat (81, 2): where the flat rendering has its points, pixels of the picture. original: what lies beyond the
    person's profile is taken from it and, as far as the face is flat, the inside of the mouth. margin: pixels about the
    face that the patch has for code that looks at its surroundings. None when nothing of it lies in the picture.
    """
    model, share = fitting.model, view.share
    # The redaction reaches beyond the mesh soon, and the photograph's dark rim would be a line in the face.
    picture = memory.picture(lit.picture, fitting, min(1.0, _SOON * share))
    texture = lit.texture(picture, (1 - share) * view.pose.yaw)
    turned = _rendered(texture, flat, memory.rest(lit, fitting), seen, view, original, fitting, memory, margin)
    if turned is None:
        return None
    if not copied.eyes and seen.iris is not None:
        centres = irises(seen.points, turned.points, seen.iris)
        for i, lids in enumerate(_EYES):
            colours = lit_eye(lit.eyes[i], at_eye(lit.field, i, model), lit.colour)
            radius = float(model.iris[i, 2]) * view.pose.scale
            squash = narrowed(view.pose.yaw)
            with turned.only(i + 1, turned.points[lids]) as patch:
                render_eye(patch, turned.points[lids], centres[i], radius, colours, squash, lit.towards)
    mouth, lips = turned.points[INNER_LIP], seen.points[INNER_LIP]
    with turned.only(MOUTH, mouth) as patch:
        skin = _cheeks(texture, model)
        across = float(np.linalg.norm(model.mean_shape[64] - model.mean_shape[60])) * view.pose.scale
        render_inside(patch, mouth, skin, across, view.gesture.smile, share * (1 - lit.mask.shown))
    soften_colours(turned.patch)
    for i, lids in enumerate(_EYES if copied.eyes else ()):
        with turned.only(i + 1, turned.points[lids]) as patch:
            copy_polygon(patch, original, seen.points[lids], turned.points[lids], 1.0)
    if share < 1 and copied.mouth:
        with turned.only(MOUTH, mouth) as patch:
            render_mouth(patch, original, lips, mouth, (1 - share) * (1 - lit.mask.shown))
    return turned


def _rendered(
    texture: Pixels,
    flat: Points,
    rest: RestingSolid,
    seen: Observation,
    view: TurnedView,
    original: Planes,
    fitting: FitModel,
    memory: TurnedMemory,
    margin: float,
) -> TurnedPatch | None:
    """A lit YUV texture (h, w, 3), in the model's frame, on the solid of a surrogate at rest with the gesture seen."""
    solid, share = fitting.solid, view.share
    moved = gestured(rest, view.gesture, fitting.model.smile)
    moved.shape[OUTLINE] = memory.growth(moved.shape, view.own, seen.fresh)
    mesh = seen_by(solid.solid(moved.shape, moved.depth), view.pose)
    points = seen_by(np.column_stack([moved.shape, moved.depth]), view.pose)[:, :2]
    mesh[:, :2] = (1 - share) * solid.flattened(flat) + share * mesh[:, :2]
    points = (1 - share) * flat + share * points
    width = float(np.ptp(mesh[:, 0]))
    soon = min(1.0, _SOON * share)
    feather = Feather.of(view.width)
    behind = soon * _BEHIND * view.width + feather.outwards
    before = share * _BEFORE * view.width + feather.outwards
    outline = _outline(view, seen)
    reach = np.concatenate([mesh[:, :2], outline])
    corners = np.stack([reach.min(axis=0) - margin - before, reach.max(axis=0) + margin + before])
    rendered = render_turned(texture, solid.mesh[:, :2], mesh, TRIANGLES, original.size, corners)
    if rendered is None:
        return None
    profile = RimProfile.of(mesh, view.pose.yaw)
    patch = covering(rendered, original, Reach(outline, behind, before, profile, soon, feather.outwards), width)
    soft, sharp = weights(patch, profile, share, feather)
    return TurnedPatch(patch, points, soft, sharp, rendered.owner, rendered.owner_chroma)


def _outline(view: TurnedView, seen: Observation) -> Points:
    """The convex outline (n, 2) of the person's head, including how far it moved while the shutter was open.

    It holds the places where the landmarker sees the head. A mesh that is not the landmarks' own may leave some of them
    outside, so the raw landmarks are held, too.
    """
    places = np.concatenate([view.mesh[:, :2], seen.raw])
    sweep = (2.0 if seen.onset else 1.0) * seen.sweep.mean(axis=0)
    swept = np.concatenate([places, places - sweep, places + sweep])
    return convex(swept)


def plain_sides(picture: Pixels, model: AppearanceModel) -> Pixels:
    """A surrogate's picture (h, w, 3) whose rim is plain skin carried from farther in; brows, eyes and lips stay."""
    height, width = picture.shape[:2]
    zones = model.albedo.zones
    face = np.zeros((height, width), np.uint8)
    cv2.fillPoly(face, [np.round(model.mean_shape[OUTLINE] * 16).astype(np.int32)], (1,), cv2.LINE_8, 4)
    distance = cv2.distanceTransform(face, cv2.DIST_L2, 5) / width
    near = smooth_step((_SIDE - distance) / _SIDE_FADES)
    level = picture.mean(axis=2)
    middle = float(np.median(level[face > 0]))
    inner = (distance > 0.75 * _SIDE) & (level > 0.85 * middle) & (level < 1.2 * middle)
    skin = masked_blur(picture, inner * zones.skin, _SKIN_REACHES)
    features = np.maximum(np.maximum(zones.brows, zones.eyes), zones.lips)
    smooth = (near * (1 - features))[:, :, None].astype(np.float32)
    return np.asarray(picture + smooth * (skin - picture), np.float32)


def _cheeks(texture: Pixels, model: AppearanceModel) -> Pixels:
    """The median colour (3,) of a texture (h, w, 3) between eyes and mouth."""
    top, bottom = int(model.mean_shape[NOSTRILS][:, 1].min()) - 20, int(model.mean_shape[NOSTRILS][:, 1].max())
    band = texture[top:bottom, texture.shape[1] // 5 : -texture.shape[1] // 5]
    return np.asarray(np.median(band.reshape(-1, 3), axis=0), np.float32)
