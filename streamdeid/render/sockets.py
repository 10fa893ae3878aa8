"""Eye sockets in hard light: under a lamp or the sun they are darker than in a studio's soft light.

A face whose eyes lie as flat as in a studio looks pasted on. One number of a person at rest is used: how much darker
the skin about the eyes is than it would be rendered, as a share of the darkness of any face's sockets in the studio.
Most of it comes from the lamp, but people also differ by the depth and tone of their lids and by paint. So only the
part above that of nine tenths of people in an even light counts. Any face's sockets are darkened by this part
(docs/methods.md 6.3).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from streamdeid.aam.masked_blur import FLOOR, masked_blur
from streamdeid.aam.piecewise_affine import WarpTable, spread
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA

_WIDE = 0.2
"""Blur beyond which the studio's shading does not belong to a socket, as a share of the frame's width."""
_BORDER = 0.05
"""Blur of the border of the sockets, share of the width."""
_BESIDE = 0.03
"""Blur of brows and eyes beside which lids count less, share of the width: broad brows and lashes are no shade."""
_SOFT = 0.05
"""Blur in which a person's sockets are measured, share of the width: a line of paint counts little."""
_USUAL = 0.7
"""Share that nine tenths of people do not exceed in an even light, from 200 rendered people of the model in the
studio's."""
_DEEPEST = 0.8
"""Largest rendered share of what is beyond. Of 60 faces in clips those in even light have shares of 0 to .9, those
under lamps of a stage, a set or a carriage 1 to 3.7, and two with paint on their lids 1.7 and 2.5. Darkened by 1.5,
anybody's sockets look painted."""


@dataclass(frozen=True)
class Sockets:
    """What is constant in darkening sockets, in the small frame. f pixels lie inside the mesh."""

    studio: Pixels
    """float32 (h, w): how much darker than the skin about them the sockets of any face are in the studio, natural log,
    0 or less."""
    _lids: Points
    """float64 (f,): skin about eyes, away from brows and lashes, 0 to 1."""
    _table: WarpTable

    @classmethod
    def of(cls, table: WarpTable, zones: Zones, shading: Pixels) -> Sockets:
        """The constant parts for a small frame's table and zones.

        shading: the studio's, float32 (h, w), natural log.
        """
        level, width = shading[:, :, None], table.size[0]
        darker = np.minimum(level - masked_blur(level, zones.bare, (_WIDE,)), 0)[:, :, 0]
        about = np.minimum(zones.lids + zones.eyes + zones.brows, 1)
        studio = np.asarray(cv2.GaussianBlur(about, (0, 0), _BORDER * width) * darker, np.float32)
        beside = cv2.GaussianBlur(np.maximum(zones.eyes, zones.brows), (0, 0), _BESIDE * width)
        lids = zones.lids * np.clip(1 - 2 * beside, 0, 1)
        return cls(studio, lids[table.rows, table.columns].astype(np.float64), table)

    def darker(self, person: Pixels, rendered: Pixels, well: Points) -> float:
        """The share of the studio's darkness, 0 to .8, by which the sockets of a small texture are to be darkened.

        person (f, 3): the person's small texture, which the sockets are to be like. rendered (f, 3): the texture as it
        would be rendered. well (f,): how well the person's places were seen, 0 to 1; where sockets were hardly seen,
        they are darkened less.
        """
        share, evidence = self.share(person, rendered, well)
        return float(np.clip(evidence * (share - _USUAL), 0, _DEEPEST))

    def share(self, person: Pixels, rendered: Pixels, well: Points) -> tuple[float, float]:
        """How much darker a person's sockets are, as a share of the studio's, and the share of them that was seen."""
        at = self._table.rows, self._table.columns
        lids = self._lids * well
        lighter = np.log((person @ LUMA + FLOOR) / (rendered @ LUMA + FLOOR))
        both = spread(np.column_stack([lighter, self.studio[at]]).astype(np.float32), self._table)
        mask = spread(lids[:, None].astype(np.float32), self._table)[:, :, 0]
        soft = masked_blur(both, mask, (_SOFT,))[at].astype(np.float64)
        counted = lids * -np.minimum(soft[:, 1], 0)
        where = counted > 0
        if not where.any():
            return 0.0, 0.0
        # The share with the least mean distance: a median of shares, weighted by how dark the studio is there.
        shares = soft[where, 0] / soft[where, 1]
        order = np.argsort(shares)
        below = np.cumsum(counted[where][order])
        seen = float(lids.sum() / max(float(self._lids.sum()), 1e-9))
        return float(shares[order[np.searchsorted(below, below[-1] / 2)]]), seen
