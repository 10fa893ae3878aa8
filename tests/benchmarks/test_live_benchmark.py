"""`live` holds a stream to the look-ahead that it was given, and no more."""

from __future__ import annotations

import pytest

from benchmarks.live.live import Outcome


def outcome(added: tuple[float, float, float], lookahead: float = 0.0, missing: int = 0) -> Outcome:
    return Outcome(
        minutes=1.0, sent=900, filtered=900, dropped=0, unsent=0, withheld=0, stood_in=0, missing=missing, start=2.0,
        camera=(1.0, 2.0, 3.0), added=added, cpu_filter=20.0, cpu_encoder=2.0, resident=400.0, covers={}, others=0.0,
        lookahead=lookahead,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("added", "lookahead", "missed"),
    [
        ((24.0, 33.0, 102.0), 0.0, []),
        ((160.0, 240.0, 900.0), 0.0, ["added latency 160 ms in the middle, more than 150"]),
        ((340.0, 352.0, 400.0), 0.3, []),
        ((340.0, 560.0, 600.0), 0.3, ["added latency 560 ms at 95 %, more than 550"]),
    ],
)
def test_what_is_added_beyond_the_look_ahead_is_held_to_the_bars(
    added: tuple[float, float, float], lookahead: float, missed: list[str]
) -> None:
    assert outcome(added, lookahead).problems == missed


def test_a_picture_that_is_missing_is_told() -> None:
    assert outcome((1.0, 2.0, 3.0), missing=1).problems[0].endswith("1 missing at the receiver")
