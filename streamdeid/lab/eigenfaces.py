"""Eigenfaces: the recogniser with which the papers measure themselves (P5 fig. 3; P2 fig. 2; docs/methods.md 1.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.pca import principal_components
from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError

METRICS = ("euclidean", "mahalanobis")

_NEAR = 1e-4
"""Squared distance over squared lengths below which the product form loses digits; such pairs are subtracted."""


@dataclass(frozen=True)
class Eigenfaces:
    """A face space: mean (d,), orthonormal basis (c, d), variances (c,) descending, with 1/(n - 1), none of them zero.

    P2 leaves the 1/n out of C = AAᵀ; directions and nearest neighbours are the same.
    """

    mean: Floats
    basis: Floats
    variances: Floats

    @staticmethod
    def train(faces: NDArray[np.generic], components: int | None = None) -> Eigenfaces:
        """The face space of faces (n, d), images or vectors; only the `components` most important axes if given.

        Decomposes the n x n matrix and lifts its eigenvectors, since faces have more pixels than a set has faces.
        Equal faces have no axes: (0, d). Raises SettingsError for fewer than two faces or less than one component.
        """
        rows = _rows(faces)
        if len(rows) < 2:
            raise SettingsError(f"eigenfaces need at least two faces, not {len(rows)}")
        if components is not None and components < 1:
            raise SettingsError(f"eigenfaces need at least one component, not {components}")
        found = principal_components(rows, most=components)
        return Eigenfaces(found.mean, found.basis, found.variances)

    def project(self, faces: NDArray[np.generic]) -> Floats:
        """Coordinates (n, c) of faces (n, d). Raises SettingsError for faces of another length."""
        return np.asarray((_rows(faces, len(self.mean)) - self.mean) @ self.basis.T, dtype=np.float64)

    def restore(self, coordinates: Floats) -> Floats:
        """Faces (n, d) of coordinates (n, c)."""
        return np.asarray(self.mean + coordinates @ self.basis, dtype=np.float64)

    def distances(self, probes: NDArray[np.generic], gallery: NDArray[np.generic], metric: str = "euclidean") -> Floats:
        """Distances (p, g) in the face space between probes (p, d) and gallery (g, d), float64.

        "mahalanobis" divides squared differences by the variances. Equal faces get equal distances to the last bit,
        so that ties stay ties. Raises SettingsError for another metric or faces of another length.
        """
        if metric not in METRICS:
            raise SettingsError(f"a metric is one of {', '.join(METRICS)}, not {metric}")
        scale = np.sqrt(self.variances) if metric == "mahalanobis" else np.ones(len(self.variances))
        # A matrix product may round equal rows differently by where they stand: each different face goes through once.
        rows, of = _different(np.concatenate([_rows(faces, len(self.mean)) for faces in (probes, gallery)]))
        places = self.project(rows) / scale
        probe_rows, probe_of = np.unique(of[: len(probes)], return_inverse=True)
        gallery_rows, gallery_of = np.unique(of[len(probes) :], return_inverse=True)
        between = _between(places[probe_rows], places[gallery_rows])
        return np.asarray(between[np.ix_(probe_of, gallery_of)], dtype=np.float64)


def _rows(faces: NDArray[np.generic], length: int | None = None) -> Floats:
    """Faces as finite float64 (n, d), d = length if given. Raises SettingsError."""
    rows = np.asarray(faces, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise SettingsError("faces must be finite vectors, one per row")
    if length is not None and rows.shape[1] != length:
        raise SettingsError(f"faces have {rows.shape[1]} values, the face space {length}")
    return rows


def _different(rows: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The different rows (m, d) in order of appearance, and which of them each row is (n,)."""
    number: dict[bytes, int] = {}
    of = np.array([number.setdefault(row.tobytes(), len(number)) for row in rows + 0.0], np.intp)  # + 0.0: no -0.0
    return rows[np.unique(of, return_index=True)[1]], of


def _between(a: Floats, b: Floats) -> Floats:
    """Euclidean distances (n, m) between the rows of a (n, c) and b (m, c), zero for equal rows."""
    lengths = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)[None, :]
    squares = lengths - 2.0 * (a @ b.T)
    near = squares <= _NEAR * lengths
    for row in np.flatnonzero(near.any(axis=1)):
        squares[row, near[row]] = np.square(b[near[row]] - a[row]).sum(axis=1)
    return np.asarray(np.sqrt(squares), dtype=np.float64)
