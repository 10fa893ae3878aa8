"""The light on a posed face: level, slope across and down, and one tint, smoothed and bounded (methods.md 8.2).

It is read from the skin under the posed head, at vertices of the mean mesh that face the camera. If the pose is wrong,
paper or a wall may lie there. So level and tint stay within one step of the soft tone of the place, the tone that a
soft redaction would show. Five numbers of the person pass, fewer than in an own face.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA, rgb_from_yuv, yuv_from_rgb
from streamdeid.core.frames import Colour, Planes
from streamdeid.render.face_covering import NO_CLOTH, Cloth, FaceCovering
from streamdeid.render.new_face import NewFace
from streamdeid.render.robust_fit import robust_fit
from streamdeid.render.soft_tone import DARK, GREY, LUMA_STEP, SKIN, SKIN_STEP, tone_of, tone_step
from streamdeid.render.worn import LEAST_WIDTH, Worn

_GRID = 20, 24
"""Width and height of the field of light."""
_PLAIN = 0.9
"""How plain skin must be at a vertex for the vertex to count."""
_BEARD = 0.2
"""Weight of the lower face."""
_FACING = 0.25, 0.35
"""Cosine to the camera from which a vertex counts, and the range over which it comes to count in full."""
_FEWEST = 12
"""Fewest vertices from which anything is read."""
_RIDGE = np.array([0.0, 2e-2, 2e-2])
_SPREAD = 0.15
"""Deviation, natural log, from which a vertex counts less."""
_HUE = 0.08
"""Deviation of hue from which a vertex counts less, natural log of a ratio to brightness."""
_SHADE = 0.65
"""Share of a face's general shading (`light.LightFrame`)."""
_FLOOR = 2.0
_STEEPEST = 0.5
"""Largest slope, natural log from the middle of the face to its side."""
_BEYOND = 0.2
"""How far a slope goes on beyond the middle of a turned face, halves of the width: the far half was not seen."""
_TURNED = 0.3
"""Yaw in radians from which the far half of a face is taken to be unseen."""
_ACROSS = 8.0
"""Grey levels of chroma by which the face may lie off the axis of skin."""
_TONE_RADII = 0.15, 0.4, 0.6
"""Where the tone is read, in half axes of the ellipse: where a soft redaction reads it."""
_COVERED = 0.5
"""How bare the lower face must be for the tone to be read from it: below, it is read from the upper face alone."""
_EVERY = 3
"""Number of frames from one reading to the next."""
_NEWEST = 0.25
"""Weight of the newest reading in the running mean, as soon as there are enough readings for that."""
_FOLLOWS = 0.2
"""Largest distance, natural log of the level, by which the mean stays behind where two readings in a row agree: a light
was switched on, a shade was left, a picture was faded in. A single reading may have been of somebody before the
face."""


@dataclass(frozen=True)
class LitSkin:
    """Where the light is read, at n vertices, and the field that it is put into."""

    places: Points
    """float64 (n, 3): pixels of the model's frame, and depth."""
    normals: Points
    """float64 (n, 3): right, down and away from the camera."""
    weights: Points
    """float64 (n,): weights of the vertices."""
    terms: Points
    """float64 (n, 3): 1, and the place on the face from -1 to 1, across and down."""
    shade: Points
    """float64 (n,): natural log of a face's general shading."""
    pixels: NDArray[np.intp]
    """int64 (n,): the vertices' pixels in a small texture."""
    field: Pixels
    """float32 (h, w): the general shading on the field's grid."""
    covering: FaceCovering
    """Where a mask may be, at the n vertices."""

    @classmethod
    def of(cls, fitting: FitModel, covering: FaceCovering) -> LitSkin:
        """The vertices of a model. covering: the regions of a mask on its small frame."""
        model, mesh, table = fitting.model, fitting.solid.mesh, fitting.table
        width, height = model.frame_size
        zones = Zones.of(model.mean_shape, width, model.frame_size)
        x, y = (np.clip(mesh[:, i].round().astype(int), 0, limit - 1) for i, limit in enumerate((width, height)))
        numbers = np.full((table.size[1], table.size[0]), -1)
        numbers[table.rows, table.columns] = np.arange(len(table.rows))
        pixels = numbers[y * table.size[1] // height, x * table.size[0] // width]
        kept = (zones.skin[y, x] > _PLAIN) & (pixels >= 0)
        x, y = x[kept], y[kept]
        shade = model.albedo.studio @ LUMA
        field = np.asarray(cv2.resize(shade, _GRID, interpolation=cv2.INTER_AREA), np.float32)
        place = np.column_stack([np.ones(len(x)), 2 * x / width - 1, 2 * y / height - 1])
        normals = model.normals[y, x].astype(np.float64) * (1, 1, -1)
        weights = 1 - (1 - _BEARD) * zones.lower[y, x].astype(np.float64)
        pixels = pixels[kept]
        shade = _SHADE * shade[y, x]
        return cls(mesh[kept], normals, weights, place, shade, pixels, field, covering.at(pixels))


@dataclass
class PosedLight:
    """The light on one track's posed face, and what is remembered of it from frame to frame."""

    numbers: Points | None = None
    """float64 (6,): level, slopes across and down, and a tint of RGB without brightness, natural logs."""
    _tone: Points | None = None
    frames: int = 0
    """Number of frames so far."""
    mask: Worn = Worn()
    """The mask before the face."""
    _readings: int = 0
    _apart: float = 0.0
    """By how much the level of the last reading differed from the mean before it."""

    def read(
        self,
        original: Planes,
        pose: HeadPose,
        ellipse: Points,
        skin: LitSkin,
        face: NewFace,
    ) -> None:
        """Read the light from the original, if a reading is due.

        ellipse (m, 2): rim of the face's ellipse in its detection's box; the tone is read there, wherever the pose is.
        """
        self.frames += 1
        if self.numbers is not None and self.frames % _EVERY:
            return
        width = pose.scale * float(np.ptp(skin.places[:, 0]))
        view = SkinSeen.of(original, pose, skin, worn=width >= LEAST_WIDTH)
        bare = skin.covering.bare(view.cloth)
        told = skin.covering.told(view.cloth)
        self.mask = self.mask.after(told, view.cloth.colour, width, False, _NEWEST)
        middle = ellipse.mean(axis=0)
        inside = np.concatenate([r * (ellipse - middle) for r in _TONE_RADII])
        if bare.min() < _COVERED:  # the skin's tone is seen above the mask
            inside = inside[inside @ pose.rotation[:2, 1] < 0]
        colours, seen = _colours(original, middle + inside)
        if not seen.any():
            return
        self._tone = tone_step(np.median(colours[seen], axis=0), self._tone)
        own = face.small_texture[skin.pixels].astype(np.float64)
        newest = _measured(view, bare, skin, own)
        if newest is None:
            newest = np.zeros(6) if self.numbers is None else self.numbers
        newest = _bounded(newest, own, skin, tone_of(self._tone), original.colour)
        self._readings += 1
        if self.numbers is None:
            self.numbers = newest
            return
        apart = float(newest[0] - self.numbers[0])
        self.numbers = self.numbers + self._share(apart) * (newest - self.numbers)
        self._apart = apart

    def _share(self, apart: float) -> float:
        """The weight of a reading in the running mean. apart: by how much its level differs from that."""
        share = max(_NEWEST, 1 / self._readings)
        agreed = min(abs(apart), abs(self._apart)) if apart * self._apart > 0 else 0.0
        return max(share, 1 - _FOLLOWS / agreed) if agreed > _FOLLOWS else share

    def field(self, skin: LitSkin, yaw: float) -> Pixels:
        """The natural log of the gain on a surrogate, float32 (h, w, 3), over the model's frame."""
        numbers = np.zeros(6) if self.numbers is None else self.numbers
        height, width = skin.field.shape
        u, v = (2 * (np.arange(n) + 0.5) / n - 1 for n in (width, height))
        side = np.sign(yaw)
        across = np.maximum(side * u, -_BEYOND) * side if abs(yaw) > _TURNED else u
        bright = numbers[0] + numbers[1] * across + numbers[2] * v[:, None] + _SHADE * skin.field
        return np.asarray(bright[:, :, None] + numbers[3:], np.float32)

    @property
    def towards(self) -> Points:
        """Where the light comes from in the picture, float64 (2,), unit length."""
        across = 0.0 if self.numbers is None else float(self.numbers[1])
        direction = np.array([0.7 * np.clip(2 * across, -1, 1), -0.75])
        return np.asarray(direction / np.linalg.norm(direction))


def _colours(planes: Planes, places: Points) -> tuple[Points, NDArray[np.bool_]]:
    """YUV float64 (n, 3) at places (n, 2), and whether each is in the picture (n,)."""
    width, height = planes.size
    x, y = np.rint(np.clip(places, -1, (width, height))).astype(int).T
    seen = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    x, y = np.clip(x, 0, width - 1), np.clip(y, 0, height - 1)
    half = y // 2, x // 2
    return np.column_stack([planes.y[y, x], planes.u[half], planes.v[half]]).astype(np.float64), seen


@dataclass(frozen=True)
class SkinSeen:
    """What is seen of a head at the n vertices of `LitSkin`."""

    rgb: Points
    """float64 (n, 3)."""
    facing: Points
    """float64 (n,): how well each is seen, 0 to 1."""
    cloth: Cloth
    """The part that is a mask."""

    @classmethod
    def of(cls, original: Planes, pose: HeadPose, skin: LitSkin, worn: bool = True) -> SkinSeen:
        """What is seen in a picture, under a pose. worn: whether a mask is looked for."""
        facing = np.clip((-(skin.normals @ pose.rotation[2]) - _FACING[0]) / _FACING[1], 0, 1)
        colours, seen = _colours(original, pose.to_image(skin.places[:, :2], skin.places[:, 2]))
        matrix, offset = rgb_from_yuv(original.colour)
        rgb, facing = np.maximum(colours @ matrix.T + offset, 0), facing * seen
        cloth = skin.covering.seen(rgb.astype(np.float32), facing, coloured=True) if worn else NO_CLOTH
        return cls(rgb, facing, cloth)


def _measured(view: SkinSeen, bare: Points, skin: LitSkin, own: Points) -> Points | None:
    """The numbers (6,) of the light that turns a surrogate's skin (n, 3) into what is seen, or None.

    It counts as far as it is bare (n,); None where little of it is seen.
    """
    rgb, weights = view.rgb, skin.weights * view.facing * bare
    if np.count_nonzero(weights > 0.1) < _FEWEST:
        return None
    seen_log, own_log = (np.log(part @ LUMA + _FLOOR) for part in (rgb, own))
    level = np.asarray(seen_log - own_log - skin.shade, np.float32)
    found = robust_fit(skin.terms, level, weights, np.zeros(3), _RIDGE, _SPREAD, 5)
    hue = (np.log(rgb + _FLOOR) - seen_log[:, None]) - (np.log(own + _FLOOR) - own_log[:, None])
    # What is not skin, such as background beside a wrong pose, has another hue than most of the vertices.
    plain = weights / (1 + np.square((level - skin.terms @ found) / _SPREAD))
    middle = np.median(hue[weights > 0.1], axis=0)
    plain = plain / (1 + np.square((hue - middle) / _HUE).sum(axis=1)) ** 2
    tint = (plain @ hue) / plain.sum()
    slopes = np.clip(found[1:], -_STEEPEST, _STEEPEST)
    return np.asarray(np.concatenate([found[:1], slopes, tint - tint @ LUMA]), np.float64)


def _bounded(numbers: Points, own: Points, skin: LitSkin, tone: Points, colour: Colour) -> Points:
    """The numbers (6,) with level and tint changed so that the shown skin is within one step of a tone (2,)."""
    matrix, offset = yuv_from_rgb(colour)
    to_rgb, of_rgb = rgb_from_yuv(colour)
    own_mean = (skin.weights @ own) / skin.weights.sum()
    gain = numbers[0] + float(skin.weights @ skin.shade) / float(skin.weights.sum()) + numbers[3:]
    y, u, v = (float(value) for value in matrix @ (own_mean * np.exp(gain)) + offset)
    low, high = ((tone[0] + DARK) * LUMA_STEP**side - DARK for side in (-1, 1))
    along, across = SKIN @ (np.array([u, v]) - GREY)
    along, across = np.clip(along, tone[1] - SKIN_STEP, tone[1] + SKIN_STEP), np.clip(across, -_ACROSS, _ACROSS)
    wanted = np.array([np.clip(y, low, high), *(GREY + np.array([along, across]) @ SKIN)])
    rgb = np.maximum(to_rgb @ wanted + of_rgb, 1.0)
    change = np.log(rgb / np.maximum(own_mean * np.exp(gain), 1.0))
    level = float(change @ LUMA)
    return np.concatenate([[numbers[0] + level], numbers[1:3], numbers[3:] + change - level])
