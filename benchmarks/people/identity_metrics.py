"""Did everybody keep one published identity? ID switches, identity F1 and hand-overs against a known truth.

A sighting is one true face in one frame and the identity it was shown with. An identity is anything that tells two
surrogates apart, best the surrogate's own bytes; None stands for a cover that shows nobody (a soft redaction).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np

from streamdeid.tracking.association import assign


@dataclass(frozen=True)
class Sighting:
    """One face of the truth in one frame."""

    frame: int
    person: int
    shown: Hashable | None


@dataclass(frozen=True)
class Identities:
    """What became of identities in one clip, or in several together."""

    faces: int
    """True faces in frames."""
    shown: int
    """Those of them that were shown with an identity."""
    switches: int
    """Times a person was shown with another identity than before: CLEAR-MOT's mismatches (Bernardin, Stiefelhagen
    2008, section 2.1.3), whether the new identity was fresh or another's."""
    handovers: int
    """Faces in frames shown with an identity that another person had been shown with before, or at the same time."""
    surplus: int
    """Identities beyond one, summed over the persons: splits."""
    true_positives: int
    """IDTP (Ristani et al. 2016, equation 1): faces shown with the identity that the best one-to-one matching of
    persons and identities over the whole clip gives them."""

    @property
    def idf1(self) -> float:
        """Identity F1, 0 to 1 (equation 11); a face that shows nobody counts as missed. 1 where there is nothing."""
        total = self.faces + self.shown
        return 2 * self.true_positives / total if total else 1.0

    @property
    def idf1_of_shown(self) -> float:
        """The same over the faces that were shown with an identity only."""
        return self.true_positives / self.shown if self.shown else 1.0

    def __add__(self, other: Identities) -> Identities:
        return Identities(
            self.faces + other.faces,
            self.shown + other.shown,
            self.switches + other.switches,
            self.handovers + other.handovers,
            self.surplus + other.surplus,
            self.true_positives + other.true_positives,
        )


NOTHING = Identities(0, 0, 0, 0, 0, 0)


def identities(sightings: Iterable[Sighting]) -> Identities:
    """Count the sightings of one clip, given in the order of their frames."""
    faces = switches = handovers = 0
    last: dict[int, Hashable] = {}
    owners: dict[Hashable, set[int]] = defaultdict(set)
    together: Counter[tuple[int, Hashable]] = Counter()
    listed = list(sightings)
    of_frame: dict[int, list[Sighting]] = defaultdict(list)
    for sighting in listed:
        of_frame[sighting.frame].append(sighting)
    for sightings_now in of_frame.values():
        shown = [(s.person, s.shown) for s in sightings_now if s.shown is not None]
        faces += len(sightings_now)
        for person, identity in shown:
            owners[identity].add(person)
        for person, identity in shown:
            switches += last.get(person, identity) != identity
            handovers += owners[identity] != {person}
            last[person] = identity
            together[person, identity] += 1
    persons, all_ = sorted({p for p, _ in together}), list(owners)
    table = np.array([[together[p, i] for i in all_] for p in persons]).reshape(len(persons), len(all_))
    most = float(table.max(initial=0)) + 1.0
    pairs = assign(most - table, unmatched=most)
    surplus = int((table > 0).sum()) - len(persons)
    return Identities(faces, int(table.sum()), switches, handovers, surplus, int(table[pairs[:, 0], pairs[:, 1]].sum()))
