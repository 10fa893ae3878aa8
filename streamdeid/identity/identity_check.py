"""Who is shown where: from tracks to persons, so that nobody's surrogate is ever handed to another.

A track may go over from one person to another while it is ambiguous (people crossing), and while its face is lost (one
goes behind a pillar, another comes out). So a track is cut into tracklets, and a tracklet has a person of its own.
Where one ends is for the faces' looks to say (`identity.looks`); without them a new one begins with every doubt and
after every longer loss. A tracklet starts without a person, which the soft redaction covers, and is then recognised by
its own good frames alone, as anybody who comes back is: the same person as before, one of those who were mixed up, or a
new one. Nothing is kept of a track but its motion.

Good to know a person by are frames of a face that is surely one, near, frontal and sharp (`levels.recognisable`). Who
gives none for long, turned away or blurred, is somebody new after `_WEAK` others, without a template: nobody can be
matched to that, and the guarantee holds for any estimate of y.

Frames may be rendered long after they were observed. What counts is the person known by then, so of a tracklet that
was recognised in time every frame shows its surrogate.
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
"""Good frames without which a tracklet that is lost or over is not asked for: what one frame of somebody half hidden
tells is worse than nothing."""
_WEAK = 12
"""Frames, good or not, after which a tracklet with fewer good ones than `LEAST` is somebody new: 0.4 s, as long as the
patience with the good ones (docs/methods.md 6.1)."""
_LEARNT, _LATEST = 24, 240
"""Good frames after which more of them tell nothing new about a tracklet whose person is known, if there is a template
by then, and for how many a template is waited for: of twenty people who come at once the recogniser has three vectors
each after 60 frames, and at 120 frames a second after 42. Who had none was nobody when coming back."""
_AGAIN = 4
"""Good frames after which is asked again where there was no template yet, a quarter of them where that is more: an
estimate takes 20 ms and more."""
_STEPS = (1, LEAST, 8, 12, _LEARNT, 50)
_EVERY = 25
"""Good frames at which an identity is computed (it is dear): these, and then so many later each time."""
_LONGEST_LOSS = Fraction(1, 4)
"""Seconds without the face after which somebody else may have taken its place unnoticed, where no looks are there."""


@dataclass(frozen=True)
class Estimate:
    """What the frames of a tracklet tell about who it shows."""

    y: Points = field(repr=False)
    """Identity vector in the model's space, float64 (d,): the surrogate is chosen for it."""
    template: Points | None = field(repr=False)
    """What is compared with other people's, float64 (e,); None while there is nothing to compare."""


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
    """Who is who: tracklets to persons (`identity.reentry` through `streamdeid.identity.register`).

    The tracks it is given bear the numbers of their tracklets. One that takes an earlier one up is ambiguous at first.
    """

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None: ...

    def person_of(self, track: int) -> int | None: ...

    def commit(self, track: int, identity: Points, frames: int) -> int | None: ...


@runtime_checkable
class ManyPersons(Register, Protocol):
    """A register in which several tracklets may claim one person, and that forgets persons in the end."""

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
    """Frames that show a face, but none that is good to know anybody by."""
    asked: int = 0
    """Good frames in `estimate`."""
    estimate: Estimate | None = field(default=None, repr=False)
    learnt: bool = False


class IdentityCheck:
    """Tracklets of one stream and their persons.

    estimate: what is known of a tracklet from its frames so far, and whether there will be no more; asked only when
    there is one. named: called with a person and a vector y whenever a tracklet has got its person.
    """

    def __init__(
        self,
        register: Register,
        estimate: Callable[[int, bool], Estimate],
        named: Callable[[int, Points], None],
        first: int = 0,
        least: int = LEAST,
    ) -> None:
        """first: tracklets of earlier parts of the stream, whose numbers are not used again. least: good frames without
        which a tracklet that is over is not asked for."""
        self._least = least
        self._register, self._estimate, self._named = register, estimate, named
        self._tracks: dict[int, _Followed] = {}
        self._present: dict[int, _Tracklet] = {}
        self._ended: dict[int, _Tracklet] = {}
        """Those that are over since the register was told last."""
        self._follows: dict[int, int] = {}
        """By tracklet of the newest frame that most likely goes on with an earlier one's person: that tracklet."""
        self._newest: tuple[Frame, Sequence[Track]] | None = None
        """The newest frame, with its tracklets, until that is settled."""
        self._count = first

    def update(self, frame: Frame, tracks: Sequence[Track], broken: Mapping[int, Broken] | None = None) -> list[Track]:
        """The tracks of a new frame under the numbers of their tracklets, in the same order; once per frame, and then
        `settle`. The register hears of nothing yet.

        broken: the tracks whose tracklet is over, None where nobody looked. Where a tracklet begins in the middle of a
        track the first frame counts as ambiguous.
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
        """Count a frame of a present tracklet that shows a face; good: one to know somebody by."""
        self._present[tracklet].good += good
        self._present[tracklet].weak += not good

    def settle(self) -> None:
        """Tell the register of the tracklets of the newest frame, and ask for the persons of those that are over, and
        of present ones as soon as they are known well enough, or at last when they are lost; once per frame, for all of
        them at a time."""
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
        """Whether more good frames would still teach something about who this is."""
        state = self._present.get(tracklet)
        return state is not None and not state.learnt

    @property
    def count(self) -> int:
        """Tracklets so far, those of earlier parts of the stream with them."""
        return self._count

    def person_of(self, tracklet: int) -> int | None:
        """The person of a tracklet; None while undecided."""
        return self._register.person_of(tracklet)

    def settle_last(self, tracklet: int) -> int | None:
        """Commit the person to show, for a frame that is to be rendered now; None while that is not certain."""
        known = self._register.person_of(tracklet)
        state = self._present.get(tracklet)
        if known is not None or state is None:
            return known
        frames, nothing = state.good + state.weak, state.estimate is not None and state.estimate.template is None
        if frames >= (_WEAK if state.good < LEAST else 2 * _WEAK if nothing else math.inf):
            return self._unseen(tracklet)
        # Alone in the picture a face is named by its very first frame; among others it might be half hidden in that.
        alone = not any(other.good + other.weak for number, other in self._present.items() if number != tracklet)
        if state.good < (1 if alone else LEAST):
            return None
        # With it all others who are known as well: who is nearest is not for the order of drawing to say.
        rivals = {n: s for n, s in self._present.items() if s.good >= LEAST and self._register.person_of(n) is None}
        return self._ask({**rivals, tracklet: state})[tracklet]

    def forgotten(self) -> Set[int]:
        """Persons forgotten since this was asked last."""
        return self._register.forgotten() if isinstance(self._register, ManyPersons) else frozenset()

    def present(self, tracklet: int) -> bool:
        """Whether the tracklet still goes on."""
        return tracklet in self._present

    def end(self) -> None:
        """No frame will follow, and none waits: every tracklet is over."""
        self._ended |= self._present
        self._present.clear()
        self._end()

    def close(self) -> None:
        """No frame will follow: tell the register all that was learned of those who are present and known, for they may
        be seen again in a later part of the stream. Harmless when repeated."""
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
        """Tell the register, before it hears that they are gone, what was learned of tracklets."""
        ended, self._ended = dict(sorted(self._ended.items())), {}
        asked = {number: state for number, state in ended.items() if state.good >= self._least and not state.learnt}
        self._ask(asked, anew=True)
        for number, state in ended.items():
            if state.good + state.weak >= _WEAK and self._register.person_of(number) is None:
                self._unseen(number)

    def _unseen(self, tracklet: int) -> int | None:
        """A person of its own for a tracklet of which nothing is known to recognise it by."""
        if not isinstance(self._register, ManyPersons):
            return None
        person = self._register.commit_unseen(tracklet)
        self._named(person, self._estimate(tracklet, False).y)
        return person

    def _ask(self, states: Mapping[int, _Tracklet], *, anew: bool = False) -> dict[int, int | None]:
        """The persons of tracklets, all asked for together. anew: from all good frames, there will be no more."""
        known: dict[int, tuple[Points | None, int]] = {}
        told: dict[int, Estimate] = {}
        for number, state in states.items():
            following = 0 if anew else _following(state.asked)
            nothing = state.estimate is not None and state.estimate.template is None
            late = nothing and state.good >= state.asked + max(_AGAIN, state.asked // 4)
            if state.estimate is None or state.good >= following or late:
                state.estimate, state.asked = self._estimate(number, anew), state.good
            told[number] = state.estimate
            # Who gave enough good ones among many is not waited for any longer.
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
    """Good frames at which an identity is computed again that was computed with so many."""
    return next((step for step in _STEPS if step > asked), asked + _EVERY)
