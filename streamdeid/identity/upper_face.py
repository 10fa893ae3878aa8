"""A recogniser for the whitelist: the normalised picture of the upper face, compared pixel by pixel.

Brightness is divided by its own local mean and spread (a local retinex), so that lamp, camera and skin tone cancel;
brows, eyes and nose stay. The mouth is left out: it moves most. Nothing in the recogniser is learnt but the mesh of the
appearance model. Two vectors of one person in sharp pictures by the same camera lie near each other; another camera,
other light or a strong expression separates them, and then the person is redacted.

The model's own identity vector was tried first: at a threshold that accepts one in a thousand strangers of the London
set it accepts one in nine of another set of one camera (`benchmarks/people/whitelist.py --compare`). Distances of whole
pictures carry over from set to set, as long as they are sharp. An effect that a camera has on all its pictures can
bring strangers nearer: of pairs of London pictures that are both blurred by 1.5 % of the face's width 35 of 5,151 are
accepted. So a face has to be sharp, in the whitelisted picture and in the stream (`recognised_faces.LEAST_SHARPNESS`).
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.piecewise_affine import spread
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA

ACCEPT = 0.4
"""Largest distance that is taken for the same person: no pair of different people of the London set is as near, neither
sharp nor equally soft (`benchmarks/people/whitelist.py`). 1 in 10,000 sharp pairs is within 0.44, and 1 in 10,000 soft
pairs within 0.41."""
_FLOOR = 8.0
"""Grey levels added before the logarithm: dark pixels are mostly noise."""
_FINE, _COARSE = 1.2 / 200, 12 / 200
"""Widths of the blur against noise, and of the neighbourhood, shares of the frame's width."""
_LEAST_SPREAD = 0.05
"""Added to the spread of a neighbourhood, natural log, so that the noise of flat ones is not amplified."""
_REDUCED = 3
_NOSE = 33
"""Landmark below which the face is left out: the base of the nose."""


class UpperFace:
    """Turns faces into vectors; pure, but it keeps the constants of the model's frame."""

    def __init__(self, model: AppearanceModel) -> None:
        self._model = model
        width, height = model.frame_size
        self._fine, self._coarse = _FINE * width, _COARSE * width
        self._mask = spread(np.ones((len(model.table.rows), 1), np.float32), model.table)[:, :, 0]
        self._fine_mask = self._blurred(self._mask, self._fine) + 1e-3
        self._coarse_mask = self._blurred(self._mask, self._coarse) + 1e-3
        self._size = width // _REDUCED, height // _REDUCED
        self._rows = int(model.mean_shape[_NOSE, 1]) // _REDUCED

    def __call__(self, image: NDArray[np.uint8], landmarks: Points) -> NDArray[np.float64]:
        """Unit vector (d,) of the face at landmarks (81, 2), 68 and forehead, of an RGB picture (h, w, 3)."""
        grey = self._model.texture_of(image, landmarks) @ LUMA
        picture = spread(np.log(grey + _FLOOR)[:, None].astype(np.float32), self._model.table)[:, :, 0]
        picture = self._blurred(picture * self._mask, self._fine) / self._fine_mask * self._mask
        flat = (picture - self._blurred(picture, self._coarse) / self._coarse_mask) * self._mask
        variance = self._blurred(flat * flat, self._coarse) / self._coarse_mask
        flat = flat / (np.sqrt(np.maximum(variance, 0)) + np.float32(_LEAST_SPREAD)) * self._mask
        small = cv2.resize(flat, self._size, interpolation=cv2.INTER_AREA)[: self._rows]
        vector = np.asarray(small, np.float64).ravel()
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float64)

    def _blurred(self, picture: Pixels, sigma: float) -> Pixels:
        return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT), np.float32)
