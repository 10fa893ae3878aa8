"""k-Same-furthest: two clusters that do not overlap exchange their centroids (Meng and Sun 2014, fig. 2).

This is the pseudo-code as repaired in docs/methods.md 1.7. An output is a centroid shared by at least k faces, and in
the metric of `faces` it is never nearest to its own original (their theorem 3). The theorem also holds for the members
that joined after the growing had stopped, and for the remainder.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.k_same.clusters import Pair, check_faces, cluster_of, distances, furthest, grow_in_turn


def k_same_furthest(faces: Vectors, k: int, rng: np.random.Generator) -> Vectors:
    """De-identify a closed set: float64 (n, d) of faces → float64 (n, d), row for row.

    Needs n ≥ 2k, k ≥ 2 (SettingsError). There is no relaxed test here: the proof of theorem 3 needs D > r_c + r_f.
    """
    outputs = np.empty_like(faces, dtype=np.float64)
    for pair in k_same_furthest_pairs(faces, k, rng):
        outputs[[*pair.close.members, *pair.attached_close]] = pair.far.centroid
        outputs[[*pair.far.members, *pair.attached_far]] = pair.close.centroid
    return outputs


def k_same_furthest_pairs(faces: Vectors, k: int, rng: np.random.Generator) -> tuple[Pair, ...]:
    """The pairs behind `k_same_furthest`: each side has k faces; the last pair's sides have 2k to 4k − 1 together."""
    check_faces(faces, k, least=2 * k)
    pairs: list[Pair] = []
    free = list(range(len(faces)))
    for trigger in (int(row) for row in rng.permutation(len(faces))):
        if trigger not in free:
            continue
        if len(free) < 2 * k:
            pairs[-1] = _with_remainder(faces, pairs[-1], trigger)
            free.remove(trigger)
            continue
        free.remove(trigger)
        first_far = furthest(faces, free, faces[trigger])
        free.remove(first_far)
        close, far = grow_in_turn(faces, free, cluster_of(faces, (trigger,)), cluster_of(faces, (first_far,)), k)
        free = [row for row in free if row not in close.members and row not in far.members]
        # "Calculated using only members added before overlapping": filling up to k does not change the centroids.
        fill_far = _nearest_few(faces, free, far.centroid, k - len(far.members))
        free = [row for row in free if row not in fill_far]
        fill_close = _nearest_few(faces, free, close.centroid, k - len(close.members))
        free = [row for row in free if row not in fill_close]
        pairs.append(Pair(close, far, fill_close, fill_far))
    return tuple(pairs)


def _nearest_few(faces: Vectors, among: list[int], point: Vectors, count: int) -> tuple[int, ...]:
    if count == 0:
        return ()
    order = np.argsort(distances(faces[among], point), kind="stable")[:count]
    return tuple(among[i] for i in order)


def _with_remainder(faces: Vectors, pair: Pair, row: int) -> Pair:
    """Attach one of the faces left at the end, fewer than 2k, to the side that it is nearer to.

    Its output is then the mean that is farther away.
    """
    to_close, to_far = distances(np.stack([pair.close.centroid, pair.far.centroid]), faces[row])
    if to_far > to_close:
        return Pair(pair.close, pair.far, (*pair.attached_close, row), pair.attached_far)
    return Pair(pair.close, pair.far, pair.attached_close, (*pair.attached_far, row))
