"""A few vectors of each tracklet from a slow recogniser, made in a thread of its own while the stream goes on.

At most one face is asked about in a frame, and each tracklet a few times: five times early, when it must be decided
who it is, and three times later, when the person may look different. Those asked about least come first, so five
people who appear at once have a vector each after five frames.

What is found about a face of frame f is told at frame f + `delay`, neither sooner nor later: who is who then does not
depend on how busy the machine is, and a file gives the same output twice. Only if the thread is not ready by then
does the stream wait for it.

Vectors are biometric: they are handed over once, and nothing of them is kept here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from streamdeid.aam.piecewise_affine import Points
from streamdeid.deidentify.person_recogniser import PersonRecogniser, Picture, Vector
from streamdeid.errors import FailedClosed

DELAY = 4
"""Frames after which a face's vector is told."""
_GOOD_FRAMES = (1, 4, 7, 10, 13, 40, 100, 250)
"""Good frames of a tracklet from which it may be asked about for the first, second, ... time."""
_APART = 3
"""Good frames between two times at least: neighbouring frames tell the same."""
_LONGEST = 10.0
"""Seconds that a vector is waited for; one takes 10 ms."""


@dataclass
class _Asked:
    good: int = 0
    """Good frames so far."""
    times: int = 0
    last: int = -_APART
    """Its good frames when it was asked about last."""

    @property
    def due(self) -> bool:
        most = len(_GOOD_FRAMES)
        return self.times < most and self.good >= max(_GOOD_FRAMES[self.times], self.last + _APART)


class _Waiting(NamedTuple):
    told: int
    """Frame at which it is told."""
    tracklet: int
    vector: Future[Vector]


class TrackletVectors:
    """The vectors of the tracklets of one stream.

    Once a frame, in order: `collect` what is due, then `choose` among the tracklets whose face is good in the frame,
    and `ask` about the chosen one.
    """

    def __init__(self, recogniser: PersonRecogniser, delay: int = DELAY) -> None:
        """delay: frames after which a vector is told, 1 or more."""
        if delay < 1:
            raise ValueError(f"vectors cannot be told after {delay} frames")
        self._recogniser, self._delay = recogniser, delay
        self._asked: dict[int, _Asked] = {}
        self._waiting: deque[_Waiting] = deque()
        self._pool: ThreadPoolExecutor | None = None

    def choose(self, good: Sequence[int]) -> int | None:
        """Count a good frame of each of these tracklets; the one to ask about in this frame, if any."""
        for tracklet in good:
            self._asked.setdefault(tracklet, _Asked()).good += 1
        due = [(self._asked[tracklet].times, tracklet) for tracklet in good if self._asked[tracklet].due]
        return min(due)[1] if due else None

    def ask(self, tracklet: int, frame: int, picture: Picture, points: Points) -> None:
        """Ask about the chosen tracklet's face: RGB uint8 (h, w, 3) about it and landmarks in its pixels (81, 2). Both
        are the caller's again when this returns. frame: its number; numbers only grow.

        Raises FailedClosed when the face cannot be cut out.
        """
        asked = self._asked[tracklet]
        asked.times, asked.last = asked.times + 1, asked.good
        try:
            cut = self._recogniser.cut(picture, points)
        except Exception as error:
            raise _failed(error) from error
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "recogniser")
        self._waiting.append(_Waiting(frame + self._delay, tracklet, self._pool.submit(self._recogniser.describe, cut)))

    def collect(self, frame: int) -> dict[int, list[Vector]]:
        """The vectors, float64 (d,), that are told at a frame, by tracklet; waits for them if need be.

        Raises FailedClosed when the recogniser failed.
        """
        due = []
        while self._waiting and self._waiting[0].told <= frame:
            due.append(self._waiting.popleft())
        return _told(due)

    def forget(self, tracklets: Iterable[int]) -> dict[int, list[Vector]]:
        """Let go of tracklets that ended; their vectors that were still to be told, which come late but come.

        Raises FailedClosed as `collect`.
        """
        ended = set(tracklets)
        for tracklet in ended:
            self._asked.pop(tracklet, None)
        due = [waiting for waiting in self._waiting if waiting.tracklet in ended]
        self._waiting = deque(waiting for waiting in self._waiting if waiting.tracklet not in ended)
        return _told(due)

    def close(self) -> None:
        """End the thread; what was not told is lost. Harmless when repeated."""
        self._waiting.clear()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _told(due: Sequence[_Waiting]) -> dict[int, list[Vector]]:
    told: dict[int, list[Vector]] = {}
    for waiting in due:
        try:
            vector = np.asarray(waiting.vector.result(_LONGEST), np.float64)
        except Exception as error:
            raise _failed(error) from error
        if not (vector.ndim == 1 and vector.size and np.isfinite(vector).all()):
            raise FailedClosed("the recogniser failed: a vector that is no numbers")
        told.setdefault(waiting.tracklet, []).append(vector)
    return told


def _failed(error: Exception) -> FailedClosed:
    return FailedClosed(f"the recogniser failed: {type(error).__name__}")
