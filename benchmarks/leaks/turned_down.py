"""What would a small machine save by searching less, and who would then be seen? (Why `--profile edge` does not.)

    python -m benchmarks turned_down DIRECTORY [--only NAME ...] [--json]

Each clip of DIRECTORY that has NAME.faces.csv beside it is made one of 480 lines and 15 frames a second, as a board's
camera sends it, and goes through the filter live (no look-ahead, without encoding) with settings that search less. A
row for each: faces exposed by size in pixels, as `leaks` counts them, and CPU per frame of the detection and of all.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.clips import as_json, clips_with_faces, markdown
from benchmarks.command_line import parser_of
from benchmarks.leaks.leaks import Leaks, measure, total
from benchmarks.live.small_clips import small_clip
from streamdeid.core.process_usage import be_frugal
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models, load_models

LESS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "detector-interval 64": {"detector_interval": 64},
    "min-face 24": {"min_face": 24.0},
    "min-face 32": {"min_face": 32.0},
    "coast 0.3": {"coast": 0.3},
}
"""What is turned down, one at a time, by the name in the table."""


def row(name: str, clips: Sequence[Path], models: Models) -> dict[str, object]:
    """All clips with one of `LESS`."""
    settings = Settings(lookahead=0.0, **LESS[name])
    found: list[Leaks] = []
    frames, begun = 0, time.process_time()
    for clip in clips:
        found.append(measure(clip, models, settings, None))
        frames += found[-1].frames
    spent = time.process_time() - begun
    whole = total(found).row()
    told = {key: value for key, value in whole.items() if key not in ("clip", "false covers per frame")}
    return {"turned down": name, **told, "all, measuring too, CPU ms per frame": round(1000 * spent / frames, 1)}


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    try:
        videos = clips_with_faces(given.directory, given.only)
    except ValueError as error:
        parser.error(str(error))
    be_frugal()
    models = load_models(None)
    with tempfile.TemporaryDirectory() as directory:
        clips = [small_clip(video, Path(directory)).path for video in videos]
        rows = [row(name, clips, models) for name in LESS]
    print(as_json(rows) if given.json else markdown(list(rows[0]), [list(one.values()) for one in rows]))
    return 0
