"""What mediapipe's graphs say of drawn faces: stored, since mediapipe has few Pythons, and asked anew where it runs.

    python -m tests.detection.graph_reference

writes `graph_reference.npz` beside this file, where mediapipe 0.10.18 is installed (Python 3.12 at most, NumPy 1.26,
OpenCV 4.11; that is what wrote the one that is there). It holds numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Pixels
from streamdeid.detection.mediapipe_graphs import DetectionGraph, LandmarkGraph
from streamdeid.detection.region import LandmarkRegion
from streamdeid.surrogates.models import load_models
from tests import drawn_faces

SIZES = ((192, 192), (384, 216), (384, 163), (215, 384), (192, 100), (301, 260))
"""Of the pictures in which faces are found, (width, height)."""
FILE = Path(__file__).with_suffix(".npz")
Detect = Callable[[NDArray[np.uint8]], tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]
FindMesh = Callable[[NDArray[np.uint8], LandmarkRegion], tuple[NDArray[np.float64] | None, float]]


def portrait(model: AppearanceModel, seed: int, width: float, size: tuple[int, int]) -> Pixels:
    """A drawn person's face, `width` pixels wide, in the middle of a picture of a size (width, height)."""
    shape, texture = model.decode(drawn_faces.some_identity(model, seed, 0.7))
    pose = drawn_faces.pose_at(model, width, (size[0] / 2, size[1] / 2))
    drawn = drawn_faces.scene(model, shape, texture, pose, size)
    return np.ascontiguousarray(drawn.rgb)


def detected(model: AppearanceModel, detect: Detect, size: tuple[int, int]) -> list[NDArray[np.float64]]:
    """What a detector finds in each of four pictures: (n, 17), box, six points and score, the surest first."""
    pictures = (portrait(model, seed, min(size) / (2 + seed / 2), size) for seed in range(4))
    found = (detect(picture) for picture in pictures)
    return [np.column_stack([boxes, points.reshape(-1, 12), scores]) for boxes, points, scores in found]


def regions() -> Iterator[tuple[int, LandmarkRegion]]:
    """Seeds of portraits, 110 pixels wide in 320 x 300, and regions about them, beyond the picture's border too."""
    random = np.random.default_rng(5)
    for seed in range(6):
        side = 110 * 1.5 * random.uniform(0.6, 1.3)
        centre = 160 + 40 * random.normal(), 165 + 40 * random.normal()
        yield seed, LandmarkRegion(centre, side, 0.4 * random.normal())


def meshes(model: AppearanceModel, find: FindMesh) -> Iterator[tuple[LandmarkRegion, NDArray[np.float64], float]]:
    """Each region, and the mesh (478, 3) and presence that are found there."""
    for seed, region in regions():
        mesh, presence = find(portrait(model, seed, 110, (320, 300)), region)
        assert mesh is not None
        yield region, mesh, presence


def _write() -> None:
    model = load_models().fitting.model
    detect, find = DetectionGraph(0.1), LandmarkGraph()
    told = {f"{size} {i}": rows for size in SIZES for i, rows in enumerate(detected(model, detect, size))}
    found = list(meshes(model, find))
    told["meshes"] = np.array([mesh for _, mesh, _ in found])
    told["presence"] = np.array([presence for _, _, presence in found])
    np.savez_compressed(FILE, **{name: rows.astype(np.float32) for name, rows in told.items()})


if __name__ == "__main__":
    _write()
