"""Persons: which tracks are one and the same person, who left and came back.

A track says where; a person says who. When the caller knows a track's face well enough, it commits the track: the
identity vector is compared with the persons who are not in the picture, and the track becomes one of them or a new
one, for good. Mistakes are not symmetric: a split (one person, two numbers) costs a change of the synthetic face,
a merge gives two people one. So the thresholds leave a reject zone, and a case in it is a split.

The templates are biometric data. They are kept in memory only, are never written or logged, are dropped after `ttl`
seconds of absence, and are not kept at all with `reentry=False`. Dropped means unreferenced; memory is not scrubbed.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.errors import SettingsError
from streamdeid.faces import Track

Vector = NDArray[np.float64]

_DECISIONS = 1 << 16
"""Ended tracks whose person is still known: bounds a run that never ends."""


@dataclass(frozen=True)
class Identity:
    """What is known of the face of one track."""

    vector: Vector = field(repr=False)
    """Identity `y`, float64 (d,), averaged over the track's good frames. Kept out of every repr: it is biometric."""
    scatter: float = 0.0
    """Standard error of the vector as a whole (root of the summed variances of the mean), in identity units."""
    frames: int = 1
    """Good frames averaged, 1 or more."""


class Outcome(enum.Enum):
    """How a commit ended."""

    NEW = "new"
    """A person who resembles nobody remembered."""
    RETURNED = "returned"
    """A lost person, back."""
    UNCERTAIN = "uncertain"
    """A new person, but somebody remembered falls in the reject zone, or another track had the better claim."""
    WAITING = "waiting"
    """Not decided: resembles a person whose own track is lost only just now. Commit again later."""
    REFUSED = "refused"
    """Not decided: the identity is not finite."""


@dataclass(frozen=True)
class Decision:
    """Outcome of a commit; `person` is None while undecided."""

    person: int | None
    outcome: Outcome


@dataclass
class _Person:
    """A person whose template is remembered."""

    number: int
    now: Identity
    """Of the present track, or of the last one."""
    past: Identity | None
    """Of all tracks before that one, together."""
    seen: int
    """Frame in which a face was last detected on one of the person's tracks."""
    left: Fraction | None
    """Clock when the last track ended; None while a track of the person is present."""

    @property
    def template(self) -> Identity:
        return self.now if self.past is None else _together(self.past, self.now)


class Persons:
    """The persons of one stream; their numbers start at 1.

    accept, reject: distances in the identity space. With d the distance and s the joint scatter of two identities,
    d + s <= accept is the same person, d - s >= reject is another one, anything between is the reject zone.
    ttl: seconds for which an absent person is remembered; limit: how many, the longest absent forgotten first.
    reentry: False keeps no template and makes every committed track a new person.
    Raises SettingsError unless 0 < accept < reject, ttl >= 0 and limit >= 0.
    """

    def __init__(
        self, *, accept: float, reject: float, ttl: float = 600.0, limit: int = 256, reentry: bool = True
    ) -> None:
        if not (0 < accept < reject < math.inf and 0 <= ttl < math.inf and limit >= 0):
            raise SettingsError("re-entry needs 0 < accept < reject, ttl >= 0 and limit >= 0")
        self._accept, self._reject = accept, reject
        self._ttl, self._limit, self._reentry = Fraction(ttl), limit, reentry
        self._clock = Fraction(0)
        self._time: Fraction | None = None
        self._frame = 0
        self._first: dict[int, int] = {}  # present track: frame of its first appearance
        self._decisions: dict[int, Decision] = {}
        self._known: dict[int, _Person] = {}
        self._persons = 0
        self._counts = dict.fromkeys((Outcome.NEW, Outcome.RETURNED, Outcome.UNCERTAIN), 0)

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many tracks were decided in each way."""
        return dict(self._counts)

    @property
    def remembered(self) -> frozenset[int]:
        """Numbers of the persons whose template is in memory, present or absent. Empty without re-entry."""
        return frozenset(self._known)

    def person_of(self, track: int) -> int | None:
        """The person of a track, present or past; None while undecided. Never changes once decided.

        Of tracks that ended, only the last 65,536 decided are still known.
        """
        decision = self._decisions.get(track)
        return None if decision is None else decision.person

    def update(self, tracks: Sequence[Track], time: Fraction) -> None:
        """Note who is in the picture, once per frame, before any commit. Steps back in time count as none."""
        if self._time is not None:
            self._clock += max(Fraction(0), time - self._time)
        self._time = time
        self._frame += 1
        before, self._first = self._first, {}
        for track in tracks:
            self._first[track.number] = before.get(track.number, self._frame)
            person = self._person(track.number)
            if person is not None and track.missed == 0:
                person.seen = self._frame
        for number in before.keys() - self._first.keys():
            person = self._person(number)
            if person is not None:
                person.left = self._clock
        self._forget()

    def commit(self, identities: Mapping[int, Identity]) -> dict[int, Decision]:
        """Decide the persons of present tracks, by track number; give all tracks of one frame at once.

        A person is open to a track only if none of the person's tracks was seen in or after the track's first frame:
        two faces in one frame are two people. Where several tracks claim one person, the nearest gets it. A track
        decided before keeps its decision. Raises ValueError, and decides nothing, for a track that is not present or
        a vector whose shape differs from those known.
        """
        for track, identity in identities.items():
            self._check(track, identity)
        decisions = {track: self._decisions[track] for track in identities if track in self._decisions}
        undecided = {track: own for track, own in identities.items() if track not in decisions}
        near: set[int] = set()
        claims: list[tuple[float, int, int]] = []
        for track, identity in undecided.items():
            if not _finite(identity):
                decisions[track] = Decision(None, Outcome.REFUSED)
                continue
            for person in self._known.values():
                if person.seen < self._first[track]:
                    distance, scatter = _apart(identity, person.template)
                    if distance - scatter < self._reject:
                        near.add(track)
                    if distance + scatter <= self._accept:
                        claims.append((distance, track, person.number))
        taken: set[int] = set()
        for _, track, number in sorted(claims):
            if track in decisions or number in taken:
                continue
            taken.add(number)
            lost = self._known[number].left is not None
            decisions[track] = Decision(number, Outcome.RETURNED) if lost else Decision(None, Outcome.WAITING)
        for track, identity in undecided.items():
            if track not in decisions:
                self._persons += 1
                decisions[track] = Decision(self._persons, Outcome.UNCERTAIN if track in near else Outcome.NEW)
            self._settle(track, decisions[track], identity)
        return decisions

    def refresh(self, track: int, identity: Identity) -> None:
        """Replace what the present track adds to its person's template, as its average gains frames.

        Nothing happens for a track without a remembered person, or an identity that is not finite. Raises ValueError
        as `commit`.
        """
        self._check(track, identity)
        person = self._person(track)
        if person is not None and _finite(identity):
            person.now = _owned(identity)

    def agrees(self, track: int, identity: Identity) -> bool | None:
        """Whether a track still shows its person: False beyond `reject`, True within `accept`, None if unclear.

        For use after a doubt, with an identity averaged over frames since then only. On False, `FaceTracker.split`
        makes it a new track, which can be committed anew. None also for a track without a remembered person.
        """
        self._check(track, identity)
        person = self._person(track)
        if person is None or not _finite(identity):
            return None
        distance, scatter = _apart(identity, person.template)
        if distance - scatter >= self._reject:
            return False
        return True if distance + scatter <= self._accept else None

    def _person(self, track: int) -> _Person | None:
        number = self.person_of(track)
        return None if number is None else self._known.get(number)

    def _check(self, track: int, identity: Identity) -> None:
        if track not in self._first:
            raise ValueError(f"track {track} is not present")
        shapes = {person.now.vector.shape for person in self._known.values()} or {identity.vector.shape}
        if identity.vector.ndim != 1 or identity.vector.shape not in shapes:
            raise ValueError(f"an identity vector of shape {identity.vector.shape} fits no other")

    def _settle(self, track: int, decision: Decision, identity: Identity) -> None:
        number = decision.person
        if number is None:
            return
        self._decisions[track] = decision
        self._counts[decision.outcome] += 1
        if self._reentry:
            old = self._known.get(number)
            past = None if old is None else old.template
            self._known[number] = _Person(number, _owned(identity), past, self._frame, None)
        if len(self._decisions) > len(self._first) + _DECISIONS:
            del self._decisions[next(ended for ended in self._decisions if ended not in self._first)]

    def _forget(self) -> None:
        absent = [(person.left, number) for number, person in self._known.items() if person.left is not None]
        absent.sort()
        surplus = max(0, len(absent) - self._limit)
        for place, (left, number) in enumerate(absent):
            if place < surplus or self._clock - left > self._ttl:
                del self._known[number]


def _finite(identity: Identity) -> bool:
    return bool(np.isfinite(identity.vector).all()) and math.isfinite(identity.scatter)


def _owned(identity: Identity) -> Identity:
    """The same with a vector of its own, so that a caller's running average cannot change a template."""
    return replace(identity, vector=identity.vector.astype(np.float64, copy=True))


def _apart(one: Identity, other: Identity) -> tuple[float, float]:
    """Distance of two identities, and its uncertainty."""
    return float(np.linalg.norm(one.vector - other.vector)), math.hypot(one.scatter, other.scatter)


def _together(one: Identity, other: Identity) -> Identity:
    """The average of both over all their frames."""
    frames = one.frames + other.frames
    vector = (one.frames * one.vector + other.frames * other.vector) / frames
    return Identity(vector, math.hypot(one.frames * one.scatter, other.frames * other.scatter) / frames, frames)
