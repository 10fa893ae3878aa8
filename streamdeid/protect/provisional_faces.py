"""Provisional faces: what tracklets show while their person is not known, and the change to the person's own face.

Every track that surely has a face shows one from the first frame. One kind of tracklet waits: where another tracklet of
the same track broke off, the next one most likely shows a person who will be known in a moment. It shows no face until
half a second of it was observed (at once where the look-ahead tells that it lasts), because a strange face between two
sights of the own face is worse than a redaction. A person who turns out to be new keeps the provisional face
(`surrogates.choice`). A person who is recognised changes to the old face in four tenths of a second. While it is
unclear who a tracklet shows, several people may have shown its face; then nobody keeps it.

A known person whose track becomes ambiguous (somebody passes) shows no face, which is a redaction for some frames, in
which the face of before fades. In a doubt of half a second and more the track shows a provisional face, and changes to
the own one after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from streamdeid.errors import FailedClosed
from streamdeid.protect.choices import Chosen
from streamdeid.protect.pending import PendingFrame

_BREAK = Fraction(1, 2)
"""Seconds that must be observed of a tracklet that begins in the middle of a track before it shows a provisional
face."""
LONG_DOUBT = Fraction(1, 2)
"""Seconds for which it must be unclear who a known person is before a provisional face is shown."""
_OVER = Fraction(2, 5)
"""Seconds in which a provisional face changes to the old face of a person who was recognised."""


class Sampled(Protocol):
    """Where provisional surrogates come from: `surrogates.Surrogates`, or an experiment's own."""

    def provisional(self, number: int, /) -> Chosen:
        """The provisional surrogate of a tracklet. Raises FailedClosed when there is none to publish."""
        ...

    def release(self, number: int, /) -> None:
        """Give back the surrogate of a tracklet that is over."""
        ...


@dataclass(frozen=True)
class Between:
    """A transition from a provisional surrogate to another one."""

    before: Chosen
    share: float
    """How far the transition has come, 0 to 1."""


class ProvisionalFaces:
    """What the tracklets of one stream show instead of a face of their person, always or for now."""

    def __init__(self, sampled: Sampled | None) -> None:
        """sampled: where the surrogates come from; None where no tracklet gets one."""
        self._sampled = sampled
        self._tracks: dict[int, int] = {}
        """By track of the newest frame: its tracklet."""
        self._broken: dict[int, Fraction] = {}
        """By tracklet that began in the middle of a track: when, seconds."""
        self._shown: dict[int, Chosen] = {}
        self._refused: set[int] = set()
        self._unclear: set[int] = set()
        """Tracklets whose face was shown, or asked for, while it was unclear who they are."""
        self._doubts: dict[int, Fraction] = {}
        """By tracklet in doubt: since when, seconds."""
        self._lent: set[int] = set()
        """Tracklets of known persons that show a provisional face only in a doubt, and keep it until they are over."""
        self._over: dict[int, Fraction] = {}
        """By tracklet that changes to its person's face: since when, seconds."""
        self.replaced = 0
        """Tracklets so far that changed to another face when it became known whom they show."""

    def note(self, pending: PendingFrame[Any]) -> None:
        """Note the tracklets of a new frame, which was observed."""
        before, self._tracks = self._tracks, {track: seen.tracklet for track, seen in pending.seen.items()}
        for track, tracklet in self._tracks.items():
            if before.get(track, tracklet) != tracklet:
                self._broken[tracklet] = pending.frame.time

    def lasting(self, tracklet: int, time: Fraction, until: Fraction | None) -> bool:
        """Whether a tracklet of a known person is in a doubt so long that it shows a provisional face. A tracklet that
        began with a provisional face and kept it gets no other one. time: of the frame that is to be rendered now,
        seconds; until: of the last frame that is known to be in the same doubt, None where this one is in none."""
        if until is None:
            self._doubts.pop(tracklet, None)
            return False
        since = self._doubts.setdefault(tracklet, time)
        if until - since < LONG_DOUBT or (tracklet in self._shown and tracklet not in self._lent):
            return False
        self._lent.add(tracklet)
        self._over.pop(tracklet, None)
        return True

    def of(self, tracklet: int, time: Fraction, ambiguous: bool = False) -> Chosen | None:
        """The surrogate of a tracklet whose person is not known, in a frame that is to be rendered now; None while it
        has none. time: of the newest frame of the tracklet, seconds. ambiguous: whether it is unclear who the frame
        shows."""
        known = self._shown.get(tracklet)
        if ambiguous:
            self._unclear.add(tracklet)
        if known is not None or self._sampled is None or tracklet in self._refused:
            return known
        if tracklet in self._broken and time - self._broken[tracklet] < _BREAK:
            return None
        self._refused.add(tracklet)
        with contextlib.suppress(FailedClosed):  # counted there; without a surrogate the face is redacted
            self._shown[tracklet] = self._sampled.provisional(tracklet)
            self._refused.discard(tracklet)
        return self._shown.get(tracklet)

    def shown(self, tracklet: int) -> Chosen | None:
        """The provisional surrogate that a tracklet has shown; None where it has shown none."""
        return self._shown.get(tracklet)

    def of_person(self, person: int, person_of: Callable[[int], int | None]) -> int | None:
        """A tracklet that showed a provisional surrogate and turned out to be this person; None without one whose face
        the person may keep."""
        clear = (tracklet for tracklet in self._shown if tracklet not in self._unclear)
        return next((tracklet for tracklet in clear if person_of(tracklet) == person), None)

    def towards(self, tracklet: int, time: Fraction, own: Chosen) -> Chosen | Between:
        """What a tracklet whose person is known shows at a time in seconds: the own surrogate, or a transition to
        it."""
        before = self._shown.get(tracklet)
        if before is None or np.array_equal(before.vector, own.vector):  # the person kept it
            return own
        if tracklet not in self._over and tracklet not in self._lent:
            self.replaced += 1
        share = max(float((time - self._over.setdefault(tracklet, time)) / _OVER), 0.0)
        if share >= 1:
            if tracklet not in self._lent:  # the next doubt shows the same one
                self._drop(tracklet)
            return own
        return Between(before, share)

    def forget(self, kept: Set[int]) -> Set[int]:
        """Drop all tracklets but these; return those that were dropped."""
        known = self._shown.keys() | self._broken.keys() | self._doubts.keys()
        over = (known | self._lent | self._refused | self._unclear) - kept
        for tracklet in over:
            self._drop(tracklet)
            self._broken.pop(tracklet, None)
            self._doubts.pop(tracklet, None)
            self._lent.discard(tracklet)
            self._refused.discard(tracklet)
            self._unclear.discard(tracklet)
        return over

    def _drop(self, tracklet: int) -> None:
        self._over.pop(tracklet, None)
        if self._shown.pop(tracklet, None) is not None and self._sampled is not None:
            self._sampled.release(tracklet)
