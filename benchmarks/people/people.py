"""Does everybody keep one face, and nobody get another's? Clips through the filter, against the true persons.

    python -m benchmarks people DIRECTORY [--only NAME ...] [--live | --whole-file] [--sheet DIR] [--json]

Takes each video that has NAME.faces.csv beside it: an independent detector's boxes, of which those with score 0.5 and
up and a shorter side of 40 pixels and up count as faces, whether the filter found them or not. Who is who is told by
NAME.people.csv beside the clip or by labels/ beside this file (`people/truth.py`). The filter runs in this
process, without encoding, under one fixed key. --live: no look-ahead. --whole-file: two passes, and who is who is
decided over the whole clip. --sheet: for each clip three frames with the original left and what was published right
(they show real people: keep them private). Exit code 1 when a person was shown in another's face.

Own face: share of the faces below 40 degrees of yaw that show their own new face, in full or posed; the yaw is that of
the filter's landmarks in that frame, and faces for which it had none are counted apart. Surrogates per person: mean
over the true persons shown with any. Hand-overs: pairs of a surrogate and a true person other than the first on whom
it was shown; how many times that was to be seen, and how many times a surrogate was on two faces of one frame, which
needs no labels. Covers of no face touch no box of any score, per frame that the detector looked at; those without a
face of their own are left over when each box has taken the cover that fits it best: doubles and covers over ten times
as large as a face among them. CPU: reading, detection and filter, all threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, clips_with_faces, markdown
from benchmarks.command_line import parser_of
from benchmarks.people.run import Filtering
from benchmarks.people.score import Count, Score, total
from benchmarks.people.truth import Truth, read_truth
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.errors import StreamdeidError
from streamdeid.lab.attacks.gaps import LEAST_SIDE
from streamdeid.settings import LOOK_AHEAD, WHOLE_FILE, Settings
from streamdeid.surrogates.models import Models, load_models

_LOOKS = 3
_WIDEST = 900
"""Width in pixels of one picture of a sheet."""
_BLIND = 0, 40, 80
"""Frames for the sheet of a clip without any box."""


def measure(video: Path, models: Models, settings: Settings, sheet: Path | None = None) -> Score:
    """Filter a clip and compare it with its true persons; sheet: a directory for its pictures.

    Raises what the filter raises, OSError and ValueError for a bad table.
    """
    truth = read_truth(video)
    count, run = Count(video.stem, truth), Filtering(video, models, settings)
    wanted = looks(truth) if sheet is not None else []
    pictures = []
    for original, planes, shown in run.frames():
        count.add(shown)
        if shown.index in wanted:
            pictures.append(np.hstack([_picture(original.planes), _picture(planes)]))
    if sheet is not None and pictures:
        sheet.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(sheet / f"{video.stem}.png"), np.vstack(pictures))
    return count.score(run.cpu, run.breaks, run.causes)


def looks(truth: Truth) -> list[int]:
    """Frames to look at: in each third of the clip the one with most faces of 40 pixels and up, as near as may be to
    the middle of that third."""
    frames = sorted(truth.excuses)
    if not frames:
        return list(_BLIND)
    chosen = set()
    for part in np.array_split(np.array(frames), _LOOKS):
        middle = float(np.mean(part)) if len(part) else 0.0
        counts: Mapping[int, int] = {
            int(index): sum(face.side >= LEAST_SIDE for face in truth.faces.get(int(index), [])) for index in part
        }
        chosen.update(sorted(counts, key=lambda index: (-counts[index], abs(index - middle)))[:1])
    return sorted(chosen)


def _picture(planes: Planes) -> NDArray[np.uint8]:
    """BGR, at most as wide as a sheet's picture may be."""
    width, height = planes.size
    rgb = rectangle_to_rgb(planes, 0, 0, width, height, min(1.0, _WIDEST / width))
    return np.ascontiguousarray(rgb[:, :, ::-1])


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--live", action="store_true", help="no look-ahead")
    mode.add_argument("--whole-file", action="store_true", help="decisions over the whole clip, in two passes")
    parser.add_argument("--sheet", type=Path, metavar="DIR", help="pictures of three frames of each clip")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    settings = (
        Settings(lookahead=0.0) if given.live else Settings(decisions=WHOLE_FILE if given.whole_file else LOOK_AHEAD)
    )
    try:
        videos = clips_with_faces(given.directory, given.only)
        models = load_models(None)
        scores = [measure(video, models, settings, given.sheet) for video in videos]
    except (ValueError, KeyError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    rows = [score.row() for score in [*scores, total(scores)]]
    print(as_json(rows) if given.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    return 1 if any(score.wrong or score.twice for score in scores) else 0
