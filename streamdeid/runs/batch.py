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
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from streamdeid.core.atomic_file import remove
from streamdeid.errors import ExitCode
from streamdeid.report.audit import choice_of, file_report_of
from streamdeid.report.redaction_report import Choice, FileFailure, FileReport
from streamdeid.runs.file_worker import start
from streamdeid.settings import Settings

_Word = TypeVar("_Word")
ATTEMPTS = 2
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
    before: bool = False
    """Whether it was done by an earlier run, and is as that one left it."""


def filter_files(files: Sequence[tuple[Path, Path]], settings: Settings, workers: int) -> Generator[Result, None, None]:
    """Filter recordings (input, output), so many at a time; results as they come.

    Whatever ends the iteration early ends the processes too, and what they were writing.
    """
    order = sorted(range(len(files)), key=lambda number: -_size(files[number][0]))
    return shared_out(order, lambda number, stop: _work(number, *files[number], settings, stop), workers)


def shared_out(
    order: Sequence[int], work: Callable[[int, threading.Event], Result], workers: int
) -> Generator[Result, None, None]:
    """Do numbered work in threads, in this order; results as they come.

    The work ends early when its event is set, as whatever ends the iteration early does.
    """
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in order:
        todo.put(number)
    results: queue.SimpleQueue[Result] = queue.SimpleQueue()
    stop = threading.Event()

    def take() -> None:
        while not stop.is_set():
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            results.put(work(number, stop))

    threads = [threading.Thread(target=take, name=f"worker {place}") for place in range(min(workers, len(order)))]
    for thread in threads:
        thread.start()
    try:
        for _ in order:
            yield next_word(results)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def next_word(said: queue.SimpleQueue[_Word]) -> _Word:
    """What a thread says next; signals are seen while it is waited for."""
    while True:
        with contextlib.suppress(queue.Empty):
            return said.get(timeout=0.2)


def _work(number: int, input: Path, output: Path, settings: Settings, stop: threading.Event) -> Result:
    """One recording, once more when its process died."""
    ours = not output.exists()
    words, attempt = None, 0
    while words is None and attempt < ATTEMPTS and not (attempt and stop.is_set()):
        attempt += 1
        # One that died may have done so when its output was whole: nobody else's is replaced.
        again = replace(settings, overwrite=settings.overwrite or (ours and attempt > 1))
        words = _filtered(again, input, output, stop)
    if words is None and ours:
        remove(output)
    result, choice = understood(words, input.name)
    return Result(number, result, choice, attempt)


def _filtered(settings: Settings, input: Path, output: Path, stop: threading.Event) -> bytes | None:
    """What a process says of a recording; None when it died. It is gone when this returns."""
    begun: list[int] = []

    def begin() -> subprocess.Popen[bytes]:
        process = start(settings, input, output)
        begun.append(process.pid)
        return process

    try:
        return words_of(begin, stop)
    finally:
        for pid in begun:
            for path in output.parent.glob(f".*.partial-{pid}*"):  # what a killed one was writing
                remove(path)


def words_of(begin: Callable[[], subprocess.Popen[bytes]], stop: threading.Event) -> bytes | None:
    """The line that a process says at its end; None when it died. It is gone when this returns.

    begin: starts it (`file_worker`), or raises OSError. stop: ends it early.
    """
    try:
        process = begin()
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
    return words if words.endswith(b"\n") and code == 0 else None


def _end_early(process: subprocess.Popen[bytes], stop: threading.Event, ended: threading.Event) -> None:
    """End a process when the run is to end."""
    while not ended.wait(0.1):
        if stop.is_set():
            process.send_signal(signal.SIGTERM)
            if not ended.wait(_LEAVE):
                process.kill()
            return


def understood(words: bytes | None, name: str) -> tuple[FileReport | FileFailure, Choice | None]:
    """What the line of a process means, None for one that died; name: the recording's, for what failed."""
    if words is None:
        return FileFailure(name, _DIED, int(ExitCode.FAILED_CLOSED)), None
    try:
        told = json.loads(words)
        if "error" in told:
            return FileFailure(name, str(told["error"]), int(ExitCode(told["exit_code"]))), None
        return file_report_of(told["report"]), None if told["choice"] is None else choice_of(told["choice"])
    except (ValueError, KeyError, TypeError):
        return FileFailure(name, _ANSWERED_NONSENSE, int(ExitCode.FAILED_CLOSED)), None


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
