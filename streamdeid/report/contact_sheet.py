"""Contact sheets: rows of faces that are cut out of frames; the faces in one column are of one time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from streamdeid.core.arrays import Box, Picture
from streamdeid.core.atomic_file import check_paths, write_whole
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.errors import SettingsError

_PAPER = 24
"""Grey level of the sheet."""
_INK = (210, 210, 210)
_GAP = 4
_LABEL = 18
"""Height of a line of text in pixels."""
_FORMATS = (".png", ".jpg", ".jpeg")


def crop(planes: Planes, box: Box, side: int, margin: float = 0.35) -> Picture:
    """The square around a face's box grown by `margin` of its size on each side, as RGB uint8 (side, side, 3).

    Where the square reaches beyond the picture, the picture's border is repeated.
    """
    width, height = planes.size
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    reach = max(box[2] - box[0], box[3] - box[1]) * (0.5 + margin)
    x0, y0 = (int(np.clip(v - reach, 0, limit - 2)) & ~1 for v, limit in ((x, width), (y, height)))
    x1, y1 = (int(np.clip(v + reach, o + 2, limit)) for v, o, limit in ((x, x0, width), (y, y0, height)))
    rgb = rectangle_to_rgb(planes, x0, y0, x1, y1)
    before, after = (max(0, round(v)) for v in (x0 - (x - reach), x + reach - x1))
    above, below = (max(0, round(v)) for v in (y0 - (y - reach), y + reach - y1))
    whole = cv2.copyMakeBorder(rgb, above, below, before, after, cv2.BORDER_REPLICATE)
    shrinks = whole.shape[0] > side
    return np.asarray(
        cv2.resize(whole, (side, side), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC), np.uint8
    )


def contact_sheet(rows: Sequence[Sequence[Picture]], labels: Sequence[str] = ()) -> Picture:
    """One picture of rows of equally large pictures (h, w, 3); labels stand below the columns."""
    height, width = rows[0][0].shape[:2]
    columns = max(len(row) for row in rows)
    size = len(rows) * (height + _GAP) + _GAP + (_LABEL if labels else 0), columns * (width + _GAP) + _GAP
    sheet = np.full((*size, 3), _PAPER, np.uint8)
    for r, row in enumerate(rows):
        for c, picture in enumerate(row):
            y, x = _GAP + r * (height + _GAP), _GAP + c * (width + _GAP)
            sheet[y : y + height, x : x + width] = picture
    for c, label in enumerate(labels):
        place = _GAP + c * (width + _GAP), size[0] - _GAP - 3
        cv2.putText(sheet, label, place, cv2.FONT_HERSHEY_SIMPLEX, 0.4, _INK, 1, cv2.LINE_AA)
    return sheet


def check_sheet_path(path: Path, *, overwrite: bool) -> None:
    """Raise SettingsError for a name that is no picture's or is taken, OutputError when its directory is missing."""
    if path.suffix.lower() not in _FORMATS:
        raise SettingsError(f"a sheet is a {', '.join(_FORMATS[:-1])} file, not {path.name}")
    check_paths(path, None, overwrite)


def write_sheet(path: Path, sheet: Picture, *, overwrite: bool, mode: int = 0o666) -> None:
    """Write an RGB sheet (h, w, 3), whole or not at all. mode: the most permissions that the file may get.

    Raises OutputError, and SettingsError for a file that exists and may not be replaced.
    """
    _, data = cv2.imencode(path.suffix, cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))
    write_whole(path, data.tobytes(), overwrite=overwrite, mode=mode)
