"""Photographs of many people: does light open a face, and what do things before it let through?

    python -m benchmarks occluders_photographs DIR [--most N] [--json]

DIR holds photographs (jpg, png) with one face each, in any subdirectory. Each is shown for 15 frames as it is, then for
8 with a lamp or with a thing (`occluders_drawn`); detector and landmarker see both. Rows as those of `occluders`:
faces of which a pixel was opened, the share of the thing that is seen, and the leak in pixels of the photograph, all in
the last frame. That is all an attacker gains from it: where nothing leaks, a recogniser sees what it sees without.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.leaks.occluders import Found, counted
from benchmarks.leaks.occluders_drawn import LAMPS, THINGS, Hidden, before, lit
from benchmarks.photographs import WIDTH, largest, photographs_in
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Floats
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.errors import StreamdeidError
from streamdeid.observe.observation import Observer
from streamdeid.observe.occluders import OccluderMask
from streamdeid.render.new_face import NewFace
from streamdeid.runs.parts import default_detector
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models

LEARNT, SHOWN = 15, 8
"""Frames of a photograph without and with something before it."""


def shown(
    fitting: FitModel, mean: NewFace, first: tuple[Planes, Face], then: tuple[Planes, Face], hidden: Hidden | None
) -> Found:
    """Sums over the last frame of a photograph that changes."""
    found = Found()
    observe, mask = Observer(fitting), OccluderMask(fitting, mean.small_texture)
    for index in range(LEARNT + SHOWN):
        planes, face = first if index < LEARNT else then
        seen = observe(planes, face, index / 25)
        opening = None if seen is None else mask(seen, False)
        if seen is not None and index == LEARNT + SHOWN - 1:
            found.faces = 1
            # That the landmarks have jumped would begin a new face, of which nothing is opened.
            counted(found, fitting, planes, seen, opening, hidden)
    return found


def changes(points: Floats) -> dict[str, Callable[[Planes], tuple[Planes, Hidden | None]]]:
    """What can be done to a photograph whose face is at points (81, 2)."""
    made: dict[str, Callable[[Planes], tuple[Planes, Hidden | None]]] = {}
    for name, lamp in LAMPS.items():
        made[name] = lambda planes, lamp=lamp: (lit(planes, lamp, points, 1.0), None)
    for name, thing in THINGS.items():
        made[name] = lambda planes, thing=thing: before(planes, thing, points, (0.0, 0.0))
    return made


def measured(photographs: list[Path]) -> list[dict[str, Any]]:
    """A row for each lamp and thing. Raises StreamdeidError."""
    fitting = load_models(None).fitting
    mean = NewFace.photographed(np.zeros(len(fitting.model.variances)), fitting)
    sums: dict[str, Found] = {}
    with contextlib.closing(default_detector(Settings())) as detect:
        for path in photographs:
            image = cv2.imread(str(path))
            if image is None:
                continue
            scale = min(1.0, WIDTH / image.shape[1])
            size = tuple(2 * int(side * scale / 2) for side in image.shape[1::-1])
            image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
            planes = planes_from_rgb(np.ascontiguousarray(image[:, :, ::-1]))
            face = largest(detect, planes)
            if face is None or face.landmarks is None or face.forehead is None:
                continue
            for name, change in changes(np.concatenate([face.landmarks, face.forehead])).items():
                changed, hidden = change(planes)
                after = largest(detect, changed)
                if after is not None:
                    found = shown(fitting, mean, (planes, face), (changed, after), hidden)
                    sums.setdefault(name, Found()).add(found)
    return [{"before it": name, **found.row()} for name, found in sums.items()]


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--most", type=int, default=100, help="look at so many photographs, evenly over the directory")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    found = photographs_in(given.directory)
    if not found:
        parser.error(f"no photographs in {given.directory}")
    try:
        rows = measured(found[:: max(1, len(found) // given.most)])
    except StreamdeidError as error:
        parser.error(str(error))
    print(as_json(rows) if given.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    return 0
