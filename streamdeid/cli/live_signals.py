"""Signals that end a live run: they set a flag that the run looks at, and interrupt it only where it does not look.

An exception out of a signal may come between any two steps, also where a lock was taken and nobody gives it back yet;
the end, which needs that lock, would then never come.
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
"""Seconds that the run has to see the flag; a detector that hangs does not."""


@dataclass
class Flag:
    """What the signals said."""

    stop: threading.Event = field(default_factory=threading.Event)
    number: int | None = None
    """The signal that came."""


@contextlib.contextmanager
def heeded() -> Iterator[Flag]:
    """Within the block SIGINT and SIGTERM set the flag, and raise Stopped if the block has not ended a second later.

    Once one has come, both are ignored, also after the block: what follows is the end. For the main thread; in others
    nothing is changed.
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
            if before[number] != signal.SIG_IGN:  # a shell's background job keeps its deafness to Ctrl-C
                signal.signal(number, heed)
        yield flag
    finally:
        if alarm is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarm)
        if flag.number is None:
            for number, earlier in before.items():
                signal.signal(number, earlier)
