"""Hides from the user what C++ libraries write to stderr when they start."""

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
    """Discard everything that is written to file descriptor 2, unless our own log is at debug level.

    mediapipe and LiteRT follow no logging set-up (absl is not initialised in the wheel). So the file descriptor itself
    points to the null device while a network starts and sees its first picture; after that the libraries are silent.
    Lines that other threads write to stderr in that time are lost. Only one thread enters at a time: a second one would
    save, and later restore, the descriptor that the first one had already redirected.
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
