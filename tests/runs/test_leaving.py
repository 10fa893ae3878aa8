"""At every moment a fresh frame, the last one for two seconds at most, or a placeholder leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.core.frames import Colour, DeidentifiedFrame, Frame
from streamdeid.errors import FailedClosed, OutputError
from streamdeid.protect.placeholders import again, placeholder
from streamdeid.runs.leaving import Leaving
from tests.live_fakes import FakeReceiver, planes


def frame(value: int, seconds: float = 0.0) -> DeidentifiedFrame:
    return DeidentifiedFrame(planes(value), Fraction(seconds), 0)


@pytest.fixture
def leaving() -> Iterator[Callable[..., tuple[Leaving, FakeReceiver]]]:
    made: list[Leaving] = []

    def make(reason: str = "the camera is lost", **named: float) -> tuple[Leaving, FakeReceiver]:
        receiver = FakeReceiver()
        named.setdefault("repeat", 0.8)
        made.append(Leaving(receiver, lambda: reason, **named))  # type: ignore[arg-type]
        return made[-1], receiver

    yield make
    for one in made:
        one.close()


def is_slate(one: DeidentifiedFrame) -> bool:
    return bool((one.planes.u == 128).all() and int(np.median(one.planes.y)) == 40)


def test_fresh_then_repeated_then_a_slate_and_fresh_again(
    leaving: Callable[..., tuple[Leaving, FakeReceiver]],
) -> None:
    one, receiver = leaving()
    begun = time.monotonic()
    one.fresh(frame(200), 25.0, begun)
    time.sleep(1.6)
    one.fresh(frame(90, 1.6), 25.0, time.monotonic())
    first, *stood_in, last = receiver.frames
    kinds = [is_slate(each) for each in stood_in]
    assert first.planes.y[0, 0] == 200 and last.planes.y[0, 0] == 90
    assert kinds == sorted(kinds) and {False, True} <= set(kinds)  # repeats, then placeholders
    ages = [at - begun for at, kind in zip(receiver.at[1:], kinds, strict=False) if not kind]
    assert max(ages) <= 0.8 + 0.05 and min(ages) >= 0.3
    assert min(at - begun for at, kind in zip(receiver.at[1:], kinds, strict=False) if kind) < 1.3
    times = [each.time for each in receiver.frames]
    assert times == sorted(times) and len(set(times)) == len(times)
    assert (one.repeated, one.placeholders) == (kinds.count(False), kinds.count(True))


def test_no_repeats_where_none_are_wanted(leaving: Callable[..., tuple[Leaving, FakeReceiver]]) -> None:
    one, receiver = leaving(repeat=0.0)
    one.fresh(frame(200), 25.0, time.monotonic())
    time.sleep(0.7)
    assert one.repeated == 0 and one.placeholders > 0 and all(map(is_slate, receiver.frames[1:]))


def test_nothing_leaves_before_the_first_frame_unless_asked(
    leaving: Callable[..., tuple[Leaving, FakeReceiver]],
) -> None:
    _, quiet = leaving(repeat=0.2)
    _, early = leaving(repeat=0.2, early=True)
    time.sleep(0.8)
    assert quiet.frames == [] and early.frames and all(map(is_slate, early.frames))
    assert early.frames[0].planes.size == (640, 480)


def test_a_raw_frame_is_refused(leaving: Callable[..., tuple[Leaving, FakeReceiver]]) -> None:
    one, receiver = leaving()
    with pytest.raises(FailedClosed, match="only de-identified"):
        one.fresh(Frame(planes(1), Fraction(0), 0), 25.0, 0.0)  # type: ignore[arg-type]
    assert receiver.frames == []


def test_what_the_output_raises_in_the_thread_is_raised_later(
    leaving: Callable[..., tuple[Leaving, FakeReceiver]],
) -> None:
    one, receiver = leaving()
    one.fresh(frame(1), 25.0, time.monotonic())
    receiver.error = OutputError("gone")
    time.sleep(0.7)
    with pytest.raises(OutputError, match="gone"):
        one.check()


@pytest.mark.parametrize("size", [(2, 2), (33, 17), (161, 121), (640, 480), (1920, 1080)])
def test_a_slate_says_why_and_fits_any_picture(size: tuple[int, int]) -> None:
    long = "the camera is lost: no answer in time, and much more that nobody would read anyway"
    one = placeholder(size, "NO PICTURE", [long, "since 12:00:00 UTC"], Fraction(3), 7, Colour("bt709", True))
    assert one.planes.size == size and one.planes.colour == Colour("bt709", True)
    assert (one.time, one.index, one.redactions) == (Fraction(3), 7, ())
    if size[0] > 100:
        assert one.planes.y.max() > 120 and (one.planes.y[:, :2] == 40).all() and (one.planes.y[:, -2:] == 40).all()
        other = placeholder(size, "NO PICTURE", ["another reason"], Fraction(3), 7)
        assert (other.planes.y != one.planes.y).any()


def test_a_slate_knows_nothing_of_the_scene_and_draws_any_text() -> None:
    one = placeholder((320, 240), "KEIN BILD", ["Grüße \n\x00 日本"], Fraction(0), 0)
    assert (one.planes.u == 128).all() and (one.planes.v == 128).all()
    with pytest.raises(ValueError, match="holds nothing"):
        placeholder((1, 5), "", [], Fraction(0), 0)


def test_a_repeated_frame_is_the_same_but_for_its_time() -> None:
    one = frame(5)
    other = again(one, Fraction(9))
    assert other.planes is one.planes and other.time == 9 and other.index == one.index


def test_time_goes_on_from_early_slates_to_the_first_frame(
    leaving: Callable[..., tuple[Leaving, FakeReceiver]],
) -> None:
    one, receiver = leaving(repeat=0.1, early=True)
    time.sleep(0.9)
    before = len(receiver.frames)
    for index in range(3):  # a stream's own time begins at 0
        one.fresh(frame(200, index / 25), 25.0, time.monotonic())
    times = [each.time for each in receiver.frames]
    assert before > 1 and times == sorted(times)
    assert float(times[before] - times[before - 1]) < 0.4 and float(times[-1] - times[before]) == pytest.approx(0.08)


def test_a_slow_camera_is_no_excuse_for_an_old_picture(leaving: Callable[..., tuple[Leaving, FakeReceiver]]) -> None:
    one, receiver = leaving(repeat=0.8)
    one.fresh(frame(200), 1.0, time.monotonic())  # three intervals of it are three seconds
    time.sleep(1.2)
    assert one.placeholders > 0 and is_slate(receiver.frames[-1])
