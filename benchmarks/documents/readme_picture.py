"""The picture at the head of the README: three moments of the demo's clip, as filmed and de-identified.

    python -m benchmarks readme_picture            # writes docs/demo.jpg
    python -m benchmarks readme_picture --key 3    # with other new faces

The same key, models and code give the same picture. Credit: portrait of astronaut Eileen M. Collins, NASA, public
domain; NASA does not endorse this software.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

from benchmarks.command_line import parser_of
from streamdeid.cli.main import main as streamdeid
from streamdeid.core.arrays import Picture
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.report.contact_sheet import contact_sheet
from streamdeid.runs.parts import open_source, write_drawing
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.demo_people import demo_people

RATE = 25
MOMENTS = (8, 40, 72)
"""Frames that are shown: a turn to each side and one to the front, talking and smiling."""
PART = (102, 0, 680, 326)
"""x0, y0, x1, y1 of the clip that is shown: both heads."""
WIDTH = 600
"""Pixels of one half."""
QUALITY = 86
"""Of the JPEG: no blocks are seen, and three rows weigh less than 200 KB."""
LABELS = ("as filmed", "de-identified")


def halves(key: int) -> list[list[Picture]]:
    """Rows of two RGB pictures: the clip before and after."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        models = load_models(None)
        drawn = demo_people(models.fitting, models.gallery, seconds=(max(MOMENTS) + 20) / RATE, rate=RATE)
        before, after, secret = place / "before.mp4", place / "after.mp4", place / "key"
        write_drawing(before, (one.frame.planes for one in drawn), RATE)
        secret.touch(0o600)
        secret.write_bytes(hashlib.sha256(f"readme {key}".encode()).digest())
        argv = ["filter", str(before), str(after), "--key-file", str(secret), "--preserve", "gender", "--quiet"]
        if streamdeid(argv) != 0:
            sys.exit("the clip could not be filtered")
        columns = [[frame.planes for frame in open_source(path, Settings())] for path in (before, after)]
        return [[shown(column[moment]) for column in columns] for moment in MOMENTS]


def shown(planes: Planes) -> Picture:
    """The part with the heads, uint8 RGB, `WIDTH` wide."""
    x0, y0, x1, y1 = PART
    rgb = rectangle_to_rgb(planes, x0, y0, x1, y1)
    size = (WIDTH, round(WIDTH * (y1 - y0) / (x1 - x0)))
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def main(argv: list[str]) -> int:
    """Draw, filter, write; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/demo.jpg"), help="(%(default)s)")
    parser.add_argument("--key", type=int, default=5, help="which new faces (%(default)s)")
    arguments = parser.parse_args(argv)
    sheet = contact_sheet(halves(arguments.key), LABELS)
    cv2.imwrite(str(arguments.out), cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1024:.0f} KB, {sheet.shape[1]} x {sheet.shape[0]}")
    return 0
