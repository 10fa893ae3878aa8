"""Keeps from the user what libraries in C++ write to stderr when they start."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterator

_turn = threading.Lock()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing that is written to file descriptor 2 comes through, unless our own log is at debug level.

    mediapipe and LiteRT ask no logging set-up (absl is not initialised in the wheel), so the file descriptor itself
    points elsewhere for as long as a network starts and sees its first picture; after that they are silent. Lines that
    other threads write to stderr in that time are lost. One thread at a time: of two the second would keep, and put
    back, what the first had pointed elsewhere.
    """
    if logging.getLogger("streamdeid").isEnabledFor(logging.DEBUG):
        yield
        return
    with _turn:
        yield from _silenced()


def _silenced() -> Iterator[None]:
    try:
        kept = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    try:
        sys.stderr.flush()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
