"""Counts what was done to the frames of a recording that is filtered in one pass or two, or rendered again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from streamdeid.core.frames import Redaction

KEPT = 400
"""How many people a report lists one by one. The first people of a longer recording are counted together."""
EARLIER = "earlier"
"""Key under which the first people are counted together."""


@dataclass
class Counts:
    """How many faces were redacted or left as they are, and how many areas were filled, in some frames."""

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
    """The same by person, 0 for an unknown person; empty for a mask, which tells nobody apart."""

    def add(self, redactions: Sequence[Redaction], persons: Mapping[int, int] | None, *, cut: int, left: int) -> None:
        """Count a frame. persons: by track, the person that it shows, 0 for an unknown one; None for a mask. cut:
        redactions that were cut to their limits. left: faces that were left as they are."""
        self.frames += 1
        self.cut += cut
        self.shown += left
        for one in redactions:
            if one.track:
                self.redacted(one.level, None if persons is None else persons.get(one.track, 0))
            else:
                self.regions += 1

    def redacted(self, level: str, person: int | None, times: int = 1) -> None:
        """Count redactions of one protection level and one person. person: 0 for an unknown one, None for a mask."""
        self.levels[level] += times
        if person is not None:
            self.persons.setdefault(person, Counter())[level] += times

    def together(self, other: Counts) -> None:
        """Add the counts of other frames of the same recording."""
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
        """`levels`, sorted by name."""
        return dict(sorted(self.levels.items()))

    @property
    def by_person(self) -> dict[str, dict[str, int]]:
        """Redactions by person number and level: "0" for unknown people, `EARLIER` for all but the last `KEPT` people
        together."""
        known = sorted(self.persons.keys() - {0})
        first: Counter[str] = Counter()
        for person in known[:-KEPT]:
            first.update(self.persons[person])
        told = ([0] if 0 in self.persons else []) + known[-KEPT:]
        apart = {str(person): dict(sorted(self.persons[person].items())) for person in told}
        return ({EARLIER: dict(sorted(first.items()))} if first else {}) | apart
