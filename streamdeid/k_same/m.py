"""k-Same-M: every face becomes the mean of its group of nearest faces in the model's parameter space.

Gross, Sweeney, de la Torre, Baker 2006, after Newton, Sweeney, Malin 2005 (P5) fig. 4; docs/methods.md 1.5 and 1.6. At
least k faces share an output. So within one set in which each person appears once, no recogniser names the subject of
an output with a probability above 1/k.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.k_same.clusters import check_faces, distances


def k_same_m(faces: Vectors, k: int, rng: np.random.Generator) -> Vectors:
    """De-identify a closed set: float64 (n, d) of faces → float64 (n, d), row for row.

    Needs n ≥ k ≥ 2; the last group has k to 2k − 1 members. Raises SettingsError.
    """
    outputs = np.empty_like(faces, dtype=np.float64)
    for group in k_same_m_groups(faces, k, rng):
        outputs[list(group)] = faces[list(group)].mean(axis=0)
    return outputs


def k_same_m_groups(faces: Vectors, k: int, rng: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    """The groups behind `k_same_m`, as rows of `faces`: disjoint, complete, of k to 2k − 1 members."""
    check_faces(faces, k, least=k)
    groups: list[tuple[int, ...]] = []
    free = list(range(len(faces)))
    for trigger in (int(row) for row in rng.permutation(len(faces))):
        if trigger not in free:
            continue
        # Another group of k would leave fewer than k faces over, so all of them join this one.
        size = len(free) if len(free) < 2 * k else k
        order = np.argsort(distances(faces[free], faces[trigger]), kind="stable")
        # The trigger comes first, even when another face equals it and has a smaller row number.
        ranked = [trigger, *(free[i] for i in order if free[i] != trigger)]
        groups.append(tuple(ranked[:size]))
        free = [row for row in free if row not in groups[-1]]
    return tuple(groups)
