"""`streamdeid demo`: make a clip of two talking people, filter it, and show original and result side by side."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from streamdeid.cli.inputs import make_directory
from streamdeid.cli.progress import Bar, compile_beside
from streamdeid.core.arrays import Picture, Plane
from streamdeid.core.atomic_file import check_paths
from streamdeid.core.frames import Planes
from streamdeid.core.named_files import OUTPUT, REPORT, SHEET, Named, check_named
from streamdeid.core.shown_text import say
from streamdeid.errors import ExitCode, SettingsError, StreamdeidError
from streamdeid.report.audit import read_report
from streamdeid.report.contact_sheet import contact_sheet, crop, write_sheet
from streamdeid.report.redaction_report import FileSide, Report, write_report
from streamdeid.runs.files import FileRun
from streamdeid.runs.parts import open_source, write_drawing
from streamdeid.settings import ALL_METHODS, Settings, attributes_of
from streamdeid.synthetic.demo_people import CREDIT, demo_people
from streamdeid.synthetic.people import SyntheticFrame

DESCRIPTION = """\
Make a clip of two talking, blinking, turning people and filter it: a portrait of astronaut Eileen M. Collins (NASA,
public domain; NASA does not endorse this software), set in motion, and a drawn man who does not exist. Needs no video.

Writes original.mp4, deidentified.mp4, side_by_side.mp4, sheet.png and report.json, over those of an earlier demo."""

_NAMES = ("original.mp4", "deidentified.mp4", "side_by_side.mp4", "sheet.png", "report.json")
_RATE = 25
_PATIENCE = 60.0
"""Seconds; six times the usual deadline: a demo is not urgent, and an emulated board needs 11 s for the first frame."""
_LONGEST = 60.0
_COLUMNS = 9
_SIDE = 150
"""Side of a face on the sheet in pixels."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--out", type=Path, default=Path("streamdeid_demo"), metavar="DIR", help="(%(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=4.0, help=f"length of the clip, 1 to {_LONGEST:g} (%(default)s)"
    )
    parser.add_argument("--method", default=Settings().method, help=f"one of {', '.join(ALL_METHODS)} (%(default)s)")
    parser.add_argument("--preserve", metavar="NAMES", help="attributes to keep, or none (gender)")
    parser.add_argument(
        "--detector-deadline", type=float, default=_PATIENCE, metavar="S",
        help="seconds that the detector may take for a picture (%(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--overwrite", action="store_true", help="replace files of these names that are not of an earlier demo"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no summary")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command. Raises SettingsError, OutputError and FailedClosed."""
    if not 1.0 <= arguments.seconds <= _LONGEST:
        raise SettingsError(f"a demo lasts from 1 to {_LONGEST:g} seconds, not {arguments.seconds:g}")
    settings = Settings(method=arguments.method, overwrite=True, detector_deadline=arguments.detector_deadline)
    if arguments.preserve is not None:
        if not settings.synthesises:
            raise SettingsError(f"--preserve means nothing to the method {settings.method}")
        settings = replace(settings, preserve=attributes_of(arguments.preserve.split(",")))
    out: Path = arguments.out
    make_directory(out)
    _check_out(out, overwrite=arguments.overwrite)
    compile_beside(shown=not arguments.quiet)
    with FileRun(settings) as run:
        models = run.session().models
        drawn = list(demo_people(models.fitting, models.gallery, seconds=arguments.seconds, rate=_RATE))
        original, result, beside, sheet, told = (out / name for name in _NAMES)
        write_drawing(original, (one.frame.planes for one in drawn), _RATE)
        with Bar(original.name, shown=not arguments.quiet) as bar:
            report = run.filter(original, result, bar)
        choice = run.choice
    filtered = [frame.planes for frame in open_source(result, settings)]
    before = [one.frame.planes for one in drawn]
    write_drawing(beside, _beside(before, filtered), _RATE)
    write_sheet(sheet, _sheet(drawn, filtered), overwrite=True)
    write_report(told, Report(choice, (report,)), overwrite=True)
    if not arguments.quiet:
        levels = ", ".join(f"{count} {name}" for name, count in report.levels.items())
        say(
            f"{report.frames} frames, {report.faces} faces ({levels}), "
            f"{report.timings.frames_per_second:.1f} per second"
        )
        say(f"{out}: side_by_side.mp4 and sheet.png show it; see also original.mp4, deidentified.mp4 and report.json")
        say(CREDIT)
    return ExitCode.DONE


def _check_out(out: Path, *, overwrite: bool) -> None:
    """Raise SettingsError if the demo would replace files that are not those of an earlier demo."""
    paths = [out / name for name in _NAMES]
    roles = (OUTPUT, OUTPUT, OUTPUT, SHEET, REPORT)
    check_named("demo", [Named(role, path) for role, path in zip(roles, paths, strict=True)])
    again = overwrite or _is_demo(paths[0], paths[1], paths[-1])
    for path in paths:
        check_paths(path, None, again)


def _is_demo(original: Path, result: Path, report: Path) -> bool:
    """Whether a report is about the two clips that are there, so that they are those of an earlier demo."""
    try:
        (one,) = read_report(report).files
        return [one.input, one.output] == [FileSide.of(original), FileSide.of(result)]
    except (StreamdeidError, ValueError, OSError):
        return False


def _beside(left: Sequence[Planes], right: Sequence[Planes]) -> Iterator[Planes]:
    for a, b in zip(left, right, strict=True):
        yield Planes(_joined(a.y, b.y), _joined(a.u, b.u), _joined(a.v, b.v), a.colour)


def _joined(left: Plane, right: Plane) -> Plane:
    return np.concatenate([left, right], axis=1)


def _sheet(drawn: Sequence[SyntheticFrame], filtered: Sequence[Planes]) -> Picture:
    """A sheet of every person's face at equal time intervals, with the original above the result."""
    chosen = np.linspace(0, len(drawn) - 1, min(_COLUMNS, len(drawn))).round().astype(int)
    rows: list[list[Picture]] = []
    for person in range(len(drawn[0].truths)):
        pairs = [(drawn[i].frame.planes, filtered[i], drawn[i].truths[person].box) for i in chosen]
        rows.append([crop(before, box, _SIDE) for before, _, box in pairs])
        rows.append([crop(after, box, _SIDE) for _, after, box in pairs])
    return contact_sheet(rows, [f"{i / _RATE:.2f} s" for i in chosen])
