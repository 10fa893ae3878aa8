"""Recordings for `benchmarks/people/register.py`: photographs of people set in motion, two at a time.

A recording made of photographs shows everybody once, in pairs whose members change from recording to recording, in
another order, light, size and motion; every second one uses the second photograph of each person (another expression)
where there is one. They are photographs of real people: keep them private.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import encode
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import Detect, Photograph, listed, read_photograph, reduced
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Frame
from streamdeid.synthetic.motion import PersonMotion, motion
from streamdeid.synthetic.moving_portrait import MovingPortrait, Portrait

RATE = 25
_SIZE = (320, 360)
"""Width and height of one of two halves."""
_SHOWN, _BETWEEN = 50, 10
"""Frames for which a pair is shown, two seconds, and for which something else is shown before the next one: the
photographs of a studio have one backdrop, and a change from one to the other is no cut that anybody could see."""
_WIDTHS = (90.0, 150.0)
_GAIN = (0.7, 1.1)
_TURN, _SPEECH = 0.65, 0.45
"""As in `synthetic.demo_people`: a photograph bears no more of the motion of drawn people."""


@dataclass(frozen=True)
class Recording:
    """A recording that was made, and who is where in it."""

    path: Path
    pairs: tuple[tuple[str, ...], ...]
    """The people of each stretch of frames, left and right."""

    def person(self, index: int, share: float) -> str | None:
        """Who is in a frame at a share of the picture's width; None for nobody."""
        number, within = divmod(index, _SHOWN + _BETWEEN) if len(self.pairs) > 1 else (0, 0)
        pair, place = self.pairs[number], int(share >= 0.5)
        return pair[place] if within < _SHOWN and place < len(pair) else None

    @property
    def people(self) -> frozenset[str]:
        """Everybody in it."""
        return frozenset(name for pair in self.pairs for name in pair)


def photographed(root: Path, detect: Detect, count: int, skip: int = 0) -> dict[str, list[Photograph]]:
    """So many people of a set, evenly spread over it, with all their photographs. skip: leave out so many at first of
    each step, so that other people come. Raises ValueError where the set has too few."""
    paths = _of_people(root)
    names = sorted(paths)
    step = len(names) // count
    if step <= skip:
        raise ValueError(f"{root} has too few people for {count} others")
    found: dict[str, list[Photograph]] = {}
    for name in names[skip::step][:count]:
        read = [read_photograph(path, name, expression, detect) for expression, path in paths[name]]
        found[name] = [one for one in read if one is not None]
    return {name: all_ for name, all_ in found.items() if all_}


def _of_people(root: Path) -> dict[str, list[tuple[str, Path]]]:
    """Expression and path of the photographs of each person: by name, or as labels/ beside this file says."""
    found: dict[str, list[tuple[str, Path]]] = defaultdict(list)
    labels = Path(__file__).with_name("labels") / f"{root.name}.csv"
    if not labels.is_file():
        for expression, path in listed(root):
            found[path.stem].append((expression, path))
        return found
    with labels.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[f"{root.name} {int(row['person']):03}"].append(("", root.parent / row["photograph"]))
    return found


def made(
    directory: Path, people: dict[str, list[Photograph]], number: int, model: AppearanceModel, tag: str
) -> Recording:
    """Recording `number`, encoded as the filter would; one that is there is not made again."""
    rng = np.random.default_rng([number, len(people), *tag.encode()])
    order = [str(name) for name in rng.permutation(sorted(people))]
    pairs = tuple(tuple(order[at : at + 2]) for at in range(0, len(order), 2))
    path = directory / f"{tag}-{number}.mp4"
    if not path.is_file():
        partial = path.with_name(f".{path.name}")
        encode(_frames(people, pairs, number, model, rng), partial, Fraction(RATE))
        partial.rename(path)
    return Recording(path, pairs)


def _frames(
    people: dict[str, list[Photograph]],
    pairs: Sequence[tuple[str, ...]],
    number: int,
    model: AppearanceModel,
    rng: np.random.Generator,
) -> Iterator[Frame]:
    index = 0
    tint = rng.uniform(0.93, 1.07, 3).astype(np.float32)
    for pair in pairs:
        halves = [_Half(people[name][number % len(people[name])], model, rng) for name in pair]
        for place in range(_SHOWN):
            scene = np.full((_SIZE[1], 2 * _SIZE[0], 3), 96.0, np.float32)
            for side, half in enumerate(halves):
                scene[:, side * _SIZE[0] : (side + 1) * _SIZE[0]] = half.picture(place)
            rgb = np.clip(scene * tint + rng.normal(0, 1.5, scene.shape[:2])[:, :, None], 0, 255).astype(np.uint8)
            yield Frame(planes_from_rgb(rgb), Fraction(index, RATE), index)
            index += 1
        blocks = rng.integers(20, 235, (6, 8, 3)).astype(np.uint8)
        wall = np.asarray(cv2.resize(blocks, (2 * _SIZE[0], _SIZE[1]), interpolation=cv2.INTER_NEAREST), np.uint8)
        for _ in range(_BETWEEN):
            yield Frame(planes_from_rgb(wall), Fraction(index, RATE), index)
            index += 1


class _Half:
    """One person in one half of the picture."""

    def __init__(self, photograph: Photograph, model: AppearanceModel, rng: np.random.Generator) -> None:
        self._gain = float(rng.uniform(*_GAIN))
        portrait = _portrait(reduced(photograph, float(rng.uniform(*_WIDTHS))))
        self._moving = MovingPortrait(portrait, model)
        self._motion = _added(self._moving, motion(_SHOWN, RATE, int(rng.integers(1000)), rng))

    def picture(self, index: int) -> NDArray[np.float32]:
        """RGB float32 (h, w, 3)."""
        return np.asarray(self._gain * self._moving.frame(self._motion, index).picture, np.float32)


def _portrait(photograph: Photograph) -> Portrait:
    """The photograph cut or continued to a half of the picture, with the face in the middle."""
    face, points = photograph.face, photograph.sample.points
    assert face.iris is not None
    middle = points.mean(axis=0)
    into = np.array([[1.0, 0.0, _SIZE[0] / 2 - middle[0]], [0.0, 1.0, _SIZE[1] / 2 - middle[1]]])
    cut = cv2.warpAffine(photograph.image, into, _SIZE, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    shift = into[:, 2]
    iris = np.asarray(face.iris).reshape(2, -1, 2)[:, 0]
    return Portrait(cut.astype(np.float32), np.ones(cut.shape[:2], np.float32), points + shift, iris + shift)


def _added(portrait: MovingPortrait, own: PersonMotion) -> PersonMotion:
    """What a still picture has to add: it may smile already and show teeth."""
    smiling = min(1.0, portrait.rest_opening / 15.0)
    held = 0.5 * smiling * (1 - own.smile)
    return replace(own, opening=_SPEECH * own.opening - held, smile=0.8 * (own.smile - smiling), yaw=_TURN * own.yaw)
