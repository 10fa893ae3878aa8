"""Which of the frames that leave somebody wants to see now; nothing is encoded that nobody looks at."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from streamdeid.core.frames import DeidentifiedFrame

PREVIEW, SNAPSHOT = "preview", "snapshot"
KINDS = (PREVIEW, SNAPSHOT)
LASTING = 3.0
"""Seconds for which previews are made after each wish."""
INTERVAL = 0.12
"""Seconds between previews at least."""


class WantedPictures:
    """Holds the newest frame of each wanted kind. `offer` is called by the filter and takes no time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._until = self._next = 0.0
        self._snapshot = False
        self._waiting: dict[str, DeidentifiedFrame] = {}

    def ask(self, kind: str) -> None:
        """Somebody wants to see previews for the next seconds, or one snapshot. Raises ValueError."""
        if kind not in KINDS:
            raise ValueError(f"no kind of picture: {kind!r}")
        with self._changed:
            if kind == PREVIEW:
                self._until = self._clock() + LASTING
            else:
                self._snapshot = True

    def offer(self, frame: DeidentifiedFrame) -> None:
        """A frame leaves; it is kept when it is wanted."""
        now = self._clock()
        with self._changed:
            if self._snapshot:
                self._snapshot = False
                self._waiting[SNAPSHOT] = frame
            if self._next <= now < self._until:
                self._next = now + INTERVAL
                self._waiting[PREVIEW] = frame
            if self._waiting:
                self._changed.notify()

    def take(self, timeout: float) -> tuple[str, DeidentifiedFrame] | None:
        """A kind and a frame that is wanted, or None after the timeout in seconds."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting), timeout)
            return self._waiting.popitem() if self._waiting else None
