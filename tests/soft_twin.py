"""The soft redaction's field at one place, as docs/methods.md 6.2 says it: the slow twin of its kernel."""

from __future__ import annotations

import math

import numpy as np

from streamdeid.core.arrays import Floats
from streamdeid.protect.soft_redaction import Head


def smooth_step(t: float) -> float:
    """0 below 0, 1 above 1, and 3 t² - 2 t³ between."""
    t = min(max(t, 0.0), 1.0)
    return 3 * t**2 - 2 * t**3


def place_in_head(head: Head, x: float, y: float) -> complex:
    """A pixel as a complex number in half axes: of length 1 on the ellipse."""
    turned = complex(x - head.x, y - head.y) * complex(math.cos(head.angle), -math.sin(head.angle))
    return complex(turned.real / head.across, turned.imag / head.down)


def soft_value(head: Head, x: float, y: float, waves: Floats, lift: float) -> float:
    """The harmonic field of rim waves (7,) at a pixel, lifted in the middle."""
    z = place_in_head(head, x, y)
    value = waves[0]
    for k in (1, 2, 3):
        inwards = (z / head.reach) ** k  # the solution of Laplace's equation that is cos k a, sin k a on the rim
        value += waves[2 * k - 1] * inwards.real + waves[2 * k] * inwards.imag
    return float(value + lift * smooth_step(1 - abs(z) ** 2 / 1.25))


def soft_weight(head: Head, x: float, y: float, whole: float = 1.0) -> float:
    """How much of the field is seen at a pixel: all up to the radius `whole`, nothing from the rim's end on."""
    square = abs(place_in_head(head, x, y)) ** 2
    return smooth_step((head.reach**2 - square) / (head.reach**2 - whole**2))


def mixed(state: int) -> int:
    """`lowbias32`, in whole numbers that know no overflow."""
    state ^= state >> 16
    state = state * 0x7FEB352D % 2**32
    state ^= state >> 15
    state = state * 0x846CA68B % 2**32
    return state ^ (state >> 16)


def grain(column: int, row: int, frame: int, deviation: float) -> float:
    """The grain at a pixel: the difference of two dice of 65,536 sides."""
    dice = mixed((mixed(row ^ mixed(frame)) + column) % 2**32)
    return deviation * (dice % 65536 - dice // 65536) * float(np.sqrt(6)) / 65536


def tone_in_light(tone: Floats, rim: Floats) -> Floats:
    """A tone (luma, saturation of skin) as a colour (3,): skin's hue and saturation, in the dark the light's, and as
    far beside it as the rim's mean colour is, four grey levels at most."""
    skin = complex(-0.53, 0.848)
    beside = complex(rim[1] - 128, rim[2] - 128) / complex(0.848, 0.53)
    lit = min(max(tone[0] / 136, 0.0), 1.0)  # dark skin has less chroma of its own, and more of the light's
    light = (complex(rim[1] - 128, rim[2] - 128) / skin).real  # the axis has a length of 1
    along = lit * tone[1] + (1 - lit) * min(max(light, 0.0), tone[1])
    chroma = along * skin + min(max(beside.real, -4.0), 4.0) * complex(0.848, 0.53)
    return np.array([tone[0], 128 + chroma.real, 128 + chroma.imag])
