"""Fewer and smaller pictures before the filter: evenly, in proportion, and nothing else of them changed."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from streamdeid.core.frames import Colour, Planes
from streamdeid.video.live import source as live_source
from streamdeid.video.live.fewer import Fewer, smaller
from streamdeid.video.live.source import Handed, LiveSource
from tests.synthetic_video import encode


def taken(most: float | None, rate: float, times: list[Fraction]) -> list[Fraction]:
    fewer = Fewer(most)
    return [time for time in times if fewer.take(time, rate)]


@pytest.mark.parametrize(("rate", "most"), [(25, 15), (30, 15), (50, 15), (24, 10), (60, 1), (16, 15)])
def test_no_more_than_asked_and_evenly(rate: int, most: int) -> None:
    times = [Fraction(number, rate) for number in range(rate * 20)]
    found = taken(most, rate, times)
    assert abs(len(found) - 20 * most) <= 1
    gaps = [later - sooner for sooner, later in pairwise(found)]
    assert max(gaps) <= Fraction(1, most) + Fraction(1, rate) and min(gaps) >= Fraction(1, most) - Fraction(1, rate)


@pytest.mark.parametrize("rate", [5, 15])
def test_a_camera_that_sends_no_more_loses_nothing_however_its_times_tremble(rate: int) -> None:
    chance = np.random.default_rng(rate)
    trembling = [Fraction(number + float(chance.uniform(-0.2, 0.2))) / rate for number in range(400)]
    assert taken(15, rate, trembling) == trembling


def test_after_a_pause_it_goes_on_at_the_pace_instead_of_catching_up() -> None:
    times = [Fraction(number, 30) for number in range(30)] + [100 + Fraction(number, 30) for number in range(30)]
    assert len([time for time in taken(15, 30, times) if time >= 100]) <= 16


def test_nothing_asked_takes_all() -> None:
    times = [Fraction(number, 200) for number in range(50)]
    assert taken(None, 200, times) == times


def _planes(width: int, height: int) -> Planes:
    y = np.tile(np.linspace(20, 230, width).astype(np.uint8), (height, 1))
    half = ((height + 1) // 2, (width + 1) // 2)
    return Planes(y, np.full(half, 90, np.uint8), np.full(half, 170, np.uint8), Colour("bt709", full_range=True))


@pytest.mark.parametrize(
    ("size", "lines", "wanted"),
    [((1920, 1080), 480, (854, 480)), ((1080, 1920), 480, (480, 854)), ((641, 481), 480, (640, 480))],
)
def test_smaller_keeps_proportion_tone_and_colour(size: tuple[int, int], lines: int, wanted: tuple[int, int]) -> None:
    planes = _planes(*size)
    found = smaller(planes, lines)
    assert found.size == wanted and found.colour == planes.colour
    assert found.u.shape == (wanted[1] // 2, wanted[0] // 2) == found.v.shape
    assert found.y[0, 0] == pytest.approx(20, abs=2) and found.y[-1, -1] == pytest.approx(230, abs=2)
    assert np.ptp(found.u) == 0 and found.u[0, 0] == 90 and found.v[0, 0] == 170


def test_what_is_small_enough_is_left_alone() -> None:
    planes = _planes(640, 480)
    assert smaller(planes, 480) is planes and smaller(planes, None) is planes


def test_a_source_hands_out_fewer_and_smaller_pictures_and_counts_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_source, "_QUEUE", 1000)  # on a busy machine two would not do
    clip = encode(tmp_path / "clip.mp4", frames=50, size=(320, 240), options={"g": "12"})
    source = LiveSource(str(clip), realtime=True, handed=Handed(10.0, 120))
    source.start()
    found = []
    while not source.ended:
        arrival = source.take(0.2)
        found += [] if arrival is None else [arrival]
    state = source.state()
    source.close()
    assert {one.frame.planes.size for one in found} == {(160, 120)} and {one.rate for one in found} == {10.0}
    assert state.frames == 50 and state.dropped == 0 and state.spared == 50 - len(found)
    assert abs(len(found) - 20) <= 1
    numbers = [one.frame.index for one in found]
    assert numbers == sorted(set(numbers))
