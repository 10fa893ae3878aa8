"""A few vectors of each tracklet from a slow recogniser, made in a thread of its own while the stream goes on.

At most thirty faces a second are asked about, and each tracklet a few times: five times early, when its person must be
decided, and three times later, when the person may look different. Tracklets that were asked about least come first, so
five people who appear at once have a vector each after a sixth of a second.

The vector of a face is returned a fixed number of frames later, neither sooner nor later. So recognition does not
depend on how busy the machine is, and a file gives the same output twice. The stream waits for the thread only if the
vector is not ready by then.

Vectors are biometric: they are handed over once, and nothing of them is kept here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from streamdeid.core.arrays import Picture, Points, Vector
from streamdeid.errors import FailedClosed
from streamdeid.identity.person_recogniser import PersonRecogniser

_DELAY = 0.13
"""Seconds after which the vector of a face is returned, twelve times what one takes: with five people at once and eight
busy processes on two cores the stream waited 4 ms for it, once in 90 frames."""
_TIMES = (0.0, 0.07, 0.2, 0.3, 0.4, 1.3, 3.3, 8.3)
"""Seconds of good frames after which a tracklet may be asked about for the first, second, ... time."""
_APART = 0.07
"""Least seconds of good frames between two times: neighbouring frames tell the same."""
_MOST = 30.0
"""Most faces asked about in a second: a third of one core."""
_LONGEST = 10.0
"""Most seconds that a vector is waited for; one takes 10 ms."""


@dataclass
class _Asked:
    good: int = 0
    """Good frames so far."""
    times: int = 0
    due: int = 1
    """Number of good frames from which the tracklet may be asked about again."""


class _Waiting(NamedTuple):
    told: int
    """Frame at which the vector is returned."""
    tracklet: int
    vector: Future[Vector]


class TrackletVectors:
    """The vectors of the tracklets of one stream.

    Once a frame, in order: `collect` what is due, `choose` among the tracklets whose face is good in the frame, and
    `ask` about the chosen ones.
    """

    def __init__(self, recogniser: PersonRecogniser, rate: float = 30.0) -> None:
        """rate: frames a second, about."""
        if not rate > 0:
            raise ValueError(f"no stream has {rate} frames a second")
        self._recogniser = recogniser
        self.delay = _frames(_DELAY, rate)
        """Frames after which a vector is returned, 1 or more."""
        self._most = max(1, round(_MOST / rate))
        self._times = [1 + round(seconds * rate) for seconds in _TIMES]
        self._apart = _frames(_APART, rate)
        self._asked: dict[int, _Asked] = {}
        self._waiting: deque[_Waiting] = deque()
        self._pool: ThreadPoolExecutor | None = None

    def choose(self, good: Sequence[int]) -> list[int]:
        """Count a good frame of each of these tracklets; returns those to ask about now, most in need first."""
        for tracklet in good:
            self._asked.setdefault(tracklet, _Asked()).good += 1
        states = ((self._asked[tracklet], tracklet) for tracklet in good)
        due = [(state.times, tracklet) for state, tracklet in states if self._due(state)]
        return [tracklet for _, tracklet in sorted(due)[: self._most]]

    def _due(self, state: _Asked) -> bool:
        return state.times < len(self._times) and state.good >= max(state.due, self._times[state.times])

    def ask(self, tracklet: int, frame: int, picture: Picture, points: Points) -> None:
        """Ask about a chosen tracklet's face: RGB uint8 (h, w, 3) about it and landmarks in its pixels (81, 2). The
        caller may change both when this returns. frame: its number; numbers only grow.

        Raises FailedClosed when the face cannot be cut out.
        """
        asked = self._asked[tracklet]
        asked.times, asked.due = asked.times + 1, asked.good + self._apart
        try:
            cut = self._recogniser.cut(picture, points)
        except Exception as error:
            raise _failed(error) from error
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "recogniser")
        self._waiting.append(_Waiting(frame + self.delay, tracklet, self._pool.submit(self._recogniser.describe, cut)))

    def collect(self, frame: int) -> dict[int, list[Vector]]:
        """The vectors, float64 (d,), that are due at a frame, by tracklet; waits for them if need be.

        Raises FailedClosed when the recogniser failed.
        """
        due = []
        while self._waiting and self._waiting[0].told <= frame:
            due.append(self._waiting.popleft())
        return _told(due)

    def forget(self, tracklets: Iterable[int]) -> dict[int, list[Vector]]:
        """Drop tracklets that ended; returns those of their vectors that are not yet returned, and waits for them.

        Raises FailedClosed as `collect`.
        """
        ended = set(tracklets)
        for tracklet in ended:
            self._asked.pop(tracklet, None)
        due = [waiting for waiting in self._waiting if waiting.tracklet in ended]
        self._waiting = deque(waiting for waiting in self._waiting if waiting.tracklet not in ended)
        return _told(due)

    def close(self) -> None:
        """End the thread; vectors that are not yet returned are lost. Harmless when repeated."""
        self._waiting.clear()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def _frames(seconds: float, rate: float) -> int:
    return max(1, round(seconds * rate))


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
