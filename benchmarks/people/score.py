"""Who was shown with whose new face: what `people` counts on a clip, and the row of its table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.boxes import touch
from benchmarks.people.run import OWN, POSED, Shown
from benchmarks.people.truth import NOBODY, Seen, Truth, matched
from streamdeid.lab.attacks.gaps import LEAST_SIDE

UNCOVERED = "nothing"
FRONTAL, TURNED, PROFILE, NO_LANDMARKS = "below 40", "40 to 65", "65 and up", "no landmarks"
"""Degrees of yaw by which faces are counted apart, and those of which the filter saw no landmarks."""
_OWN = {OWN, POSED}


@dataclass
class Score:
    """What came out for a clip, or for several."""

    clip: str
    persons: int | None = None
    """True persons; None where nobody was named."""
    levels: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """What faces of 40 pixels and up were shown as, by their turn."""
    surrogates: dict[tuple[str, int], Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    """In how many frames each true person (clip, number) was shown with which surrogate."""
    hand_overs: set[tuple[str, int, int]] = field(default_factory=set)
    """(clip, true person, surrogate) where the surrogate had been another true person's before."""
    wrong: int = 0
    """Times that a face was shown so."""
    twice: int = 0
    """Times that a surrogate was on a second face of the same frame, known to the labels or not."""
    astray: float = 0.0
    """Redactions per frame that touch no face."""
    surplus: float = 0.0
    """Redactions per frame left over when each face has one: these, doubles, far too large ones."""
    cpu_ms: float = 0.0
    """Per frame."""
    breaks: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)

    def row(self) -> dict[str, object]:
        """A line of the table. Shares are 0 to 1, nan where there is no such face."""
        below = self.levels[FRONTAL]
        further = below + self.levels[TURNED]
        counts = [len(shown) for shown in self.surrogates.values()]
        instead = Counter({level: count for level, count in below.items() if level not in _OWN})
        return {
            "clip": self.clip,
            "persons": self.persons,
            "faces of 40 px": sum(levels.total() for levels in self.levels.values()),
            "no landmarks": self.levels[NO_LANDMARKS].total(),
            "below 40 deg": below.total(),
            "own face": share(below),
            "of it posed": share(below, {POSED}),
            "own face, below 65": share(further),
            "own face, below 40 or no landmarks": share(below + self.levels[NO_LANDMARKS]),
            "persons shown": len(counts),
            "surrogates per person": float(np.mean(counts)) if counts else float("nan"),
            "most": max(counts, default=0),
            "hand-overs": len(self.hand_overs),
            "times in another's face": self.wrong,
            "times on a second face at once": self.twice,
            "covers of no face per frame": round(self.astray, 3),
            "covers without a face of their own": round(self.surplus, 3),
            "CPU ms per frame": round(self.cpu_ms, 1),
            "instead of the own face, below 40": told(instead),
            "breaks": told(self.breaks),
            "causes": told(self.causes),
        }


class Count:
    """Counts a clip frame by frame, in order."""

    def __init__(self, clip: str, truth: Truth) -> None:
        self._clip, self._truth = clip, truth
        self._score = Score(clip, truth.persons)
        self._owners: dict[int, int] = {}
        """The true person on whom each surrogate was shown first."""
        self._frames = self._looked_at = self._astray = self._surplus = 0

    def add(self, shown: Shown) -> None:
        """Count a frame."""
        self._frames += 1
        self._name(shown)
        if self._truth.looked_at(shown.index):
            self._looked_at += 1
            self._judge(shown)
            boxes, redactions = self._truth.excuses.get(shown.index, []), [one.corners for one in shown.redactions]
            self._astray += sum(not any(touch(redaction, box) for box in boxes) for redaction in redactions)
            self._surplus += len(redactions) - len(matched(boxes, redactions))

    def score(self, cpu: float, breaks: Counter[str], causes: Counter[str]) -> Score:
        """What was counted. cpu: seconds. ValueError when faces are said to be in frames that did not come."""
        last = max(self._truth.faces, default=-1)
        if last >= self._frames:
            raise ValueError(f"{self._clip} has no frame {last}, but its table of faces has")
        score = self._score
        score.astray = self._astray / max(self._looked_at, 1)
        score.surplus = self._surplus / max(self._looked_at, 1)
        score.cpu_ms = 1000 * cpu / max(self._frames, 1)
        score.breaks, score.causes = breaks, causes
        return score

    def _judge(self, shown: Shown) -> None:
        """What the faces of a frame that was looked at are shown as."""
        faces = self._truth.faces.get(shown.index, [])
        corners = [face.corners for face in faces]
        turns = matched(corners, [box for box, _ in shown.turns])
        redactions = matched(corners, [one.corners for one in shown.redactions])
        for number, face in enumerate(faces):
            if face.side >= LEAST_SIDE:
                turn = _turn(shown.turns[turns[number]][1]) if number in turns else NO_LANDMARKS
                level = shown.redactions[redactions[number]].level if number in redactions else UNCOVERED
                self._score.levels[turn][level] += 1

    def _name(self, shown: Shown) -> None:
        """Whose surrogate is shown on whom."""
        places: Sequence[Seen] = self._truth.places.get(shown.index, [])
        redactions = matched([place.corners for place in places], [one.corners for one in shown.redactions])
        here: set[int] = set()
        for number, redaction in sorted(redactions.items()):
            person, redaction = places[number].person, shown.redactions[redaction]
            if not redaction.person or redaction.level not in _OWN:
                continue
            self._score.twice += redaction.person in here
            here.add(redaction.person)
            if person == NOBODY:
                continue
            self._score.surrogates[self._clip, person][redaction.person] += 1
            if self._owners.setdefault(redaction.person, person) != person:
                self._score.hand_overs.add((self._clip, person, redaction.person))
                self._score.wrong += 1


def total(scores: Iterable[Score]) -> Score:
    """All clips together; covers without a face and CPU are means over the clips."""
    scores, whole = list(scores), Score("all")
    for one in scores:
        whole.persons = (whole.persons or 0) + (one.persons or 0)
        for turn, levels in one.levels.items():
            whole.levels[turn] += levels
        whole.surrogates.update(one.surrogates)
        whole.hand_overs |= one.hand_overs
        whole.wrong += one.wrong
        whole.twice += one.twice
        whole.breaks += one.breaks
        whole.causes += one.causes
    whole.astray = float(np.mean([one.astray for one in scores]))
    whole.surplus = float(np.mean([one.surplus for one in scores]))
    whole.cpu_ms = float(np.mean([one.cpu_ms for one in scores]))
    return whole


def share(levels: Counter[str], of: set[str] | None = None) -> float:
    """Share of the faces shown at these levels (None: with their own face); nan without faces."""
    wanted = _OWN if of is None else of
    return sum(levels[level] for level in wanted) / levels.total() if levels.total() else float("nan")


def told(counts: Mapping[str, int]) -> str:
    """Counts in words, the most frequent first."""
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {name}" for name, count in rows if count) or "none"


def _turn(yaw: float) -> str:
    return FRONTAL if yaw < 40 else TURNED if yaw < 65 else PROFILE
