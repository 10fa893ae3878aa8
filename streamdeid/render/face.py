"""One face of one frame rendered on its landmarks and blended into the planes: own face, the first protection level."""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import spread
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.surface import slid_depth
from streamdeid.aam.synthesise import Patch, render_patch
from streamdeid.core.arrays import Pixels, Points, Triangles
from streamdeid.core.frames import Colour, Planes
from streamdeid.core.ibug68 import CHIN, FOREHEAD, INNER_LIP, LEFT_EYE, OUTLINE, RIGHT_EYE, RING
from streamdeid.observe.glasses import Glasses
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation
from streamdeid.observe.opening import Opening, shown_through
from streamdeid.observe.outline import bulged, reaching, widened
from streamdeid.observe.rest import at_rest, folds, opened
from streamdeid.render.at_ease import faced
from streamdeid.render.blend import Blend, Feather, composed, membrane, no_membrane, soft_blur
from streamdeid.render.colourless import without_colours
from streamdeid.render.copied_pixels import copy_polygon
from streamdeid.render.expression import transfer_expression
from streamdeid.render.eyes import EyeColours, browner, narrowed, render_eye
from streamdeid.render.gaze import irises
from streamdeid.render.glasses import render_glasses
from streamdeid.render.hairline import Hairline
from streamdeid.render.light import LightFrame, StaticLight, light_change, static_light, tint_change
from streamdeid.render.lit_face import at_eye, dressed, lit_eye, lit_texture
from streamdeid.render.mouth import render_mouth
from streamdeid.render.new_face import NewFace
from streamdeid.render.scene_grain import SceneGrain, soften_colours
from streamdeid.render.soft_skin import SoftSkin
from streamdeid.render.thin_brows import darkness
from streamdeid.render.turned_face import Copied, LitFace, TurnedMemory, render_turned_face
from streamdeid.render.turned_light import turned_change
from streamdeid.render.worn import Worn

_SURROUNDINGS = 0.08
"""Width of the surroundings that the membrane looks at, as a share of the face's width."""
_STRIP = 0.08
"""Distance from the strip between outline and silhouette within which the sharp feather holds, as a share of the face's
width: about the width of the soft feather of a large face."""
_LAG = 0.03
"""Lag of the smoothed lips, share of the face's width, above which the mouth is taken from where the raw lips are."""
_FRAMED = 0.5
"""Opacity of dark lenses above which they get a frame even if no frame is seen."""
_MEMBRANE_SHARE = 0.4
"""Weight of the newest frame in the membrane's running mean."""
_TINT_SHARE = 0.15
"""Weight of the newest frame in the running mean of the light's colour, which changes slowly."""


@dataclass(frozen=True)
class Static:
    """The part of a surrogate's rendering that is constant while a person's neutral is."""

    light: StaticLight
    picture: Pixels
    """float32 (h, w, 3): the surrogate's even skin, with brows and lips in tones that go with the person's."""
    shape: Points
    """float64 (81, 2): the surrogate at rest, looking where the person at rest looks."""
    depth: Points
    """float64 (81,): depth of the surrogate's points."""
    rest: Points
    """float64 (81, 2): the person at rest."""
    skin: SoftSkin
    """The soft skin of the person at rest."""
    well: Points
    """float64 (f,): how well each place was seen at rest (`LightFrame.seen_from`)."""
    eyes: tuple[EyeColours, EyeColours]
    """The surrogate's eye colours, image-left first, in tones that go with the person's hair."""


@dataclass
class Blending:
    """What rendering remembers of a track.

    It holds running means of the membrane and of the light's colour, the sharpness and grain of the scene around the
    face, a mask and dark glasses that are worn, and the static light of the person's neutral.
    """

    membrane: Pixels | None = None
    tint: Points | None = None
    level: float = -np.inf
    """How much brighter than at rest the face was in the last frame, natural log (`light_change`)."""
    turned: TurnedMemory = field(default_factory=TurnedMemory)
    scene: SceneGrain = field(default_factory=SceneGrain)
    mask: Worn = Worn()
    shades: Worn = Worn()
    hairline: Hairline = field(default_factory=Hairline)
    _of: tuple[Neutral, NewFace] | None = None
    _static: Static | None = None
    _hairs: tuple[NewFace, Pixels] | None = None

    def static(self, fitting: FitModel, light: LightFrame, neutral: Neutral, face: NewFace) -> Static:
        """The `Static` of a neutral and a surrogate, derived again only when one of them has changed."""
        if self._static is None or self._of is None or self._of[0] is not neutral or self._of[1] is not face:
            model = fitting.model
            well = light.seen_from(np.array([-np.sin(neutral.yaw), 0.0, np.cos(neutral.yaw)]))
            well = well * light.worn_on(neutral.small_texture, well)[2]
            lit = static_light(light, neutral.small_texture, face, well, neutral.hair)
            rest = opened(at_rest(neutral.shape, model), neutral.open)
            shape = faced(face.shape, rest, model.depth)
            depth = slid_depth(model.depth, shape - rest, light.slopes)
            skin = light.skin_of(neutral.small_texture)
            zones = model.albedo.zones
            if self._hairs is None or self._hairs[0] is not face:
                self._hairs = face, darkness(face.picture, zones)
            picture = dressed(face, lit, zones, self._hairs[1])
            left, right = (browner(eye, lit.brown) for eye in face.eyes)
            self._static = Static(lit, picture, shape, depth, rest, skin, well, (left, right))
            self._of = neutral, face
        return self._static

    def mean(self, newest: Pixels) -> Pixels:
        """The running mean (gh, gw, 3) with the newest membrane in it."""
        old = self.membrane
        self.membrane = newest if old is None else old + np.float32(_MEMBRANE_SHARE) * (newest - old)
        return self.membrane

    def tinted(self, newest: Points) -> Pixels:
        """The running mean float32 (3,) with the newest change of the light's colour in it."""
        old = newest if self.tint is None else self.tint
        self.tint = old + _TINT_SHARE * (newest - old)
        return self.tint.astype(np.float32)


def render_surrogate(
    out: Planes,
    original: Planes,
    seen: Observation,
    neutral: Neutral,
    face: NewFace,
    fitting: FitModel,
    light: LightFrame,
    blending: Blending,
    shape: Points | None = None,
    copy_eyes: bool = False,
    opening: Opening | None = None,
) -> bool:
    """Render a person's surrogate with the expression, gaze and light of this frame into `out`, in place.

    original: the same picture, with this face untouched and others as they are published (`out` itself will do); only
    the inside of an open mouth and what lies outside the hull are taken from it. shape (81, 2): the surrogate's shape
    with the expression, if another transfer than that of docs/methods.md 4.0 made it. copy_eyes: show the original's
    own eyes (they leak, docs/methods.md 4.0). Returns False when the face could not be rendered: it lies outside the
    picture, or its pixels are not finite.
    """
    model = fitting.model
    plain = shape is not None
    static = blending.static(fitting, light, neutral, face)
    if shape is None:
        shape = transfer_expression(seen.frontal, static.rest, static.shape)
    points = bulged(seen.pose.to_image(shape, static.depth), seen.bulge)
    texture = seen.small_texture if opening is None else opening.without(seen.small_texture, neutral.small_texture)
    lit = _lit_now(seen, texture, static, light, blending)
    change, mask, shades = lit.change, lit.mask, lit.shades
    if plain:  # the other transfer's texture has its own folds: only the level and colour of light are taken over
        change = np.full_like(change, np.median(change))
    smile = np.float32(0) if plain else spread(folds(seen.frontal, static.rest, model), fitting.table)
    margin = _SURROUNDINGS * seen.width
    mouth = opening is None or not opening.mouth
    copy_eyes = copy_eyes and shades.shown == 0  # dark glasses hide them
    if not plain and seen.turned is not None and seen.turned.share > 0:
        change = turned_change(light, lit.now, static.skin, change, seen.turned, lit.well, lit.before)
        there = static.light.field + change + smile + lit.tint
        shown = LitFace(there, static.picture, face, static.eyes, light, original.colour, static.light.towards, mask)
        copied = Copied(copy_eyes, mouth)
        turned = render_turned_face(
            shown, points, seen, seen.turned, original, fitting, blending.turned, margin, copied
        )
        if turned is None:
            return False
        _with_glasses(turned.patch, seen, turned.points, original, model, shades)
        lips = turned.points[INNER_LIP]
        blending.scene.match(turned.patch, original, np.concatenate(seen.places), seen.fresh, lips)
        share, alpha = seen.turned.share, turned.weights
        if float(seen.bulge.max()) > 1 and share < 1:
            edge = sharp_edge(alpha, turned.sharp, turned.patch, points, seen)
            alpha = alpha + np.float32(1 - share) * (edge - alpha)
        return _blended(out, original, turned.patch, turned.patch, alpha, seen, fitting, blending, opening)
    field = static.light.field + change + smile + lit.tint
    texture = light.flanks.smoothed(lit_texture(static.picture, field, original.colour), seen.pose.yaw)
    texture = light.covering.laid(texture, mask, field, original.colour)
    triangles = far_first(model.closed_triangles, shape, static.depth, seen.pose)
    feather = Feather.of(seen.width)
    slow, reached = _reached(points, seen, feather)
    patch = render_ringed(texture, points, reached, triangles, model, out.size, margin)
    if patch is None:
        return False
    # A redaction that was grown for one quick frame must not stay in the membrane's running mean: the one for a slow
    # head is used there.
    rim: Patch | None = patch
    if reached is not slow:
        rim = render_ringed(texture, points, slow, triangles, model, out.size, margin)
    if not copy_eyes and seen.iris is not None:
        _render_eyes(patch, points, seen, seen.iris, static, field, original.colour, model)
    _as_filmed(patch, seen, points, original, model, blending)
    if copy_eyes:  # after sharpness and grain, like the mouth: the copy has the scene's own
        for lids in (LEFT_EYE, RIGHT_EYE):
            copy_polygon(patch, original, seen.points[lids], points[lids], 1.0)
    if mouth:
        render_mouth(patch, original, _lips(seen), points[INNER_LIP], 1 - mask.shown)
    alpha, sharp = feather.weights(patch.covered)
    if float(seen.bulge.max()) > 1:
        alpha = sharp_edge(alpha, sharp, patch, reached, seen)
    return _blended(out, original, patch, rim, alpha, seen, fitting, blending, opening)


@dataclass(frozen=True)
class _LitNow:
    """What a frame tells of the light on a face, and of what is worn."""

    now: SoftSkin
    well: Points
    """float64 (f,): how well each place is seen, at rest and now, with nothing before it."""
    before: float
    """How much brighter than at rest the face was in the last frame (`Blending.level`)."""
    change: Pixels
    """float32 (h, w, 1): `light_change`."""
    tint: Pixels
    """float32 (3,): change of the light's colour."""
    mask: Worn
    shades: Worn


def _lit_now(seen: Observation, texture: Pixels, static: Static, light: LightFrame, blending: Blending) -> _LitNow:
    """The light of a frame, by its small texture (f, 3); what is remembered of a track goes on."""
    now = light.skin_of(texture)
    if seen.fresh:
        blending.tint, blending.level = None, -np.inf
    well = light.seen_from(seen.pose.rotation[2])
    cloth, lenses, bare = light.worn_on(texture, well)
    well = static.well * well * bare
    told = light.covering.told(cloth)
    blending.mask = mask = blending.mask.after(told, cloth.colour, seen.width, seen.fresh)
    blending.shades = shades = blending.shades.after(lenses.told, lenses.colour, seen.width, seen.fresh)
    tint = blending.tinted(tint_change(light, now, static.skin, well))
    before = blending.level
    change, blending.level = light_change(light, now, static.skin, well, before)
    return _LitNow(now, well, before, change, tint, mask, shades)


def _reached(points: Points, seen: Observation, feather: Feather) -> tuple[Points, Points]:
    """The meshes (81, 2) that the redaction of a flat face's mesh (81, 2) reaches if its head is slow, and as it is.

    The same array unless the head is quick.
    """
    places = tuple(bulged(p, seen.bulge) for p in seen.places)
    farthest = tuple(bulged(p, seen.bulge) for p in seen.farthest) if seen.onset else places
    reached = reaching(points, places, farthest, seen.width)
    slow = widened(points, feather.outwards)
    return slow, slow if reached is points else widened(reached, feather.outwards)


def _render_eyes(
    patch: Patch,
    points: Points,
    seen: Observation,
    iris: Points,
    static: Static,
    field: Pixels,
    colour: Colour,
    model: AppearanceModel,
) -> None:
    """Render the eyes of a flat face's mesh (81, 2), in place. iris (2, 2): where the person's are."""
    centres = irises(seen.points, points, iris)
    for i, lids in enumerate((LEFT_EYE, RIGHT_EYE)):
        colours = lit_eye(static.eyes[i], at_eye(field, i, model), colour)
        radius = float(model.iris[i, 2]) * seen.pose.scale
        render_eye(patch, points[lids], centres[i], radius, colours, narrowed(seen.pose.yaw), static.light.towards)


def _blended(
    out: Planes,
    original: Planes,
    patch: Patch,
    rim: Patch | None,
    alpha: Pixels,
    seen: Observation,
    fitting: FitModel,
    blending: Blending,
    opening: Opening | None,
) -> bool:
    """Blend a patch of these weights (h, w) into the planes, in place; return False as `composed` does.

    rim: the patch whose rim the membrane looks at; None if it does not lie in the picture.
    """
    greyed = without_colours(patch, original, 1 - patch.covered)
    if rim is not None and rim is not patch:
        without_colours(rim, original, 1 - rim.covered)
    if opening is not None:
        alpha *= shown_through(opening, patch, original, seen, fitting)
    if seen.fresh:  # what is remembered belongs to another scene
        blending.membrane = None
        blending.hairline.forget()
    centre = seen.points[OUTLINE].mean(axis=0)
    brows = seen.points[FOREHEAD].mean(axis=0) - seen.points[CHIN]
    solid = 0.0 if seen.turned is None else seen.turned.share
    up = float(np.arctan2(brows[1], brows[0]))
    blending.hairline.continue_over(patch, original, centre, up, seen.width, (seen.pose.yaw, solid))
    correction = no_membrane() if rim is None else blending.mean(membrane(rim, original))
    if greyed > 0:  # what is remembered has the colours of the frames before
        correction = correction * np.array([1, 1 - greyed, 1 - greyed], np.float32)
    return composed(patch, Blend(alpha, correction), out)


def render_ringed(
    texture: Pixels,
    points: Points,
    outer: Points,
    triangles: Triangles,
    model: AppearanceModel,
    size: tuple[int, int],
    margin: float,
) -> Patch | None:
    """Render a YUV texture on the mesh at points (81, 2), and the colours of its rim around it.

    These reach out to the outline of another mesh (81, 2): so a redaction grows, and no feature of the face is
    stretched. The result is that of `synthesise.render_patch`.
    """
    frame_points = np.concatenate([model.mean_shape, model.mean_shape[OUTLINE]])
    whole = np.concatenate([points, outer[OUTLINE]])
    return render_patch(texture, frame_points, whole, np.concatenate([RING, triangles]), size, margin)


def far_first(triangles: Triangles, shape: Points, depth: Points, pose: HeadPose) -> Triangles:
    """The triangles (t, 3) of a mesh (81, 2) with depth (81,), the farthest first.

    So where a turned face hides itself, the nearer part is seen.
    """
    away = np.column_stack([shape, depth]) @ pose.rotation[2]
    return np.ascontiguousarray(triangles[np.argsort(-away[triangles].mean(axis=1), kind="stable")])


def sharp_edge(alpha: Pixels, sharp: Pixels, patch: Patch, points: Points, seen: Observation) -> Pixels:
    """Weights (h, w) of a patch whose mesh (81, 2) was grown to the silhouette: sharp where it was grown.

    There a face ends before the background, so its edge is sharp, and nothing of the person's cheek shows through a
    feather. alpha and sharp (h, w): weights of a soft and of a sharp feather.
    """
    grown = points[OUTLINE]
    centre = grown.mean(axis=0)
    ring = (centre + (grown - centre) / seen.bulge[:, None] - (patch.x0, patch.y0) - 0.5) / 2
    inner = np.zeros_like(patch.covered)
    cv2.fillPoly(inner, [np.round(ring * 16).astype(np.int32)], (1,), cv2.LINE_8, 4)
    strip = cv2.erode(patch.covered & (1 - inner), np.ones((3, 3), np.uint8))
    if not strip.any():
        return alpha
    reach = max(1, round(_STRIP * seen.width / 2))
    about = (cv2.distanceTransform(1 - strip, cv2.DIST_L2, 5) < reach + 0.5).astype(np.float32)
    near = soft_blur(about, max(0.25 * _STRIP * seen.width, 0.5))
    return np.asarray(np.maximum(alpha, near * sharp), np.float32)


def _with_glasses(
    patch: Patch, seen: Observation, points: Points, original: Planes, model: AppearanceModel, shades: Worn
) -> None:
    """Render a plain frame before the eyes of a rendered mesh (81, 2), in place, if glasses are worn.

    It has dark lenses if the glasses are dark.
    """
    lens = None if shades.colour is None or shades.shown == 0 else (shades.colour, shades.shown)
    glasses = seen.glasses
    if glasses is None and lens is not None and shades.shown > _FRAMED:
        glasses = Glasses(lens[0].astype(np.float32), 0.0)
    if glasses is not None:
        eyes = np.stack([points[LEFT_EYE].mean(axis=0), points[RIGHT_EYE].mean(axis=0)])
        span = float(np.linalg.norm(model.mean_shape[LEFT_EYE].mean(axis=0) - model.mean_shape[RIGHT_EYE].mean(axis=0)))
        render_glasses(patch, glasses, eyes, seen.pose, span, original.colour, lens)


def _as_filmed(
    patch: Patch, seen: Observation, points: Points, original: Planes, model: AppearanceModel, blending: Blending
) -> None:
    """Give a flat face's patch glasses, if worn, and the softness, sharpness and grain of its scene, in place."""
    _with_glasses(patch, seen, points, original, model, blending.shades)
    soften_colours(patch)
    blending.scene.match(patch, original, np.concatenate(seen.places), seen.fresh)


def _lips(seen: Observation) -> Points:
    """The inner lips (8, 2) in the original: smoothed, but moved to the raw ones when they lag much.

    A mouth taken from where it was before would show the skin beside it.
    """
    lips = seen.points[INNER_LIP]
    lag = (seen.raw[INNER_LIP] - lips).mean(axis=0)
    return lips + lag if float(np.linalg.norm(lag)) > _LAG * seen.width else lips
