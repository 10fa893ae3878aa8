"""A reader that cannot keep up is told from a camera with a strange clock."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from streamdeid.video.live.decode_lag import DecodeLag


def _late_after(decoding: float, waiting: float, stamp: Callable[[float], float | None], seconds: float = 60) -> float:
    """Seconds until a picture is called late, each of which takes so long to wait for and to decode; inf: none is."""
    now = 100.0
    lag = DecodeLag(now)
    while now < 100 + seconds:
        begun, now = now, now + waiting
        lag.read(begun, now)
        told = stamp(now - 100)
        if lag.late(None if told is None else Fraction(told), now):
            return now - 100
        now += decoding
    return float("inf")


def test_slow_decoding_is_noticed_soon_after_two_seconds_are_lost() -> None:
    after = _late_after(0.06, 0.0005, lambda now: now * 0.66)  # 25 per second come, 16 are decoded
    assert 2 / 0.34 <= after < 2 / 0.34 + 3


@pytest.mark.parametrize(
    "stamp",
    [
        lambda now: now,
        lambda now: now * 0.5,  # a slow clock
        lambda now: 7.0,  # one that stands still
        lambda now: now + (3600 if 10 < now < 20 else 0),  # jumps there and back
        lambda now: -now,
        lambda now: None,
    ],
)
def test_who_keeps_up_is_never_accused(stamp: Callable[[float], float | None]) -> None:
    assert _late_after(0.01, 0.03, stamp) == float("inf")


def test_a_burst_of_old_pictures_at_the_start_is_no_backlog() -> None:
    def stamp(now: float) -> float:
        return min(2 * now, now + 3)  # three seconds behind, caught up at double speed

    assert _late_after(0.02, 0.0, stamp) == float("inf")
