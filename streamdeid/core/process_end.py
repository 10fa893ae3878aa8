"""How a process of this program ends while a thread of it is still at work: without ending that thread by force.

A thread that nobody waits for (a daemon) may be inside a library when the interpreter goes: a detector that did not
come back in time, on a busy machine a signal that came before somebody closed it. Up to Python 3.13 the interpreter
ends such a thread where it next asks for the interpreter. OpenCV asks in a destructor of C++, and what ends a thread
may not pass one: the whole process dies, `terminate called without an active exception`, with SIGABRT instead of its
exit code, when all its work was done. NumPy's memory may be gone before the thread is, which is a segmentation fault.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from typing import NoReturn, TextIO

from streamdeid.errors import ExitCode


def end_with(call: Callable[[], int | None]) -> NoReturn:
    """Call something, and end the process with the exit code that it returns.

    All that a process does at its end is done: threads are joined, and functions of `atexit` called, if they were
    registered later than this is called. Only where a daemon thread is still there, the interpreter is not taken apart
    around it.
    """
    codes: list[int] = []
    atexit.register(_leave, codes)  # the first one that is registered is the last one that is called
    try:
        codes.append(call() or 0)
    except SystemExit as ended:
        codes.append(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
        raise
    sys.exit(codes[0])


def _leave(codes: list[int]) -> None:
    if not any(thread.daemon for thread in threading.enumerate()):
        return
    code = codes[0] if codes else 1  # an error that nobody caught
    written = [_flushed(stream) for stream in (sys.stdout, sys.stderr)]
    if not all(written):
        code = code or int(ExitCode.OUTPUT)
    os._exit(code & 0xFF)


def _flushed(stream: TextIO | None) -> bool:
    try:
        if stream is not None:  # as in a process without them
            stream.flush()
    except (OSError, ValueError):  # nobody reads it any more, it is full, or it was closed
        return False
    return True
