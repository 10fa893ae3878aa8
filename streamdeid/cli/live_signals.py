"""Signals that end a live run: they set a flag that the run checks, and interrupt the run only if it does not react.

A signal's exception may come between any two steps, also where a lock was taken and will then not be released. The end
of the run needs that lock and would never come.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FrameType

from streamdeid.cli.error_text import Stopped

_PATIENCE = 1.0
"""Seconds in which the run must react to the flag; with a detector that hangs it does not."""


@dataclass
class Flag:
    """The flag that signals set."""

    stop: threading.Event = field(default_factory=threading.Event)
    number: int | None = None
    """Number of the signal that came; None if none did."""


@contextlib.contextmanager
def heeded() -> Iterator[Flag]:
    """Within the block SIGINT and SIGTERM set the flag, and raise Stopped if the block has not ended a second later.

    Where there is no `setitimer` (Windows), Stopped is raised at once. After the first signal both are ignored, also
    after the block, because then the process ends. In threads other than the main thread nothing is changed.
    """
    flag = Flag()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return

    def heed(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        flag.number = number
        flag.stop.set()
        if not hasattr(signal, "setitimer"):  # Windows
            raise Stopped(number)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE)

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Stopped(flag.number or signal.SIGTERM)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    alarm = signal.signal(signal.SIGALRM, interrupt) if hasattr(signal, "SIGALRM") else None
    try:
        for number in before:
            if before[number] != signal.SIG_IGN:  # a shell's background job goes on ignoring Ctrl-C
                signal.signal(number, heed)
        yield flag
    finally:
        if alarm is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarm)
        if flag.number is None:
            for number, earlier in before.items():
                signal.signal(number, earlier)
