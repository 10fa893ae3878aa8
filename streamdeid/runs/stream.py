"""The parts of one stream, and what they counted so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from streamdeid.core.protocols import Detector
from streamdeid.identity.reentry import Outcome
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.plan import Deidentifier
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.report.redaction_report import ProvisionalCounts
from streamdeid.runs.people import People
from streamdeid.runs.step import Step
from streamdeid.tracking.tracker import FaceTracker


@dataclass(frozen=True)
class Stream:
    """The parts for one stream, self-tested, ready for `runs.step.Step`."""

    detect: Detector
    tracker: FaceTracker
    deidentifier: Deidentifier
    """The outermost: look-ahead, regions and whitelist, where there are any, lie around `inner`."""
    inner: ReplaceFaces | MaskFaces
    people: People
    cuts: Callable[[], int]
    """How many scene cuts were seen so far."""

    def step(self) -> Step[Any]:
        """Filters with these parts, from now on."""
        return Step(self.detect, self.tracker, self.deidentifier)

    def close(self) -> None:
        """Nothing more will be filtered; the people stay known for a part that follows. Harmless when repeated."""
        self.inner.close()

    def handed_on(self) -> People:
        """Close these parts; the people of the stream, for the parts that come next."""
        self.close()
        return replace(self.people, tracklets=self.inner.tracklets)

    def end(self) -> None:
        """The stream is over: closed, and the register is told what was learned. Raises what `SharedPeople.tell` does.
        Harmless when repeated."""
        self.close()
        if self.people.shared is not None:
            self.people.shared.tell()

    @property
    def known_people(self) -> int | None:
        """Persons told apart in this part of the stream and those before it; None for a mask."""
        counts = self.people.persons.counts
        known = counts[Outcome.NEW] + counts[Outcome.UNCERTAIN] + counts[Outcome.UNSEEN]
        return None if isinstance(self.inner, MaskFaces) else known

    @property
    def tracks(self) -> dict[str, int]:
        """How tracks were assigned to persons, which says nothing for a mask."""
        return {outcome.value: count for outcome, count in self.people.persons.counts.items()}

    @property
    def provisional(self) -> ProvisionalCounts | None:
        """Faces that were drawn without knowing whose place they take; None for a mask and for fixed maps."""
        return ProvisionalCounts.of(
            self.people.surrogates, self.inner.replaced if isinstance(self.inner, ReplaceFaces) else 0
        )
