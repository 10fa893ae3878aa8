"""What does it take to render what an edit touches, in a long recording? And what do more key frames cost?

    python -m benchmarks segments --videos FOLDER [--minutes 30] [--touched 20] [--place FOLDER]

A person in a recording of two to six people at 720p is left visible for some seconds in its middle; the command that
applies the edit is run. Told are its seconds, wall and CPU, beside those that were touched, the frames that were
rendered, and whether every other picture is the same. Then the sizes of an output with key frames for a review and
without.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command_line import parser_of
from benchmarks.review.long_recording import RATE, LongRecording, long_recording
from streamdeid.analysis.edits import Edits, ShowPerson, Span
from streamdeid.analysis.edits_file import write_edits
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.runs.files import filter_file
from streamdeid.video.files.source import FileSource


def coded(path: Path) -> list[bytes]:
    """Hashes of a file's pictures."""
    return [hashlib.sha256(frame.planes.y.tobytes()).digest() for frame in FileSource(path, threads=2)]


def rendered_again(long: LongRecording, touched: float, place: Path) -> dict[str, float]:
    """Figures of one edit in the middle."""
    analysis = read_analysis(long.analysis)
    first = len(analysis.frames) // 2
    last = first + round(touched * RATE) - 1
    people = Counter(
        one.person for index in range(first, last) for one in analysis.frames[index].decisions if one.person
    )
    person = people.most_common(1)[0][0]
    edits, output = place / "edits.json", place / "edited.mp4"
    write_edits(
        edits, Edits(analysis.header.input.sha256, len(analysis.frames), (ShowPerson(person, Span(first, last)),))
    )
    output.write_bytes(long.output.read_bytes())
    wall, cpu = time.perf_counter(), time.process_time()
    report = filter_file(long.recording, output, long.settings, analysis=long.analysis, edits=edits)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert report.review is not None and report.review.frames_rendered is not None, report.review
    pairs = list(zip(coded(long.output), coded(output), strict=True))
    differ = [index for index, (a, b) in enumerate(pairs) if a != b]
    return {
        "frames": len(analysis.frames),
        "visible": report.shown,
        "rendered": report.review.frames_rendered,
        "wall seconds": wall,
        "cpu seconds": cpu,
        "of what was touched": wall / touched,
        "start up": report.timings.start_up_seconds,
        "other pictures changed": sum(not differ[0] <= index <= differ[-1] for index in differ),
        "pictures changed": len(differ),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when a picture changed that no edit touches."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--videos", type=Path, required=True, help="folder with clips of heads and their boxes")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--touched", type=float, default=20.0, help="seconds")
    parser.add_argument("--place", type=Path, help="folder in which the long recording is kept")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        kept = arguments.place or Path(temporary)
        kept.mkdir(parents=True, exist_ok=True)
        found = rendered_again(long_recording(arguments.videos, kept, arguments.minutes), arguments.touched, kept)
        for name, value in found.items():
            print(f"| {name} | {value:.2f} |")
        return int(found["other pictures changed"] > 0)
