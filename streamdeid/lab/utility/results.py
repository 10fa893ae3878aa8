"""What was measured, by set and by way of publishing, for the chapters to be written from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamdeid.core.arrays import Points
from streamdeid.lab.utility.refit import RefitFaces
from streamdeid.surrogates.choice import SAMPLED

Place = tuple[str, str]
"""Set ("london" or "canada") and way of publishing."""

ORIGINALS = "originals, detected again"
SETTLED = f"{SAMPLED}, neutral seen 5 times"


@dataclass(frozen=True)
class Results:
    """Rows of every array are the people of a set, in one order; people who were not published are nan, or False."""

    training: Points
    """float64 (n, 2, d): identity vectors of the London originals, neutral and smiling, as they were annotated."""
    refits: dict[Place, RefitFaces]
    surrogates: dict[Place, Points]
    """The vectors that were drawn, float64 (n, d); nan for masks and people without one."""
    published: dict[Place, int]
    """How many people were published."""

    def with_smiles(self, people: str) -> list[str]:
        """The ways in which neutral and smiling pictures of a set were published, in order."""
        return [name for (where, name), refit in self.refits.items() if where == people and refit.shown.shape[1] == 2]


def preserving(attributes: Sequence[str]) -> str:
    """Name of the default method with preserved attributes."""
    return f"{SAMPLED} --preserve {','.join(attributes)}"
