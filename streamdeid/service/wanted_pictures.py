"""Chooses the frames that viewers want to see now, so that pictures are encoded only when they are wanted."""

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
"""Least seconds between previews."""


class WantedPictures:
    """Holds the newest frame of each wanted kind. The filter calls `offer`, which returns at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._until = self._next = 0.0
        self._snapshot = False
        self._waiting: dict[str, DeidentifiedFrame] = {}

    def ask(self, kind: str) -> None:
        """Note that previews for the next `LASTING` seconds, or one snapshot, are wanted. Raises ValueError."""
        if kind not in KINDS:
            raise ValueError(f"no kind of picture: {kind!r}")
        with self._changed:
            if kind == PREVIEW:
                self._until = self._clock() + LASTING
            else:
                self._snapshot = True

    def offer(self, frame: DeidentifiedFrame) -> None:
        """Keep a frame that leaves, if it is wanted."""
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
        """The kind and the frame of a wanted picture; None when there is none within `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting), timeout)
            return self._waiting.popitem() if self._waiting else None
