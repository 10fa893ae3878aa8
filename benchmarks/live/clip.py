"""What the camera of the live benchmarks sees: drawn people who talk, a watermark in each face, a time code.

Nobody in it ever lived. Every picture carries its own number as bright and dark squares along its upper edge, and the
negative of it below, so that the number is known of a picture however it came. Looked for with `Watermark.strongest`, a
piece of a face that got through gives itself away.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.watermark import Watermark
from streamdeid.core.arrays import Plane
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import MOUTH, OUTLINE
from streamdeid.surrogates.models import Models
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.picture_memory import picture_of

SIZE, RATE = (640, 480), 15
OTHER_SIZE = (480, 360)
"""Of a camera that comes back another."""
_DRAWN = 8.0
"""Seconds that are drawn; they are played to and fro."""
_SQUARE, _BITS = 8, 16
"""Side of a square of the time code in pixels, and how many there are."""
_RIM, _LIPS = 0.1, 0.05
"""Widths of the rim of a face and around the lips that carry no watermark, in widths of the face."""
_MARGIN = 24
"""Pixels around the places of a face that are searched too."""
_CONTRAST = 60
"""Grey levels between a square and its negative, at least."""


@dataclass(frozen=True)
class LiveClip:
    """A file for a camera to play over and over."""

    path: Path
    size: tuple[int, int]
    rate: int
    frames: int
    """Frames in it; their time codes are 0 to frames - 1."""
    watermarks: tuple[Watermark, ...]
    """One for each person; empty: there are none."""
    areas: tuple[tuple[int, int, int, int], ...]
    """Where each of them ever is, with a margin: x0, y0, x1, y1 in pixels."""

    def strongest(self, luma: Plane) -> float:
        """Highest correlation of any watermark with any place of a luma plane (h, w) where it can be: 0 if none.

        In a picture of another size than the clip's it can be anywhere.
        """
        own = luma.shape[::-1] == self.size
        parts = (luma[y0:y1, x0:x1] if own else luma for x0, y0, x1, y1 in self.areas)
        return max((mark.strongest(part) for mark, part in zip(self.watermarks, parts, strict=True)), default=0.0)


def write_code(luma: Plane, number: int) -> None:
    """Draw a time code, 0 to 65535, into a luma plane (h, w), in place."""
    for bit in range(_BITS):
        x, on = bit * _SQUARE, number >> bit & 1
        luma[:_SQUARE, x : x + _SQUARE] = 220 if on else 30
        luma[_SQUARE : 2 * _SQUARE, x : x + _SQUARE] = 30 if on else 220


def read_code(luma: Plane) -> int | None:
    """The time code of a luma plane (h, w); None where there is none: the placeholder, another picture, damage."""
    if luma.shape[0] < 2 * _SQUARE or luma.shape[1] < _BITS * _SQUARE:
        return None
    part = luma[: 2 * _SQUARE, : _BITS * _SQUARE].reshape(2, _SQUARE, _BITS, _SQUARE)
    levels = part[:, 2:-2, :, 2:-2].mean(axis=(1, 3))
    apart = levels[0] - levels[1]
    if np.abs(apart).min() < _CONTRAST:
        return None
    return int((apart > 0) @ (1 << np.arange(_BITS)))


def live_pictures(
    models: Models, size: tuple[int, int], people: int, marked: int | None, seconds: float = _DRAWN
) -> tuple[list[Planes], tuple[Watermark, ...], tuple[tuple[int, int, int, int], ...]]:
    """Pictures without time codes that may be played in a circle, the watermarks of seed `marked` and their areas."""
    drawn = list(
        synthetic_people(models.fitting, models.gallery, people=people, seconds=seconds, size=size, rate=RATE, seed=11)
    )
    marks: list[Watermark] = []
    areas = []
    if marked is not None:
        for number in range(people):
            outlines = np.array([frame.truths[number].points[OUTLINE] for frame in drawn])
            width, height = np.ptp(outlines, axis=1).max(axis=0)
            marks.append(Watermark.of((marked, number), int(width), int(height)))
            (x0, y0), (x1, y1) = outlines.min(axis=(0, 1)) - _MARGIN, outlines.max(axis=(0, 1)) + _MARGIN
            areas.append((max(0, int(x0)), max(0, int(y0)), int(x1), int(y1)))
        for frame in drawn:
            for number, mark in enumerate(marks):
                _stamp(frame.frame.planes.y, mark, frame.truths[number].points)
    pictures = [frame.frame.planes for frame in drawn]
    return pictures + pictures[-2:0:-1], tuple(marks), tuple(areas)


def _stamp(luma: Plane, mark: Watermark, points: NDArray[np.float64]) -> None:
    """The watermark moves by whole pixels, however the face moves: it could not be found otherwise.

    It leaves out the rim, where the new face is blended in (`edges` is about that), and the mouth, whose inside may
    be the person's own.
    """
    height, width = mark.pattern.shape
    outline = points[OUTLINE]
    x, y = np.round(outline.min(axis=0)).astype(int)
    hull = _filled(outline - (x, y), (height, width))
    hull = cv2.erode(cv2.copyMakeBorder(hull, 1, 1, 1, 1, cv2.BORDER_CONSTANT), _disc(_RIM * width))[1:-1, 1:-1]
    mouth = cv2.dilate(_filled(points[MOUTH] - (x, y), (height, width)), _disc(_LIPS * width))
    mark.stamp(luma, int(x), int(y), (hull & ~mouth).astype(np.float32))


def _filled(outline: NDArray[np.float64], shape: tuple[int, int]) -> Plane:
    inside = np.zeros(shape, np.uint8)
    cv2.fillPoly(inside, [cv2.convexHull(np.round(outline * 16).astype(np.int32))], (1,), cv2.LINE_8, 4)
    return inside


def _disc(radius: float) -> Plane:
    side = 2 * round(radius) + 1
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side)), np.uint8)


def coded(pictures: Sequence[Planes], count: int) -> Iterator[Planes]:
    """`count` pictures with their time codes, the given ones over and over."""
    for number in range(count):
        planes = pictures[number % len(pictures)].copy()
        write_code(planes.y, number)
        yield planes


def write_live_clip(
    path: Path,
    models: Models,
    *,
    size: tuple[int, int] = SIZE,
    people: int = 2,
    seconds: float = 60.0,
    marked: int | None = 1,
    drawn: float = _DRAWN,
) -> LiveClip:
    """Draw and encode a clip as a camera does: no pictures out of order, a key frame a second.

    drawn: seconds that are drawn and played to and fro.
    """
    pictures, marks, areas = live_pictures(models, size, people, marked, drawn)
    count = round(seconds * RATE)
    options = {"crf": "20", "preset": "veryfast", "tune": "zerolatency", "g": str(RATE), "bf": "0"}
    with av.open(str(path), "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=RATE, options=options)
        (stream.width, stream.height), stream.pix_fmt = size, "yuv420p"
        for number, planes in enumerate(coded(pictures, count)):
            picture = picture_of(planes, *size)
            picture.pts, picture.time_base = number, Fraction(1, RATE)
            output.mux(stream.encode(picture))
        output.mux(stream.encode(None))
    return LiveClip(path, size, RATE, count, marks, areas)
