"""Frames: a picture with its exact time, raw or de-identified.

`Frame` is the picture of a camera; `DeidentifiedFrame` is the picture that may leave. They share no base class, so the
type checker refuses a raw frame wherever something is published. Only `streamdeid.protect` builds a `DeidentifiedFrame`
(tests/house/test_house.py proves it).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from streamdeid.core.arrays import Plane

MOST_PIXELS = 36.0
"""Most pixels of a picture, millions, where nothing else is set: 8K has 33.2 (7680 x 4320) or 35.4 (8192 x 4320)."""


@dataclass(frozen=True)
class Colour:
    """How YUV values stand for colours: the luma matrix and the range of a stream."""

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
    """The picture in which faces are searched for and replaced: its pixels are square, or nearly."""
    time: Fraction
    """Presentation time in seconds, exact."""
    index: int
    """Number of the frame in its stream, from 0."""
    stored: Planes | None = None
    """The picture as it is stored, where its pixels are not square and `planes` was made from it (`square_pixels`)."""
    aspect: Fraction | None = None
    """Width of a stored pixel by its height, as the stream gives it; None where it does not."""

    @property
    def as_stored(self) -> Planes:
        """The picture as it is stored."""
        return self.planes if self.stored is None else self.stored

    @cached_property
    def luma_levels(self) -> tuple[Plane, ...]:
        """`luma_pyramid` of the planes, which nobody changes; made when it is first used."""
        from streamdeid.core.luma_pyramid import luma_pyramid  # it needs OpenCV, which the encoder's process leaves out

        return luma_pyramid(self.planes.y)


@dataclass(frozen=True)
class Redaction:
    """One redacted place of a published frame."""

    track: int
    """Number of the track; 0 for a place that belongs to no track."""
    box: tuple[float, float, float, float]
    """x0, y0, x1, y1 in pixels of the picture that was filtered (`Frame.planes`): the redaction lies within."""
    level: str
    """Its protection level: `own face`, `posed face`, `soft redaction`, `solid`; `mask`, `region`."""
    person: int = 0
    """Number of the person whose surrogate is shown; 0 where no surrogate is shown."""


@dataclass(frozen=True)
class DeidentifiedFrame:
    """A picture that may leave: every face in it was redacted. Built by `streamdeid.protect` only."""

    planes: Planes
    """The picture, in the size in which it is stored."""
    time: Fraction
    index: int
    redactions: tuple[Redaction, ...] = ()
    """The redacted places, in the order of rendering."""
    aspect: Fraction | None = None
    """Pixel aspect of the stored picture, as in `Frame`."""
