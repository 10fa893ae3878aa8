"""Does anything of a face show beside its cover when the head is quick, smeared by motion, or new after a cut?

    python -m benchmarks edges [--landmarks true|found|both] [--motion NAME ...] [--json]
    python -m benchmarks edges --clips VIDEO ... [--json]

A synthetic person stands still, then moves; a frame is the mean of pictures drawn while the shutter is open (the whole
interval: the worst case). What the filter learns of a face it learns from this clip, and its landmarks are those of the
drawing in the middle of the exposure (true) or those that the landmarker finds (found). Then it is given the clip to
publish twice: as it is, and with a fine random pattern in the luma of the whole face. Where the outputs differ by more
than half of what these inputs differ by, the original's pixel survived. Shares are of the pixels in which the inputs
differ by 6 levels or more: `core`, the hull less the rim; `rim`, 8 % of the width, where the new face is faded in;
`smear`, beyond the hull. Frames in which no face was found are counted, and left out: that they are covered is the
business of detection and tracking. `lag`: by how many pixels the smoothed outline lies from the landmarker's, 95 %.

--clips: on which frames of real clips the cover is grown beyond the one of a slow head.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.leaks.edges_clip import MOTIONS, RATE, SIZE, STILL, Shot, Stage, filled
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame, Planes
from streamdeid.core.ibug68 import LANDMARKS, OUTLINE
from streamdeid.core.luma_pyramid import luma_pyramid
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.lab.published_pictures import TrackRegister
from streamdeid.observe.observation import Observer
from streamdeid.observe.outline import reaching
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import settled
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.surrogates.models import load_models
from streamdeid.tracking.cuts import Cuts
from streamdeid.tracking.tracker import FaceTracker
from streamdeid.video.files.source import FileSource

LEAST, RIM = 6.0, 0.08
_SHOWN = 12


class _OneFace:
    """The mean face for everybody: what is drawn does not depend on what was measured."""

    def surrogate(self, person: int, y: Points, /) -> Any:
        return _Vector(np.zeros_like(y))


@dataclass(frozen=True)
class _Vector:
    vector: Points
    beard: bool = True


def true_faces(shots: Sequence[Shot]) -> list[list[Face]]:
    """What a flawless landmarker says."""
    found = []
    for shot in shots:
        (x0, y0), (x1, y1) = shot.points.min(axis=0), shot.points.max(axis=0)
        box = (float(x0), float(y0), float(x1), float(y1))
        found.append([Face(box, 0.9, shot.points[:LANDMARKS].copy(), shot.points[LANDMARKS:].copy(), presence=1.0)])
    return found


def found_faces(shots: Sequence[Shot]) -> list[list[Face]]:
    """What the detector and the landmarker find in the first picture of each shot."""
    with contextlib.closing(MediapipeFaces()) as detect:
        return [list(detect(Frame(s.planes[0], Fraction(i, RATE), i))) for i, s in enumerate(shots)]


def published(stage: Stage, shots: Sequence[Shot], faces: list[list[Face]]) -> tuple[list[list[Planes]], Counter[str]]:
    """Both clips filtered, with what was learnt from the first, and the covers of the moving part by level."""
    outs: list[list[Planes]] = []
    levels: Counter[str] = Counter()
    for version in range(2):
        deidentifier = ReplaceFaces(stage.fitting, _OneFace(), TrackRegister(set()))
        tracker, is_cut = FaceTracker(size=SIZE), Cuts()
        waiting: list[PendingFrame[None]] = []
        for index, shot in enumerate(shots):
            time = Fraction(index, RATE)
            if is_cut(luma_pyramid(shot.planes[0].y)):
                tracker.cut()
            tracks = tracker.update(faces[index], time)
            waiting.append(PendingFrame(Frame(shot.planes[0], time, index), tracks, None))
            deidentifier.observe(waiting[-1], waiting)
            deidentifier.settle(waiting)
            waiting[-1].frame = Frame(shot.planes[version], time, index)
        done = [deidentifier.render(one, settled(deidentifier, [one], one.tracks)) for one in waiting]
        outs.append([frame.planes for frame in done])
        levels = Counter(redaction.level for frame in done[STILL:] for redaction in frame.redactions)
    return outs, levels


def measured(stage: Stage, shots: Sequence[Shot], faces: list[list[Face]]) -> dict[str, Any]:
    """The row of one motion."""
    outs, levels = published(stage, shots, faces)
    shares: dict[str, list[float]] = {"core": [], "rim": [], "smear": []}
    observe, lags, missing = Observer(stage.fitting), [], 0
    for index, shot in enumerate(shots):
        marked = [face for face in faces[index] if face.landmarks is not None]
        if marked:
            assert marked[0].landmarks is not None and marked[0].forehead is not None
            raw = np.concatenate([marked[0].landmarks, marked[0].forehead])
            seen = observe(shot.planes[0], marked[0], index / RATE)
            if seen is not None and index >= STILL:
                lags.append(float(np.linalg.norm(seen.points[OUTLINE] - raw[OUTLINE], axis=1).max()))
        if index < STILL:
            continue
        if not marked:
            missing += 1
            continue
        for name, share in survived(shot, outs[0][index], outs[1][index]).items():
            shares[name].append(share)
    row: dict[str, Any] = {}
    for name, values in shares.items():
        known = [v for v in values if v == v]
        row[f"{name} %"] = 100 * float(np.mean(known)) if known else float("nan")
        row[f"{name} worst %"] = 100 * max(known) if known else float("nan")
    row["lag"] = float(np.percentile(lags, 95)) if lags else float("nan")
    row["not found"] = missing
    return {**row, "levels": ", ".join(f"{count} {level}" for level, count in sorted(levels.items()))}


def grown_frames(path: Path) -> dict[str, Any]:
    """The row of a real clip: on which frames a cover is grown beyond that of a slow head."""
    fitting = load_models(None).fitting
    observers: dict[int, Observer] = {}
    tracker, is_cut, faces, grown = FaceTracker(), Cuts(), 0, []
    with contextlib.closing(MediapipeFaces()) as detect:
        for frame in FileSource(path):
            if is_cut(frame.luma_levels):
                tracker.cut()
                detect.forget()
            for track in tracker.update(detect(frame), frame.time):
                if track.face is None or track.face.landmarks is None:
                    continue
                observe = observers.setdefault(track.number, Observer(fitting))
                seen = observe(frame.planes, track.face, float(frame.time))
                if seen is not None:
                    faces += 1
                    grown += [frame.index] * (
                        reaching(seen.points, seen.places, seen.farthest, seen.width) is not seen.points
                    )
    shown = " ".join(map(str, grown[:_SHOWN])) + (" ..." if len(grown) > _SHOWN else "")
    return {"clip": path.stem, "faces": faces, "grown": len(grown), "%": 100 * len(grown) / max(faces, 1), "on": shown}


def survived(shot: Shot, one: Planes, other: Planes) -> dict[str, float]:
    """Share of the original's pixels that are still there, by region; NaN for a region without any."""
    before = shot.planes[1].y.astype(np.float32) - shot.planes[0].y
    after = other.y.astype(np.float32) - one.y
    marked = (np.abs(before) >= LEAST) & ~shot.lips
    lives = marked & (after * np.sign(before) > 0.5 * np.abs(before))
    hull = filled(shot.points[OUTLINE]) > 0
    depth = cv2.distanceTransform(hull.astype(np.uint8), cv2.DIST_L2, 5)
    core = depth > RIM * float(np.ptp(shot.points[:, 0]))
    regions = {"core": core, "rim": hull & ~core, "smear": ~hull}
    return {name: _share(lives & where, marked & where) for name, where in regions.items()}


def _share(some: NDArray[np.bool_], of: NDArray[np.bool_]) -> float:
    return float(some.sum() / of.sum()) if of.sum() >= 20 else float("nan")


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--landmarks", choices=("true", "found", "both"), default="both")
    parser.add_argument("--motion", nargs="+", choices=list(MOTIONS), default=list(MOTIONS))
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--clips", nargs="+", type=Path, metavar="VIDEO", help="look at real clips instead")
    given = parser.parse_args(argv)
    if given.clips:
        rows = [grown_frames(path) for path in given.clips]
        print(as_json(rows) if given.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
        return 0
    stage, rows = Stage(), []
    for name in given.motion:
        shots = list(stage.clip(MOTIONS[name], cut=name == "scene cut"))
        for landmarks, faces in (("true", true_faces), ("found", found_faces)):
            if given.landmarks in (landmarks, "both"):
                rows.append({"motion": name, "landmarks": landmarks, **measured(stage, shots, faces(shots))})
    print(as_json(rows) if given.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    return 0
