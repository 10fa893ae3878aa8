"""What every live output promises (`runs.leaving.ClosableOutput`), whatever it is: name yours in `OUTPUTS`.

How an output fails is its own: test that it raises OutputError, once, beside its other tests, as `test_live_sink` does.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.errors import FailedClosed, OutputError, SettingsError
from streamdeid.runs.leaving import ClosableOutput
from streamdeid.video.live.sink import LiveSink
from tests.patience import PATIENCE, eventually

OUTPUTS: dict[str, Callable[[Path], ClosableOutput]] = {
    "Matroska file": lambda folder: LiveSink(str(folder / "a.mkv"), open_timeout=PATIENCE),
    "MPEG-TS file": lambda folder: LiveSink(str(folder / "a.ts"), open_timeout=PATIENCE),
    "MP4 file": lambda folder: LiveSink(str(folder / "a.mp4"), open_timeout=PATIENCE),
    "HLS": lambda folder: LiveSink(str(folder / "a.m3u8"), open_timeout=PATIENCE),
}
"""Live outputs, by name; each makes one that writes into a folder."""


@pytest.fixture(params=OUTPUTS)
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ClosableOutput]:
    made = OUTPUTS[request.param](tmp_path)
    yield made
    with contextlib.suppress(OutputError):
        made.close()


def picture(index: int, size: tuple[int, int] = (64, 48)) -> DeidentifiedFrame:
    half = (size[1] + 1) // 2, (size[0] + 1) // 2
    luma, chroma = np.full(size[::-1], 40 + index, np.uint8), np.full(half, 120, np.uint8)
    return DeidentifiedFrame(Planes(luma, chroma, chroma.copy()), Fraction(index, 25), index)


def gone_on(output: ClosableOutput, written: int) -> None:
    """Wait until so many frames were sent: an output may leave frames out while it is slow."""
    eventually(lambda: output.state().written >= written)


def test_a_raw_frame_is_refused(output: ClosableOutput, tmp_path: Path) -> None:
    raw = Frame(picture(0).planes, Fraction(0), 0)
    with pytest.raises(FailedClosed):
        output.write(raw, 25.0)  # type: ignore[arg-type]
    output.close()
    assert output.state().written == 0 and not any(path.stat().st_size for path in tmp_path.iterdir())


def test_each_frame_counts_though_one_is_repeated(output: ClosableOutput, tmp_path: Path) -> None:
    for count, index in enumerate((0, 1, 1, 1, 2), start=1):
        output.write(picture(index), 25.0)
        gone_on(output, count)
    output.close()
    assert output.state().written == 5 and any(path.stat().st_size for path in tmp_path.iterdir())


def test_what_waits_is_sent_at_the_end_and_the_end_may_come_twice(output: ClosableOutput) -> None:
    output.write(picture(0), 25.0)
    gone_on(output, 1)  # it is open
    output.write(picture(1), 25.0)  # no more: an output may keep but one or two while it is slow
    output.close()
    state = output.state()
    output.close()
    assert output.state() == state
    assert state.written + state.unsent == 2, "sent, or told of as not sent in the time that the end has"


def test_the_delay_of_each_frame_is_told_once(output: ClosableOutput) -> None:
    begun = time.monotonic()
    for index in range(3):
        output.write(picture(index), 25.0, time.monotonic())
        gone_on(output, index + 1)
    output.write(picture(3), 25.0)  # a placeholder came from nowhere
    output.close()
    delays = output.take_latencies()
    assert len(delays) == 3 and all(0 <= delay <= time.monotonic() - begun for delay in delays)
    assert output.take_latencies() == []


def test_pictures_of_another_size_go_on(output: ClosableOutput) -> None:
    for count, size in enumerate(((64, 48), (80, 60), (64, 48)), start=1):
        output.write(picture(count, size), 25.0)
        gone_on(output, count)
    output.close()
    assert output.state().written == 3


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_is_there_already_is_refused_and_kept(name: str, tmp_path: Path) -> None:
    first = OUTPUTS[name](tmp_path)
    first.write(picture(0), 25.0)
    gone_on(first, 1)
    first.close()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert before
    with pytest.raises((SettingsError, OutputError)):
        OUTPUTS[name](tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
