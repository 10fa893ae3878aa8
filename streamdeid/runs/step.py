"""One step of every stream, recorded, live or picture by picture: analyse a frame, decide, render one.

It knows neither threads nor files. Boxes always belong to the very frame whose pixels they change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Frame
from streamdeid.core.protocols import Deidentifier, Detector, Tracker
from streamdeid.tracking.lookahead import LookAhead

_Origin = TypeVar("_Origin")


@dataclass(frozen=True)
class PendingFrame(Generic[_Origin]):
    """A frame that was analysed and waits to be rendered."""

    frame: Frame
    tracks: Sequence[Track]
    """As the tracker said."""
    origin: _Origin
    """What whoever gave it knows of it, such as when it came from the camera."""


class Step(Generic[_Origin]):
    """Analyses frames in order, keeps them while they wait, and renders the oldest.

    Whatever any part raises goes on to the caller: no frame leaves that was not filtered.
    """

    def __init__(self, detect: Detector, tracker: Tracker, deidentifier: Deidentifier) -> None:
        self._detect, self._tracker, self._deidentifier = detect, tracker, deidentifier
        self.waiting: deque[PendingFrame[_Origin]] = deque()
        """The frames that were analysed and not rendered, the oldest first."""

    def analyse(self, frame: Frame, origin: _Origin) -> None:
        """Find out what there is to know of the next frame; it waits then."""
        tracks = self._tracker.update(self._detect(frame), frame.time)
        self._deidentifier.observe(frame, tracks)
        # A frame anew, without what was made of it while it was looked at.
        self.waiting.append(PendingFrame(replace(frame), tracks, origin))

    def render(self) -> tuple[PendingFrame[_Origin], DeidentifiedFrame]:
        """The oldest frame that waits, and what may leave of it, as far as is known by now."""
        pending = self.waiting.popleft()
        return pending, self._deidentifier.deidentify(pending.frame, pending.tracks)


def filtered(
    frames: Iterable[Frame], step: Step[None], lookahead: int = 0
) -> Iterator[tuple[PendingFrame[None], DeidentifiedFrame]]:
    """The loop over a recording: frames in, as many out, in order.

    Frames are analysed `lookahead` frames ahead of what is rendered, so that a face is known before it is first shown.
    """
    for frame in frames:
        step.analyse(frame, None)
        if len(step.waiting) > lookahead:
            yield step.render()
    while step.waiting:
        yield step.render()


class WithLookAhead:
    """A `Deidentifier` around another one, which protects what the look-ahead chooses."""

    def __init__(self, inner: Deidentifier, lookahead: LookAhead) -> None:
        self._inner, self._lookahead = inner, lookahead

    def observe(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Let the inner one observe all tracks, and note them."""
        self._inner.observe(frame, tracks)
        self._lookahead.note(tracks, frame.time, frame.luma_levels)

    def deidentify(self, frame: Frame, tracks: Sequence[Track]) -> DeidentifiedFrame:
        """The frame, covered where it has to be, as far as is known by now."""
        return self._inner.deidentify(frame, self._lookahead.shown(tracks))
