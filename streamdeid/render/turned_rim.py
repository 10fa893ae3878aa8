"""Filling between the rendered mesh of a turned head and the person's own outline: no original pixel may stay there.

Behind the face there is skin, hair or neck, so the skin of the rendered face is continued there. Beyond the profile
there is the background, which is continued from outside: skin there would look like a second nose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from streamdeid.aam.mesh_render import Solid
from streamdeid.aam.smooth_step import smooth_step
from streamdeid.aam.synthesise import Mask, Patch
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.convex import convex, grown
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import kernel
from streamdeid.core.mesh_triangles import CHIN, NOSE_TIP, TOP
from streamdeid.render.blend import Feather

_GRID = 64
"""Width of the grid on which colours are carried."""
_REACHES = (1.2, 3.0, 8.0)
"""Blurs, cells of the grid, by which colours are carried: the nearest colour counts where there is one."""
_LESS = (1, 2, 4)
"""How many times smaller the grid is on which each blur is computed: it looks the same, and is much cheaper."""
_INSET = 0.05
"""Rim of the rendered face from which no colour is carried, as a share of its width: the rim is seen edge on."""
_EDGE = 0.04
"""Breadth of the line between skin and background, as a share of the face's width."""
_BESIDE = 1.5
"""Distance from the outside, pixels, beyond which no neighbour of a pixel lies outside."""
_FARTHER = 2
_LENGTH, _FADES = (0.08, 1.02), 0.08
"""The part of the line from the middle of the forehead to the chin that has a profile, and the range over which its
ends fade. Above it there is more forehead, below it the neck."""
_BACKGROUND = np.deg2rad(24.0), np.deg2rad(31.0)
"""Yaw over which what lies beyond the profile changes from skin to background: from the front no background is seen
there."""


@dataclass(frozen=True)
class RimProfile:
    """The place of a turned face's profile in the picture."""

    top: Points
    """float64 (2,): the middle of the forehead, pixels."""
    chin: Points
    beyond: float
    """Sign of the side of the line from top to chin that lies beyond the profile."""
    background: float
    """How much of what lies beyond the profile is background: 0 to 1."""
    aside: float
    """The sine of the yaw, -1 to 1, positive where the nose points beyond the profile. Surrogates are not symmetric:
    seen from the front some point a little to the other side, and there `beyond` says nothing yet."""

    @classmethod
    def of(cls, mesh: Points, yaw: float) -> RimProfile:
        """The profile of a mesh (468, d) in a picture, and its yaw in radians."""
        top, chin, nose = (mesh[vertex, :2] for vertex in (TOP, CHIN, NOSE_TIP))
        line, away = chin - top, nose - top
        background = float(smooth_step((abs(yaw) - _BACKGROUND[0]) / (_BACKGROUND[1] - _BACKGROUND[0])))
        beyond = float(np.sign(away[0] * line[1] - away[1] * line[0]))
        return cls(top, chin, beyond, background, -beyond * float(np.sin(yaw)))

    @property
    def line(self) -> Points:
        """Factors of x and y and a constant, for two measures of a place, float64 (6,) (`_beyond`).

        The first three tell how far it lies beyond the line from top to chin, pixels; the last three how far down that
        line, as a share of its length.
        """
        x, y = self.chin - self.top
        length = max(float(np.hypot(x, y)), 1e-6)
        side = self.beyond * np.array([y, -x]) / length
        down = np.array([x, y]) / length**2
        return np.array([*side, -(side @ self.top), *down, -(down @ self.top)])


@dataclass(frozen=True)
class Reach:
    """How far a redaction has to reach."""

    outline: Points
    """float64 (n, 2): the person's outline, convex, pixels of the picture."""
    behind: float
    """Reach beyond the outline, pixels."""
    before: float
    """Reach beyond the outline on the side of the profile, pixels."""
    profile: RimProfile
    softness: float
    """How much of its rim the rendered face yields to the skin beside it, 0 to 1."""
    outwards: float
    """How much farther than its feather a redaction reaches (`Feather.outwards`), pixels."""

    def halved(self) -> Reach:
        """The same reach in pixels of chroma."""
        line = replace(self.profile, top=(self.profile.top - 0.5) / 2, chin=(self.profile.chin - 0.5) / 2)
        return Reach((self.outline - 0.5) / 2, self.behind / 2, self.before / 2, line, self.softness, self.outwards / 2)

    def about(self, mask: Mask) -> Mask:
        """What is rendered, uint8 (h, w), with the pixels that lie wholly or in part within `outwards` of it: where the
        mesh reaches beyond the person's outline nothing else makes room for the feather."""
        far = cv2.distanceTransform(1 - mask, cv2.DIST_L2, 5)
        return np.asarray(far < self.outwards + 0.5, np.uint8)

    def mask(self, shape: tuple[int, int], origin: tuple[int, int]) -> Mask:
        """A mask uint8 (h, w): 1 where the redaction has to reach, `_FARTHER` where it has to only beyond the profile.

        The mask's rectangle begins at origin (x, y).
        """
        wanted, farther = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
        for mask, reach in ((wanted, self.behind), (farther, self.before)):
            # In parts of a pixel: a line of whole pixels' thickness jumped while a head turned.
            corners = np.round((convex(grown(self.outline, reach)) - origin) * 16)
            cv2.fillConvexPoly(mask, corners.astype(np.int32), (1,), cv2.LINE_8, 4)
        _add_beyond(wanted, farther, self.profile.line, *origin)
        return wanted


def covering(solid: Solid, original: Planes, reach: Reach, width: float) -> Patch:
    """The patch of a rendered mesh, filled as far as the reach asks for. width: of the rendered face, pixels."""
    patch, halved = solid.patch, reach.halved()
    corner = patch.x0 // 2, patch.y0 // 2
    luma = reach.mask((patch.y.shape[0], patch.y.shape[1]), (patch.x0, patch.y0))
    chroma = halved.mask((patch.covered.shape[0], patch.covered.shape[1]), corner)
    luma, chroma = np.maximum(luma, reach.about(patch.covered_luma)), np.maximum(chroma, halved.about(patch.covered))
    skin, background = _colours(patch, original, luma, chroma, max(1.0, _INSET * width))
    y, full = _filled(
        patch.y[:, :, None], patch.covered_luma, luma, (patch.x0, patch.y0), reach, width, skin, background
    )
    uv, covered = _filled(patch.uv, patch.covered, chroma, corner, halved, width / 2, skin, background)
    return Patch(patch.x0, patch.y0, np.ascontiguousarray(y[:, :, 0]), uv, covered, full)


def _colours(
    patch: Patch, original: Planes, wanted: Mask, wanted_chroma: Mask, inset: float
) -> tuple[Pixels, Pixels | None]:
    """YUV (gh, gw, 3) of skin and of background, on grids over the patch, carried on to every place.

    Skin is what was rendered, without `inset` pixels at its rim. Background is the picture outside what is rendered or
    wanted; None where nothing is outside.
    """
    height, width = patch.y.shape
    step = max(1, width // _GRID)  # blurred afterwards: every so-many-th pixel is enough
    few = np.ix_(range(0, height, step), range(0, width, step))
    halves = few[0] // 2, few[1] // 2
    inside = patch.covered_luma[few] & patch.covered[halves]
    skin = _carried(np.dstack([patch.y[few], patch.uv[halves]]), inside, round(inset / step))
    free = np.asarray((wanted[few] | wanted_chroma[halves] | patch.covered_luma[few] | patch.covered[halves]) == 0)
    if not free.any():
        return skin, None
    luma = original.y[patch.y0 : patch.y0 + height, patch.x0 : patch.x0 + width][few]
    x, y = patch.x0 // 2, patch.y0 // 2
    around = np.dstack([luma, *(plane[y:, x:][halves] for plane in (original.u, original.v))])
    return skin, _carried(around.astype(np.float32), free.astype(np.uint8), 0)


def _filled(
    rendered: Pixels,
    inside: Mask,
    wanted: Mask,
    origin: tuple[int, int],
    reach: Reach,
    width: float,
    skin: Pixels,
    background: Pixels | None,
) -> tuple[Pixels, Mask]:
    """One plane of `covering`: what was rendered (h, w, c), filled where wanted, and the mask of both.

    inside: mask of what was rendered. origin: x and y where the plane's rectangle begins; skin, background: of
    `_colours`.
    """
    whole = np.asarray((wanted > 0) | (inside > 0), np.uint8)
    if np.array_equal(whole, inside) or not inside.any():
        return rendered, whole
    depth = np.asarray(cv2.distanceTransform(inside, cv2.DIST_L2, 3), np.float32)
    behind = 0.0 if background is None else reach.profile.background
    numbers = np.array([max(1.0, _INSET * width), reach.softness, behind, _EDGE * width])
    filled = rendered.copy()
    colours = skin, skin if background is None else background
    _fill(filled, depth, wanted, reach.profile.line, *origin, numbers, *colours)
    out = filled.copy()
    without_steps(filled, inside, depth, whole, out)
    return out, whole


@kernel
def _beyond(x, y, line):  # type: ignore[no-untyped-def]
    """How far a place lies beyond the line of a profile, and how far down it (`RimProfile.line`)."""
    return line[0] * x + line[1] * y + line[2], line[3] * x + line[4] * y + line[5]


@kernel
def share_beyond(x, y, line, edge, farther):  # type: ignore[no-untyped-def]
    """How much a place lies beyond a profile (`RimProfile.line`), 0 to 1.

    edge: breadth of the profile's line, pixels. farther: the ends of the line do not fade.
    """
    side, down = _beyond(x, y, line)
    before = 1.0 if farther else min(max(min(down - _LENGTH[0], _LENGTH[1] - down) / _FADES, 0.0), 1.0)
    return before * min(max(side / edge, 0.0), 1.0)


@kernel
def _add_beyond(wanted, farther, line, x0, y0):  # type: ignore[no-untyped-def]
    """Mark with `_FARTHER` in wanted (h, w) what lies beyond the profile and is only in the other mask (h, w)."""
    for y in range(wanted.shape[0]):
        for x in range(wanted.shape[1]):
            if farther[y, x] > wanted[y, x]:
                side, down = _beyond(x + x0, y + y0, line)
                if side > 0 and _LENGTH[0] < down < _LENGTH[1]:
                    wanted[y, x] = _FARTHER


@kernel
def _at(grid, channel, x, y):  # type: ignore[no-untyped-def]
    """The value of a grid's (gh, gw, c) channel between its places; the border is repeated outside."""
    x, y = min(max(x, 0.0), grid.shape[1] - 1.0), min(max(y, 0.0), grid.shape[0] - 1.0)
    x0, y0 = int(x), int(y)
    x1, y1 = min(x0 + 1, grid.shape[1] - 1), min(y0 + 1, grid.shape[0] - 1)
    fx, fy = x - x0, y - y0
    top = grid[y0, x0, channel] + fx * (grid[y0, x1, channel] - grid[y0, x0, channel])
    bottom = grid[y1, x0, channel] + fx * (grid[y1, x1, channel] - grid[y1, x0, channel])
    return top + fy * (bottom - top)


@kernel
def _fill(out, depth, wanted, line, x0, y0, numbers, skin, background):  # type: ignore[no-untyped-def]
    """Fill what was rendered, luma (h, w, 1) or chroma (h, w, 2), where it is wanted.

    depth (h, w): how far inside the rendered face a pixel lies, 0 outside. Inside, what was rendered blends into what
    is carried: a rim that is seen edge on would otherwise show where it ends. The side of the profile keeps its edge.
    """
    height, width, channels = out.shape
    inset, softness, behind, edge = numbers
    first = channels - 1  # luma is the grids' channel 0, chroma 1 and 2
    down_grid, across_grid = skin.shape[0] / height, skin.shape[1] / width
    for y in range(height):
        for x in range(width):
            deep = depth[y, x]
            if deep >= inset or (deep == 0 and wanted[y, x] == 0):
                continue
            share = behind * share_beyond(x + x0, y + y0, line, edge, wanted[y, x] == _FARTHER) if behind > 0 else 0.0
            gx, gy = (x + 0.5) * across_grid - 0.5, (y + 0.5) * down_grid - 0.5
            for c in range(channels):
                carried = _at(skin, first + c, gx, gy)
                if deep > 0:
                    out[y, x, c] += softness * (1 - deep / inset) * (1 - share) * (carried - out[y, x, c])
                else:
                    if share > 0:
                        carried += share * (_at(background, first + c, gx, gy) - carried)
                    out[y, x, c] = carried


@kernel
def without_steps(filled, inside, depth, whole, out):  # type: ignore[no-untyped-def]
    """Soften the edge of what was rendered where it meets what was filled in, in a picture (h, w, c).

    This edge is not anti-aliased otherwise.
    """
    height, width, channels = filled.shape
    for y in range(height):
        for x in range(width):
            if whole[y, x] == 0 or depth[y, x] > _BESIDE:
                continue
            rendered, bare = False, False
            for j in range(max(y - 1, 0), min(y + 2, height)):
                for i in range(max(x - 1, 0), min(x + 2, width)):
                    rendered = rendered or inside[j, i] > 0
                    bare = bare or (inside[j, i] == 0 and whole[j, i] > 0)
            if not (rendered and bare):
                continue
            for c in range(channels):
                total, number = 0.0, 0
                for j in range(max(y - 1, 0), min(y + 2, height)):
                    for i in range(max(x - 1, 0), min(x + 2, width)):
                        if whole[j, i] > 0:
                            total += filled[j, i, c]
                            number += 1
                out[y, x, c] = total / number


def weights(patch: Patch, profile: RimProfile, share: float, feather: Feather) -> tuple[Pixels, Pixels]:
    """Weights float32 (ceil(h / 2), ceil(w / 2)) for blending a covering patch; and those of a sharp rim all around.

    The feather is soft where skin meets hair and neck. It is sharp beyond the profile, where background meets
    background and the person's own profile may lie. share: how solid the face is rendered, 0 to 1.
    """
    height, width = patch.covered.shape
    x, y, shift, *_ = profile.line
    away = np.add.outer(y * (2 * np.arange(height) + patch.y0), x * (2 * np.arange(width) + patch.x0)) + shift
    before = np.clip(away / feather.soft + 0.5, 0, 1) * share
    soft, sharp = feather.weights(patch.covered)
    return np.asarray(soft + before * (sharp - soft), np.float32), sharp


def _carried(picture: Pixels, known: Mask, inset: int) -> Pixels:
    """A picture (h, w, c) whose known pixels, without `inset` of them at their rim, are carried softly to every place.

    Where there are none, its mean is used.
    """
    core = np.asarray(cv2.erode(known, np.ones((2 * inset + 1,) * 2, np.uint8)), np.uint8) if inset else known
    weight = (core if core.any() else known).astype(np.float32)
    colours = np.dstack([picture * weight[:, :, None], weight])
    out = np.zeros_like(colours[:, :, :-1])
    left = np.ones_like(weight)
    size = known.shape[1], known.shape[0]
    for blur, less in zip(_REACHES, _LESS, strict=True):
        few = tuple(max(1, side // less) for side in size)
        small = cv2.resize(colours, few, interpolation=cv2.INTER_AREA) if less > 1 else colours
        blurred = cv2.GaussianBlur(small, (0, 0), blur / less)
        blurred = cv2.resize(blurred, size, interpolation=cv2.INTER_LINEAR) if less > 1 else blurred
        share = blurred[:, :, -1]
        taken = left * np.clip(share / 0.1, 0, 1)
        out += (taken / np.maximum(share, 1e-6))[:, :, None] * blurred[:, :, :-1]
        left -= taken
    mean = colours[:, :, :-1].sum(axis=(0, 1)) / max(float(weight.sum()), 1e-6)
    return np.asarray(out + left[:, :, None] * mean, np.float32)
