"""Slow literal twins of k-Same-Pixel, k-Same-Eigen, k-SameClass-Eigen, the Fisherface and P5's masks.

The papers' pseudo-code as rebuilt in docs/methods.md 1.5 and 1.10, on lists, with numpy for eigenvectors only. They
share no code with `streamdeid`, and go the papers' own way: the covariance of all pixels instead of the small matrix,
the eigenvectors of S_W⁻¹ S_B instead of one linear system.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats

Point = list[float]


def setup(images: Floats, components: int | None) -> tuple[list[Point], Point, list[Point]]:
    """P5 figure 3 a: (facespace, mean, eigenvectors), by AAᵀ as in P2 figure 2."""
    faces = images.tolist()
    mean = average(faces)
    scatter = [
        [sum((f[i] - mean[i]) * (f[j] - mean[j]) for f in faces) for j in range(len(mean))] for i in range(len(mean))
    ]
    values, vectors = np.linalg.eigh(np.array(scatter))
    order = [i for i in range(len(mean) - 1, -1, -1) if values[i] > values[-1] * 1e-9]
    basis = [vectors[:, i].tolist() for i in order[:components]]
    return [project(face, mean, basis) for face in faces], mean, basis


def k_same(images: Floats, k: int, order: Sequence[int], components: int | None, *, eigen: bool) -> Floats:
    """P5 figure 4 with the triggers tried in the given order."""
    facespace, mean, basis = setup(images, components)
    faces = images.tolist()
    left = list(range(len(faces)))
    out: dict[int, Point] = {}
    while left:
        trigger = next(i for i in order if i in left)
        match = sorted(left, key=lambda i: math.dist(facespace[i], facespace[trigger]))
        if len(left) < 2 * k:
            k = len(left)
        closest = match[:k]
        if eigen:
            point = average([facespace[i] for i in closest])
            mixed = [m + sum(p * v[i] for p, v in zip(point, basis, strict=True)) for i, m in enumerate(mean)]
        else:
            mixed = average([faces[i] for i in closest])
        for i in closest:
            out[i] = mixed
            left.remove(i)
    return np.array([out[i] for i in range(len(faces))])


def fisherface(vectors: Floats, positive: NDArray[np.bool_], shrinkage: float) -> Floats:
    """P2 figure 4 with (1 − γ) S_W + γ tr(S_W) / d · I: the unit eigenvector, positive class upwards."""
    groups = [vectors[positive].tolist(), vectors[~positive].tolist()]
    total = average(vectors.tolist())
    size = len(total)
    within = np.zeros((size, size))
    between = np.zeros((size, size))
    for group in groups:
        mean = average(group)
        for x in group:
            within += np.outer(np.subtract(x, mean), np.subtract(x, mean))
        between += len(group) * np.outer(np.subtract(mean, total), np.subtract(mean, total))
    within = (1.0 - shrinkage) * within + shrinkage * np.trace(within) / size * np.eye(size)
    values, columns = np.linalg.eig(np.linalg.inv(within) @ between)
    top = np.real(columns[:, int(np.argmax(np.real(values)))])
    top = top / math.sqrt(sum(t * t for t in top))
    up = sum(t * (a - b) for t, a, b in zip(top, average(groups[0]), average(groups[1]), strict=True))
    return np.asarray(top if up > 0.0 else -top)


def equation_2(vector: Point, weights: Point, offset: float, target: float) -> Point:
    """P2's printed change of the expression index; v(i) is the i-th term of the projection."""
    terms = [w * x for w, x in zip(weights, vector, strict=True)]
    index = max(range(len(weights)), key=lambda i: abs(weights[i]))
    new_term = (target + offset) - sum(terms) + terms[index]
    return [new_term / weights[index] if i == index else x for i, x in enumerate(vector)]


def k_same_class_eigen(
    probes: Floats, gallery: Floats, positive: Sequence[bool], k: int, weights: Point, offset: float
) -> Floats:
    """P2 section 3, with equation (2)."""
    result = []
    for probe in probes.tolist():
        intensity = sum(w * x for w, x in zip(weights, probe, strict=True)) - offset
        peers = [
            face for face, is_positive in zip(gallery.tolist(), positive, strict=True) if is_positive == (intensity > 0)
        ]
        mixed = average(sorted(peers, key=lambda face: math.dist(face, probe))[:k])
        result.append(equation_2(mixed, weights, offset, intensity))
    return np.array(result)


def pixelated(image: Floats, block: int) -> Floats:
    """Every pixel becomes the mean of the block it lies in."""
    height, width = image.shape
    result = np.empty_like(image)
    for row in range(height):
        for column in range(width):
            top, left = row // block * block, column // block * block
            inside = [
                image[r, c] for r in range(top, min(top + block, height)) for c in range(left, min(left + block, width))
            ]
            result[row, column] = sum(inside) / len(inside)
    return result


def average(points: Sequence[Point]) -> Point:
    """The mean of some points."""
    return [sum(values) / len(points) for values in zip(*points, strict=True)]


def project(face: Point, mean: Point, basis: Sequence[Point]) -> Point:
    """P5 figure 3 b, line 1."""
    return [sum(v * (x - m) for v, x, m in zip(vector, face, mean, strict=True)) for vector in basis]
