"""One step of every stream, recorded, live or picture by picture: analyse a frame, decide about one, render it.

This module uses neither threads nor files. Boxes always belong to the very frame whose pixels they change.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

import numpy as np

from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Frame
from streamdeid.core.protocols import Begins, Detector, Foresees, LooksAgain, SeesCamera, Tracker
from streamdeid.protect.pending import Origin, PendingFrame, SeenTrack, Waiting
from streamdeid.protect.plan import Deidentifier, Plans, settled
from streamdeid.protect.stored_pixels import as_stored
from streamdeid.report.counts import Counts
from streamdeid.tracking.lookahead import LookAhead
from streamdeid.tracking.lost_faces import corners
from streamdeid.tracking.noted import Noted

SETTLED, _SHARE, _AT_ONCE = 0.25, 5, 2
"""Limits on settling in advance which tracks are redacted, before a frame is decided: the next frames up to so many
seconds ahead, at most one in `_SHARE` of the waiting frames, and `_AT_ONCE` new frames at a time. A face that comes and
goes between two looks is held only where the next looks are known (docs/methods.md 8.4). Settling a frame takes the
frames after it, so a recording is analysed `SETTLED` seconds farther ahead."""
_BYTES_WAITING = 512 << 20
"""Bytes of pictures that may wait; of large pictures fewer wait, so that they do not fill the memory."""


def most_waiting(frame_bytes: int) -> int:
    """How many frames of so many bytes each may wait, however long the look-ahead is."""
    return _BYTES_WAITING // max(frame_bytes, 1)


@dataclass(frozen=True)
class Done(Generic[Origin]):
    """A frame that was rendered, with what was found in it and what was decided."""

    pending: PendingFrame[Origin]
    plans: Plans
    frame: DeidentifiedFrame
    """The only frame that may leave."""

    @property
    def persons(self) -> dict[int, int]:
        """By track: the person that it shows, with or without that person's surrogate; 0 for an unknown person. All
        counts of faces by person use this."""
        return {plan.track.number: plan.person for plan in self.plans}

    @property
    def cut(self) -> int:
        """Redactions of lost faces that were cut to the largest size that one may have."""
        return sum(plan.track.cut for plan in self.plans)

    def count(self, counts: Counts, people: bool = True) -> None:
        """Count the frame. people: whether persons are told apart; False for a mask."""
        who = self.persons if people else None
        counts.add(self.frame.redactions, who, cut=self.cut, left=len(self.pending.left))


class Step(Generic[Origin]):
    """Analyses frames in order, keeps them while they wait, and decides and renders the oldest.

    An error of any part is passed on to the caller, so no frame leaves that was not filtered.
    """

    def __init__(self, detect: Detector, tracker: Tracker, deidentifier: Deidentifier) -> None:
        self._detect, self._tracker, self._deidentifier = detect, tracker, deidentifier
        self.waiting: deque[PendingFrame[Origin]] = deque()
        """The frames that were analysed and are not rendered yet, the oldest first."""

    def analyse(self, frame: Frame, origin: Origin, room: int = sys.maxsize) -> None:
        """Detect, track and observe the faces of the next frame, which then waits. room: as for `PendingFrame`."""
        found = self._detect(frame)
        sees = self._detect if isinstance(self._detect, SeesCamera) else None
        camera, scene = (None, 0) if sees is None else (sees.camera, sees.cuts)
        pending = PendingFrame(frame, self._tracker.update(found, frame.time), origin, found, room, camera, scene)
        waiting = [*self.waiting, pending]
        self._deidentifier.observe(pending, waiting)
        self._deidentifier.settle(waiting)
        pending.frame = replace(frame)  # a new object, without the values that the analysis cached
        self.waiting.append(pending)

    def foresee(self, frame: Frame, following: Frame | None) -> None:
        """Tell the detector, before `frame` is analysed, which frame follows it; None at the end."""
        if isinstance(self._detect, Foresees):
            self._detect.foresee(frame, following)

    def decide(self) -> tuple[PendingFrame[Origin], Plans]:
        """Decide about the oldest frame that waits, by what is known now; it waits no longer."""
        waiting = tuple(self.waiting)
        pending = self.waiting.popleft()
        return pending, settled(self._deidentifier, waiting, pending.tracks)

    def render(self, following: Frame | None = None) -> Done[Origin]:
        """Decide about the oldest frame that waits, and render it. following: the next frame to be analysed, where it
        is known and was foreseen. A detector that can begins with it meanwhile, since rendering does not use it."""
        pending, plans = self.decide()
        if following is not None and isinstance(self._detect, Begins):
            self._detect.begin(following)
        return Done(pending, plans, as_stored(pending.frame, self._deidentifier.render(pending, plans)))


def filtered(frames: Iterable[Frame], step: Step[None], lookahead: int = 0) -> Iterator[Done[None]]:
    """The loop over a recording: yields each frame rendered, in order.

    Frames are analysed `lookahead` frames ahead of what is rendered, so that a face is known before it is first shown.
    """
    for following in analysed(frames, step):
        if len(step.waiting) > lookahead:
            yield step.render(following)
    while step.waiting:
        yield step.render()


def analysed(frames: Iterable[Frame], step: Step[None]) -> Iterator[Frame | None]:
    """Analyse the frames of a recording one by one; after each, yields the next frame, None at the end.

    Each frame is read before its predecessor is analysed. `Step.foresee` is called for each before it is analysed."""
    coming = iter(frames)
    frame, following = next(coming, None), next(coming, None)
    if frame is not None:
        step.foresee(frame, following)
    while frame is not None:
        step.analyse(frame, None)
        frame, following = following, next(coming, None)
        if frame is not None:
            step.foresee(frame, following)
        yield frame


class WithLookAhead:
    """A `Deidentifier` around another one; the inner one protects the tracks that the look-ahead chooses."""

    def __init__(self, inner: Deidentifier, lookahead: LookAhead, again: LooksAgain | None = None) -> None:
        """again: can look once more at a place of a frame before the frame leaves; None where this is not wanted."""
        self._inner, self._lookahead, self._again = inner, lookahead, again

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        """Let the inner de-identifier observe all tracks, and note them in the look-ahead."""
        self._inner.observe(pending, waiting)
        frame = pending.frame
        pending.noted = self._lookahead.note(
            pending.tracks, frame.time, frame.luma_levels, pending.scene, pending.camera
        )

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        """Settle which tracks are redacted in the frame that is due and in the next ones; the inner de-identifier
        settles the rest."""
        if due is None:
            self._inner.settle(waiting)
            return
        pending, later = waiting[0], waiting[1:]
        self._settle(waiting, due)
        left = _AT_ONCE
        for place, one in enumerate(waiting[1 : 1 + len(later) // _SHARE], start=1):
            new = one.covered is None
            left -= new
            if left < 0 or _noted(one).time - _noted(pending).time > SETTLED:
                break
            self._settle(waiting[place:], one.tracks)
            if new and self._lookahead.unlooked:
                self._add_unlooked(waiting[place - 1 :])
        self._inner.settle(waiting, pending.known)

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> Plans:
        """The plans of the inner de-identifier for the tracks that are redacted."""
        return self._inner.decide(pending, pending.known)

    def _settle(self, waiting: Waiting, tracks: Sequence[Track]) -> None:
        """Settle, once, which tracks are redacted in the first of some waiting frames. tracks: of that frame."""
        one, later = waiting[0], waiting[1:]
        if one.covered is None:
            look = None if self._again is None else partial(self._again.look_again, one.frame)
            one.covered = self._lookahead.shown(tracks, _noted(one), [_noted(after) for after in later], look)
        # Before its first frame a track has the tracklet and ambiguity of that frame, as known now; a mask has none.
        for number in {track.number for track in one.covered} - {track.number for track in tracks}:
            first = next((after.seen[number] for after in later if _tracked(number, after)), None)
            if first is not None:
                seen = one.seen.setdefault(number, SeenTrack(first.tracklet, first.ambiguous))
                seen.tracklet, seen.ambiguous = first.tracklet, first.ambiguous

    def _add_unlooked(self, waiting: Waiting) -> None:
        """Redact in the first of some waiting frames, at places that were not looked at, faces seen in the next one."""
        one = waiting[0]
        known = {track.number for track in one.known}
        new = [track for track in self._lookahead.unlooked if track.number not in known]
        here = _noted(one).here
        one.covered = [*one.known, *(replace(track, box=corners(here(np.array(track.box)))) for track in new)]
        self._settle(waiting, one.tracks)

    def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
        """The frame that the inner de-identifier renders."""
        return self._inner.render(pending, plans)


def _tracked(number: int, pending: PendingFrame[Any]) -> bool:
    """Whether a track was observed in a frame."""
    return number in pending.seen and any(track.number == number for track in pending.tracks)


def _noted(pending: PendingFrame[Any]) -> Noted:
    assert pending.noted is not None
    return pending.noted
