"""Signals wait for the end of the block, whichever thread the system hands them to."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

import pytest

from streamdeid.core.held_signals import signals_held

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows ends a process at once")


class Told(BaseException):
    """The signal's handler ran."""


@pytest.fixture
def handled() -> Iterator[None]:
    """A handler that raises, as the command line's, and another thread that could be given the signal."""

    def raises(number: int, frame: FrameType | None) -> None:
        raise Told(number)

    known, over = signal.signal(signal.SIGTERM, raises), threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    yield
    over.set()
    thread.join()
    signal.signal(signal.SIGTERM, known)


def _signalled() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.02)  # handlers run between two steps of the interpreter


def test_a_signal_waits_for_the_end(handled: None) -> None:
    made = []

    def make() -> None:
        with signals_held():
            _signalled()
            _signalled()
            made.append("whole")

    with pytest.raises(Told):
        make()
    assert made == ["whole"]
    with pytest.raises(Told):
        _signalled()


def test_what_is_ignored_stays_ignored(handled: None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with signals_held():
        _signalled()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_an_error_inside_is_not_lost(handled: None) -> None:
    with pytest.raises(KeyError), signals_held():
        raise KeyError
    with pytest.raises(Told):
        _signalled()


def test_other_threads_hold_nothing(handled: None) -> None:
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def inside() -> None:
        with signals_held():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [before]
