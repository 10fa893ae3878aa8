"""The one count of what was done to the frames of a recording: in one pass, in two, or rendered again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamdeid.core.frames import Redaction

KEPT = 400
"""People whom a report tells apart. The first ones of a long recording are told together."""
EARLIER = "earlier"
"""Key of all of them."""


@dataclass
class Counts:
    """What was covered, left and filled in some frames."""

    frames: int = 0
    shown: int = 0
    """Faces that were left as they are."""
    regions: int = 0
    """Fixed areas that were filled."""
    cut: int = 0
    """Redactions of lost faces that were cut to the largest size that one may have."""
    levels: Counter[str] = field(default_factory=Counter)
    """Redactions of faces, by the label of their protection level."""
    persons: dict[int, Counter[str]] = field(default_factory=dict)
    """The same by person, 0 for nobody known; empty for a mask, which tells nobody apart."""

    def add(self, redactions: Sequence[Redaction], persons: Mapping[int, int] | None, *, cut: int, left: int) -> None:
        """Count a frame. persons: whom each track shows, 0 for nobody known; None for a mask. cut: redactions that were
        cut to their limits. left: faces that were left as they are."""
        self.frames += 1
        self.cut += cut
        self.shown += left
        for one in redactions:
            if one.track:
                self.redacted(one.level, None if persons is None else persons.get(one.track, 0))
            else:
                self.regions += 1

    def redacted(self, level: str, person: int | None, times: int = 1) -> None:
        """Count redactions of one level and one person; None for a mask."""
        self.levels[level] += times
        if person is not None:
            self.persons.setdefault(person, Counter())[level] += times

    def together(self, other: Counts) -> None:
        """Count what other frames of the same recording have."""
        self.frames += other.frames
        self.shown += other.shown
        self.regions += other.regions
        self.cut += other.cut
        self.levels.update(other.levels)
        for person, levels in other.persons.items():
            self.persons.setdefault(person, Counter()).update(levels)

    @property
    def faces(self) -> int:
        """Redactions of faces, all levels together."""
        return sum(self.levels.values())

    @property
    def people(self) -> int:
        """Persons told apart."""
        return len(self.persons.keys() - {0})

    @property
    def by_level(self) -> dict[str, int]:
        """`levels`, in the order of their names."""
        return dict(sorted(self.levels.items()))

    @property
    def by_person(self) -> dict[str, dict[str, int]]:
        """By person number, "0" for nobody known, `EARLIER` for all but the last `KEPT` people together."""
        known = sorted(self.persons.keys() - {0})
        first: Counter[str] = Counter()
        for person in known[:-KEPT]:
            first.update(self.persons[person])
        told = ([0] if 0 in self.persons else []) + known[-KEPT:]
        apart = {str(person): dict(sorted(self.persons[person].items())) for person in told}
        return ({EARLIER: dict(sorted(first.items()))} if first else {}) | apart
