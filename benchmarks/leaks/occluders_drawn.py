"""Things drawn before faces of clips, where exactly they lie, how they come and go; and lamps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.frames import Planes

Hidden = NDArray[np.float32]
Change = Callable[[Planes, int], tuple[Planes, Hidden | None]]
"""Of a picture and its frame's number: the changed picture, and the share of each of its pixels that a thing hides."""
Polygon = tuple[tuple[float, float], ...]
"""Corners in widths of the face about its middle, y downwards."""

_CUP: Polygon = ((-0.36, -0.1), (0.36, -0.1), (0.26, 0.9), (-0.26, 0.9))
_PHONE: Polygon = ((-0.24, -0.35), (0.24, -0.35), (0.24, 0.75), (-0.24, 0.75))
_SHEET: Polygon = ((-0.75, 0.0), (0.75, -0.08), (0.8, 1.1), (-0.7, 1.15))
_MASK: Polygon = ((0, -0.06), (0.25, 0.04), (0.5, 0.02), (0.47, 0.35), (0.28, 0.62), (0, 0.7))
_HAND: Polygon = (
    *(
        (-0.34, 0.95),
        (-0.4, 0.5),
        (-0.52, 0.28),
        (-0.45, 0.2),
        (-0.3, 0.35),
        (-0.3, -0.05),
        (-0.2, -0.06),
        (-0.17, 0.2),
    ),
    *((-0.12, -0.18), (-0.02, -0.18), (0.0, 0.2), (0.05, -0.12), (0.15, -0.1), (0.13, 0.22)),
    *((0.2, 0.02), (0.29, 0.05), (0.28, 0.5), (0.26, 0.95)),
)
_STICK: Polygon = ((-0.5, 0.25), (0.9, 0.05), (0.9, 0.17), (-0.5, 0.37))
_SCARF: Polygon = ((-0.7, 0.12), (-0.2, 0.22), (0.2, 0.2), (0.7, 0.1), (0.75, 1.2), (-0.75, 1.2))


@dataclass(frozen=True)
class Thing:
    """Something that hides a part of a face."""

    outline: Polygon
    colour: tuple[float, float, float] | None
    """RGB in a light in which skin is about 150; None: the colour of the very face."""
    grain: float = 3.0
    """Standard deviation of its texture, grey levels."""
    stripe: tuple[float, float, float] | None = None
    """RGB of a print on it."""


THINGS: dict[str, Thing] = {
    "blue cup": Thing(_CUP, (40, 80, 170)),
    "green cup": Thing(_CUP, (50, 140, 70)),
    "red cup": Thing(_CUP, (190, 30, 35)),
    "yellow cup": Thing(_CUP, (215, 180, 30)),
    "printed cup": Thing(_CUP, (60, 90, 190), 3.0, (230, 230, 225)),
    "brown cup": Thing(_CUP, (135, 95, 65)),
    "white cup": Thing(_CUP, (205, 205, 202)),
    "white paper": Thing(_SHEET, (215, 215, 213), 2.0),
    "surgical mask": Thing(tuple((-x, y) for x, y in reversed(_MASK)) + _MASK, (130, 180, 205), 4.0),
    "grey phone": Thing(_PHONE, (95, 97, 100), 2.0),
    "dark cloth": Thing(_SCARF, (38, 35, 40), 6.0),
    "microphone": Thing(((-0.14, 0.2), (0.0, 0.1), (0.14, 0.2), (0.1, 0.9), (-0.1, 0.9)), (28, 28, 30), 5.0),
    "blue stick": Thing(_STICK, (40, 80, 190)),
    "hand": Thing(_HAND, None, 5.0),
}


@dataclass(frozen=True)
class Lamp:
    """Light on a part of a face, or something clear before it: nothing of the face is hidden."""

    gain: tuple[float, float, float]
    """Of R, G and B, as numbers of the picture."""
    towards: tuple[float, float]
    """Direction in which it falls off: across and down."""
    width: float
    """Over how much of the face's width it falls off: 0.01 is a sharp shadow's edge."""
    veil: float = 0.0
    """Share of a colour, `gain` times 128, that is mixed in instead."""


LAMPS: dict[str, Lamp] = {
    "blue lamp": Lamp((0.3, 0.7, 1.5), (1, 0), 0.15),
    "blue lamp, sharp": Lamp((0.3, 0.7, 1.5), (0, -1), 0.01),
    "green lamp, sharp": Lamp((0.4, 1.3, 0.6), (1, 0), 0.01),
    "white lamp": Lamp((1.3, 1.55, 1.9), (1, 0), 0.1),
    "shadow": Lamp((0.3, 0.36, 0.45), (-1, 0), 0.02),
    "grey light": Lamp((0.72, 0.9, 1.1), (0, -1), 0.03),
    "clear blue shield": Lamp((0.5, 0.9, 1.6), (0, -1), 0.01, 0.5),
    "breath on glass": Lamp((1.6, 1.6, 1.6), (0, -1), 0.05, 0.6),
}


def lit(planes: Planes, lamp: Lamp, points: NDArray[np.float64], share: float) -> Planes:
    """The picture with a lamp at a share of its strength on a face at points (81, 2)."""
    rgb = rectangle_to_rgb(planes, 0, 0, *planes.size).astype(np.float32)
    width = float(np.ptp(points[:, 0]))
    x0, y0 = points[:, 0].mean(), points[27:36, 1].mean()
    y, x = np.mgrid[: rgb.shape[0], : rgb.shape[1]].astype(np.float32)
    along = ((x - x0) * lamp.towards[0] + (y - y0) * lamp.towards[1]) / width
    weight = (share / (1 + np.exp(np.clip(-along / lamp.width * 4, -30, 30))))[:, :, None]
    gain = np.array(lamp.gain, np.float32)
    mixed = lamp.veil * (128 * gain - rgb) if lamp.veil else rgb * (gain - 1)
    changed = rgb + weight * mixed
    return planes_from_rgb(np.clip(changed + 0.5, 0, 255).astype(np.uint8), planes.colour)


def comes_in(count: int) -> Callable[[int], tuple[float, float] | None]:
    """Comes from below right after a third of the frames, stands there with a tremor, and goes back at the end."""

    def place(frame: int) -> tuple[float, float] | None:
        start, end, ramp = count // 3, count - count // 12, 8
        share = min(frame - start, end - frame, ramp) / ramp
        if share <= 0:
            return None
        tremor = 0.02 * np.sin(0.7 * frame), 0.015 * np.cos(0.5 * frame)
        return 0.9 * (1 - share) + tremor[0], 1.3 * (1 - share) + tremor[1]

    return place


def from_the_first(count: int) -> Callable[[int], tuple[float, float] | None]:
    """Is there in the first frame and goes away to the left in the last third."""

    def place(frame: int) -> tuple[float, float] | None:
        share = max(0.0, (frame - count * 2 // 3) / 12)
        return None if share > 2 else (-0.8 * share, 0.01 * np.sin(0.6 * frame))

    return place


def before(
    planes: Planes, thing: Thing, points: NDArray[np.float64], offset: tuple[float, float]
) -> tuple[Planes, NDArray[np.float32]]:
    """The picture with a thing before a face at points (81, 2), moved by offset in widths of the face, and the share
    float32 (h, w) of each pixel that it hides."""
    rgb = rectangle_to_rgb(planes, 0, 0, *planes.size).astype(np.float32)
    width = float(np.ptp(points[:, 0]))
    middle = np.array([points[:, 0].mean(), points[27:36, 1].mean()])
    corners = cv2.convexHull(points.round().astype(np.int32))
    hull = cv2.fillConvexPoly(np.zeros(rgb.shape[:2], np.uint8), corners, (1,))
    skin = np.median(rgb[hull > 0], axis=0)
    outline = (np.array(thing.outline) + offset) * width + middle
    hidden = _filled(outline, rgb.shape[:2])
    look = _look(thing, outline, skin, rgb.shape[:2])
    mixed = rgb + hidden[:, :, None] * (look - rgb)
    return planes_from_rgb(np.clip(mixed + 0.5, 0, 255).astype(np.uint8), planes.colour), hidden


def _filled(corners: NDArray[np.float64], size: tuple[int, ...]) -> NDArray[np.float32]:
    mask = np.zeros(size, np.uint8)
    cv2.fillPoly(mask, [np.round(corners * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    return np.asarray(cv2.GaussianBlur(mask, (0, 0), 0.7), np.float32) / 255


def _look(
    thing: Thing, corners: NDArray[np.float64], skin: NDArray[np.float32], size: tuple[int, ...]
) -> NDArray[np.float32]:
    """Colours float32 (h, w, 3): round shading, a print, grain that hangs on the thing."""
    (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
    level = 1.0 if thing.colour is None else float(skin.mean()) / 140
    own = skin if thing.colour is None else np.array(thing.colour, np.float32) * min(level, 1.15)
    y, x = np.mgrid[: size[0], : size[1]].astype(np.float32)
    across = (x - x0) / max(x1 - x0, 1.0) - 0.5
    down = (y - y0) / max(y1 - y0, 1.0)
    picture = np.broadcast_to(own, (*size, 3)) * (1.05 - 1.3 * across[:, :, None] ** 2)
    if thing.stripe is not None:
        printed = (np.abs(down - 0.35) < 0.08) & (np.sin(across * 40) > 0)
        picture = np.where(printed[:, :, None], np.array(thing.stripe, np.float32) * level, picture)
    grain = np.random.default_rng(5).normal(0, thing.grain, (128, 128)).astype(np.float32)
    u, v = ((across + 0.5) * 127).astype(np.float32), (down * 127).astype(np.float32)
    spotted = cv2.remap(cv2.GaussianBlur(grain, (0, 0), 0.8), u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(picture + 1.5 * spotted[:, :, None], np.float32)


def changes(largest: dict[int, Floats], frames: int) -> Iterator[tuple[str, str, Change]]:
    """Kind, name and change of all lamps and things for a clip, with the points of its largest face by frame."""
    last = largest[min(largest)]
    points = []
    for index in range(frames):
        last = largest.get(index, last)
        points.append(last)

    def lamp(name: str) -> Change:
        def change(planes: Planes, index: int) -> tuple[Planes, Hidden | None]:
            share = float(np.clip((index - frames // 3) / 6, 0, 1))
            return (lit(planes, LAMPS[name], points[index], share) if share else planes), None

        return change

    def thing(name: str, place: Callable[[int], tuple[float, float] | None]) -> Change:
        def change(planes: Planes, index: int) -> tuple[Planes, Hidden | None]:
            offset = place(index)
            if offset is None:
                return planes, np.zeros(planes.y.shape, np.float32)
            return before(planes, THINGS[name], points[index], offset)

        return change

    for name in LAMPS:
        yield "lamp", name, lamp(name)
    for name in THINGS:
        yield "comes in", name, thing(name, comes_in(frames))
        yield "there from the first", name, thing(name, from_the_first(frames))
