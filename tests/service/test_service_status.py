"""Status lines, sums over restarts, quantiles, and pictures that are made from filtered frames only."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import cv2
import numpy as np
import pytest

from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import DeidentifiedFrame, Frame
from streamdeid.core.status import LATENCY_BOUNDS, LiveStatus
from streamdeid.errors import FailedClosed
from streamdeid.service.camera_report import RecentLatency, quantile
from streamdeid.service.preview import jpeg
from streamdeid.service.status_reporter import added, never_back, read_status, status_line
from streamdeid.service.wanted_pictures import INTERVAL, LASTING, PREVIEW, SNAPSHOT, WantedPictures
from tests.service.test_service_http import STATUS

BINS = len(LATENCY_BOUNDS) + 1


def _picture(width: int = 64, height: int = 48) -> DeidentifiedFrame:
    rgb = np.zeros((height, width, 3), np.uint8)
    rgb[:, : width // 2] = (200, 30, 30)
    return DeidentifiedFrame(planes_from_rgb(rgb), Fraction(0), 0)


def test_a_status_line_is_read_as_it_was_written() -> None:
    for status in (STATUS, LiveStatus(), replace(STATUS, people=None, reason="a \n line")):
        line = status_line(status)
        assert line.count(b"\n") == 1 and read_status(json.loads(line)["status"]) == status


@pytest.mark.parametrize(
    "change",
    [
        {"filtered": "3"},
        {"filtered": -1},
        {"filtered": True},
        {"state": 3},
        {"rate": float("nan")},
        {"cpu_seconds": float("inf")},
        {"source": None},
        {"sink": {"connected": True}},
        {"faces": {"own face": 1.5}},
        {"faces": []},
        {"latency": [0] * (BINS - 1)},
        {"latency": ["x"] * BINS},
        {"size": [1, "2"]},
        {"size": 3},
        {"more": 1},
    ],
)
def test_another_status_is_refused(change: dict[str, object]) -> None:
    table = json.loads(status_line(STATUS))["status"] | change
    with pytest.raises((ValueError, TypeError)):
        read_status(table)


def test_counters_add_up_and_the_rest_is_as_it_is_now() -> None:
    now = LiveStatus(state="starting", filtered=1, faces={"own face": 1}, cpu_seconds=0.5)
    total = added(STATUS, now)
    assert (total.filtered, total.cpu_seconds, total.state, total.rate) == (102, 13.0, "starting", 0.0)
    assert total.faces == {"posed face": 9, "own face": 201} and total.latency == STATUS.latency
    assert (total.source.frames, total.source.connected, total.sink.written) == (110, False, 100)
    assert added(LiveStatus(), STATUS) == STATUS
    assert never_back(STATUS, replace(STATUS, cpu_seconds=3.0)).cpu_seconds == 12.5


def test_quantiles_lie_where_the_bins_say() -> None:
    counts = [0] * BINS
    assert quantile(counts, 0.5) is None
    counts[3] = 10  # 75 to 100 ms
    assert quantile(counts, 0.5) == pytest.approx(0.0875)
    counts[-1] = 1000
    assert quantile(counts, 0.5) == LATENCY_BOUNDS[-1]


def test_only_the_last_minute_counts() -> None:
    recent = RecentLatency()
    assert recent.quantiles() is None
    slow = (0,) * (BINS - 2) + (100, 0)
    for second in range(0, 200):
        recent.add(float(second), (second, *slow[1:]) if second else (0,) * BINS)
    half, most = recent.quantiles() or (9.0, 9.0)
    assert half < 0.025 and most < 0.025


def test_a_picture_is_made_of_a_filtered_frame() -> None:
    image = cv2.imdecode(np.frombuffer(jpeg(_picture()), np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
    assert image.shape == (48, 64, 3)
    assert np.abs(image[20, 10].astype(int) - (200, 30, 30)).max() < 12 and image[20, 50].max() < 12
    assert cv2.imdecode(np.frombuffer(jpeg(_picture(65, 47), 32), np.uint8), 1).shape == (23, 32, 3)
    assert cv2.imdecode(np.frombuffer(jpeg(_picture(), 640), np.uint8), 1).shape == (48, 64, 3)


def test_no_picture_is_made_of_a_raw_frame() -> None:
    frame = Frame(_picture().planes, Fraction(0), 0)
    for raw in (frame, frame.planes, None):
        with pytest.raises(FailedClosed):
            jpeg(raw)  # type: ignore[arg-type]


def test_pictures_are_kept_while_they_are_wanted_and_not_too_many() -> None:
    now = [100.0]
    wanted, frame = WantedPictures(lambda: now[0]), _picture()
    wanted.offer(frame)
    assert wanted.take(0.0) is None
    wanted.ask(PREVIEW)
    seen = 0
    for _ in range(int(2 * LASTING * 100)):
        wanted.offer(frame)
        seen += wanted.take(0.0) is not None
        now[0] += 0.01
    assert seen == pytest.approx(LASTING / INTERVAL, abs=2)
    wanted.ask(SNAPSHOT)
    wanted.offer(frame)
    wanted.offer(frame)
    assert wanted.take(0.0) == (SNAPSHOT, frame) and wanted.take(0.0) is None
    with pytest.raises(ValueError):
        wanted.ask("original")
