"""A6, known plaintext: some people of a session are the attacker's friends, and he sees what became of them."""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Vectors
from streamdeid.k_same.clusters import pairwise
from streamdeid.lab.attacks.inversion import inverted

INSIDERS = (1, 5, 20, 50)


def any_shift(published: Vectors, gallery: Vectors, insiders_seen: Vectors, insiders_published: Vectors) -> Vectors:
    """Distances (p, g) when any insider's shift may be everybody's: P + (y_s − P_s) for each insider s."""
    return inverted(published, gallery, insiders_seen - insiders_published)


def nearest_shift(published: Vectors, gallery: Vectors, insiders_seen: Vectors, insiders_published: Vectors) -> Vectors:
    """Distances (p, g) to what each gallery person would become with the shift of the nearest insider."""
    nearest = pairwise(gallery, insiders_seen).argmin(axis=1)
    return pairwise(published, gallery + (insiders_published - insiders_seen)[nearest])


def rotation(published: Vectors, gallery: Vectors, insiders_seen: Vectors, insiders_published: Vectors) -> Vectors:
    """Distances (p, g) after the rotation that fits the insiders best (orthogonal Procrustes, Schönemann 1966).

    It is known only along as many directions as there are insiders but one, so that only those are compared; with a
    single insider everything is equally near.
    """
    centre, image = insiders_seen.mean(axis=0), insiders_published.mean(axis=0)
    left, singular, right = np.linalg.svd((insiders_seen - centre).T @ (insiders_published - image))
    rank = int((singular > 1e-9 * max(float(singular[0]), 1e-300)).sum())
    return pairwise((published - image) @ right[:rank].T, (gallery - centre) @ left[:, :rank])
