"""The interface of every method, in four verbs: measure, commit, decide how each face is protected, render.

A new way to protect faces is a `Deidentifier`. The wrappers around one (whitelist, regions) are `Deidentifier`s, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from streamdeid.core.arrays import Box, Points
from streamdeid.core.convex import convex
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Frame
from streamdeid.core.ibug68 import OUTER_LIP, OUTLINE
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.posed_view import PosedView
from streamdeid.protect.fading import Replaced
from streamdeid.protect.levels import FACES, Cause, Level
from streamdeid.protect.measured_faces import Followed
from streamdeid.protect.pending import Measured, PendingFrame, Waiting
from streamdeid.protect.soft_head import Head, head_of
from streamdeid.render.blend import Feather
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_region import face_ellipse

_FEATHERED, _BEYOND = 1.25, 0.5
"""How far inside the outline of an own face its feather may reach, in breadths of the soft feather, and pixels more:
its distances are counted in pixels of chroma, from a blurred rim."""
_MOUTH = 1.15
"""How much larger than the person's lips the place may be in which a new face shows the inside of a mouth."""


@dataclass(frozen=True)
class Plan:
    """How one face of a frame is protected."""

    track: Track
    place: tuple[Box, Points | None, tuple[int, int]]
    """Box of the face or, where it is lost, of the place where it may be; its points (81, 2); size of the picture."""
    level: Level
    cause: Cause | None = None
    """Why the face gets no better level."""
    measured: Measured | None = None
    followed: Followed | None = None
    neutral: Neutral | None = None
    """The face at rest, where an own face is rendered."""
    person: int = 0
    face: NewFace | None = None
    tracklet: int = 0
    posed: PosedView | None = None
    """The view at which a posed face is rendered."""
    steady: Head | None = None
    """The ellipse about the head, where it goes on from the last frame's (`steady_heads`)."""

    @cached_property
    def head(self) -> Head:
        """The ellipse about the head; only redactions ask for it."""
        return head_of(*self.place) if self.steady is None else self.steady

    @cached_property
    def rim(self) -> Points:
        """Rim float64 (n, 2), pixels, of the face that is shown; the posed face of another track takes nothing from
        inside it."""
        if self.posed is not None and self.level is Level.POSED:
            return face_ellipse(self.posed.box)
        face = self.track.face
        return face_ellipse(self.track.box if face is None else face.outline or face.box)

    @cached_property
    def rendered(self) -> Head:
        """The ellipse about what is shown: about the face that is rendered, or the head that is redacted."""
        if self.level not in FACES:
            return self.head
        (x, y), (across, down) = self.rim.mean(axis=0), np.ptp(self.rim, axis=0) / 2
        return Head(float(x), float(y), float(across), float(down))

    def replaced(self, level: Level) -> Replaced | None:
        """Where nothing of the original is left when this was rendered as an own face or softly redacted; None at other
        levels, and where something before a face may have stayed visible."""
        if level is Level.SOFT:
            return Replaced(self.head.places(np.ones(1), np.linspace(0, 2 * np.pi, 48, endpoint=False))[0])
        if level is Level.OWN_FACE and self.measured is not None and self.measured.opening is None:
            seen = self.measured.seen
            lips = np.concatenate([seen.raw[OUTER_LIP], seen.points[OUTER_LIP]])
            middle = lips.mean(axis=0)  # of an open mouth the inside is the person's
            mouth = convex(middle + _MOUTH * (lips - middle))
            return Replaced(seen.raw[OUTLINE], _FEATHERED * Feather.of(seen.width).soft + _BEYOND, (mouth,))
        return None


Plans = Sequence[Plan]


class Deidentifier(Protocol):
    """Turns raw frames into frames that may be published. Each of the four verbs gets the frames in order.
    tests/protect/test_verbs.py checks that they do what is said here."""

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        """Measure the newest frame and store the results in it; nobody is committed. waiting: the frames that were not
        rendered yet, the newest last."""
        ...

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        """Commit persons, and choose what is shown for them; no other verb does that. It is called twice for a frame.
        The first call comes when the frame was observed (it is the last one of `waiting`), for all persons whom it
        makes known. The second call comes before the frame is decided (it is the first one), with those of its tracks
        that are `due`, to be protected in it; it is the last time. After it the frame holds all that `decide` asks for.
        Raises FailedClosed in any doubt."""
        ...

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> Plans:
        """How each of the tracks that were due is protected in a settled frame. It changes nothing, so it gives the
        same answer when it is asked again. Raises FailedClosed in any doubt."""
        ...

    def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
        """The frame, protected as was decided; nothing more is decided here. Raises FailedClosed in any doubt."""
        ...


def settled(deidentifier: Deidentifier, waiting: Waiting, tracks: Sequence[Track]) -> Plans:
    """Settle and decide the oldest of the waiting frames. tracks: those of its tracks that are due. Raises
    FailedClosed."""
    deidentifier.settle(waiting, tracks)
    return deidentifier.decide(waiting[0], tracks)


def at_once(deidentifier: Deidentifier, frame: Frame, tracks: Sequence[Track]) -> DeidentifiedFrame:
    """Observe, decide and render a frame without any look-ahead. Raises FailedClosed in any doubt."""
    return deidentifier.render(*planned_at_once(deidentifier, frame, tracks))


def planned_at_once(
    deidentifier: Deidentifier, frame: Frame, tracks: Sequence[Track]
) -> tuple[PendingFrame[None], Plans]:
    """Observe and decide a frame without any look-ahead. Raises FailedClosed in any doubt."""
    pending: PendingFrame[None] = PendingFrame(frame, tracks, None)
    deidentifier.observe(pending, [pending])
    deidentifier.settle([pending])
    return pending, settled(deidentifier, [pending], tracks)
