"""The attacker of P5 section 5.2 on images, with one face space trained once (docs/methods.md 1.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.lab.eigenfaces import Eigenfaces
from streamdeid.lab.identification import identified
from streamdeid.lab.newton_attacks import parrot


@dataclass(frozen=True)
class Shares:
    """Shares of people recognised by the three attacks."""

    naive: float
    reverse: float
    parrot: float


@dataclass(frozen=True)
class Attacker:
    """Who holds originals and a face space trained on them: `newton_attacks`, but trained once for all masks."""

    space: Eigenfaces
    coordinates: NDArray[np.float64]
    """Of the originals in the space (n, c)."""

    def attack(self, outputs: Floats, again: Floats | None = None) -> Shares:
        """Recognition of masked images (n, rows, columns) by naive, reverse and parrot.

        `again` is what the attacker gets when he masks the originals himself; the same when left out. The reverse
        attack is trained on the originals, which the attacker holds.
        """
        masked = flat(outputs)
        own = masked if again is None else flat(again)
        there = _projected(self.space, masked)
        forth, back = self._share(self.coordinates, there), self._share(there, self.coordinates)
        return Shares(forth, back, float(parrot(own, masked).mean()))

    def naive_in(self, outputs: Floats, metric: str, components: int | None) -> float:
        """Share recognised by the naive attack with another metric, or by the leading components only."""
        return self._share(self.coordinates, _projected(self.space, flat(outputs)), metric, components)

    def _share(
        self, gallery: Floats, probes: Floats, metric: str = "euclidean", components: int | None = None
    ) -> float:
        """Share of probes whose nearest gallery face is their own, in coordinates (n, c); ties are missed."""
        variances = self.space.variances[:components]
        space = Eigenfaces(np.zeros(len(variances)), np.eye(len(variances)), variances)
        people = np.arange(len(gallery))
        distances = space.distances(probes[:, :components], gallery[:, :components], metric)
        return float(identified(distances, people, people).mean())


def attacker_on(images: Floats) -> Attacker:
    """The attacker who holds these images (n, rows, columns)."""
    space = Eigenfaces.train(flat(images))
    return Attacker(space, _projected(space, flat(images)))


def _projected(space: Eigenfaces, images: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coordinates (n, c), rounded to a millionth of a grey level: equal pictures get equal ones, and stay tied."""
    return np.asarray(np.round(space.project(images), 6), dtype=np.float64)


def flat(images: Floats) -> NDArray[np.float64]:
    """Images (n, rows, columns) as (n, pixels)."""
    return images.reshape(len(images), -1)
