"""What is measured of one face in one frame, before anything is replaced."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import Fit, FitModel, fit
from streamdeid.aam.piecewise_affine import Pixels, Points, sample
from streamdeid.aam.pose import HeadPose, pose_of
from streamdeid.aam.procrustes import Similarity
from streamdeid.colour import rectangle_to_rgb
from streamdeid.deidentify.light import outside_skin
from streamdeid.deidentify.smoothing import FaceSmoother
from streamdeid.faces import Face
from streamdeid.frames import Planes
from streamdeid.ibug68 import JAW, LEFT_EYE, RIGHT_EYE

_SMALL = 96
"""Width in pixels that a face is reduced to for fit and light: half as wide again as their frame."""
_MARGIN = 0.22
"""Surroundings looked at for skin, share of the face's width."""


@dataclass(frozen=True)
class Observation:
    """A face with landmarks, seen in one frame."""

    points: Points
    """float64 (81, 2): smoothed vertices in pixels of the frame."""
    pose: HeadPose
    """Smoothed."""
    frontal: Points
    """float64 (81, 2): smoothed vertices in the model's frame, head pose undone."""
    iris: Points | None
    """float64 (2, 2): iris centres in pixels of the frame, smoothed with their eyes; None when not given."""
    small_texture: Pixels
    """float32 (f, 3): RGB in the fit's frame."""
    fit: Fit
    skin: Points | None
    """RGB (3,) of skin outside the hull, None where none is seen."""

    @property
    def width(self) -> float:
        """Width of the face in pixels of the frame."""
        return float(np.ptp(self.points[:, 0]))


class Observer:
    """Observes the face of one track from frame to frame (smoothing and the fit's warm start are its state)."""

    def __init__(self, fitting: FitModel) -> None:
        self._fitting = fitting
        self._smooth = FaceSmoother()
        self._correction: Points | None = None

    def __call__(self, planes: Planes, face: Face, time: float) -> Observation:
        """Observe a face with landmarks and forehead points in a picture at a time in seconds."""
        assert face.landmarks is not None and face.forehead is not None
        model = self._fitting.model
        raw = np.concatenate([face.landmarks, face.forehead])
        pose, frontal = self._smooth(*_posed(raw, model), time)
        points = pose.to_image(frontal, model.depth)
        iris = None
        if face.iris is not None:
            iris = np.stack(
                [
                    c + (points[e] - raw[e]).mean(axis=0)
                    for c, e in zip(face.iris[:, 0], (LEFT_EYE, RIGHT_EYE), strict=True)
                ]
            )
        reduced, to_reduced = reduced_face(planes, raw, _SMALL)
        places = to_reduced(raw)
        small = sample(reduced, places, self._fitting.table)
        start = frontal if self._correction is None else frontal + self._correction
        grey = np.asarray(cv2.cvtColor(reduced, cv2.COLOR_RGB2GRAY), np.uint8)
        fitted = fit(self._fitting, grey, to_reduced, pose, start)
        # Warm start: the last frame's correction of the landmarks is this frame's first guess.
        self._correction = 0.8 * (fitted.points - frontal) if fitted.converged else None
        skin = outside_skin(_surroundings(reduced, places), np.median(small, axis=0))
        return Observation(points, pose, frontal, iris, small, fitted, skin)


def reduced_face(planes: Planes, points: Points, width: float) -> tuple[NDArray[np.uint8], Similarity]:
    """RGB of the face's surroundings, reduced so that the face is at most `width` pixels wide, and the map into it."""
    across = float(np.ptp(points[:, 0]))
    low, high = points.min(axis=0) - _MARGIN * across, points.max(axis=0) + _MARGIN * across
    full = planes.size
    x0, y0 = (int(np.clip(v, 0, limit - 4)) & ~1 for v, limit in zip(low, full, strict=True))
    x1, y1 = (min(limit, max(o + 4, int(v) + 2)) for v, limit, o in zip(high, full, (x0, y0), strict=True))
    rgb = rectangle_to_rgb(planes, x0, y0, x1, y1, min(1.0, width / max(across, 1.0)))
    ratio = np.array([rgb.shape[1] / (x1 - x0), rgb.shape[0] / (y1 - y0)])
    return rgb, Similarity(np.diag(ratio), (0.5 - np.array([x0, y0])) * ratio - 0.5)


def _posed(points: Points, model: AppearanceModel) -> tuple[HeadPose, Points]:
    pose = pose_of(points, model)
    return pose, pose.to_frame(points, model.depth)


def _surroundings(image: NDArray[np.uint8], points: Points) -> Pixels:
    """Colours (n, 3) just outside the jaw and above the forehead."""
    centre = points.mean(axis=0)
    ring = np.concatenate([points[JAW][1:16], points[70:79]])
    places = np.concatenate([centre + (ring - centre) * reach for reach in (1.08, 1.13, 1.18)]).round().astype(int)
    height, width = image.shape[:2]
    seen = (places >= 0).all(axis=1) & (places[:, 0] < width) & (places[:, 1] < height)
    colours: Pixels = image[places[seen, 1], places[seen, 0]].astype(np.float32)
    return colours
