"""Eye sockets in hard light: under a lamp or the sun they are darker than in a studio's soft light.

A face whose eyes lie as flat as in a studio looks pasted on. One number is taken of a person at rest: by how much the
skin about the eyes is darker than it would be drawn, as a share of what any face's sockets are in the studio. By so
much those are darkened. What shape the person's have is not asked (docs/methods.md 6.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.masked_blur import FLOOR, MaskedBlur, masked_blur
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA

_WIDE = 0.2
"""Blur beyond which the studio's shading is no socket's, share of the frame's width."""
_BORDER = 0.05
"""Blur of the border of the sockets, share of the width."""
_SOFT = 0.05
"""Blur in which a person's are seen, share of the width: lines of paint and lashes are no shade."""
_DEEPEST = 0.8
"""The most that is drawn of the share. Of 53 people in clips those in even light have 0 to .8, those under lamps of a
stage, a set or a carriage 1 to 3.5, and with paint on their lids 2; at 1.5 the sockets of everybody look painted."""


@dataclass(frozen=True)
class Sockets:
    """What is constant in darkening them, in the small frame. f pixels lie inside the mesh."""

    studio: Pixels
    """float32 (h, w): how much darker than the skin about them any face's are in the studio, natural log, 0 or less."""
    _counted: Points
    """float64 (f,): what each pixel counts: skin about eyes, the more the darker it is in the studio."""
    _at: tuple[NDArray[np.int32], NDArray[np.int32]]
    _blur: MaskedBlur
    _soft: Points
    """float64 (f,): the studio's, blurred as the person's are."""

    @classmethod
    def of(cls, fitting: FitModel, shading: Pixels) -> Sockets:
        """Of a model, and of the studio's shading float32 (h, w) in its small frame, natural log."""
        table = fitting.table
        zones = Zones.of(fitting.model.mean_shape, fitting.model.frame_size[0], table.size)
        level = shading[:, :, None]
        darker = np.minimum(level - masked_blur(level, zones.bare, (_WIDE,)), 0)[:, :, 0]
        about = np.minimum(zones.lids + zones.eyes + zones.brows, 1)
        studio = np.asarray(cv2.GaussianBlur(about, (0, 0), _BORDER * table.size[0]) * darker, np.float32)
        at, blur = (table.rows, table.columns), MaskedBlur(zones.lids, (_SOFT,))
        soft = np.minimum(blur(studio[:, :, None])[:, :, 0][at], -1e-6).astype(np.float64)
        return cls(studio, -zones.lids[at] * soft, at, blur, soft)

    def darker(self, person: Pixels, drawn: Pixels, well: Points) -> float:
        """By what share of the studio's, 0 and more, the sockets of a small texture as it would be drawn (f, 3) are to
        be darkened to be like a person's (f, 3). well (f,): how well the person's places were seen, 0 to 1."""
        counted = self._counted * well
        where = counted > 0
        if not where.any():
            return 0.0
        lighter = np.zeros((*self.studio.shape, 1), np.float32)
        lighter[(*self._at, 0)] = np.log((person @ LUMA + FLOOR) / (drawn @ LUMA + FLOOR))
        # The share with the least mean distance: a median of shares, by how dark the studio is there.
        shares = self._blur(lighter)[:, :, 0][self._at][where] / self._soft[where]
        order = np.argsort(shares)
        below = np.cumsum(counted[where][order])
        return float(np.clip(shares[order[np.searchsorted(below, below[-1] / 2)]], 0, _DEEPEST))
