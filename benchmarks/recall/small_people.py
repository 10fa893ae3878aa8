"""Whom does the filter miss of a crowd of photographed people, all of one size?

    python -m benchmarks small_people DIR [--size 16] [--most 110] [--seed 0] [--width 1280]
        [--hidden left|right|below|above] [--sheet FILE]

DIR holds photographs of one face each, in any subdirectory; some are drawn by the seed. Each head is reduced until its
face is --size pixels wide from ear to ear, and stands in a picture of --width by nine sixteenths of it, which shakes a
little and has a sensor's noise; grey where nobody is. It is encoded and goes through the default filter. Counts, in one
frame after a second, by what covers the middle of each face, and the redactions about none. Photographs differ more in
light, colour and dress than the people of any clip, and are sharper and look at the camera more. --hidden: a slab of
one colour lies over half of each face, as a pillar, a door or a counter does (two fifths from above); the middle is
then that of what is seen of the face. --sheet: those who are open; they show real people.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import KEY, encode, markdown
from benchmarks.command_line import parser_of
from benchmarks.photographs import largest, photographs_in, read_photograph, write_pictures
from streamdeid.core.arrays import Box, Picture
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import DeidentifiedFrame, Frame
from streamdeid.core.protocols import Detector
from streamdeid.report.contact_sheet import crop
from streamdeid.runs.parts import assemble, default_detector, lookahead_frames
from streamdeid.runs.session import open_session
from streamdeid.runs.step import filtered
from streamdeid.settings import Settings
from streamdeid.video.files.source import FileSource

CELL = 3.4
"""Side of the square that a head stands in, widths of its face."""
RATE, LOOKED_AT, AFTER = 25, 30, 15
"""Frames a second; the frame that is looked at, and frames after it."""
NOISE, CRF = 2.0, 23
"""Standard deviation of the sensor's noise, grey levels; quality that is encoded at (libx264's crf)."""
HIDDEN = {"left": 0.5, "right": 0.5, "below": 0.5, "above": 0.4}
"""Share of a face's width or height that is hidden from a side."""
TALL = 1.3
"""Height of a face, widths from ear to ear."""
SIDE, ACROSS = 110, 12
"""Of a picture in the sheet, pixels, and how many are in a row."""


@dataclass(frozen=True)
class Crowd:
    """A picture of people, and where their faces are in it."""

    rgb: Picture
    places: list[tuple[float, float]]
    """Middles of the faces, or of what is seen of them, pixels."""

    @classmethod
    def of(
        cls, photographs: list[Path], detect: Detector, size: float, width: int, most: int, hidden: str | None = None
    ) -> Crowd:
        """Of the first photographs in which a face is found, as many as there is room for. hidden: one of `HIDDEN`."""
        cell, height = 2 * round(CELL * size / 2), 2 * round(width * 9 / 32)
        across, down = width // cell, height // cell
        heads: list[Picture] = []
        for path in photographs:
            if len(heads) == min(most, across * down):
                break
            head = _head(path, detect, size, cell)
            heads += [] if head is None else [head]
        rgb, places = np.full((height, width, 3), 110, np.uint8), []
        aside = (0.0, 0.0) if hidden is None else seen_of(hidden, size)
        tones = np.random.default_rng(len(heads)).integers(20, 220, (len(heads), 3))
        for number, head in enumerate(heads):
            if hidden is not None:
                hide(head, hidden, size, tones[number])
            row, column = divmod(number * (across * down) // max(len(heads), 1), across)
            rgb[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell] = head
            places.append(((column + 0.5) * cell + aside[0], (row + 0.5) * cell + aside[1]))
        return cls(rgb, places)

    def frames(self, seed: int) -> Iterator[Frame]:
        """The picture, shaken and with noise."""
        rng, (height, width) = np.random.default_rng(seed), self.rgb.shape[:2]
        for index in range(LOOKED_AT + AFTER):
            shift = np.hstack([np.eye(2), np.array([shaken(index)]).T])
            moved = cv2.warpAffine(
                self.rgb, shift, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT
            )
            noisy = np.clip(moved + rng.normal(0, NOISE, moved.shape), 0, 255).astype(np.uint8)
            yield Frame(planes_from_rgb(noisy), Fraction(index, RATE), index)


def hide(head: Picture, side: str, size: float, tone: NDArray[np.int64]) -> None:
    """Lay a slab of one RGB tone (3,) over a side, one of `HIDDEN`, of a face so many pixels wide in the middle of a
    picture (cell, cell, 3), in place."""
    cell, left = len(head), (0.5 - HIDDEN[side]) * size
    reach = round(cell / 2 - left * (TALL if side in ("below", "above") else 1.0))
    rows, columns = {
        "left": (slice(None), slice(0, reach)),
        "right": (slice(None), slice(cell - reach, None)),
        "below": (slice(cell - reach, None), slice(None)),
        "above": (slice(0, reach), slice(None)),
    }[side]
    head[rows, columns] = tone


def seen_of(side: str, size: float) -> tuple[float, float]:
    """How far the middle of what is seen lies from the middle of a face of which a side is hidden, pixels."""
    half = HIDDEN[side] * size / 2
    return {"left": (half, 0.0), "right": (-half, 0.0), "below": (0.0, -TALL * half), "above": (0.0, TALL * half)}[side]


def shaken(index: int) -> tuple[float, float]:
    """How far the picture lies to the right and below in a frame, pixels."""
    return 2 * float(np.sin(index / 5)), 1.5 * float(np.cos(index / 7))


def _head(path: Path, detect: Detector, size: float, cell: int) -> Picture | None:
    """The head of a photograph in a square (cell, cell, 3), RGB, its face so many pixels wide; None without a face."""
    rgb = read_photograph(path)
    face = None if rgb is None else largest(detect, planes_from_rgb(rgb))
    if rgb is None or face is None or face.landmarks is None:
        return None
    left, right = float(face.landmarks[:, 0].min()), float(face.landmarks[:, 0].max())
    factor = size / max(right - left, 1.0)
    if factor < 1:  # of what is reduced nothing is finer than its pixels
        rgb = np.asarray(cv2.GaussianBlur(rgb, (0, 0), max(0.4 / factor - 0.4, 0.01)), np.uint8)
    x, y = (left + right) / 2, (face.box[1] + face.box[3]) / 2
    into = np.array([[factor, 0, cell / 2 - factor * x], [0, factor, cell / 2 - factor * y]])
    return np.asarray(cv2.warpAffine(rgb, into, (cell, cell), borderMode=cv2.BORDER_REPLICATE), np.uint8)


def looked_at(path: Path) -> DeidentifiedFrame:
    """The frame that is looked at, filtered."""
    source, settings = FileSource(path), Settings()
    size, rate = (source.info.width, source.info.height), source.info.average_rate
    session = open_session(settings, KEY)
    with contextlib.closing(default_detector(settings)) as detect:
        step = assemble(session, detect, size=size, rate=rate).step()
        for decided in filtered(source, step, lookahead_frames(settings, source.info)):
            if decided.frame.index == LOOKED_AT:
                return decided
    raise ValueError(f"{path} ends before frame {LOOKED_AT}")


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--size", type=float, default=16.0)
    parser.add_argument("--most", type=int, default=110)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--hidden", choices=list(HIDDEN), default=None)
    parser.add_argument("--sheet", type=Path, default=None)
    arguments = parser.parse_args(argv)
    photographs = photographs_in(arguments.directory)
    random.Random(arguments.seed).shuffle(photographs)
    with contextlib.closing(default_detector(Settings())) as detect:
        crowd = Crowd.of(photographs, detect, arguments.size, arguments.width, arguments.most, arguments.hidden)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "crowd.mp4"
        encode(crowd.frames(arguments.seed), path, Fraction(RATE), CRF)
        decided = looked_at(path)
    across, down = shaken(LOOKED_AT)
    levels, about, missed = Counter[str](), set[int](), []
    for x, y in ((x + across, y + down) for x, y in crowd.places):
        over = [plan for plan in decided.plans if _holds(plan.head.box, x, y)]
        about |= {plan.track.number for plan in over}
        best = min((plan.level for plan in over), key=lambda level: level.value, default=None)
        levels["open" if best is None else best.label] += 1
        if not over:
            reach = arguments.size * CELL / 2
            there = x - reach, y - reach, x + reach, y + reach
            missed.append(crop(decided.frame.planes, there, SIDE, margin=0.0))
    nowhere = sum(plan.track.number not in about for plan in decided.plans)
    rows = [(label, count, count / max(len(crowd.places), 1)) for label, count in sorted(levels.items())]
    print(markdown(("shown as", "faces", "share"), [*rows, ("redactions about no face", nowhere, None)]))
    if arguments.sheet is not None and missed:
        write_pictures(arguments.sheet, missed, ACROSS)
    return 0


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]
