"""What the deadline of a detector counts: time in which the process was run, not time in which it stood still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.detection.deadline import TimedDetector
from streamdeid.errors import FailedClosed
from tests.chromium import PATIENCE
from tests.live_fakes import planes

ROOT = Path(__file__).parents[2]
DEADLINE, STOPPED = 2.0, 2.6
PROGRAM = f"""
import time
from fractions import Fraction
from streamdeid.core.frames import Frame
from streamdeid.detection.deadline import TimedDetector
from tests.live_fakes import planes

def detect(frame):
    print("asked", flush=True)
    input()
    time.sleep(0.1)  # whoever waits sees first that it is late
    return []

print(TimedDetector(detect, {DEADLINE})(Frame(planes(9), Fraction(0), 0)), flush=True)
"""


BUSY = """
import os, sys, time
from fractions import Fraction
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from streamdeid.core.frames import Frame
from streamdeid.detection.deadline import TimedDetector
from tests.live_fakes import planes

others = [os.fork() for _ in range(2)]
if 0 in others:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pass
    os._exit(0)
os.nice(10)

def detect(frame):
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass
    return []

began = time.monotonic()
try:
    print(TimedDetector(detect, 1.0)(Frame(planes(9), Fraction(0), 0)), time.monotonic() - began > 1.0, flush=True)
finally:
    for other in others:
        os.kill(other, 9)
"""


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="nobody tells how long a thread waited")
def test_a_detector_that_has_no_processor_is_not_late() -> None:
    """A twentieth of one here: a good recording of a folder was lost to a busy machine."""
    done = subprocess.run([sys.executable, "-c", BUSY], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout == "() True\n", done.stderr


def test_a_process_that_is_stopped_for_longer_than_the_deadline_goes_on() -> None:
    """Ctrl-Z and `fg`, `docker pause`: a run on a file would have ended with code 4, a live one begun anew."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        os.kill(process.pid, signal.SIGSTOP)
        try:
            print(file=process.stdin, flush=True)
            time.sleep(STOPPED)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        assert process.stdout.read() == "()\n"
    assert process.returncode == 0


def frame(index: int) -> Frame:
    return Frame(planes(9), Fraction(index), index)


class Told:
    """A detector that finds as many faces as the frame's number, and notes what it was told; it waits where it must."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.go, self.begun = threading.Event(), threading.Event()
        self.go.set()

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        self.seen.append(frame.index)
        if frame.index == 13:
            raise ValueError("no luck")
        return [Face((0.0, 0.0, 9.0, 9.0), 1.0)] * frame.index

    def forget(self) -> None:
        self.seen.append("forget")

    def search_all(self) -> None:
        self.seen.append("search all")

    def look_again(self, frame: Frame, track: int, box: object, others: object, /) -> None:
        self.seen.append((frame.index, track))


def test_a_frame_that_was_begun_is_looked_at_once_and_while_nobody_waits() -> None:
    told = Told()
    told.go.clear()
    detect, three = TimedDetector(told, PATIENCE), frame(3)
    detect.begin(three)
    assert told.begun.wait(PATIENCE) and told.seen == []
    told.go.set()
    assert len(detect(three)) == 3 and len(detect(frame(2))) == 2
    assert told.seen == [3, 2]


@pytest.mark.parametrize("other", ["frame", "look_again", "forget", "search_all", "begin"])
def test_what_was_begun_is_over_before_anything_else_is_asked_or_told(other: str) -> None:
    told = Told()
    told.go.clear()
    detect, three = TimedDetector(told, PATIENCE), frame(3)
    detect.begin(three)
    threading.Timer(0.2, told.go.set).start()
    if other == "frame":
        assert len(detect(frame(1))) == 1
    elif other == "look_again":
        assert detect.look_again(frame(1), 7, (0.0, 0.0, 1.0, 1.0), ()) is None
    elif other == "begin":
        detect.begin(frame(1))
    else:
        getattr(detect, other)()
    assert told.seen[:1] == [3]
    assert len(detect(three)) == 3, "what was dropped is asked for anew"


def test_what_goes_wrong_with_a_frame_that_was_begun_is_raised_when_it_is_asked_for() -> None:
    told = Told()
    detect, bad = TimedDetector(told, PATIENCE), frame(13)
    detect.begin(bad)
    with pytest.raises(ValueError, match="no luck"):
        detect(bad)
    detect.begin(bad)
    assert len(detect(frame(1))) == 1, "nobody asked for it"


def test_a_frame_that_was_begun_and_never_ends_is_late_when_it_is_waited_for() -> None:
    told = Told()
    told.go.clear()
    detect, three = TimedDetector(told, 0.3), frame(3)
    detect.begin(three)
    with pytest.raises(FailedClosed, match=r"did not answer within 0\.3 s on frame 3"):
        detect(three)
    detect.begin(frame(4))  # nothing is begun any more
    with pytest.raises(FailedClosed, match="hung before"):
        detect(frame(4))
    told.go.set()
    hangs = Told()
    hangs.go.clear()
    other = TimedDetector(hangs, 0.3)
    other.begin(three)
    other.forget()
    with pytest.raises(FailedClosed, match="hung before"):
        other(frame(4))
    hangs.go.set()
