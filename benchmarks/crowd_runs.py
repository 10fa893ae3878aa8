"""Crowds through the parts that tell people apart, without pictures: detections and identities are simulated.

The tracker, the check of identities and the register are the filter's own, with its settings; only the identity
vectors are not measured. A person's vector is a donor's of the gallery, and each frame's is off by what frames of the
real clips are off: slowly, as by an expression or a turn of the head, and a little at random.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from identity_metrics import Identities, Sighting, identities
from numpy.typing import NDArray

from streamdeid.deidentify.identity_check import IdentityCheck
from streamdeid.evaluation.synthetic_crowds import HIDDEN, crowd, detected
from streamdeid.faces import Track
from streamdeid.frames import Frame, Planes
from streamdeid.register import PersonRegister, new_persons
from streamdeid.tracking.tracker import FaceTracker

Vectors = NDArray[np.float64]

SLOW, QUICK = 1500.0, 700.0
"""Length of the slow and of the quick error of a frame's identity vector. Two moments of one person are then 2,100
apart in the median and 3,100 in one case of twenty; those of the clips of ../shared/videos 2,100 and 3,400."""
_LASTS = 2.0
"""Seconds in which the slow error is forgotten."""
_SMALLEST = 24.0
"""Width in pixels below which a face is not good enough to know anybody by."""
_KEPT = 24
_BLANK = np.zeros((2, 2), np.uint8)


@dataclass(frozen=True)
class Run:
    """One simulated clip."""

    kind: str
    rate: int
    width: float
    lookahead: float
    """Seconds."""
    seed: int
    seconds: float = 8.0


class Wandering:
    """The error of identity vectors of some people over time, (people, d): an Ornstein-Uhlenbeck process."""

    def __init__(self, people: int, size: int, step: float, rng: np.random.Generator) -> None:
        self._rng, self._keep = rng, float(np.exp(-step / _LASTS))
        self._unit = SLOW / np.sqrt(size)
        self._now = rng.normal(0, self._unit, (people, size))

    def __call__(self) -> Vectors:
        """The error of the next frame."""
        fresh = self._rng.normal(0, self._unit, self._now.shape)
        self._now = self._keep * self._now + np.sqrt(1 - self._keep**2) * fresh
        return self._now + self._rng.normal(0, QUICK / np.sqrt(self._now.shape[1]), self._now.shape)


def simulated(run: Run, donors: Vectors) -> Identities:
    """Counts of one run. donors: identity vectors (n, d) from which the people are taken."""
    rng = np.random.default_rng([run.seed, run.rate, round(run.width), len(run.kind)])
    truth = crowd(run.kind, rng, rate=run.rate, width=run.width, seconds=run.seconds)
    people = 5
    own = donors[rng.choice(len(donors), people, replace=False)]
    shapes = rng.uniform(-0.4, 0.4, (68, 2)) + rng.normal(0, 0.023, (people, 68, 2))
    error = Wandering(people, donors.shape[1], 1 / run.rate, rng)
    samples: dict[int, deque[Vectors]] = {}
    check = IdentityCheck(
        PersonRegister(new_persons(reentry=True)),
        lambda stretch: np.asarray(np.mean(samples[stretch], axis=0), np.float64),
        lambda person, identity: None,
    )
    tracker = FaceTracker(coast=max(1.0, 3 / run.rate), size=truth.size)
    waiting: deque[tuple[Frame, list[tuple[int, Track | None]]]] = deque()
    ahead = round(run.lookahead * run.rate)
    sightings: list[Sighting] = []
    for index, walkers in enumerate(truth.frames):
        frame = Frame(Planes(_BLANK, _BLANK[:1, :1], _BLANK[:1, :1]), Fraction(index, run.rate), index)
        found = {walker.person: detected(walker, shapes[walker.person], rng) for walker in walkers}
        faces = [face for face in found.values() if face is not None]
        order = rng.permutation(len(faces))
        tracks = tracker.update([faces[i] for i in order], frame.time)
        vectors = own + error()
        of_face = {id(track.face): track for track in tracks if track.face is not None}
        person_of = {id(face): person for person, face in found.items() if face is not None}
        stretches = check.update(frame, tracks)
        for stretch in stretches:
            if stretch.face is not None and not stretch.doubtful and stretch.face.width >= _SMALLEST:
                samples.setdefault(stretch.number, deque(maxlen=_KEPT)).append(vectors[person_of[id(stretch.face)]])
                check.saw(stretch.number)
        check.settle(stretches)
        seen = [(w.person, of_face.get(id(found[w.person]))) for w in walkers if w.hidden <= HIDDEN]
        waiting.append((frame, seen))
        if len(waiting) > ahead:
            sightings += _published(check, *waiting.popleft())
    while waiting:
        sightings += _published(check, *waiting.popleft())
    return identities(sightings)


def _published(check: IdentityCheck, frame: Frame, seen: list[tuple[int, Track | None]]) -> list[Sighting]:
    """How the people of a frame are shown: as the ladder does it, but for what pictures alone can tell."""
    found = []
    for person, track in seen:
        shown: Hashable | None = None
        if track is not None and track.face is not None and not track.doubtful and track.face.width >= _SMALLEST:
            shown = check.person(check.stretch(frame, track.number))
        found.append(Sighting(frame.index, person, shown))
    check.published(frame)
    return found
