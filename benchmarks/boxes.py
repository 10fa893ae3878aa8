"""What several benchmarks ask of boxes (x0, y0, x1, y1) in pixels."""

from __future__ import annotations

from streamdeid.core.arrays import Box


def touch(a: Box, b: Box) -> bool:
    """Whether two boxes share a point."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def middle(box: Box) -> Box:
    """The middle half of a box, in each direction."""
    dx, dy = (box[2] - box[0]) / 4, (box[3] - box[1]) / 4
    return box[0] + dx, box[1] + dy, box[2] - dx, box[3] - dy
