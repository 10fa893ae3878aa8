"""The kernel of `hairline`: it continues what lies outside the rim of a face inwards, strand by strand.

The material is moved along the rays from the middle of the face. It is not mirrored, so strands keep their direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Pixels
from streamdeid.core.kernel_cache import kernel

_BROKEN = (0.55, 1.35)
"""Where the end of the material begins to thin out, and where it has ended, as shares of its depth."""
_STRANDS = (0.45, 16.0)
"""How much farther a dark strand reaches and a light one ends sooner, share of the depth; and the difference from the
material's mean, grey levels, at which they do so in full. No strand differs by more: what is moved comes from farther
out than the mean, and in small faces single pixels of it were black dots (mall_walk_five)."""
_OTHER = 24.0
"""What is moved and lies on the other side of the new skin than the material, by so many grey levels of luma, is none
of it: hair and the dark behind a bright forehead came in as dots (stage_and_audience)."""
_APART = 0.08
"""Distance between a place of a strand and its neighbours that are looked at with it, as a share of the fade."""
_WIDE = (1.5, 3.0)
"""That distance, pixels, from which strands end apart, and from which they do so in full (faces of 94 and 188 pixels):
with strands of a pixel hair had an end of black and bright pixels in turn, like a saw (photographed heads of 65 pixels,
speaker_soft)."""
_LOOSE = (0.45, 0.35)
"""From which share of the way from the material to the new skin what lies between a strand and the rim is a gap, and
over which more the strand behind it vanishes: a fringe lets skin through, and what came after a gap was a black mark on
a bare forehead (dinner)."""
_UNLIKE = (0.35, 0.25)
"""From which difference of the material from the new skin, as a share of the brighter one, gaps count, and over which
more they count in full: in fair hair bright strands are as bright as skin, and are no gaps (the demo's portrait)."""
_BLACK = 16
"""Luma of black in most pictures; where it is 0, gaps count a little more."""
_OUTSIDE = 0.1
"""How far outside the rim a gap counts, too, as a share of the fade."""
_FINER = 4
"""Number of directions looked at for each one that was measured, where gaps between strands are looked for."""
_LOWEST = -0.35
"""Lowest direction, sine of the angle, in which material and tones of the rim are rendered: below, both are none."""
_TURNS = 2048
"""Number of directions in the table from which `moved_inwards` takes its angles, one for each pixel. Between two of
them the error is a millionth of a radian."""


def _turns() -> NDArray[np.float64]:
    """Directions (_TURNS + 1,), shares of a turn, at even steps around the square |x| + |y| = 1 from (1, 0) on."""
    step = np.linspace(0.0, 4.0, _TURNS + 1)
    y = np.where(step <= 3, 1 - np.abs(step - 1), step - 4)
    x = np.where(step <= 2, 1 - step, step - 3)
    turn = np.arctan2(y, x) / (2 * np.pi) % 1.0
    turn[-1] = 1
    return np.asarray(turn, np.float64)


TURNS = _turns()
"""Shares of a turn at even steps around a square on its corner: the table in which `moved_inwards` looks up
directions."""


@kernel
def moved_inwards(
    luma: Pixels,
    chroma: Pixels,
    covered: NDArray[np.uint8],
    planes: tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]],
    origin: tuple[int, int],
    middle: tuple[float, float],
    angles: Pixels,
    rim: Pixels,
    depth: Pixels,
    shift: Pixels,
    tone: Pixels,
    bare: Pixels,
    skin: Pixels,
    fade: float,
    table: NDArray[np.float64],
) -> None:
    """Lay what is outside the rim over the inside, moved along the rays, in place.

    luma (h, w), chroma (ceil(h / 2), ceil(w / 2), 2): of a patch at `origin` of the planes. depth and shift (d,):
    pixels; tone, bare (d,): luma of the material and of the new skin that it is laid over; skin (d, 3): added to the
    tones of the new skin next to the rim, falling to nothing at `fade` pixels. table: TURNS.
    """
    count = len(angles)
    luma_of = planes[0]
    apart = _APART * fade
    apart_ends = _STRANDS[0] * min(max((apart - _WIDE[0]) / (_WIDE[1] - _WIDE[0]), 0.0), 1.0)
    gaps = np.zeros((2, 2), np.float32)
    if apart_ends > 0:
        gaps = _gaps(luma_of, origin, middle, angles, rim, depth, shift, tone, bare, int(_OUTSIDE * fade) + 1)
    # Upwards from the middle is a quarter of a turn before the first direction.
    ux, uy = np.cos(angles[0] - 0.5 * np.pi), np.sin(angles[0] - 0.5 * np.pi)
    least = max(rim.min() - max(fade, depth.max() * (_BROKEN[1] + apart_ends)), 0.0)
    # The first direction's place in the table of angles, which begins to the right; places are counted from it.
    faded = 1 / fade
    begin = (angles[0] / (2 * np.pi)) % 1.0
    for plane in range(2):
        scale = 1 + plane
        height, width = luma.shape if plane == 0 else chroma.shape[:2]
        for row in range(height):
            y = row * scale + 0.5 * plane
            dy = y - middle[1]
            # The places about the middle, most of a face, are skipped.
            half = np.sqrt(max(least * least - dy * dy, 0.0))
            last = min(max(int(np.ceil((middle[0] - half - 0.5 * plane) / scale)), 0), width)
            again = max(int((middle[0] + half - 0.5 * plane) / scale), last)
            skipped = max(again - last, 0)
            line = covered[min(int(y), covered.shape[0] - 1)]
            for number in range(width - skipped):
                column = number if number < last else number + skipped
                x = column * scale + 0.5 * plane
                if not line[np.uint32(min(int(x), len(line) - 1))]:
                    continue
                dx = x - middle[0]
                far = np.sqrt(dx * dx + dy * dy)
                if far < least or dx * ux + dy * uy < _LOWEST * far:
                    continue
                place = (_turn(dx, dy, table) - begin) * count
                if place < 0:
                    place += count
                low = int(place)
                share = place - low
                a = np.uint32(low if low < count else low - count)
                b = np.uint32(a + 1 if a + 1 < count else 0)
                deep = depth[a] + share * (depth[b] - depth[a])
                inner = max(rim[a] + share * (rim[b] - rim[a]) - far, 0.0)
                if inner < fade:
                    t = inner * faded
                    there = np.float32(1 - t * t * (3 - 2 * t))
                    if plane == 0:
                        luma[row, column] += there * np.float32(skin[a, 0] + share * (skin[b, 0] - skin[a, 0]))
                    else:
                        for c in range(1, 3):
                            tone_here = skin[a, c] + share * (skin[b, c] - skin[a, c])
                            chroma[row, column, c - 1] += there * np.float32(tone_here)
                if deep <= 0 or inner >= deep * (_BROKEN[1] + apart_ends):
                    continue
                step = shift[a] + share * (shift[b] - shift[a])
                grow = 1 + _away(step, inner) / max(far, 1e-6)
                sx, sy = middle[0] + dx * grow + origin[0], middle[1] + dy * grow + origin[1]
                value = _bilinear(luma_of, sx, sy)
                mean = tone[a] + share * (tone[b] - tone[a])
                value = min(max(value, mean - _STRANDS[1]), mean + _STRANDS[1])
                t = inner / deep - _BROKEN[0]
                if apart_ends > 0 and t > -apart_ends:  # nearer to the rim no strand has ended
                    # A strand is wider than a pixel: single dark pixels would end as dots.
                    soft = np.float32(0.2) * (
                        value
                        + _bilinear(luma_of, sx - apart, sy)
                        + _bilinear(luma_of, sx + apart, sy)
                        + _bilinear(luma_of, sx, sy - apart)
                        + _bilinear(luma_of, sx, sy + apart)
                    )
                    strand = (soft - mean) / _STRANDS[1]
                    t += apart_ends * min(max(strand, -1.0), 1.0)
                t = min(max(t / (_BROKEN[1] - _BROKEN[0]), 0.0), 1.0)
                weight = np.float32(1 - t * t * (3 - 2 * t))
                under = bare[a] + share * (bare[b] - bare[a])
                side = mean - under
                other = under - value if side > 0 else value - under
                if other > 0:  # material of the skin's own brightness has no other side
                    weight *= np.float32(1 - min(abs(side) / _STRANDS[1], 1.0) * min(other / _OTHER, 1.0))
                if apart_ends > 0 and weight > 0 and side != 0:
                    gap = (mean - _bilinear(gaps, inner, place * _FINER)) / side
                    gap = min(max((gap - _LOOSE[0]) / _LOOSE[1], 0.0), 1.0)
                    unlike = abs(side) / max(mean - _BLACK, under - _BLACK, np.float32(1))
                    weight *= np.float32(1 - min(max((unlike - _UNLIKE[0]) / _UNLIKE[1], 0.0), 1.0) * gap)
                if plane == 0:
                    luma[row, column] += weight * (value - luma[row, column])
                else:
                    for c in range(2):
                        value = _bilinear(planes[1 + c], (sx - 0.5) / 2, (sy - 0.5) / 2)
                        chroma[row, column, c] += weight * (value - chroma[row, column, c])


@kernel
def _gaps(luma, origin, middle, angles, rim, depth, shift, tone, bare, outside):  # type: ignore[no-untyped-def]
    """The material's mean, or what of it is nearer to the new skin's brightness between the rim and a place inside.

    float32 (_FINER d + 1, n), by direction, the first one once more at the end, and by pixels from the rim; so many
    pixels outside it count, too. Three neighbouring directions are averaged. The other arguments are those of
    `moved_inwards`.
    """
    rays, longest = _FINER * len(angles), outside + int(depth.max() * (_BROKEN[1] + _STRANDS[0])) + 2
    there = np.zeros((rays, longest), np.float32)
    mean, darker, ends = np.zeros(rays, np.float32), np.zeros(rays, np.bool_), np.zeros(rays, np.int64)
    for k in range(rays):
        low, share = k // _FINER, (k % _FINER) / _FINER
        high = (low + 1) % len(angles)
        turn = angles[0] + k * 2 * np.pi / rays
        ux, uy = np.cos(turn), np.sin(turn)
        edge, step = rim[low] + share * (rim[high] - rim[low]), shift[low] + share * (shift[high] - shift[low])
        mean[k] = tone[low] + share * (tone[high] - tone[low])
        darker[k] = mean[k] < bare[low] + share * (bare[high] - bare[low])
        deep = max(depth[low], depth[high])
        ends[k] = outside + int(deep * (_BROKEN[1] + _STRANDS[0])) + 2 if deep > 0 else 0
        for n in range(ends[k]):
            inner = n - outside
            far = edge - inner if inner < 0 else edge - inner + _away(step, inner)
            there[k, n] = _bilinear(luma, middle[0] + far * ux + origin[0], middle[1] + far * uy + origin[1])
    out = np.zeros((rays + 1, longest - outside), np.float32)
    for k in range(rays):
        most = mean[k]
        for n in range(longest):
            if n < ends[k]:
                value, count = np.float32(0), 0
                for j in (k - 1, k, (k + 1) % rays):
                    if n < ends[j]:
                        value, count = value + there[j, n], count + 1
                value /= np.float32(count)
                most = max(most, value) if darker[k] else min(most, value)
            if n >= outside:
                out[k, n - outside] = most
    out[rays] = out[0]
    return out


@kernel
def _away(step, inner):  # type: ignore[no-untyped-def]
    """How far outside its place material is taken from: never from inside, nor from half-inside chroma."""
    away = step
    while away < inner + 2:
        away += step
    return away


@kernel
def _turn(dx: float, dy: float, table: NDArray[np.float64]) -> float:
    """The direction of (dx, dy), share of a turn, from a table at even steps around a square on its corner."""
    around = abs(dx) + abs(dy)
    if not around > 0:
        return 0.0
    across = dx / around
    at = (1 - across if dy >= 0 else 3 + across) * (0.25 * (len(table) - 1))
    k = np.uint32(min(int(at), len(table) - 2))
    return float(table[k] + (at - k) * (table[k + np.uint32(1)] - table[k]))


@kernel
def _bilinear(plane: NDArray[Any], x: float, y: float) -> np.float32:
    """The value of a plane between its pixels; the border is repeated outside."""
    height, width = plane.shape
    x, y = min(max(x, 0.0), width - 1.0), min(max(y, 0.0), height - 1.0)
    c, r = np.uint32(min(int(x), width - 2)), np.uint32(min(int(y), height - 2))
    right, under = np.uint32(c + 1), np.uint32(r + 1)
    u, v = np.float32(x - c), np.float32(y - r)
    top = np.float32(plane[r, c]) + u * (np.float32(plane[r, right]) - np.float32(plane[r, c]))
    below = np.float32(plane[under, c]) + u * (np.float32(plane[under, right]) - np.float32(plane[under, c]))
    return top + v * (below - top)
