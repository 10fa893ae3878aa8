"""Threads around the loop: a source read ahead, a sink written behind, both with bounded queues.

Decoding and encoding release the interpreter lock, so each side runs beside the filter. The loop sees a plain
iterable and a plain sink; errors surface where they would without threads, a little later.
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
    """A sink that ends well (`finish`) or without a trace (`abort`), as `FileSink` does."""

    def write(self, frame: DeidentifiedFrame, /) -> None: ...

    def finish(self) -> None: ...

    def abort(self) -> None: ...


def prefetch(items: Iterable[Item], depth: int = 4) -> Generator[Item, None, None]:
    """Yield `items`, up to `depth` of them read ahead in a thread; an error of theirs is raised in its place.

    The thread starts with the first item asked for and has ended when the generator is exhausted or closed.
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
    """Writes to another sink in a thread, at most `depth` frames behind.

    An error of the inner sink is raised by the next `write` or by `finish`; the inner sink is then aborted.
    Use as a context manager, as `FileSink`.
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
        """Hand a frame to the thread; waits while the queue is full. Raises what the inner sink raised."""
        if not self._queue.put(frame):
            self._raise()
            raise OutputError("the output is closed already")

    def finish(self) -> None:
        """Write what waits and finish the inner sink. Raises what it raises."""
        if self._ended:
            self._raise()
            raise OutputError("the output is closed already")
        self._end(discard=False)
        if self._error is not None:
            self._sink.abort()
            self._raise()
        self._sink.finish()

    def abort(self) -> None:
        """Drop what waits and abort the inner sink. Harmless after `finish`."""
        if not self._ended:
            self._end(discard=True)
            self._sink.abort()

    def _end(self, *, discard: bool) -> None:
        try:
            self._queue.close(discard=discard)
            self._thread.join()
        except BaseException:  # a signal while waiting: stop the thread before the sink is touched
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
