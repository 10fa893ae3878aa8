"""Do LiteRT and OpenCV say the same of YuNet and CenterFace, and what does each cost?

    python -m benchmarks onnx_networks VIDEO ... [--frames 4] [--json]

Both run the ONNX files that come with streamdeid, on frames of each clip, reduced to the sizes that the filter uses:
those of a look of YuNet, of a close look and of a survey of a picture of 16:9. Differences are the largest of a score
(0 to 1), and of the other outputs (cells, and logarithms of sides) where the score is 0.1 and up; CPU ms are medians of
one call.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of, positive
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.shipped_models import CENTERFACE, YUNET, network
from streamdeid.detection import centerface, yunet
from streamdeid.detection.onnx_network import ByLiteRT, ByOpenCV, OnnxNetwork
from streamdeid.video.files.source import FileSource

_USES = (
    ("YuNet's look", YUNET, yunet._OUTPUTS, (128, 128)),
    ("a close look", CENTERFACE, centerface._OUTPUTS, (96, 96)),
    ("a survey", CENTERFACE, centerface._OUTPUTS, (960, 544)),
)
"""Name, file, outputs and size."""
_OF_A_SCALE = 4
"""Outputs: the first is a score, and of YuNet's the second, too."""
_CALLS = 15
_SEEN = 0.1
_HEADER = ("", "score differs by", "others by", "CPU ms, LiteRT", "CPU ms, OpenCV")


def compared(
    name: str, outputs: Sequence[str], ways: Sequence[OnnxNetwork], pictures: Sequence[NDArray[np.uint8]]
) -> list[object]:
    """One row of the table."""
    scores, others = 0.0, 0.0
    spent: list[list[float]] = [[] for _ in ways]
    for picture in pictures:
        told = [way(picture) for way in ways]
        for start in range(0, len(outputs), _OF_A_SCALE):
            one, other = (each[start : start + _OF_A_SCALE] for each in told)
            first = 2 if outputs[start].startswith("class") else 1
            scores = max(scores, *(float(np.abs(one[row] - other[row]).max()) for row in range(first)))
            seen = other[0][0] >= _SEEN
            for a, b in zip(one[first:], other[first:], strict=True):
                others = max(others, float(np.abs(a[:, seen] - b[:, seen]).max(initial=0.0)))
        for way, times in zip(ways, spent, strict=True):
            for _ in range(_CALLS):
                begun = time.thread_time()
                way(picture)
                times.append(time.thread_time() - begun)
    return [name, f"{scores:.1e}", f"{others:.1e}", *(1000 * float(np.median(times)) for times in spent)]


def main(argv: list[str]) -> int:
    """Run the benchmark."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("videos", nargs="+", type=Path, metavar="VIDEO")
    parser.add_argument("--frames", type=positive, default=4, help="of each clip")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(argv)
    cv2.setNumThreads(1)  # as the filter does
    frames = [frame.planes for clip in given.videos for frame in islice(FileSource(clip), given.frames)]
    seen = [rectangle_to_rgb(planes, 0, 0, *planes.size) for planes in frames]
    rows = []
    for name, file, outputs, size in _USES:
        content = network(file)
        ways = ByLiteRT(content, size, outputs), ByOpenCV(content, outputs)
        small = [np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8) for rgb in seen]
        rows.append(compared(name, outputs, ways, small))
    print(as_json({"rows": rows}) if given.json else markdown(_HEADER, rows))
    return 0
