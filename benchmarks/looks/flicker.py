"""Flicker: how much a face changes from frame to frame once its motion is undone (docs/methods.md 5.2, item 6)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.piecewise_affine import sample
from streamdeid.core.arrays import Pixels
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes


@dataclass
class Flicker:
    """Mean absolute luma change in the model's frame between neighbouring frames, of original and output."""

    _last: tuple[int, Pixels, Pixels] | None = None
    _changes: list[tuple[float, float]] = field(default_factory=list)

    def note(self, index: int, face: Face, twin: Face, before: Planes, after: Planes, model: AppearanceModel) -> None:
        """Take in a face of the original and its counterpart, both with landmarks. Each is warped by its own."""
        now = (index, _luma(face, before, model), _luma(twin, after, model))
        if self._last is not None and self._last[0] == index - 1:
            original, output = (float(np.abs(now[i] - self._last[i]).mean()) for i in (1, 2))
            self._changes.append((original, output))
        self._last = now

    @property
    def original(self) -> float:
        """Mean change of the original, grey levels."""
        return float(np.mean([change for change, _ in self._changes])) if self._changes else float("nan")

    @property
    def output(self) -> float:
        """Mean change of the output, grey levels."""
        return float(np.mean([change for _, change in self._changes])) if self._changes else float("nan")

    @property
    def ratio(self) -> float:
        """Output over original; up to 1 is as steady as the original."""
        return self.output / self.original if self._changes and self.original > 0 else float("nan")


def _luma(face: Face, planes: Planes, model: AppearanceModel) -> Pixels:
    assert face.landmarks is not None and face.forehead is not None
    return sample(planes.y[:, :, None], np.concatenate([face.landmarks, face.forehead]), model.table)[:, 0]
