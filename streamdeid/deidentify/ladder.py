"""The ladder of covers: which rung a face gets in a frame, by measured rules (DESIGN section 4)."""

from __future__ import annotations

import enum

import numpy as np

from streamdeid.deidentify.observation import Observation


class Rung(enum.IntEnum):
    """Covers from best to safest; the fourth, withholding the frame, is an exception (`FailedClosed`)."""

    SYNTHETIC = 1
    MEAN_FACE = 2
    SOLID_FILL = 3

    @property
    def label(self) -> str:
        """Its name in reports: `synthetic`, `mean face`, `solid fill`."""
        return self.name.lower().replace("_", " ")


_YAW, _PITCH = 0.85, 0.7
"""Radians beyond which the frontal model no longer fits a turned head."""
_SMALLEST = 24.0
"""Width in pixels below which landmarks say nothing."""
_OCCLUDED_TRIANGLE = 0.7
_OCCLUDED_SHARE = 0.3
"""Share of the mesh whose triangles fit badly, from which a face counts as occluded (METHODS 4.5). Open faces of the
clips reached 0.26 (glasses); so this catches gross covers only, not a smooth one over a quarter of the face."""
_STEADY = 5
"""Frames a face must deserve a better rung before it gets it."""


def deserved(seen: Observation, areas: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Rung:
    """Best rung that an observation allows. areas (m,): share of the mesh of each triangle."""
    turned = abs(seen.pose.yaw) > _YAW or abs(seen.pose.pitch) > _PITCH
    occluded = float(areas[seen.fit.triangle_residual > _OCCLUDED_TRIANGLE].sum()) > _OCCLUDED_SHARE
    if turned or occluded or not seen.fit.converged or seen.width < _SMALLEST:
        return Rung.MEAN_FACE
    return Rung.SYNTHETIC


class Steps:
    """Hysteresis: down at once, up only after a few good frames, so that a face does not flicker between rungs."""

    def __init__(self) -> None:
        self._rung: Rung | None = None
        self._better = 0

    def __call__(self, rung: Rung) -> Rung:
        """The rung to use when a frame deserves `rung`."""
        if self._rung is None or rung >= self._rung:
            self._rung, self._better = rung, 0
        else:
            self._better += 1
            if self._better >= _STEADY:
                self._rung, self._better = rung, 0
        return self._rung
