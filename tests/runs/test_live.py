"""The live loop: what is filtered leaves, what cannot be is withheld, and nothing of a scene outlives it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from streamdeid.core.frames import Frame
from streamdeid.core.status import LATENCY_BOUNDS, Arrival, LiveStatus
from streamdeid.errors import FailedClosed, InputError, ModelError, OutputError
from streamdeid.runs import live as live_module
from streamdeid.runs.live import LiveFilter
from streamdeid.runs.step import Step
from tests.live_fakes import FakeCamera, FakeParts, FakeReceiver
from tests.patience import PATIENCE


class Run:
    """A live filter with fakes around it; `go` runs it to the end of what the camera has."""

    def __init__(
        self, fails: Callable[[Frame], None] = lambda frame: None, lookahead: float = 0.0, waits: bool = False
    ) -> None:
        self.camera, self.receiver, self.parts = FakeCamera(ends=True), FakeReceiver(), FakeParts(fails)
        self.filter = LiveFilter(
            self.camera, self.receiver, self.parts, lookahead=lookahead, turns=lambda stop: nullcontext(waits)
        )

    def go(self) -> LiveStatus:
        self.filter.run(threading.Event())
        return self.filter.status()

    @property
    def left(self) -> list[int]:
        """Grey levels of what left."""
        return [int(frame.planes.y[0, 0]) for frame in self.receiver.frames]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Run]]:
    monkeypatch.setattr(live_module, "_PAUSE", 0.01)
    runs: list[Run] = []

    def new(*args: object, **named: object) -> Run:
        runs.append(Run(*args, **named))  # type: ignore[arg-type]
        return runs[-1]

    yield new
    for run in runs:
        run.filter.close()
        assert run.camera.closed == run.receiver.closed == 1


def test_every_frame_is_filtered_and_leaves(make: Callable[..., Run]) -> None:
    run = make()
    for value in range(5):
        run.camera.give(value)
    status = run.go()
    assert run.left == [0, 1, 2, 3, 4] and status.filtered == 5 and status.withheld == 0
    assert status.state == "live" and status.reason is None and status.size == (64, 48)
    assert sum(status.latency) == 5 and len(status.latency) == len(LATENCY_BOUNDS) + 1
    assert len(run.parts.built) == 1 and status.rate == 1.0


def test_a_frame_in_doubt_never_leaves_and_the_parts_begin_anew(make: Callable[..., Run]) -> None:
    def fails(frame: Frame) -> None:
        if frame.index == 2:
            raise FailedClosed("the detector is in doubt")

    run = make(fails)
    for value in range(5):
        run.camera.give(value)
    status = run.go()
    assert run.left == [0, 1, 3, 4] and status.withheld == 1 and status.filtered == 4
    (_, first), (_, second) = run.parts.built
    assert first is None and second is not None  # the people are handed on
    assert run.parts.doubted == [False, True]


@pytest.mark.parametrize("error", [MemoryError(), ValueError("x"), KeyError(1)])
def test_any_failure_withholds(make: Callable[..., Run], error: Exception) -> None:
    def fails(frame: Frame) -> None:
        if frame.index == 1:
            raise error

    run = make(fails)
    for value in range(3):
        run.camera.give(value)
    assert run.go().withheld == 1 and run.left == [0, 2]


def test_parts_that_could_not_be_built_are_in_doubt_until_they_are(make: Callable[..., Run]) -> None:
    run, told = make(), []

    def parts(*given: Any, doubted: bool) -> Any:
        told.append(doubted)
        if len(told) == 2:
            raise FailedClosed("the self-test failed")
        return run.parts(*given, doubted=doubted)

    run.filter._parts = parts
    for connection in (1, 2, 2, 2, 3):
        run.camera.give(connection, connection=connection)
    assert run.go().withheld == 1 and run.left == [1, 2, 2, 3] and told == [False, False, True, False]


def test_a_filter_that_fails_from_the_start_ends_the_run(make: Callable[..., Run]) -> None:
    for error in (FailedClosed("the self-test failed"), ModelError("damaged")):
        run = make()
        run.parts.error = error
        run.camera.give()
        with pytest.raises(type(error), match=str(error)):
            run.go()
        assert run.left == []


def test_a_minute_of_doubt_ends_the_run(make: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "_HOPELESS", 0.05)

    def fails(frame: Frame) -> None:
        if frame.index > 0:
            raise FailedClosed("doubt")

    run = make(fails)
    for value in range(100):
        run.camera.give(value)
    with pytest.raises(FailedClosed, match="no frame could be filtered"):
        run.go()
    assert run.left == [0]


def test_a_new_connection_a_new_size_and_a_new_colour_begin_anew(make: Callable[..., Run]) -> None:
    run = make()
    run.camera.give()
    run.camera.give()
    run.camera.give(connection=2)
    run.camera.give(connection=2, size=(32, 24))
    status = run.go()
    assert [size for size, _ in run.parts.built] == [(64, 48), (64, 48), (32, 24)]
    assert [earlier is None for _, earlier in run.parts.built] == [True, False, False]
    assert run.parts.doubted == [False, False, False]
    assert status.filtered == 4 and status.size == (32, 24)


def test_a_look_ahead_delays_and_is_dropped_unfiltered_at_a_loss(make: Callable[..., Run]) -> None:
    run = make(lookahead=0.08)  # two frames at 25 per second
    for value in range(4):
        run.camera.give(value)
    run.camera.give(9, connection=2)
    status = run.go()
    assert run.left == [0, 1, 9] and status.source.dropped == 2 and status.filtered == 3


def test_errors_of_both_ends_are_raised(make: Callable[..., Run]) -> None:
    run = make()
    run.camera.error = InputError("the camera refuses")
    with pytest.raises(InputError):
        run.go()
    run = make()
    run.camera.give()
    run.receiver.error = OutputError("the disk is full")
    with pytest.raises(OutputError, match="disk"):
        run.go()


def test_a_dead_camera_and_a_dead_receiver_are_closed_at_the_same_time(
    make: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make()

    def slowly(close: Callable[[], None]) -> Callable[[], None]:
        def closed() -> None:
            time.sleep(0.5)
            close()

        return closed

    for each in (run.camera, run.receiver):
        monkeypatch.setattr(each, "close", slowly(each.close))
    begun = time.monotonic()
    run.filter.close()
    assert time.monotonic() - begun < 0.9


def test_stop_ends_it(make: Callable[..., Run]) -> None:
    run = make()
    run.camera.ends = False
    stop = threading.Event()
    thread = threading.Thread(target=run.filter.run, args=(stop,))
    thread.start()
    assert thread.is_alive()
    stop.set()
    thread.join(PATIENCE)
    assert not thread.is_alive() and run.filter.status().state == "starting"


def test_what_is_said_of_a_lost_camera_and_a_lost_receiver(make: Callable[..., Run]) -> None:
    run = make()
    run.camera.give()
    run.go()
    run.receiver.told = replace(run.receiver.told, connected=False, reason="connection refused")
    assert (run.filter.status().state, run.filter.status().reason) == ("degraded", "output: connection refused")
    run.receiver.told = replace(run.receiver.told, connected=True)
    assert run.filter.status().state == "live"
    run.camera.told = replace(run.camera.told, connected=False, reason="no answer in time")
    time.sleep(1.05)
    status = run.filter.status()
    assert (status.state, status.reason) == ("degraded", "camera: no answer in time")
    assert status.frame_age is not None and status.frame_age > 1 and status.repeated > 0
    run.filter.close()
    assert run.filter.status().state == "ended"


def test_whoever_watches_sees_what_leaves(make: Callable[..., Run]) -> None:
    run = make()
    seen: list[int] = []
    run.filter.watch = lambda frame: seen.append(frame.index)
    run.camera.give()
    run.camera.give()
    run.go()
    assert seen == [0, 1]


def test_a_picture_that_a_stall_made_old_does_not_leave(
    make: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "_OLDEST", 0.5)

    def fails(frame: Frame) -> None:
        if frame.index == 1:  # a detector that answers late, but in time
            time.sleep(0.8)

    run = make(fails)
    run.camera.give(0)
    run.camera.give(1)
    run.camera.ends = False
    stop = threading.Event()
    thread = threading.Thread(target=run.filter.run, args=(stop,))
    thread.start()
    time.sleep(1.3)
    reason = run.filter.status().reason
    run.camera.give(2)
    time.sleep(0.1)
    stop.set()
    thread.join()
    fresh = list(dict.fromkeys(run.left))
    assert fresh == [0, 2] and run.filter.status().withheld == 1
    assert reason is not None and "old" in reason


def test_what_a_look_ahead_held_over_a_stall_does_not_leave(
    make: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "_OLDEST", 0.5)
    run = make(lookahead=0.08)
    for value in range(3):
        run.camera.give(value)
    run.camera.waiting[1] = replace(run.camera.waiting[1], arrived=time.monotonic() - 1.0)
    status = run.go()
    assert run.left == [0, 2] and status.withheld == 1 and status.filtered == 2


def test_a_camera_that_sends_less_than_it_says_is_not_later_than_the_look_ahead(make: Callable[..., Run]) -> None:
    run = make(lookahead=0.2)  # five frames by its word
    run.camera.ends = False
    stop = threading.Event()
    thread = threading.Thread(target=run.filter.run, args=(stop,))
    thread.start()
    for value in range(5):
        run.camera.give(value)
        time.sleep(0.15)
    left = list(run.left)
    stop.set()
    thread.join()
    assert left[:1] == [0] and 2 in left


def test_who_waited_for_a_turn_takes_the_newest_picture(make: Callable[..., Run]) -> None:
    run = make(waits=True)
    for value in range(5):
        run.camera.give(value)
    status = run.go()
    assert run.left == [4] and status.source.dropped == 4 and status.withheld == 0


def test_a_picture_that_is_too_old_is_settled_and_not_rendered(
    make: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("decide", "render"):
        own = getattr(Step, name)
        monkeypatch.setattr(Step, name, lambda step, own=own, name=name: (calls.append(name), own(step))[1])
    run = make()
    run.camera.give(0)
    run.camera.give(1)
    run.camera.waiting[0] = replace(run.camera.waiting[0], arrived=time.monotonic() - 60.0)
    status = run.go()
    assert calls == ["decide", "render", "decide"] and run.left == [1] and status.withheld == 1


def test_after_pictures_were_left_out_few_get_a_new_face(make: Callable[..., Run]) -> None:
    run = make()
    arrivals: list[Arrival] = []
    for _ in range(300):  # 25 a second
        run.camera.give()
        arrivals.append(run.camera.waiting.pop())

    def room(index: int, dropped: int, connection: int = 1) -> int:
        run.camera.told = replace(run.camera.told, dropped=dropped)
        return run.filter._room(replace(arrivals[index], connection=connection))

    assert room(0, 0) == sys.maxsize, "the first"
    assert room(1, 0) == sys.maxsize
    assert room(40, 0) == sys.maxsize, "a camera that sends few pictures is not behind"
    assert room(43, 2) == 4, "somewhat behind"
    assert [room(43 + 30 * turn, 2 + 30 * turn) for turn in range(1, 6)] == [0, 0, 0, 0, 1], "far behind, not for ever"
    assert room(194, 152) == sys.maxsize, "not behind"
    assert room(214, 171) == 1, "more than half a second"
    assert room(250, 206) == 0
    assert room(299, 260, connection=2) == sys.maxsize, "another stream"


def test_time_without_a_camera_is_no_doubt(make: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "_HOPELESS", 0.2)

    def fails(frame: Frame) -> None:
        if frame.index in (1, 2):
            time.sleep(0.3 if frame.index == 2 else 0.0)  # the camera was away
            raise FailedClosed("doubt")

    run = make(fails)
    run.camera.give(0)
    run.camera.give(1)
    run.camera.give(2, connection=2)
    run.camera.give(3, connection=2)
    assert run.go().withheld == 2 and run.left[-1] == 3
