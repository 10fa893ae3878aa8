"""The ladder of covers: which rung a face gets in a frame, by measured rules (DESIGN section 4)."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

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


class Cause(enum.Enum):
    """Why a face was covered by a lower rung."""

    DOUBT = "doubt"
    """It is unclear who is who: people cross."""
    SMALL = "small"
    TURNED = "turned"
    OCCLUDED = "occluded"
    BLURRED = "blurred"
    POOR_FIT = "poor fit"
    ASTRAY = "landmarks astray"
    """The landmarks leave much of the detector's box bare: they are too small, or beside the face."""
    NOBODY = "no surrogate"
    """Its person was never decided, or no surrogate could be drawn for it."""
    NO_LANDMARKS = "no landmarks"
    LOST = "lost"
    """The detector does not see it; its place is predicted."""


_SMALLEST = 24.0
"""Width in pixels below which landmarks say nothing."""
_YAW, _PITCH = 0.85, 0.7
"""Radians beyond which the frontal model no longer fits a turned head."""
_RESIDUAL = 0.7
"""Residual of the fit. Open faces of the clips reach 0.62 (glasses), of the London set 0.29."""
_BARE = np.array([0.25, 0.25, 0.12, 0.12])
"""Share of the detector's box that its landmarks may leave bare at the left, right, top and bottom. The shipped
detector leaves 0.17, 0.15, 0.04 and 0.07 at most on frontal and turned faces of the clips."""
_OCCLUDED_TRIANGLE, _OCCLUDED_SHARE = 0.7, 0.3
"""Share of the mesh whose triangles fit badly, from which a face counts as occluded: gross covers (METHODS 4.5). Open
faces of the clips reach 0.23 (glasses)."""
_ODD = 0.13
"""Share of the skin in no skin's colour: covers in another colour. Open faces of the clips reach 0.06."""
_CHANGED = 0.15
"""Share of the mesh unlike itself seconds ago: whatever comes before a face. Open faces of the clips reach 0.09."""
_STRAIN = 0.17
"""Rise of the residual over seconds: covers in skin's own colour. Open faces of the clips reach 0.12."""
_SHARPNESS = 0.6
"""Sharpness of a face of 64 pixels and wider. Faces of the clips keep above 0.86, sharp photographs above 1; a blur of
a thirtieth of the width brings them to 0.5. Smaller ones have as much less as their pixels allow."""
_SHARP_WIDTH = 64.0
_LEAVE = 0.88
"""A rule that holds goes on holding until its signal is back by so much: no flicker about a threshold."""
_STEADY = 5
"""Frames a face must deserve a better rung before it gets it."""


def severities(seen: Observation, areas: NDArray[np.float64]) -> dict[Cause, float]:
    """How far each rule's signal goes, 1 at its threshold. areas (m,): share of the mesh of each triangle."""
    signals = seen.signals
    bad = float(areas[seen.fit.triangle_residual > _OCCLUDED_TRIANGLE].sum())
    width = max(seen.width, 1e-6)
    sharp_enough = _SHARPNESS * np.sqrt(min(1.0, width / _SHARP_WIDTH))
    covers = (bad / _OCCLUDED_SHARE, signals.odd / _ODD, signals.changed / _CHANGED, signals.strain / _STRAIN)
    return {
        Cause.SMALL: _SMALLEST / width,
        Cause.TURNED: float(np.max([abs(seen.pose.yaw) / _YAW, abs(seen.pose.pitch) / _PITCH])),
        Cause.OCCLUDED: float(np.max(covers)),
        Cause.BLURRED: float(sharp_enough / max(signals.sharpness, 1e-6)),
        Cause.POOR_FIT: seen.fit.residual / _RESIDUAL if seen.fit.converged else np.inf,
        Cause.ASTRAY: astray(seen),
    }


def astray(seen: Observation) -> float:
    """How far landmarks and box disagree, 1 at the threshold."""
    return float(np.max(seen.bare / _BARE))


def deserved(seen: Observation, areas: NDArray[np.float64]) -> Rung:
    """Best rung that an observation by itself allows. areas (m,): share of the mesh of each triangle."""
    return Rung.MEAN_FACE if _holding(severities(seen, areas), frozenset()) else Rung.SYNTHETIC


class Steps:
    """Hysteresis: down at once, up only when every signal is well back and after a few good frames, so that a face
    does not flicker between rungs."""

    def __init__(self) -> None:
        self._held: frozenset[Cause] = frozenset()
        self._cause: Cause | None = None
        self._good = 0

    def __call__(self, found: Mapping[Cause, float], doubtful: bool = False) -> Cause | None:
        """Why a frame with these severities may not show a synthetic face; None when it may."""
        known = self._cause is not None or self._good > 0
        self._held = _holding(found, self._held)
        if doubtful or self._held:
            self._good = 0
            self._cause = Cause.DOUBT if doubtful else max(self._held, key=lambda cause: np.nan_to_num(found[cause]))
            return self._cause
        self._good += 1
        if self._good >= _STEADY or not known:
            self._cause = None
        return self._cause


def _holding(found: Mapping[Cause, float], held: frozenset[Cause]) -> frozenset[Cause]:
    """The rules that hold, those that held before until they are well back. What is no number holds."""
    return frozenset(c for c, severity in found.items() if not severity <= (_LEAVE if c in held else 1.0))
