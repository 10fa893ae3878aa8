"""Several recordings beside each other, each in a process of its own (`file_worker`).

The largest go first, so that the end is not one long recording. A process that dies costs its recording one more
attempt; a second death the recording, never the others.
"""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streamdeid.core.atomic_file import remove
from streamdeid.errors import ExitCode
from streamdeid.report.audit import choice_of, file_report_of
from streamdeid.report.redaction_report import Choice, FileFailure, FileReport
from streamdeid.runs.file_worker import start
from streamdeid.settings import Settings

_ATTEMPTS = 2
_LEAVE = 10.0
"""Seconds for a process to end when it is told to; then it is killed."""
_DIED = "failed closed: its process died twice"
_ANSWERED_NONSENSE = "failed closed: its process gave no answer that makes sense"


@dataclass(frozen=True)
class Result:
    """What came of one recording."""

    number: int
    """Its place among those that were given."""
    result: FileReport | FileFailure
    choice: Choice | None = None
    attempts: int = 1


def filter_files(files: Sequence[tuple[Path, Path]], settings: Settings, workers: int) -> Iterator[Result]:
    """Filter recordings (input, output), so many at a time; results as they come.

    Whatever ends the iteration early ends the processes too, and what they were writing.
    """
    order = sorted(range(len(files)), key=lambda number: -_size(files[number][0]))
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in order:
        todo.put(number)
    results: queue.SimpleQueue[Result] = queue.SimpleQueue()
    stop = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(files, settings, todo, results.put, stop), name=f"worker {place}")
        for place in range(min(workers, len(files)))
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in files:
            yield _next(results)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _next(results: queue.SimpleQueue[Result]) -> Result:
    """The next result; signals are seen while it is waited for."""
    while True:
        with contextlib.suppress(queue.Empty):
            return results.get(timeout=0.2)


def _work(
    files: Sequence[tuple[Path, Path]],
    settings: Settings,
    todo: queue.SimpleQueue[int],
    told: Callable[[Result], None],
    stop: threading.Event,
) -> None:
    """One recording after another, until there is none left."""
    while not stop.is_set():
        try:
            number = todo.get_nowait()
        except queue.Empty:
            return
        input, output = files[number]
        ours = not output.exists()
        for attempt in range(1, _ATTEMPTS + 1):
            # One that died may have done so when its output was whole: nobody else's is replaced.
            words = _filtered(
                replace(settings, overwrite=settings.overwrite or (ours and attempt > 1)), input, output, stop
            )
            if words is None and attempt < _ATTEMPTS and not stop.is_set():
                continue
            if words is None and ours:
                remove(output)
            result, choice = _understood(words, input)
            told(Result(number, result, choice, attempt))
            break


def _filtered(settings: Settings, input: Path, output: Path, stop: threading.Event) -> bytes | None:
    """What a process says of a recording; None when it died. It is gone when this returns."""
    try:
        process = start(settings, input, output)
    except OSError:  # no process can be made, or it died before it was told anything
        return None
    ended = threading.Event()
    watching = threading.Thread(target=_end_early, args=(process, stop, ended))
    watching.start()
    try:
        assert process.stdout is not None
        words = process.stdout.readline()
        code = process.wait()
    finally:
        ended.set()
        watching.join()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        for path in output.parent.glob(f".*.partial-{process.pid}*"):  # what a killed one was writing
            remove(path)
    return words if words.endswith(b"\n") and code == 0 else None


def _end_early(process: subprocess.Popen[bytes], stop: threading.Event, ended: threading.Event) -> None:
    """End a process when the run is to end."""
    while not ended.wait(0.1):
        if stop.is_set():
            process.send_signal(signal.SIGTERM)
            if not ended.wait(_LEAVE):
                process.kill()
            return


def _understood(words: bytes | None, input: Path) -> tuple[FileReport | FileFailure, Choice | None]:
    if words is None:
        return FileFailure(input.name, _DIED, int(ExitCode.FAILED_CLOSED)), None
    try:
        told = json.loads(words)
        if "error" in told:
            return FileFailure(input.name, str(told["error"]), int(ExitCode(told["exit_code"]))), None
        return file_report_of(told["report"]), None if told["choice"] is None else choice_of(told["choice"])
    except (ValueError, KeyError, TypeError):
        return FileFailure(input.name, _ANSWERED_NONSENSE, int(ExitCode.FAILED_CLOSED)), None


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
