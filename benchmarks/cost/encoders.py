"""What settings of x264 give the same picture for less: CPU time and size at equal SSIM, beside the filter's own.

    python -m benchmarks encoders DIR [--only CLIP ...] [--frames 60] [--json]

Each clip of DIR is encoded with the filter's settings at three qualities, which gives size and CPU time for any quality
between them, and once with each setting of `SETTINGS`. Told are the size and the CPU time that a setting takes over
those that the filter's settings take for the same SSIM (of luma, whole pictures, every third frame; Wang et al. 2004
with a square window), in the middle of all clips and for the worst.
"""

from __future__ import annotations

import itertools
import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, clips_with_faces, default_crf, encode, markdown
from benchmarks.command_line import parser_of, positive
from streamdeid.core.frames import Frame
from streamdeid.video.files.source import FileSource

SETTINGS: dict[str, dict[str, str]] = {
    "b-adapt 0": {"x264-params": "b-adapt=0"},
    "one B-frame": {"x264-params": "bframes=1"},
    "no B-frames": {"x264-params": "bframes=0"},
    "look-ahead of 5": {"x264-params": "rc-lookahead=5"},
    "b-adapt 0, look-ahead of 5": {"x264-params": "b-adapt=0:rc-lookahead=5"},
    "b-adapt 0, me dia": {"x264-params": "b-adapt=0:me=dia"},
    "b-adapt 0, subme 1": {"x264-params": "b-adapt=0:subme=1"},
    "b-adapt 0, me dia, subme 1": {"x264-params": "b-adapt=0:me=dia:subme=1"},
    "b-adapt 0, two B-frames": {"x264-params": "b-adapt=0:bframes=2"},
    "b-adapt 0, superfast": {"preset": "superfast", "x264-params": "b-adapt=0"},
    "no tree of macroblocks": {"x264-params": "mbtree=0"},
    "subme 1": {"x264-params": "subme=1"},
    "subme 4": {"x264-params": "subme=4"},
    "no weights": {"x264-params": "weightp=0"},
    "two references": {"x264-params": "ref=2"},
    "me dia": {"x264-params": "me=dia"},
    "superfast": {"preset": "superfast"},
    "ultrafast": {"preset": "ultrafast"},
    "faster": {"preset": "faster"},
}
"""Name, and what is other than the filter's own."""
_BESIDE = 3
"""Steps of crf by which the filter's settings are tried to either side of its quality."""
_RATE = Fraction(25)
"""Frames a second that the encoder is told."""
_WINDOW = 8
"""Side of SSIM's window, pixels."""
_EVERY = 3
"""Frames from one that is compared to the next: no multiple of the encoder's pattern of frames."""


@dataclass(frozen=True)
class Encoded:
    """What came of one clip with one setting."""

    bytes: int
    milliseconds: float
    """CPU, a frame."""
    decibels: float
    """-10 log10(1 - SSIM)."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("videos", type=Path)
    parser.add_argument("--only", nargs="*", default=[], metavar="CLIP")
    parser.add_argument("--frames", type=positive, default=60)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in SETTINGS}
    clips = clips_with_faces(given.videos, given.only)
    for clip in clips:
        frames = list(itertools.islice(FileSource(clip), given.frames))
        own = [encoded(frames, {}, default_crf() + step * _BESIDE) for step in (1, 0, -1)]
        for name, options in SETTINGS.items():
            ratios[name].append(beside(own, encoded(frames, options, default_crf())))
    rows = []
    for name, pairs in ratios.items():
        size, cost = np.array(pairs).T
        rows.append([name, np.median(size), size.max(), np.median(cost), cost.max()])
    header = [f"setting ({len(clips)} clips)", "size, middle", "largest", "CPU, middle", "most"]
    print(as_json({str(row[0]): row[1:] for row in rows}) if given.json else markdown(header, rows))
    return 0


def beside(own: Sequence[Encoded], other: Encoded) -> tuple[float, float]:
    """Size and CPU time of a setting over those of the filter's at the same SSIM; own: from the worst quality on."""
    quality = [one.decibels for one in own]
    first = 0 if other.decibels < quality[1] else 1  # beyond both ends the nearer piece goes on
    a, b = own[first], own[first + 1]
    share = (other.decibels - a.decibels) / (b.decibels - a.decibels)
    size = math.exp((1 - share) * math.log(a.bytes) + share * math.log(b.bytes))
    return other.bytes / size, other.milliseconds / ((1 - share) * a.milliseconds + share * b.milliseconds)


def encoded(frames: Sequence[Frame], options: dict[str, str], crf: int) -> Encoded:
    """Frames with the filter's settings but for some, on one thread."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "encoded.mp4"
        begin = time.process_time()
        encode(frames, path, _RATE, crf, options)
        spent = time.process_time() - begin
        likeness = [
            ssim(before.planes.y, after.planes.y)
            for number, (before, after) in enumerate(zip(frames, FileSource(path), strict=True))
            if number % _EVERY == 0
        ]
        quality = -10 * math.log10(max(1 - float(np.mean(likeness)), 1e-9))
        return Encoded(path.stat().st_size, 1000 * spent / len(frames), quality)


def ssim(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """Structural similarity of two planes (h, w), the second possibly a column or row larger (even sides)."""
    a = before.astype(np.float32)
    b = after[: a.shape[0], : a.shape[1]].astype(np.float32)
    mean = [cv2.boxFilter(one, -1, (_WINDOW, _WINDOW)) for one in (a, b, a * a, b * b, a * b)]
    across, first, second = mean[0] * mean[1], mean[0] ** 2, mean[1] ** 2
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    above = (2 * across + c1) * (2 * (mean[4] - across) + c2)
    below = (first + second + c1) * (mean[2] - first + mean[3] - second + c2)
    return float(np.mean(above / below))
