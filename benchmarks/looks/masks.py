"""On whom are a face mask and dark glasses drawn, as they are and with a mask? Photographs, one face each, under DIR.

    python -m benchmarks masks DIR [--most N] [--sheet FILE]

Each photograph is looked at as it is and with a mask of each colour drawn on it: from the bridge of the nose to the
chin, shaded as the skin is about the eyes, with pleats. Counts those whose lower face no light is read from
(`render/face_covering.py`), those on whom a mask is drawn and those on whom dark glasses are
(`render/dark_glasses.py`), and names the last two among those as they are. --sheet: these; they show real people. Who
does wear some, somebody has to look at.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np

from benchmarks.clips import markdown
from benchmarks.photographs import asked, largest, read_photograph, write_pictures
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Picture, Points
from streamdeid.core.colour import LUMA, planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.protocols import Detector
from streamdeid.observe.observation import Observer
from streamdeid.render.light import LightFrame
from streamdeid.render.worn import Worn
from streamdeid.report.contact_sheet import crop
from streamdeid.runs.parts import default_detector
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models

COLOURS = {"blue": (0.72, 0.86, 1.0), "white": (1.0, 1.0, 0.99), "green": (0.66, 0.9, 0.8), "pink": (1.0, 0.78, 0.82),
           "grey": (0.6, 0.6, 0.62), "black": (0.12, 0.12, 0.13)}  # fmt: skip
"""Cloth: what of a white sheet's light comes back from it, RGB."""
SHEET = 1.5
"""How much brighter a white sheet is than skin about the eyes; skin gives back a half to two thirds."""
SIDE, ACROSS = 128, 12
"""Of a picture in the sheet, pixels, and how many are in a row."""


def masked(rgb: Picture, landmarks: Points, cloth: tuple[float, float, float]) -> Picture:
    """An RGB picture with a mask before the face of these landmarks (68, 2)."""
    bridge, chin = landmarks[28], landmarks[8]
    ring = np.concatenate([landmarks[2:15], landmarks[[14]] * 0.5 + bridge * 0.5 + (landmarks[29] - bridge) * 0.4])
    ring = np.concatenate([ring, bridge[None], landmarks[[2]] * 0.5 + bridge * 0.5 + (landmarks[29] - bridge) * 0.4])
    hard = np.zeros(rgb.shape[:2], np.uint8)
    cv2.fillPoly(hard, [np.round(ring * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    width = float(np.ptp(landmarks[:, 0]))
    soft = cv2.GaussianBlur(hard, (0, 0), 0.01 * width).astype(np.float32)[:, :, None] / 255
    x, y = np.round(landmarks[28:30].mean(axis=0)).astype(int)
    reach = max(1, round(0.1 * width))
    skin = rgb[max(y - reach, 0) : y + reach, max(x - reach, 0) : x + reach].reshape(-1, 3) @ LUMA
    rows, columns = np.mgrid[: rgb.shape[0], : rgb.shape[1]].astype(np.float32)
    down = (rows - bridge[1]) / max(float(chin[1] - bridge[1]), 1.0)
    aside = (columns - bridge[0]) / max(0.5 * width, 1.0)
    shade = (1 - 0.15 * np.square(aside) - 0.1 * down - 0.04 * (np.sin(12 * down) > 0.8))[:, :, None]
    sheet = min(SHEET * float(np.median(skin)), 250.0) * np.asarray(cloth, np.float32) * np.clip(shade, 0.4, 1)
    return np.asarray(np.clip(rgb + soft * (sheet - rgb), 0, 255).round(), np.uint8)


def looked_at(planes: Planes, face: Face, fitting: FitModel, light: LightFrame) -> tuple[bool, bool, bool] | None:
    """Whether light is read from less than half of the lower face of a picture, and whether a mask and dark glasses are
    drawn on it; None for a face that cannot be measured."""
    seen = Observer(fitting)(planes, face, 0.0)
    if seen is None:
        return None
    cloth, lenses, _ = light.worn_on(seen.small_texture, light.seen_from(seen.pose.rotation[2]))
    told = (light.covering.told(cloth), cloth.colour), (lenses.told, lenses.colour)
    mask, glasses = (Worn().after(*each, seen.width, fresh=True).shown > 0 for each in told)
    return bool(light.covering.bare(cloth).min() < 0.5), mask, glasses


@dataclass
class Found:
    """What was drawn on the photographs of one kind."""

    seen: int = 0
    unread: int = 0
    """Faces of whose lower half less than half counts."""
    masks: dict[str, Picture] = field(default_factory=dict)
    """Faces RGB on whom a mask is drawn, by name."""
    glasses: dict[str, Picture] = field(default_factory=dict)
    """The same of dark glasses."""


def found(photographs: list[Path], detect: Detector) -> dict[str, Found]:
    """What is drawn, by colour of the mask, "bare" for photographs as they are."""
    fitting = load_models(None).fitting
    light = LightFrame.of(fitting)
    kinds = {name: Found() for name in ("bare", *COLOURS)}
    for path in photographs:
        rgb = read_photograph(path)
        if rgb is None:
            continue
        first = largest(detect, planes_from_rgb(rgb))
        if first is None or first.landmarks is None:
            continue
        for name, kind in kinds.items():
            shown = masked(rgb, first.landmarks, COLOURS[name]) if name in COLOURS else rgb
            planes = planes_from_rgb(shown)
            face = largest(detect, planes) if name in COLOURS else first
            result = None if face is None else looked_at(planes, face, fitting, light)
            if face is None or result is None:
                continue
            kind.seen += 1
            kind.unread += result[0]
            for told, pictures in zip(result[1:], (kind.masks, kind.glasses), strict=True):
                if told:
                    pictures["/".join(path.parts[-3:])] = crop(planes, face.box, SIDE, margin=0.0)
    return kinds


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    photographs, sheet = asked(__name__, __doc__, argv)
    with contextlib.closing(default_detector(Settings())) as detect:
        kinds = found(photographs, detect)
    rows = [
        (name, kind.seen, *(part / max(kind.seen, 1) for part in (kind.unread, len(kind.masks), len(kind.glasses))))
        for name, kind in kinds.items()
    ]
    print(markdown(("mask", "faces", "lower face not read", "a mask drawn", "dark glasses drawn"), rows))
    bare = kinds["bare"]
    for what, those in (("masks", bare.masks), ("dark glasses", bare.glasses)):
        print(f"{what} on photographs as they are: {' '.join(those) or 'none'}")
    pictures = [*bare.masks.values(), *bare.glasses.values()]
    if sheet is not None and pictures:
        write_pictures(sheet, pictures, ACROSS)
    return 0
