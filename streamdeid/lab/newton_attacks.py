"""The three attacks of Newton, Sweeney and Malin on a de-identified set (P5 section 5.2; docs/methods.md 1.4).

Row i of every set is the same person, and gallery and probes hold the same people and the same photographs: the
attacker's best case, on purpose. With nothing de-identified all three recognise everybody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamdeid.errors import SettingsError
from streamdeid.lab.eigenfaces import Eigenfaces
from streamdeid.lab.identification import identified

Faces = NDArray[np.generic]
"""Images or vectors, one person per row."""


def naive(
    originals: Faces, outputs: Faces, metric: str = "euclidean", components: int | None = None
) -> NDArray[np.bool_]:
    """Outputs (n, d) shown to a recogniser that knows the originals (n, d) only: hits, bool (n,).

    Trained on originals, gallery of originals, probes are outputs. metric, components: as in `Eigenfaces`. Raises
    SettingsError for sets of different shapes, fewer than two faces, or values that are not finite.
    """
    return _hits(originals, gallery=originals, probes=outputs, metric=metric, components=components)


def reverse(
    originals: Faces,
    outputs: Faces,
    metric: str = "euclidean",
    components: int | None = None,
    *,
    trained_on_outputs: bool = False,
) -> NDArray[np.bool_]:
    """Originals (n, d) looked up among the outputs (n, d), by an attacker who wants the one-to-one map: bool (n,).

    Gallery of outputs, probes are originals. P5 does not say what the space is trained on: the originals, which the
    attacker holds; or with `trained_on_outputs` the gallery, as "alterations ... dispersed through some number of
    principal components" may be read. Raises SettingsError as `naive`.
    """
    training = outputs if trained_on_outputs else originals
    return _hits(training, gallery=outputs, probes=originals, metric=metric, components=components)


def parrot(
    gallery_outputs: Faces, probe_outputs: Faces, metric: str = "euclidean", components: int | None = None
) -> NDArray[np.bool_]:
    """Outputs (n, d) looked up among the attacker's own de-identified photographs (n, d): hits, bool (n,).

    Training, gallery and probes are all de-identified. The attacker holds the originals and does to them what was done:
    a deterministic method gives him the probes themselves, one that draws gives another draw. Raises as `naive`.
    """
    return _hits(gallery_outputs, gallery=gallery_outputs, probes=probe_outputs, metric=metric, components=components)


def _hits(training: Faces, *, gallery: Faces, probes: Faces, metric: str, components: int | None) -> NDArray[np.bool_]:
    """Rank-1 of row i of the probes against row i of the gallery: bool (n,)."""
    if gallery.shape != probes.shape:
        raise SettingsError(f"gallery {gallery.shape} and probes {probes.shape} must hold the same people")
    people = np.arange(len(gallery))
    distances = Eigenfaces.train(training, components).distances(probes, gallery, metric)
    return identified(distances, people, people)
