"""`streamdeid compare`: write a sheet of faces, with the original above the result."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

from streamdeid.core.arrays import Box, Picture
from streamdeid.core.frames import MOST_PIXELS, Frame
from streamdeid.core.named_files import INPUT, OUTPUT, SHEET, Named, check_named
from streamdeid.core.protocols import Detector
from streamdeid.core.shown_text import say
from streamdeid.errors import ExitCode, InputError, SettingsError
from streamdeid.report.contact_sheet import check_sheet_path, contact_sheet, crop, write_sheet
from streamdeid.runs.parts import default_detector, open_source
from streamdeid.settings import Settings

DESCRIPTION = """\
Draw a sheet of the largest face at equal times: the original above the result.

The upper row shows original faces. Keep the sheet as private as the original."""

_MOST_COLUMNS = 100
_TIME_ACCURACY = Fraction(2, 1000)
_CLEAR = 0.5
"""Least evidence of a face on the sheet."""
_SIDE = 160
"""Side of a face on the sheet in pixels."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("original", type=Path, metavar="IN", help="the original video")
    parser.add_argument("result", type=Path, metavar="OUT", help="what `streamdeid filter` made of it")
    parser.add_argument("--sheet", type=Path, required=True, metavar="PNG", help="the picture to write")
    parser.add_argument("--columns", type=int, default=10, help="faces in a row (%(default)s)")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing sheet")
    parser.add_argument(
        "--most-pixels", type=float, default=MOST_PIXELS, metavar="N",
        help="as for `filter`: millions of pixels that a picture may have (%(default)g)",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command. Raises InputError, SettingsError and OutputError."""
    if not 1 <= arguments.columns <= _MOST_COLUMNS:
        raise SettingsError(f"a sheet has from 1 to {_MOST_COLUMNS} columns, not {arguments.columns}")
    check_sheet_path(arguments.sheet, overwrite=arguments.overwrite)
    check_named(
        "compare",
        [Named(INPUT, arguments.original), Named(OUTPUT, arguments.result), Named(SHEET, arguments.sheet)],
    )
    settings = Settings(most_pixels=arguments.most_pixels)
    original, result = (open_source(path, settings) for path in (arguments.original, arguments.result))
    if (original.info.width, original.info.height) != (result.info.width, result.info.height):
        raise InputError(
            f"{arguments.result} is not the result of {arguments.original}: its pictures have another size"
        )
    duration = Fraction(original.info.frames or 1) / original.info.average_rate
    rows: tuple[list[Picture], list[Picture]] = [], []
    labels = []
    with contextlib.closing(default_detector(settings)) as detect:
        pairs = _pairs(original, result, arguments.result)
        for before, after, box in _chosen(pairs, detect, duration, arguments.columns):
            rows[0].append(crop(before.planes, box, _SIDE))
            rows[1].append(crop(after.planes, box, _SIDE))
            labels.append(f"{float(before.time):.2f} s")
    if not labels:
        raise InputError(f"no face was found in {arguments.original}")
    rights = arguments.original.stat().st_mode & 0o666  # it shows faces of the original
    write_sheet(arguments.sheet, contact_sheet(rows, labels), overwrite=arguments.overwrite, mode=rights)
    say(f"{arguments.sheet}: {len(labels)} faces, originals above. Keep it as private as the original.")
    return ExitCode.DONE


def _pairs(original: Iterable[Frame], result: Iterable[Frame], name: Path) -> Iterator[tuple[Frame, Frame]]:
    """Pairs of frames with the same number in both videos. Raises InputError if counts or times differ."""
    starts: tuple[Fraction, Fraction] | None = None
    for before, after in itertools.zip_longest(original, result):
        if before is None or after is None:
            raise InputError(f"{name} has not as many frames as the original")
        starts = starts or (before.time, after.time)
        if abs((before.time - starts[0]) - (after.time - starts[1])) > _TIME_ACCURACY:
            raise InputError(f"frame {before.index} of {name} is not at the time of the original's")
        yield before, after


def _chosen(
    pairs: Iterable[tuple[Frame, Frame]], detect: Detector, duration: Fraction, columns: int
) -> Iterator[tuple[Frame, Frame, Box]]:
    """Choose a pair of frames, and the largest face's box, for each of `columns` equal parts of the video.

    The pair is at the middle of the part, or the first later one in which a face is found."""
    start: Fraction | None = None
    wanted = 0
    for before, after in pairs:
        start = before.time if start is None else start
        stretch = (before.time - start) * columns / duration
        if wanted >= columns or stretch < wanted + Fraction(1, 2):
            continue
        faces = [face for face in detect(before) if face.evidence >= _CLEAR]
        if faces:
            yield before, after, max(faces, key=lambda face: face.width * face.height).box
            wanted = max(wanted + 1, math.floor(stretch + Fraction(1, 2)))
