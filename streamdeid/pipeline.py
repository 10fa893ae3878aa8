"""The seams: protocols of one method, and the main loop.

The loop knows neither threads nor files. Boxes always belong to the very frame whose pixels they change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from streamdeid.faces import Face, Track
from streamdeid.frames import DeidentifiedFrame, Frame, Plane


class Detector(Protocol):
    """Finds faces in a frame. Any function of this shape plugs in."""

    def __call__(self, frame: Frame, /) -> Sequence[Face]: ...


class Tracker(Protocol):
    """Follows people over frames."""

    def update(self, faces: Sequence[Face], time: Fraction) -> Sequence[Track]: ...


class Deidentifier(Protocol):
    """Turns a raw frame into one that may leave. `observe` runs ahead of `deidentify` by the look-ahead."""

    def observe(self, frame: Frame, tracks: Sequence[Track]) -> None: ...

    def deidentify(self, frame: Frame, tracks: Sequence[Track]) -> DeidentifiedFrame: ...


class Hindsight(Protocol):
    """Chooses what is covered, knowing the frames that followed. `note` runs ahead of `shown` by the look-ahead."""

    def note(self, tracks: Sequence[Track], time: Fraction, levels: Sequence[Plane], /) -> None: ...

    def shown(self, tracks: Sequence[Track], /) -> Sequence[Track]: ...


class InHindsight:
    """A `Deidentifier` around another one, which covers what hindsight chooses."""

    def __init__(self, inner: Deidentifier, hindsight: Hindsight) -> None:
        self._inner, self._hindsight = inner, hindsight

    def observe(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Let the inner one observe all tracks, and note them."""
        self._inner.observe(frame, tracks)
        self._hindsight.note(tracks, frame.time, frame.luma_levels)

    def deidentify(self, frame: Frame, tracks: Sequence[Track]) -> DeidentifiedFrame:
        """The frame, covered where it has to be, as far as is known by now."""
        return self._inner.deidentify(frame, self._hindsight.shown(tracks))


def deidentified(
    frames: Iterable[Frame],
    detect: Detector,
    tracker: Tracker,
    deidentifier: Deidentifier,
    lookahead: int = 0,
) -> Iterator[DeidentifiedFrame]:
    """The main loop: frames in, as many frames out, in order.

    Detection, tracking and observation run `lookahead` frames ahead of what is published, so that a face is known
    before it is first shown. Whatever any part raises ends the loop: no frame leaves that was not filtered.
    """
    waiting: deque[tuple[Frame, Sequence[Track]]] = deque()
    for frame in frames:
        tracks = tracker.update(detect(frame), frame.time)
        deidentifier.observe(frame, tracks)
        waiting.append((replace(frame), tracks))  # a frame anew, without what was made of it while it was looked at
        if len(waiting) > lookahead:
            yield deidentifier.deidentify(*waiting.popleft())
    while waiting:
        yield deidentifier.deidentify(*waiting.popleft())
