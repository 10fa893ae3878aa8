"""Are faces covered in pictures whose pixels are not square? Clips squeezed as recorders do, against themselves.

    python -m benchmarks squeezed DIRECTORY [--only NAME ...] [--smallest PIXELS] [--aspects W:H ...] [--frames N]
        [--sheet OUT.png] [--json]

Takes each video that has NAME.faces.csv beside it (as `leaks`; score 0.5 and up) and stores it with a half, a quarter,
... of its width or height and the sample aspect ratio with which it looks the same. It is filtered three times, without
encoding what comes out: its stored pixels as if they were square (`--pixel-aspect 1:1`, as it was before 1.1), as its
pixel aspect says, and, as the control, the same squeezed pixels stretched and stored with square ones. A face counts as
covered as in `leaks`, in the stored pixels. --sheet: the middle frame of each, original above, as it is shown (keep it
private). Exit code 1 when the filter covers fewer faces than in the control by more than one in fifty.

By default the first frames of the clips that show a face of under 40 pixels there, as small ones are those that are
lost: all clips in a quarter of an hour, where whole ones took days. A row is printed as soon as it is there.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import av
import cv2
import numpy as np

from benchmarks.clips import as_json, clips_with_faces, markdown
from benchmarks.command_line import parser_of
from benchmarks.leaks.leaks import kept_share
from benchmarks.leaks.run import frames_of
from streamdeid.core.arrays import Picture
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.core.square_pixels import in_words, read_aspect, resized
from streamdeid.errors import StreamdeidError
from streamdeid.lab.attacks import gaps
from streamdeid.lab.attacks.gaps import Box
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models, load_models
from streamdeid.video.files.source import FileSource
from streamdeid.video.picture_memory import picture_of

ASPECTS = ("1:2", "2:1", "1:4", "4:1", "16:11", "12:11")
_KEPT = 0.25
"""Share of the original's pixels from which a face is exposed, as in `leaks`."""
_FEWER = 0.02
_CRF = "14"
"""Quality of the squeezed clips."""
_SMALL, _FRAMES = 40.0, 12
"""Defaults: width of a face that makes a clip one of those that are measured, pixels as shown, and frames of each."""
_SHOWN = 480
"""Width of a picture on the sheet."""


@dataclass(frozen=True)
class Covered:
    """Of a run: how many faces there were, how many were covered, and what it looks like."""

    faces: int
    covered: int
    milliseconds: float
    """CPU of detection per frame."""
    pictures: tuple[Picture, Picture]
    """The middle frame before and after, as it is shown: uint8 (h, w, 3), BGR."""

    @property
    def share(self) -> float:
        return self.covered / max(self.faces, 1)


def boxes_of(video: Path, most: int) -> list[Box]:
    """The known faces in the first frames of a clip."""
    return [box for box in gaps.read_boxes(video.with_name(f"{video.stem}.faces.csv")) if box.frame < most]


def chosen(videos: Sequence[Path], smallest: float, most: int) -> list[Path]:
    """The clips that show a face narrower than so many pixels in their first frames. Raises ValueError without one."""
    found = [one for one in videos if any(box.x1 - box.x0 < smallest for box in boxes_of(one, most))]
    if not found:
        raise ValueError(f"no clip shows a face of under {smallest:g} pixels in its first {most} frames")
    return found


def stored_size(size: tuple[int, int], aspect: Fraction) -> tuple[int, int]:
    """(width, height) in which a picture of square pixels is stored with others; even."""
    width, height = size[0] / max(aspect, Fraction(1)), size[1] * min(aspect, Fraction(1))
    return max(2, 2 * round(width / 2)), max(2, 2 * round(height / 2))


def write(pictures: Iterable[Planes], path: Path, rate: Fraction, aspect: Fraction) -> None:
    """Encode pictures with a sample aspect ratio."""
    with av.open(str(path), "w") as output:
        stream = None
        for count, planes in enumerate(pictures):
            if stream is None:
                stream = output.add_stream("libx264", rate=rate, options={"crf": _CRF, "preset": "veryfast"})
                stream.width, stream.height = planes.size
                stream.pix_fmt, stream.codec_context.sample_aspect_ratio = "yuv420p", aspect
            picture = picture_of(planes, *planes.size)
            picture.pts, picture.time_base = count, 1 / rate
            output.mux(stream.encode(picture))
        if stream is not None:
            output.mux(stream.encode(None))


def covered(clip: Path, boxes: dict[int, list[Box]], shown: tuple[int, int], models: Models, said: str) -> Covered:
    """Filter a clip by a setting `pixel_aspect` and count. boxes: by frame, in pixels of the picture as it is shown."""
    faces = found = frames = 0
    spent = [0.0]
    middle: list[tuple[Planes, Planes]] = []
    for frames, (before, after, _) in enumerate(
        frames_of(clip, models, replace(Settings(), pixel_aspect=said), None, spent), 1
    ):
        x, y = (part / whole for part, whole in zip(before.size, shown, strict=True))
        for box in boxes.get(frames - 1, ()):
            here = Box(box.frame, box.x0 * x, box.y0 * y, box.x1 * x, box.y1 * y, box.score)
            faces += 1
            found += kept_share(before, after, here) <= _KEPT
        if frames - 1 in boxes and (not middle or frames - 1 <= max(boxes) // 2):
            middle = [(before, after)]
    before, after = (_as_shown(planes, shown) for planes in middle[0])
    return Covered(faces, found, 1000 * spent[0] / max(frames, 1), (before, after))


def measure(
    video: Path, aspect: Fraction, models: Models, most: int
) -> tuple[dict[str, object], tuple[Covered, Covered, Covered]]:
    """The three runs over a clip at a pixel aspect, and their row of the table."""
    source = FileSource(video)
    shown, rate = (source.info.width, source.info.height), source.info.average_rate
    boxes: dict[int, list[Box]] = defaultdict(list)
    for box in boxes_of(video, most):
        boxes[box.frame].append(box)
    with tempfile.TemporaryDirectory() as place:
        squeezed, control = (Path(place) / f"{name}.mp4" for name in ("squeezed", "control"))
        small = stored_size(shown, aspect)
        write((resized(frame.planes, small) for frame in islice(source, most)), squeezed, rate, aspect)
        stored = FileSource(squeezed, pixel_aspect=Fraction(1))
        write((resized(frame.planes, shown) for frame in stored), control, rate, Fraction(1))
        runs = (
            covered(squeezed, boxes, shown, models, "1:1"),
            covered(squeezed, boxes, shown, models, "auto"),
            covered(control, boxes, shown, models, "auto"),
        )
    row: dict[str, object] = {
        "clip": video.stem,
        "pixel aspect": in_words(aspect),
        "stored": f"{small[0]}x{small[1]}",
        "faces": runs[0].faces,
    }
    for name, run in zip(("as stored", "filter", "control"), runs, strict=True):
        row |= {f"covered, {name}": f"{run.share:.0%}", f"detection ms, {name}": round(run.milliseconds, 1)}
    return row, runs


def _as_shown(planes: Planes, shown: tuple[int, int]) -> Picture:
    size = _SHOWN, round(_SHOWN * shown[1] / shown[0])
    whole = rectangle_to_rgb(planes, 0, 0, *planes.size)
    return np.ascontiguousarray(cv2.resize(whole, size, interpolation=cv2.INTER_AREA)[:, :, ::-1], np.uint8)


def write_sheet(path: Path, runs: Sequence[Sequence[Covered]]) -> None:
    """Three columns: as stored, the filter, the control; originals above."""
    rows = [np.hstack([run.pictures[side] for run in three]) for three in runs for side in (0, 1)]
    widest = max(row.shape[1] for row in rows)
    cv2.imwrite(str(path), np.vstack([np.pad(row, [(0, 2), (0, widest - row.shape[1]), (0, 0)]) for row in rows]))


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--aspects", nargs="+", default=ASPECTS, metavar="W:H", help="pixel aspects")
    parser.add_argument("--smallest", type=float, default=_SMALL, metavar="PIXELS", help="only clips with one below it")
    parser.add_argument("--frames", type=int, default=_FRAMES, metavar="N", help="of each clip at most")
    parser.add_argument("--sheet", type=Path, metavar="PNG", help="pictures before and after")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    rows, all_runs = [], []
    try:
        aspects = [read_aspect(text) for text in given.aspects]
        models = load_models(None)
        for video in chosen(clips_with_faces(given.directory, given.only), given.smallest, given.frames):
            for aspect in aspects:
                row, runs = measure(video, aspect, models, given.frames)
                if not given.json:
                    lines = markdown(list(row), [list(row.values())]).splitlines()
                    print("\n".join(lines if not rows else lines[-1:]), flush=True)
                rows.append(row)
                all_runs.append(runs)
    except (ValueError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    if given.json:
        print(as_json(rows))
    if given.sheet is not None:
        write_sheet(given.sheet, all_runs)
    return 1 if any(filtered.share < control.share - _FEWER for _, filtered, control in all_runs) else 0
