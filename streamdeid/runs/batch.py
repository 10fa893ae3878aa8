"""Filters several recordings at the same time, each in a process of its own (`file_worker`).

The largest recordings go first, so that no long one is left at the end. When a process dies, its recording gets one
more attempt. When that process dies too, this recording fails, but never the others.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streamdeid.core.atomic_file import remove
from streamdeid.errors import ExitCode, StreamdeidError
from streamdeid.report.redaction_report import FileFailure, FileReport, RunChoice
from streamdeid.runs.file_worker import FileTask, Filtered, begin
from streamdeid.runs.workers import ATTEMPTS, DiedError, Worker, answer_of, shared_out
from streamdeid.settings import Settings

Answer = Filtered | StreamdeidError | None
"""What a process answers about a recording; None when it died."""
_DIED = "failed closed: its process died twice"


@dataclass(frozen=True)
class Result:
    """The result of one recording."""

    number: int
    """Index of the recording among those that were given."""
    result: FileReport | FileFailure
    choice: RunChoice | None = None
    attempts: int = 1
    before: bool = False
    """Whether an earlier run filtered the recording, and its output has not changed since."""

    @classmethod
    def of(cls, answer: Answer, number: int, name: str, attempts: int) -> Result:
        """The result for the answer of the last attempt. name: of the recording, for a failure."""
        if isinstance(answer, Filtered):
            return cls(number, answer.report, answer.choice, attempts, answer.before)
        told, code = (_DIED, ExitCode.FAILED_CLOSED) if answer is None else (str(answer), answer.exit_code)
        return cls(number, FileFailure(name, told, int(code)), attempts=attempts)


def filter_files(
    files: Sequence[tuple[Path, Path]], settings: Settings, workers: int, key: bytes | None = None
) -> Generator[Result, None, None]:
    """Filter recordings (input, output), `workers` at a time; yields results as they come.

    key: the key file's bytes; None for no key, or for one that each process reads itself.

    Whatever ends the iteration early also ends the processes and removes the files that they were writing.
    """

    def work(number: int, stop: threading.Event) -> Iterator[Result]:
        yield _filtered(number, FileTask(settings, *files[number], key), stop)

    order = sorted(range(len(files)), key=lambda number: -_size(files[number][0]))
    with contextlib.closing(shared_out(order, work, workers)) as results:
        for _, result in results:
            yield result


def _filtered(number: int, task: FileTask, stop: threading.Event) -> Result:
    """Filter one recording, once more when its process died."""
    ours, overwrite = not task.output.exists(), task.settings.overwrite
    answer: Answer = None
    attempt = 0
    while answer is None and attempt < ATTEMPTS and not (attempt and stop.is_set()):
        attempt += 1
        # A process may die after its output is whole. Only an output that was not there before the run is replaced.
        again = replace(task.settings, overwrite=overwrite or (ours and attempt > 1))
        answer = _answer(replace(task, settings=again), stop)
    if answer is None and ours:
        remove(task.output)
    return Result.of(answer, number, task.input.name, attempt)


def _answer(task: FileTask, stop: threading.Event) -> Answer:
    """What a process answers about a recording. At return the process and its unfinished files are gone."""
    try:
        worker = Worker(begin)
    except DiedError:
        return None
    try:
        answer: Answer = answer_of(worker, task, stop)
    finally:
        for path in task.output.parent.glob(f".*.partial-{worker.pid}*"):  # files that a killed process was writing
            remove(path)
    return answer


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
