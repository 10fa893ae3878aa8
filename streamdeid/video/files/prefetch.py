"""Threads around the loop: one reads ahead from a source, one writes to a sink behind; both have bounded queues.

Decoding and encoding release the interpreter lock, so both threads run at the same time as the filter. The loop sees a
plain iterable and a plain sink. Errors appear at the same places as without threads, a little later.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterable
from types import TracebackType
from typing import Protocol, TypeVar

from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.errors import OutputError
from streamdeid.video.queue import BoundedQueue

Item = TypeVar("Item")


class FinishingSink(Protocol):
    """A sink that completes its output (`finish`) or removes it (`abort`), as `FileSink` does."""

    def write(self, frame: DeidentifiedFrame, /) -> None: ...

    def finish(self) -> None: ...

    def abort(self) -> None: ...


def prefetch(items: Iterable[Item], depth: int = 4) -> Generator[Item, None, None]:
    """Yield `items`, of which a thread reads up to `depth` ahead; an error of `items` is raised at its place.

    The thread starts when the first item is asked for, and has ended when the generator is exhausted or closed.
    Raises ValueError for a depth below 1.
    """
    queue: BoundedQueue[Item] = BoundedQueue(depth)
    return _prefetched(items, queue)


def _prefetched(items: Iterable[Item], queue: BoundedQueue[Item]) -> Generator[Item, None, None]:
    errors: list[BaseException] = []

    def read() -> None:
        try:
            iterator = iter(items)
            with contextlib.closing(iterator) if isinstance(iterator, Generator) else contextlib.nullcontext():
                for item in iterator:
                    if not queue.put(item):
                        break
        except BaseException as error:  # raised again in the caller's thread
            errors.append(error)
        finally:
            queue.close(discard=False)

    thread = threading.Thread(target=read, name="prefetch", daemon=True)
    thread.start()
    try:
        while (item := queue.take()) is not None:
            yield item
    finally:
        queue.close(discard=True)
        thread.join()
    if errors:
        raise errors[0]


class BackgroundSink:
    """Writes to an inner sink in a thread; at most `depth` frames wait.

    An error of the inner sink is raised by the next `write` or by `finish`; the inner sink is then aborted.
    Use it as a context manager, like `FileSink`.
    """

    def __init__(self, sink: FinishingSink, depth: int = 4) -> None:
        self._sink = sink
        self._queue: BoundedQueue[DeidentifiedFrame] = BoundedQueue(depth)
        self._error: BaseException | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="background-sink", daemon=True)
        self._thread.start()

    def __enter__(self) -> BackgroundSink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.abort()

    def write(self, frame: DeidentifiedFrame) -> None:
        """Hand a frame to the thread; waits while the queue is full. Raises the error of the inner sink, if any."""
        if not self._queue.put(frame):
            self._raise()
            raise OutputError("the output is closed already")

    def finish(self) -> None:
        """Write the frames that wait and finish the inner sink. Raises the errors of the inner sink."""
        if self._ended:
            self._raise()
            raise OutputError("the output is closed already")
        self._end(discard=False)
        if self._error is not None:
            self._sink.abort()
            self._raise()
        self._sink.finish()

    def abort(self) -> None:
        """Drop the frames that wait and abort the inner sink. Does nothing after `finish`."""
        if not self._ended:
            self._end(discard=True)
            self._sink.abort()

    def _end(self, *, discard: bool) -> None:
        try:
            self._queue.close(discard=discard)
            self._thread.join()
        except BaseException:  # a signal came during the wait: stop the thread before the sink is touched
            self._queue.close(discard=True)
            self._thread.join()
            self._sink.abort()
            raise
        finally:
            self._ended = True

    def _run(self) -> None:
        try:
            while (frame := self._queue.take()) is not None:
                self._sink.write(frame)
        except BaseException as error:  # raised again in the caller's thread
            self._error = error
            self._queue.close(discard=True)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
