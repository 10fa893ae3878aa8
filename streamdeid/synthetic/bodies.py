"""Bodies of synthetic people, in plain shapes: head, ears, hair, neck and clothes, and the room around them."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import HeadPose
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import rectangle_to_rgb, yuv_from_rgb
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import FOREHEAD
from streamdeid.render.new_face import NewFace

Colour = tuple[float, float, float]

_LOOKS: tuple[tuple[Colour, Colour, Colour, bool], ...] = (
    ((1.04, 1.0, 0.97), (92, 58, 36), (38, 92, 104), True),
    ((0.82, 0.76, 0.72), (28, 24, 24), (168, 158, 140), False),
    ((1.1, 1.09, 1.07), (150, 112, 66), (132, 48, 56), True),
    ((0.95, 0.92, 0.88), (66, 62, 60), (58, 70, 110), False),
)
"""Tone of the skin, colour of the hair, colour of the clothes, and whether the hair is long."""
_HEAD = ((100.0, 108.0), (103.0, 124.0), 50.0)
"""Centre, radii and depth of the head's ellipse in the model's frame."""
_CAP = ((100.0, 80.0), (118.0, 122.0), 62.0)
_SHORT_CAP = ((100.0, 72.0), (106.0, 106.0), 55.0)
_EARS = (((-7.0, 108.0), (13.0, 27.0), 88.0), ((207.0, 108.0), (13.0, 27.0), 88.0))

_MIDDLE = 256
"""Row and column of the crown in the picture of strands."""


@dataclass(frozen=True)
class Body:
    """The looks of one person."""

    tone: Colour
    """Gains of red, green and blue on the skin."""
    hair: Colour
    clothes: Colour
    long_hair: bool
    hairline: Points
    """float64 (13,): how far the hair reaches over each forehead point, in pixels of the model's frame."""
    strands: Pixels
    """float32 (h, w): brightness of the hair, about 1."""


def looks(number: int, rng: np.random.Generator) -> Body:
    """The looks of person `number`."""
    tone, hair, clothes, long_hair = _LOOKS[number % len(_LOOKS)]
    noise = rng.normal(0.0, 1.0, (2 * _MIDDLE, 2 * _MIDDLE)).astype(np.float32)
    streaks = np.asarray(cv2.GaussianBlur(noise, (0, 0), sigmaX=0.9, sigmaY=16.0), np.float32)
    strands: Pixels = (1 + 0.11 * streaks / streaks.std()).astype(np.float32)
    line = rng.uniform(-3.0, 3.0, 13) + 5.0 - 13.0 * np.hanning(13)
    return Body(tone, hair, clothes, long_hair, line, strands)


def background(width: int, height: int, rng: np.random.Generator) -> Pixels:
    """An out-of-focus room, float32 (height, width, 3), RGB."""
    down = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    across = np.linspace(-1, 1, width, dtype=np.float32)[None, :, None]
    room = np.array([196, 190, 178], np.float32) * (1.05 - 0.28 * down - 0.1 * across**2)
    unit = height / 36
    for x, wide, colour in ((0.06, 0.2, (222, 230, 236)), (0.4, 0.16, (150, 128, 104)), (0.76, 0.2, (120, 132, 128))):
        x0, x1 = int(x * width), int((x + wide) * width)
        room[int(2 * unit) : int(20 * unit), x0:x1] = colour
    for _ in range(14):
        centre = (int((0.4 + 0.17 * rng.random()) * width), int((4 + 14 * rng.random()) * unit))
        shade = tuple(float(v) for v in rng.uniform(70, 170) + rng.uniform(-30, 30, 3))
        cv2.rectangle(room, centre, (centre[0] + int(1.2 * unit), centre[1] + int(4 * unit)), shade, -1)
    for _ in range(26):
        leaf = (int((0.86 + 0.1 * rng.random()) * width), int((6 + 16 * rng.random()) * unit))
        green = (40.0, float(rng.uniform(80, 130)), 52.0)
        cv2.ellipse(room, leaf, (int(2.4 * unit), int(0.9 * unit)), float(rng.uniform(0, 180)), 0, 360, green, -1)
    room[int(27 * unit) :] *= 0.8
    return np.asarray(cv2.GaussianBlur(room, (0, 0), height / 60), np.float32)


def draw_behind(
    image: Pixels, body: Body, pose: HeadPose, face: NewFace, model: AppearanceModel, place: Points
) -> None:
    """Paint what lies behind the face into an RGB picture float32 (h, w, 3): hair, clothes, neck, ears and head.

    place (2,): where the middle of the face rests; the shoulders follow it.
    """
    skin = _skin(face, model)
    unit = pose.scale
    chin = pose.to_image(np.array([[100.0, 225.0]]), np.array([45.0]))[0]
    if body.long_hair:
        fall = np.array([(-22, 40), (-34, 150), (-30, 250), (-6, 292), (206, 292), (230, 250), (234, 150), (222, 40)])
        _paint_hair(image, body, pose, pose.to_image(smooth_curve(fall.astype(np.float64)), np.full(64, 105.0)), 0.8)
    base = 0.5 * (place + unit * np.array([0.0, 118.0])) + 0.5 * chin
    shoulders = base + unit * smooth_curve(
        np.array([(-62, 30), (-120, 56), (-196, 84), (-232, 160), (-240, 420), (240, 420), (232, 160), (196, 84),
                  (120, 56), (62, 30)], np.float64)
    )  # fmt: skip
    _paint(image, shoulders, body.clothes, 1.1, 0.75)
    neck = np.concatenate(
        [
            chin + unit * np.array([(-58, -60), (58, -60)]),
            base + unit * np.array([(64, 40), (34, 66), (0, 76), (-34, 66), (-64, 40)]),
        ]
    )
    _paint(image, neck, skin, 0.62, 0.95)
    for centre, radii, depth in _EARS:
        _paint(image, pose.to_image(_ellipse(centre, radii), np.full(64, depth)), skin, 0.86, 0.78)
    centre, radii, depth = _HEAD
    _paint(image, pose.to_image(_ellipse(centre, radii), np.full(64, depth)), skin, 1.0, 0.88)


def draw_front(planes: Planes, body: Body, pose: HeadPose, face: NewFace, model: AppearanceModel) -> None:
    """Paint the hair above the forehead into the planes, in place."""
    centre, radii, depth = _CAP if body.long_hair else _SHORT_CAP
    arc = _ellipse(centre, radii)
    low = 110.0 if body.long_hair else 72.0
    arc = arc[arc[:, 1] <= low]
    arc = arc[np.argsort(np.arctan2(arc[:, 1] - low, arc[:, 0] - centre[0]))]  # from the left over the crown
    line = model.mean_shape[FOREHEAD][::-1] + np.column_stack([np.zeros(len(body.hairline)), body.hairline])
    line[[0, -1], 0] += (4.0, -4.0)
    if body.long_hair:  # locks beside the cheeks
        arc = np.concatenate([[(-24.0, 214.0)], arc, [(224.0, 214.0)]])
        line = np.concatenate([[(205.0, 208.0), (203.0, 110.0)], line, [(-3.0, 110.0), (-5.0, 208.0)]])
    depths = np.concatenate([np.full(len(arc), depth), np.full(len(line), 45.0)])
    outline = pose.to_image(np.concatenate([arc, line]), depths)
    x0, y0, x1, y1 = _around(outline, planes.size)
    x0, y0, x1, y1 = x0 & ~1, y0 & ~1, x1 & ~1, y1 & ~1
    if x1 - x0 < 4 or y1 - y0 < 4:
        return
    region = rectangle_to_rgb(planes, x0, y0, x1, y1).astype(np.float32)
    _paint_hair(region, body, pose, outline - (x0, y0), 1.0, (x0, y0))
    matrix, offset = yuv_from_rgb(planes.colour)
    yuv = cv2.transform(np.clip(region, 0, 255), np.concatenate([matrix, offset[:, None]], axis=1))
    mask = _soft(outline - (x0, y0), region.shape) > 0.004
    planes.y[y0:y1, x0:x1][mask] = np.clip(yuv[:, :, 0] + 0.5, 0, 255)[mask].astype(np.uint8)
    half = mask[::2, ::2]
    for plane, channel in ((planes.u, 1), (planes.v, 2)):
        small = cv2.resize(np.ascontiguousarray(yuv[:, :, channel]), half.shape[::-1], interpolation=cv2.INTER_AREA)
        plane[y0 // 2 : y1 // 2, x0 // 2 : x1 // 2][half] = np.clip(small + 0.5, 0, 255)[half].astype(np.uint8)


def _skin(face: NewFace, model: AppearanceModel) -> Colour:
    """The colour of the face near its rim."""
    ring = (model.mean_shape[2:15] - model.mean_shape.mean(axis=0)) * 0.86 + model.mean_shape.mean(axis=0)
    rows, columns = ring[:, 1].round().astype(int), ring[:, 0].round().astype(int)
    red, green, blue = (float(v) for v in np.median(face.picture[rows, columns], axis=0))
    return red, green, blue


def _paint(image: Pixels, outline: Points, colour: Colour, top: float, bottom: float) -> None:
    """Fill an outline (n, 2) with a colour times a factor from `top` to `bottom`, darker at the sides."""
    height, width = image.shape[:2]
    x0, y0, x1, y1 = _around(outline, (width, height))
    if x1 <= x0 or y1 <= y0:
        return
    mask = _soft(outline - (x0, y0), (y1 - y0, x1 - x0))[:, :, None]
    down = np.linspace(top, bottom, y1 - y0, dtype=np.float32)[:, None, None]
    middle, half = float(outline[:, 0].mean()) - x0, float(np.ptp(outline[:, 0])) / 2
    side = 1 - 0.22 * ((np.arange(x1 - x0, dtype=np.float32) - middle) / half)[None, :, None] ** 2
    region = image[y0:y1, x0:x1]
    region += mask * (np.array(colour, np.float32) * down * side - region)


def _paint_hair(
    image: Pixels, body: Body, pose: HeadPose, outline: Points, level: float, origin: tuple[int, int] = (0, 0)
) -> None:
    """Fill an outline (n, 2) with strands of hair that move with the head."""
    height, width = image.shape[:2]
    x0, y0, x1, y1 = _around(outline, (width, height))
    if x1 <= x0 or y1 <= y0:
        return
    mask = _soft(outline - (x0, y0), (y1 - y0, x1 - x0))[:, :, None]
    anchor = pose.to_image(np.array([[100.0, 60.0]]), np.array([40.0]))[0] - origin
    columns = np.mod(np.arange(x0, x1) - round(float(anchor[0])) + _MIDDLE, body.strands.shape[1])
    rows = np.mod(np.arange(y0, y1) - round(float(anchor[1])) + _MIDDLE, body.strands.shape[0])
    strands = body.strands[np.ix_(rows, columns)][:, :, None]
    gloss = 0.95 + 0.25 * np.exp(-(((np.arange(y0, y1) - float(anchor[1]) + 62 * pose.scale) / (34 * pose.scale)) ** 2))
    colour = np.array(body.hair, np.float32) * level * strands * gloss.astype(np.float32)[:, None, None]
    region = image[y0:y1, x0:x1]
    region += mask * (colour - region)


def _ellipse(centre: tuple[float, float], radii: tuple[float, float], count: int = 64) -> Points:
    angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.column_stack([centre[0] + radii[0] * np.cos(angle), centre[1] + radii[1] * np.sin(angle)])


def smooth_curve(corners: Points, count: int = 64) -> Points:
    """A closed curve (count, 2) that rounds the corners (n, 2) of a polygon."""
    t = np.linspace(0, len(corners), count, endpoint=False)
    i = t.astype(int)
    f = (t - i)[:, None]
    a, b, c = corners[i - 1], corners[i], corners[(i + 1) % len(corners)]
    curve: Points = 0.5 * ((1 - f) ** 2 * (a + b) + 2 * f * (1 - f) * 2 * b + f**2 * (b + c))
    return curve


def _soft(outline: Points, shape: tuple[int, ...]) -> Pixels:
    hard = np.zeros(shape[:2], np.uint8)
    cv2.fillPoly(hard, [np.round(outline * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    return np.asarray(cv2.GaussianBlur(hard, (0, 0), 0.8).astype(np.float32) / 255, np.float32)


def _around(outline: Points, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The rectangle of the outline, grown by about three pixels, inside a picture of size (width, height)."""
    (x0, y0), (x1, y1) = np.floor(outline.min(axis=0)) - 3, np.ceil(outline.max(axis=0)) + 4
    return max(0, int(x0)), max(0, int(y0)), min(size[0], int(x1)), min(size[1], int(y1))
