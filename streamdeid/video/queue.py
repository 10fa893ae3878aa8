"""A bounded queue between two threads that either side can close; unlike `queue.Queue`, closing wakes whoever waits
(Python has that from 3.13 on).

When it is full, `put` waits for room, as a recording does, of which nothing may be lost; `put_newest` lets the oldest
item go, counted, as a camera does, whose pictures are worth less the longer they wait.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class BoundedQueue(Generic[Item]):
    """Holds up to `depth` items; None is none of them. Safe between threads.

    Raises ValueError for a depth below 1.
    """

    def __init__(self, depth: int) -> None:
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

    def put(self, item: Item) -> bool:
        """Wait for room and add; False, and nothing added, when the queue is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._depth)
            return self._add(item)

    def put_newest(self, item: Item) -> bool:
        """Add at once; the oldest item goes when there is no room. False, and nothing added, when it is closed."""
        with self._changed:
            if not self._closed and len(self._items) >= self._depth:
                self._items.popleft()
                self._dropped += 1
            return self._add(item)

    def take(self, timeout: float | None = None) -> Item | None:
        """The oldest item, waited for, up to `timeout` seconds where that is given; None when there is none by then,
        or when the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or bool(self._items), timeout)
            if not self._items:
                return None
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def close(self, *, discard: bool) -> None:
        """Take in no more, and wake who waits; with `discard` drop what is there, uncounted."""
        with self._changed:
            self._closed = True
            if discard:
                self._items.clear()
            self._changed.notify_all()

    def _add(self, item: Item) -> bool:
        if self._closed:
            return False
        self._items.append(item)
        self._changed.notify_all()
        return True
