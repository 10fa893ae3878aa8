"""Meshes of the landmark model, as simple as a test needs them."""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Points


def mesh_in(box: tuple[float, float, float, float]) -> Points:
    """A mesh (478, 3) that fills a box, pixels, from corner to corner."""
    mesh = np.zeros((478, 3))
    mesh[:, 0], mesh[:, 1] = np.linspace(box[0], box[2], 478), np.linspace(box[1], box[3], 478)
    return mesh
