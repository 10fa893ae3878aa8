"""On whom is a frame drawn (observe/glasses.py)? Photographs with one face each, in any subdirectory of DIR.

    python -m benchmarks glasses DIR [--most N] [--sheet FILE]

Each photograph is shown three times, as a video that stands still. Says how many faces were looked at (large
enough), and names those taken to wear glasses. --sheet: the eyes of all of them, those above with a bar; they show real
people. Who does wear glasses, somebody has to look at.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.command_line import parser_of
from benchmarks.leaks.occluders_photographs import WIDTH, largest
from streamdeid.aam.fit import FitModel
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.protocols import Detector
from streamdeid.observe.glasses import LEAST_WIDTH, STRIP, eyes_strip
from streamdeid.observe.observation import Observer
from streamdeid.runs.parts import default_detector
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models

SHOWN = 3
"""Times that a photograph is shown: after so many a frame may be drawn."""
ACROSS = 14
"""Strips in a row of the sheet."""


def worn(fitting: FitModel, planes: Planes, face: Face) -> bool:
    """Whether a frame is drawn on the face of a picture."""
    observe = Observer(fitting)
    seen = [observe(planes, face, index / 25) for index in range(SHOWN)]
    return seen[-1] is not None and seen[-1].glasses is not None


def eyes(rgb: NDArray[np.uint8], face: Face, marked: bool) -> NDArray[np.uint8]:
    """The eyes of a face, BGR uint8, with a bar above when marked."""
    assert face.landmarks is not None and face.forehead is not None
    strip = eyes_strip(rgb, np.concatenate([face.landmarks, face.forehead]))[:, :, ::-1].copy()
    if marked:
        strip[:6] = (0, 255, 255)
    return strip


def looked_at(
    photographs: list[Path], detect: Detector, fitting: FitModel
) -> tuple[list[str], list[NDArray[np.uint8]]]:
    """Names of the photographs on which a frame is drawn, and the eyes of all that were looked at."""
    names, strips = [], []
    for path in photographs:
        picture = cv2.imread(str(path))
        if picture is None:
            continue
        scale = min(1.0, WIDTH / picture.shape[1])
        height, width = (2 * round(scale * v / 2) for v in picture.shape[:2])
        rgb = np.ascontiguousarray(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)[:, :, ::-1])
        planes = planes_from_rgb(np.asarray(rgb, np.uint8))
        face = largest(detect, planes)
        if face is None or face.landmarks is None or float(np.ptp(face.landmarks[:, 0])) < LEAST_WIDTH:
            continue
        found = worn(fitting, planes, face)
        names += [path.name] if found else []
        strips.append(eyes(np.asarray(rgb, np.uint8), face, found))
    return names, strips


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--most", type=int, default=None)
    parser.add_argument("--sheet", type=Path, default=None)
    arguments = parser.parse_args(argv)
    photographs = sorted(p for p in arguments.directory.rglob("*") if p.suffix.lower() in (".jpg", ".png"))
    with contextlib.closing(default_detector(Settings())) as detect:
        names, strips = looked_at(photographs[: arguments.most], detect, load_models(None).fitting)
    print(f"a frame on {len(names)} of {len(strips)} faces: {' '.join(names)}")
    if arguments.sheet is not None and strips:
        strips += [np.zeros((STRIP[1], STRIP[0], 3), np.uint8)] * (-len(strips) % ACROSS)
        rows = [np.concatenate(strips[i : i + ACROSS], axis=1) for i in range(0, len(strips), ACROSS)]
        cv2.imwrite(str(arguments.sheet), np.concatenate(rows))
    return 0
