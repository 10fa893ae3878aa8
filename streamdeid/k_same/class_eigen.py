"""k-SameClass-Eigen: the mean of the k nearest gallery faces with the probe's expression, as strong as the probe's.

Meng and Shenoy (P2), section 3; docs/methods.md 1.10. The probe's class and intensity are measured by a Fisherface; the
k nearest gallery faces of that class are averaged in the face space; then the probe's intensity is set anew. A wrong
class measured on an unseen probe is carried over as it is (P2 section 4.3).

This is not k-Same: faces are not taken out of the gallery once used, so probes with different neighbours get outputs
of their own, and each output carries one number of its probe, the intensity. The 1/k is what P2 measured for nearest
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

    All vectors are projections into one face space, all components with a non-zero eigenvalue (P2 figure 2). `along`
    is that of `set_intensity`: None for the least change, `face.expression_index()` for P2's equation (2). Probes may
    be gallery faces themselves ("seen"); k = 1 then returns them unchanged, which P2 plots as a control. Raises
    SettingsError when k is below 1 or above the size of either class, or when the arrays do not fit together.
    """
    inside = np.asarray(gallery_positive, dtype=np.bool_)
    if probes.ndim != 2 or gallery.ndim != 2 or probes.shape[1] != gallery.shape[1] or inside.shape != (len(gallery),):
        raise SettingsError("probes and gallery must be vectors of one length, with one class per gallery face")
    if not (np.isfinite(probes).all() and np.isfinite(gallery).all()):
        raise SettingsError("faces must be finite vectors, one per row")
    if k < 1:
        raise SettingsError(f"k must be at least 1, not {k}")
    for name, count in (("positive", int(inside.sum())), ("negative", int((~inside).sum()))):
        # Refused whether or not a probe needs this class, so that the answer does not depend on the probes.
        if count < k:
            raise SettingsError(f"the {name} class of the gallery has {count} faces, too few for k = {k}")
    means = np.empty_like(probes, dtype=np.float64)
    for row, positive in enumerate(face.positive(probes)):
        peers = gallery[inside == positive]
        means[row] = peers[np.argsort(distances(peers, probes[row]), kind="stable")[:k]].mean(axis=0)
    return set_intensity(means, face, face.intensity(probes), along)
