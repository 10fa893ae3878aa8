"""Continuation of what lies over the rim of a face - hair of forehead, temples and cheeks, a cap - into the new face.

The redaction ends where the model's face ends. A fringe or a brim crosses that rim, and a new face that is bare skin
from rim to rim cuts it off in a line. So the material just outside the rim is continued inwards as far as it reached in
the original; it ends strand by strand. It is moved and not mirrored, so strands keep their direction. In a turned head
hair beside the visible cheek is continued, too, and nothing is continued over the profile. Where the forehead's skin
goes on over the rim, the new skin next to the rim takes its tone.

Colours come from outside the redaction alone. From the inside one smoothed number enters for each direction: how deep
the material reaches. It is measured on colours that are blurred as much as those that the light is measured on, so no
detail of the face passes (tests/render/test_non_interference.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.smooth_step import smooth_step
from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import kernel
from streamdeid.render.strands import TURNS, moved_inwards

DIRECTIONS = 96
"""Rays from the middle of the face; 0 points to the right of the picture when the head is upright."""
_STEP = 0.015
"""Distance between places on a ray, share of the face's width."""
_INSIDE, _OUTSIDE = 20, 24
"""Number of places looked at on a ray, inside and outside the rim."""
_NEXT = 4
"""Number of places next to the rim whose mean is the material's colour."""
_BLUR = 0.06
"""Blur of the colours seen inside, share of the face's width: the scale of the light field."""
_DEEPEST = (0.26, 0.05)
"""Largest depth to which material is continued, shares of the face's width, above and at the temples: it ends above the
eyes. Nothing is continued at the cheeks, where what the redaction takes in beside the face must stay hidden; nor below,
where the shadow of a jaw cannot be told from a beard (tried: night_turning got dark lines on the chin)."""
_BESIDE, _ASIDE = 0.15, np.deg2rad((14.0, 28.0))
"""The same beside cheek and ear of the side that a turned head shows, and the range of yaw over which it comes to that.
The rim of the face lies behind the cheek there, and long hair in front of it. Beyond the profile of a head that is
rendered solid nothing is continued: only the shape of the profile could tell how deep."""
_CONTRAST = (16.0, 34.0)
"""Difference of the material from the new skin, grey levels over Y, U and V: from the first it begins to be continued,
from the second it is continued wholly. Half of the first is a light that the field did not follow, which may stay as it
is."""
_LIKE = (0.4, 0.8)
"""Share of the way from the new skin to the material: from the first a place begins to be material, from the second it
is."""
_SAME = 0.75
"""Largest difference of a place farther out from the material that counts as the same, over the material's difference
from the new skin."""
_SPARE = 1.5
"""How far the material is moved, in depths: its strands reach beyond the depth."""
_ALIKE = 8
"""Number of rays to either side on which the material is moved nearly as far."""
_SKIN = 22.0
"""Difference of the outside from the new skin, grey levels, at which its weight as skin is 1 / e. With 42, as for the
membrane, skin next to hair grew dark: steps of the forehead fell to half of what belongs there."""
_FADE = 0.2
"""Distance from the rim at which its tone has faded into the new face's, share of the face's width."""
_EVERY = 3
"""Number of frames for which a measurement holds: it is stored by direction from the middle of the face, and moves with
the face."""
_FOLLOW = 0.58
"""Share of the newest measurement in the running means: it corresponds to a quarter in each frame."""


@dataclass(frozen=True)
class Rim:
    """What lies about a face, for each of d directions."""

    depth: Pixels
    """float32 (d,): depth to which the material reaches, shares of the face's width."""
    shift: Pixels
    """float32 (d,): how far outside its place the material is taken from, shares of the width."""
    tone: Pixels
    """float32 (d,): luma of the material."""
    bare: Pixels
    """float32 (d,): luma of the new face's skin inside the rim."""
    skin: Pixels
    """float32 (d, 3): Y, U and V of the skin above the rim minus those of the new skin below it."""


class Hairline:
    """The depth of the material about a track's face and the tones of its rim, smoothed over frames."""

    def __init__(self) -> None:
        self._rim: Rim | None = None
        self._age = 0

    def continue_over(
        self, patch: Patch, original: Planes, centre: Points, up: float, width: float, turn: tuple[float, float]
    ) -> None:
        """Continue what lies about a rendered face into it, in place.

        centre (2,): the face's middle, pixels of the picture; up: direction of its forehead, radians as of atan2(y, x);
        width: the face's, pixels; turn: its yaw, radians, and how solid it is rendered, 0 to 1.
        """
        most = deepest(*turn)
        angles = (up + np.pi / 2 + np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)).astype(np.float32)
        middle = centre[0] - patch.x0, centre[1] - patch.y0
        reach = rays_to_rim(patch.covered_luma, *middle, angles)
        if self._rim is None or self._age >= _EVERY:
            seen = profiles(patch, original, middle, angles, reach, _STEP * width)
            self._rim, self._age = measured(*seen, self._rim, most), 0
        self._age += 1
        rim, wide, flat = self._rim, np.float32(width), np.float32(1 - turn[1])
        planes = original.y, original.u, original.v
        scaled = (
            wide * np.minimum(rim.depth, most),
            wide * rim.shift,
            rim.tone,
            rim.bare,
            flat * rim.skin,
            _FADE * width,
        )
        moved_inwards(
            patch.y, patch.uv, patch.covered_luma, planes, (patch.x0, patch.y0), middle, angles, reach, *scaled, TURNS
        )

    def forget(self) -> None:
        """Forget what was measured: the next frame belongs to another scene."""
        self._rim = None


def measured(seen: Pixels, rendered: Pixels, known: NDArray[np.bool_], before: Rim | None, most: Pixels) -> Rim:
    """The `Rim` of a face from what its rays show (as of `continued`), smoothed with what was measured before."""
    depth, thickness, material = continued(seen, rendered, known, most)
    skin = rim_tones(material, rendered) * known[:, _OUTSIDE - _NEXT :].all(axis=1, keepdims=True)
    if before is not None:
        depth, skin = (
            old + np.float32(_FOLLOW) * (new - old) for old, new in ((before.depth, depth), (before.skin, skin))
        )
    shift = shifts(depth, thickness)
    # The depth is no larger than the material outside: repeated, the material would be a pattern.
    deep, bare = np.minimum(depth, shift / np.float32(_SPARE)), rendered[:, :_NEXT, 0].mean(axis=1)
    return Rim(deep, shift, material[:, 0].copy(), bare, skin.astype(np.float32))


def continued(seen: Pixels, rendered: Pixels, known: NDArray[np.bool_], most: Pixels) -> tuple[Pixels, Pixels, Pixels]:
    """Depth (d,) and thickness (d,) of the material outside, shares of the face's width, and its Y, U and V (d, 3).

    The depth is how far it reaches inside, the thickness how far outside. seen (d, _OUTSIDE + _INSIDE, 3): the
    original's Y, U, V on rays from outside to the inside; rendered (d, _INSIDE, 3): the new face's; known
    (d, _OUTSIDE): whether the place lies in the picture.
    """
    outside = _blurred(seen[:, :_OUTSIDE], 0.0)
    material = outside[:, _OUTSIDE - _NEXT :].mean(axis=1)
    skin = _blurred(rendered, _BLUR / _STEP)
    inside = _blurred(seen[:, _OUTSIDE:], _BLUR / _STEP)
    way = material[:, None] - skin
    length = np.maximum(np.linalg.norm(way, axis=2), 1e-3)
    moved = inside - skin
    along = (moved * way).sum(axis=2) / length**2
    aside = np.linalg.norm(moved - along[:, :, None] * way, axis=2) / length
    like = _ramp(along - 0.5 * aside, _LIKE) * _ramp(length, _CONTRAST)
    # At the border of the picture there is no outside, and the face itself is next to it.
    beside = np.asarray(known[:, _OUTSIDE - _NEXT :].all(axis=1))
    like *= beside[:, None]
    depth = np.minimum(np.minimum.accumulate(like, axis=1).sum(axis=1) * _STEP, most)
    near = np.linalg.norm(outside - material[:, None], axis=2) < _SAME * length[:, :1]
    thick = np.minimum.accumulate((near & known)[:, ::-1], axis=1).sum(axis=1) * _STEP
    thickness = np.maximum(thick, _NEXT * _STEP)
    return _around(depth, 1.5) * beside.astype(np.float32), thickness.astype(np.float32), material


def rim_tones(material: Pixels, rendered: Pixels) -> Pixels:
    """Differences (d, 3) in Y, U and V of the skin above the forehead's rim from the new skin below it.

    They go towards 0 where there is no skin outside, and at the sides. Below the face there are none, since a jaw has
    its shadow. material (d, 3) and rendered as of `continued`.
    """
    difference = material - _blurred(rendered[:, :_NEXT], 0.0).mean(axis=1)
    difference *= np.exp(-((difference / _SKIN) ** 2).sum(axis=1, keepdims=True))
    above = np.maximum(_UP, 0)[:, None] ** 0.5
    return np.ascontiguousarray(_blurred((difference * above)[:, None], 0.0)[:, 0])


def shifts(depth: Pixels, thickness: Pixels) -> Pixels:
    """How far outside its place material is taken from (d,), shares of the face's width.

    depth (d,): how deep it is to reach; thickness (d,): how much of it there is. The result is nearly the same on
    neighbouring rays: otherwise strands would break.
    """
    wanted = _around(_extreme(cv2.dilate, _SPARE * depth, _ALIKE), _ALIKE / 2)
    there = _around(_extreme(cv2.erode, thickness, _ALIKE // 2), _ALIKE / 2)
    return np.maximum(np.minimum(wanted, there), np.float32(_STEP))


def _extreme(extreme: Any, values: Pixels, rays: int) -> Pixels:
    """The largest (dilate) or least (erode) value (d,) of `rays` neighbouring rays to either side."""
    wide = np.tile(values.astype(np.float32), 3)[:, None]
    return np.asarray(extreme(wide, np.ones((2 * rays + 1, 1), np.uint8))[DIRECTIONS : 2 * DIRECTIONS, 0], np.float32)


def _around(values: Pixels, rays: float) -> Pixels:
    """Values (d,) blurred over neighbouring rays."""
    smooth = cv2.GaussianBlur(np.tile(values, 3)[:, None], (1, 0), 1e-3, None, rays)
    return np.asarray(smooth[DIRECTIONS : 2 * DIRECTIONS, 0], np.float32)


def deepest(yaw: float, solid: float) -> Pixels:
    """The largest depth of continued material in each direction (d,), shares of the face's width.

    yaw: of the head, radians; solid: how solid it is rendered, 0 to 1.
    """
    behind, turned = np.sign(yaw) * _RIGHT, smooth_step((abs(yaw) - _ASIDE[0]) / (_ASIDE[1] - _ASIDE[0]))
    hair = _BESIDE * turned * smooth_step((behind - 0.3) / 0.4) * _CHEEK
    profile = solid * smooth_step((-behind - 0.3) / 0.4)
    return np.asarray(np.maximum(_FRONTAL, hair) * (1 - profile), np.float32)


def _frontal() -> Pixels:
    """The largest depths for a head that faces the camera."""
    above, side = _DEEPEST
    temples = side * np.clip(1 + _UP / 0.3, 0, 1)
    return np.where(_UP > 0, side + (above - side) * np.maximum(_UP, 0) ** 1.5, temples)


_RIGHT = np.asarray(np.cos(np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)), np.float32)
"""How far each direction points to the right of an upright head's picture (d,): -1 to 1."""
_UP = np.asarray(-np.sin(np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)), np.float32)
"""How far each direction points to the forehead (d,): -1 to 1."""
_CHEEK = smooth_step((_UP + 0.45) / 0.4)
"""How far hair may lie in each direction (d,), 0 to 1: beside a cheek, and not beside the jaw."""
_FRONTAL = _frontal()


def _blurred(profile: Pixels, along: float) -> Pixels:
    """Profiles (d, n, 3) blurred over neighbouring rays, and by `along` places along the rays."""
    rays = np.concatenate([profile[-4:], profile, profile[:4]])
    picture = cv2.GaussianBlur(rays, (0, 0), max(along, 1e-3), None, 1.3, cv2.BORDER_REFLECT)
    return np.asarray(picture[4:-4], np.float32)


def _ramp(values: Pixels, ends: tuple[float, float]) -> Pixels:
    return np.asarray(smooth_step((values - ends[0]) / (ends[1] - ends[0])), np.float32)


@kernel
def rays_to_rim(covered: NDArray[np.uint8], x: float, y: float, angles: Pixels) -> Pixels:
    """How far the covered places (h, w) reach from (x, y) in each direction, in pixels: to the farthest one."""
    height, width = covered.shape
    reach = np.zeros(len(angles), np.float32)
    for a in range(len(angles)):
        c, s = np.cos(angles[a]), np.sin(angles[a])
        far = np.float32(np.hypot(width, height))
        while far > 1:
            px, py = int(x + far * c + 0.5), int(y + far * s + 0.5)
            if 0 <= px < width and 0 <= py < height and covered[py, px]:
                break
            far -= np.float32(0.5)
        reach[a] = far
    return reach


def profiles(
    patch: Patch, original: Planes, middle: tuple[float, float], angles: Pixels, rim: Pixels, step: float
) -> tuple[Pixels, Pixels, NDArray[np.bool_]]:
    """Y, U, V on rays across the rim, as averages over areas of `step` pixels.

    They are of the original (d, _OUTSIDE + _INSIDE, 3) from outside inwards and of the patch (d, _INSIDE, 3); the third
    array says whether a place outside is in the picture (d, _OUTSIDE).
    """
    offset = (np.arange(_OUTSIDE, -_INSIDE, -1) - 0.5) * step
    far = np.maximum(rim[:, None] + offset, 0)
    x, y = middle[0] + far * np.cos(angles)[:, None], middle[1] + far * np.sin(angles)[:, None]
    width, height = original.size
    margin = 2 * round(_OUTSIDE * step / 2 + 1)
    x0, y0 = max(0, patch.x0 - margin), max(0, patch.y0 - margin)
    x1, y1 = min(width, patch.x0 + patch.size[0] + margin), min(height, patch.y0 + patch.size[1] + margin)
    half = slice(y0 // 2, (y1 + 1) // 2), slice(x0 // 2, (x1 + 1) // 2)
    px, py = x + patch.x0 - x0, y + patch.y0 - y0
    outer = slice(0, _OUTSIDE)
    known = ((px >= 0) & (py >= 0) & (px < x1 - x0) & (py < y1 - y0))[:, outer]
    seen = _averaged((original.y[y0:y1, x0:x1], original.u[half], original.v[half]), px, py, step)
    inner = slice(_OUTSIDE, None)
    rendered = _averaged((patch.y, patch.uv[:, :, 0], patch.uv[:, :, 1]), x[:, inner], y[:, inner], step)
    return seen, rendered, known


def _averaged(
    planes: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], x: NDArray[Any], y: NDArray[Any], step: float
) -> Pixels:
    """Y, U and V (..., 3) at places of the luma plane: averages over areas of `step` pixels."""
    height, width = planes[0].shape
    size = max(2, round(width / max(step, 1.0))), max(2, round(height / max(step, 1.0)))
    small = cv2.merge([cv2.resize(plane, size, interpolation=cv2.INTER_AREA) for plane in planes])
    mx, my = [
        ((v + 0.5) * n / whole - 0.5).astype(np.float32)
        for v, n, whole in zip((x, y), size, (width, height), strict=True)
    ]
    found = cv2.remap(small, mx, my, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(found, np.float32)
