"""The send queue, with the loop of a sink's thread that its head shows."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from streamdeid.errors import OutputError
from streamdeid.video.live.send_queue import SendQueue, Waiting
from tests.patience import PATIENCE, eventually


class Sink:
    """A thread that sends as the head of the module says; `may` is called before each frame."""

    def __init__(self, may: Callable[[], Any]) -> None:
        self.queue, self.frames, self._may = SendQueue(), cast("list[object]", []), may
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        queue = self.queue
        try:
            while queue.closing is None or queue.oldest() is not None:
                select.select([queue.bell], [], [], PATIENCE)
                queue.answer()
                while (item := queue.oldest()) is not None:
                    if queue.take(item):
                        self._may()
                        self.frames.append(item.frame)
                        queue.sent(item)
        except OutputError as error:
            queue.fail(error)
        finally:
            queue.release()

    def put(self, number: int) -> None:
        """Put in a number for a frame."""
        self.queue.put(Waiting(cast(Any, number), 25.0, None))

    def close(self) -> None:
        """Ask for the end, and wait for it."""
        self.queue.close(PATIENCE)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def test_what_fits_is_sent_in_order_and_what_waits_at_the_end_too() -> None:
    begun, may = threading.Event(), threading.Event()

    def held() -> None:
        begun.set()
        assert may.wait(PATIENCE)

    sink = Sink(held)
    sink.put(0)
    assert begun.wait(PATIENCE)
    for number in range(1, 6):  # while the first is being sent: the two newest wait
        sink.put(number)
    assert sink.queue.state().unsent == 3
    may.set()
    sink.close()
    assert sink.frames == [0, 4, 5]
    assert (sink.queue.state().written, sink.queue.state().unsent) == (3, 3)


def test_nothing_lies_about_while_nobody_puts_anything_in() -> None:
    sink = Sink(lambda: None)
    for number in range(20):
        sink.put(number)
        eventually(lambda: sink.queue.oldest() is None)
    sink.close()
    assert sink.frames == list(range(20))


def test_an_error_reaches_who_puts_the_next_in() -> None:
    def fails() -> None:
        raise OutputError("the disk is full")

    sink = Sink(fails)
    sink.put(1)
    eventually(lambda: sink.queue.failed)
    with pytest.raises(OutputError, match="the disk is full"):
        sink.put(2)
    sink.close()
