"""A still portrait of a man who does not exist: a face from the surrogate bank with painted hair, neck and sweater."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.pose import HeadPose
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.ibug68 import FOREHEAD, OUTLINE
from streamdeid.render.new_face import NewFace
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.bodies import smooth_curve
from streamdeid.synthetic.faces import draw_talking_face
from streamdeid.synthetic.moving_portrait import Portrait
from streamdeid.synthetic.people import distinct_people, iris_centres

_FINER = 2
"""Everything is painted at this multiple of the size and then shrunk, which smooths hair and edges."""
_TONE = np.array([1.12, 1.06, 1.02], np.float32)
"""Gains of red, green and blue on the skin."""
_HAIR = np.array([50.0, 39.0, 31.0])
_CLOTHES = np.array([47.0, 62.0, 86.0])
_TURN = 0.06
"""Radians by which the man looks towards the person on his right."""
_STROKES = 10000
"""Number of painted hairs."""
_CROWN = ((99.5, 80.0), (104.0, 122.0))
"""Centre and radii of the outline of the hair in the model's frame."""
_EAR = (14.0, 29.0)
_SIDE_LIGHT = 0.16
"""How much darker the side of the face that is away from the lamp is than the other; the lamp is at the picture's
left."""
_GRAIN = 1.3
"""Standard deviation of the noise, grey levels: the noise of the enlarged photograph beside him."""


def drawn_portrait(
    fitting: FitModel,
    gallery: Gallery,
    size: tuple[int, int],
    place: tuple[float, float],
    scale: float,
    rng: np.random.Generator,
) -> Portrait:
    """A portrait of size (width, height) with the middle of the face at `place`, in pixels.

    The same rng gives the same portrait. scale: pixels for one pixel of the model's frame. The face is the second of
    `distinct_people`, a man where the gallery has labels.
    """
    model = fitting.model
    width, height = size[0] * _FINER, size[1] * _FINER
    face = NewFace.photographed(distinct_people(fitting, gallery, 2, rng)[1], fitting)
    face = replace(face, picture=face.picture * _TONE, small_texture=face.small_texture * _TONE)
    pose = _pose(model, np.array(place, np.float64) * _FINER, scale * _FINER)
    canvas = _Canvas(width, height, pose)
    skin = _skin_colour(face, model)
    _draw_clothes(canvas, rng)
    _draw_neck(canvas, skin)
    points = pose.to_image(face.shape, model.depth)
    _draw_head(canvas, skin, points[OUTLINE])
    iris = pose.to_image(iris_centres(face.shape, model), np.full(2, -5.0))
    planes = planes_from_rgb(np.clip(canvas.picture, 0, 255).astype(np.uint8))
    draw_talking_face(planes, face, points, iris, pose, model)
    canvas.picture[:] = rectangle_to_rgb(planes, 0, 0, width, height)
    across = np.clip((np.arange(width, dtype=np.float32) - points[:, 0].mean()) / np.ptp(points[:, 0]), -1, 1)
    canvas.picture *= (1 - _SIDE_LIGHT * across)[None, :, None]
    _draw_hair(canvas, face.shape, rng)
    small = cv2.resize(canvas.picture, size, interpolation=cv2.INTER_AREA)
    small = cv2.GaussianBlur(small, (0, 0), 0.6)
    noise = cv2.GaussianBlur(rng.normal(0, 1, (size[1], size[0], 1)).astype(np.float32), (0, 0), 0.8)
    picture = small + (_GRAIN / noise.std() * noise)[:, :, None]
    alpha = cv2.resize(canvas.alpha, size, interpolation=cv2.INTER_AREA)

    def finer_to_own(at: Points) -> Points:
        return (at + 0.5) / _FINER - 0.5

    return Portrait(
        np.clip(picture, 0, 255).astype(np.float32),
        np.asarray(alpha, np.float32),
        finer_to_own(points),
        finer_to_own(iris),
    )


class _Canvas:
    """A picture RGB float32 (h, w, 3) with alpha, and the pose that puts the model's frame into it."""

    def __init__(self, width: int, height: int, pose: HeadPose) -> None:
        self.picture: Pixels = np.zeros((height, width, 3), np.float32)
        self.picture[:] = _HAIR
        self.alpha: Pixels = np.zeros((height, width), np.float32)
        self.pose = pose

    def place(self, points: Points, depth: float) -> Points:
        """Points (n, 2) of the model's frame in the canvas."""
        return self.pose.to_image(points, np.full(len(points), depth))

    def mask(self, outline: Points, soft: float) -> Pixels:
        """A filled outline (n, 2), float32 (h, w), with edges `soft` pixels of the model's frame wide."""
        hard = np.zeros(self.alpha.shape, np.uint8)
        cv2.fillPoly(hard, [np.round(outline * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
        blurred = cv2.GaussianBlur(hard.astype(np.float32), (0, 0), max(soft * self.pose.scale, 0.5))
        return np.asarray(blurred / 255, np.float32)

    def paint(self, mask: Pixels, colour: NDArray[Any], *, solid: bool = True) -> None:
        """Lay a colour (3,) or a picture (h, w, 3) over a mask; if not solid, as a shadow that keeps the alpha."""
        self.picture += mask[:, :, None] * (colour.astype(np.float32) - self.picture)
        if solid:
            self.alpha[:] = np.maximum(self.alpha, mask)


def _pose(model: AppearanceModel, place: Points, scale: float) -> HeadPose:
    """A pose turned by `_TURN`, with the middle of the face at `place`."""
    cos, sin = np.cos(_TURN), np.sin(_TURN)
    rotation = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
    middle = HeadPose(scale, rotation, np.zeros(2)).to_image(model.mean_shape, model.depth).mean(axis=0)
    return HeadPose(scale, rotation, place - middle)


def _skin_colour(face: NewFace, model: AppearanceModel) -> Points:
    """The median colour of the cheeks beside the mouth, float64 (3,)."""
    middle = model.mean_shape.mean(axis=0)
    ring = (model.mean_shape[[2, 3, 4, 12, 13, 14]] - middle) * 0.8 + middle
    rows, columns = ring[:, 1].round().astype(int), ring[:, 0].round().astype(int)
    colour: Points = np.median(face.picture[rows, columns], axis=0).astype(np.float64)
    return colour


def _draw_clothes(canvas: _Canvas, rng: np.random.Generator) -> None:
    """Paint a knitted sweater with light from above, soft folds and a ribbed neck."""
    height, width = canvas.alpha.shape
    unit = canvas.pose.scale
    base = canvas.place(np.array([[99.5, 232.0]]), 40.0)[0]
    corners = [
        (-64, 22),
        (-118, 48),
        (-190, 74),
        (-236, 150),
        (-262, 700),
        (262, 700),
        (236, 150),
        (190, 74),
        (118, 48),
    ]
    outline = base + unit * smooth_curve(np.array([*corners, (64, 22)], np.float64), 200)
    folds = cv2.GaussianBlur(rng.normal(0, 1, (height, width)).astype(np.float32), (0, 0), 9 * unit, sigmaY=26 * unit)
    knit = cv2.GaussianBlur(rng.normal(0, 1, (height, width)).astype(np.float32), (0, 0), 0.8, sigmaY=2.2)
    down, across = np.mgrid[0:height, 0:width].astype(np.float32)
    x, y = (across - base[0]) / (240 * unit), (down - base[1]) / (320 * unit)
    light = 1.12 - 0.3 * np.clip(y, 0, 1) - 0.3 * np.abs(x) ** 2.5 - 0.14 * x
    light = light * (1 + 0.09 * folds / folds.std() + 0.05 * knit / knit.std())
    canvas.paint(canvas.mask(outline, 0.8), _CLOTHES * np.clip(light, 0.2, 1.5)[:, :, None])
    neck = base + unit * smooth_curve(_neckline(1.0), 200)
    canvas.paint(canvas.mask(neck + unit * np.array([0.0, 7.0]), 4.0) * 0.45, _CLOTHES * 0.45, solid=False)
    ribs = 0.86 + 0.1 * np.sin(np.arctan2(down - base[1] + 40 * unit, across - base[0]) * 110)
    canvas.paint(canvas.mask(neck, 0.8), _CLOTHES * (ribs * (1.02 - 0.14 * x))[:, :, None])
    canvas.paint(canvas.mask(base + unit * smooth_curve(_neckline(0.82), 200), 1.2), _CLOTHES * 0.4)


def _neckline(size: float) -> Points:
    """The corners of the sweater's opening, around the middle of its upper rim."""
    return size * np.array([(-82, 18), (-78, 46), (-40, 76), (0, 84), (40, 76), (78, 46), (82, 18), (0, 4)], np.float64)


def _draw_neck(canvas: _Canvas, skin: Points) -> None:
    """Paint a round neck with the shadow of the jaw on it and the hollow above the collar."""
    unit = canvas.pose.scale
    base = canvas.place(np.array([[99.5, 232.0]]), 40.0)[0]
    side = [(-64, -70), (-60, -20), (-62, 14), (-66, 40), (-34, 62), (0, 68)]
    corners = np.array([*side, *[(-x, y) for x, y in side[-2::-1]]], np.float64)
    outline = base + unit * smooth_curve(corners, 200)
    height, width = canvas.alpha.shape
    down, across = np.mgrid[0:height, 0:width].astype(np.float32)
    x, y = (across - base[0]) / (64 * unit), (down - base[1]) / unit
    light = 0.84 - 0.24 * np.abs(x) ** 2.4 - 0.07 * x - 0.4 * np.exp(-(((y + 4) / 22) ** 2))
    tendons = np.exp(-(((np.abs(x) - 0.52 + 0.004 * y) / 0.1) ** 2)) * np.clip(y / 50, 0, 1)
    warm = np.array([1.0, 0.955, 0.93], np.float32)
    canvas.paint(canvas.mask(outline, 1.0), skin * warm * (light + 0.05 * tendons)[:, :, None])
    hollow = base + unit * (smooth_curve(np.array([(-14, 48), (14, 48), (18, 66), (-18, 66)], np.float64), 40))
    canvas.paint(0.16 * canvas.mask(hollow, 6.0), skin * 0.45, solid=False)


def _draw_head(canvas: _Canvas, skin: Points, outline: Points) -> None:
    """Paint the ears, the sides of the head, and skin under the face's outline (n, 2)."""
    for side in (-1, 1):
        centre = np.array([99.5 + side * 103.0, 108.0])
        lean = np.array([side * 5.0, 0.0])
        for size, depth, level, soft in ((1.0, 70.0, 0.82, 1.2), (0.7, 68.0, 0.62, 3.0), (0.4, 66.0, 0.78, 3.0)):
            ring = _ellipse(np.array(_EAR) * size)
            ring = centre + ring - lean * (ring[:, 1:] / _EAR[1])
            canvas.paint(canvas.mask(canvas.place(ring, depth), soft), skin * np.array([1.04, 0.95, 0.92]) * level)
    skull = np.array([99.5, 104.0]) + _ellipse(np.array([99.0, 118.0]))
    canvas.paint(canvas.mask(canvas.place(skull, 55.0), 1.5), skin * 0.9)
    canvas.paint(canvas.mask(outline, 1.0), skin * 0.92)


def _draw_hair(canvas: _Canvas, shape: Points, rng: np.random.Generator) -> None:
    """Paint short hair, combed back and to one side, from behind to the hairline; each hair is one stroke."""
    line, crown = _hairline(shape), _crown_line()
    inner = line + (crown - line) * 0.2
    cap = np.concatenate([canvas.place(crown[2:-2], 58.0), canvas.place(inner[2:-2], 24.0)[::-1]])
    canvas.paint(canvas.mask(cap, 4.0), _HAIR * 0.62)
    layer = np.clip(canvas.picture, 0, 255).astype(np.uint8)
    cover = (canvas.alpha * 255).astype(np.uint8)
    u, v = rng.beta(1.35, 1.35, _STROKES), np.sort(rng.random(_STROKES) ** 0.8)[::-1]
    knots = np.linspace(0, 1, len(line))
    at, to = (np.stack([np.interp(u, knots, curve[:, c]) for c in range(2)], axis=1) for curve in (line, crown))
    outward = (to - at) / np.linalg.norm(to - at, axis=1)[:, None]
    top, bent = np.sin(np.pi * u)[:, None], rng.normal(0, 0.16, _STROKES)[:, None]
    # At the temples hair lies along the head; on top it goes back and to one side; at the outline it bends over.
    downward = np.stack([0.35 * np.sign(u - 0.5), np.ones(_STROKES)], axis=1)
    along = downward * (1 - top) + np.array([1.0, 0.15]) * top
    comb = outward * top * (1 - 0.8 * v[:, None]) + along * (0.4 + 0.6 * v[:, None]) + bent
    comb *= rng.uniform(8, 24, (_STROKES, 1)) * (0.35 + 0.65 * top) / np.linalg.norm(comb, axis=1)[:, None]
    step = np.linspace(0, 1, 5)[:, None]
    strokes = (at + 0.97 * v[:, None] * (to - at))[:, None] + step * comb[:, None] + step**2 * np.array([0.0, 2.0])
    gloss = 1 + 0.8 * np.exp(-(((v - 0.5 - 0.2 * bent[:, 0]) / 0.22) ** 2)) * np.exp(-(((u - 0.42) / 0.28) ** 2))
    locks = 0.16 * np.sin(61 * u + 5 * np.sin(9 * v))
    level = np.maximum(0.35, rng.normal(1.0, 0.28, _STROKES) + locks) * gloss * (0.85 + 0.25 * top[:, 0])
    curves = canvas.pose.to_image(strokes.reshape(-1, 2), np.repeat(22 + 36 * v, len(step)))
    places = np.round(curves * 16).astype(np.int32).reshape(_STROKES, len(step), 2)
    tones = np.clip(level[:, None] * _HAIR, 0, 255).tolist()
    for place, tone in zip(places, tones, strict=True):
        cv2.polylines(layer, [place], False, tone, 1, cv2.LINE_AA, 4)
        cv2.polylines(cover, [place], False, (255,), 1, cv2.LINE_AA, 4)
    canvas.picture[:] = layer
    canvas.alpha[:] = np.maximum(canvas.alpha, cover.astype(np.float32) / 255)


def _hairline(shape: Points) -> Points:
    """Roots of the foremost hair, from the left ear over the forehead to the right, (17, 2), in the model's frame."""
    line = shape[FOREHEAD].copy()
    line[:, 0] += np.linspace(3.0, -3.0, 13)
    line[:, 1] += 9.0 - 6.0 * np.hanning(13) + 2.5 * np.sin(np.arange(13) * 2.3)
    left, right = np.array([(5.0, 104.0), (9.0, 84.0)]), np.array([(190.0, 84.0), (194.0, 104.0)])
    return np.concatenate([left, line, right])


def _crown_line() -> Points:
    """The outline of the hair, one point behind each point of `_hairline`."""
    (x, y), (across, down) = _CROWN
    angle = np.linspace(0.0, np.pi, 13)
    arc = np.column_stack([x - across * np.cos(angle), y - down * np.sin(angle) ** 0.85])
    left, right = np.array([(1.0, 106.0), (-1.0, 92.0)]), np.array([(200.0, 92.0), (198.0, 106.0)])
    return np.concatenate([left, arc, right])


def _ellipse(radii: Points) -> Points:
    angle = np.linspace(0, 2 * np.pi, 96, endpoint=False)
    return np.column_stack([np.cos(angle), np.sin(angle)]) * radii
