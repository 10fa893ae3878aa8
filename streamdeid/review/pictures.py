"""Pictures for the desk: a frame as it will be published, with the effect of the edits laid over the earlier output.

The picture is a preview: `filter --edits` renders the redactions themselves. A place that is to be visible shows the
recording's pixels. A place that is to be redacted is filled with one colour; where both meet, the colour wins. A
snapshot also redacts all that edits left visible, in the output too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.applied import FrameEdits
from streamdeid.core.arrays import Box
from streamdeid.core.frames import MOST_PIXELS, Planes
from streamdeid.errors import InputError
from streamdeid.review.recorded import Recorded
from streamdeid.service.preview import planes_as_jpeg
from streamdeid.video.files.seeking import SeekingSource, halves

_QUALITY = 85
_WIDEST = 1280
"""Width in pixels to which pictures on the page are reduced."""
_FOLLOWED = 16 << 20
"""Bytes of pictures that are kept while a box is followed from frame to frame."""
_FILL = 64, 128, 128
"""Luma and chroma that fill a place that is to be redacted."""
_THUMBNAIL = 112
"""Pixels of a thumbnail's sides."""
_AROUND = 0.25
"""Share of a redaction's sides that a thumbnail shows around it."""


class Pictures:
    """Frames of a recording and of its output as JPEG. Several threads may use it."""

    def __init__(
        self,
        recording: Path,
        output: Path,
        times: Sequence[float] | NDArray[np.float64],
        size: tuple[int, int] | None = None,
        *,
        most_pixels: float = MOST_PIXELS,
    ) -> None:
        """times: those of the recording's frames, seconds. size: (width, height) of the pictures that were analysed, in
        whose pixels all boxes are; None: the stored size. most_pixels: as for `FileSource`. Raises InputError for
        files that do not fit together."""
        self._recording = SeekingSource(recording, times, size=size, most_pixels=most_pixels)
        self._output = SeekingSource(output, times, size=size, most_pixels=most_pixels)
        if halves(self._recording.info.stored_size) != halves(self._output.info.stored_size):
            raise InputError(f"{output} was not made of {recording}: its pictures have another size")

    def prepare(self) -> None:
        """List the packets of both files before their first pictures are asked for."""
        self._output.prepare()
        self._recording.prepare()

    def published(self, frame: int, recorded: Recorded, now: FrameEdits, rendered: FrameEdits) -> bytes:
        """JPEG of a frame as it will be published.

        now: the effect of the edits on it. rendered: the effect of those edits that the output holds."""
        planes = self._output.frame(frame)
        opened, covered = _changes(frame, recorded, now, rendered)
        if opened or covered:
            planes = planes.copy()
            if opened:
                original = self._recording.frame(frame)
                for box in opened:
                    _copy(original, planes, box)
                # Redactions that stay are copied last.
                published = self._output.frame(frame)
                for box in _staying(frame, recorded, now):
                    _copy(published, planes, box)
            for box in covered:
                _fill(planes, box)
        return planes_as_jpeg(planes, _WIDEST, _QUALITY)

    def snapshot(self, frame: int, recorded: Recorded, now: FrameEdits, rendered: FrameEdits) -> bytes:
        """JPEG of a frame of the output at full size, without anything that edits made visible.

        Places that are to be redacted are filled, and so are those that earlier edits left visible in the output. So it
        shows nothing of the recording that the filter itself would not have shown."""
        planes = self._output.frame(frame).copy()
        for box in _changes(frame, recorded, now, rendered)[1]:
            _fill(planes, box)
        for track, box in _boxes(frame, recorded):
            if track in rendered.open:
                _fill(planes, box)
        return planes_as_jpeg(planes)

    def original(self, frame: int) -> bytes:
        """JPEG of a frame of the recording; it must not be stored anywhere."""
        return planes_as_jpeg(self._recording.frame(frame), _WIDEST, _QUALITY)

    def to_follow(self) -> SeekingSource:
        """Another source of the recording, for following a box in it while pictures are shown; the caller closes it."""
        return self._recording.beside(_FOLLOWED)

    def thumbnail(self, frame: int, box: Box) -> bytes:
        """JPEG of the output around a redaction's box in a frame."""
        planes = self._output.frame(frame)
        width, height = planes.size
        side = max(box[2] - box[0], box[3] - box[1]) * (0.5 + _AROUND)
        x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        x0, y0, x1, y1 = _even((x - side, y - side, x + side, y + side), width, height)
        if x1 <= x0 or y1 <= y0:
            x0, y0, x1, y1 = 0, 0, width, height
        cut = Planes(
            planes.y[y0:y1, x0:x1],
            planes.u[y0 // 2 : (y1 + 1) // 2, x0 // 2 : (x1 + 1) // 2],
            planes.v[y0 // 2 : (y1 + 1) // 2, x0 // 2 : (x1 + 1) // 2],
            planes.colour,
        )
        return planes_as_jpeg(cut, _THUMBNAIL, _QUALITY)

    def forget_recording(self) -> None:
        """Drop all pictures of the recording from memory."""
        self._recording.forget()

    def close(self) -> None:
        """Close both files."""
        self._recording.close()
        self._output.close()


def _changes(frame: int, recorded: Recorded, now: FrameEdits, rendered: FrameEdits) -> tuple[list[Box], list[Box]]:
    """Boxes that the edits make visible, and boxes that they redact, compared with the output."""
    # Open the places and regions by hand that the output holds and the edits no longer have.
    stays = {*now.places, *((0, box) for box in now.regions)}
    before = (*rendered.places, *((0, box) for box in rendered.regions))
    opened: list[Box] = [_around(one[1]) for one in before if one not in stays]
    covered: list[Box] = [*(box for _, box in now.places), *now.regions]
    for track, box in _boxes(frame, recorded):
        if track in now.open:
            opened.append(box)
        elif track in rendered.open:  # the output leaves it visible, and it is to be redacted again
            covered.append(box)
    return opened, covered


def _around(box: Box) -> Box:
    """A place drawn by hand, enlarged to all that its redaction may reach: a head is larger than its face."""
    dx, dy = box[2] - box[0], box[3] - box[1]
    return box[0] - dx, box[1] - dy, box[2] + dx, box[3] + dy


def _boxes(frame: int, recorded: Recorded) -> list[tuple[int, Box]]:
    """The boxes that were changed in a frame, each with its track."""
    rows = recorded.places.rows(frame)
    tracks, boxes = recorded.places.track[rows].tolist(), recorded.box[rows].tolist()
    return [(track, (x0, y0, x1, y1)) for track, (x0, y0, x1, y1) in zip(tracks, boxes, strict=True) if track]


def _staying(frame: int, recorded: Recorded, now: FrameEdits) -> list[Box]:
    rows = recorded.places.rows(frame)
    kept = zip(recorded.places.track[rows].tolist(), recorded.places.extent[rows].tolist(), strict=True)
    return [(x0, y0, x1, y1) for track, (x0, y0, x1, y1) in kept if track not in now.open]


def _even(box: Box, width: int, height: int) -> tuple[int, int, int, int]:
    """A box enlarged to whole pixels at even coordinates and cut to the picture."""
    x0, y0 = (max(math.floor(value) // 2 * 2, 0) for value in box[:2])
    x1, y1 = (-(-math.ceil(value) // 2) * 2 for value in box[2:])
    return x0, y0, min(x1, width), min(y1, height)


def _copy(source: Planes, target: Planes, box: Box) -> None:
    width, height = (min(a, b) for a, b in zip(source.size, target.size, strict=True))
    x0, y0, x1, y1 = _even(box, width, height)
    if x1 > x0 and y1 > y0:
        target.y[y0:y1, x0:x1] = source.y[y0:y1, x0:x1]
        halves = np.s_[y0 // 2 : (y1 + 1) // 2, x0 // 2 : (x1 + 1) // 2]
        target.u[halves] = source.u[halves]
        target.v[halves] = source.v[halves]


def _fill(target: Planes, box: Box) -> None:
    x0, y0, x1, y1 = _even(box, *target.size)
    if x1 > x0 and y1 > y0:
        target.y[y0:y1, x0:x1] = _FILL[0]
        halves = np.s_[y0 // 2 : (y1 + 1) // 2, x0 // 2 : (x1 + 1) // 2]
        target.u[halves] = _FILL[1]
        target.v[halves] = _FILL[2]
