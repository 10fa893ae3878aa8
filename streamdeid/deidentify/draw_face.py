"""One face of one frame drawn on its landmarks and blended into the planes: the first protection level."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Pixels, Points
from streamdeid.aam.synthesise import draw
from streamdeid.deidentify.blend import Blend, composed, feathered, membrane, no_membrane
from streamdeid.deidentify.copied_pixels import copy_polygon
from streamdeid.deidentify.expression import eye_maps, facing, transfer_expression
from streamdeid.deidentify.eyes import draw_eye
from streamdeid.deidentify.light import LightFrame, contrast, light_ratio, static_light
from streamdeid.deidentify.lit_face import lit_eye, lit_texture
from streamdeid.deidentify.mouth import draw_mouth
from streamdeid.deidentify.neutral import Neutral
from streamdeid.deidentify.new_face import NewFace
from streamdeid.deidentify.observation import Observation
from streamdeid.deidentify.opening import Opening, shown_through
from streamdeid.deidentify.outline import reaching
from streamdeid.deidentify.scene_grain import SceneGrain
from streamdeid.frames import Planes
from streamdeid.ibug68 import INNER_LIP, LEFT_EYE, RIGHT_EYE

_FEATHER = 0.07
"""Feather inside the hull, share of the face's width (METHODS 4.4)."""
_SURROUNDINGS = 0.08
"""Surroundings that the membrane looks at, share of the face's width."""
_GROW = 1.05
"""The mean face is drawn so much larger: its landmarks are doubted."""
_MIDDLE = 0.7
"""Axes of the ellipse that rung 2 covers whatever the landmarks say, share of the detector's box."""
_AROUND = 1.42
"""The same of the ellipse around the whole box."""
_LAG = 0.03
"""Lag of the smoothed lips, share of the face's width, from which the mouth is taken from where the raw ones are."""
_MEMBRANE_SHARE = 0.4
"""Weight of the newest frame in the membrane's running mean."""


@dataclass(frozen=True)
class Static:
    """What of a surrogate's drawing is constant while a person's neutral is."""

    light: Pixels
    """float32 (h, w, 3): gain of the place's light and tone."""
    contrast: float
    shape: Points
    """float64 (81, 2): the surrogate at rest, facing where the person at rest does."""


@dataclass
class Blending:
    """What drawing remembers of a track: the running mean of its membrane, the sharpness and grain of the scene around
    it, and the static light of its neutral."""

    membrane: Pixels | None = None
    scene: SceneGrain = field(default_factory=SceneGrain)
    _of: tuple[Neutral, NewFace] | None = None
    _static: Static | None = None

    def static(self, fitting: FitModel, light: LightFrame, neutral: Neutral, face: NewFace) -> Static:
        """What follows from a neutral and a surrogate, derived anew only when one of them has changed."""
        if self._static is None or self._of is None or self._of[0] is not neutral or self._of[1] is not face:
            self._static = Static(
                static_light(light, neutral.small_texture, face.small_texture, neutral.skin),
                contrast(light, neutral.small_texture, face.small_texture),
                facing(face.shape, neutral.shape, fitting.model.depth),
            )
            self._of = neutral, face
        return self._static

    def mean(self, newest: Pixels) -> Pixels:
        """Running mean (gh, gw, 3) with the newest membrane in it."""
        old = self.membrane
        self.membrane = newest if old is None else old + np.float32(_MEMBRANE_SHARE) * (newest - old)
        return self.membrane


def draw_surrogate(
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
    """Draw a person's surrogate with the expression, gaze and light of this frame into `out`, in place.

    original: the same picture, this face untouched and others as they are published (`out` itself will do); only the
    inside of an open mouth and what lies outside the hull are taken from it. shape (81, 2): the surrogate's shape with
    the expression, where another transfer than METHODS 4.0's made it. copy_eyes: show the original's own eyes (they
    leak, METHODS 4.0). False when the face could not be drawn: it lies outside the picture, or its pixels are no
    numbers.
    """
    model = fitting.model
    plain = shape is not None
    static = blending.static(fitting, light, neutral, face)
    if shape is None:
        shape = transfer_expression(seen.frontal, neutral.shape, static.shape)
    steady = seen.pose.to_image(shape, model.depth)
    points = reaching(steady, seen.places, seen.farthest, seen.width)
    texture = seen.small_texture if opening is None else opening.without(seen.small_texture, neutral.small_texture)
    ratio = light_ratio(light, texture, neutral.small_texture)
    if plain:  # the other transfer's texture has its own folds: only the level of light is carried
        ratio = np.full_like(ratio, float(np.median(ratio)))
    ratio *= static.light
    texture = lit_texture(face, ratio, static.contrast, original.colour)
    margin = _SURROUNDINGS * seen.width
    patch = draw(texture, model.mean_shape, points, model.closed_triangles, out.size, margin)
    if patch is None:
        return False
    # A cover grown for one quick frame is not to stay in the membrane's running mean: the one for a slow head does.
    rim = (
        patch if points is steady else draw(texture, model.mean_shape, steady, model.closed_triangles, out.size, margin)
    )
    if not copy_eyes and seen.iris is not None:
        maps = eye_maps(seen.points, points)
        for i, ((linear, shift), lids) in enumerate(zip(maps, (LEFT_EYE, RIGHT_EYE), strict=True)):
            x, y, radius = (float(v) for v in model.iris[i])
            here = ratio[int(y * ratio.shape[0] / len(texture)), int(x * ratio.shape[1] / texture.shape[1])]
            colours = lit_eye(face, i, here, original.colour)
            draw_eye(patch, points[lids], linear @ seen.iris[i] + shift, radius * seen.pose.scale, colours)
    blending.scene.match(patch, original, np.concatenate(seen.places), seen.fresh)
    if copy_eyes:  # like the mouth's inside after sharpness and grain: it has the scene's own
        for lids in (LEFT_EYE, RIGHT_EYE):
            copy_polygon(patch, original, seen.points[lids], points[lids], 1.0)
    if opening is None or not opening.mouth:
        draw_mouth(patch, original, _lips(seen), points[INNER_LIP])
    alpha = feathered(patch.covered, _FEATHER * seen.width / 2)
    if opening is not None:
        alpha *= shown_through(opening, patch, original, seen, fitting)
    if seen.fresh:
        blending.membrane = None  # that of another scene
    field = no_membrane() if rim is None else blending.mean(membrane(rim, original))
    return composed(patch, Blend(alpha, field), out)


def _lips(seen: Observation) -> Points:
    """The inner lips (8, 2) in the original: smoothed, but where the landmarker sees them when that lags much. A mouth
    taken from where it was would show the skin beside it."""
    lips = seen.points[INNER_LIP]
    lag = (seen.raw[INNER_LIP] - lips).mean(axis=0)
    return lips + lag if float(np.linalg.norm(lag)) > _LAG * seen.width else lips
