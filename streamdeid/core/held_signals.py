"""Signals that wait until something new is in the hands of the code that will remove it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """Let signals that end the run wait until the end of this block, in which something is made and handed over.

    A signal between the creation of a file and the beginning of the `with` that would remove it would leave the file
    behind. Handlers run in the main thread only, so other threads need not hold signals. The handler waits, not the
    signal: a signal that this thread blocks is delivered to another thread, and its handler would run here all the
    same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):  # a signal that is ignored, or ends the process at once, need not wait
                before[number] = handler
                signal.signal(number, lambda number, frame: came.append((number, frame)))
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, handler)
        for first, frame in came[:1]:
            before[first](first, frame)
