"""A queue for live pictures: when it is full the oldest one goes, counted."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Newest(Generic[Item]):
    """Holds the newest `depth` items; whoever puts never waits. Safe between threads.

    Raises ValueError for a depth below 1.
    """

    def __init__(self, depth: int = 2) -> None:
        if depth < 1:
            raise ValueError(f"depth {depth} is less than 1")
        self._depth = depth
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._dropped = 0

    def __len__(self) -> int:
        with self._changed:
            return len(self._items)

    @property
    def dropped(self) -> int:
        """Items that went because newer ones came."""
        with self._changed:
            return self._dropped

    def put(self, item: Item) -> None:
        """Add the newest item; drops the oldest one when there is no room. Nothing happens after `close`."""
        with self._changed:
            if self._closed:
                return
            if len(self._items) >= self._depth:
                self._items.popleft()
                self._dropped += 1
            self._items.append(item)
            self._changed.notify()

    def take(self, timeout: float) -> Item | None:
        """The oldest item, waited for up to `timeout` seconds; None when there is none, or at `close`."""
        end = time.monotonic() + timeout
        with self._changed:
            while not self._items and not self._closed:
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            return self._items.popleft() if self._items else None

    def close(self, *, discard: bool) -> None:
        """Take in no more, and wake who waits; with `discard` drop what is there, uncounted."""
        with self._changed:
            self._closed = True
            if discard:
                self._items.clear()
            self._changed.notify_all()
