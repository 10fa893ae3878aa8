"""A bounded queue between two threads that either thread can close.

Unlike with `queue.Queue`, closing wakes the threads that wait (Python has this from 3.13 on). When the queue is full,
`put` waits for room: this is for recordings, of which nothing may be lost. `put_newest` drops and counts the oldest
item: this is for cameras, whose pictures are worth less the longer they wait.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class BoundedQueue(Generic[Item]):
    """Holds up to `depth` items, which must not be None. Threads may share it.

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
        """Number of items that `put_newest` dropped to make room for newer ones."""
        with self._changed:
            return self._dropped

    def put(self, item: Item) -> bool:
        """Wait for room and add an item; False, and nothing is added, when the queue is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._items) < self._depth)
            return self._add(item)

    def put_newest(self, item: Item) -> bool:
        """Add an item at once and drop the oldest when there is no room; False, and nothing is added, when closed."""
        with self._changed:
            if not self._closed and len(self._items) >= self._depth:
                self._items.popleft()
                self._dropped += 1
            return self._add(item)

    def take(self, timeout: float | None = None) -> Item | None:
        """Wait for the oldest item and remove it, for `timeout` seconds at most, or without limit for None.

        Returns None when no item has come by then, or when the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or bool(self._items), timeout)
            if not self._items:
                return None
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def close(self, *, discard: bool) -> None:
        """Accept no more items and wake the threads that wait; `discard` drops the items in the queue, uncounted."""
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
