"""Processes that work for a run: what they say, how they end, and what is shared out among them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from streamdeid.errors import FailedClosed, InputError
from streamdeid.runs.workers import DiedError, Told, Worker, answer_of, shared_out
from tests.patience import eventually

NEVER = threading.Event()
ROOT = Path(__file__).parents[2]


def begin(add: int) -> Callable[[Any, Told], Any]:
    """What a process does with the tasks of these tests; it remembers how many there were."""
    before: list[Any] = []

    def do(task: Any, told: Told) -> Any:
        before.append(task)
        if task == "damaged":
            raise InputError("in.mp4 is damaged")
        if task == "odd":
            raise ValueError("not\nexpected")
        if task == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if task == "prints":
            print("a library's word", flush=True)
        if task == "waits":
            for index in range(25):
                told(index)
            threading.Event().wait()
        for index in range(60):
            told(index)
        return task, add, len(before)

    return do


def begins_badly() -> Callable[[Any, Told], Any]:
    """Of a process that cannot begin."""
    raise InputError("no such model")


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker[Any]]:
    (tmp_path / "scratch").mkdir()
    one: Worker[Any] = Worker(partial(begin, 3), tmp_path / "scratch")
    yield one
    one.close()


def test_a_worker_says_how_far_it_is_and_what_came_of_each_task(worker: Worker[Any]) -> None:
    assert list(worker.asked("a", NEVER)) == [25, 25, ("a", 3, 1)]
    assert list(worker.asked("prints", NEVER))[-1] == ("prints", 3, 2), "what is printed is no answer"
    for task, kind, text in (("damaged", InputError, "in.mp4 is damaged"), ("odd", FailedClosed, "not expected")):
        *_, error = worker.asked(task, NEVER)
        assert type(error) is kind and text in str(error) and "\n" not in str(error)
    assert list(worker.asked("b", NEVER))[-1] == ("b", 3, 5), "an error ends the task, and not the process"


def test_what_cannot_begin_says_why_for_each_task() -> None:
    one: Worker[Any] = Worker(begins_badly)
    for _ in range(2):
        (error,) = one.asked("a", NEVER)
        assert isinstance(error, InputError) and str(error) == "no such model"
    one.close()


def test_who_dies_says_nothing(worker: Worker[Any]) -> None:
    with pytest.raises(DiedError):
        list(worker.asked("dies", NEVER))
    with pytest.raises(DiedError):
        list(worker.asked("a", NEVER))
    assert answer_of(Worker(partial(begin, 1)), "dies", NEVER) is None
    assert answer_of(Worker(partial(begin, 1)), "a", NEVER) == ("a", 1, 1)


def test_a_worker_in_the_middle_of_a_task_ends_with_the_run(worker: Worker[Any], tmp_path: Path) -> None:
    stop = threading.Event()
    words = worker.asked("waits", stop)
    assert next(words) == 25
    stop.set()
    with pytest.raises(DiedError):
        next(words)
    assert not (tmp_path / "scratch").exists()


RUN = """
import sys, threading
from functools import partial
from pathlib import Path
from streamdeid.runs.workers import Worker
from tests.runs.test_workers import begin
one = Worker(partial(begin, 1), Path(sys.argv[1]))
for word in one.asked(sys.argv[2], threading.Event()):
    if word == 25 and sys.argv[2] == "waits":
        break
print(one.pid, flush=True)
threading.Event().wait()
"""
"""A run whose worker is at work, or idle, when it tells that one's number."""


@pytest.mark.parametrize("task", ["a", "waits"])
def test_a_worker_whose_run_is_gone_clears_up_and_ends(tmp_path: Path, task: str) -> None:
    (tmp_path / "scratch").mkdir()
    words = [sys.executable, "-c", RUN, str(tmp_path / "scratch"), task]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        assert (tmp_path / "scratch").exists() and not _ended(pid)
        run.kill()
    assert eventually(lambda: not (tmp_path / "scratch").exists() and _ended(pid))


def _ended(pid: int) -> bool:
    """Whether a process is gone, or waits for somebody to take note of its end."""
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def test_work_is_shared_out_in_order_and_ends_early() -> None:
    begun: list[int] = []

    def work(number: int, stop: threading.Event) -> Iterator[str]:
        begun.append(number)
        yield "begins"
        yield "ends"

    assert list(shared_out([2, 0, 1], work, 1)) == [(n, word) for n in (2, 0, 1) for word in ("begins", "ends")]
    assert begun == [2, 0, 1]
    assert sorted(shared_out(range(5), work, 3)) == [(n, word) for n in range(5) for word in ("begins", "ends")]

    def waits(number: int, stop: threading.Event) -> Iterator[str]:
        yield "begins"
        stop.wait()

    running = shared_out(range(3), waits, 2)
    assert next(running)[1] == "begins"
    running.close()

    def fails(number: int, stop: threading.Event) -> Iterator[str]:
        yield "begins"
        raise InputError("damaged")

    with pytest.raises(InputError):
        list(shared_out(range(3), fails, 2))
