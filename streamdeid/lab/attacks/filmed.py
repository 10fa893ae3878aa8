"""What the attacks on video collect while a clip runs by: nothing of a frame is kept but what is measured of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Floats, Pixels
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.lab.attacks import gaps, motion
from streamdeid.lab.attacks.averaged_frames import Averages, aligned, points_of

LEAST_WIDTH = 50.0
"""Pixels: of smaller faces landmarks say too little."""
_DETAIL_WIDTH, _DETAIL_EVERY, _MOST_DETAILS = 80.0, 10, 12
"""Fine detail is compared in faces at least so wide, in every tenth frame, so often at most."""


@dataclass(frozen=True)
class FilmedPair:
    """A face in the original and what the filter published in its place."""

    seconds: float
    original: Planes
    published: Planes
    face: Face
    """With landmarks, in the original."""
    twin: Face | None
    """The face found in the published picture at the same place; None where none is."""


@dataclass
class Person:
    """One track of one clip. Of every pair the original's comes first, then the published one's."""

    averages: tuple[Averages, Averages]
    seconds: list[float] = field(default_factory=list)
    moved: tuple[list[Floats], list[Floats]] = field(default_factory=lambda: ([], []))
    """Signals by frame."""
    details: list[tuple[Pixels, Pixels]] = field(default_factory=list)
    """Fine detail (n,) at the same places of some frames."""
    differences: NDArray[np.int64] = field(default_factory=lambda: np.zeros((len(gaps.ZONES), 4), np.int64))
    faces: int = 0
    """Frames in which the original's face has landmarks and is wide enough."""

    def add(self, pair: FilmedPair, model: AppearanceModel) -> None:
        """One frame more; faces under `LEAST_WIDTH` are passed over."""
        points = points_of(pair.face)
        width = float(np.ptp(points[:, 0]))
        if width < LEAST_WIDTH:
            return
        self.differences += gaps.differences(pair.original, pair.published, points)
        here = aligned(pair.original, points, model)
        if width >= _DETAIL_WIDTH and self.faces % _DETAIL_EVERY == 0 and len(self.details) < _MOST_DETAILS:
            there = aligned(pair.published, points, model)
            fine = [gaps.fine_detail(each.texture, model.table) for each in (here, there)]
            self.details.append((fine[0], fine[1]))
        self.faces += 1
        if pair.twin is None or pair.twin.landmarks is None:
            return
        found = points_of(pair.twin)
        self.seconds.append(pair.seconds)
        for side, planes, place in ((0, pair.original, points), (1, pair.published, found)):
            self.moved[side].append(motion.signals(place, model))
            self.averages[side].add(here if side == 0 else aligned(planes, place, model))

    def motions(self) -> tuple[motion.MotionSignals, motion.MotionSignals]:
        """The motion of the original and of the published face."""
        times = np.array(self.seconds)
        return motion.MotionSignals(times, np.stack(self.moved[0])), motion.MotionSignals(
            times, np.stack(self.moved[1])
        )


@dataclass
class Filmed:
    """What one clip showed so far."""

    name: str
    rate: float
    """Frames per second."""
    step: int
    """Between the frames that the independent detector looked at."""
    findings: list[gaps.Finding] | None
    """Boxes of the independent detector; None where there are none beside the clip."""
    frames: int = 0
    people: dict[int, Person] = field(default_factory=dict)
    """By track."""

    @property
    def looked_at(self) -> int:
        """Frames that the independent detector looked at."""
        return -(-self.frames // self.step)

    @property
    def main(self) -> Person | None:
        """The person seen longest, with a published face found again, if that is in half of the frames and more."""
        best = max(self.people.values(), key=lambda person: len(person.seconds), default=None)
        return best if best is not None and 2 * len(best.seconds) >= self.frames > 0 else None

    def seen(self) -> float:
        """Seconds for which the main person is seen, 0 without one."""
        return len(self.main.seconds) / self.rate if self.main is not None else 0.0


def counterpart(face: Face, candidates: Sequence[Face]) -> Face | None:
    """The face with landmarks at the same place, or None."""
    known = [other for other in candidates if other.landmarks is not None and other.forehead is not None]
    best = max(known, key=lambda other: gaps.overlap(face.box, other.box), default=None)
    return best if best is not None and gaps.overlap(face.box, best.box) >= gaps.SAME_PLACE else None
