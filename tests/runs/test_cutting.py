"""Where a recording is cut: at key frames, all of it, whatever its times are."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.runs.segments.cutting import cut_up


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 3000), min_size=1, max_size=400),
    st.data(),
    st.integers(0, 30),
    st.floats(1, 60),
)
def test_segments_are_all_of_it(steps: list[int], data: st.DataObject, lookahead: int, length: float) -> None:
    times = [Fraction(sum(steps[: n + 1]), 1000) for n in range(len(steps))]
    keys = sorted({0, *data.draw(st.lists(st.integers(0, len(times) - 1), max_size=20))})
    spans = cut_up(times, keys, lookahead, length)
    assert [one.number for one in spans] == list(range(len(spans)))
    assert [n for one in spans for n in range(one.first, one.last + 1)] == list(range(len(times)))
    for one in spans:
        assert one.first in keys and one.begin <= one.first <= one.last <= one.end < len(times)
        assert one.times == tuple(times[one.begin : one.end + 1])
        assert one.begin == 0 or times[one.first] - times[one.begin - 1] > 3, "three seconds to warm up"
        assert one.end >= min(one.last + lookahead, len(times) - 1)
    for one in spans[1:]:
        assert times[one.first] - times[spans[one.number - 1].first] >= length


def test_an_hour() -> None:
    times = [Fraction(n, 25) for n in range(90_000)]
    spans = cut_up(times, range(0, 90_000, 250), 25)
    assert len(spans) == 30 and {one.last - one.first + 1 for one in spans} == {3000}
    studied = sum(len(one.times) for one in spans)
    assert studied < 1.04 * len(times)
