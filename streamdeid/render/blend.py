"""Blending a rendered face into the planes: a feather inside the hull and a membrane from outside it (methods.md 4.4).

The membrane is a low-resolution substitute for Poisson blending. Along the hull's rim the difference between the
picture just outside and the rendered face just inside is measured; it then fades inwards. Only pixels outside the hull
enter it, and only where they could be skin: hair and background do not bleed into the face.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from streamdeid.aam.linear_grid import places_between
from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Pixels
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import kernel

_GRID = (48, 56)
"""Width and height of the membrane's grid. It does not depend on the patch's size, so it can be averaged over
frames."""
_LUMA_SAMPLES, _CHROMA_SAMPLES = 3, 2
"""Number of pixels looked at across and down in each cell of the grid: the result is blurred over several cells."""
_NEAR = 0.02
"""Blur of the colours found on either side of the rim, as a share of the patch's width."""
_TRUST = (42.0, 13.0, 13.0)
"""Difference in Y, U and V at which the weight of the rim falls to 1 / e; a larger one is hair or background."""
_ENOUGH = 2.5
"""Least standard deviation of a blur, in pixels of the reduced picture: a picture is reduced as far as this allows."""
_DEPTH = 0.05
"""Reach of the membrane into the face, as a share of the patch's width."""
_FADE = 0.1
"""Weight of the rim nearby at which half of its correction is applied. With a reach of .13 and a fade of .02, necks in
shadow and hair darkened whole faces, by 2.2 % in the median of 9 clips. With the present values it is 1.4 %; colour,
shading and seams are better on these clips and on 12 others that were not used to choose the values. More leaves the
forehead's edge steeper than the person's."""


_SOFT, _SHARP = 0.07, 0.03
"""Feathers inside the redaction, shares of the face's width: where it ends on the head or on the neck, and where it
ends before the background, with the head's silhouette or beyond its profile."""
_LEAST_SOFT, _LEAST_SHARP = 3.2, 2.6
"""Least widths of both, pixels: the weights have half the picture's resolution, and a feather of one of their pixels is
a jagged edge; more makes small faces wider. Chosen by eye on mall_walk_five and subway_cctv_three, confirmed on
friends2 and crowd_1080p."""
_STEP, _SPARE = 2.0, 1.5
"""A pixel of the weights, in pixels of the picture: a feather of that or less is a step. And how much farther a
redaction grows than its feather is wider than the step, since its rim lies on whole pixels: at 1.2 drawn heads of 29
pixels showed up to 1.2 % more of their chroma than with a step, at 1.5 none of 135 shows over 0.3 % more (as
tests/render/test_silhouette.py measures)."""


_EVEN, _DRAWN, _MOVED = 1.0, 0.5, 0.7
"""Blur of the distances from a redaction's rim, pixels of the weights: the rim lies on whole pixels, and its steps
showed wherever a face ends before something of another colour. How far the weights are drawn in, so that they are small
at the steps. And how far a redaction grows for both, which move the place of half the weight by 0.6 inwards: with that,
heads of 24 pixels showed 0.3 % more of their luma, with 0.7 none of 125 drawn heads shows more (in the picture and at
its borders)."""


@dataclass(frozen=True)
class Feather:
    """The widths of a redaction's soft rim, pixels."""

    soft: float
    """On the head."""
    sharp: float
    """Before the background."""
    outwards: float
    """How far the redaction has to grow, so that feathers wider than their shares show no more of the original."""

    @classmethod
    def of(cls, width: float) -> Feather:
        """The feather of a face of so many pixels' width."""
        shares = _SOFT * width, _SHARP * width
        soft, sharp = max(_LEAST_SOFT, shares[0]), max(_LEAST_SHARP, shares[1])
        wider = max(soft - max(_STEP, shares[0]), sharp - max(_STEP, shares[1]))
        return cls(soft, sharp, _SPARE * wider + _STEP * _MOVED)

    def weights(self, covered: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> tuple[Pixels, Pixels]:
        """The weights float32 (h, w) of a patch's mask of chroma uint8 (h, w), with a soft and with a sharp rim."""
        soft, sharp = feathers(covered, (self.soft / 2, self.sharp / 2))
        return soft, sharp


@dataclass(frozen=True)
class Blend:
    """The weights and the correction for blending one patch."""

    alpha: Pixels
    """float32 (ceil(h / 2), ceil(w / 2)): 1 well inside the hull, 0 outside."""
    membrane: Pixels
    """float32 (gh, gw, 3): YUV correction on the membrane's grid."""


def feathered(covered: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], feather: float) -> Pixels:
    """Weights float32 of a mask uint8 (h, w), which rise smoothly from its rim to 1 at `feather` pixels inside."""
    return feathers(covered, (feather,))[0]


def feathers(covered: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], widths: tuple[float, ...]) -> list[Pixels]:
    """`feathered` for several widths in pixels."""
    framed = cv2.copyMakeBorder(covered, 1, 1, 1, 1, cv2.BORDER_REPLICATE)  # the border of the array is no rim
    distance = cv2.distanceTransform(framed, cv2.DIST_L2, 3)
    even = np.asarray(cv2.GaussianBlur(distance, (0, 0), _EVEN)[1:-1, 1:-1], np.float32)
    return [_risen(even, covered, np.float32(1 / max(width, 1.0)), np.float32(_DRAWN)) for width in widths]


def soft_blur(picture: Pixels, sigma: float) -> Pixels:
    """A picture (h, w) blurred by `sigma` pixels.

    A wide blur is computed on a reduced picture, which looks the same.
    """
    less = max(1, int(sigma / _ENOUGH))
    size = picture.shape[1], picture.shape[0]
    few = max(1, size[0] // less), max(1, size[1] // less)
    small = cv2.resize(picture, few, interpolation=cv2.INTER_AREA) if less > 1 else picture
    soft = cv2.GaussianBlur(small, (0, 0), sigma / less)
    return np.asarray(cv2.resize(soft, size, interpolation=cv2.INTER_LINEAR) if less > 1 else soft, np.float32)


def no_membrane() -> Pixels:
    """A correction of zero, on the membrane's grid."""
    return np.zeros((_GRID[1], _GRID[0], 3), np.float32)


def membrane(patch: Patch, planes: Planes) -> Pixels:
    """The correction float32 (gh, gw, 3) in YUV on a coarse grid over the patch."""
    width, height = _GRID
    # YUV and a weight of the picture outside the hull, and of the patch inside it.
    outside, inside = (np.zeros((height, width, 4), np.float32) for _ in range(2))
    _gather(planes.y, patch.y[:, :, None], patch.covered_luma, patch.x0, patch.y0, 0, _LUMA_SAMPLES, outside, inside)
    corner = patch.x0 // 2, patch.y0 // 2
    for c, plane in ((1, planes.u), (2, planes.v)):
        _gather(plane, patch.uv[:, :, c - 1 : c], patch.covered, *corner, c, _CHROMA_SAMPLES, outside, inside)
    if not _parted(outside, inside):
        return no_membrane()
    near = max(1.0, _NEAR * width)
    out_soft, in_soft = (cv2.GaussianBlur(side, (0, 0), near) for side in (outside, inside))
    steps = np.empty((height, width, 4), np.float32)
    _compared(out_soft, in_soft, np.array(_TRUST, np.float32), steps)
    few = cv2.resize(steps, (width // 2, height // 2), interpolation=cv2.INTER_AREA)  # a wide blur: few places do
    soft = cv2.resize(cv2.GaussianBlur(few, (0, 0), _DEPTH * width / 2), _GRID, interpolation=cv2.INTER_LINEAR)
    fade: Pixels = soft[:, :, :3] / (soft[:, :, 3:] + np.float32(_FADE))
    return fade


def composed(patch: Patch, blend: Blend, planes: Planes) -> bool:
    """Write a patch into the planes, in place; return False, and write nothing, if any of its values is not finite."""
    if not all(_finite(v.reshape(len(v), -1)) for v in (patch.y, patch.uv, blend.membrane)):
        return False
    corner = patch.x0 // 2, patch.y0 // 2
    # Half-size weights reach one pixel beyond the mesh, where nothing was rendered.
    _mix(planes.y, patch.x0, patch.y0, patch.y, 0, blend.alpha, 2, patch.covered_luma, blend.membrane)
    for c, plane in ((1, planes.u), (2, planes.v)):
        _mix(plane, *corner, patch.uv[:, :, c - 1], c, blend.alpha, 1, np.ones_like(patch.covered), blend.membrane)
    return True


@kernel
def _risen(distance, covered, share, drawn):  # type: ignore[no-untyped-def]
    """The smooth rise (h, w) of a feather at distances (h, w) from its rim, from `drawn` pixels on; 0 off a mask.

    share: 1 over the feather's width.
    """
    none, one, two, three = np.float32(0), np.float32(1), np.float32(2), np.float32(3)
    out = np.empty(distance.shape, np.float32)
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            t = min(max((distance[y, x] - drawn) * share, none), one) if covered[y, x] else none
            out[y, x] = t * t * (three - two * t)
    return out


@kernel
def _gather(plane, rendered, covered, x0, y0, channel, samples, outside, inside):  # type: ignore[no-untyped-def]
    """Put the means of samples, n by n in each cell of a grid, into a channel of two grids (gh, gw, 4).

    The samples outside what is covered come from a plane (H, W), those inside from the rendered (h, w, 1) on a
    rectangle of the plane. The grids' last channels count in how many channels each cell lies wholly outside or wholly
    inside.
    """
    height, width = covered.shape
    rows, columns = outside.shape[:2]
    share = np.float32(1 / (samples * samples))
    places = np.empty(columns * samples, np.uint32)
    for k in range(len(places)):
        places[k] = np.uint32((k + 0.5) / len(places) * width)
    for row in range(rows):
        for column in range(columns):
            there, here = np.float32(0), np.float32(0)
            number = 0
            for i in range(samples):
                y = np.uint32((row + (i + 0.5) / samples) * height / rows)
                for j in range(samples):
                    x = places[column * samples + j]
                    if covered[y, x]:
                        number += 1
                        here += rendered[y, x, 0]
                    else:
                        there += np.float32(plane[np.uint32(y0 + y), np.uint32(x0 + x)])
            if number == 0:
                outside[row, column, channel] = there * share
                outside[row, column, 3] += 1
            elif number == samples * samples:
                inside[row, column, channel] = here * share
                inside[row, column, 3] += 1


@kernel
def _parted(outside, inside):  # type: ignore[no-untyped-def]
    """Turn the last channels into weights, in place, and return whether both sides have enough cells.

    A weight is 1 where a cell lies on that side in all three channels; all other cells are set to 0.
    """
    enough = True
    for side, least in ((outside, 4), (inside, 16)):
        count = 0
        for row in range(side.shape[0]):
            for column in range(side.shape[1]):
                if side[row, column, 3] == 3:
                    side[row, column, 3] = 1
                    count += 1
                else:
                    side[row, column] = 0
        enough = enough and count >= least
    return enough


@kernel
def _compared(outside, inside, trust, out):  # type: ignore[no-untyped-def]
    """Compare two blurred sides of a rim, colours times weights, and put the result into out (gh, gw, 4).

    The result is how much brighter the outside is than the inside (gh, gw, 3), times the weight of this difference, and
    how much of a rim there is.
    """
    tiny = np.float32(1e-6)
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            over, under = outside[row, column, 3] + tiny, inside[row, column, 3] + tiny
            rim = min(outside[row, column, 3], inside[row, column, 3])
            farthest = np.float32(0)
            for c in range(3):
                step = outside[row, column, c] / over - inside[row, column, c] / under
                out[row, column, c] = step
                farthest = max(farthest, abs(step) / trust[c])
            weight = rim * np.exp(-farthest * farthest)
            for c in range(3):
                out[row, column, c] *= weight
            out[row, column, 3] = rim


@kernel
def _finite(values):  # type: ignore[no-untyped-def]
    """Whether all values (h, w) are finite."""
    whole = True
    for y in range(values.shape[0]):
        row = values[y]
        odd = np.uint32(0)
        for x in range(len(row)):
            odd |= np.uint32(0 if abs(row[x]) < np.float32(np.inf) else 1)
        whole = whole and odd == 0
    return whole


@kernel
def _mix(plane, x0, y0, rendered, channel, alpha, scale, mask, membrane):  # type: ignore[no-untyped-def]
    """Blend rendered values (h, w) into a plane (H, W) from (x0, y0) on, where a mask (h, w) is 1.

    The channel is the number of Y, U or V. The weights (ah, aw) lie on a grid `scale` times as coarse; a membrane
    (gh, gw, 3) is added.
    """
    height, width = mask.shape
    half, most, none = np.float32(0.5), np.float32(255), np.float32(0)
    correction = membrane[:, :, channel].copy()
    # If the width is odd, the last weight reaches one pixel beyond the patch.
    of_row, down = places_between(alpha.shape[0], scale * alpha.shape[0])
    of_column, across = places_between(alpha.shape[1], scale * alpha.shape[1])
    soft_row, soft_down = places_between(correction.shape[0], height)
    soft_column, soft_across = places_between(correction.shape[1], width)
    of_weights, few_weights = np.empty(len(of_column), np.float32), np.empty(alpha.shape[1], np.float32)
    of_lift, few_lift = np.empty(width, np.float32), np.empty(correction.shape[1], np.float32)
    last_weight, last_lift = np.uint32(alpha.shape[1] - 1), np.uint32(correction.shape[1] - 1)
    for y in range(height):
        # Lines are made only where something is rendered: from the first weight that is not 0 to the last.
        upper, lower = of_row[y], min(of_row[y] + 1, alpha.shape[0] - 1)
        low, high = len(few_weights), -1
        for k in range(len(few_weights)):
            few_weights[k] = alpha[upper, k] + down[y] * (alpha[lower, k] - alpha[upper, k])
        for k in range(len(few_weights)):
            if few_weights[k] > 0:
                low, high = min(low, k), k
        if high < 0:
            continue
        first, last = max(scale * (low - 1), 0), min(scale * (high + 2), width)
        upper, lower = soft_row[y], min(soft_row[y] + 1, correction.shape[0] - 1)
        for k in range(len(few_lift)):
            few_lift[k] = correction[upper, k] + soft_down[y] * (correction[lower, k] - correction[upper, k])
        weights, lift = of_weights[first:last], of_lift[first:last]
        before, ahead = of_column[first:last], across[first:last]
        soft_before, soft_ahead = soft_column[first:last], soft_across[first:last]
        for x in range(len(weights)):
            k, n = before[x], soft_before[x]
            weights[x] = few_weights[k] + ahead[x] * (few_weights[min(k + np.uint32(1), last_weight)] - few_weights[k])
            lift[x] = few_lift[n] + soft_ahead[x] * (few_lift[min(n + np.uint32(1), last_lift)] - few_lift[n])
        row, new, where = plane[y0 + y, x0 + first : x0 + last], rendered[y, first:last], mask[y, first:last]
        for x in range(len(row)):
            old = np.float32(row[x])
            value = old + weights[x] * np.float32(where[x]) * (new[x] + lift[x] - old)
            row[x] = np.uint8(min(max(value + half, none), most))
