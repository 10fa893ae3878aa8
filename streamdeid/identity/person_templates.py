"""Templates: the vectors by which people are recognised when their face comes back.

Where a face recogniser is installed (`person_recogniser`), a template is the mean of its few vectors of a tracklet.
Otherwise it is fused from two views: the model's identity vector says how a face is built and coloured, the upper face
(`upper_face`) how brows, eyes and nose look in detail. At the distance within which one in a thousand pairs of two
people lie, the model alone accepts 48 % of the pairs of one person in clips of 19 people, the upper face 84 %, both
75 %, and one vector of the recogniser 97 % (`benchmarks/people/recogniser.py`).

Templates are biometric data: they stay in memory, are never logged, and are dropped when the person is forgotten. They
are written only to the encrypted file of a register that the user asks for.
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
"""Units of the identity space for one unit of distance of upper faces: at 5,400 and at .65 the model and the upper face
each accept one in a thousand pairs of two people."""
_ENOUGH = 2
"""Least number of vectors for a template: with one, short tracklets of grimaces became persons of their own."""
_KEPT = 24
"""Most upper faces of one tracklet that are averaged."""


class Templates(Protocol):
    """Makes the templates of tracklets, which are given by number."""

    def next_frame(self, index: int) -> None:
        """Begin a new frame; indices rise. Raises FailedClosed when templates can no longer be made."""

    def choose(self, good: Sequence[int]) -> Collection[int]:
        """The tracklets to show, out of those whose face is good in this frame, each of which is given once."""

    def show(self, tracklet: int, image: NDArray[np.uint8], points: Points) -> None:
        """Show a face: RGB uint8 (h, w, 3) of its surroundings, and its landmarks and forehead points (81, 2) in it."""

    def template(self, tracklet: int, y: Points, final: bool) -> Points | None:
        """Template of a tracklet, float64 (e,), with identity vector y (d,); None while there is none. final: whether
        the tracklet is over, so that nothing more is waited for."""

    def forget(self, tracklet: int) -> None:
        """Forget a tracklet that is over and will not be asked for again."""

    def close(self) -> None:
        """End the work: nothing will be asked again. Harmless when repeated."""


class RecognisedTemplates:
    """Templates that are means of a recogniser's vectors."""

    def __init__(self, vectors: TrackletVectors) -> None:
        self._ask = vectors
        self._index = 0
        self._kept: dict[int, list[NDArray[np.float64]]] = {}

    def next_frame(self, index: int) -> None:
        """Take in the vectors that are due at this frame."""
        self._index = index
        self._keep(self._ask.collect(index))

    def choose(self, good: Sequence[int]) -> Collection[int]:
        """The tracklets that need a vector most, as many as the recogniser has time for."""
        return self._ask.choose(good)

    def show(self, tracklet: int, image: NDArray[np.uint8], points: Points) -> None:
        """Ask for the vector of a face; it is due some frames later."""
        self._ask.ask(tracklet, self._index, image, points)

    def template(self, tracklet: int, y: Points, final: bool) -> Points | None:
        """The mean of the vectors so far; None where there are fewer than `_ENOUGH`, or none when it is final."""
        if final:
            self._keep(self._ask.forget([tracklet]))
        kept = self._kept.get(tracklet, [])
        return np.asarray(np.mean(kept, axis=0), np.float64) if len(kept) >= (1 if final else _ENOUGH) else None

    def forget(self, tracklet: int) -> None:
        """Drop the vectors of a tracklet."""
        self._ask.forget([tracklet])
        self._kept.pop(tracklet, None)

    def close(self) -> None:
        """End the recogniser's thread."""
        self._ask.close()

    def _keep(self, told: dict[int, list[NDArray[np.float64]]]) -> None:
        for tracklet, vectors in told.items():
            self._kept.setdefault(tracklet, []).extend(vectors)


class FusedTemplates:
    """Templates fused from identity vector and upper face; see the module."""

    def __init__(self, model: AppearanceModel) -> None:
        self._describe = UpperFace(model)
        self._uppers: dict[int, list[NDArray[np.float64]]] = {}

    def next_frame(self, index: int) -> None:
        """Do nothing: no vector is under way."""

    def choose(self, good: Sequence[int]) -> Collection[int]:
        """The tracklets of which fewer than `_KEPT` upper faces are known."""
        return [tracklet for tracklet in good if len(self._uppers.get(tracklet, ())) < _KEPT]

    def show(self, tracklet: int, image: NDArray[np.uint8], points: Points) -> None:
        """Add a face to its tracklet."""
        self._uppers.setdefault(tracklet, []).append(self._describe(image, points))

    def template(self, tracklet: int, y: Points, final: bool) -> Points | None:
        """Both vectors joined, on one scale; None without an upper face."""
        kept = self._uppers.get(tracklet)
        if not kept:
            return None
        return np.asarray(np.concatenate([y, np.mean(kept, axis=0) * _UPPER]) / np.sqrt(2), np.float64)

    def forget(self, tracklet: int) -> None:
        """Drop the upper faces of a tracklet."""
        self._uppers.pop(tracklet, None)

    def close(self) -> None:
        """Do nothing: nothing is open."""
