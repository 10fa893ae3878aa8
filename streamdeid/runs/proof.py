"""Records when a detector passed the self-test, and whether that self-test still counts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from streamdeid.detection.deadline import TimedDetector

_STANDS = 60.0
"""Seconds for which a self-test counts. It takes 0.4 s of CPU, ten times as much as building the parts of a stream
otherwise. Run each time on a busy machine, no picture of a camera that reconnects every few seconds would be fresh
enough to leave, and a folder of small files would take half as long again."""


class Proof:
    """Whether the present detector passed a self-test and nothing failed since. Not for several threads at once.

    The self-test has a picture of its own, so it counts for whatever pictures follow."""

    def __init__(self) -> None:
        self._of: TimedDetector | None = None
        self._at = 0.0

    def stands(self, detect: TimedDetector) -> bool:
        """Whether the self-test of this very detector still counts."""
        return self._of is detect and not detect.hung and time.monotonic() - self._at <= _STANDS

    def passed(self, detect: TimedDetector) -> None:
        """Note that this detector has just passed a self-test."""
        self._of, self._at = detect, time.monotonic()

    def doubt(self) -> None:
        """Note that something failed, so that the self-test has to be repeated."""
        self._of = None

    @contextlib.contextmanager
    def lost_on_errors(self) -> Iterator[None]:
        """Call `doubt` when the body of the `with` raises."""
        try:
            yield
        except BaseException:
            self.doubt()
            raise
