"""A process that filters one recording and says what came of it: a folder's recordings are filtered beside each other.

It is told what to do on standard input and answers with one line on standard output; both are pipes of the run that
started it. A process for each recording costs a start, a second; in return one that dies takes nothing with it.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from streamdeid.core.child_process import child_command, child_environment
from streamdeid.core.process_usage import be_frugal
from streamdeid.errors import ExitCode, StreamdeidError
from streamdeid.runs.files import FileRun
from streamdeid.settings import Settings

_PROGRAM = "streamdeid.runs.file_worker:answer"


class Ended(BaseException):
    """The run wants the process to end."""


Told = dict[str, Any]
"""What a process says of a recording: `report` and `choice`, or `error` and `exit_code`; JSON."""


def start(settings: Settings, input: Path, output: Path) -> subprocess.Popen[bytes]:
    """Start a process for a recording; it works at once, and its standard output ends with it. Raises OSError."""
    return start_work(partial(filter_here, settings, input, output))


def start_work(work: Callable[[], Told], place: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a process that does some work and says what came of it.

    Nothing of the work stands in its arguments. place: a directory to remove when the run that started it is gone and
    cannot do so. Raises OSError.
    """
    process = subprocess.Popen(
        child_command(_PROGRAM),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the run, which ends its processes itself
        env={**child_environment(), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    process.stdin.write(base64.b64encode(pickle.dumps((work, place))) + b"\n")
    process.stdin.flush()
    return process


def filter_here(settings: Settings, input: Path, output: Path, key: bytes | None = None) -> Told:
    """Filter one recording in this process; key: the key file's bytes, where the file itself is elsewhere.

    Raises InputError, SettingsError, ModelError, OutputError and FailedClosed.
    """
    with FileRun(settings, key) as run:
        report = run.filter(input, output)
        return {"report": asdict(report), "choice": None if run.choice is None else asdict(run.choice)}


def answer() -> NoReturn:
    """Do what standard input says, and answer; the program of the process."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    place: Path | None = None
    told: Told = {}
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)
        words = sys.stdin.buffer.readline()
        threading.Thread(target=_end_with_run, daemon=True).start()
        # Our own run made it a moment ago, of its own settings: nothing else writes to this pipe.
        work, place = pickle.loads(base64.b64decode(words))
        be_frugal()
        told = work()
    except Ended:
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)
        os._exit(128 + signal.SIGTERM)
    except StreamdeidError as error:
        told = {"error": str(error), "exit_code": int(error.exit_code)}
    except Exception as error:
        what = f"failed closed on an unexpected error ({type(error).__name__}: {error})"
        told = {"error": " ".join(what.split()), "exit_code": int(ExitCode.FAILED_CLOSED)}
    out.write(json.dumps(told, allow_nan=False) + "\n")
    out.flush()
    os._exit(0)  # a thread still waits for the run, and would be in the way of an orderly end


def _end(number: int, frame: object) -> None:
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)  # clearing up is not to be interrupted
    raise Ended


def _end_with_run() -> None:
    """When the run is gone, so is its end of the pipe."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
