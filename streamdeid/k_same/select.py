"""k-Same-Select: a closed-set algorithm inside each utility class, so that outputs keep the class.

Gross, Airoldi, Malin, Sweeney 2005, as described by P1 section II.B and P4 (docs/methods.md 1.6): a label (gender,
expression) splits the set, and k-Same runs in each part. P4 compares itself with the AAM version, "k-Same-M-Select",
which is the default here. The labels come from the caller, who may have them from a classifier; `attributes.leakage`
gives the price of publishing them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.errors import SettingsError
from streamdeid.k_same.clusters import check_faces
from streamdeid.k_same.m import k_same_m

ClosedSet: TypeAlias = Callable[[Vectors, int, np.random.Generator], Vectors]
"""(faces (n, d), k, generator) → outputs (n, d): k_same_m, k_same_pixel, k_same_furthest, k_diff_furthest …"""


def k_same_select(
    faces: Vectors,
    labels: Sequence[str] | NDArray[np.str_] | NDArray[np.int_] | NDArray[np.bool_],
    k: int,
    rng: np.random.Generator,
    algorithm: ClosedSet = k_same_m,
) -> Vectors:
    """De-identify each class on its own: float64 (n, d) and a label per row → float64 (n, d), row for row.

    Every class needs k members, or as many as `algorithm` asks for. Each class, in the order of the sorted labels, has
    its own generator spawned from `rng`, so the outputs of one class depend on no other class's faces. Raises
    SettingsError, which names the class, when a class is too small; also when labels and faces differ in number.
    """
    check_faces(faces, k, least=k)
    tags = np.asarray(labels)
    if tags.shape != (len(faces),):
        raise SettingsError(f"{len(faces)} faces need one label each, not labels of shape {tags.shape}")
    classes, counts = np.unique(tags, return_counts=True)
    for name, count in zip(classes, counts, strict=True):
        if count < k:
            raise SettingsError(f"class {str(name)!r} has {count} faces, too few for k = {k}")
    outputs = np.empty_like(faces, dtype=np.float64)
    for name, child in zip(classes, rng.spawn(len(classes)), strict=True):
        rows = np.flatnonzero(tags == name)
        try:
            outputs[rows] = algorithm(faces[rows], k, child)
        except SettingsError as error:
            raise SettingsError(f"class {str(name)!r}: {error}") from error
    return outputs
