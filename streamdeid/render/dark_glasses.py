"""Dark glasses: found in a small texture, kept out of the light, and rendered in their colour (methods.md 7.3).

If they were not found, a new face would have open eyes that nobody saw, and light, lids and brows would be read from
lenses. With dark glasses all that lies about either eye is less than half as bright as the cheeks. Of 1,029 photographs
of LFPW this holds for the 13 of people who wear opaque dark glasses, and for no other one. Of the person pass the fact
that dark glasses are worn, and one colour.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.masked_blur import FLOOR
from streamdeid.aam.piecewise_affine import WarpTable, spread
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Flags, Pixels, Points
from streamdeid.core.colour import LUMA
from streamdeid.core.ibug68 import LEFT_EYE, RIGHT_EYE
from streamdeid.render.worn import HALF_SEEN, RED, middle, ranked, rise

_HALF_AXES = 0.75, 0.55
"""Half axes of the ellipse about an eye, in widths of the eye: lids and whites lie in it, brows do not."""
_BRIGHT = 0.8
"""Quantile of the brightness in that ellipse that counts: in an eye without glasses it is the brightness of the
lids."""
_FEWEST = 20
"""Number of pixels that must be seen for a region to count, if all pixels are looked at."""
_DARK = 0.55, 0.46
"""Brightness about the brighter eye over that of the cheeks: below the first value glasses may be dark, below the
second they are. People who wear dark glasses have .11 to .44 in LFPW; of the others the darkest has .52, then .59 and
.67."""
_LENS = 0.6
"""Brightness over that of the cheeks up to which a place beside the eyes belongs to the glasses, if they are dark."""
_SPILLS = 1
"""Pixels of the small frame by which the glasses count as larger."""


@dataclass(frozen=True)
class Lenses:
    """What one small texture shows of dark glasses."""

    told: float
    """How sure it is that dark glasses are worn, 0 to 1."""
    colour: Points
    """float64 (3,): median RGB about the eyes."""
    pixels: Flags
    """bool (f,): where the dark glasses are; of any length if there are none."""


NO_LENSES = Lenses(0.0, np.zeros(3), np.zeros(0, bool))
"""The value if no dark glasses are seen."""


@dataclass(frozen=True)
class DarkGlasses:
    """The regions of a face in which dark glasses are looked for. f pixels of the small frame lie inside the mesh."""

    _eyes: tuple[Flags, Flags]
    """bool (f,): the ellipse about each eye."""
    _cheeks: Flags
    """bool (f,): plain skin between eyes and mouth."""
    _above: Flags
    """bool (f,): plain skin of the forehead."""
    _about: Flags
    """bool (f,): from the brows to the middle of the nose."""
    _table: WarpTable | None
    """None if only some of the pixels are held."""
    _fewest: int = _FEWEST

    @classmethod
    def of(cls, fitting: FitModel, zones: Zones) -> DarkGlasses:
        """The regions for a model's fit. zones: of its small frame."""
        table, points = fitting.table, fitting.model.mean_shape * fitting.scale
        rows, columns = table.rows, table.columns
        eyes = []
        for eye in (points[LEFT_EYE], points[RIGHT_EYE]):
            (x, y), width = eye.mean(axis=0), float(np.ptp(eye[:, 0]))
            away = np.square((columns - x) / (_HALF_AXES[0] * width)) + np.square((rows - y) / (_HALF_AXES[1] * width))
            eyes.append(away < 1)
        cheeks = (zones.skin[rows, columns] > 0.5) & (rows > points[30, 1]) & (rows < points[48, 1])
        above = (zones.skin[rows, columns] > 0.5) & (rows < points[17:27, 1].min())
        about = (rows > points[17:27, 1].min()) & (rows < points[30, 1])
        return cls((eyes[0], eyes[1]), cheeks, above, about, table)

    def at(self, places: NDArray[np.intp]) -> DarkGlasses:
        """The same regions for some of the pixels (n,) only."""
        left, right = (eye[places] for eye in self._eyes)
        fewest = max(1, round(_FEWEST * len(places) / len(self._about)))
        return DarkGlasses((left, right), self._cheeks[places], self._above[places], self._about[places], None, fewest)

    def seen(self, texture: Pixels, well: Points) -> Lenses:
        """The dark glasses that a small texture (f, 3) shows. well (f,): how well each place is seen, 0 to 1."""
        seen = well > HALF_SEEN
        eyes = [where for where in (eye & seen for eye in self._eyes) if np.count_nonzero(where) >= self._fewest]
        level = texture @ LUMA + FLOOR
        skin = self._skin(texture, level, seen)
        if not eyes or not skin > 0:
            return NO_LENSES
        told = rise(max(ranked(level[eye], _BRIGHT) for eye in eyes) / skin, _DARK)
        if not told > 0:
            return NO_LENSES
        colour = np.median(texture[np.any(eyes, axis=0)], axis=0).astype(np.float64)
        return Lenses(told, colour, self._about & (level < _LENS * skin))

    def _skin(self, texture: Pixels, level: Pixels, seen: Flags) -> float:
        """The brightness of the skin that lenses are compared to; 0 where none is seen.

        It is that of the cheeks. Where the cheeks are not as red as skin (below a mask or in a grey picture), it is
        that of the forehead, if that is darker.
        """
        cheeks, above = self._cheeks & seen, self._above & seen
        forehead, beside = (middle(level, where, self._fewest) for where in (above, cheeks))
        if not beside > 0:
            return forehead
        red, whole = ranked(texture[cheeks, 0]) + FLOOR, ranked(texture[cheeks].sum(axis=1)) + 3 * FLOOR
        return beside if red / whole - 1 / 3 > RED else min(beside, forehead)

    def bare(self, lenses: Lenses) -> Points:
        """How far each place (f,) is free of dark glasses, 0 to 1."""
        if lenses.told <= 0:
            return np.ones(len(self._about))
        assert self._table is not None
        dark = spread((lenses.pixels | self._eyes[0] | self._eyes[1])[:, None].astype(np.float32), self._table)[:, :, 0]
        near = cv2.dilate(dark, np.ones((2 * _SPILLS + 1, 2 * _SPILLS + 1), np.uint8))
        return np.where(near[self._table.rows, self._table.columns] > 0, 1 - lenses.told, 1.0)
