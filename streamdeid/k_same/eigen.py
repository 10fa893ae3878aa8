"""k-Same-Eigen: like k-Same-Pixel, but the projections are averaged and their mean is lifted back to an image.

Newton, Sweeney, Malin 2005 (P5), figure 4 with column 2 of the face space in line 6; docs/methods.md 1.5. With fewer
`components` than the set has, the picture is smoother and shows fewer ghosts. With all of them the lifted mean of the
projections *is* the mean of the images. In P5 the two differ (by 0.0017 in recognition) only because its face space is
cut short.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.k_same.pixel import face_space_groups


def k_same_eigen(
    images: Vectors | NDArray[np.uint8], k: int, rng: np.random.Generator, components: int | None = None
) -> Vectors:
    """De-identify a closed set of images: (n, N) grey levels, float64 or uint8 → float64 (n, N), row for row.

    Needs n ≥ k ≥ 2. `components` is the number of eigenfaces with which faces are compared and rendered; None keeps all
    with an eigenvalue above zero. Grey levels may lie a little outside 0 to 255 when components are left out. Raises
    SettingsError.
    """
    pixels, space, groups = face_space_groups(images, k, rng, components)
    outputs = np.empty_like(pixels)
    for group in groups:
        # The mean is lifted once and copied, so that the k outputs are equal to the last bit.
        mean = space.projections[list(group)].mean(axis=0)
        outputs[list(group)] = space.components.mean + mean @ space.components.basis
    return outputs
