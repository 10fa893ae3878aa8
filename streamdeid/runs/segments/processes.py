"""Processes that work on the segments of one recording at the same time (`workers`). When a process dies, its segment
gets one more attempt."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from functools import partial

from streamdeid.errors import FailedClosed, StreamdeidError
from streamdeid.report.counts import Counts
from streamdeid.runs.segments.study import Studied
from streamdeid.runs.segments.work import Recording, Task, begin
from streamdeid.runs.workers import ATTEMPTS, DiedError, Told, Worker, shared_out

_Word = int | Studied | Counts | StreamdeidError


class Processes:
    """A number of processes for one recording; use as a context manager.

    Each process starts with its first task, and keeps models and detector for the next ones."""

    def __init__(self, recording: Recording, count: int) -> None:
        self._begin, self._count = partial(begin, recording), count
        self._idle: list[Worker[Task]] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        while self._idle:
            self._idle.pop().close()

    def run(self, tasks: Sequence[Task], told: Told) -> Iterator[tuple[int, Studied | Counts]]:
        """Do tasks, started in order; yields their numbers and results as they come.

        told: called in this thread with how many more frames are done. Raises what a task raised, and FailedClosed for
        a task whose process died twice.
        """
        with contextlib.closing(shared_out(range(len(tasks)), partial(self._work, tasks), self._count)) as words:
            for number, word in words:
                if isinstance(word, StreamdeidError):
                    raise word
                if isinstance(word, int):
                    told(word)
                else:
                    yield number, word

    def _work(self, tasks: Sequence[Task], number: int, stop: threading.Event) -> Iterator[_Word]:
        """The messages of the processes that work on a task."""
        for _ in range(ATTEMPTS):
            frames = 0
            try:
                worker = self._worker()
            except DiedError:
                continue
            try:
                for word in worker.asked(tasks[number], stop):
                    frames += word if isinstance(word, int) else 0
                    yield word
            except DiedError:
                worker.close()
                if stop.is_set():
                    return
                yield -frames
                continue
            self._idle.append(worker)
            return
        yield FailedClosed("the process of a segment died twice")

    def _worker(self) -> Worker[Task]:
        """An idle worker, or a new one. Raises DiedError when none can be made."""
        try:
            return self._idle.pop()
        except IndexError:
            return Worker(self._begin)
