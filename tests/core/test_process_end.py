"""A process ends with its exit code also while a thread is at work in a library, and does what is done at an end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

AT_WORK = """
import atexit, sys, threading, time
import cv2, numpy
cv2.setNumThreads(1)
picture = numpy.zeros((300, 300), numpy.uint8)

def blur():
    while True:
        cv2.GaussianBlur(picture, (9, 9), 3)  # gives the interpreter away, and asks for it again in a destructor

def joined():
    time.sleep(0.3)
    print("joined")

def work(*given):
    atexit.register(print, "at the end")
    threading.Thread(target=joined).start()
    if {daemon}:
        threading.Thread(target=blur, daemon=True).start()
    time.sleep(0.1)
    sys.stdout.write("said, ")
    {ending}
"""
"""Something that leaves a daemon thread in OpenCV; what is printed is kept by Python until it is flushed."""
PROGRAMS = {
    "the command line": "from streamdeid.cli import main\nmain.main = work\nmain.run()",
    "a process of a run": "from streamdeid.core import child_process\nimport json\njson.work = work\n"
    "child_process.run('json:work')",
}
ALL = b"said, joined\nat the end\n"


def ended(
    program: str, ending: str, *, daemon: bool = True, out: int | IO[bytes] = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    code = AT_WORK.format(daemon=daemon, ending=ending) + PROGRAMS[program]
    known = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, stdout=out, stderr=subprocess.PIPE, env=known, check=False, timeout=60)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("ending", "code"), [("return 143", 143), ("sys.exit(7)", 7), ("return 0", 0)])
def test_a_thread_at_work_does_not_cost_the_exit_code(program: str, ending: str, code: int) -> None:
    done = ended(program, ending)
    assert (done.returncode, done.stdout, done.stderr) == (code, ALL, b"")


@pytest.mark.parametrize("ending", ["return 3", "sys.exit(3)"])
def test_without_such_a_thread_it_is_the_same(ending: str) -> None:
    done = ended("the command line", ending, daemon=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, ALL, b"")


def test_an_error_that_nobody_caught_is_told() -> None:
    done = ended("a process of a run", "raise KeyError('x')")
    assert (done.returncode, done.stdout) == (1, ALL)
    assert done.stderr.startswith(b"Traceback") and done.stderr.endswith(b"KeyError: 'x'\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_what_could_not_be_said_is_an_error() -> None:
    """Standard output is full when what was kept for it is written at last."""
    with open("/dev/full", "wb") as full:
        done = ended("the command line", "return 0", out=full)
    assert (done.returncode, done.stderr) == (3, b"")
