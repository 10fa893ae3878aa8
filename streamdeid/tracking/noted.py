"""Keeps the data that the look-ahead needs of a waiting frame, and moves places from one picture to the next.

Places of lost faces are kept in pixels of the first picture of their scene, however the camera moves after that. So a
person who stands still while the camera turns has no motion of their own, and does not go on when the camera stops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Floats
from streamdeid.tracking.patches import Small, found_again


@dataclass(frozen=True)
class Noted:
    """The data that is kept of a frame."""

    index: int
    time: float
    """Seconds."""
    scene: int
    small: Small
    offset: Floats | None = None
    """float64 (2,): by how many pixels the camera's motion moved the middle right and down since the scene began; None
    where the camera stood. Turn and zoom are left out: their errors would multiply for hours."""

    def steady(self, box: Floats) -> Floats:
        """Where a box (4,) of this picture, pixels, lies in the first picture of its scene."""
        return box if self.offset is None else box - np.tile(self.offset, 2)

    def here(self, box: Floats) -> Floats:
        """Where a box (4,) of the first picture of its scene, pixels, lies in this picture."""
        return box if self.offset is None else box + np.tile(self.offset, 2)


def followed(before: Noted, after: Noted, box: Floats, shift: Floats) -> Floats | None:
    """Where the patch of a box (4,) is in another picture of the scene; None when it is not found (`found_again`).

    shift (2,): the expected motion of the box itself. box, shift and the result are in pixels of the scene's first
    picture.
    """
    if before.offset is None and after.offset is None:
        return found_again(before.small, after.small, box, shift)
    here, there = before.here(box), after.here(box + np.tile(shift, 2))
    found = found_again(before.small, after.small, here, (there - here).reshape(2, 2).mean(axis=0))
    return None if found is None else after.steady(found)
