"""k-Diff-furthest: two clusters that do not overlap exchange places, and each face keeps its own residual.

Sun, Meng and Ariyaeeinia, fig. 2, as repaired in docs/methods.md 1.8. With Δ = c_c − c_f, faces of the close cluster
become Λ − Δ and faces of the far one Λ + Δ (lines 30 to 38). All outputs differ, and in the metric of `faces` the
output of a core member is never nearest to its own original (theorem 1). Other metrics undo the shift; `--method
k-diff-furthest` is therefore not this file, but `surrogates/choice.py`, which samples the residual with a key.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from streamdeid.core.arrays import Vector, Vectors
from streamdeid.k_same.clusters import Pair, check_faces, cluster_of, distances, furthest, grow_in_step

_TRIES = 64


def k_diff_furthest(
    faces: Vectors, k: int, rng: np.random.Generator, *, relaxed: bool = False, singles: bool = False
) -> Vectors:
    """De-identify a closed set: float64 (n, d) of faces → float64 (n, d), row for row.

    Needs n ≥ 2 and k ≥ 2 (SettingsError). `relaxed` stops the growing at D² ≤ r_c² + r_f², which is all that the proof
    needs, and gives larger clusters. With `singles` the last two faces may form a pair alone and swap identities, as in
    the paper's first experiment. Otherwise they join the last pair (lines 23 to 29), and the certificate chooses their
    outputs.
    """
    outputs = np.empty_like(faces, dtype=np.float64)
    for pair in k_diff_furthest_pairs(faces, k, rng, relaxed=relaxed, singles=singles):
        shift = pair.close.centroid - pair.far.centroid
        outputs[list(pair.close.members)] = faces[list(pair.close.members)] - shift
        outputs[list(pair.far.members)] = faces[list(pair.far.members)] + shift
        leftovers = [*pair.attached_close, *pair.attached_far]
        for place, row in enumerate(leftovers):
            outputs[row] = _leftover_output(faces, row, pair, rng, outputs[leftovers[:place]])
    return outputs


def k_diff_furthest_pairs(
    faces: Vectors, k: int, rng: np.random.Generator, *, relaxed: bool = False, singles: bool = False
) -> tuple[Pair, ...]:
    """The pairs behind `k_diff_furthest`: disjoint and complete; at most two faces are attached, to the last pair."""
    check_faces(faces, k, least=2)
    pairs: list[Pair] = []
    free = list(range(len(faces)))
    for trigger in (int(row) for row in rng.permutation(len(faces))):
        if trigger not in free:
            continue
        # Line 6 needs a furthest face. If n is odd, one face may be left alone; it must not be published unchanged.
        if len(free) == 1 or (len(free) == 2 and not singles and pairs):
            for row in free:
                pairs[-1] = _attach(faces, pairs[-1], row)
            break
        free.remove(trigger)
        first_far = furthest(faces, free, faces[trigger])
        free.remove(first_far)
        close, far = grow_in_step(
            faces, free, cluster_of(faces, (trigger,)), cluster_of(faces, (first_far,)), k, relaxed=relaxed
        )
        free = [row for row in free if row not in close.members and row not in far.members]
        pairs.append(Pair(close, far))
    return tuple(pairs)


def certificate_margin(faces: Vectors, row: int, output: Vector) -> float:
    """How much nearer to an output the nearest other face is than the output's original; theorem 1 holds if positive.

    |Λ_i − Λ_d| − min over j ≠ i of |Λ_j − Λ_d|, in the units of `faces`.
    """
    to_all = distances(faces, output)
    return float(to_all[row] - np.delete(to_all, row).min())


def _attach(faces: Vectors, pair: Pair, row: int) -> Pair:
    """Attach a leftover face to the side that it is nearer to (lines 23 to 29).

    The centroids of the cores do not change, so the theorem still holds for core members. The printed lines test Λ_i,
    the trigger, which left M long before; the text means each remaining face.
    """
    to_close, to_far = distances(np.stack([pair.close.centroid, pair.far.centroid]), faces[row])
    if to_close > to_far:
        return replace(pair, attached_far=(*pair.attached_far, row))
    return replace(pair, attached_close=(*pair.attached_close, row))


def _leftover_output(faces: Vectors, row: int, pair: Pair, rng: np.random.Generator, before: Vectors) -> Vector:
    """The output of a leftover face: it is shifted to the side with the larger certificate margin.

    The theorem does not cover leftovers (0.4 % in the paper), so the certificate itself decides. If neither shift
    passes, the output is the centroid that is farther from the face plus a sampled residual: the difference of two
    other faces, scaled by 1/√2 to the spread of one face and shrunk until the certificate holds. Two leftovers with the
    same difference would get one output, so an output in `before` (m, d) is not given again. If no residual passes, the
    centroid is returned.
    """
    shift = pair.close.centroid - pair.far.centroid
    best = max((faces[row] - shift, faces[row] + shift), key=lambda out: certificate_margin(faces, row, out))
    if certificate_margin(faces, row, best) > 0.0:
        return np.asarray(best, dtype=np.float64)
    from_close, from_far = distances(np.stack([pair.close.centroid, pair.far.centroid]), faces[row])
    other = pair.far.centroid if from_far > from_close else pair.close.centroid
    others = [i for i in range(len(faces)) if i != row]
    for attempt in range(_TRIES):
        a, b = rng.choice(others, 2, replace=len(others) < 2)
        output = other + (faces[a] - faces[b]) * np.sqrt(0.5) * (1.0 - attempt / _TRIES)
        if certificate_margin(faces, row, output) > 0.0 and not (before == output).all(axis=1).any():
            return np.asarray(output, dtype=np.float64)
    return other
