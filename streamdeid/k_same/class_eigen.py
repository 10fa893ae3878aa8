"""k-SameClass-Eigen: the mean of the k nearest gallery faces, with the probe's expression at the probe's intensity.

Meng and Shenoy (P2), section 3; docs/methods.md 1.10. A Fisherface measures the probe's class and intensity; the k
nearest gallery faces of that class are averaged in the face space; then the mean is set to the probe's intensity. If
the Fisherface measures a wrong class on an unseen probe, the output has that wrong class, too (P2 section 4.3).

This is not k-Same: a gallery face that was used stays in the gallery. So probes with different neighbours get different
outputs, and each output carries one number of its probe, the intensity. The 1/k is what P2 measured for nearest
neighbours in the face space, not a theorem.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.errors import SettingsError
from streamdeid.k_same.clusters import distances
from streamdeid.k_same.fisherface import Fisherface, set_intensity


def k_same_class_eigen(
    probes: Vectors,
    gallery: Vectors,
    gallery_positive: NDArray[np.bool_],
    k: int,
    face: Fisherface,
    *,
    along: Vector | None = None,
) -> Vectors:
    """De-identify probes (p, d) with a gallery (g, d) and its classes bool (g,): float64 (p, d), row for row.

    All vectors are projections into one face space that keeps all components with a non-zero eigenvalue (P2 figure 2).
    `along` is that of `set_intensity`: None for the least change, `face.expression_index()` for P2's equation (2).
    Probes may be gallery faces themselves ("seen"); k = 1 then returns them unchanged, which P2 plots as a control.
    Raises SettingsError when k is below 1 or above the size of either class, or when the arrays do not fit together.
    """
    inside = np.asarray(gallery_positive, dtype=np.bool_)
    if probes.ndim != 2 or gallery.ndim != 2 or probes.shape[1] != gallery.shape[1] or inside.shape != (len(gallery),):
        raise SettingsError("probes and gallery must be vectors of one length, with one class per gallery face")
    if not (np.isfinite(probes).all() and np.isfinite(gallery).all()):
        raise SettingsError("faces must be finite vectors, one per row")
    if k < 1:
        raise SettingsError(f"k must be at least 1, not {k}")
    for name, count in (("positive", int(inside.sum())), ("negative", int((~inside).sum()))):
        # This is refused whether or not a probe needs the class, so that the answer does not depend on the probes.
        if count < k:
            raise SettingsError(f"the {name} class of the gallery has {count} faces, too few for k = {k}")
    means = np.empty_like(probes, dtype=np.float64)
    for row, positive in enumerate(face.positive(probes)):
        peers = gallery[inside == positive]
        means[row] = peers[np.argsort(distances(peers, probes[row]), kind="stable")[:k]].mean(axis=0)
    return set_intensity(means, face, face.intensity(probes), along)
