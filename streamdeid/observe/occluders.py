"""Finds the pixels before a face that surely show something else, and may be visible in front of the new face.

An original face pixel that stays visible is a leak; a cup with a face painted over it is only ugly. So a place is
opened only when all of these conditions hold:

* Its colour is blue, green or between: much colder than grey. Skin, lips, teeth, hair, shadow and glare are not so cold
  in a light in which the rest of this very face is warm.
* It came: the same track was seen there for a while without that colour.
* The structure that this face had there is gone, and that of a mean face, too, and what is there instead is plainer. So
  it is no coloured light, no reflection, and nothing transparent.
* It reaches in from outside of the mesh, is no thread, and all of this holds for some frames on end.

A rim of such a place stays painted over, and each pixel's colour is checked once more in the picture itself. Everything
else stays painted over: hands and red or brown things, which have skin's colours; dark ones, as hair and shadow are;
grey and white ones, as glare is (on a cheek it was opened when a red cup had been learnt: a leak); and what was there
from the first frame. `benchmarks/leaks/occluders.py` measures what opens, and what must not.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import spread
from streamdeid.core.arrays import Flags, Pixels
from streamdeid.core.colour import LUMA
from streamdeid.core.convex import convex
from streamdeid.core.ibug68 import INNER_LIP
from streamdeid.observe.observation import Observation
from streamdeid.observe.opening import FLOOR, Opening, coldness, telling

_COLD = 0.04
"""Coldness (`coldness`) above which a colour cannot be a face's in neutral light."""
_BEYOND = 0.12
"""How much greater the coldness must be than that of this face's skin. On 5,732 open faces of 18 clips no patch of a
thirtieth of the mesh is so cold, whatever its structure; the first one comes at 0 and 0.09."""
_SKIN = -0.05
"""Coldness below which a pixel may be skin in neutral light. A face in a cold light has none: nothing opens."""
_SKIN_SHARE = 0.3
"""Share of the mesh that must be as warm as that."""
_BEFORE = 12
"""Number of frames in which a place must have been seen without the colour."""
_FOLLOW = np.float32(0.15)
"""Weight of the newest frame in what is remembered of the face."""
_FRAMES = 4
"""Number of frames for which everything must hold before a place opens."""
_OWN_COLOUR = 0.7
"""Share of the way from this face's skin to the occluder's colour from which a pixel of the picture shows the occluder:
a pixel half of which is skin does not."""
_LEAST_AREA = 0.03
"""Smallest occluder, share of the mesh."""
_LEAST_RIM = 4
"""Number of pixels along the mesh's rim through which the occluder must reach in."""
_STRUCTURE = 1.5
"""Least detail of the face that must be missing where the occluder is: sum over pixels of squared log luma."""
_KEPT, _ALIKE, _PLAIN = 0.15, 0.3, 0.5
"""How much of the face's detail may still be found there (slope, and correlation), and how strong any detail there may
be, as a share of the face's. For plain things .02, .1 and .3 are usual, for lights .8, .8 and 1."""
_FLAT, _ALIKE_FLAT = 0.2, 0.5
"""Strength of detail below which chance correlates it with the face's as much as the second number; frosted glass would
correlate more."""
_LENIENT = 1.3
"""Factor by which the same bounds are wider for a place that is open already: no flicker about a threshold."""
_SHIFT = 2
"""Pixels by which the mesh may have slid meanwhile: the detail is looked for that far away."""
_FINE, _COARSE = 1.0, 5.0
"""Band of the detail: sigmas in pixels of the fit's frame."""
_SMALLEST = 64.0
"""Width of a face in pixels from which it has enough detail for missing detail to be noticed."""
_TURN = 0.6
"""Radians of yaw beyond which the mesh shows background beside the cheek."""
_RIM, _RIM_IMAGE = 2.0, 3.0
"""Safety rim: pixels of the fit's frame (the blur of its sampling), and of the picture (chroma has half its size)."""
_MOUTH_SHARE = 0.95
"""Share of the lips' inner rim from which an occluder that hides it also hides the opening of the mouth."""
_SOFT = 2.0
"""Pixels of the fit's frame over which the opening inside the safety rim rises from 0 to 1."""


class OccluderMask:
    """Finds the occluders before the face of one track that may stay visible, from frame to frame."""

    def __init__(self, fitting: FitModel, mean: Pixels) -> None:
        """mean: the mean face's small texture, float32 (f, 3)."""
        self._table = table = fitting.table
        self._inside = self._picture(np.ones(len(table.rows), np.float32)) > 0
        outline = np.zeros(self._inside.shape, np.uint8)
        hull = convex(fitting.model.mean_shape * fitting.scale)
        cv2.fillConvexPoly(outline, hull.round().astype(np.int32), (1,))
        whole = (outline > 0) | self._inside
        self._rim = self._inside & (cv2.erode(np.pad(whole, 1).astype(np.uint8), _square(5))[1:-1, 1:-1] == 0)
        _, holes = cv2.connectedComponents((whole & ~self._inside).astype(np.uint8), connectivity=4)
        x, y = (fitting.model.mean_shape[INNER_LIP].mean(axis=0) * fitting.scale).round().astype(int)
        self._mouth = (holes == holes[y, x]) & ~self._inside
        self._lips = (cv2.dilate(self._mouth.astype(np.uint8), _square(3)) > 0) & self._inside
        self._mean = self._detail(np.log(mean @ LUMA + FLOOR), self._inside)
        self._held = np.zeros(len(table.rows), np.int32)
        self._open = np.zeros(self._inside.shape, np.bool_)
        self._before = np.zeros(len(table.rows), np.int32)
        self._past: Pixels | None = None

    def __call__(self, seen: Observation, doubt: bool) -> Opening | None:
        """The opening for an occluder in the track's next frame; None, as in most frames, when nothing may be visible.

        doubt: it is not sure that this is still the same face.
        """
        if seen.fresh or seen.width < _SMALLEST:
            self._forget()
        if seen.width < _SMALLEST:
            return None
        texture = seen.small_texture
        cold = coldness(texture)
        suspect = cold > _COLD
        if not doubt:
            self._learn(texture, suspect)
        usable = not doubt and abs(seen.pose.yaw) <= _TURN
        least = _LEAST_AREA * len(cold)
        skin = cold[cold < _SKIN] if usable and np.count_nonzero(suspect) >= least else cold[:0]
        if len(skin) < _SKIN_SHARE * len(cold):
            self._close()
            return None
        usual = float(np.median(skin))
        coldest = max(_COLD, usual + _BEYOND)
        likely = (cold > coldest) & (self._before >= _BEFORE) & telling(texture)
        if np.count_nonzero(likely) < least:
            self._close()
            return None
        hidden, plain = self._occluders(self._picture(likely) > 0, texture)
        if not hidden.any():
            self._close()
            return None
        rows, columns = self._table.rows, self._table.columns
        self._held = np.where(plain[rows, columns], self._held + 1, 0)
        weights = self._soft(self._picture(self._held >= _FRAMES) > 0, seen.width)
        self._open = weights > 0
        spilt = cv2.dilate(hidden.astype(np.uint8), _square(7))[rows, columns] > 0
        own = float(np.median(cold[hidden[rows, columns]]))
        mouth = bool(hidden[self._lips].mean() > _MOUTH_SHARE)
        return Opening(weights, spilt, mouth, max(coldest, usual + _OWN_COLOUR * (own - usual)))

    def _forget(self) -> None:
        self._before[:] = 0
        self._past = None
        self._close()

    def _close(self) -> None:
        self._held[:] = 0
        self._open[:] = False

    def _learn(self, texture: Pixels, suspect: Flags) -> None:
        """Remember what the face looks like where no occluder is suspected, over about the last quarter of a second."""
        luma = texture @ LUMA
        if self._past is None:
            self._past = luma
        self._past = self._past + np.where(suspect, np.float32(0), _FOLLOW) * (luma - self._past)
        self._before += ~suspect

    def _occluders(self, where: Flags, texture: Pixels) -> tuple[Flags, Flags]:
        """Of the places that have an occluder's colour (h, w): which ones hide the face, and which of those may be
        visible."""
        hides, plain = np.zeros(where.shape, np.bool_), np.zeros(where.shape, np.bool_)
        core = cv2.morphologyEx(where.astype(np.uint8), cv2.MORPH_OPEN, _square(3))
        count, labels, stats, _ = cv2.connectedComponentsWithStats(core, connectivity=4)
        large = [i for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] >= _LEAST_AREA * len(texture)]
        if not large or self._past is None:
            return hides, plain
        now, past = np.log(texture @ LUMA + FLOOR), self._detail(np.log(self._past + FLOOR), self._inside)
        for i in large:
            part = labels == i
            inner = cv2.erode(part.astype(np.uint8), _square(3)) > 0
            lenient = _LENIENT if (part & self._open).any() else 1.0
            here = self._detail(now, part)
            # The remembered face may show a red cup that is gone; a mean face never does.
            if all(gone(here, face, inner, lenient) for face in (past, self._mean)):
                hides |= part
                strong = structure(here, past, inner)[2]
                if strong < _PLAIN * lenient and (part & self._rim).sum() >= _LEAST_RIM:
                    plain |= part
        return hides, plain

    def _soft(self, shown: Flags, width: float) -> Pixels:
        """Weights (h, w) that rise inside the safety rim of what is shown. Nothing is known beyond the mesh, so there
        is no rim there."""
        if not shown.any():
            return np.zeros(shown.shape, np.float32)
        if shown[self._lips].mean() > _MOUTH_SHARE:
            shown = shown | self._mouth
        covered = (self._inside | self._mouth) & ~shown
        distance = cv2.distanceTransform((~covered).astype(np.uint8), cv2.DIST_L2, 5)
        rim = _RIM + _RIM_IMAGE * self._table.size[0] / width
        rising = np.clip((distance - rim) / _SOFT, 0, 1)
        weights = np.where(shown, rising, 0).astype(np.float32)
        # Beyond the mesh the same as at its rim, so that sampling there does not meet an empty pixel.
        return np.where(self._inside | self._mouth, weights, cv2.dilate(weights, _square(5)))

    def _detail(self, level: Pixels, where: Flags) -> Pixels:
        """Detail (h, w) of a log luma (f,) in some places only: values beside these places do not count as their
        detail."""
        weights = where.astype(np.float32)
        picture = self._picture(level) * weights
        fine, coarse = (_blur(picture, s) / (_blur(weights, s) + np.float32(1e-3)) for s in (_FINE, _COARSE))
        return np.where(where, fine - coarse, np.float32(0))

    def _picture(self, values: NDArray[np.generic]) -> Pixels:
        return spread(np.asarray(values, np.float32)[:, None], self._table)[:, :, 0]


def gone(now: Pixels, face: Pixels, where: Flags, lenient: float = 1.0) -> bool:
    """Whether the detail (h, w) that a face has in some places is missing there now."""
    kept, alike, strong, missed = structure(now, face, where)
    chance = (_ALIKE_FLAT if strong < _FLAT else _ALIKE) * lenient
    return missed >= _STRUCTURE and kept < _KEPT * lenient and alike < chance


def structure(now: Pixels, past: Pixels, where: Flags) -> tuple[float, float, float, float]:
    """Compares two details (h, w) in some places: the largest slope of the present one on the past one and their
    largest correlation, over shifts of the mesh; the strength of the present one as a share of the past one's; and the
    sum of the past one's squares, its mean taken off."""
    rows, columns = np.nonzero(where)
    if len(rows) < 20:
        return 1.0, 1.0, 1.0, 0.0
    here = now[rows, columns]
    here = here - here.mean()
    kept = alike = -1.0
    own = past[rows, columns]
    missed = float(((own - own.mean()) ** 2).sum())
    total = float((here**2).sum())
    framed = np.pad(past, _SHIFT, mode="edge")
    for dy in range(2 * _SHIFT + 1):
        for dx in range(2 * _SHIFT + 1):
            there = framed[rows + dy, columns + dx]
            there = there - there.mean()
            both, energy = float((here * there).sum()), float((there**2).sum()) + 1e-6
            kept = max(kept, both / energy)
            alike = max(alike, both / np.sqrt(energy * (total + 1e-6)))
    return kept, alike, float(np.sqrt(total / max(missed, 1e-6))), missed


def _square(side: int) -> NDArray[np.uint8]:
    return np.ones((side, side), np.uint8)


def _blur(picture: Pixels, sigma: float) -> Pixels:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT), np.float32)
