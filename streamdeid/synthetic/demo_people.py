"""The demo's clip: astronaut Eileen Collins as NASA photographed her, made to move, beside a man who does not exist.

Her portrait is in the public domain; `portraits/CREDIT.txt` has the credit. She is the only real person whose picture
is in the repository.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import resources

import cv2
import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Frame
from streamdeid.core.ibug68 import POINTS
from streamdeid.errors import ModelError
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.drawn_portrait import drawn_portrait
from streamdeid.synthetic.motion import PersonMotion, motion
from streamdeid.synthetic.moving_portrait import Moved, MovingPortrait, Portrait
from streamdeid.synthetic.people import SyntheticFrame, Truth

SIZE = (720, 408)
"""Width and height of the clip."""
CREDIT = "Portrait of astronaut Eileen M. Collins: NASA, public domain. NASA does not endorse this software."

_ENLARGED = 1.275
"""Pixels of the clip for one pixel of the photograph."""
_SEAM = 56
"""Width in pixels of the transition from the photograph's own backdrop to the painted one."""
_CLEAR = (0.86, 0.6)
"""The photograph shows only backdrop to the right of this share of its width and above this share of its height."""
_HIS_PLACE, _HIS_SCALE = (175.0, 166.0), 0.63
_HIS_WIDTH = 360
_TURN, _SPEECH = 0.65, 0.45
"""Shares of a turn and of speech in `synthetic.motion`; a photograph allows no more."""


def load_astronaut() -> Portrait:
    """The photograph in the clip's size; no pixel is transparent. Raises ModelError when it is missing or damaged."""
    place = resources.files("streamdeid.synthetic") / "portraits"
    try:
        data = np.frombuffer((place / "eileen_collins.jpg").read_bytes(), np.uint8)
        marks = np.loadtxt((place / "eileen_collins.csv").read_text(encoding="ascii").splitlines(), delimiter=",")
    except OSError as error:
        raise ModelError("the demo's portrait is missing from the package") from error
    picture = cv2.imdecode(data, cv2.IMREAD_COLOR)
    if picture is None:
        raise ModelError("the demo's portrait is damaged")
    rgb = cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)
    large = cv2.resize(rgb, None, fx=_ENLARGED, fy=_ENLARGED, interpolation=cv2.INTER_CUBIC).astype(np.float32)
    marks = (marks + 0.5) * _ENLARGED - 0.5
    return Portrait(large, np.ones(large.shape[:2], np.float32), marks[:POINTS], marks[POINTS:])


def demo_people(
    fitting: FitModel, gallery: Gallery, *, seconds: float = 4.0, rate: int = 25, seed: int = 7
) -> Iterator[SyntheticFrame]:
    """Frames of both people, who talk, blink, smile and turn by up to 20 degrees; the same arguments give the same."""
    rng = np.random.default_rng(seed)
    frames = round(seconds * rate)
    astronaut = load_astronaut()
    wall = _backdrop(astronaut.picture, rng)
    size = (_HIS_WIDTH, SIZE[1])
    cast = (
        MovingPortrait(astronaut, fitting.model),
        MovingPortrait(drawn_portrait(fitting, gallery, size, _HIS_PLACE, _HIS_SCALE, rng), fitting.model),
    )
    steps = np.random.default_rng((seed, 341))
    tracks = [_motion(one, frames, rate, number, steps) for number, one in enumerate(cast)]
    lefts = (0, SIZE[0] - _HIS_WIDTH)
    for index in range(frames):
        scene, truths = wall.copy(), []
        for number, (one, track, left) in enumerate(zip(cast, tracks, lefts, strict=True)):
            moved = one.frame(track, index)
            _lay(scene, moved, left, seam=_SEAM if number == 0 else 0)
            truths.append(_truth(number, moved, track, index, left))
        planes = planes_from_rgb(np.clip(scene + 0.5, 0, 255).astype(np.uint8))
        yield SyntheticFrame(Frame(planes, Fraction(index, rate), index), tuple(truths))


def _motion(portrait: MovingPortrait, frames: int, rate: int, number: int, rng: np.random.Generator) -> PersonMotion:
    """The motion that a portrait still needs: the still picture may already smile and show teeth."""
    own = motion(frames, rate, number, rng)
    smiling = min(1.0, portrait.rest_opening / 15.0)
    held = 0.5 * smiling * (1 - own.smile)  # the lips close over the teeth as the smile goes
    return replace(
        own,
        opening=_SPEECH * own.opening - held,
        smile=0.8 * (own.smile - smiling),
        yaw=_TURN * own.yaw,
    )


def _backdrop(photograph: Pixels, rng: np.random.Generator) -> Pixels:
    """A painted studio backdrop, float32 (h, w, 3), that continues the photograph's backdrop."""
    width, height = SIZE
    clear = photograph[: int(_CLEAR[1] * photograph.shape[0]), int(_CLEAR[0] * photograph.shape[1]) :]
    rows = cv2.GaussianBlur(clear.mean(axis=1), (0, 0), 1.0, sigmaY=18)
    column = np.concatenate([rows, np.repeat(rows[-1:], height - len(rows), axis=0)])
    wall = np.repeat(column[:, None], width, axis=1).astype(np.float32)
    for reach, tint in ((60.0, (5.0, 4.0, 3.0)), (34.0, (4.0, 0.0, -5.0)), (13.0, (2.5, 2.0, 1.5))):
        cloud = cv2.GaussianBlur(rng.normal(0, 1, (height, width)).astype(np.float32), (0, 0), reach)
        wall += (cloud / cloud.std())[:, :, None] * np.array(tint, np.float32)
    return wall + rng.normal(0, 1.2, (height, width, 1)).astype(np.float32)


def _lay(scene: Pixels, moved: Moved, left: int, seam: int) -> None:
    """Lay a moved portrait over the scene, with its left side at `left`; its right side fades over `seam` pixels."""
    height, width = moved.alpha.shape
    alpha = moved.alpha
    if seam:
        alpha = alpha * np.clip((width - 1 - np.arange(width, dtype=np.float32)) / seam, 0, 1)
    region = scene[:height, left : left + width]
    region += alpha[:, :, None] * (moved.picture - region)


def _truth(number: int, moved: Moved, track: PersonMotion, index: int, left: int) -> Truth:
    shift = np.array([left, 0.0])
    opening, blink = float(np.clip(track.opening[index], 0, 1)), float(track.blink[index])
    return Truth(number, moved.points + shift, moved.iris + shift, moved.pose.yaw, opening, blink)
