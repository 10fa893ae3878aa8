"""Photographs in another light, so that the light that a published face has in common with a photograph is no help.

The very photograph that was filtered lies in the attacker's gallery in the other chapters: whatever light it was taken
in is in both. Here each photograph of the gallery is lit anew: brightness, a direction, a dome over the face, the
colour of the lamp and the tone curve are drawn at random, from a seed. Fine detail, shape and surroundings stay.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from streamdeid.aam.photographs import Photograph
from streamdeid.core.arrays import Picture, Points

_BRIGHTNESS = 0.3
"""Largest change of brightness, natural log. This and the next: what one room or day differs by from another, about a
stop either way, and a lamp at one side that makes the far cheek a third as bright."""
_DIRECTION = 0.3, 0.6
"""Least and largest slope of brightness from the middle of the face to its rim, natural log."""
_DOME = 0.3
"""Largest brightening or darkening of the rim against the middle, natural log."""
_COLOUR = 0.2
"""Largest change of red against green, and of blue the other way, natural log: lamp light against daylight."""
_GAMMA = 0.8, 1.25
"""Exponents of the tone curve."""
_BEYOND = 1.5
"""Half widths of the face beyond which the light changes no more."""
_SEED = 417


def relit(photographs: Sequence[Photograph]) -> list[Photograph]:
    """Each photograph in a light of its own, which follows from its person's name alone."""
    return [replace(photograph, image=_in_another_light(photograph)) for photograph in photographs]


def _in_another_light(photograph: Photograph) -> Picture:
    rng = np.random.default_rng([_SEED, zlib.crc32(photograph.person.encode())])
    image = photograph.image
    x, y = _places(image, photograph.sample.points[:68])
    angle, slope = rng.uniform(0, 2 * np.pi), rng.uniform(*_DIRECTION)
    gain = rng.uniform(-_BRIGHTNESS, _BRIGHTNESS) + slope * (np.cos(angle) * x + np.sin(angle) * y)
    gain += rng.uniform(-_DOME, _DOME) * (x * x + y * y)
    warmth = rng.uniform(-_COLOUR, _COLOUR)
    lit = (image / 255.0) ** rng.uniform(*_GAMMA) * np.exp(gain[:, :, None] + warmth * np.array([1.0, 0.0, -1.0]))
    over = np.maximum(lit - 0.8, 0)  # highlights are compressed, as a camera does, not cut
    lit -= over * over / (over + 0.2)
    return np.asarray(np.clip(255 * lit + 0.5, 0, 255), np.uint8)


def _places(image: Picture, landmarks: Points) -> tuple[Points, Points]:
    """Place of each pixel, float64 (h, w) twice, in half widths of the face from its middle."""
    half = float(np.ptp(landmarks[:, 0])) / 2
    middle = landmarks.mean(axis=0)
    rows, columns = np.mgrid[0 : image.shape[0], 0 : image.shape[1]]
    x, y = (columns - middle[0]) / half, (rows - middle[1]) / half
    return np.clip(x, -_BEYOND, _BEYOND), np.clip(y, -_BEYOND, _BEYOND)
