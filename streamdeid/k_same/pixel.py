"""k-Same-Pixel: neighbours are found in the set's own face space, and their original images are averaged.

Newton, Sweeney, Malin 2005 (P5), figure 4, rebuilt from its text in docs/methods.md 1.5. The face space is trained on
the very set that is to be published (line 1). Triggers come in a random order; a trigger and its nearest faces that are
not yet done become their mean. The last group has k to 2k − 1 members (line 5). At least k faces share an output, so
within one set in which each person appears once no recogniser names its subject with a probability above 1/k.
`k_same_eigen` shares all of this but the mean. With every component kept the two are one map, because the mean is
linear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.pca import Components, principal_components
from streamdeid.core.arrays import Vectors
from streamdeid.errors import SettingsError
from streamdeid.k_same.clusters import check_faces
from streamdeid.k_same.m import k_same_m_groups


@dataclass(frozen=True)
class FaceSpace:
    """The eigenfaces of a set, and its projections onto them: the result of P5's Setup(H, H) (its figure 3)."""

    components: Components
    """Mean (N,) and orthonormal basis (c, N); c = 0 when all images are equal."""
    projections: Vectors
    """float64 (n, c)."""


def k_same_pixel(
    images: Vectors | NDArray[np.uint8], k: int, rng: np.random.Generator, components: int | None = None
) -> Vectors:
    """De-identify a closed set of images: (n, N) grey levels, float64 or uint8 → float64 (n, N), row for row.

    Needs n ≥ k ≥ 2. `components` is the number of eigenfaces by which faces are compared; None keeps all with an
    eigenvalue above zero. Raises SettingsError.
    """
    pixels, _, groups = face_space_groups(images, k, rng, components)
    outputs = np.empty_like(pixels)
    for group in groups:
        outputs[list(group)] = pixels[list(group)].mean(axis=0)
    return outputs


def face_space_groups(
    images: Vectors | NDArray[np.uint8], k: int, rng: np.random.Generator, components: int | None = None
) -> tuple[Vectors, FaceSpace, tuple[tuple[int, ...], ...]]:
    """The start of both algorithms: the images as float64 (n, N), their face space, and the groups of rows.

    The groups are those of `k_same_m` on the projections: disjoint, complete, of k to 2k − 1 members. Raises
    SettingsError.
    """
    pixels = np.asarray(images, dtype=np.float64)
    check_faces(pixels, k, least=k)
    if components is not None and components < 1:
        raise SettingsError(f"a face space needs at least 1 component, not {components}")
    found = principal_components(pixels, most=components)
    space = FaceSpace(found, (pixels - found.mean) @ found.basis.T)
    # Equal images span no space. All their distances are 0, and so they are along one axis of zeros.
    seen = space.projections if len(found.basis) else np.zeros((len(pixels), 1))
    return pixels, space, k_same_m_groups(seen, k, rng)
