"""Face recognisers that attack pictures: pixel Eigenfaces, the refitted appearance model, dlib's ResNet, any ONNX one.

Every picture comes with the landmarks of the original face, 68 points: the attacker is given the best alignment there
is, even where nothing of the face is left to find. A picture that a recogniser cannot use becomes nan.

The deep ones need the extra `evaluation` (dlib), or a model file (`--recogniser`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import Detect, identity_of, photograph_of
from streamdeid.core.arrays import Picture, Points, Vector, Vectors
from streamdeid.errors import SettingsError
from streamdeid.identity.face_recogniser import FaceRecogniser
from streamdeid.identity.picture_recognisers import ARCFACE, DlibResnet, OnnxRecogniser, registered
from streamdeid.lab.eigenfaces import Eigenfaces

_PIXELS = (99, 134)
"""Width and height of P5's registered face images."""
_OVAL = (49.5, 80.0), (33.0, 44.0)
"""Centre and half axes, x and y, of the oval from the middle of the forehead to the chin."""


class PixelEigenfaces:
    """Turk and Pentland's Eigenfaces on registered grey pictures (P5 fig. 3), Mahalanobis distance.

    It looks inside an oval of the face only, as the papers do ("cropped face images"): one photograph on both sides
    would be known by its background alone.
    """

    name = "Eigenfaces (pixels inside the face)"

    def __init__(self, pictures: Sequence[Picture], landmarks: Sequence[Points]) -> None:
        """Train on the attacker's own pictures."""
        # With all components every training face is equally far from every other, and no threshold means anything.
        self._faces = Eigenfaces.train(_ovals(pictures, landmarks), max(len(pictures) // 3, 1))

    def __call__(self, picture: Picture, points: Points) -> Vector:
        """Projections, each divided by its standard deviation."""
        (projected,) = self._faces.project(_ovals([picture], [points]))
        return np.asarray(projected / np.sqrt(self._faces.variances), np.float64)


def _ovals(pictures: Sequence[Picture], landmarks: Sequence[Points]) -> Vectors:
    """Grey values inside the oval of each registered picture, float64 (n, pixels)."""
    width, height = _PIXELS
    # Eyes and mouth as in the ArcFace picture, in the middle of a larger one.
    target = (ARCFACE - 56) * 1.05 + (width / 2, height / 2 - 4)
    rows, columns = np.mgrid[0:height, 0:width]
    (x, y), (across, down) = _OVAL
    inside = ((columns - x) / across) ** 2 + ((rows - y) / down) ** 2 <= 1
    grey = [
        cv2.cvtColor(registered(picture, points, target, _PIXELS), cv2.COLOR_RGB2GRAY)[inside]
        for picture, points in zip(pictures, landmarks, strict=True)
    ]
    return np.asarray(grey, np.float64)


class Refit:
    """The attacker's own appearance model: detect, landmark and project the picture again (methods.md 3.3, A13)."""

    name = "appearance model, refitted"

    def __init__(self, model: AppearanceModel, detect: Detect) -> None:
        """detect: the landmarker that the attacker runs."""
        self._model, self._detect = model, detect

    def __call__(self, picture: Picture, points: Points) -> Vector:
        """The identity vector; nan where no face is found any more."""
        found = photograph_of(picture, "probe", "", self._detect)
        return np.full(len(self._model.variances), np.nan) if found is None else identity_of(found, self._model)


class NamedRecogniser(FaceRecogniser, Protocol):
    """One whose results stand in a table."""

    @property
    def name(self) -> str:
        """What it is called there."""
        ...


def recognisers(
    gallery: tuple[Sequence[Picture], Sequence[Points]],
    model: AppearanceModel,
    detect: Detect,
    onnx: Path | None,
) -> tuple[list[NamedRecogniser], list[str]]:
    """All recognisers that can be had here, and a line for each that was not run and why.

    gallery: pictures and landmarks that the attacker holds. Raises InputError for an ONNX file that cannot be used.
    """
    found: list[NamedRecogniser] = [PixelEigenfaces(*gallery), Refit(model, detect)]
    missing = []
    try:
        found.append(DlibResnet())
    except SettingsError as error:
        missing.append(f"not run: {error}")
    if onnx is not None:
        found.append(OnnxRecogniser(onnx))
    return found, missing
