"""Persons: which tracks show one and the same person, who left and came back.

A track tells where a face is, a person whose it is. When the caller knows a track's face well enough, it commits the
track: the identity vector is compared with the persons who are not in the picture, and the track becomes one of them or
a new person, for good. The two mistakes are not alike: a split (one person, two numbers) costs a change of the
synthetic face, a merge gives two people the same face. So the thresholds leave a reject zone, and a case in it becomes
a new person. A track that could equally well be a second person, seen together with the first, is not recognised.

The same holds for people who were mixed up. From the doubt on their tracks are given as new ones
(`identity.identity_check`), while the people themselves count as absent, so everybody is recognised anew.

People who are known from elsewhere (`remember`: those of a shared register) count as absent until they are seen, and
are recognised in the same way.

The templates are biometric data. They are kept in memory, are never written or logged here, and are dropped after
`ttl` seconds of absence. With `reentry=False` they are dropped at once, unless an undecided track began while the
person was still there. Dropped means unreferenced; memory is not scrubbed. Those of a register stay until `release`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction

from streamdeid.core.faces import Track
from streamdeid.errors import SettingsError
from streamdeid.identity.absent_people import AbsentPeople
from streamdeid.identity.claims import Claim, accepted, settled
from streamdeid.identity.identity import Identity, distance_of, finite, owned, together

_DECISIONS = 1 << 16
"""Most ended tracks whose person is still known: it bounds the memory of a run that never ends."""


class Outcome(enum.Enum):
    """How a commit ended."""

    NEW = "new"
    """A person who resembles nobody remembered."""
    RETURNED = "returned"
    """A person who was lost and is back."""
    UNCERTAIN = "uncertain"
    """A new person, but somebody remembered falls in the reject zone, or another track had the better claim."""
    UNSEEN = "never clearly seen"
    """A new person, whose face was never seen well enough to be recognised."""
    WAITING = "waiting"
    """Not decided: unclear, or the track resembles a person whose own track lost the face just now. Commit it again."""
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
    """Identity from the present track, or from the last one."""
    past: Identity | None
    """Identity from all tracks before that one, together."""
    seen: int
    """Frame in which a face was last detected on one of the person's tracks."""
    left: tuple[Fraction, int] | None
    """Clock and frame when the last track was found ended; None while a track of the person is present."""
    beside: set[int]
    """Persons who were seen together with this one."""
    sure: bool
    """Whether the person was surely nobody else when that was decided."""

    @property
    def template(self) -> Identity:
        return self.now if self.past is None else together(self.past, self.now)


@dataclass(frozen=True)
class _Stay:
    """A present track."""

    began: int
    """Frame of its first appearance."""
    since: int
    """`began`, or the last frame in which the track was ambiguous: from then on it shows one face."""
    seen: int
    """Frame in which its face was last detected."""


class Persons:
    """The persons of one stream; their numbers start at 1.

    accept, reject: distances in the identity space. With d the distance and s the joint scatter of two identities,
    d + s <= accept is the same person, d - s >= reject is another one, anything between is the reject zone.
    likelier: factor on `accept` for the person whom a track most likely shows (`expect`).
    margin: by how much nearer a person must be than everybody who was ever seen together with this person.
    enough: good frames of a track below which nobody is recognised. patience: good frames for which a track without a
    recognised person waits, where it might show a known person, before it becomes a new one: a laugh takes a face as
    far away as another person's face is.
    ttl: seconds for which an absent person is remembered; limit: how many, the longest absent forgotten first.
    reentry: False recognises only people who were mixed up with others, nobody who left.
    shared: whether any track may show somebody known from elsewhere; then no track is a new person before `patience`.
    Raises SettingsError unless 0 < accept < reject, margin >= 0, likelier >= 1, 1 <= enough <= patience, ttl >= 0 and
    limit >= 0.
    """

    def __init__(
        self,
        *,
        accept: float,
        reject: float,
        margin: float = 0.0,
        likelier: float = 1.0,
        enough: int = 1,
        patience: int = 1,
        ttl: float = 600.0,
        limit: int = 256,
        reentry: bool = True,
        shared: bool = False,
    ) -> None:
        if not (0 < accept < reject < math.inf and 0 <= margin < math.inf and 0 <= ttl < math.inf and limit >= 0):
            raise SettingsError("re-entry needs 0 < accept < reject, margin >= 0, ttl >= 0 and limit >= 0")
        if not 1 <= likelier < math.inf or not 1 <= enough <= patience:
            raise SettingsError(
                f"re-entry needs likelier >= 1 and 1 <= enough <= patience, not {enough} and {patience}"
            )
        self._accept, self._reject, self._margin = accept, reject, margin
        self._likelier = likelier
        self._enough, self._patience = enough, patience
        self._ttl, self._limit, self._reentry, self._shared = Fraction(ttl), limit, reentry, shared
        self._clock = Fraction(0)
        self._time: Fraction | None = None
        self._frame = 0
        self._stays: dict[int, _Stay] = {}  # by present track
        self._decisions: dict[int, Decision] = {}
        self._known: dict[int, _Person] = {}
        self._elsewhere = AbsentPeople()  # known from elsewhere, and not seen here, or not for a long time
        self._kept: set[int] = set()  # all persons who are known elsewhere, too
        self._forgotten: set[int] = set()
        self._persons = 0
        self._expected: dict[int, int] = {}  # persons by present track
        self._counts = dict.fromkeys((Outcome.NEW, Outcome.RETURNED, Outcome.UNCERTAIN, Outcome.UNSEEN), 0)

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many tracks were decided in each way."""
        return dict(self._counts)

    @property
    def remembered(self) -> frozenset[int]:
        """Numbers of the persons whose template is in memory, present or absent."""
        return frozenset(self._known)

    @property
    def present(self) -> frozenset[int]:
        """Numbers of the persons of whom a track is present."""
        return frozenset(number for number, person in self._known.items() if person.left is None)

    def remember(self, identity: Identity) -> int:
        """Add a person known from elsewhere, with a template; returns the person's number."""
        self._persons += 1
        self._elsewhere.add(self._persons, owned(identity), set(), 0)
        self._kept.add(self._persons)
        return self._persons

    def were_beside(self, person: int, others: Iterable[int]) -> None:
        """Note that a person was seen together with others, as is known from elsewhere."""
        for other in others:
            self._beside(person).add(other)
            self._beside(other).add(person)

    def keep(self, person: int) -> None:
        """Keep a person who is known elsewhere from now on: this one is not forgotten."""
        self._kept.add(person)

    def release(self, person: int) -> None:
        """Stop keeping a person who is no longer known elsewhere."""
        self._kept.discard(person)
        if person in self._elsewhere:
            self._elsewhere.take(person)
            self._drop(person)

    def known(self, person: int) -> tuple[Identity, frozenset[int], bool] | None:
        """Template of a person, those seen together with this one, and whether it surely is nobody else; None once
        forgotten."""
        found, absent = self._known.get(person), self._elsewhere.get(person)
        if absent is not None:
            return absent[0], frozenset(absent[1]), True
        return None if found is None else (found.template, frozenset(found.beside), found.sure)

    def expect(self, track: int, earlier: int) -> None:
        """Note that a new track most likely shows the same person as an earlier one, which it continues."""
        person = self.person_of(earlier)
        if person is not None:
            self._expected[track] = person

    def commit_unseen(self, track: int) -> int:
        """A new person for a present track whose face cannot be recognised; the track's own person, if it was decided
        before. Nobody is taken for the new person until `refresh` gives an identity.

        Raises ValueError for a track that is not present.
        """
        unseen = Identity(None)
        self._check(track, unseen)
        if track not in self._decisions:
            self._persons += 1
            self._settle(track, Decision(self._persons, Outcome.UNSEEN), unseen)
        person = self._decisions[track].person
        assert person is not None  # only decisions with a person are kept
        return person

    def person_of(self, track: int) -> int | None:
        """The person of a track, present or past; None while undecided. Never changes once decided.

        Of tracks that ended, only the last 65,536 decided are still known.
        """
        decision = self._decisions.get(track)
        return None if decision is None else decision.person

    def forgotten(self) -> frozenset[int]:
        """Numbers of the persons forgotten since the last call; nobody gets one of them again."""
        found, self._forgotten = frozenset(self._forgotten), set()
        return found

    def update(self, tracks: Sequence[Track], time: Fraction) -> None:
        """Note who is in the picture, once per frame, before any commit. Steps back in time count as none."""
        if self._time is not None:
            self._clock += max(Fraction(0), time - self._time)
        self._time = time
        self._frame += 1
        before, self._stays = self._stays, {}
        for track in tracks:
            old = before.get(track.number)
            began, since, seen = (self._frame, self._frame, 0) if old is None else (old.began, old.since, old.seen)
            since = self._frame if track.ambiguous else since
            seen = self._frame if track.missed == 0 else seen
            self._stays[track.number] = _Stay(began, since, seen)
            person = self._person(track.number)
            if person is not None and track.missed == 0 and not track.ambiguous:
                person.seen = self._frame
        self._expected = {track: person for track, person in self._expected.items() if track in self._stays}
        for number in before.keys() - self._stays.keys():
            person = self._person(number)
            if person is not None:
                person.left = self._clock, self._frame
        self._forget()

    def commit(self, identities: Mapping[int, Identity]) -> dict[int, Decision]:
        """Decide the persons of present tracks, by track number; give all tracks of one frame at once.

        A person is open to a track only if none of the person's tracks was seen in or after the track's first frame
        (or last ambiguous one): two faces in one frame are two people. Where several tracks claim one person, the
        nearest gets this person. A track decided before keeps its decision. Raises ValueError, and decides nothing, for
        a track that is not present or a vector whose shape differs from those known.
        """
        for track, identity in identities.items():
            self._check(track, identity)
        decisions = {track: self._decisions[track] for track in identities if track in self._decisions}
        undecided = {track: own for track, own in identities.items() if track not in decisions}
        apart: dict[int, dict[int, float]] = {}
        near: set[int] = set()
        claims: list[Claim] = []
        for track, identity in undecided.items():
            apart[track] = {}
            if not finite(identity):
                decisions[track] = Decision(None, Outcome.REFUSED)
                continue
            for distance, scatter, number, accept in self._compared(track, identity):
                apart[track][number] = distance
                if distance - scatter < self._reject:
                    near.add(track)
                if accepted(distance, scatter, accept) and identity.frames >= self._enough:
                    claims.append(Claim(distance, track, number))

        def rivals(claim: Claim, taken: Set[int]) -> Iterable[float]:
            beside = self._beside(claim.person) - taken
            return (apart[claim.tracklet].get(other, math.inf) for other in beside)

        for track, number in settled(claims, rivals, self._margin).items():
            lost = number in self._elsewhere or self._known[number].left is not None
            decisions[track] = Decision(number, Outcome.RETURNED) if lost else Decision(None, Outcome.WAITING)
        for track, identity in undecided.items():
            if track not in decisions:
                anybody = bool(apart[track]) or self._shared
                decisions[track] = self._otherwise(identity, anybody, track in near)
            self._settle(track, decisions[track], identity)
        return decisions

    def _compared(self, track: int, identity: Identity) -> Iterator[tuple[float, float, int, float]]:
        """Distance, joint scatter, number, and the largest distance accepted, of all persons whom a track may show. Of
        those known from elsewhere only the ones whose distance, less the scatter, is below `reject`."""
        for person in self._known.values():
            if self._open(person, self._stays[track]):
                distance, scatter = distance_of(identity, person.template)
                likely = self._expected.get(track) == person.number
                yield distance, scatter, person.number, self._accept * (self._likelier if likely else 1.0)
        for distance, scatter, number in self._elsewhere.near(identity, self._reject, self._stays[track].since):
            yield distance, scatter, number, self._accept

    def _open(self, person: _Person, stay: _Stay) -> bool:
        """Whether a track might show this person."""
        if person.seen >= stay.since:
            return False
        return self._reentry or (person.left is not None and person.left[1] >= stay.began)

    def _otherwise(self, identity: Identity, anybody: bool, near: bool) -> Decision:
        """The decision about a track on which nobody was recognised. anybody: whether some person is open to it. near:
        whether one of them is not clearly another person."""
        frames = 0 if identity.vector is None else identity.frames
        if anybody and frames < self._patience:
            return Decision(None, Outcome.WAITING)
        self._persons += 1
        return Decision(self._persons, Outcome.UNCERTAIN if near else Outcome.NEW)

    def refresh(self, track: int, identity: Identity) -> None:
        """Replace what the present track adds to its person's template, as its average gains frames.

        Nothing happens for a track without a remembered person, or an identity that is not finite. Raises ValueError
        as `commit`.
        """
        self._check(track, identity)
        person = self._person(track)
        if person is not None and finite(identity) and identity.vector is not None:
            person.now = owned(identity)

    def _beside(self, number: int) -> set[int]:
        return self._elsewhere.beside(number) if number in self._elsewhere else self._known[number].beside

    def _person(self, track: int) -> _Person | None:
        number = self.person_of(track)
        return None if number is None else self._known.get(number)

    def _check(self, track: int, identity: Identity) -> None:
        if track not in self._stays:
            raise ValueError(f"track {track} is not present")
        vector = identity.vector
        if vector is None:
            return
        known = (person.template.vector for person in self._known.values())
        shapes = {one.shape for one in known if one is not None} or {vector.shape}
        if vector.ndim != 1 or vector.shape not in shapes:
            raise ValueError(f"an identity vector of shape {vector.shape} fits no other")

    def _settle(self, track: int, decision: Decision, identity: Identity) -> None:
        number = decision.person
        if number is None:
            return
        self._decisions[track] = decision
        self._counts[decision.outcome] += 1
        old = self._known.get(number)
        if number in self._elsewhere:
            past, beside, _ = self._elsewhere.take(number)
            old = _Person(number, past, None, 0, None, beside, True)
        seen = self._stays[track].seen
        self._known[number] = _Person(
            number,
            owned(identity),
            None if old is None else old.template,
            max(seen, old.seen if old else 0),
            None,
            set() if old is None else old.beside,
            decision.outcome is Outcome.NEW if old is None else old.sure,
        )
        beside = self._known[number].beside
        if seen == self._frame:
            for other in self._known.values():
                if other.number != number and other.left is None and other.seen == seen:
                    other.beside.add(number)
                    beside.add(other.number)
        if len(self._decisions) > len(self._stays) + _DECISIONS:
            del self._decisions[next(ended for ended in self._decisions if ended not in self._stays)]

    def _forget(self) -> None:
        absent = [(person.left, number) for number, person in self._known.items() if person.left is not None]
        absent.sort()
        surplus = max(0, len(absent) - self._limit)
        undecided = [stay.began for track, stay in self._stays.items() if track not in self._decisions]
        for place, ((left, frame), number) in enumerate(absent):
            kept = self._reentry or min(undecided, default=math.inf) <= frame
            if place < surplus or self._clock - left > self._ttl or not kept:
                person = self._known.pop(number)
                if number in self._kept and person.template.vector is not None:
                    self._elsewhere.add(number, person.template, person.beside, person.seen)
                else:
                    self._drop(number)

    def _drop(self, number: int) -> None:
        """Forget a person who is in no table any more."""
        self._forgotten.add(number)
        self._elsewhere.part(number)
        for other in self._known.values():
            other.beside.discard(number)
