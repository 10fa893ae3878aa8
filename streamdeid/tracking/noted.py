"""What the look-ahead keeps of a frame while that waits, and where places of one picture are in the next.

Places of faces that are lost are kept as they lie in the first picture of their scene, however the camera moves since
then: who stands still beside a camera that is turned has no motion of its own, and does not go on when it stops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Floats
from streamdeid.tracking.patches import Small, found_again


@dataclass(frozen=True)
class Noted:
    """What is kept of a frame."""

    index: int
    time: float
    """Seconds."""
    scene: int
    small: Small
    offset: Floats | None = None
    """float64 (2,): by how many pixels its middle went to right and below since its scene began, as the camera moved;
    None where that stood. How it was turned and zoomed is left out: its errors would multiply for hours."""

    def steady(self, box: Floats) -> Floats:
        """Where a box (4,) of this picture, pixels, lies in the first one of its scene."""
        return box if self.offset is None else box - np.tile(self.offset, 2)

    def here(self, box: Floats) -> Floats:
        """Where a box (4,) of the first picture of its scene, pixels, lies in this one."""
        return box if self.offset is None else box + np.tile(self.offset, 2)


def followed(before: Noted, after: Noted, box: Floats, shift: Floats) -> Floats | None:
    """Where the patch of a box (4,) is in another picture of the scene, None when it is not found; `found_again`.

    box, shift (2,): it, and how it moved by itself, as they lie in the first picture of the scene, pixels; so is what
    is given back.
    """
    if before.offset is None and after.offset is None:
        return found_again(before.small, after.small, box, shift)
    here, there = before.here(box), after.here(box + np.tile(shift, 2))
    found = found_again(before.small, after.small, here, (there - here).reshape(2, 2).mean(axis=0))
    return None if found is None else after.steady(found)
