"""The processes that work for a run, with one protocol for several recordings, those of an archive, and segments.

A worker gets on standard input what it is for, and then its tasks, one at a time. It writes on standard output how far
a task is, and at the end its result. Both are pipes of the run that started the worker. Nothing else can write to them,
so values are pickled. No such value is in the arguments of the process. A process that dies takes nothing else with it;
a process whose run is gone clears up and ends.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import shutil
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Generic, NoReturn, TypeVar

from streamdeid.core.child_process import child_command, child_environment
from streamdeid.core.process_usage import be_frugal
from streamdeid.errors import FailedClosed, StreamdeidError

ATTEMPTS = 2
"""How many processes a piece of work may use up: after the first death there is one more attempt."""
_PROGRAM = "streamdeid.runs.workers:work"
_LENGTH = struct.Struct("<Q")
_LEAVE = 10.0
"""Seconds that a process has to end when it is told to; then it is killed."""
_TELL_EVERY = 25
"""Frames between two messages about how far a task is; fewer frames at its end are not reported."""
_Task = TypeVar("_Task")
_Word = TypeVar("_Word")
Told = Callable[[int], None]
"""Called in the process with the number of a frame that is done. The run gets counts of further frames."""
Begin = Callable[[], Callable[[_Task, Told], Any]]
"""Makes, in the process, the function that does its tasks; must be picklable."""


class DiedError(Exception):
    """The process is gone without an answer to its task."""


class _Ended(BaseException):
    """Raised in the process when the run wants it to end."""


class Worker(Generic[_Task]):
    """A process, as the run that started it sees it. Close it."""

    def __init__(self, begin: Begin[_Task], place: Path | None = None) -> None:
        """Start the process. place: a directory that it removes when it has to end early.

        Raises DiedError when no process can be made."""
        try:
            self._process = subprocess.Popen(
                child_command(_PROGRAM),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C goes to the run, which ends its processes itself
                env={**child_environment(), "OPENBLAS_NUM_THREADS": "1"},
            )
        except OSError as error:
            raise DiedError from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self.pid = self._process.pid
        try:
            _send(self._in, (begin, place))
        except OSError as error:
            self.close()
            raise DiedError from error

    def asked(self, task: _Task, stop: threading.Event) -> Iterator[Any]:
        """Give the process a task; yields its messages: now and then how many more frames are done, and last the
        result, which is a StreamdeidError if the task failed. stop: ends the process early. Raises DiedError."""
        ended = threading.Event()
        watching = threading.Thread(target=self._watch, args=(stop, ended), name="worker watched")
        watching.start()
        try:
            _send(self._in, task)
            while True:
                word = _receive(self._out)
                yield word
                if not isinstance(word, int):
                    return
        except (OSError, EOFError, pickle.UnpicklingError, struct.error) as error:
            raise DiedError from error
        finally:
            ended.set()
            watching.join()

    def close(self) -> None:
        """End the process, even in the middle of a task; it is gone at return. Harmless when repeated."""
        self._leave()
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):
                pipe.close()

    def _watch(self, stop: threading.Event, ended: threading.Event) -> None:
        """End the process when the run is to end."""
        while not ended.wait(0.1):
            if stop.is_set():
                self._leave()
                return

    def _leave(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_LEAVE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def answer_of(worker: Worker[_Task], task: _Task, stop: threading.Event) -> Any:
    """The result of a worker of one task; None when it died. It is gone at return. stop: ends it early."""
    with contextlib.closing(worker), contextlib.suppress(DiedError):
        for word in worker.asked(task, stop):
            if not isinstance(word, int):
                return word
    return None


def shared_out(
    order: Sequence[int], work: Callable[[int, threading.Event], Iterator[_Word]], workers: int
) -> Generator[tuple[int, _Word], None, None]:
    """Do numbered work in threads, in this order; yields what each work yields, with its number, as it comes.

    Whatever ends the iteration early sets the event that is given to `work`, which must then end. Raises what `work`
    raised.
    """
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in order:
        todo.put(number)
    said: queue.SimpleQueue[tuple[int, _Word] | BaseException | None] = queue.SimpleQueue()
    stop = threading.Event()

    def take() -> None:
        while not stop.is_set():
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            try:
                for word in work(number, stop):
                    said.put((number, word))
                said.put(None)
            except BaseException as error:
                said.put(error)

    threads = [threading.Thread(target=take, name=f"worker {place}") for place in range(min(workers, len(order)))]
    for thread in threads:
        thread.start()
    try:
        left = len(order)
        while left:
            word = next_word(said)
            if isinstance(word, BaseException):
                raise word
            if word is None:
                left -= 1
            else:
                yield word
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def next_word(said: queue.SimpleQueue[_Word]) -> _Word:
    """The next value in a queue; signals are handled while it waits."""
    while True:
        with contextlib.suppress(queue.Empty):
            return said.get(timeout=0.2)


def work() -> NoReturn:
    """Do the tasks from standard input until it ends; the program of a process."""
    said = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get into the answers
    told: queue.SimpleQueue[Any] = queue.SimpleQueue()
    place: Path | None = None
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)
        # Our own run has just pickled its own values: nothing else writes to this pipe.
        begin, place = _receive(sys.stdin.buffer)
        threading.Thread(target=_listen, args=(told,), daemon=True).start()
        be_frugal()
        do: Callable[[Any, Told], Any] | None = None
        while True:
            task = told.get()
            if task is _NOTHING:
                raise _Ended
            try:
                do = do or begin()
                answer: Any = do(task, _Telling(said))
            except StreamdeidError as error:
                answer = error
            except Exception as error:
                what = f"failed closed on an unexpected error ({type(error).__name__}: {error})"
                answer = FailedClosed(" ".join(what.split()))
            _send(said, answer)
    except (_Ended, OSError, EOFError, struct.error):
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
    os._exit(128 + signal.SIGTERM)  # a thread still reads, which would prevent an orderly end


_NOTHING = object()
"""Marks the end of the tasks."""


class _Telling:
    """Sends a count of further frames that are done, once every `_TELL_EVERY` frames."""

    def __init__(self, said: IO[bytes]) -> None:
        self._said, self._count = said, 0

    def __call__(self, index: int) -> None:
        self._count += 1
        if self._count == _TELL_EVERY:
            _send(self._said, self._count)
            self._count = 0


def _end(number: int, frame: object) -> None:
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # clearing up must not be interrupted
    raise _Ended


def _listen(told: queue.SimpleQueue[Any]) -> None:
    """Read tasks. The pipe ends when the run is gone; then this process ends, since its work is not wanted any more."""
    with contextlib.suppress(OSError, EOFError, struct.error):
        while True:
            told.put(_receive(sys.stdin.buffer))
    told.put(_NOTHING)
    os.kill(os.getpid(), signal.SIGTERM)


def _send(pipe: IO[bytes], value: Any) -> None:
    words = pickle.dumps(value)
    pipe.write(_LENGTH.pack(len(words)) + words)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    """The next value from a pipe, which our own process sent. Raises EOFError where there is none."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) != length:
        raise EOFError
    return data
