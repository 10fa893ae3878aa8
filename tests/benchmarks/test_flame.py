"""The flame picture: its boxes are what was called, and it names nothing that is not there."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.clips import encode
from benchmarks.cost.flame import FUNCTIONS, Flames, main, measured, svg
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Frame


class Clock:
    """One second more at each look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def target(name: str) -> Any:
    """What a name stands for."""
    module, _, path = name.partition(":")
    return functools.reduce(getattr, path.split("."), importlib.import_module(f"streamdeid.{module}"))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen pictures of a wall, five a second."""
    path = tmp_path_factory.mktemp("flame") / "wall.mp4"
    wall = planes_from_rgb(np.full((96, 128, 3), 90, np.uint8))
    encode((Frame(wall, Fraction(number, 5), number) for number in range(16)), path, Fraction(5))
    return path


def _flames() -> Flames:
    flames = Flames(Clock())
    inner = flames.timed("detection.inner:Inner.__call__", lambda: None)

    def outer() -> None:
        inner()
        inner()

    call = flames.timed("render.outer:outer", outer)
    call()  # before it counts
    flames.on = True
    call()
    return flames


def test_a_box_stands_below_its_caller_and_is_as_wide_as_what_it_takes() -> None:
    rows = list(_flames().root.rows(frames=1))
    assert rows == [
        (0, "a frame", 5000.0, 0.0),
        (1, "render.outer:outer", 5000.0, 1.0),
        (2, "detection.inner:Inner.__call__", 2000.0, 2.0),
    ]


def test_another_thread_stands_beside_the_rest() -> None:
    flames = Flames(Clock())
    flames.on = True
    alone = flames.timed("b:b", lambda: None)

    def elsewhere() -> None:
        thread = threading.Thread(target=alone)
        thread.start()
        thread.join()

    flames.timed("a:a", elsewhere)()
    assert set(flames.root.inner) == {"a:a", "b:b"} and not flames.root.inner["a:a"].inner


def test_a_call_that_raises_is_counted_and_leaves_its_box() -> None:
    flames = Flames(Clock())
    flames.on = True

    def fails() -> None:
        raise ValueError("no luck")

    with pytest.raises(ValueError, match="no luck"):
        flames.timed("a:a", fails)()
    flames.timed("b:b", lambda: None)()
    assert [row[1:3] for row in flames.root.rows(1)][1:] == [("a:a", 1000.0), ("b:b", 1000.0)]


def test_all_that_is_named_is_there_and_is_put_back() -> None:
    flames = Flames()
    before = {name: target(name) for name in FUNCTIONS}
    with contextlib.ExitStack() as patched:
        for one in list(flames.patches(FUNCTIONS)):
            patched.enter_context(one)
        assert all(target(name) != call for name, call in before.items())
    assert {name: target(name) for name in FUNCTIONS} == before
    for missing in ("core.luma_pyramid:nothing_of_the_kind", "tracking.cuts:Cuts.nothing_of_the_kind"):
        with pytest.raises(AttributeError):
            list(flames.patches([missing]))


def test_the_picture_is_one_and_tells_the_figures() -> None:
    picture = ElementTree.fromstring(svg(_flames().root, frames=2))
    titles = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
    widths = [float(box.get("width", 0)) for box in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert titles[2] == "detection.inner:Inner.__call__: 1000.00 ms and 1.00 calls for a frame"
    assert widths == [1199.5, 1199.5, pytest.approx(2 / 5 * 1200 - 0.5)]


def test_the_frames_asked_for_are_measured_each_once(clip: Path) -> None:
    root, frames = measured(clip, frames=5, skip=3)
    assert frames == 5
    calls = {name: count * frames for _, name, _, count in root.rows(frames)}
    once = ("decode", "detection.mediapipe_faces:MediapipeFaces.__call__", "video.files.sink:FileSink.write")
    assert [calls[name] for name in once] == [5, 5, 5]
    assert calls["protect.replace_faces:ReplaceFaces.render"] == 5


def test_a_clip_that_is_too_short_is_told(clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([str(clip), "--skip", "100000"])
    assert end.value.code == 2 and "too few frames" in capsys.readouterr().err
