"""Fixed areas of the picture that are filled in every frame, whatever else happens there (`--region x,y,w,h`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Redaction
from streamdeid.protect.pending import PendingFrame, Waiting
from streamdeid.protect.plan import Deidentifier, Plans
from streamdeid.protect.region import Region
from streamdeid.render.masks import solid_fill

REGION = "region"
"""The level of these redactions in reports."""


class FixedRegions:
    """Fills its regions after another de-identifier has rendered its frame; a `plan.Deidentifier`."""

    def __init__(self, inner: Deidentifier, regions: Sequence[Region]) -> None:
        self._inner = inner
        self._regions = tuple(regions)

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        """Pass the call on to the inner de-identifier."""
        self._inner.observe(pending, waiting)

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        """Pass the call on to the inner de-identifier."""
        self._inner.settle(waiting, due)

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> Plans:
        """Pass the call on to the inner de-identifier."""
        return self._inner.decide(pending, tracks)

    def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
        """The inner de-identifier's frame with the regions filled as the last step, so that nothing shows through.

        Raises SettingsError when a region lies outside the picture, and what the inner de-identifier raises.
        """
        boxes = [_on(region, pending.frame) for region in self._regions]
        pending.regions.extend(boxes)
        done = self._inner.render(pending, plans)
        planes = done.planes
        for box in boxes:
            planes = solid_fill(planes, box, roundness=0.0)
        redactions = tuple(Redaction(0, box, REGION) for box in boxes)
        return DeidentifiedFrame(planes, done.time, done.index, done.redactions + redactions)


def _on(region: Region, frame: Frame) -> Box:
    """The box of a region, which users give in stored pixels, in pixels of the frame's `planes`. Raises
    SettingsError."""
    stored = frame.as_stored.size
    x0, y0, x1, y1 = region.on(stored)
    across, down = (new / old for new, old in zip(frame.planes.size, stored, strict=True))
    return x0 * across, y0 * down, x1 * across, y1 * down
