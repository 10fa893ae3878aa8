"""Who is first seen just before a recording or a scene ends, or before a gap in it, is covered, too.

The detector looks at the whole picture every third frame only (`detection.tiles`): who comes and goes between two looks
is not found.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.runs.files import FileRun
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import SyntheticFrame, synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from streamdeid.video.files.source import FileSource
from tests.synthetic_video import encode

SIZE = (320, 240)
RATE = 25
FRAMES = 8
"""The whole picture is searched in the first, third and sixth of them: not in the last two, nor in the two between."""


@pytest.fixture(scope="module")
def drawn(fitting: FitModel, gallery: Gallery) -> list[SyntheticFrame]:
    """A drawn person who talks."""
    return list(synthetic_people(fitting, gallery, people=1, seconds=FRAMES / RATE, size=SIZE, rate=RATE))


def empty(like: Planes) -> Planes:
    """The same wall without anybody: the rows above the person, again and again."""
    y, u, v = (np.ascontiguousarray(np.repeat(p[:4], p.shape[0] // 4, axis=0)) for p in (like.y, like.u, like.v))
    return Planes(y, u, v, like.colour)


def uncovered(path: Path, output: Path, people: dict[int, SyntheticFrame]) -> list[int]:
    """Numbers of the frames with a person whose face's middle is not of one colour in the output."""
    before, after = ([frame.planes.y for frame in FileSource(one)] for one in (path, output))
    assert len(after) == len(before)
    open_to_see = []
    for number, one in people.items():
        x0, y0, x1, y1 = (round(side) for side in one.truths[0].box)
        across, down = (x1 - x0) // 4, (y1 - y0) // 4
        middle = slice(y0 + down, y1 - down), slice(x0 + across, x1 - across)
        assert np.ptp(before[number][middle]) > 60, "there is a face"
        if np.ptp(after[number][middle]) > 12:
            open_to_see.append(number)
    return open_to_see


def written(path: Path, drawn: Sequence[SyntheticFrame], shown: range, wall: Planes, then: Planes) -> None:
    """A clip of an empty wall, of the person in some of its frames, and after that of another picture."""
    pictures = [drawn[n].frame.planes if n in shown else wall if n < shown.start else then for n in range(FRAMES)]
    write_drawn_clip(path, pictures, RATE)


@pytest.mark.parametrize("decisions", ["look-ahead", "whole-file"])
@pytest.mark.parametrize("shown", [range(7, 8), range(6, 8)], ids=["last", "last two"])
def test_who_comes_at_the_end_is_covered(
    drawn: list[SyntheticFrame], tmp_path: Path, decisions: str, shown: range
) -> None:
    path, output = tmp_path / "in.mp4", tmp_path / "out.mp4"
    wall = empty(drawn[0].frame.planes)
    written(path, drawn, shown, wall, wall)
    report = FileRun(Settings(method="blackout", decisions=decisions)).filter(path, output)
    assert report.segments == (decisions == "whole-file")
    assert uncovered(path, output, {n: drawn[n] for n in shown}) == []


def test_who_comes_before_a_cut_is_covered(drawn: list[SyntheticFrame], tmp_path: Path) -> None:
    path, output, shown = tmp_path / "in.mp4", tmp_path / "out.mp4", range(3, 5)
    wall = empty(drawn[0].frame.planes)
    then = Planes(wall.y.copy(), wall.u, wall.v, wall.colour)
    then.y[:] = 30
    then.y[::40] = then.y[:, :60] = 220
    written(path, drawn, shown, wall, then)
    report = FileRun(Settings(method="blackout")).filter(path, output)
    assert report.scene_cuts == 1
    assert uncovered(path, output, {n: drawn[n] for n in shown}) == []


def test_who_comes_before_a_gap_is_covered(drawn: list[SyntheticFrame], tmp_path: Path) -> None:
    shown = range(3, 5)
    wall = empty(drawn[0].frame.planes)
    pictures = [rgb_of(drawn[n].frame.planes if n in shown else wall) for n in range(FRAMES)]
    times = [n if n < shown.stop else n + 30 for n in range(FRAMES)]
    options = {"crf": "17"}
    path = encode(tmp_path / "in.mp4", frames=FRAMES, size=SIZE, pts=times, pictures=pictures, options=options)
    output = tmp_path / "out.mp4"
    FileRun(Settings(method="blackout")).filter(path, output)
    assert uncovered(path, output, {n: drawn[n] for n in shown}) == []


def test_who_is_seen_between_two_jumps_is_covered(drawn: list[SyntheticFrame], tmp_path: Path) -> None:
    """In a recording that is damaged before and after: no cut, since what is there is not unlike enough."""
    path, output, number = tmp_path / "in.mp4", tmp_path / "out.mp4", 3
    pictures = []
    for one in drawn:
        planes = one.frame.planes
        dark = Planes((planes.y // 3).astype(np.uint8), planes.u, planes.v, planes.colour)
        x0, y0, x1, y1 = (round(side) for side in drawn[number].truths[0].box)
        dark.y[max(0, y0 - 40) : y1 + 20, max(0, x0 - 20) : x1 + 20] = 40
        pictures.append(dark)
    pictures[number] = drawn[number].frame.planes
    write_drawn_clip(path, pictures, RATE)
    report = FileRun(Settings(method="blackout")).filter(path, output)
    assert report.scene_cuts == 0
    assert uncovered(path, output, {number: drawn[number]}) == []


def rgb_of(planes: Planes) -> NDArray[np.uint8]:
    """The picture as RGB, uint8 (h, w, 3)."""
    return rectangle_to_rgb(planes, 0, 0, *planes.size)
