"""The queue between two threads: what waits, what goes, and what closing does."""

from __future__ import annotations

import threading
import time

import pytest

from streamdeid.video.queue import BoundedQueue


def test_a_full_queue_of_the_newest_drops_the_oldest_and_counts() -> None:
    queue: BoundedQueue[int] = BoundedQueue(2)
    for number in range(5):
        assert queue.put_newest(number)
    assert (queue.dropped, len(queue)) == (3, 2)
    assert [queue.take(0), queue.take(0), queue.take(0)] == [3, 4, None]


def test_whoever_puts_waits_for_room_and_loses_nothing() -> None:
    queue: BoundedQueue[int] = BoundedQueue(2)
    thread = threading.Thread(target=lambda: [queue.put(number) for number in range(50)])
    thread.start()
    taken = []
    while len(taken) < 50:
        taken.append(queue.take(10))
        assert len(queue) <= 2
    thread.join()
    assert taken == list(range(50)) and queue.dropped == 0


def test_a_closed_queue_gives_what_it_has_and_takes_nothing() -> None:
    queue: BoundedQueue[int] = BoundedQueue(2)
    assert queue.put(1)
    queue.close(discard=False)
    assert not queue.put(2) and not queue.put_newest(3)
    assert [queue.take(5), queue.take(5), queue.take()] == [1, None, None]
    queue = BoundedQueue(2)
    queue.put(1)
    queue.close(discard=True)
    assert queue.take(5) is None and queue.dropped == 0
    with pytest.raises(ValueError, match="less than 1"):
        BoundedQueue(0)


@pytest.mark.parametrize("timeout", [10, None])
def test_closing_wakes_who_waits_for_an_item(timeout: float | None) -> None:
    queue: BoundedQueue[int] = BoundedQueue(2)
    timer = threading.Timer(0.05, queue.close, kwargs={"discard": False})
    begun = time.monotonic()
    timer.start()
    assert queue.take(timeout) is None and time.monotonic() - begun < 5
    timer.join()


def test_closing_wakes_who_waits_for_room() -> None:
    queue: BoundedQueue[int] = BoundedQueue(1)
    queue.put(1)
    timer = threading.Timer(0.05, queue.close, kwargs={"discard": True})
    timer.start()
    assert not queue.put(2)
    timer.join()
