"""What lies between the rendered mesh of a turned head and the person's own outline: nothing of it may stay as it was.

Behind the face that is skin, hair or neck, so the skin of the rendered face is carried on there. Beyond the profile it
is the background, which is carried in from outside: skin there would be a second nose.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.mesh_render import Solid
from streamdeid.aam.piecewise_affine import Pixels, Points
from streamdeid.aam.synthesise import Mask, Patch
from streamdeid.deidentify.blend import feathered
from streamdeid.frames import Planes
from streamdeid.mesh_triangles import CHIN, NOSE_TIP, TOP

_GRID = 64
"""Width of the grid on which colours are carried."""
_REACHES = (1.2, 3.0, 8.0)
"""Blurs, cells of the grid, by which they are: the nearest colour counts where there is one."""
_INSET = 0.05
"""Rim of the rendered face from which no colour is carried, share of its width: it is seen edge on there."""
_EDGE = 0.04
"""Breadth of the line between the two, share of the face's width."""
_FARTHER = 2
_THICKEST = 2000
"""Pixels: no face is so large that more would be wanted, and OpenCV draws no line of any thickness."""
_LENGTH, _FADES = (0.08, 1.02), 0.08
"""From where to where, on the line from the middle of the forehead to the chin, there is a profile: above it is more
forehead, below the neck. And over what its ends fade."""
_BACKGROUND = np.deg2rad(24.0), np.deg2rad(31.0)
"""Yaw over which what lies beyond the profile goes over from skin to background: seen from the front there is none."""


@dataclass(frozen=True)
class Profile:
    """Where in the picture the profile of a turned face is."""

    top: Points
    """float64 (2,): middle of the forehead, pixels."""
    chin: Points
    beyond: float
    """Sign of the side of the line from top to chin that lies beyond the profile."""
    background: float
    """How much of what lies there is background: 0 to 1."""

    @classmethod
    def of(cls, mesh: Points, yaw: float) -> Profile:
        """Of a mesh (468, d) in a picture, and its yaw in radians."""
        top, chin, nose = (mesh[vertex, :2] for vertex in (TOP, CHIN, NOSE_TIP))
        line, away = chin - top, nose - top
        t = float(np.clip((abs(yaw) - _BACKGROUND[0]) / (_BACKGROUND[1] - _BACKGROUND[0]), 0, 1))
        return cls(top, chin, float(np.sign(away[0] * line[1] - away[1] * line[0])), t * t * (3 - 2 * t))

    def at(self, places: Points) -> tuple[Points, Points]:
        """How far beyond the line from top to chin places (n, 2) lie, pixels (n,), and how far down it, shares of its
        length (n,)."""
        away, line = places - self.top, self.chin - self.top
        length = max(float(np.linalg.norm(line)), 1e-6)
        side = self.beyond * (away[:, 0] * line[1] - away[:, 1] * line[0]) / length
        return side, away @ line / length**2


@dataclass(frozen=True)
class Reach:
    """How far a redaction has to reach."""

    outline: Points
    """float64 (n, 2): the person's, convex, pixels of the picture."""
    behind: float
    """Pixels beyond it."""
    before: float
    """The same beyond the profile."""
    profile: Profile
    softness: float
    """How much of its rim the rendered face gives to the skin beside it, 0 to 1."""

    def halved(self) -> Reach:
        """In pixels of chroma."""
        line = replace(self.profile, top=(self.profile.top - 0.5) / 2, chin=(self.profile.chin - 0.5) / 2)
        return Reach((self.outline - 0.5) / 2, self.behind / 2, self.before / 2, line, self.softness)

    def mask(self, shape: tuple[int, int], origin: tuple[int, int]) -> Mask:
        """uint8 (h, w): 1 where it reaches, `_FARTHER` where only beyond the profile; in a rectangle that begins at
        origin (x, y)."""
        corners = [np.round((self.outline - origin) * 16).astype(np.int32)]
        wanted, farther = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
        cv2.fillPoly(wanted, corners, (1,), cv2.LINE_8, 4)
        cv2.polylines(wanted, corners, True, (1,), _line(self.behind), cv2.LINE_8, 4)
        cv2.polylines(farther, corners, True, (1,), _line(self.before), cv2.LINE_8, 4)
        rows, columns = np.nonzero(farther > wanted)
        places = (np.column_stack([columns, rows]) + origin).astype(np.float64)
        side, down = self.profile.at(places)
        beyond = (side > 0) & (down > _LENGTH[0]) & (down < _LENGTH[1])
        wanted[rows[beyond], columns[beyond]] = _FARTHER
        return wanted


def _line(reach: float) -> int:
    """Thickness of a line that reaches so many pixels to either side."""
    return min(_THICKEST, max(1, 2 * round(reach)))


def covering(solid: Solid, original: Planes, reach: Reach, width: float) -> Patch:
    """The patch of a rendered mesh, filled as far as is wanted. width: of the rendered face, pixels."""
    patch = solid.patch
    (h, w), (ch, cw) = patch.y.shape, patch.covered.shape
    hx, hy = patch.x0 // 2, patch.y0 // 2
    luma = original.y[patch.y0 : patch.y0 + h, patch.x0 : patch.x0 + w, None]
    chroma = np.dstack([plane[hy : hy + ch, hx : hx + cw] for plane in (original.u, original.v)])
    y, full = _filled(patch.y[:, :, None], patch.covered_luma, luma, (patch.x0, patch.y0), reach, width)
    uv, covered = _filled(patch.uv, patch.covered, chroma, (hx, hy), reach.halved(), width / 2)
    return Patch(patch.x0, patch.y0, np.ascontiguousarray(y[:, :, 0]), uv, covered, full)


def _filled(
    drawn: Pixels, inside: Mask, around: NDArray[np.uint8], origin: tuple[int, int], reach: Reach, width: float
) -> tuple[Pixels, Mask]:
    """One plane of `covering`: what was drawn (h, w, c) inside a mask, filled, and the mask of both. around: the same
    rectangle of the picture, uint8 (h, w, c); origin: x and y where it begins."""
    wanted = reach.mask((inside.shape[0], inside.shape[1]), origin)
    bare = (wanted > 0) & (inside == 0)
    whole = ((wanted > 0) | (inside > 0)).astype(np.uint8)
    if not bare.any() or not inside.any():
        return drawn, whole
    inset = max(1.0, _INSET * width)
    depth = np.asarray(cv2.distanceTransform(inside, cv2.DIST_L2, 3), np.float32)
    # What was rendered goes over into what is carried: beside a rim that is seen edge on, one would see where it ends.
    rows, columns = np.nonzero(bare | ((depth > 0) & (depth < inset)))
    place = np.column_stack([columns + origin[0], rows + origin[1]]).astype(np.float64)
    share = _background(place, wanted[rows, columns] == _FARTHER, reach.profile, width)[:, None].astype(np.float32)
    own = (depth[rows, columns] / np.float32(inset))[:, None]
    filled = drawn.copy()
    skin = _carried(drawn, inside, round(inset))[rows, columns]
    was = drawn[rows, columns]
    # Inside, the side of the profile keeps its edge.
    new = np.where(own > 0, was + reach.softness * (1 - own) * (1 - share) * (skin - was), skin)
    free = (whole == 0).astype(np.uint8)
    if free.any() and (share > 0).any():
        background = _carried(around, free, 0)[rows, columns]
        new = np.where(own > 0, new, skin + share * (background - skin))
    filled[rows, columns] = new
    return _without_steps(filled, inside, bare, whole), whole


def _without_steps(filled: Pixels, inside: Mask, bare: NDArray[np.bool_], whole: Mask) -> Pixels:
    """The picture (h, w, c) with the edge of what was rendered softened where it meets what was filled in: nothing else
    is anti-aliased there."""
    square = np.ones((3, 3), np.uint8)
    near_bare, near_inside = (np.asarray(cv2.dilate(each, square)) > 0 for each in (bare.astype(np.uint8), inside))
    rows, columns = np.nonzero(near_bare & near_inside)
    mask = whole.astype(np.float32)
    total = cv2.blur(filled * mask[:, :, None], (3, 3)).reshape(filled.shape)[rows, columns]
    filled[rows, columns] = total / cv2.blur(mask, (3, 3))[rows, columns, None]
    return filled


def weights(patch: Patch, profile: Profile, share: float, feather: float, sharp: float) -> Pixels:
    """Weights float32 (ceil(h / 2), ceil(w / 2)) for blending a covering patch: a feather of so many pixels where skin
    meets hair and neck; a sharp one beyond the profile, where background meets background and the person's own profile
    may lie. share: how solid the face is drawn, 0 to 1."""
    rows, columns = np.mgrid[0 : patch.covered.shape[0], 0 : patch.covered.shape[1]]
    places = np.column_stack([2 * columns.ravel() + patch.x0, 2 * rows.ravel() + patch.y0]).astype(np.float64)
    away, _ = profile.at(places)
    before = np.clip(away / max(feather, 1.0) + 0.5, 0, 1).reshape(patch.covered.shape) * share
    soft, hard = (feathered(patch.covered, pixels / 2) for pixels in (feather, sharp))
    return np.asarray(soft + before * (hard - soft), np.float32)


def _background(places: Points, farther: NDArray[np.bool_], profile: Profile, width: float) -> Points:
    """How much of what lies at places (n, 2) is background, 0 to 1: what lies beyond the profile. farther (n,): which
    of them the redaction reaches for that alone."""
    side, down = profile.at(places)
    first, last = _LENGTH
    before = np.clip(np.minimum(down - first, last - down) / _FADES, 0, 1)
    share: Points = profile.background * np.maximum(before, farther) * np.clip(side / (_EDGE * width), 0, 1)
    return share


def _carried(picture: NDArray[Any], known: Mask, inset: int) -> Pixels:
    """A picture (h, w, c) whose known pixels, without so many at their rim, are carried softly to everywhere. Where
    there are none, its mean."""
    height, width = known.shape
    step = max(1, width // _GRID)  # blurred afterwards, so that every so-many-th pixel is enough
    few = np.ascontiguousarray(known[::step, ::step])
    reach = 2 * round(inset / step) + 1
    core = np.asarray(cv2.erode(few, np.ones((reach, reach), np.uint8)), np.uint8) if inset else few
    weight = (core if core.any() else few).astype(np.float32)
    small = picture[::step, ::step].astype(np.float32) * weight[:, :, None]
    out = np.zeros_like(small)
    left = np.ones_like(weight)
    for blur in _REACHES:
        blurred = cv2.GaussianBlur(small, (0, 0), blur).reshape(small.shape)
        share = np.asarray(cv2.GaussianBlur(weight, (0, 0), blur), np.float32)
        taken = left * np.clip(share / 0.1, 0, 1)
        out += (taken / np.maximum(share, 1e-6))[:, :, None] * blurred
        left -= taken
    out += left[:, :, None] * (small.sum(axis=(0, 1)) / max(float(weight.sum()), 1e-6))
    full = cv2.resize(out, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(full, np.float32).reshape(picture.shape)
