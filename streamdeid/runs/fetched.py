"""A recording of an archive: fetched, filtered in a process of its own, and the result stored whole.

One that died costs the recording one more attempt; a second death the recording, never the others.
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
    """One recording and where its result goes: addresses, or absolute paths of a folder that all machines have."""

    input: str
    output: str
    bytes: int
    known: FileReport | None = None
    """What a journal says of the result."""
    replaces: bool = False
    """Whether the result that is there is one of an earlier run that was stopped before it could say so."""


@dataclass(frozen=True)
class Attempt:
    """One attempt at a recording."""

    task: ArchiveTask
    overwrite: bool
    token: str
    """Tells this attempt from all others."""

    def clear(self) -> None:
        """Remove what a dead attempt may have left where results go."""
        place = partial_of(self.task.output, self.token)
        if place is not None:
            remove_from(place)


class Attempts:
    """The attempts at one recording: a first, and a second when its process or its machine died."""

    def __init__(self, task: ArchiveTask, overwrite: bool) -> None:
        """Raises InputError when the archive cannot be asked what is there."""
        self.task, self.made = task, 0
        self._overwrite = overwrite or task.replaces
        self._ours = size_of(task.output) is None

    def next(self) -> Attempt | None:
        """The next attempt; None when there was one too many, and what it may have left is gone."""
        if self.made == ATTEMPTS:
            if self._ours:
                remove_from(self.task.output)
            return None
        self.made += 1
        # One that died may have done so when its result was stored: nobody else's is replaced.
        again = self._ours and self.made > 1
        return Attempt(self.task, self._overwrite or again, uuid.uuid4().hex[:12])


def filter_fetched(tasks: Sequence[ArchiveTask], shipped: Shipped, workers: int) -> Generator[Result, None, None]:
    """Filter recordings on this machine, so many at a time; results as they come.

    Whatever ends the iteration early ends the processes too, and what they were writing.
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
    """What the process of one attempt says; None when it died. Process and scratch directory are gone at the end."""
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
    """What makes attempts in a process of its own, with a scratch directory."""
    return lambda attempt, told: work_on(attempt, shipped, place)


def work_on(attempt: Attempt, shipped: Shipped, place: Path) -> Filtered:
    """Fetch, filter and store; runs in the process of an attempt.

    Raises InputError, SettingsError (UnfitError where this machine is not like the run's), ModelError, OutputError and
    FailedClosed.
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
        # The scratch directory's path says nothing to anybody.
        text = str(error).replace(str(input), shown(task.input)).replace(str(output), shown(task.output))
        raise type(error)(text) from error
    store(output, task.output, attempt.token, overwrite=attempt.overwrite)
    return done


def _is_there(task: ArchiveTask, known: FileReport, path: Path) -> bool:
    """Whether the result in the archive is, byte for byte, what a report says; it is fetched to `path` for that."""
    if size_of(task.output) != known.output.bytes:
        return False
    try:
        fetch(task.output, path)
        return FileSide.of(path) == known.output
    except InputError:
        return False
    finally:
        path.unlink(missing_ok=True)
