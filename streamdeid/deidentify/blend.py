"""Blending a drawn face into the planes: a feather inside the hull and a membrane from outside it (METHODS 4.4).

The membrane is a low-resolution stand-in for Poisson blending: along the hull's rim the difference between the
picture just outside and the drawn face just inside is measured, then fades inwards. Only pixels outside the hull
enter it, and only where they could be skin: hair and background do not bleed into the face.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from streamdeid.aam.piecewise_affine import Pixels
from streamdeid.aam.synthesise import Patch
from streamdeid.frames import Planes

_GRID = (48, 56)
"""Width and height of the membrane's grid, whatever the patch's: it can then be averaged over frames."""
_TRUST = (42.0, 13.0, 13.0)
"""Difference in Y, U and V at which the rim is trusted by 1 / e: beyond, it is hair or background."""
_DEPTH = 0.13
"""Reach of the membrane into the face, share of the patch's width."""


@dataclass(frozen=True)
class Blend:
    """Weights and correction for one patch."""

    alpha: Pixels
    """float32 (ceil(h / 2), ceil(w / 2)): 1 well inside the hull, 0 outside."""
    membrane: Pixels
    """float32 (gh, gw, 3): YUV correction on the membrane's grid."""


def feathered(covered: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], feather: float) -> Pixels:
    """Weights float32 of a mask uint8 (h, w): rising smoothly from its rim to 1 at `feather` pixels inside."""
    framed = cv2.copyMakeBorder(covered, 1, 1, 1, 1, cv2.BORDER_REPLICATE)  # the frame's border is no rim
    distance = cv2.distanceTransform(framed, cv2.DIST_L2, 3)[1:-1, 1:-1]
    t = np.clip(distance / max(feather, 1.0), 0, 1)
    smooth: Pixels = (t * t * (3 - 2 * t)).astype(np.float32)
    return smooth


def no_membrane() -> Pixels:
    """A correction of nothing, on the membrane's grid."""
    return np.zeros((_GRID[1], _GRID[0], 3), np.float32)


def membrane(patch: Patch, planes: Planes) -> Pixels:
    """Correction float32 (gh, gw, 3) in YUV on a coarse grid over the patch."""
    width, height = patch.size
    size = _GRID
    hx, hy = patch.x0 // 2, patch.y0 // 2
    ch, cw = patch.covered.shape
    original = _small(
        (
            planes.y[patch.y0 : patch.y0 + height, patch.x0 : patch.x0 + width],
            planes.u[hy : hy + ch, hx : hx + cw],
            planes.v[hy : hy + ch, hx : hx + cw],
        ),
        size,
    )
    drawn = _small((patch.y, patch.uv[:, :, 0], patch.uv[:, :, 1]), size)
    shares = [
        cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA)
        for mask in (patch.covered, patch.covered_luma)
    ]
    inside = np.minimum(*shares) > 0.999
    outside = np.maximum(*shares) < 0.001
    if inside.sum() < 16 or outside.sum() < 4:
        return no_membrane()
    near = max(1.0, 0.02 * size[0])
    out_colour, out_weight = _average(original, outside.astype(np.float32), near)
    in_colour, in_weight = _average(drawn, inside.astype(np.float32), near)
    difference = out_colour - in_colour
    rim = np.minimum(out_weight, in_weight)
    trust = np.exp(-((np.abs(difference) / _TRUST) ** 2).max(axis=2))
    weight = rim * trust
    reach = _DEPTH * size[0]
    total = cv2.GaussianBlur(difference * weight[:, :, None], (0, 0), reach)
    amount = cv2.GaussianBlur(rim, (0, 0), reach)
    fade: Pixels = total / (amount[:, :, None] + 0.02)
    return fade


def composed(patch: Patch, blend: Blend, planes: Planes) -> bool:
    """Write a patch into the planes, in place. False, and nothing written, if any of its values is not finite."""
    width, height = patch.size
    if not all(np.isfinite(part).all() for part in (patch.y, patch.uv, blend.membrane)):
        return False
    twice = 2 * blend.alpha.shape[1], 2 * blend.alpha.shape[0]
    alpha = np.asarray(cv2.resize(blend.alpha, twice, interpolation=cv2.INTER_LINEAR), np.float32)
    field = cv2.resize(blend.membrane, (width, height), interpolation=cv2.INTER_LINEAR)
    # Half-size weights reach a pixel beyond the mesh, where nothing was drawn.
    drawn = alpha[:height, :width] * patch.covered_luma
    _mix(planes.y, patch.x0, patch.y0, patch.y + field[:, :, 0], drawn)
    half = (blend.alpha.shape[1], blend.alpha.shape[0])
    soft = cv2.resize(blend.membrane, half, interpolation=cv2.INTER_LINEAR)
    for plane, c in ((planes.u, 0), (planes.v, 1)):
        _mix(plane, patch.x0 // 2, patch.y0 // 2, patch.uv[:, :, c] + soft[:, :, c + 1], blend.alpha)
    return True


def _mix(
    plane: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], x0: int, y0: int, drawn: Pixels, alpha: Pixels
) -> None:
    region = plane[y0 : y0 + drawn.shape[0], x0 : x0 + drawn.shape[1]]
    old = region.astype(np.float32)
    old += alpha * (drawn - old)
    region[:] = np.clip(old + 0.5, 0, 255)


def _small(
    channels: tuple[Pixels | np.ndarray[tuple[int, ...], np.dtype[np.uint8]], ...], size: tuple[int, int]
) -> Pixels:
    shrunk = [cv2.resize(np.asarray(c), size, interpolation=cv2.INTER_AREA).astype(np.float32) for c in channels]
    return np.stack(shrunk, axis=2)


def _average(picture: Pixels, mask: Pixels, sigma: float) -> tuple[Pixels, Pixels]:
    weight = np.asarray(cv2.GaussianBlur(mask, (0, 0), sigma), np.float32)
    total = cv2.GaussianBlur(picture * mask[:, :, None], (0, 0), sigma)
    return total / (weight[:, :, None] + 1e-6), weight
