"""Leaves chosen people unprotected, only while recognition is certain (`--whitelist FACE.jpg`); in doubt protects all.

A track is left unfiltered in a frame only while all of this holds:

* In this frame, and in `AROUND` frames before it and (as far as was looked ahead) after it, its face was measured by
  landmarks. It is wide, frontal, sharp and good enough for a synthetic face, touches no other track's place, and is in
  no doubt.
* The median distance to a whitelisted picture over its last `_WINDOW` such frames, `_LEAST` at least, is accepted, and
  none of these frames differs. One that differs protects the face at once, for a second at least. Whatever breaks the
  row (a turned or lost face, a crossing) starts it anew.
* No other track came near the same pictures within a second. Where two tracks claim one person, both are protected.

What is known of whitelisted people is biometric: it stays in memory, and is never written or logged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Vector
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame
from streamdeid.errors import FailedClosed
from streamdeid.identity.recognised_faces import Known, Recogniser, sharpness_of, unfit, vector_of
from streamdeid.observe.signals import Sharpness
from streamdeid.protect.mask_faces import face_extent, grown
from streamdeid.protect.pending import PendingFrame, Waiting
from streamdeid.protect.plan import Deidentifier, Plans

_LEAST, _WINDOW, AROUND = 12, 25, 12
"""Numbers of frames; see the module's docstring."""
PENALTY = Fraction(1)
"""Seconds for which a face stays protected after a frame that differs, and for which a claim of another track
counts."""


class Recognition:
    """The distances of one track to one whitelisted person in its last frames in a row."""

    def __init__(self, recogniser: Recogniser) -> None:
        self._recogniser = recogniser
        self._near: deque[float] = deque(maxlen=_WINDOW)
        self._blocked = Fraction(-1)
        self.person: int | None = None
        """The whitelisted person to whom the row of frames belongs, if there is one."""

    def add(self, distances: Vector | None, clock: Fraction) -> None:
        """Add one frame: distances (people,), None where the face could not be recognised beyond doubt.

        clock: seconds, never decreasing.
        """
        if distances is None:
            self.start_anew()
            return
        person = int(np.argmin(distances))
        if distances[person] > self._recogniser.differ:
            self.start_anew()
            self._blocked = clock + PENALTY
            return
        if person != self.person:
            self.start_anew()
        self.person = person
        self._near.append(float(distances[person]))

    def start_anew(self) -> None:
        """Forget the row."""
        self._near.clear()
        self.person = None

    def certain(self, clock: Fraction) -> int | None:
        """The person whom the track shows for certain at this time; None where the row is not long or near enough."""
        enough = len(self._near) >= _LEAST and clock >= self._blocked
        return self.person if enough and float(np.median(self._near)) <= self._recogniser.accept else None


class Whitelist:
    """Takes the certain tracks out of those that another de-identifier protects; a `plan.Deidentifier`."""

    def __init__(
        self,
        inner: Deidentifier,
        known: Known,
        model: AppearanceModel,
        good: Callable[[PendingFrame[Any], Track], bool] = lambda pending, track: True,
    ) -> None:
        """good: whether what the inner de-identifier just observed of a track may be shown as an own face."""
        self._inner, self._known, self._model, self._good = inner, known, model, good
        self._sharpness = Sharpness(model.fit_table)
        self._recognition: dict[int, Recognition] = {}
        self._last: dict[int, int] = {}
        """By track: the frame in which it was last seen."""
        self._claims: list[dict[int, Fraction]] = [{} for _ in range(known.people)]
        """For each person: the tracks that came near, and when each last did."""
        self._before: deque[tuple[int, dict[int, tuple[Face, int]]]] = deque(maxlen=AROUND + 1)
        """Index and `PendingFrame.certain` of the last frames that were decided."""
        self._clock = Fraction(0)
        self._time: Fraction | None = None

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        """Recognise faces, after the inner de-identifier has observed. Raises what that one raises, and
        FailedClosed."""
        self._inner.observe(pending, waiting)
        frame, tracks = pending.frame, pending.tracks
        if self._time is not None:
            self._clock += max(Fraction(0), frame.time - self._time)
        self._time = frame.time
        measured = {track.number: self._measured(frame, track) for track in tracks}
        alone = _alone(tracks, {number for number, distances in measured.items() if distances is not None})
        for track in tracks:
            distances = measured[track.number]
            if distances is not None:  # a blurred face is not certain, but it may be a rival
                for person in np.flatnonzero(distances <= self._known.recogniser.differ).tolist():
                    self._claims[person][track.number] = self._clock
            clear = track.number in alone and not track.ambiguous and self._good(pending, track)
            one = self._recognition.setdefault(track.number, Recognition(self._known.recogniser))
            one.add(distances if clear and self._sharp(frame, track) else None, self._clock)
            self._last[track.number] = frame.index
        earlier = {one.frame.index for one in waiting if one is not pending} | {index for index, _ in self._before}
        certain = self._sure(tracks)
        pending.certain = {} if frame.index in earlier else certain  # a repeated frame is a doubt
        for number in [number for number, last in self._last.items() if abs(frame.index - last) > _WINDOW]:
            del self._recognition[number], self._last[number]

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        """Settle which of the due tracks are certain and stay unprotected; the inner de-identifier settles the
        others."""
        if due is None:
            self._inner.settle(waiting)
            return
        pending = waiting[0]
        pending.left |= self._certain(pending, due, waiting[1:])
        self._before.append((pending.frame.index, pending.certain))
        self._inner.settle(waiting, _not_left(pending, due))

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> Plans:
        """The inner de-identifier's plans for the tracks that are not certain."""
        return self._inner.decide(pending, _not_left(pending, tracks))

    def _certain(self, pending: PendingFrame[Any], tracks: Sequence[Track], later: Waiting) -> set[int]:
        """The numbers of the tracks that stay unprotected in a frame. later: the frames that wait after it."""
        here, index = pending.certain, pending.frame.index
        known = [*self._before, (index, here), *((one.frame.index, one.certain) for one in later)]
        around = [certain for one, certain in known if abs(one - index) <= AROUND]
        alone = _alone(tracks, here)
        shown = {
            track.number: here[track.number][1]
            for track in tracks
            if track.number in here
            and track.number in alone
            and not track.ambiguous
            and track.face is here[track.number][0]
            and all(track.number in one and one[track.number][1] == here[track.number][1] for one in around)
        }
        people = list(shown.values())
        return {number for number, person in shown.items() if people.count(person) == 1}

    def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
        """The inner de-identifier's frame, in which the certain tracks are not rendered over."""
        return self._inner.render(pending, plans)

    def _measured(self, frame: Frame, track: Track) -> Vector | None:
        """Distances (people,) of a track's face in this frame; None when it cannot be recognised."""
        if track.face is None or track.missed or unfit(track.face, self._model) is not None:
            return None
        vector = vector_of(frame.planes, track.face, self._model, self._known.recogniser.describe)
        if vector is None:
            return None
        if vector.shape != self._known.vectors.shape[1:]:
            raise FailedClosed("the recogniser of the whitelist gave vectors of different lengths")
        return self._known.distances(vector)

    def _sharp(self, frame: Frame, track: Track) -> bool:
        """Whether a track's face is sharp enough in this frame; a sharpness that is no number is not."""
        if track.face is None or unfit(track.face, self._model) is not None:
            return False
        found = sharpness_of(frame.planes, track.face, self._model, self._sharpness)
        return found >= self._known.recogniser.sharpness

    def _sure(self, tracks: Sequence[Track]) -> dict[int, tuple[Face, int]]:
        """The tracks that are certain in the newest frame; a track that has a rival starts anew."""
        for claims in self._claims:
            for number in [n for n, when in claims.items() if self._clock - when > PENALTY]:
                del claims[number]
        sure = {}
        for track in tracks:
            one = self._recognition[track.number]
            if one.person is not None and len(self._claims[one.person]) > 1:
                one.start_anew()
            if track.face is not None and (person := one.certain(self._clock)) is not None:
                sure[track.number] = track.face, person
        return sure


def _not_left(pending: PendingFrame[Any], tracks: Sequence[Track]) -> list[Track]:
    return [track for track in tracks if track.number not in pending.left]


def _alone(tracks: Sequence[Track], among: Container[int]) -> set[int]:
    """Those of the tracks `among` whose place, as far as a redaction might reach, touches no other track's place."""
    wanted = [row for row, track in enumerate(tracks) if track.number in among]
    if not wanted:
        return set()
    extents = [grown(track.box if track.face is None else face_extent(track, track.face)) for track in tracks]
    boxes = np.array(extents)
    lost = ~np.isfinite(boxes).all(axis=1)  # could be anywhere
    lone = set()
    for row in wanted:
        x0, y0, x1, y1 = extents[row]
        touching = (boxes[:, 0] <= x1) & (boxes[:, 2] >= x0) & (boxes[:, 1] <= y1) & (boxes[:, 3] >= y0)
        if np.count_nonzero(touching | lost) == 1:
            lone.add(tracks[row].number)
    return lone
