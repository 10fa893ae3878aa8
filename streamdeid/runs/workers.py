"""The processes that work for a run: one protocol for recordings beside each other, for those of an archive, and for
the segments of one.

A worker is told on standard input what it is for, and then its tasks, one at a time; it says on standard output how
far it is, and in the end what came of each. Both are pipes of the run that started it, so what goes through them is
pickled: nobody else can write there. Nothing of it stands in the process's arguments. A process that dies takes nothing
with it; one whose run is gone clears up and ends.
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
"""Processes that a piece of work may cost: one that died gets another one, once."""
_PROGRAM = "streamdeid.runs.workers:work"
_LENGTH = struct.Struct("<Q")
_LEAVE = 10.0
"""Seconds for a process to end when it is told to; then it is killed."""
_TELL_EVERY = 25
"""Frames between two words about how far a task is; what is left of them at its end is not told."""
_Task = TypeVar("_Task")
_Word = TypeVar("_Word")
Told = Callable[[int], None]
"""Called in the process with the number of a frame that is done. The run hears how many more are, so many at a time."""
Begin = Callable[[], Callable[[_Task, Told], Any]]
"""Makes, in the process, what does its tasks; has to be picklable."""


class DiedError(Exception):
    """The process is gone, and said nothing of its task."""


class _Ended(BaseException):
    """The run wants the process to end."""


class Worker(Generic[_Task]):
    """A process, as the run that started it sees it. Close it."""

    def __init__(self, begin: Begin[_Task], place: Path | None = None) -> None:
        """Start it. place: a directory that it removes when it has to end early and nobody else can do so. Raises
        DiedError when no process can be made."""
        try:
            self._process = subprocess.Popen(
                child_command(_PROGRAM),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for the run, which ends its processes itself
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
        """What it says of a task: how many frames more are done, now and then, and in the end what came of it, a
        StreamdeidError where that failed. stop: ends the process early. Raises DiedError."""
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
        """End it, in the middle of a task too; it is gone when this returns. Harmless when repeated."""
        self._leave()
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):
                pipe.close()

    def _watch(self, stop: threading.Event, ended: threading.Event) -> None:
        """End it when the run is to end."""
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
    """What a worker of one task says of it; None when it died. It is gone when this returns. stop: ends it early."""
    with contextlib.closing(worker), contextlib.suppress(DiedError):
        for word in worker.asked(task, stop):
            if not isinstance(word, int):
                return word
    return None


def shared_out(
    order: Sequence[int], work: Callable[[int, threading.Event], Iterator[_Word]], workers: int
) -> Generator[tuple[int, _Word], None, None]:
    """Do numbered work in threads, in this order: what each says, with its number, as it comes.

    Whatever ends the iteration early sets the event, at which work has to end early. Raises what a work raised.
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
    """What a thread says next; signals are seen while it is waited for."""
    while True:
        with contextlib.suppress(queue.Empty):
            return said.get(timeout=0.2)


def work() -> NoReturn:
    """Do what standard input says, until it ends; the program of a process."""
    said = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    told: queue.SimpleQueue[Any] = queue.SimpleQueue()
    place: Path | None = None
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)
        # Our own run pickled it a moment ago, of its own values: nothing else writes to this pipe.
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
    os._exit(128 + signal.SIGTERM)  # a thread still listens, and would be in the way of an orderly end


_NOTHING = object()
"""Says that there is nothing more to be told."""


class _Telling:
    """Says now and then how many frames more are done."""

    def __init__(self, said: IO[bytes]) -> None:
        self._said, self._count = said, 0

    def __call__(self, index: int) -> None:
        self._count += 1
        if self._count == _TELL_EVERY:
            _send(self._said, self._count)
            self._count = 0


def _end(number: int, frame: object) -> None:
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # clearing up is not to be interrupted
    raise _Ended


def _listen(told: queue.SimpleQueue[Any]) -> None:
    """Hear of tasks. When the run is gone, so is its end of the pipe: what is done for it is no longer wanted."""
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
    """The next value; EOFError where there is none. Our own process sent it."""
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) != length:
        raise EOFError
    return data
