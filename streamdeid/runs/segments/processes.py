"""Processes that work on segments side by side. One that dies costs its segment another attempt, once.

Each is told its tasks on standard input and answers on standard output, both pipes of the run that started it: pickles,
which nobody else can write there. Nothing stands in its arguments.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import IO, Any, NoReturn

from streamdeid.core.child_process import child_command, child_environment
from streamdeid.core.process_usage import be_frugal
from streamdeid.errors import FailedClosed, StreamdeidError
from streamdeid.report.counts import Counts
from streamdeid.runs.segments.study import Studied
from streamdeid.runs.segments.work import Recording, SegmentWork, Task, Told

_PROGRAM = "streamdeid.runs.segments.processes:work"
_LENGTH = struct.Struct("<Q")
_ATTEMPTS = 2
_TELL_EVERY = 25
"""Frames between two words about how far a task is."""


class Processes:
    """So many processes for one recording; as a context manager. They start with their first task."""

    def __init__(self, recording: Recording, count: int) -> None:
        self._recording, self._count = recording, count
        self._stop = threading.Event()
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        """By worker."""
        self._lock = threading.Lock()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        with self._lock:
            for process in self._running.values():
                process.kill()  # what it was writing lies in a directory that the run clears away
        for worker in list(self._running):
            self._end(worker)

    def run(self, tasks: Sequence[Task], told: Told) -> Iterator[tuple[int, Studied | Counts]]:
        """Do tasks, the first ones first: their numbers and results, as they come.

        told: called in this thread with how many frames more are done. Raises what a task raised, and FailedClosed for
        one whose process died twice.
        """
        todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(tasks)):
            todo.put(number)
        said: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        threads = [
            threading.Thread(target=self._work, args=(worker, tasks, todo, said), name=f"segments {worker}")
            for worker in range(min(self._count, len(tasks)))
        ]
        for thread in threads:
            thread.start()
        try:
            left = len(tasks)
            while left:
                try:
                    number, word = said.get(timeout=0.2)  # so that signals are seen
                except queue.Empty:
                    continue
                if isinstance(word, BaseException):
                    raise word
                if isinstance(word, int):
                    told(word)
                    continue
                left -= 1
                yield number, word
        finally:
            if left:
                self.__exit__()
            for thread in threads:
                thread.join()

    def _work(
        self,
        worker: int,
        tasks: Sequence[Task],
        todo: queue.SimpleQueue[int],
        said: queue.SimpleQueue[tuple[int, Any]],
    ) -> None:
        """One task after another, until there is none left."""
        while not self._stop.is_set():
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            for attempt in range(1, _ATTEMPTS + 1):
                frames = 0
                try:
                    for word in self._asked(worker, tasks[number]):
                        frames += word if isinstance(word, int) else 0
                        said.put((number, word))
                except (OSError, EOFError, pickle.UnpicklingError, struct.error):
                    self._end(worker)
                    if self._stop.is_set():
                        return
                    said.put((number, -frames))
                    if attempt == _ATTEMPTS:
                        said.put((number, FailedClosed("the process of a segment died twice")))
                    continue
                break

    def _asked(self, worker: int, task: Task) -> Iterator[Any]:
        """What the process of a worker says of a task: numbers of frames, and in the end what came of it."""
        process = self._process(worker)
        assert process.stdin is not None and process.stdout is not None
        _send(process.stdin, task)
        while True:
            word = _receive(process.stdout)
            yield word
            if not isinstance(word, int):
                return

    def _process(self, worker: int) -> subprocess.Popen[bytes]:
        """The process of a worker; a new one where it has none."""
        known = self._running.get(worker)
        if known is not None:
            return known
        with self._lock:
            if self._stop.is_set():
                raise EOFError
            process = subprocess.Popen(
                child_command(_PROGRAM),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the run, which ends its processes itself
                env={**child_environment(), "OPENBLAS_NUM_THREADS": "1"},
            )
            self._running[worker] = process
        assert process.stdin is not None
        _send(process.stdin, self._recording)
        return process

    def _end(self, worker: int) -> None:
        """Be rid of the process of a worker."""
        with self._lock:
            process = self._running.pop(worker, None)
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def work() -> NoReturn:
    """Do what standard input says, until it ends; the program of a process."""
    said = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    told: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(told,), daemon=True).start()
    be_frugal()
    recording: Recording = told.get()
    doing: SegmentWork | None = None
    while True:
        task: Task = told.get()
        try:
            if doing is None:
                doing = SegmentWork(recording)
            answer: Any = doing.do(task, _Telling(said))
        except StreamdeidError as error:
            answer = error
        except Exception as error:
            what = f"failed closed on an unexpected error ({type(error).__name__}: {error})"
            answer = FailedClosed(" ".join(what.split()))
        _send(said, answer)


class _Telling:
    """Says now and then how many frames more are done."""

    def __init__(self, said: IO[bytes]) -> None:
        self._said, self._count = said, 0

    def __call__(self, index: int) -> None:
        self._count += 1
        if self._count == _TELL_EVERY:
            _send(self._said, self._count)
            self._count = 0


def _listen(told: queue.SimpleQueue[Any]) -> None:
    """When the run is gone, so is its end of the pipe: there is nothing left to do."""
    with contextlib.suppress(OSError, EOFError, struct.error):
        while True:
            told.put(_receive(sys.stdin.buffer))
    os._exit(1)


def _send(pipe: IO[bytes], value: Any) -> None:
    words = pickle.dumps(value)
    pipe.write(_LENGTH.pack(len(words)) + words)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    """The next value; EOFError where there is none. Our own process sent it."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) != length:
        raise EOFError
    return data
