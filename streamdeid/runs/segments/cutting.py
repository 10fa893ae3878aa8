"""Cuts a recording into segments. The cuts depend on the recording alone, so the workers do not change the output."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

_LENGTH = 120
"""Approximate seconds from cut to cut. At each joint 4 s, which is 3 %, are studied twice. A recording of twenty
minutes keeps eight processes busy."""
_WARM = 3
"""Seconds before a segment that are studied with it. When the segment begins, every part of the picture has been
searched for small faces three times, tracks are confirmed, and a face at rest is known."""
_AFTER = 0.5
"""Seconds beyond the look-ahead that are studied after a segment, for tracks that begin there."""


@dataclass(frozen=True)
class SegmentSpan:
    """A segment, frames `first` to `last`, both included, with the frames around it that are studied with it."""

    number: int
    first: int
    last: int
    begin: int
    end: int
    """`begin` and `end`: the first and the last frame that is studied."""
    times: tuple[Fraction, ...]
    """Presentation times in seconds of the frames `begin` to `end`."""


def cut_up(
    times: Sequence[Fraction], keys: Sequence[int], lookahead: int, length: float = _LENGTH
) -> list[SegmentSpan]:
    """The segments of a recording, in order.

    times: of all frames, seconds. keys: numbers of frames at which decoding can begin; a segment begins with one.
    lookahead: frames. length: seconds.
    """
    starts = [0]
    for key in keys:
        far = times[key] - times[starts[-1]] >= length
        if far and times[-1] - times[key] >= length / 2:  # the last segment is at least half as long as the others
            starts.append(key)
    ends = [*(start - 1 for start in starts[1:]), len(times) - 1]
    spans = []
    for number, (first, last) in enumerate(zip(starts, ends, strict=True)):
        begin = bisect_left(times, times[first] - _WARM)
        end = min(bisect_left(times, times[last] + Fraction(_AFTER)) + lookahead, len(times) - 1)
        spans.append(SegmentSpan(number, first, last, begin, end, tuple(times[begin : end + 1])))
    return spans
