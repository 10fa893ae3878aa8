"""When a camera's process is started again, and when it counts as stalled; no clock, no process."""

from __future__ import annotations

import pytest

from streamdeid.core.status import LiveStatus, SourceState
from streamdeid.errors import ExitCode
from streamdeid.service.restarts import BEGINNING, HEALTHY, LONGEST, PACE, STALL, Restarts

HERE, AWAY = SourceState(connected=True), SourceState(connected=False)


def _wait(restarts: Restarts, now: float) -> float:
    wait = restarts.wait(now)
    assert wait is not None
    return wait


def _dies_at_once(restarts: Restarts, now: float, times: int) -> tuple[float, list[float]]:
    """Start it and let it die as often; the time then, and the seconds between the starts."""
    gaps = []
    for _ in range(times):
        restarts.started(now)
        restarts.ended(now + 0.5, 1)
        gap = 0.5 + _wait(restarts, now + 0.5)
        gaps.append(gap)
        now += gap
    return now, gaps


def test_the_first_start_is_at_once() -> None:
    assert Restarts().wait(0.0) == 0.0


def test_restarts_are_ten_seconds_apart_then_twice_as_long_each_time_up_to_five_minutes() -> None:
    restarts = Restarts()
    _, gaps = _dies_at_once(restarts, 100.0, 12)
    assert gaps[:5] == [PACE] * 5
    assert gaps[5:] == [20.5, 40.5, 80.5, 160.5, LONGEST + 0.5, LONGEST + 0.5, LONGEST + 0.5]
    assert restarts.count == 11


def test_a_process_that_lived_is_started_again_at_once() -> None:
    restarts = Restarts()
    restarts.started(0.0)
    restarts.ended(500.0, 1)
    assert restarts.wait(500.0) == 0.0


def test_a_minute_of_health_forgets_what_was() -> None:
    restarts = Restarts()
    now, _ = _dies_at_once(restarts, 0.0, 8)
    restarts.started(now)
    for second in range(int(HEALTHY) + 2):
        restarts.seen(now + second, LiveStatus(filtered=second, source=HERE))
    now += HEALTHY + 2
    restarts.ended(now, 1)
    assert restarts.wait(now) == 0.0
    assert _dies_at_once(restarts, now, 1)[1] == [PACE]


@pytest.mark.parametrize("frames", ["none", "some"])
def test_less_than_a_minute_of_health_forgets_nothing(frames: str) -> None:
    restarts = Restarts()
    now, _ = _dies_at_once(restarts, 0.0, 8)
    restarts.started(now)
    for second in range(110):
        left = second % 50 if frames == "some" and second < 50 else 0
        restarts.seen(now + second, LiveStatus(filtered=left, source=HERE))
    restarts.ended(now + 110, 1)
    assert _wait(restarts, now + 110) > 100


def test_no_frame_for_twenty_seconds_is_a_stall() -> None:
    restarts = Restarts()
    restarts.started(0.0)
    restarts.seen(5.0, LiveStatus(filtered=1, source=HERE))
    for second in range(6, 25):
        restarts.seen(float(second), LiveStatus(filtered=1, source=HERE))
        assert restarts.stalled(float(second)) is None
    restarts.seen(25.0, LiveStatus(filtered=1, source=HERE))
    assert restarts.stalled(25.0) == "no frame left for 20 s"


@pytest.mark.parametrize("kind", ["repeated", "placeholders"])
def test_a_camera_that_is_away_is_no_reason_to_kill(kind: str) -> None:
    """Repeated frames and placeholders leave, or nothing can leave yet: the process is well."""
    restarts = Restarts()
    restarts.started(0.0)
    for second in range(400):
        count = max(0, second - 200)
        restarts.seen(float(second), LiveStatus(source=AWAY, **{kind: count}))
        assert restarts.stalled(second + 0.9) is None


def test_a_process_that_shows_nothing_although_its_camera_is_there_is_killed() -> None:
    restarts = Restarts()
    restarts.started(0.0)
    for second in range(1, int(BEGINNING)):
        restarts.seen(float(second), LiveStatus(source=HERE))
        assert restarts.stalled(float(second)) is None
    assert restarts.stalled(BEGINNING + 1) is not None


def test_silence_is_a_stall_later_while_models_load() -> None:
    restarts = Restarts()
    restarts.started(0.0)
    assert restarts.stalled(STALL + 1) is None
    assert restarts.stalled(BEGINNING) is not None
    restarts.seen(3.0, LiveStatus(filtered=1, source=HERE))
    assert restarts.stalled(3.0 + STALL - 0.1) is None
    assert restarts.stalled(3.0 + STALL) == "it said nothing for 20 s"


def test_wrong_settings_and_a_finished_file_wait_for_a_reload() -> None:
    for code, finished in ((ExitCode.SETTINGS, False), (ExitCode.DONE, True)):
        restarts = Restarts()
        restarts.started(0.0)
        restarts.ended(1.0, code, finished=finished)
        assert restarts.wait(1e6) is None
    restarts = Restarts()
    restarts.started(0.0)
    restarts.ended(1.0, ExitCode.DONE)
    assert restarts.wait(1e6) == 0.0
