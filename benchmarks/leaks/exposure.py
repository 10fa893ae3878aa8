"""Does any face keep its original pixels? Boxes of an independent detector against the filter's output.

    python -m benchmarks exposure VIDEO OUT FACES.csv [--json]

FACES.csv: frame, x0, y0, x1, y1, score. In the middle half of each box the mean absolute luma difference between
VIDEO and OUT is taken; a box counts as kept when that is under twice the difference that merely encoding VIDEO again
(the filter's default codec, preset and crf, on the fly) makes in the same place. Exit code 1 when a box with score 0.5
and up and 40 pixels and up on its shorter side is kept; smaller ones are only counted.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from benchmarks.clips import as_json, default_crf, encoded_again, in_step, markdown
from benchmarks.command_line import parser_of
from streamdeid.errors import StreamdeidError
from streamdeid.lab.attacks import gaps
from streamdeid.lab.attacks.gaps import LEAST_SIDE, Box, Finding, read_boxes, summary

__all__ = ["LEAST_SIDE", "measure", "read_boxes"]


def measure(video: Path, out: Path, boxes: list[Box]) -> list[Finding]:
    """Compare every box in the original, the output and the original encoded again. ValueError for unlike clips."""
    with encoded_again(video) as again:
        frames = (tuple(frame.planes for frame in step) for step in in_step(video, out, again))
        try:
            return gaps.measure(((original, output, control) for original, output, control in frames), boxes)
        except ValueError as error:
            raise ValueError(f"{out}, made of {video}: {error}") from error


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("faces", type=Path)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    try:
        findings = measure(given.video, given.out, read_boxes(given.faces))
    except (ValueError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    rows = summary(findings)
    kept = [f for f in findings if f.kept and f.box.side >= LEAST_SIDE]
    if given.json:
        listed = [{**asdict(f.box), "changed": f.changed, "again": f.again, "ratio": f.ratio} for f in kept]
        print(as_json({"video": given.video, "out": given.out, "crf": default_crf(), "classes": rows, "kept": listed}))
    else:
        print(markdown(list(rows[0]), [list(row.values()) for row in rows]))
        if kept:
            print(f"\nKept, {LEAST_SIDE:.0f} px and up:\n")
            cells = []
            for found in sorted(kept, key=lambda f: f.box.frame):
                box = found.box
                corners = [round(v) for v in (box.x0, box.y0, box.x1, box.y1)]
                cells.append((box.frame, *corners, box.score, found.changed, found.again))
            print(markdown(["frame", "x0", "y0", "x1", "y1", "score", "difference", "encoding alone"], cells))
    return 1 if kept else 0
