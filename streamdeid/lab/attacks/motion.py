"""A10, motion: who is it, by the way the face moves? The filter keeps motion on purpose, so a leak is expected.

Landmarks are found again in the published frames; their geometry, relative to its own mean, says nothing of the drawn
face but of how it is moved. The attacker learns from the first part of a clip and names the person in a later part:
nearest class mean after linear discriminant analysis (docs/methods.md 2.4 and 3.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import pose_of
from streamdeid.core.arrays import Floats, Points
from streamdeid.core.ibug68 import CHIN, INNER_LIP, LEFT_BROW, RIGHT_BROW
from streamdeid.lab.identification import identified

SIGNALS = (
    *("mouth opening", "mouth width", "mouth corners' height", "jaw drop", "left eye opening", "right eye opening"),
    *("left brow height", "right brow height", "yaw", "pitch", "roll"),
)
"""What is followed from frame to frame; of the last three, the head's angles, only the speed is used."""
_ANGLES = 3
RATE = 25.0
"""Readings a second to which all clips are brought, so that a frame rate names nobody."""
UNIT = 1.0
"""Seconds of the windows that are described; longer ones are means over several."""
_HOP = 0.2
"""Seconds from one window to the next: a whole number of readings."""
_LAGS = (1, 3, 6, 12)
"""Readings after which a signal is compared with itself: 0.04 to 0.5 s."""
LEARNT = 0.45
"""Share of a clip's length that is learnt from; the rest is to be named."""
_SHRINKAGE = 0.3
_FULL = 0.8
"""Share of a stretch's windows that must be there."""
_NEARLY = 1e-3
"""Seconds: times are floats."""
_LARGEST_GAP = 0.2
"""Seconds without a face that are bridged; windows with longer ones are left out."""


@dataclass(frozen=True)
class MotionSignals:
    """Signals of one person. seconds: float64 (n,), rising; values: float64 (n, s)."""

    seconds: Floats
    values: Floats

    def parts(self) -> tuple[MotionSignals, MotionSignals]:
        """What is learnt from, and what is to be named; each less its own mean."""
        border = self.seconds[0] + LEARNT * (self.seconds[-1] - self.seconds[0])
        first = self.seconds <= border
        return self._part(first), self._part(~first)

    def _part(self, chosen: NDArray[np.bool_]) -> MotionSignals:
        values = self.values[chosen]
        return MotionSignals(self.seconds[chosen], values - (values.mean(axis=0) if len(values) else 0.0))


def signals(points: Points, model: AppearanceModel) -> Floats:
    """`SIGNALS` (s,) of mesh points (81, 2) in pixels: lengths over that between the outer eye corners, with the
    head's turn undone; angles in degrees."""
    pose = pose_of(points, model)
    face = pose.to_frame(points, model.depth)
    face = face / np.linalg.norm(face[45] - face[36])
    eyes, brows = [], []
    for first, last, brow in ((36, 39, LEFT_BROW), (42, 45, RIGHT_BROW)):
        lids = face[[first + 1, first + 2]] - face[[last + 2, last + 1]]
        eyes.append(np.linalg.norm(lids, axis=1).mean())
        brows.append(face[[first, last], 1].mean() - face[brow, 1].mean())
    lips = face[INNER_LIP]
    opening = np.linalg.norm(lips[1:4] - lips[[7, 6, 5]], axis=1).mean()
    width, corners = np.linalg.norm(face[54] - face[48]), face[33, 1] - face[[48, 54], 1].mean()
    angles = np.degrees([pose.yaw, pose.pitch, pose.roll])
    return np.array([opening, width, corners, face[CHIN, 1] - face[33, 1], *eyes, *brows, *angles])


def described(moved: MotionSignals) -> tuple[Floats, Floats]:
    """Starts (w,) and features (w, f) of the windows of `UNIT` seconds: means, spreads and autocorrelations."""
    known = moved.seconds
    if len(known) < 2:
        return np.zeros(0), np.zeros((0, 0))
    times = np.arange(known[0], known[-1] + 0.5 / RATE, 1 / RATE)
    values = np.column_stack([np.interp(times, known, column) for column in moved.values.T])
    values[:, -_ANGLES:] = np.gradient(values[:, -_ANGLES:], axis=0) * RATE if len(times) > 1 else 0.0
    after = np.clip(np.searchsorted(known, times), 1, len(known) - 1)
    bridged = known[after] - known[after - 1] <= _LARGEST_GAP
    length, hop = round(UNIT * RATE), round(_HOP * RATE)
    starts = [s for s in range(0, len(times) - length + 1, hop) if bridged[s : s + length].all()]
    rows = [_features(values[s : s + length]) for s in starts]
    return times[starts], np.stack(rows) if rows else np.zeros((0, 0))


def trials(
    learnt: Mapping[str, MotionSignals], later: Mapping[str, MotionSignals], seconds: float
) -> dict[str, NDArray[np.bool_]]:
    """Whether each stretch of `seconds` of each person's later part is named right: bool (stretches,) by person.

    The gallery is everybody with at least one window to learn from; stretches overlap by half.
    """
    examples = {name: described(moved)[1] for name, moved in learnt.items()}
    examples = {name: rows for name, rows in examples.items() if len(rows)}
    if len(examples) < 2:
        return {}
    centre, scale = _standard(np.concatenate(list(examples.values())))
    spread = np.concatenate([(rows - rows.mean(axis=0)) / scale for rows in examples.values()])
    scatter = spread.T @ spread / max(len(spread) - len(examples), 1)
    level = max(float(np.trace(scatter)) / len(scatter), 1e-6)
    scatter = (1 - _SHRINKAGE) * scatter + _SHRINKAGE * level * np.eye(len(scatter))
    whiten = np.linalg.cholesky(np.linalg.inv(scatter))
    names = list(examples)
    means = np.stack([((rows - centre) / scale).mean(axis=0) @ whiten for rows in examples.values()])
    hits = {}
    for name in names:
        starts, rows = described(later[name])
        if not len(rows):
            continue
        distances = (((rows - centre) / scale @ whiten)[:, None] - means) ** 2
        stretches = _stretches(starts, distances.sum(axis=2), seconds)
        if len(stretches):
            hits[name] = identified(stretches, [name] * len(stretches), names)
    return hits


def _stretches(starts: Floats, distances: Floats, seconds: float) -> Floats:
    """Mean distances (t, people) over the windows inside each stretch that is full of windows."""
    found = []
    step = max(round(seconds / 2 / _HOP), 1) * _HOP
    for begin in np.arange(starts[0], starts[-1] + UNIT - seconds + _NEARLY, step):
        inside = (starts > begin - _NEARLY) & (starts < begin + seconds - UNIT + _NEARLY)
        if inside.sum() >= _FULL * ((seconds - UNIT) / _HOP + 1):
            found.append(distances[inside].mean(axis=0))
    return np.stack(found) if found else np.zeros((0, distances.shape[1]))


def _features(window: Floats) -> Floats:
    mean, spread = window.mean(axis=0), window.std(axis=0)
    centred = (window - mean) / np.maximum(spread, 1e-6)
    alike = [(centred[lag:] * centred[:-lag]).mean(axis=0) for lag in _LAGS]
    return np.concatenate([mean, np.log(spread + 1e-3), *alike])


def _standard(rows: Floats) -> tuple[Floats, Floats]:
    return rows.mean(axis=0), np.maximum(rows.std(axis=0), 1e-6)
