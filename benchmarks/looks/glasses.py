"""On whom is a frame drawn (observe/glasses.py)? Photographs with one face each, in any subdirectory of DIR.

    python -m benchmarks glasses DIR [--most N] [--sheet FILE]

Each photograph is shown three times, as a video that stands still. Says how many faces were looked at (large
enough), and names those taken to wear glasses. --sheet: the eyes of all of them, those above with a bar; they show real
people. Who does wear glasses, somebody has to look at.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np

from benchmarks.photographs import asked, largest, read_photograph, write_pictures
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Picture
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.protocols import Detector
from streamdeid.observe.glasses import LEAST_WIDTH, eyes_strip
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


def eyes(rgb: Picture, face: Face, marked: bool) -> Picture:
    """The eyes of a face, RGB, with a bar above when marked."""
    assert face.landmarks is not None and face.forehead is not None
    strip = eyes_strip(rgb, np.concatenate([face.landmarks, face.forehead])).copy()
    if marked:
        strip[:6] = (255, 255, 0)
    return strip


def looked_at(photographs: list[Path], detect: Detector, fitting: FitModel) -> tuple[list[str], list[Picture]]:
    """Names of the photographs on which a frame is drawn, and the eyes of all that were looked at."""
    names, strips = [], []
    for path in photographs:
        rgb = read_photograph(path)
        if rgb is None:
            continue
        planes = planes_from_rgb(rgb)
        face = largest(detect, planes)
        if face is None or face.landmarks is None or float(np.ptp(face.landmarks[:, 0])) < LEAST_WIDTH:
            continue
        found = worn(fitting, planes, face)
        names += [path.name] if found else []
        strips.append(eyes(rgb, face, found))
    return names, strips


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    photographs, sheet = asked(__name__, __doc__, argv)
    with contextlib.closing(default_detector(Settings())) as detect:
        names, strips = looked_at(photographs, detect, load_models(None).fitting)
    print(f"a frame on {len(names)} of {len(strips)} faces: {' '.join(names)}")
    if sheet is not None and strips:
        write_pictures(sheet, strips, ACROSS)
    return 0
