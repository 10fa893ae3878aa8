"""Masks over mouth and nose: cloth is found in a small texture, and the same cloth is rendered on a surrogate.

Light, tint and lips that are read from cloth make new faces white or blue from the nose down. The skin of one face has
one hue. So a place is not skin if it has lost half of its red against the skin beside nose and eyes and is not much
darker; in a picture without colours, if it is much brighter. Black cloth cannot be told from a beard, which counts
little anyway. Where most of the lower face is cloth, the lower face and the cloth above it tell nothing of the light
(`bare`). Where the cheeks and the nose are cloth, too, a mask of the same colour is rendered, as glasses are
(methods.md 7.6). It continues the part of the real mask that lies beyond the face, and a mouth is not shown speaking
that was not seen.

Of the person pass how sure it is that there is a mask, and its colour, in running means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.masked_blur import FLOOR
from streamdeid.aam.piecewise_affine import WarpTable, spread
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Flags, Pixels, Points
from streamdeid.core.colour import LUMA, yuv_from_rgb
from streamdeid.core.frames import Colour
from streamdeid.render.worn import HALF_SEEN, RED, Worn, middle, ranked, rise

_RED = 0.5
"""Largest redness of cloth, as a share of the redness of skin."""
_DARKER, _BRIGHTER = 0.78, 1.35
"""Brightness over that of skin: above the first, cold cloth is not a shadow or a beard; above the second, a place is
cloth in a picture without colours. There a lamp from below may look the same, so no mask is rendered."""
_MUCH, _REDLESS = 3.0, 0.03
"""Brightness over that of skin above which cloth must have less red than the second value. Skin beside red sunglasses,
which are taken for skin, is four times as bright and less red, but still red; white cloth beside dark skin is not. In a
picture without colours such a place is skin beside dark glasses."""
_FEWEST = 30
"""Fewest pixels of skin from which anything is told."""
_BELOW = 0.4, 0.6
"""Share of the lower face that is cloth: above the first it counts less, and above the second it tells nothing. Of
1,375 bare faces of 31 clips 2.1 % have more than .6, nearly all of them bowed heads of less than 20 pixels in
cctv_classroom; of 1,235 on which white or blue masks were painted 78 %, and 95 % without crowd_1080p, whose skin has
hardly any colour left."""
_LESS_BELOW, _BESIDE = (0.5, 0.7), (0.4, 0.6)
"""The same for a mask to be rendered, of the lower face and of nose and cheeks. A white beard leaves the nose and most
of the cheeks free."""
_SPILLS = 2
"""Pixels of the small frame by which cloth counts as larger than its colour shows."""
_SHADED = 0.6
"""Share of the light's differences on the face that cloth shows."""
_TAUT = 0.08
"""Blur of these differences, share of the width: cloth lies over the hollows beside a nose."""
_DEEPEST = 0.35
"""Bound of these differences, natural log."""
_PLEAT, _EDGE = 0.035, 0.06
"""How much darker the pleats and the upper edge of a mask are, natural log."""
_PLEATS = 0.3, 0.5, 0.7
"""Places of the pleats, as shares of the way from the upper edge to the chin."""
_WHITEST = 245.0


@dataclass(frozen=True)
class Cloth:
    """The mask that one small texture shows."""

    below: float
    """Share of the seen part of the lower face that is cloth."""
    beside: float
    """The same of nose and cheeks; 0 in a picture without colours."""
    colour: Points
    """float64 (3,): median RGB of the cloth on the lower face."""
    pixels: Flags
    """bool (f,): where the cloth is; of any length if there is none."""


NO_CLOTH = Cloth(0.0, 0.0, np.zeros(3), np.zeros(0, bool))
"""The value if no mask is seen."""


@dataclass(frozen=True)
class FaceCovering:
    """The regions of a face in which a mask is looked for, and the mask to render; f pixels lie inside the mesh."""

    _about: Flags
    """bool (f,): plain skin beside nose and eyes."""
    _above: Flags
    """bool (f,): plain skin of the forehead."""
    _beside: Flags
    """bool (f,): plain skin of the nose and of the cheeks beside it, above the lower face."""
    _below: Flags
    """bool (f,): plain skin of the lower face."""
    _under: Flags
    """bool (f,): all that lies below the eyes."""
    _lower: Flags
    """bool (f,): all of the lower face, including lips and nostrils."""
    _mask: Pixels
    """float32 (h, w) in the model's frame: a mask with a soft edge."""
    _relief: Pixels
    """float32 (h, w): the pleats of the mask, natural log."""
    _table: WarpTable | None
    """None if only some of the pixels are held."""

    @classmethod
    def of(cls, fitting: FitModel, zones: Zones) -> FaceCovering:
        """The regions for a model's fit. zones: of its small frame."""
        table, model = fitting.table, fitting.model
        at = table.rows, table.columns
        points = model.mean_shape * fitting.scale
        skin, lower = zones.skin[at] > 0.5, zones.lower[at]
        upper = skin & (lower == 0)
        brows, tip = points[17:27, 1], (points[29, 1] + points[30, 1]) / 2
        away = np.abs(table.columns - points[27, 0]) / float(np.ptp(points[:17, 0]))
        beside = skin & (table.rows > tip) & (table.rows < points[33, 1])
        mask, relief = _drawn(model.mean_shape, model.frame_size)
        return cls(
            upper & (table.rows > brows.mean()) & (table.rows < points[29, 1]),
            upper & (table.rows < brows.min()),
            beside & ((away < 0.12) | ((away > 0.2) & (away < 0.4))),
            skin & (lower > 0.99),
            table.rows > points[[40, 41, 46, 47], 1].max(),
            lower > 0,
            mask,
            relief,
            table,
        )

    def at(self, places: NDArray[np.intp]) -> FaceCovering:
        """The same regions for some of the pixels (n,) only."""
        return replace(
            self,
            _about=self._about[places],
            _above=self._above[places],
            _beside=self._beside[places],
            _below=self._below[places],
            _under=self._under[places],
            _lower=self._lower[places],
            _table=None,
        )

    def seen(self, texture: Pixels, well: Points, coloured: bool = False) -> Cloth:
        """The mask that a small texture (f, 3) shows.

        well (f,): how well each place is seen, 0 to 1. coloured: find no mask in a picture without colours.
        """
        about = self._about & (well > HALF_SEEN)
        if np.count_nonzero(about) < _FEWEST:
            return NO_CLOTH
        level = texture @ LUMA + FLOOR
        red = (texture[:, 0] + FLOOR) / (texture.sum(axis=1) + 3 * FLOOR) - np.float32(1 / 3)
        skin, reddest = ranked(level[about]), ranked(red[about])
        if hueless := reddest < RED:
            if coloured:
                return NO_CLOTH
            # Skin behind dark glasses is darker than the forehead.
            brightest = max(skin, middle(level, self._above & (well > HALF_SEEN), _FEWEST))
            pixels = (level > _BRIGHTER * brightest) & (level <= _MUCH * skin)
        else:
            much = level > _MUCH * skin
            pixels = (red < _RED * reddest) & (level > _DARKER * skin) & (~much | (red < _REDLESS))
        below, beside = (
            float(pixels[where] @ well[where]) / max(float(well[where].sum()), 1.0)
            for where in (self._below, self._beside)
        )
        seen = self._below & pixels & (well > HALF_SEEN)
        if below <= _BELOW[0] or not seen.any():
            return Cloth(below, beside, NO_CLOTH.colour, pixels)
        colour = np.median(texture[seen], axis=0).astype(np.float64)
        return Cloth(below, 0.0 if hueless else beside, colour, pixels)

    def bare(self, cloth: Cloth) -> Points:
        """How far each place (f,) is free of cloth, 0 to 1."""
        covered = rise(cloth.below, _BELOW)
        if covered <= 0:
            return np.ones(len(self._about))
        if self._table is None:
            return np.where(self._lower | (cloth.pixels & self._under), 1 - covered, 1.0)
        shown = spread((cloth.pixels & self._under)[:, None].astype(np.float32), self._table)[:, :, 0]
        reach = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * _SPILLS + 1, 2 * _SPILLS + 1))
        near = cv2.dilate(shown, reach)[self._table.rows, self._table.columns] > 0
        return np.where(self._lower | near, 1 - covered, 1.0)

    def told(self, cloth: Cloth) -> float:
        """How sure it is that the cloth is a mask, 0 to 1."""
        return min(rise(cloth.below, _LESS_BELOW), rise(cloth.beside, _BESIDE))

    def laid(self, texture: Pixels, worn: Worn, field: Pixels, colour: Colour) -> Pixels:
        """A lit YUV texture (h, w, 3) in the model's frame with a mask before it.

        field (gh, gw, c): the light on it, natural log of the gain.
        """
        share = worn.shown
        if worn.colour is None or share <= 0:
            return texture
        height, width = texture.shape[:2]
        mask, relief = (cv2.resize(part, (width, height)) for part in (self._mask, self._relief))
        level = np.asarray(field @ LUMA if field.shape[2] == 3 else field[:, :, 0], np.float32)
        where = cv2.resize(self._mask, level.shape[1::-1]) > 0.5
        soft = cv2.GaussianBlur(level, (0, 0), _TAUT * level.shape[1])
        shade = np.clip(_SHADED * (soft - np.median(soft[where])), -_DEEPEST, _DEEPEST).astype(np.float32)
        gain = np.exp(cv2.resize(shade, (width, height)) + relief)[:, :, None]
        matrix, offset = yuv_from_rgb(colour)
        cloth = np.minimum(worn.colour.astype(np.float32) * gain, _WHITEST) @ matrix.T.astype(np.float32) + offset
        return np.asarray(texture + np.float32(share) * mask[:, :, None] * (cloth - texture), np.float32)


def _drawn(shape: Points, size: tuple[int, int]) -> tuple[Pixels, Pixels]:
    """A mask and its relief (h, w) on a mean shape (81, 2) in the model's frame of this size."""
    width, height = size
    left, right = shape[[2, 14]]
    top = shape[28] + 0.3 * (shape[29] - shape[28])
    across = np.linspace(0, 1, 9)[:, None]
    # The upper edge rises from the cheeks to the bridge of the nose.
    halves = [side + (top - side) * np.column_stack([across, np.sin(across * np.pi / 2)]) for side in (left, right)]
    edge = np.concatenate([halves[0], halves[1][::-1][1:]])
    outward = shape[8] + 1.25 * (shape[2:15] - shape[8]) + (0, 0.2 * width)
    ring = np.concatenate([edge, outward[::-1]])
    hard = np.zeros((height, width), np.uint8)
    cv2.fillPoly(hard, [np.round(ring * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    mask = cv2.GaussianBlur(hard.astype(np.float32) / 255, (0, 0), 0.006 * width)
    columns = np.arange(width, dtype=np.float64)
    begins = np.interp(columns, edge[:, 0], edge[:, 1])[None]
    rows = np.arange(height, dtype=np.float64)[:, None]
    along = (rows - begins) / np.maximum(shape[8, 1] - begins, 1)
    pleats = sum(np.exp(-np.square((along - each) / 0.035)) for each in _PLEATS)
    seam = np.exp(-np.square((rows - begins - 0.02 * width) / (0.012 * width)))
    return np.asarray(mask, np.float32), np.asarray(-_PLEAT * pleats - _EDGE * seam, np.float32)
