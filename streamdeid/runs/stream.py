"""The parts of one stream, and what they have counted so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from streamdeid.detection.guard import Watch
from streamdeid.identity.reentry import Outcome
from streamdeid.protect.plan import Deidentifier
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.report.redaction_report import ProvisionalCounts
from streamdeid.runs.people import People
from streamdeid.runs.step import Step
from streamdeid.tracking.tracker import FaceTracker


@dataclass(frozen=True)
class Stream:
    """The parts for one stream, self-tested, ready for `runs.step.Step`."""

    detect: Watch
    tracker: FaceTracker
    deidentifier: Deidentifier
    """The outermost one: look-ahead, and any regions and whitelist, lie around `faces` or a mask."""
    faces: ReplaceFaces | None
    """What replaces the faces; None for a mask."""
    people: People

    @property
    def cuts(self) -> int:
        """Scene cuts so far."""
        return self.detect.cuts

    def step(self) -> Step[Any]:
        """A new step, which filters with these parts from now on."""
        return Step(self.detect, self.tracker, self.deidentifier)

    def close(self) -> None:
        """Close these parts; the people stay known for parts that follow. Harmless when repeated."""
        if self.faces is not None:
            self.faces.close()

    def handed_on(self) -> People:
        """Close these parts and return the people of the stream, for the parts that come next."""
        self.close()
        return self.people if self.faces is None else replace(self.people, tracklets=self.faces.tracklets)

    def end(self) -> None:
        """End the stream: close it, and write what was learned to the register. Raises what `SharedPeople.tell` does.
        Harmless when repeated."""
        self.close()
        if self.people.shared is not None:
            self.people.shared.tell()

    @property
    def known_people(self) -> int | None:
        """Number of persons told apart in these parts of the stream and those before them; None for a mask."""
        counts = self.people.persons.counts
        known = counts[Outcome.NEW] + counts[Outcome.UNCERTAIN] + counts[Outcome.UNSEEN]
        return None if self.faces is None else known

    @property
    def tracks(self) -> dict[str, int]:
        """How many tracks were assigned to persons in which way; it has no meaning for a mask."""
        return {outcome.value: count for outcome, count in self.people.persons.counts.items()}

    @property
    def provisional(self) -> ProvisionalCounts | None:
        """Counts of provisional faces; None for a mask and for fixed maps."""
        return None if self.faces is None else ProvisionalCounts.of(self.people.surrogates, self.faces.replaced)
