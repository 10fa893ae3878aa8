"""The seams: protocols of one method, and the main loop.

The loop knows neither threads nor files. Boxes always belong to the very frame whose pixels they change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Protocol

from streamdeid.faces import Face, Track
from streamdeid.frames import DeidentifiedFrame, Frame


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
        waiting.append((frame, tracks))
        if len(waiting) > lookahead:
            yield deidentifier.deidentify(*waiting.popleft())
    while waiting:
        yield deidentifier.deidentify(*waiting.popleft())
