"""A fixed area of the picture, as users name it: `x,y,w,h` in pixels or percent."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streamdeid.core.arrays import Box
from streamdeid.errors import SettingsError

_FARTHEST = 1e6
"""Pixels beyond which no picture reaches."""


@dataclass(frozen=True)
class Region:
    """A rectangle of the upright picture as it is stored, in pixels or in percent. Raises SettingsError where it is
    none."""

    x: float
    y: float
    width: float
    height: float
    percent: tuple[bool, bool, bool, bool] = (False, False, False, False)
    """Which of the four are percent of the picture's width (x, width) or height (y, height)."""

    def __post_init__(self) -> None:
        values = self.x, self.y, self.width, self.height
        if not all(math.isfinite(value) and abs(value) <= _FARTHEST for value in values):
            raise SettingsError(f"region {self} is no place in a picture")
        if self.width <= 0 or self.height <= 0:
            raise SettingsError(f"region {self} has no area: width and height must be above 0")

    def __str__(self) -> str:
        values = zip((self.x, self.y, self.width, self.height), self.percent, strict=True)
        return ",".join(f"{value:g}{'%' if relative else ''}" for value, relative in values)

    @property
    def scales(self) -> bool:
        """Whether the region is the same part of a picture of any size: all numbers are percent, or 0."""
        values = self.x, self.y, self.width, self.height
        return all(relative or value == 0 for value, relative in zip(values, self.percent, strict=True))

    def on(self, size: tuple[int, int]) -> Box:
        """The box of the region in pixels of a picture of size (width, height). Raises SettingsError when it lies
        outside."""
        values = self.x, self.y, self.width, self.height
        sides = (*size, *size)
        x, y, width, height = (
            value * side / 100 if relative else value
            for value, side, relative in zip(values, sides, self.percent, strict=True)
        )
        if x >= size[0] or y >= size[1] or x + width <= 0 or y + height <= 0:
            raise SettingsError(f"region {self} lies outside the picture, which is {size[0]} x {size[1]} pixels")
        return x, y, x + width, y + height


def read_region(text: str) -> Region:
    """The region that `x,y,w,h` stands for, each number in pixels or, with % behind it, in percent.

    Raises SettingsError.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 4:
        raise SettingsError(f"a region is x,y,width,height, not {text!r}")
    try:
        x, y, width, height = (float(part.removesuffix("%")) for part in parts)
    except ValueError:
        raise SettingsError(f"a region is four numbers x,y,width,height, not {text!r}") from None
    a, b, c, d = (part.endswith("%") for part in parts)
    return Region(x, y, width, height, (a, b, c, d))
