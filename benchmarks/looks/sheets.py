"""Contact sheets of a clip through the filter: faces at twice their size, original above, result below.

Part of `looks --sheets DIR`; they show real people: keep them private.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from streamdeid.core.arrays import Box, Picture
from streamdeid.core.frames import Planes
from streamdeid.report.contact_sheet import contact_sheet, crop, write_sheet

COLUMNS, PEOPLE = 5, 3
"""Frames of a person, and people of a clip: the largest."""
_MARGIN = 0.35
_ZOOM = 2.0
_LEAST, _MOST = 160, 400
"""Sides of a picture on the sheet, pixels: very large faces are shown at less than twice their size."""


@dataclass(frozen=True)
class _Look:
    index: int
    level: str
    before: Picture
    after: Picture
    side: float
    """The face's larger side in the clip, pixels."""


@dataclass
class Sheet:
    """Pictures of a clip's people."""

    _people: defaultdict[int, list[_Look]] = field(default_factory=lambda: defaultdict(list))

    def note(self, index: int, person: int, level: str, box: Box, planes: tuple[Planes, Planes]) -> None:
        """Take in a face of a frame; person: any number that is one person's; planes: before and after the filter."""
        side = max(box[2] - box[0], box[3] - box[1])
        own = min(_MOST, max(16, round((1 + 2 * _MARGIN) * side)))
        before, after = (crop(picture, box, own, _MARGIN) for picture in planes)
        self._people[person].append(_Look(index, level, before, after, side))

    def write(self, path: Path) -> bool:
        """Write the sheet as a picture; False when nobody was seen. Raises OutputError."""
        largest = sorted(self._people.values(), key=lambda looks: -sum(look.side**2 for look in looks))[:PEOPLE]
        if not largest:
            return False
        parts = [_part(looks) for looks in largest]
        width = max(part.shape[1] for part in parts)
        write_sheet(
            path,
            np.vstack([np.pad(part, ((0, 0), (0, width - part.shape[1]), (0, 0))) for part in parts]),
            overwrite=True,
        )
        return True


def _part(looks: list[_Look]) -> Picture:
    """Two rows of one person's pictures, evenly over the frames in which it was seen."""
    chosen = [looks[i] for i in sorted(set(np.linspace(0, len(looks) - 1, COLUMNS).round().astype(int)))]
    natural = max(look.side for look in chosen) * (1 + 2 * _MARGIN)
    side = int(np.clip(_ZOOM * natural, _LEAST, _MOST))
    rows = [
        [_sized(picture, side) for picture in row] for row in zip(*((p.before, p.after) for p in chosen), strict=True)
    ]
    return contact_sheet(rows, [f"{look.index}: {look.level}, {look.side:.0f} px" for look in chosen])


def _sized(picture: Picture, side: int) -> Picture:
    how = cv2.INTER_AREA if side < picture.shape[0] else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(picture, (side, side), interpolation=how), np.uint8)
