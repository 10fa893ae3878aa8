"""When a detector passed the self-test, which has a picture of its own whatever follows, and whether that stands."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from streamdeid.detection.deadline import TimedDetector

_STANDS = 60.0
"""Seconds for which a self-test stands. It takes 0.4 s of CPU, ten times what else the parts of a stream do: on a busy
machine no picture of a camera that reconnects every few seconds would ever be fresh enough to leave, and a folder of
small files takes half as long again."""


class Proof:
    """That the detector of this moment passed a self-test and nothing failed since. Not for several threads at once."""

    def __init__(self) -> None:
        self._of: TimedDetector | None = None
        self._at = 0.0

    def stands(self, detect: TimedDetector) -> bool:
        """Whether a self-test of this very detector need not be repeated."""
        return self._of is detect and not detect.hung and time.monotonic() - self._at <= _STANDS

    def passed(self, detect: TimedDetector) -> None:
        """A self-test of this detector passed just now."""
        self._of, self._at = detect, time.monotonic()

    def doubt(self) -> None:
        """Something failed; whatever it was, the next self-test is to tell."""
        self._of = None

    @contextlib.contextmanager
    def lost_on_errors(self) -> Iterator[None]:
        """What is done meanwhile is a doubt when it raises."""
        try:
            yield
        except BaseException:
            self.doubt()
            raise
