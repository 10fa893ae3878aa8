"""P4's recogniser and smile classifiers, and what they say of de-identified faces (Meng et al. 2014, V.B and V.C).

The recogniser is Eigenfaces "in the AAM space". The classifier is "LDA, trained with the original cropped neutral and
happy faces". In which space, with how many components, and on which people is not said, so several are tried, each
after Eigenfaces, as in P2: the first is the one that intensities are measured with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Pixels, Points
from streamdeid.k_same.fisherface import Fisherface, fit_fisherface
from streamdeid.lab.eigenfaces import Eigenfaces
from streamdeid.lab.identification import identified
from streamdeid.lab.papers.cropped_faces import TwoExpressions
from streamdeid.lab.papers.transferred_faces import Outputs

RANK_1, INTENSITY, ERROR, ODDITY = "rank-1", "intensity", "error of the intensity", "oddity"
"""Whether recognised; how strongly a face smiles (-1 the mean neutral face of the training, 1 the mean smile); how far
that is from the person's own smile; root mean square of the parameters in standard deviations of the model."""

IN_AAM, IN_PIXELS = "AAM vectors", "pixels"
IN_FEW, SEEN_AAM, SEEN_PIXELS = "AAM vectors, 41 components", "AAM vectors, knows everybody", "pixels, knows everybody"
CLASSIFIERS = (IN_AAM, IN_PIXELS, IN_FEW, SEEN_AAM, SEEN_PIXELS)
"""Whether a face is classified as smiling is a measure under the classifier's name."""

_FEW = 41
"""6 of shape and 35 of texture (P4 IV.B and IV.C)."""


@dataclass(frozen=True)
class SmileClassifier:
    """Two-class LDA after Eigenfaces."""

    space: Eigenfaces
    fisherface: Fisherface

    @staticmethod
    def train(faces: Points | Pixels, smiles: NDArray[np.bool_], components: int | None = None) -> SmileClassifier:
        """Train on faces (n, d), vectors or crops, and which of them smile (n,)."""
        space = Eigenfaces.train(faces, components)
        return SmileClassifier(space, fit_fisherface(space.project(faces), smiles))

    def intensity(self, faces: NDArray[np.generic]) -> Points:
        """How strongly faces (m, d) smile, float64 (m,): -1 the mean neutral face of the training, 1 the mean smile."""
        return self.fisherface.intensity(self.space.project(faces))


@dataclass(frozen=True)
class Readers:
    """The recogniser and all classifiers of one trial."""

    faces: TwoExpressions
    """Everybody; all originals are the gallery."""
    deviations: Points
    """Standard deviations of the model's parameters, float64 (d,)."""
    classifiers: dict[str, SmileClassifier]

    @staticmethod
    def train(faces: TwoExpressions, chosen: NDArray[np.bool_], variances: Points) -> Readers:
        """Train on both originals of the people chosen (n,), or of all; variances (d,): the model's."""
        learnt = np.tile(chosen, 2)
        vectors, crops, smiles = faces.vectors, faces.crops, faces.smiles
        return Readers(
            faces,
            np.sqrt(variances),
            {
                IN_AAM: SmileClassifier.train(vectors[learnt], smiles[learnt]),
                IN_PIXELS: SmileClassifier.train(crops[learnt], smiles[learnt]),
                IN_FEW: SmileClassifier.train(vectors[learnt], smiles[learnt], _FEW),
                SEEN_AAM: SmileClassifier.train(vectors, smiles),
                SEEN_PIXELS: SmileClassifier.train(crops, smiles),
            },
        )

    @property
    def space(self) -> Eigenfaces:
        """The recogniser's: AAM-based Eigenfaces."""
        return self.classifiers[IN_AAM].space

    def recognised(self, rows: NDArray[np.int_], vectors: Points, *, originals: bool = False) -> Points:
        """Rank-1, 0 or 1, float64 (m,), of faces (m, d) shown for the people `rows` (m,).

        originals: the faces are smiling originals, and recognising the very same image does not count.
        """
        apart = self.space.distances(vectors, self.faces.vectors)
        if originals:
            apart[np.arange(len(rows)), len(self.faces.people) + rows] = np.inf
        return identified(apart, self.faces.people[rows], self.faces.owners).astype(np.float64)

    def judge(self, rows: NDArray[np.int_], shown: Outputs) -> dict[str, Points]:
        """All measures but rank-1, each float64 (m,), of faces shown for the people `rows` (m,)."""
        strengths = {
            name: classifier.intensity(shown.crops if name in (IN_PIXELS, SEEN_PIXELS) else shown.vectors)
            for name, classifier in self.classifiers.items()
        }
        own = self.classifiers[IN_AAM].intensity(self.faces.smiling.vectors[rows])
        return {
            **{name: (strength > 0).astype(np.float64) for name, strength in strengths.items()},
            INTENSITY: strengths[IN_AAM],
            ERROR: np.abs(strengths[IN_AAM] - own),
            ODDITY: np.sqrt(np.square(shown.vectors / self.deviations).mean(axis=1)),
        }
