"""Who is shown where: tracks are assigned to persons, so that one person's surrogate never passes to another.

A track may change from one person to another while it is ambiguous (people cross), and while its face is lost (one
person goes behind a pillar, another comes out). So a track is cut into tracklets, and each tracklet has its own person.
The looks of the faces decide where a tracklet ends (`identity.looks`); without looks a new tracklet begins with every
doubt and after every longer loss. A tracklet starts without a person, and its face has the soft redaction. Then it is
recognised by its own good frames alone, as a person who comes back is: it is the same person as before, one of those
who were mixed up, or a new person. Nothing of a track is carried over but its motion.

A good frame is one by which a person can be recognised: it shows what is surely a face, near, frontal and sharp
(`levels.recognisable`). A tracklet that gives no good frames for long, since its face is turned away or blurred,
becomes a new person after `_WEAK` frames, without a template. Nobody can be matched to such a person, and the guarantee
holds for any estimate of y.

Frames may be rendered long after they were observed. The person known at that time counts, so every frame of a tracklet
that was recognised in time shows its surrogate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol, runtime_checkable

from streamdeid.core.arrays import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame

LEAST = 5
"""Least good frames for which the person of a lost or ended tracklet is asked for: one frame of a half hidden face
misleads."""
_WEAK = 12
"""Frames, good or not, after which a tracklet with fewer good ones than `LEAST` is a new person: 0.4 s, as long as an
unclear case with good frames waits (docs/methods.md 6.1)."""
_LEARNT, _LATEST = 24, 240
"""Good frames after which more of them tell nothing new about a tracklet whose person is known, if it has a template by
then; and good frames for which a missing template is waited for. Of twenty people who come at once the recogniser has
three vectors each after 60 frames, and at 120 frames a second after 42. A person without a template could not be
recognised when coming back."""
_AGAIN = 4
"""Further good frames after which an estimate without a template is made again, or a quarter of the frames that it was
made from where that is more: an estimate takes 20 ms and more."""
_STEPS = (1, LEAST, 8, 12, _LEARNT, 50)
_EVERY = 25
"""Good frames at which an identity is computed (it is slow): those of `_STEPS`, and then every `_EVERY` frames."""
_LONGEST_LOSS = Fraction(1, 4)
"""Seconds without the face after which somebody else may have taken its place unnoticed; for use without looks."""


@dataclass(frozen=True)
class Estimate:
    """What the frames of a tracklet tell about the person that it shows."""

    y: Points = field(repr=False)
    """Identity vector in the model's space, float64 (d,): the surrogate is chosen for it."""
    template: Points | None = field(repr=False)
    """Vector that is compared with those of other people, float64 (e,); None while there is nothing to compare."""


class NamedCause(Protocol):
    """Why a tracklet is over, by a name for reports."""

    @property
    def value(self) -> str: ...


class Broken(Protocol):
    """The end of a tracklet in the middle of a track: `identity.looks.Break`."""

    @property
    def cause(self) -> NamedCause: ...

    @property
    def likely(self) -> bool:
        """Whether the same person most likely goes on."""


class Register(Protocol):
    """Assigns tracklets to persons (`identity.reentry` through `streamdeid.identity.register`).

    Its tracks bear the numbers of their tracklets. A tracklet that continues an earlier one is ambiguous at first.
    """

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None: ...

    def person_of(self, track: int) -> int | None: ...

    def commit(self, track: int, identity: Points, frames: int) -> int | None: ...


@runtime_checkable
class ManyPersons(Register, Protocol):
    """A register in which several tracklets may claim one person, and which forgets persons in the end."""

    def commit_together(self, known: Mapping[int, tuple[Points | None, int]]) -> Mapping[int, int | None]: ...

    def commit_unseen(self, track: int) -> int: ...

    def expect(self, track: int, earlier: int) -> None: ...

    def forgotten(self) -> Set[int]: ...


@dataclass
class _Followed:
    """The present tracklet of a track."""

    tracklet: int
    ambiguous: bool
    missed: int
    seen: Fraction
    """When the face was last seen, seconds."""


@dataclass
class _Tracklet:
    """What is known of a present tracklet."""

    good: int = 0
    weak: int = 0
    """Frames that show a face, but are not good."""
    asked: int = 0
    """Good frames that `estimate` was made from."""
    estimate: Estimate | None = field(default=None, repr=False)
    learnt: bool = False


class IdentityCheck:
    """Tracklets of one stream and their persons.

    estimate: a function from a tracklet, and whether no more frames will come, to what its frames so far tell; called
    only when there is a frame. named: called with a person and a vector y whenever a tracklet has got its person.
    """

    def __init__(
        self,
        register: Register,
        estimate: Callable[[int, bool], Estimate],
        named: Callable[[int, Points], None],
        first: int = 0,
        least: int = LEAST,
    ) -> None:
        """first: number of tracklets in earlier parts of the stream; their numbers are not used again. least: least
        good frames for which the person of an ended tracklet is asked for."""
        self._least = least
        self._register, self._estimate, self._named = register, estimate, named
        self._tracks: dict[int, _Followed] = {}
        self._present: dict[int, _Tracklet] = {}
        self._ended: dict[int, _Tracklet] = {}
        """Tracklets that ended since the register was told last."""
        self._follows: dict[int, int] = {}
        """By tracklet of the newest frame: the earlier tracklet that most likely shows the same person."""
        self._newest: tuple[Frame, Sequence[Track]] | None = None
        """The newest frame, with its tracklets, until `settle` is called."""
        self._count = first

    def update(self, frame: Frame, tracks: Sequence[Track], broken: Mapping[int, Broken] | None = None) -> list[Track]:
        """The tracks of a new frame under the numbers of their tracklets, in the same order. Call it once per frame,
        and then `settle`; it does not tell the register anything yet.

        broken: the tracks whose tracklet is over; None where there are no looks. Where a tracklet begins in the middle
        of a track, the first frame counts as ambiguous.
        """
        tracklets = []
        before, self._tracks = self._tracks, {}
        for track in tracks:
            old = before.get(track.number)
            over = old is not None and (
                self._breaks(old, track, frame.time) if broken is None else track.number in broken
            )
            begins = old is None or over
            self._count += begins
            if old is not None and over and broken is not None and broken[track.number].likely:
                self._follows[self._count] = old.tracklet
            number = self._count if old is None or begins else old.tracklet
            seen = frame.time if old is None or track.missed == 0 else old.seen
            self._tracks[track.number] = _Followed(number, track.ambiguous, track.missed, seen)
            tracklets.append(replace(track, number=number, ambiguous=track.ambiguous or (begins and old is not None)))
        for number in self._present.keys() - {track.number for track in tracklets}:
            self._ended[number] = self._present.pop(number)
        for track in tracklets:
            self._present.setdefault(track.number, _Tracklet())
        self._newest = frame, tracklets
        return tracklets

    def saw(self, tracklet: int, good: bool = True) -> None:
        """Count a frame of a present tracklet that shows a face; good: whether a person can be recognised by it."""
        self._present[tracklet].good += good
        self._present[tracklet].weak += not good

    def settle(self) -> None:
        """Tell the register the tracklets of the newest frame, and ask it for persons; once per frame, for all at once.

        It asks for the persons of ended tracklets, and for those of present tracklets as soon as they are known well
        enough, at the latest when their face is lost."""
        self._end()
        newest, self._newest = self._newest, None
        if newest is None:
            return
        frame, tracks = newest
        self._register.update(frame, tracks)
        follows, self._follows = self._follows, {}
        if isinstance(self._register, ManyPersons):
            for tracklet, earlier in follows.items():
                self._register.expect(tracklet, earlier)
        asked: list[int] = []
        learning: list[_Tracklet] = []
        for track in tracks:
            state = self._present[track.number]
            if self._register.person_of(track.number) is None:
                if state.good >= (LEAST if track.missed > 0 else _LEARNT):
                    asked.append(track.number)
            elif state.good >= _LEARNT and not state.learnt:
                asked.append(track.number)
                learning.append(state)
        self._ask({number: self._present[number] for number in asked})
        for state in learning:
            nothing = state.estimate is None or state.estimate.template is None
            state.learnt = not nothing or state.good >= _LATEST

    def learns(self, tracklet: int) -> bool:
        """Whether more good frames would still tell something about the person of a tracklet."""
        state = self._present.get(tracklet)
        return state is not None and not state.learnt

    @property
    def count(self) -> int:
        """Number of tracklets so far, including those of earlier parts of the stream."""
        return self._count

    def person_of(self, tracklet: int) -> int | None:
        """The person of a tracklet; None while undecided."""
        return self._register.person_of(tracklet)

    def settle_last(self, tracklet: int) -> int | None:
        """Commit the person of a tracklet for a frame that is to be rendered now; None while that is not certain."""
        known = self._register.person_of(tracklet)
        state = self._present.get(tracklet)
        if known is not None or state is None:
            return known
        frames, nothing = state.good + state.weak, state.estimate is not None and state.estimate.template is None
        if frames >= (_WEAK if state.good < LEAST else 2 * _WEAK if nothing else math.inf):
            return self._unseen(tracklet)
        # A face that is alone in the picture is named by its first frame; among others it may be half hidden there.
        alone = not any(other.good + other.weak for number, other in self._present.items() if number != tracklet)
        if state.good < (1 if alone else LEAST):
            return None
        # Others that are known well enough are asked for, too: the order of rendering must not decide who is nearest.
        rivals = {n: s for n, s in self._present.items() if s.good >= LEAST and self._register.person_of(n) is None}
        return self._ask({**rivals, tracklet: state})[tracklet]

    def forgotten(self) -> Set[int]:
        """Persons forgotten since this was asked last."""
        return self._register.forgotten() if isinstance(self._register, ManyPersons) else frozenset()

    def present(self, tracklet: int) -> bool:
        """Whether the tracklet still goes on."""
        return tracklet in self._present

    def end(self) -> None:
        """End every tracklet: no frame will follow, and none waits."""
        self._ended |= self._present
        self._present.clear()
        self._end()

    def close(self) -> None:
        """Tell the register all that was learned of present tracklets whose person is known; no frame will follow.
        These persons may be seen again in a later part of the stream. Harmless when repeated."""
        known = {
            number: state
            for number, state in sorted(self._present.items())
            if state.good >= LEAST and not state.learnt and self._register.person_of(number) is not None
        }
        self._ask(known, anew=True)
        for state in known.values():
            state.learnt = True

    def _breaks(self, old: _Followed, track: Track, now: Fraction) -> bool:
        lost = track.missed == 0 < old.missed and now - old.seen > _LONGEST_LOSS
        return (track.ambiguous and not old.ambiguous) or lost

    def _end(self) -> None:
        """Tell the register what was learned of ended tracklets, before it is told that they are gone."""
        ended, self._ended = dict(sorted(self._ended.items())), {}
        asked = {number: state for number, state in ended.items() if state.good >= self._least and not state.learnt}
        self._ask(asked, anew=True)
        for number, state in ended.items():
            if state.good + state.weak >= _WEAK and self._register.person_of(number) is None:
                self._unseen(number)

    def _unseen(self, tracklet: int) -> int | None:
        """A new person for a tracklet that cannot be recognised; None where the register has no such persons."""
        if not isinstance(self._register, ManyPersons):
            return None
        person = self._register.commit_unseen(tracklet)
        self._named(person, self._estimate(tracklet, False).y)
        return person

    def _ask(self, states: Mapping[int, _Tracklet], *, anew: bool = False) -> dict[int, int | None]:
        """The persons of tracklets, all asked for together. anew: estimate from all good frames; no more will come."""
        known: dict[int, tuple[Points | None, int]] = {}
        told: dict[int, Estimate] = {}
        for number, state in states.items():
            following = 0 if anew else _following(state.asked)
            nothing = state.estimate is not None and state.estimate.template is None
            late = nothing and state.good >= state.asked + max(_AGAIN, state.asked // 4)
            if state.estimate is None or state.good >= following or late:
                state.estimate, state.asked = self._estimate(number, anew), state.good
            told[number] = state.estimate
            # A tracklet with enough good frames is not waited for any longer when many were weak.
            known[number] = state.estimate.template, state.asked + (state.weak if state.asked >= LEAST else 0)
        if not known:
            return {}
        before = {number: self._register.person_of(number) for number in known}
        persons: dict[int, int | None]
        if isinstance(self._register, ManyPersons):
            persons = dict(self._register.commit_together(known))
        else:
            persons = {number: self._register.commit(number, told[number].y, known[number][1]) for number in known}
        for number, person in persons.items():
            if person is not None and before[number] is None:
                self._named(person, told[number].y)
        return persons


def _following(asked: int) -> int:
    """Number of good frames at which an identity is computed again that was computed from `asked` of them."""
    return next((step for step in _STEPS if step > asked), asked + _EVERY)
