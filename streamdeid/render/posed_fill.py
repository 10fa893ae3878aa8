"""Filling of a posed face's region beside its mesh: skin beside the face, the background beyond the profile.

All values depend on the direction from the middle of the head: how far the mesh, the hairline, the scalp and the
region reach, the skin at the mesh's rim, and what is published just outside the region, of which the colour of the hair
is a mean over frames. Background that was published there a moment ago is shown again (`background`). No pixel of the
picture inside the region is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from streamdeid.aam.mesh_render import Solid
from streamdeid.aam.synthesise import Mask, Patch
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import kernel
from streamdeid.render.background import Behind
from streamdeid.render.masks import black_and_white
from streamdeid.render.posed_hair import HairColour, HairPlace, reach_of
from streamdeid.render.turned_rim import RimProfile, share_beyond, without_steps

_ANGLES = 64
_INSET = 0.05
"""Rim of the rendered face that blends into the skin beside it, as a share of its width: the rim is seen edge on."""
_DEPTHS = np.array([0.06, 0.1, 0.15])
"""Distances inside the mesh's rim at which its skin is looked at, as shares of the face's width."""
_OUTSIDE = np.array([0.0, 0.25, 0.5, 0.75])
"""Distances outside the region at which the picture is looked at, in breadths of the region's soft rim."""
_BESIDE, _TO_EAR, _LEAST, _MOST = 0.12, 0.6, 1.5, 0.7
"""Over what distance beside the mesh skin blends into what is outside: share of the face's width, and how much more
behind the face of a head that is seen from the side, where cheeks go on to the ears; pixels at least; and share of the
way to the region's edge at most, which rules where a region ends near its mesh. Heads are wider than the mesh, by .07
to .11 of its width. Where skin went on for four tenths of the way to the region's edge, heads of 12 to 24 pixels, whose
regions are large, were eggs."""
_EDGE = 0.03
"""Breadth of the line between skin and background, share of the face's width."""
_LOWER = 0.6
"""Where hair begins, as a share of the way from the mesh's upper rim to the mean head's hairline: hair hangs over it.
At 1 boys had the foreheads of men (cctv_classroom), at 0.1 men had caps (friends2)."""
_HAIRLINE = 0.1
"""Breadth of the lines between skin and hair, and hair and background, share of the face's width."""
_ENDS = 0.15
"""Distance from the profile's line, drawn out beyond the forehead, over which hair ends, share of the face's width."""
_MORE = 8.0
"""Pixels beyond the soft rim that are filled, too: the blur of colours reaches there."""
_AGREES = 8.0, 20.0
"""Mean difference of luma and chroma, grey levels added, of what was published and what is, just outside the region: up
to the first all of the background is shown in that direction, from the second on nothing."""
_SIDEWAYS = 100.0, 130.0
"""Angle from the crown up to which the background is shown, and from which it is not: there is the neck."""
_NEWEST, _LESS = 0.2, 0.5
"""Weight of the newest frame in how far the background agrees, and where it agrees less than before."""
_TURN = 2 * np.pi / _ANGLES
_AWAY = _TURN * np.arange(_ANGLES, dtype=np.float64)


_NEAR, _WIDE = 1.5, 6.0
"""Breadths of two blurs over the angles, standard deviations: at the region's edge, and at the mesh. What goes on from
the edge to the mesh without getting softer looks like rays."""


def _blurring(breadth: float) -> Points:
    """Weights (a, a) of a blur over the angles: near angles count, and far ones where no nearer one has a colour."""
    apart = np.abs(np.arange(_ANGLES)[:, None] - np.arange(_ANGLES))
    apart = np.minimum(apart, _ANGLES - apart)
    weights: Points = np.exp(-0.5 * (apart / breadth) ** 2) + 1e-3 * np.exp(-0.5 * (apart / 8) ** 2) + 1e-9
    return weights


_BLUR, _BLUR_WIDE = _blurring(_NEAR), _blurring(_WIDE)
_EVEN = _BLUR / _BLUR.sum(axis=1, keepdims=True)
"""The first blur for what every angle has: a hairline beside a profile had teeth."""


@dataclass(frozen=True)
class Filled:
    """A posed face whose whole region is filled."""

    patch: Patch
    """The patch, covered wherever it is rendered or filled, including the soft rim."""
    weights: Pixels
    """float32 (ceil(h / 2), ceil(w / 2)): 1 wherever a pixel of the region is, falling to 0 across the soft rim."""
    free: Mask
    """uint8 (ceil(h / 2), ceil(w / 2)): 1 where no pixel lies in the region or in another head's."""


@dataclass
class Agreement:
    """How far the background agrees with the picture just outside a head's region, as a running mean over frames."""

    share: Points = field(default_factory=lambda: np.zeros(_ANGLES))
    """float64 (a,): by direction in the picture, 0 to 1."""

    def see(self, apart: Points, seen: Points) -> Points:
        """Take in a frame; how much of the background is shown in each direction, (a,), 0 to 1.

        apart (a,): angles of the directions from that of the crown, degrees. seen (a, 2): differences, grey levels of
        luma and chroma added, and their number: 0 where nothing of the background is known.
        """
        mean = np.where(seen[:, 1] > 0, seen[:, 0] / np.maximum(seen[:, 1], 1), np.inf)
        agrees = np.clip((_AGREES[1] - mean) / (_AGREES[1] - _AGREES[0]), 0, 1)
        others = np.where(seen[:, 1] > 0, agrees, 1.0)
        agrees = np.minimum(agrees, np.minimum(np.roll(others, 1), np.roll(others, -1)))
        self.share = self.share + np.where(agrees < self.share, _LESS, _NEWEST) * (agrees - self.share)
        above: Points = self.share * np.clip((_SIDEWAYS[1] - apart) / (_SIDEWAYS[1] - _SIDEWAYS[0]), 0, 1)
        return above


def filled(
    solid: Solid,
    mesh: Points,
    out: Planes,
    region: Points,
    rim: float,
    profile: RimProfile,
    place: HairPlace,
    hair: HairColour,
    agreement: Agreement,
    behind: Behind | None,
    others: Sequence[Points] = (),
) -> Filled | None:
    """The rendered head with the rest of its region filled; None when nothing of its skin can be seen.

    mesh (m, 3): what was rendered, pixels of the picture. out: the picture as it is published so far. region (n, 2):
    convex, its corners in turn, pixels of the picture. rim: breadth of the soft rim outside the region, pixels. hair,
    agreement: take in what this frame shows. behind: the background in the patch's rectangle. others: regions (k, 2) of
    heads from which nothing may be taken.
    """
    patch, origin = solid.patch, np.array([solid.patch.x0, solid.patch.y0], np.float64)
    inside = _mask(patch, (region,))
    barred = _mask(patch, (region, *others)) if others else inside
    free = (cv2.dilate(barred, np.ones((2, 2), np.uint8), anchor=(0, 0))[::2, ::2] == 0).astype(np.uint8)
    middle, width = mesh[:, :2].mean(axis=0) - origin, float(np.ptp(mesh[:, 0]))
    reaches = np.zeros((_ANGLES, 4))
    _reach(middle, region - origin, place.face - origin, place.scalp - origin, patch.covered_luma, reaches)
    skin, outside = np.zeros((_ANGLES, 4)), np.zeros((_ANGLES, 4))
    _look_inside(patch.y, patch.uv, patch.covered_luma, patch.covered, middle, reaches, width * _DEPTHS, skin)
    beyond = 1 + rim * _OUTSIDE
    _look_outside(out.y, out.u, out.v, free, patch.x0, patch.y0, middle, reaches, beyond, outside)
    if not skin[:, 3].any():
        return None
    around = outside if outside[:, 3].any() else skin
    colours = np.concatenate([_carried(skin), _carried(around), _carried(around, _BLUR_WIDE)], axis=1)
    up = float(np.arctan2(*(place.crown - origin - middle)[::-1]))
    reaches[:, 2] = _EVEN @ (reaches[:, 0] + _LOWER * (reaches[:, 2] - reaches[:, 0]))
    hairline = max(1.5, _HAIRLINE * width)
    apart = np.degrees(np.abs((_AWAY - up + np.pi) % (2 * np.pi) - np.pi))
    hair.see(apart, reaches, outside, rim)
    hair_colour, known = hair.shown(skin[:, :3].sum(axis=0) / skin[:, 3].sum(), black_and_white(out))
    bears = _EVEN @ hair.amount(apart, reaches, hairline, known)
    # Hair ends by becoming less, not where rays begin to miss the scalp: between two rays that was an edge.
    scalp = _carried_reach(reaches[:, 3])
    seen = np.zeros((_ANGLES, 2))
    if behind is not None:
        past = behind.y, behind.uv, behind.known
        _compare(out.y, out.u, out.v, free, patch.x0, patch.y0, middle, reaches, beyond, *past, seen)
    agreed = agreement.see(apart, seen)
    reaches = np.column_stack([reaches[:, :3], scalp, bears, agreed])
    line = profile.line
    line[2] += line[:2] @ origin
    line[5] += line[3:5] @ origin
    inset, edge = max(1.0, _INSET * width), max(1.0, _EDGE * width)
    ends = _ENDS * width
    hair_line = line.copy()
    hair_line[2] += ends
    sides = max(_LEAST, _BESIDE * width), _TO_EAR * width * profile.aside
    numbers = np.array([*middle, rim, inset, profile.background, edge, hairline, ends, *sides, *hair_colour])
    y, uv = patch.y[:, :, None].copy(), patch.uv.copy()
    if behind is None:  # then nothing agrees, and it is not looked at
        behind = Behind(y, uv, np.zeros(patch.covered.shape, np.float32))
        reaches[:, 5] = 0.0
    told = reaches, colours, line, hair_line, numbers
    _fill(y, patch.covered_luma, 1, 0, *told, behind.y, behind.known)
    _fill(uv, patch.covered, 2, 1, *told, behind.uv, behind.known)
    weights = cv2.dilate(inside, np.ones((6, 6), np.uint8), anchor=(2, 2))[::2, ::2].astype(np.float32)
    _feather(weights, reaches, numbers)
    whole = np.ones_like(patch.covered), np.ones_like(patch.covered_luma)
    soft = y.copy()
    depth = cv2.distanceTransform(patch.covered_luma, cv2.DIST_L2, 3)
    without_steps(y, patch.covered_luma, depth, whole[1], soft)
    return Filled(Patch(patch.x0, patch.y0, np.ascontiguousarray(soft[:, :, 0]), uv, *whole), weights, free)


def _mask(patch: Patch, polygons: Sequence[Points]) -> Mask:
    """A mask uint8 (h, w): 1 where a patch's pixels lie in one of several polygons (n, 2) of the picture."""
    mask = np.zeros(patch.y.shape, np.uint8)
    for polygon in polygons:
        corners = np.round((polygon - (patch.x0, patch.y0)) * 16).astype(np.int32)
        cv2.fillConvexPoly(mask, corners, (1,), cv2.LINE_8, 4)
    return mask


def _carried(seen: Points, blur: Points = _BLUR) -> Points:
    """Colours (a, 3) at every angle, from sums of colours and their number (a, 4), by weights (a, a)."""
    blurred = blur @ seen
    colours: Points = blurred[:, :3] / blurred[:, 3:]
    return colours


def _carried_reach(reach: Points) -> Points:
    """Reaches (a,) with those of the nearest directions where there are none."""
    there = reach > 0
    if not there.any():
        return reach
    carried: Points = np.where(there, reach, (_BLUR @ reach) / (_BLUR @ there))
    return carried


@kernel
def _reach(middle, region, face, scalp, covered, reaches):  # type: ignore[no-untyped-def]
    """How far the rendered mesh and three convex polygons (n, 2), the region, the face up to the hairline and the
    scalp, reach from a place in every direction: (a, 4), pixels."""
    height, width = covered.shape
    for k in range(len(reaches)):
        dx, dy = np.cos(_TURN * k), np.sin(_TURN * k)
        far = reach_of(middle, dx, dy, region)
        near = far
        while near > 0:
            x, y = round(middle[0] + near * dx), round(middle[1] + near * dy)
            if 0 <= x < width and 0 <= y < height and covered[y, x]:
                break
            near -= 0.5
        reaches[k, 0], reaches[k, 1] = max(near, 0.0), far
        reaches[k, 2] = max(near, reach_of(middle, dx, dy, face))
        reaches[k, 3] = reach_of(middle, dx, dy, scalp)


@kernel
def _along(middle, k, r):  # type: ignore[no-untyped-def]
    """The pixel at a distance from a place in a direction."""
    return round(middle[0] + r * np.cos(_TURN * k)), round(middle[1] + r * np.sin(_TURN * k))


@kernel
def _free_at(free, x, y):  # type: ignore[no-untyped-def]
    """Whether the cell of chroma that holds a pixel is there and free (h, w)."""
    row, column = y // 2, x // 2
    return 0 <= row < free.shape[0] and 0 <= column < free.shape[1] and free[row, column] > 0


@kernel
def _look_inside(luma, chroma, covered, halved, middle, reaches, depths, seen):  # type: ignore[no-untyped-def]
    """Add up the rendered colours at depths inside the mesh's rim, and their number, in every direction: (a, 4)."""
    height, width = covered.shape
    for k in range(len(reaches)):
        for i in range(len(depths)):
            r = reaches[k, 0] - depths[i]
            x, y = _along(middle, k, r)
            if r > 0 and 0 <= x < width and 0 <= y < height and covered[y, x] and halved[y // 2, x // 2]:
                seen[k, 0] += luma[y, x]
                seen[k, 1] += chroma[y // 2, x // 2, 0]
                seen[k, 2] += chroma[y // 2, x // 2, 1]
                seen[k, 3] += 1


@kernel
def _look_outside(luma, u, v, free, x0, y0, middle, reaches, beyond, seen):  # type: ignore[no-untyped-def]
    """Add up the picture's colours at some distances beyond the region's edge, and their number: (a, 4).

    Only cells of chroma that are free count: (ceil(h / 2), ceil(w / 2)) from (x0, y0) on.
    """
    height, width = luma.shape
    for k in range(len(reaches)):
        for i in range(len(beyond)):
            x, y = _along(middle, k, reaches[k, 1] + beyond[i])
            counts = _free_at(free, x, y)
            x, y = x + x0, y + y0
            if counts and x < width and y < height:
                seen[k, 0] += luma[y, x]
                seen[k, 1] += u[y // 2, x // 2]
                seen[k, 2] += v[y // 2, x // 2]
                seen[k, 3] += 1


@kernel
def _compare(luma, u, v, free, x0, y0, middle, reaches, beyond, past, past_uv, known, seen):  # type: ignore[no-untyped-def]
    """Add up differences of the background (h, w, 1) and (.., 2) of a patch at (x0, y0) from the picture, at some
    distances beyond the region's edge, and their number: (a, 2). Only cells that are free and fully known count."""
    height, width = luma.shape
    for k in range(len(reaches)):
        for i in range(len(beyond)):
            x, y = _along(middle, k, reaches[k, 1] + beyond[i])
            row, column = y // 2, x // 2
            counts = (
                _free_at(free, x, y) and y < past.shape[0] and x < past.shape[1] and x + x0 < width and y + y0 < height
            )
            if counts and known[row, column] >= 1:
                seen[k, 0] += abs(luma[y + y0, x + x0] - past[y, x, 0])
                seen[k, 0] += abs(u[(y + y0) // 2, (x + x0) // 2] - past_uv[row, column, 0])
                seen[k, 0] += abs(v[(y + y0) // 2, (x + x0) // 2] - past_uv[row, column, 1])
                seen[k, 1] += 1


@kernel
def _fill(out, covered, scale, first, reaches, colours, line, hair_line, numbers, past, known):  # type: ignore[no-untyped-def]
    """Fill a plane (h, w, c), `scale` times as coarse as luma, where the mesh does not cover it (h, w).

    The rim of the mesh blends into the filling. reaches (a, 6): of mesh, region, hairline and scalp, how much of what
    lies between the last two is hair, and how much of the background (h, w, c) is shown where it is known, on the grid
    of chroma, 0 to 1. colours (a, 9): skin, what is outside as it is at the region's edge, and as
    it is at the mesh; this plane's colours begin at the number `first` in each. numbers: the middle, breadths of the
    region's rim and the mesh's, background beyond the profile, breadths of its line, the hairline and the hair's line
    (beside the profile), of skin beside the mesh and how much more behind the face, colour of hair.
    """
    height, width, channels = out.shape
    mx, my, rim, inset, behind, edge, soft_hair, hair_edge, beside, to_ear = numbers[:10]
    near, far = reaches[:, 0].min() - inset, reaches[:, 1].max() + rim + _MORE
    for y in range(height):
        for x in range(width):
            px, py = scale * x + 0.5 * (scale - 1), scale * y + 0.5 * (scale - 1)
            r = np.sqrt((px - mx) ** 2 + (py - my) ** 2)
            if r > far or (covered[y, x] and r < near):
                continue
            a, b, f = _between(px - mx, py - my)
            mesh = reaches[a, 0] + f * (reaches[b, 0] - reaches[a, 0])
            end = reaches[a, 1] + f * (reaches[b, 1] - reaches[a, 1])
            share = behind * share_beyond(px, py, line, edge, False) if behind > 0 else 0.0
            soft = 1.0
            if covered[y, x]:
                soft = min(max(1 - (mesh - r) / inset, 0.0), 1.0) * (1 - share)
            back = -(line[0] * (px - mx) + line[1] * (py - my)) / max(r, 1.0)
            skins = max(min(beside + max(to_ear * back, 0.0), _MOST * (end - mesh)), 1.0)
            t = min(max((r - mesh) / skins, 0.0), 1.0)
            away = t * t * (3 - 2 * t)
            away += share * (1 - away)
            outwards = min(max((r - mesh) / max(end - mesh, 1.0), 0.0), 1.0)
            bears, grown, beyond, again = 0.0, 0.0, 0.0, 0.0
            if not covered[y, x]:
                again = known[y * scale // 2, x * scale // 2] * (reaches[a, 5] + f * (reaches[b, 5] - reaches[a, 5]))
                bears = reaches[a, 4] + f * (reaches[b, 4] - reaches[a, 4])
            if bears > 0:
                if behind > 0:
                    bears *= 1 - behind * share_beyond(px, py, hair_line, hair_edge, True)
                hairline = reaches[a, 2] + f * (reaches[b, 2] - reaches[a, 2])
                scalp = reaches[a, 3] + f * (reaches[b, 3] - reaches[a, 3])
                grown = min(max((r - hairline) / soft_hair + 0.5, 0.0), 1.0)
                beyond = min(max((r - scalp) / soft_hair + 0.5, 0.0), 1.0)
            for c in range(channels):
                skin = colours[a, first + c] + f * (colours[b, first + c] - colours[a, first + c])
                there = colours[a, 6 + first + c] + f * (colours[b, 6 + first + c] - colours[a, 6 + first + c])
                at_edge = colours[a, 3 + first + c] + f * (colours[b, 3 + first + c] - colours[a, 3 + first + c])
                there += outwards * (at_edge - there)
                if again > 0:
                    there += again * (past[y, x, c] - there)
                    at_edge += again * (past[y, x, c] - at_edge)
                value = skin
                if not covered[y, x]:
                    value += away * (there - skin)
                if bears > 0:
                    head = skin + grown * (numbers[10 + first + c] - skin)
                    value += bears * (head + beyond * (at_edge - head) - value)
                out[y, x, c] += soft * (value - out[y, x, c])


@kernel
def _feather(weights, reaches, numbers):  # type: ignore[no-untyped-def]
    """Set weights (h, w) on the grid of chroma that are not 1 already: they fall to 0 across the soft rim."""
    mx, my, rim = numbers[:3]
    for y in range(weights.shape[0]):
        for x in range(weights.shape[1]):
            if weights[y, x] == 0:
                dx, dy = 2 * x + 0.5 - mx, 2 * y + 0.5 - my
                a, b, f = _between(dx, dy)
                end = reaches[a, 1] + f * (reaches[b, 1] - reaches[a, 1])
                t = min(max(1 - (np.sqrt(dx * dx + dy * dy) - end) / rim, 0.0), 1.0)
                weights[y, x] = t * t * (3 - 2 * t)


@kernel
def _between(dx, dy):  # type: ignore[no-untyped-def]
    """The angles before and after a direction, and its place between them, 0 to 1."""
    place = np.arctan2(dy, dx) / _TURN
    place = place + _ANGLES if place < 0 else place
    k = int(place)
    return k % _ANGLES, (k + 1) % _ANGLES, place - k
