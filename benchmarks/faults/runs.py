"""Runs of `faults`: a clip sent through the command line or the library with a fault, and what was left behind."""

from __future__ import annotations

import contextlib
import importlib
import io
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from benchmarks.faults.clip import SIZE, Clip, TrueDetector, walk
from benchmarks.faults.injected import DEADLINE, Broken, Fault, Patch
from benchmarks.watermark import Watermark
from streamdeid import FailedClosed, Filter, Settings
from streamdeid.cli.main import main as command
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.core.protocols import Detector
from streamdeid.runs import parts, session
from streamdeid.surrogates.models import Models
from streamdeid.video.files.source import FileSource


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    code: int
    """Exit code; of the library 4 for FailedClosed."""
    pictures: list[NDArray[np.uint8]]
    """Luma of every picture that came out."""
    complaint: str
    problems: list[str]
    """What was wrong apart from pictures and code."""


def calibrate(models: Models, seed: int, controls: int = 6) -> tuple[float, float]:
    """Weakest correlation in an unfiltered face, and the strongest with one that is not there, over clips."""
    found, other = 1.0, 0.0
    for number in range(controls):
        clip = walk(models, seed + number, 20)
        for picture in through_command(clip, models, lambda _: Broken(_, lambda frame: True, _blind)).pictures:
            found = min(found, *(mark.strongest(picture) for mark in clip.watermarks))
            sizes = [mark.pattern.shape for mark in clip.watermarks]
            wrong = [Watermark.of((seed, number, 99), width, height) for height, width in sizes]
            other = max(other, *(mark.strongest(picture) for mark in wrong))
    return found, other


def _blind(faces: list[object], frame: object) -> list[object]:
    """Sees the self-test's face only."""
    return faces if getattr(frame, "planes").size != SIZE else []  # noqa: B009


def through_command(
    clip: Clip,
    models: Models,
    detector: Callable[[Detector], Detector] | None,
    fault: Fault = Fault("none", "no fault"),
    method: str = "blackout",
) -> Outcome:
    """Send a clip through the command line, with a fault."""
    truth = TrueDetector(clip, models.fitting)
    faulty = truth if detector is None else detector(truth)
    before = set(threading.enumerate())
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        given, result = Path(name) / "clip.mp4", Path(name) / "out.mp4"
        clip.write(given)
        if fault.damage is not None:
            given.write_bytes(fault.damage(given.read_bytes()))
        for patch in fault.patches:
            stack.enter_context(_patched(patch))
        stack.enter_context(mock.patch.object(parts, "default_detector", return_value=faulty))
        stack.enter_context(mock.patch.object(session, "load_models", return_value=models))
        said = stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        code = command(["filter", str(given), "-o", str(result), "--quiet", "--method", method, *fault.options])
        stack.pop_all().close()  # the parts are whole again before the result is read
        problems = []
        lines = said.getvalue().splitlines()
        if (len(lines) != 1 or not lines[0].startswith("streamdeid: ")) if code else lines:
            problems.append(f"{len(lines)} lines on stderr: {lines[:2]}")
        if result.exists() is not (code == 0):
            problems.append(f"{'an' if result.exists() else 'no'} output file although the code is {code}")
        left = sorted(path.name for path in Path(name).iterdir() if path not in (given, result))
        if left:
            problems.append(f"left behind: {left}")
        problems += _threads_left(fault, before)
        pictures = [frame.planes.y for frame in FileSource(result)] if result.exists() else []
    return Outcome(code, pictures, "; ".join(lines), problems)


def through_library(clip: Clip, models: Models, fault: Fault, method: str) -> Outcome:
    """Send a clip through `Filter`, with a fault of the detector or the fit."""
    truth = TrueDetector(clip, models.fitting)
    detect = truth if fault.detector is None else fault.detector(truth)
    before = set(threading.enumerate())
    settings = Settings(method=method, detector_deadline=DEADLINE if fault.kind == "hangs" else 10.0)
    pictures: list[NDArray[np.uint8]] = []
    code, complaint = 0, ""
    with contextlib.ExitStack() as stack:
        for patch in fault.patches:
            stack.enter_context(_patched(patch))
        stack.enter_context(mock.patch("streamdeid.runs.session.load_models", return_value=models))
        try:
            with Filter(settings, detect=detect) as filtered:
                for frame in clip.frames():
                    given = rectangle_to_rgb(frame.planes, 0, 0, *SIZE)[:, :, ::-1]
                    pictures.append(_luma(filtered(np.ascontiguousarray(given), frame.time)))
        except FailedClosed as error:
            code, complaint = int(error.exit_code), str(error)
    return Outcome(code, pictures, complaint, _threads_left(fault, before))


def _luma(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    planes: Planes = planes_from_rgb(np.ascontiguousarray(picture[:, :, ::-1]))
    return planes.y


def _patched(patch: Patch) -> contextlib.AbstractContextManager[object]:
    *path, name = patch.name.split(".")
    holder = reduce(getattr, path, importlib.import_module(f"streamdeid.{patch.module}"))
    return mock.patch.object(holder, name, patch.replaced(getattr(holder, name)))


def _threads_left(fault: Fault, before: set[threading.Thread]) -> list[str]:
    """Threads of the run that are still there, but for that of a detector that hangs."""

    def left() -> list[str]:
        names = [thread.name for thread in set(threading.enumerate()) - before]
        return [name for name in names if not (fault.kind == "hangs" and name == "detector")]

    until = time.monotonic() + 2
    while left() and time.monotonic() < until:
        time.sleep(0.01)
    return [f"threads left behind: {left()}"] if left() else []
