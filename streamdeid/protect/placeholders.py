"""What a live run publishes without a fresh frame: the last filtered one again, or a placeholder (architecture.md 4).

A placeholder holds text on a flat ground and nothing else: it is made without any picture of the scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import cv2
import numpy as np

from streamdeid.core.frames import Colour, DeidentifiedFrame, Planes

_GROUND, _TITLE, _TEXT = 40, 220, 150
"""Grey levels."""
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_LINE = 0.09
"""Height of a line, share of the picture's height."""
_WIDEST = 0.9
"""Width of the longest line, share of the picture's width."""


def again(frame: DeidentifiedFrame, time: Fraction) -> DeidentifiedFrame:
    """A frame that was published before, with another time in seconds."""
    return replace(frame, time=time)


def placeholder(
    size: tuple[int, int],
    title: str,
    lines: Sequence[str],
    time: Fraction,
    index: int,
    colour: Colour = Colour(),
    aspect: Fraction | None = None,
) -> DeidentifiedFrame:
    """A picture of size (width, height) with text that says why there is no picture of the scene.

    lines: smaller text below the title. aspect: of its pixels, as in the stream's other pictures. Only ASCII is
    written, other characters become question marks. Raises ValueError for a picture below 2 x 2.
    """
    width, height = size
    if width < 2 or height < 2:
        raise ValueError(f"a placeholder of {width} x {height} pixels holds nothing")
    luma = np.full((height, width), _GROUND, np.uint8)
    texts = [(title, _TITLE), *((line, _TEXT) for line in lines)]
    step = max(int(_LINE * height), 1)
    top = height // 2 - step * (len(texts) - 1) // 2
    for row, (text, grey) in enumerate(texts):
        plain = text.encode("ascii", "replace").decode()
        thickness = max(round(height / 360 * (2 if row == 0 else 1)), 1)
        (broad, high), _ = cv2.getTextSize(plain, _FONT, 1.0, thickness)
        scale = min((0.6 if row == 0 else 0.42) * step / max(high, 1), _WIDEST * width / max(broad, 1))
        place = round((width - broad * scale) / 2), top + row * step + round(high * scale / 2)
        cv2.putText(luma, plain, place, _FONT, scale, (grey,), thickness, cv2.LINE_AA)
    half = (height + 1) // 2, (width + 1) // 2
    planes = Planes(luma, np.full(half, 128, np.uint8), np.full(half, 128, np.uint8), colour)
    return DeidentifiedFrame(planes, time, index, aspect=aspect)
