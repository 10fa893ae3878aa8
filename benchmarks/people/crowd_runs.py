"""Crowds through the parts that tell people apart, without pictures: detections, looks and identities are simulated.

The tracker, the looks' judgement of doubts, the check of identities and the register are the filter's own, with its
settings; only what is measured in pictures is not. Identities are the fused vector's, which the filter falls back on
where no recogniser is installed: the harder case. A person's vector is a donor's of the gallery, with an upper face
beside it, and each frame's is off by what frames of clips that nobody tuned to were off: slowly, as by an expression or
a turn of the head, and at random. Looks correlate as those of 25 people in clips did.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from benchmarks.people.identity_metrics import Identities, Sighting, identities
from streamdeid.core.arrays import Vectors
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.identity.face_look import Look
from streamdeid.identity.identity_check import Estimate, IdentityCheck
from streamdeid.identity.looks import Looks
from streamdeid.identity.register import PersonRegister, new_persons
from streamdeid.synthetic.crowds import HIDDEN, Walker, crowd, detected
from streamdeid.tracking.tracker import FaceTracker

SLOW, QUICK = 2500.0, 2900.0
"""Length of the slow and of the quick error of a frame's identity vector. Two moments of one person are then 5,400
apart in the median; those of unseen clips were 5,440 (docs/methods.md 6.1)."""
_LASTS = 2.0
"""Seconds in which the slow error is forgotten."""
_UPPERS, _UPPER_APART, _UPPER_ERRORS = 200, 0.72, (0.28, 0.35)
"""Values of an upper face, length of a person's own, and of its slow and quick error: two people are .65 apart where
one in a thousand is, as in clips (`identity.upper_face`)."""
_UPPER_UNITS = 5400 / 0.65
_ALIKE, _UNLIKE, _UNLIKE_SHARE = (0.80, 0.99), (0.35, 0.75), 0.15
"""How much a frame's look is the person's own, most frames and some (a turn, a blink, a hand): two frames of one person
correlate above .74 in 3 of 4 cases, in clips in 19 of 20."""
_OTHERS, _OTHERS_SPREAD = 0.27, 0.16
"""Correlation of the looks of two people: .64 at the 99th percentile, in clips .61 to .69."""
_LOOKS = 64
_SMALLEST = 24.0
"""Width in pixels below which a face is not good enough to know anybody by."""
_KEPT = 24
_PEOPLE = 5
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
    """The error of vectors of some people over time, (people, d): an Ornstein-Uhlenbeck process and white noise."""

    def __init__(self, size: int, step: float, lengths: tuple[float, float], rng: np.random.Generator) -> None:
        """step: seconds from frame to frame. lengths: of the slow and of the quick error."""
        self._rng, self._keep = rng, float(np.exp(-step / _LASTS))
        self._slow, self._quick = (length / np.sqrt(size) for length in lengths)
        self._now = rng.normal(0, self._slow, (_PEOPLE, size))

    def __call__(self) -> Vectors:
        """The error of the next frame."""
        fresh = self._rng.normal(0, self._slow, self._now.shape)
        self._now = self._keep * self._now + np.sqrt(1 - self._keep**2) * fresh
        return self._now + self._rng.normal(0, self._quick, self._now.shape)


class Appearances:
    """What is measured of some people in pictures: templates and looks, drawn anew for each frame."""

    def __init__(self, donors: Vectors, step: float, rng: np.random.Generator) -> None:
        """donors: identity vectors (n, d) from which the people are taken."""
        self._rng = rng
        self._own = donors[rng.choice(len(donors), _PEOPLE, replace=False)]
        self._upper = rng.normal(0, _UPPER_APART / np.sqrt(2 * _UPPERS), (_PEOPLE, _UPPERS)) * np.sqrt(2)
        self._error = Wandering(donors.shape[1], step, (SLOW, QUICK), rng)
        self._upper_error = Wandering(_UPPERS, step, _UPPER_ERRORS, rng)
        self._faces = _people_looks(rng)

    def templates(self) -> Vectors:
        """The fused vectors of a frame, (people, e), as `identity.person_templates` makes them."""
        y, upper = self._own + self._error(), self._upper + self._upper_error()
        return np.asarray(np.concatenate([y, upper * _UPPER_UNITS], axis=1) / np.sqrt(2), np.float64)

    def look(self, person: int) -> Look:
        """What a person looks like in a frame."""
        low, high = _UNLIKE if self._rng.random() < _UNLIKE_SHARE else _ALIKE
        own = self._rng.uniform(low, high)
        other = self._rng.normal(0, 1, _LOOKS)
        other -= (other @ self._faces[person]) * self._faces[person]
        look = np.sqrt(own) * self._faces[person] + np.sqrt(1 - own) * other / np.linalg.norm(other)
        return look.astype(np.float32)


def _people_looks(rng: np.random.Generator) -> Vectors:
    """Unit vectors (people, n) whose products are correlations of the looks of different people."""
    wanted = np.clip(rng.normal(_OTHERS, _OTHERS_SPREAD, (_PEOPLE, _PEOPLE)), -0.2, 0.82)
    wanted = np.triu(wanted, 1)
    values, vectors = np.linalg.eigh(wanted + wanted.T + np.eye(_PEOPLE))
    faces = np.zeros((_PEOPLE, _LOOKS))
    faces[:, :_PEOPLE] = vectors * np.sqrt(np.maximum(values, 1e-3))
    return np.asarray(faces / np.linalg.norm(faces, axis=1, keepdims=True), np.float64)


class Simulation:
    """One run in progress."""

    def __init__(self, run: Run, donors: Vectors, width: tuple[int, int], judged: bool) -> None:
        """width: size of the pictures. judged: False breaks at every doubt, as without looks."""
        self._rng = np.random.default_rng([run.seed, run.rate, round(run.width), len(run.kind), 1])
        self._shapes = self._rng.uniform(-0.4, 0.4, (68, 2)) + self._rng.normal(0, 0.023, (_PEOPLE, 68, 2))
        self._people = Appearances(donors, 1 / run.rate, self._rng)
        self._samples: dict[int, deque[Vectors]] = {}
        self._check = IdentityCheck(
            PersonRegister(new_persons(reentry=True, rate=run.rate)), self._estimate, lambda person, y: None
        )
        self._tracker = FaceTracker(coast=max(1.0, 3 / run.rate), size=width)
        self._looks = Looks(patches=False) if judged else None
        self._doubts: dict[int, dict[int, bool]] = {}
        self._waiting: deque[tuple[Frame, list[tuple[int, Track | None]], dict[int, int]]] = deque()
        """A frame, the people in it with their tracks, and the tracklet of each track."""
        self._ahead = round(run.lookahead * run.rate)
        self.sightings: list[Sighting] = []

    def _estimate(self, tracklet: int, final: bool) -> Estimate:
        known = np.asarray(np.mean(self._samples[tracklet], axis=0), np.float64)
        return Estimate(known, known)

    def frame(self, frame: Frame, walkers: list[Walker]) -> None:
        """Let a frame through, in which these people are seen."""
        found = {walker.person: detected(walker, self._shapes[walker.person], self._rng) for walker in walkers}
        faces = [face for face in found.values() if face is not None]
        tracks = self._tracker.update([faces[i] for i in self._rng.permutation(len(faces))], frame.time)
        person_of = {id(face): person for person, face in found.items() if face is not None}
        templates = self._people.templates()
        tracklets = self._judged(frame, tracks, person_of)
        for tracklet in tracklets:
            if tracklet.face is not None and not tracklet.ambiguous and tracklet.face.width >= _SMALLEST:
                kept = self._samples.setdefault(tracklet.number, deque(maxlen=_KEPT))
                kept.append(templates[person_of[id(tracklet.face)]])
                self._check.saw(tracklet.number)
        self._check.settle()
        of_face = {id(track.face): track for track in tracks if track.face is not None}
        seen = [(w.person, of_face.get(id(found[w.person]))) for w in walkers if w.hidden <= HIDDEN]
        self._waiting.append((frame, seen, {t.number: one.number for t, one in zip(tracks, tracklets, strict=True)}))
        if len(self._waiting) > self._ahead:
            self.publish()

    def _judged(self, frame: Frame, tracks: list[Track], person_of: dict[int, int]) -> list[Track]:
        if self._looks is None:
            self._doubts[frame.index] = {track.number: track.ambiguous for track in tracks}
            return self._check.update(frame, tracks)
        looks = {t.number: self._look(t.face, person_of) for t in tracks if t.face is not None}
        verdict = self._looks(frame, tracks, looks)
        self._doubts[frame.index] = {track.number: track.ambiguous for track in verdict.tracks}
        for number, indices in verdict.groundless.items():
            for index in indices:
                if number in self._doubts.get(index, {}):
                    self._doubts[index][number] = False
        return self._check.update(frame, verdict.tracks, verdict.broken)

    def _look(self, face: Face, person_of: dict[int, int]) -> Look | None:
        return self._people.look(person_of[id(face)]) if face.width >= _SMALLEST else None

    def publish(self) -> bool:
        """Publish the next frame that waits: as the filter does it, but for what pictures alone can tell."""
        if not self._waiting:
            return False
        frame, seen, tracklet = self._waiting.popleft()
        doubts = self._doubts.pop(frame.index)
        for person, track in seen:
            shown: Hashable | None = None
            if track is not None and track.face is not None and not doubts[track.number]:
                wide = track.face.width >= _SMALLEST
                shown = self._check.settle_last(tracklet[track.number]) if wide else None
            self.sightings.append(Sighting(frame.index, person, shown))
        return True


def simulated(run: Run, donors: Vectors, judged: bool = True) -> Identities:
    """Counts of one run. donors: identity vectors (n, d) from which the people are taken. judged: by looks."""
    rng = np.random.default_rng([run.seed, run.rate, round(run.width), len(run.kind)])
    truth = crowd(run.kind, rng, rate=run.rate, width=run.width, seconds=run.seconds)
    simulation = Simulation(run, donors, truth.size, judged)
    for index, walkers in enumerate(truth.frames):
        frame = Frame(Planes(_BLANK, _BLANK[:1, :1], _BLANK[:1, :1]), Fraction(index, run.rate), index)
        simulation.frame(frame, list(walkers))
    while simulation.publish():
        pass
    return identities(simulation.sightings)
