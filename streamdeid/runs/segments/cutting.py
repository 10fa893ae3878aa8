"""Where a recording is cut. It depends on the recording alone, so what comes of it does not depend on the workers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

_LENGTH = 120
"""Seconds from cut to cut, about: what is studied twice at a joint is 4 of them, 3 %, and twenty minutes keep eight
processes busy."""
_WARM = 3
"""Seconds before a segment that are studied with it: by then every part of the picture was searched for small faces
three times, tracks are confirmed, and a face at rest is known."""
_AFTER = 0.5
"""Seconds beyond the look-ahead that are studied after a segment, for the track that begins there."""


@dataclass(frozen=True)
class SegmentSpan:
    """A segment: frames `first` to `last`, both included, and those around it that are looked at for its sake."""

    number: int
    first: int
    last: int
    begin: int
    end: int
    """First and last frame that is looked at."""
    times: tuple[Fraction, ...]
    """Presentation times, seconds, of the frames `begin` to `end`."""


def cut_up(
    times: Sequence[Fraction], keys: Sequence[int], lookahead: int, length: float = _LENGTH
) -> list[SegmentSpan]:
    """The segments of a recording, in order.

    times: of its frames, seconds. keys: numbers of the frames that decoding can begin at; a segment begins with one.
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
