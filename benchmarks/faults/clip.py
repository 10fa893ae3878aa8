"""Clips for `faults`: people of the model who walk, a watermark in each face, the truth about every frame.

Nobody in them ever lived. Every picture carries its own number as bright and dark squares in a corner, so that a
detector that knows the truth knows it of a picture, not of a place in a stream: pictures may come twice or in another
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.watermark import Watermark
from streamdeid.aam.fit import FitModel
from streamdeid.aam.pose import HeadPose
from streamdeid.core.arrays import Points, Singles
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame, Planes
from streamdeid.core.ibug68 import LANDMARKS, LEFT_EYE, OUTLINE, RIGHT_EYE
from streamdeid.protect.self_test import known_face
from streamdeid.render.new_face import NewFace
from streamdeid.surrogates.models import Models
from streamdeid.synthetic.bodies import background, draw_behind, draw_front, looks
from streamdeid.synthetic.faces import draw_talking_face
from streamdeid.synthetic.motion import motion
from streamdeid.video.picture_memory import picture_of

SIZE = (256, 176)
"""Width and height of the pictures."""
RATE = 12
"""Frames per second: a second of missed faces is then a reasonable number of frames."""
_CANVAS = 160
"""Side of the picture that one person is drawn into."""
_MOODS = 4
"""Expressions of a person."""
_PEOPLE = 6
"""Different people; a clip takes one or two of them."""
_SQUARE, _BITS = 6, 7
"""Side of a square of a frame's number in pixels, and how many there are."""


@dataclass(frozen=True)
class Sprite:
    """One person with one expression on a square canvas: pictures and how much of the background they hide."""

    pictures: tuple[Singles, Singles, Singles]
    """Y, U and V with the background's share taken out."""
    alphas: tuple[Singles, Singles, Singles]
    face: Face
    """True landmarks, in pixels of the canvas."""
    hull: Singles
    """float32 (h, w): 1 inside the hull of the face."""
    corner: tuple[int, int]
    """x and y of the hull's box on the canvas; both even."""


@dataclass(frozen=True)
class Clip:
    """Pictures and the truth about them."""

    pictures: tuple[Planes, ...]
    faces: tuple[tuple[Face, ...], ...]
    """True faces of each picture."""
    watermarks: tuple[Watermark, ...]
    """One for each person."""

    def write(self, path: Path) -> None:
        """Encode it as an MP4 file, a key frame every ten pictures: so that something is left after damage."""
        with av.open(str(path), "w") as output:
            stream: av.VideoStream = output.add_stream(
                "libx264", rate=RATE, options={"crf": "17", "preset": "veryfast", "g": "10"}
            )
            (stream.width, stream.height), stream.pix_fmt = SIZE, "yuv420p"
            for index, planes in enumerate(self.pictures):
                picture = picture_of(planes, *SIZE)
                picture.pts, picture.time_base = index, Fraction(1, RATE)
                output.mux(stream.encode(picture))
            output.mux(stream.encode(None))

    def frames(self) -> list[Frame]:
        """The pictures as frames."""
        return [Frame(planes, Fraction(index, RATE), index) for index, planes in enumerate(self.pictures)]


class TrueDetector:
    """A detector that knows the faces of a clip, by the number in a picture's corner, and that of the self-test."""

    def __init__(self, clip: Clip, fitting: FitModel) -> None:
        self._clip = clip
        frame, box = known_face(fitting)
        self._known = frame.planes.size, box

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """The faces of a frame; none of one whose number nobody knows."""
        if frame.planes.size == self._known[0] != SIZE:
            return [Face(self._known[1], 1.0)]
        number = number_of(frame.planes)
        if number is None:
            number = round(frame.time * RATE)
        return list(self._clip.faces[number]) if 0 <= number < len(self._clip.faces) else []

    def close(self) -> None:
        """Nothing to stop."""


def walk(models: Models, seed: int, frames: int, marked: int | None = None) -> Clip:
    """A clip of one or two people who walk, stop and turn back; marked: seed of the watermarks, as `seed` if None."""
    rng = np.random.default_rng((seed, 1))
    count = int(rng.integers(1, 3))
    cast = [_sprites(models, int(number)) for number in rng.permutation(_PEOPLE)[:count]]
    paths = [_path(rng, frames, lane, count) for lane in range(count)]
    wall = _wall(int(rng.integers(4)))
    marks = tuple(
        Watermark.of((seed if marked is None else marked, number), *moods[0].hull.shape[::-1])
        for number, moods in enumerate(cast)
    )
    pictures, truths = [], []
    for index in range(frames):
        planes = wall.copy()
        faces = []
        for moods, path, mark in zip(cast, paths, marks, strict=True):
            sprite = moods[index // 2 % _MOODS]
            x, y = path[index]
            _paste(planes, sprite, x, y)
            mark.stamp(planes.y, x + sprite.corner[0], y + sprite.corner[1], sprite.hull)
            faces.append(_moved(sprite.face, x, y))
        _write_number(planes.y, index)
        pictures.append(planes)
        truths.append(tuple(faces))
    return Clip(tuple(pictures), tuple(truths), marks)


def number_of(planes: Planes) -> int | None:
    """The number in a picture's corner, or None when it cannot be read: its squares and their negatives disagree."""
    bits = []
    for bit in range(_BITS):
        x = bit * _SQUARE
        one, other = (planes.y[y + 1 : y + _SQUARE - 1, x + 1 : x + _SQUARE - 1].mean() for y in (0, _SQUARE))
        if abs(one - other) < 100:
            return None
        bits.append(int(one > other))
    return sum(bit << place for place, bit in enumerate(bits))


def _write_number(luma: NDArray[np.uint8], number: int) -> None:
    for bit in range(_BITS):
        x, on = bit * _SQUARE, number >> bit & 1
        luma[:_SQUARE, x : x + _SQUARE] = 230 if on else 20
        luma[_SQUARE : 2 * _SQUARE, x : x + _SQUARE] = 20 if on else 230


def _path(rng: np.random.Generator, frames: int, lane: int, lanes: int) -> list[tuple[int, int]]:
    """Corners of the canvas, even pixels, frame by frame: steady, with a stop or a turn now and then."""
    middle = (lane + 0.5) * SIZE[0] / lanes
    reach = max(4.0, SIZE[0] / lanes / 2 - 44)
    x, pace = middle + rng.uniform(-reach, reach), float(rng.choice([-4, -2, 2, 4]))
    y = SIZE[1] / 2 - 6 + rng.uniform(-4, 4)
    places = []
    walking = True
    for _ in range(frames):
        if rng.random() < 0.06:
            walking = not walking
        if not middle - reach < x + pace < middle + reach:
            pace = -pace
        x += pace if walking else 0.0
        places.append((2 * round((x - _CANVAS / 2) / 2), 2 * round((y - _CANVAS / 2) / 2)))
    return places


def _moved(face: Face, x: int, y: int) -> Face:
    assert face.landmarks is not None and face.forehead is not None and face.iris is not None
    x0, y0, x1, y1 = face.box
    shift = np.array([x, y], np.float64)
    points = face.landmarks + shift, face.forehead + shift, face.iris + shift
    box = (x0 + x, y0 + y, x1 + x, y1 + y)
    return replace(face, box=box, landmarks=points[0], forehead=points[1], iris=points[2])


def _paste(planes: Planes, sprite: Sprite, x: int, y: int) -> None:
    for plane, picture, alpha in zip((planes.y, planes.u, planes.v), sprite.pictures, sprite.alphas, strict=True):
        half = 1 if plane is planes.y else 2
        px, py = x // half, y // half
        height, width = picture.shape
        left, top = max(0, -px), max(0, -py)
        right, bottom = min(width, plane.shape[1] - px), min(height, plane.shape[0] - py)
        part = plane[py + top : py + bottom, px + left : px + right]
        window = slice(top, bottom), slice(left, right)
        part[:] = np.clip(part * (1 - alpha[window]) + picture[window] + 0.5, 0, 255).astype(np.uint8)


@lru_cache(maxsize=4)
def _wall(seed: int) -> Planes:
    image = background(*SIZE, np.random.default_rng((seed, 2)))
    return planes_from_rgb(np.clip(image, 0, 255).astype(np.uint8))


_drawn: dict[tuple[int, int], list[Sprite]] = {}


def _sprites(models: Models, number: int) -> list[Sprite]:
    """The expressions of a person, drawn once."""
    key = id(models), number
    if key not in _drawn:
        _drawn[key] = _draw(models, number)
    return _drawn[key]


def _draw(models: Models, number: int) -> list[Sprite]:
    rng = np.random.default_rng((number, 3))
    model = models.fitting.model
    donors = models.gallery.identities
    face = NewFace.photographed(1.2 * donors[rng.permutation(len(donors))[:3]].mean(axis=0), models.fitting)
    body = looks(number, rng)
    scale = float(rng.uniform(58, 72)) / model.frame_size[0]
    middle = np.array([_CANVAS / 2, _CANVAS / 2 - 4.0])
    pose = HeadPose(scale, np.eye(3), middle - scale * model.mean_shape.mean(axis=0))
    moves = motion(_MOODS * RATE, RATE, number, rng)
    shapes = [moves.shape(face.shape, mood * RATE + number) for mood in range(_MOODS)]
    points = [pose.to_image(shape, model.depth) for shape in shapes]
    whole = np.concatenate(points)
    low, high = (np.floor(whole.min(axis=0)).astype(int) & ~1), np.ceil(whole.max(axis=0)).astype(int)
    sprites = []
    for there in points:
        dark, light = (_drawn_on(level, models.fitting, face, body, pose, there, middle) for level in (60.0, 180.0))
        hull = np.zeros((_CANVAS, _CANVAS), np.uint8)
        cv2.fillPoly(hull, [np.round(there[OUTLINE] * 16).astype(np.int32)], 1, cv2.LINE_8, 4)
        part = hull[low[1] : high[1], low[0] : high[0]].astype(np.float32)
        pictures, alphas = _taken_out(dark, light)
        sprites.append(Sprite(pictures, alphas, _face(there, models.fitting, scale), part, (int(low[0]), int(low[1]))))
    return sprites


def _drawn_on(
    level: float, fitting: FitModel, face: NewFace, body: object, pose: HeadPose, points: Points, middle: Points
) -> Planes:
    image = np.full((_CANVAS, _CANVAS, 3), level, np.float32)
    draw_behind(image, body, pose, face, fitting.model, middle)  # type: ignore[arg-type]
    planes = planes_from_rgb(np.clip(image, 0, 255).astype(np.uint8))
    draw_talking_face(planes, face, points, _irises(points), pose, fitting.model)
    draw_front(planes, body, pose, face, fitting.model)  # type: ignore[arg-type]
    return planes


def _taken_out(
    dark: Planes, light: Planes
) -> tuple[tuple[Singles, Singles, Singles], tuple[Singles, Singles, Singles]]:
    """What a person adds, and how much of the background shows through, from drawings on two levels of grey."""
    bright = light.y.astype(np.float32)
    through = np.clip((bright - dark.y) / float(light.y[0, 0].astype(int) - dark.y[0, 0]), 0, 1)
    half = cv2.resize(through, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA).astype(np.float32)
    y = bright - through * float(light.y[0, 0])
    u, v = (plane - half * 128 for plane in (light.u.astype(np.float32), light.v.astype(np.float32)))
    return (y, u, v), (1 - through, 1 - half, 1 - half)


def _irises(points: Points) -> Points:
    return np.stack([points[eye].mean(axis=0) for eye in (LEFT_EYE, RIGHT_EYE)])


def _face(points: Points, fitting: FitModel, scale: float) -> Face:
    """What a flawless detector says; its box is that of the landmarks, from brows to chin."""
    marks = points[:LANDMARKS]
    (x0, y0), (x1, y1) = marks.min(axis=0), marks.max(axis=0)
    rim = np.array([[0, 0], [1, 0], [0, -1], [-1, 0], [0, 1]])
    radii = fitting.model.iris[:, 2] * scale
    iris = np.stack([centre + radius * rim for centre, radius in zip(_irises(points), radii, strict=True)])
    return Face((float(x0), float(y0), float(x1), float(y1)), 0.9, marks.copy(), points[LANDMARKS:].copy(), iris, 1.0)
