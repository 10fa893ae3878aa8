"""What the deadline of a detector counts: time in which the process was run, not time in which it stood still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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

others = []
for _ in range(2):
    others.append(os.fork())
    if not others[-1]:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            pass
        os._exit(0)
os.nice(5)

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
    """A seventh of one here, and less beside other tests: a good recording of a folder was lost to a busy machine."""
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
