"""Who is shown where: from tracks to persons, so that nobody's surrogate is ever handed to another.

A track may go over from one person to another while it is doubtful (people crossing), and while its face is lost (one
goes behind a pillar, another comes out). So a track is cut into stretches: a new one begins with every doubt and after
every longer loss, and a stretch has a person of its own. It starts without one, which the mean face covers, and is
then recognised by its own good frames alone, as anybody who comes back is: the same person as before, one of those who
were mixed up, or a new one. Nothing is kept of a track but its motion.

Frames may be published long after they were observed. What counts is the person known by then, so of a stretch that
was recognised in time every frame shows its surrogate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol, runtime_checkable

from streamdeid.aam.piecewise_affine import Points
from streamdeid.faces import Track
from streamdeid.frames import Frame

_LEAST = 5
"""Good frames without which a stretch that is lost or over is not asked for: what one frame of somebody half hidden
tells is worse than nothing."""
_ENOUGH = 12
"""Good frames after which a stretch's person is asked for ahead of publishing."""
_LEARNT = 24
"""Good frames after which more of them tell nothing new about a stretch whose person is known."""
_STEPS = (1, _LEAST, _ENOUGH, _LEARNT, 50)
_EVERY = 25
"""Good frames at which an identity is computed (it is dear): these, and then so many later each time."""
_LONGEST_LOSS = Fraction(1, 4)
"""Seconds without the face after which somebody else may have taken its place unnoticed."""


class Register(Protocol):
    """Who is who: stretches to persons (`tracking.reentry` through `streamdeid.register`).

    The tracks it is given bear the numbers of their stretches. One that takes an earlier one up is doubtful at first.
    """

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None: ...

    def person_of(self, track: int) -> int | None: ...

    def commit(self, track: int, identity: Points, frames: int) -> int | None: ...


@runtime_checkable
class ManyPersons(Register, Protocol):
    """A register in which several stretches may claim one person, and that forgets persons in the end."""

    def commit_together(self, known: Mapping[int, tuple[Points, int]]) -> Mapping[int, int | None]: ...

    def forgotten(self) -> Set[int]: ...


@dataclass
class _Followed:
    """The present stretch of a track."""

    stretch: int
    doubtful: bool
    missed: int
    seen: Fraction
    """When the face was last seen, seconds."""


@dataclass
class _Stretch:
    """What is known of a present stretch."""

    good: int = 0
    asked: int = 0
    """Good frames in `identity`."""
    identity: Points | None = field(default=None, repr=False)
    learnt: bool = False


class IdentityCheck:
    """Stretches of one stream and their persons.

    identity: the identity vector, float64 (d,), of a stretch, from its good frames so far; asked only when there is
    one. named: called with a person and an identity whenever a stretch has got its person.
    """

    def __init__(
        self, register: Register, identity: Callable[[int], Points], named: Callable[[int, Points], None]
    ) -> None:
        self._register, self._identity, self._named = register, identity, named
        self._tracks: dict[int, _Followed] = {}
        self._present: dict[int, _Stretch] = {}
        self._at: dict[int, dict[int, int]] = {}
        self._count = 0

    def update(self, frame: Frame, tracks: Sequence[Track]) -> list[Track]:
        """The tracks of a new frame under the numbers of their stretches, in the same order; once per frame.

        Where a stretch begins in the middle of a track the first frame counts as doubtful.
        """
        stretched = []
        before, self._tracks = self._tracks, {}
        for track in tracks:
            old = before.get(track.number)
            begins = old is None or self._breaks(old, track, frame.time)
            self._count += begins
            number = self._count if old is None or begins else old.stretch
            seen = frame.time if old is None or track.missed == 0 else old.seen
            self._tracks[track.number] = _Followed(number, track.doubtful, track.missed, seen)
            stretched.append(replace(track, number=number, doubtful=track.doubtful or (begins and old is not None)))
        self._at[frame.index] = {number: followed.stretch for number, followed in self._tracks.items()}
        self._end(self._present.keys() - {track.number for track in stretched})
        for track in stretched:
            self._present.setdefault(track.number, _Stretch())
        self._register.update(frame, stretched)
        return stretched

    def saw(self, stretch: int) -> None:
        """Count a good frame of a present stretch."""
        self._present[stretch].good += 1

    def settle(self, tracks: Iterable[Track]) -> None:
        """Ask for the persons of present stretches as soon as they are known well enough, or at last when they are
        lost; once per frame, for all of them at a time."""
        asked = []
        for track in tracks:
            state = self._present[track.number]
            if self._register.person_of(track.number) is None:
                if state.good >= (_LEAST if track.missed > 0 else _ENOUGH):
                    asked.append(track.number)
            elif state.good >= _LEARNT and not state.learnt:
                asked.append(track.number)
                state.learnt = True
        self._ask({number: self._present[number] for number in asked})

    def learns(self, stretch: int) -> bool:
        """Whether more good frames would still teach something about who this is."""
        state = self._present.get(stretch)
        return state is not None and not state.learnt

    def stretch(self, frame: Frame, track: int) -> int:
        """The stretch of a track in an observed frame; 0 when the track was not there."""
        return self._at.get(frame.index, {}).get(track, 0)

    def published(self, frame: Frame) -> None:
        """Forget the stretches of a frame that is done with, and of all before it."""
        for index in [index for index in self._at if index <= frame.index]:
            del self._at[index]

    def person(self, stretch: int) -> int | None:
        """The person to show, for a frame that is to be published now; None while that is not certain."""
        known = self._register.person_of(stretch)
        state = self._present.get(stretch)
        if known is not None or state is None:
            return known
        # Alone in the picture a face is named by its very first frame; among others it might be half hidden in that.
        if state.good < (_LEAST if len(self._present) > 1 else 1):
            return None
        # With it all others who are known as well: who is nearest is not for the order of drawing to say.
        rivals = {n: s for n, s in self._present.items() if s.good >= _LEAST and self._register.person_of(n) is None}
        return self._ask({**rivals, stretch: state})[stretch]

    def waiting(self) -> frozenset[int]:
        """The stretches of frames that are not published yet."""
        return frozenset(stretch for stretches in self._at.values() for stretch in stretches.values())

    def forgotten(self) -> Set[int]:
        """Persons forgotten since this was asked last."""
        return self._register.forgotten() if isinstance(self._register, ManyPersons) else frozenset()

    def present(self, stretch: int) -> bool:
        """Whether the stretch still goes on."""
        return stretch in self._present

    def _breaks(self, old: _Followed, track: Track, now: Fraction) -> bool:
        lost = track.missed == 0 < old.missed and now - old.seen > _LONGEST_LOSS
        return (track.doubtful and not old.doubtful) or lost

    def _end(self, numbers: set[int]) -> None:
        """Tell the register, before it hears that they are gone, what was learned of stretches."""
        ended = {number: self._present.pop(number) for number in sorted(numbers)}
        asked = {number: state for number, state in ended.items() if state.good >= _LEAST and not state.learnt}
        self._ask(asked, anew=True)

    def _ask(self, states: Mapping[int, _Stretch], *, anew: bool = False) -> dict[int, int | None]:
        """The persons of stretches, all asked for together. anew: from every good frame there was."""
        known: dict[int, tuple[Points, int]] = {}
        for number, state in states.items():
            following = state.asked + 1 if anew else next((s for s in _STEPS if s > state.asked), state.asked + _EVERY)
            if state.identity is None or state.good >= following:
                state.identity, state.asked = self._identity(number), state.good
            known[number] = state.identity, state.asked
        if not known:
            return {}
        before = {number: self._register.person_of(number) for number in known}
        if isinstance(self._register, ManyPersons):
            persons = dict(self._register.commit_together(known))
        else:
            persons = {number: self._register.commit(number, *told) for number, told in known.items()}
        for number, person in persons.items():
            if person is not None and before[number] is None:
                self._named(person, known[number][0])
        return persons
