"""Frames: a picture with its exact time, raw or de-identified.

`Frame` is what a camera saw; `DeidentifiedFrame` is what may leave. They share no base class, so the type
checker refuses a raw frame wherever something is published. Only `streamdeid.protect` builds the second
(tests/house/test_house.py proves it).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from streamdeid.core.arrays import Plane

MOST_PIXELS = 36.0
"""Millions of pixels that a picture may have where nothing else is said: 8K has 33.2 (7680 x 4320) or 35.4
(8192 x 4320)."""


@dataclass(frozen=True)
class Colour:
    """How YUV numbers mean colours: the luma matrix and the range of a stream."""

    matrix: str = "bt601"
    """`bt601` or `bt709`."""
    full_range: bool = False
    """True for 0-255 luma (JPEG range), False for 16-235."""


@dataclass(frozen=True)
class Planes:
    """An upright 8-bit 4:2:0 picture as three planes that own their memory.

    y: uint8 (height, width); u and v: uint8 (ceil(height / 2), ceil(width / 2)). Width and height may be odd.
    """

    y: Plane
    u: Plane
    v: Plane
    colour: Colour = Colour()

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return int(self.y.shape[1]), int(self.y.shape[0])

    def copy(self) -> Planes:
        """A picture that shares no memory with this one."""
        return Planes(self.y.copy(), self.u.copy(), self.v.copy(), self.colour)


@dataclass(frozen=True)
class Frame:
    """A decoded picture, upright (any display rotation is already applied), with its exact presentation time."""

    planes: Planes
    """What faces are searched for and replaced in: pixels are square, or nearly."""
    time: Fraction
    """Presentation time in seconds, exact."""
    index: int
    """Number of the frame in its stream, from 0."""
    stored: Planes | None = None
    """The picture as it is stored, where its pixels are not square and `planes` was made of it (`square_pixels`)."""
    aspect: Fraction | None = None
    """Width of a stored pixel by its height, by the stream's word; None where it says nothing."""

    @property
    def as_stored(self) -> Planes:
        """The picture as it is stored."""
        return self.planes if self.stored is None else self.stored

    @cached_property
    def luma_levels(self) -> tuple[Plane, ...]:
        """`luma_pyramid` of its planes, which nobody changes; made when it is first asked for."""
        from streamdeid.core.luma_pyramid import luma_pyramid  # it needs OpenCV, and the encoder's process does without

        return luma_pyramid(self.planes.y)


@dataclass(frozen=True)
class Redaction:
    """One covered place of a published frame."""

    track: int
    """Number of the track; 0 for a place that is no track's."""
    box: tuple[float, float, float, float]
    """x0, y0, x1, y1 in pixels of the picture that was filtered (`Frame.planes`): the cover lies in here."""
    level: str
    """Its protection level: `own face`, `posed face`, `soft redaction`, `solid`; `mask`, `region`."""
    person: int = 0
    """Number of the person whose surrogate is shown; 0 where nobody's is."""


@dataclass(frozen=True)
class DeidentifiedFrame:
    """A picture that may leave: every face in it was covered. Built by `streamdeid.protect` only."""

    planes: Planes
    """As large as the picture is stored."""
    time: Fraction
    index: int
    redactions: tuple[Redaction, ...] = ()
    """What was covered, in the order of drawing."""
    aspect: Fraction | None = None
    """As the frame's."""
