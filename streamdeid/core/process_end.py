"""How a process of this program ends while one of its threads is still at work: without ending that thread by force.

A thread that nobody waits for (a daemon) may be inside a library when the interpreter ends. This happens when a
detector did not return in time, or, on a busy machine, when a signal came before somebody closed the thread. Up to
Python 3.13 the interpreter ends such a thread where it next asks for the interpreter's lock. OpenCV does so in a C++
destructor, and the end of a thread may not pass a destructor. Then the whole process dies, `terminate called without an
active exception`, with SIGABRT instead of its exit code, although all its work was done. NumPy's memory may be freed
before the thread ends, which is a segmentation fault.
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
    """Call a function, and end the process with the exit code that it returns.

    The process ends in the usual way: threads are joined, and functions of `atexit` are called if they are registered
    after this call. Only where a daemon thread is still running, the interpreter is not finalised.
    """
    codes: list[int] = []
    atexit.register(_leave, codes)  # the function that is registered first is called last
    try:
        codes.append(call() or 0)
    except SystemExit as ended:
        codes.append(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
        raise
    sys.exit(codes[0])


def _leave(codes: list[int]) -> None:
    if not any(thread.daemon for thread in threading.enumerate()):
        return
    code = codes[0] if codes else 1  # an uncaught error
    written = [_flushed(stream) for stream in (sys.stdout, sys.stderr)]
    if not all(written):
        code = code or int(ExitCode.OUTPUT)
    os._exit(code & 0xFF)


def _flushed(stream: TextIO | None) -> bool:
    try:
        if stream is not None:  # None in a process without these streams
            stream.flush()
    except (OSError, ValueError):  # the reader is gone, the disk is full, or the stream was closed
        return False
    return True
