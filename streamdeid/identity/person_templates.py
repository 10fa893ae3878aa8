"""Templates: what people are recognised by when their face comes back.

Where a face recogniser is installed (`person_recogniser`), a template is the mean of its few vectors of a tracklet.
Where none is, it is fused from two views: the model's identity vector says how a face is built and coloured, the upper
face (`upper_face`) how brows, eyes and nose look in detail. Of the pairs of one person in clips of 19 people the model
alone has 48 % nearer than one in a thousand pairs of two people, the upper face 84 %, both 75 %, one vector of the
recogniser 97 % (`benchmarks/people/recogniser.py`).

Templates are biometric data: they stay in memory, are never written (but to the encrypted file of a register that the
user asks for) or logged, and go when the person is forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Points
from streamdeid.identity.tracklet_vectors import TrackletVectors
from streamdeid.identity.upper_face import UpperFace

_UPPER = 5400.0 / 0.65
"""Units of the identity space for a distance of upper faces: at 5,400 and .65 both accept one in a thousand others."""
_ENOUGH = 2
"""Vectors that make a template: with one, short tracklets of grimaces became persons of their own."""
_KEPT = 24
"""Upper faces of one tracklet that are averaged."""


class Templates(Protocol):
    """What tracklets are recognised by. Tracklets are told by number."""

    def next_frame(self, index: int) -> None:
        """A new frame begins; indices rise. Raises FailedClosed when templates cannot be had any more."""

    def choose(self, good: Sequence[int]) -> Collection[int]:
        """Of the tracklets whose face is good in this frame, once each: those that are to be shown."""

    def show(self, tracklet: int, image: NDArray[np.uint8], points: Points) -> None:
        """Show a face: RGB uint8 (h, w, 3) of its surroundings, and its landmarks and forehead points (81, 2) in it."""

    def template(self, tracklet: int, y: Points, final: bool) -> Points | None:
        """Template of a tracklet, float64 (e,), with identity vector y (d,); None while there is none. final: the
        tracklet is over, so nothing more is waited for."""

    def forget(self, tracklet: int) -> None:
        """The tracklet is over and will not be asked for again."""

    def close(self) -> None:
        """Nothing will be asked again. Harmless when repeated."""


class RecognisedTemplates:
    """Means of a recogniser's vectors."""

    def __init__(self, vectors: TrackletVectors) -> None:
        self._ask = vectors
        self._index = 0
        self._kept: dict[int, list[NDArray[np.float64]]] = {}

    def next_frame(self, index: int) -> None:
        """Take in the vectors that are told at this frame."""
        self._index = index
        self._keep(self._ask.collect(index))

    def choose(self, good: Sequence[int]) -> Collection[int]:
        """Those most in need, as many as the recogniser has time for."""
        return self._ask.choose(good)

    def show(self, tracklet: int, image: NDArray[np.uint8], points: Points) -> None:
        """Ask about a face; its vector is told some frames later."""
        self._ask.ask(tracklet, self._index, image, points)

    def template(self, tracklet: int, y: Points, final: bool) -> Points | None:
        """The mean of the vectors so far, if they are enough; of however many there are when it is final."""
        if final:
            self._keep(self._ask.forget([tracklet]))
        kept = self._kept.get(tracklet, [])
        return np.asarray(np.mean(kept, axis=0), np.float64) if len(kept) >= (1 if final else _ENOUGH) else None

    def forget(self, tracklet: int) -> None:
        """Let go of its vectors."""
        self._ask.forget([tracklet])
        self._kept.pop(tracklet, None)

    def close(self) -> None:
        """End the recogniser's thread."""
        self._ask.close()

    def _keep(self, told: dict[int, list[NDArray[np.float64]]]) -> None:
        for tracklet, vectors in told.items():
            self._kept.setdefault(tracklet, []).extend(vectors)


class FusedTemplates:
    """Identity vector and upper face in one; see the module."""

    def __init__(self, model: AppearanceModel) -> None:
        self._describe = UpperFace(model)
        self._uppers: dict[int, list[NDArray[np.float64]]] = {}

    def next_frame(self, index: int) -> None:
        """Nothing is under way."""

    def choose(self, good: Sequence[int]) -> Collection[int]:
        """Those of which more would be learned."""
        return [tracklet for tracklet in good if len(self._uppers.get(tracklet, ())) < _KEPT]

    def show(self, tracklet: int, image: NDArray[np.uint8], points: Points) -> None:
        """Take in a face."""
        self._uppers.setdefault(tracklet, []).append(self._describe(image, points))

    def template(self, tracklet: int, y: Points, final: bool) -> Points | None:
        """Both vectors, scaled alike."""
        kept = self._uppers.get(tracklet)
        if not kept:
            return None
        return np.asarray(np.concatenate([y, np.mean(kept, axis=0) * _UPPER]) / np.sqrt(2), np.float64)

    def forget(self, tracklet: int) -> None:
        """Let go of its vectors."""
        self._uppers.pop(tracklet, None)

    def close(self) -> None:
        """Nothing is open."""
