"""Filters recordings of an archive: each is fetched, filtered in a process of its own, and its result stored whole.

When a process dies, its recording gets one more attempt. When that process dies too, this recording fails, but never
the others.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from streamdeid.core.addresses import shown
from streamdeid.errors import InputError, SettingsError, StreamdeidError
from streamdeid.report.redaction_report import FileReport, FileSide
from streamdeid.runs.archive import fetch, name_of, partial_of, remove_from, size_of, store
from streamdeid.runs.batch import Answer, Result
from streamdeid.runs.file_worker import Filtered, filter_here
from streamdeid.runs.scratch import scratch
from streamdeid.runs.shipped import Shipped, unpack
from streamdeid.runs.workers import ATTEMPTS, DiedError, Told, Worker, answer_of, shared_out


@dataclass(frozen=True)
class ArchiveTask:
    """One recording and the place of its result: addresses, or absolute paths in a folder that all machines have."""

    input: str
    output: str
    bytes: int
    known: FileReport | None = None
    """The report of the result in a journal, where there is one."""
    replaces: bool = False
    """Whether an existing result is of an earlier run that was stopped before it wrote that into its journal."""


@dataclass(frozen=True)
class Attempt:
    """One attempt at a recording."""

    task: ArchiveTask
    overwrite: bool
    token: str
    """Distinguishes this attempt from all others."""

    def clear(self) -> None:
        """Remove the partial result that a dead attempt may have left."""
        place = partial_of(self.task.output, self.token)
        if place is not None:
            remove_from(place)


class Attempts:
    """The attempts at one recording: a first, and a second when the process or the machine of the first died."""

    def __init__(self, task: ArchiveTask, overwrite: bool) -> None:
        """Raises InputError when the archive cannot say whether the result is there."""
        self.task, self.made = task, 0
        self._overwrite = overwrite or task.replaces
        self._ours = size_of(task.output) is None

    def next(self) -> Attempt | None:
        """The next attempt; None after the last one, whose result is removed then if it was not there before."""
        if self.made == ATTEMPTS:
            if self._ours:
                remove_from(self.task.output)
            return None
        self.made += 1
        # An attempt may die after its result is stored. Only a result that was not there before is replaced.
        again = self._ours and self.made > 1
        return Attempt(self.task, self._overwrite or again, uuid.uuid4().hex[:12])


def filter_fetched(tasks: Sequence[ArchiveTask], shipped: Shipped, workers: int) -> Generator[Result, None, None]:
    """Filter recordings on this machine, `workers` at a time; yields results as they come.

    Whatever ends the iteration early also ends the processes and removes the files that they were writing.
    """

    def work(number: int, stop: threading.Event) -> Iterator[Result]:
        task = tasks[number]
        answer: Answer = None
        made = 0
        try:
            attempts = Attempts(task, shipped.settings.overwrite)
            while answer is None and not stop.is_set() and (one := attempts.next()) is not None:
                answer, made = attempted(one, shipped, stop), attempts.made
        except StreamdeidError as error:
            answer = error
        yield Result.of(answer, number, name_of(task.input), made)

    order = sorted(range(len(tasks)), key=lambda number: -tasks[number].bytes)
    with contextlib.closing(shared_out(order, work, workers)) as results:
        for _, result in results:
            yield result


def attempted(attempt: Attempt, shipped: Shipped, stop: threading.Event) -> Answer:
    """The answer of the process of an attempt; None when it died. Process and scratch directory are gone at return."""
    try:
        with scratch() as place:
            answer: Answer = answer_of(Worker(partial(begin, shipped, place), place), attempt, stop)
            return answer
    except DiedError:  # no process can be made
        return None
    except StreamdeidError as error:
        return error
    finally:
        attempt.clear()


def begin(shipped: Shipped, place: Path) -> Callable[[Attempt, Told], Filtered]:
    """The function that makes attempts in a process of its own, with `place` as scratch directory."""
    return lambda attempt, told: work_on(attempt, shipped, place)


def work_on(attempt: Attempt, shipped: Shipped, place: Path) -> Filtered:
    """Fetch a recording, filter it and store the result; runs in the process of an attempt.

    Raises InputError, SettingsError (UnfitError where this machine has other versions or models), ModelError,
    OutputError and FailedClosed.
    """
    task = attempt.task
    settings = unpack(shipped, place / "run")
    input, output = place / "in" / name_of(task.input), place / "out" / name_of(task.output)
    input.parent.mkdir()
    output.parent.mkdir()
    fetch(task.input, input)
    if task.known is not None and FileSide.of(input) == task.known.input and _is_there(task, task.known, output):
        return Filtered(task.known, None, before=True)
    if not attempt.overwrite and size_of(task.output) is not None:
        raise SettingsError(f"{shown(task.output)} exists already; use --overwrite to replace it")
    try:
        done = filter_here(replace(settings, overwrite=False), input, output, shipped.key)
    except StreamdeidError as error:
        # A path in the scratch directory means nothing to the user.
        text = str(error).replace(str(input), shown(task.input)).replace(str(output), shown(task.output))
        raise type(error)(text) from error
    store(output, task.output, attempt.token, overwrite=attempt.overwrite)
    return done


def _is_there(task: ArchiveTask, known: FileReport, path: Path) -> bool:
    """Whether the result in the archive has the size and hash of a report; it is fetched to `path` for that."""
    if size_of(task.output) != known.output.bytes:
        return False
    try:
        fetch(task.output, path)
        return FileSide.of(path) == known.output
    except InputError:
        return False
    finally:
        path.unlink(missing_ok=True)
