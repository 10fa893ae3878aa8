"""Which of two networks tells the pose of a head better by its five points: YuNet or CenterFace?

    python -m benchmarks five_points VIDEO ... [--frames N] [--tilt DEGREES] [--json]

In every fourth frame both are asked about each face whose landmarks are trusted and surely present, in the detector's
box, moved aside by 8 % of its width at random (one seed), and neither is shown the head straightened. Given are, by
width: of how many faces each sees one that has a pose; the median and the 90th percentile of how far yaw, nod and roll
by its points are from those by the landmarks, degrees; and the median of the points' mean distance from the landmarks'
places, share of the face's width. Landmarks are no truth themselves: what counts is the one beside the other, and
landmarks are trusted where a network's points agree. --tilt turns every picture first.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.recall.changes import tilted
from streamdeid.core.arrays import Box, Points
from streamdeid.core.faces import Face, Keypoints
from streamdeid.core.frames import Frame
from streamdeid.core.shipped_models import CENTERFACE, YUNET, network
from streamdeid.detection.close_look import CloseLook
from streamdeid.detection.five_points import as_detected
from streamdeid.detection.networks import Networks
from streamdeid.detection.second_look import SecondLook
from streamdeid.detection.yunet import YuNet
from streamdeid.errors import StreamdeidError
from streamdeid.observe.keypoint_pose import KeypointPose, MeanHead, points_of_mesh, pose_of_keypoints
from streamdeid.runs.parts import default_detector, open_source
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models

WIDTHS = (0.0, 24.0, 50.0, math.inf)
NAMES = "YuNet", "CenterFace"
_EACH, _PRESENT, _ASIDE = 4, 0.95, 0.08


class Apart(NamedTuple):
    """How far a network's points of a face are from its landmarks."""

    yaw: float
    """Differences of the pose's yaw, nod and roll, degrees."""
    nod: float
    roll: float
    points: float
    """Mean distance of the points, share of the face's width."""


def frames_of(path: Path, tilt: float) -> Iterator[Frame]:
    """The frames of a clip, turned anticlockwise by so many degrees. Raises StreamdeidError."""
    for frame in open_source(path, Settings()):
        yield Frame(tilted(frame.planes, tilt), frame.time, frame.index) if tilt else frame


def apart(found: Keypoints, face: Face, head: MeanHead) -> Apart | None:
    """How far a network's points of a face are from its mesh; None where either has no pose."""
    assert face.mesh is not None
    true = points_of_mesh(face.mesh)
    (x0, y0), (x1, y1) = face.mesh[:, :2].min(axis=0).tolist(), face.mesh[:, :2].max(axis=0).tolist()
    known, told = _pose(true, (x0, y0, x1, y1), head), _pose(found.points, found.box, head)
    if known is None or told is None:
        return None
    turns = ((getattr(told, name) - getattr(known, name)) for name in ("yaw", "nod", "roll"))
    yaw, nod, roll = (abs(math.degrees(math.remainder(turn, 2 * math.pi))) for turn in turns)
    away = float(np.linalg.norm(found.points - true, axis=1).mean() / known.size)
    return Apart(yaw, nod, roll, away)


def _pose(points: Points, box: Box, head: MeanHead) -> KeypointPose | None:
    return pose_of_keypoints(points, as_detected(box), head)


def measured(
    paths: list[Path], frames: int | None, tilt: float
) -> tuple[list[float], dict[str, list[tuple[float, Apart]]]]:
    """The widths of all faces asked about, pixels, and for each network those of the faces that it sees, with how far
    its points are away. Raises StreamdeidError."""
    head, rng = MeanHead.of(load_models(None).fitting), np.random.default_rng(0)
    second, third = SecondLook(Networks(), YuNet(network(YUNET)), glances=False), CloseLook(network(CENTERFACE))
    asked: list[float] = []
    rows: dict[str, list[tuple[float, Apart]]] = {name: [] for name in NAMES}
    for path in paths:
        with contextlib.closing(default_detector(Settings())) as detect:
            for number, frame in enumerate(islice(frames_of(path, tilt), frames)):
                faces = detect(frame)
                for face in faces if number % _EACH == 0 else ():
                    if face.mesh is None or face.keypoints is not None or face.presence < _PRESENT:
                        continue
                    aside = rng.normal(0, _ASIDE, 2) * (face.box[2] - face.box[0])
                    x0, y0, x1, y1 = (np.array(face.box) + np.tile(aside, 2)).tolist()
                    asked.append(float(np.ptp(face.mesh[:, 0])))
                    told = second.near(frame.planes, (x0, y0, x1, y1)), third.keypoints(frame.planes, (x0, y0, x1, y1))
                    for name, found in zip(NAMES, told, strict=True):
                        if found is not None and (row := apart(found, face, head)) is not None:
                            rows[name].append((asked[-1], row))
    second.close()
    return asked, rows


def table(asked: list[float], rows: dict[str, list[tuple[float, Apart]]]) -> list[dict[str, Any]]:
    """A row for each class of widths and network. Seen is what the filter takes for seen: a score of 0.5."""
    lines = []
    for low, high in pairwise(WIDTHS):
        number = sum(low <= width < high for width in asked)
        for name in NAMES if number else ():
            here = np.array([row for width, row in rows[name] if low <= width < high]).reshape(-1, 4)
            line: dict[str, Any] = {"width, px": f"{low:g} to {high:g}", "network": name, "faces": number}
            line["seen"] = len(here) / number
            for column, what in enumerate(("yaw", "nod", "roll")) if len(here) else ():
                line[what], line[f"{what}, 90 %"] = np.percentile(here[:, column], [50, 90]).tolist()
            line["points"] = float(np.median(here[:, 3])) if len(here) else None
            lines.append(line)
    return lines


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("videos", nargs="+", type=Path, metavar="VIDEO")
    parser.add_argument("--frames", type=int, help="look at so many frames of each clip only")
    parser.add_argument("--tilt", type=float, default=0.0, metavar="DEGREES", help="turn each picture so far first")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(argv)
    try:
        lines = table(*measured(arguments.videos, arguments.frames, arguments.tilt))
    except StreamdeidError as error:
        parser.error(str(error))
    header = list(dict.fromkeys(name for line in lines for name in line))
    print(
        as_json(lines) if arguments.json else markdown(header, [[line.get(name) for name in header] for line in lines])
    )
    return 0
