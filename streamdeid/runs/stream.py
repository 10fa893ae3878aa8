"""The parts of one stream, and what they counted so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from streamdeid.core.protocols import Detector
from streamdeid.identity.reentry import Outcome, Persons
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.plan import Deidentifier
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.report.redaction_report import ProvisionalCounts
from streamdeid.runs.shared_people import SharedPeople
from streamdeid.runs.step import Step
from streamdeid.surrogates.choice import Surrogates
from streamdeid.tracking.tracker import FaceTracker


@dataclass(frozen=True)
class Stream:
    """The parts for one stream, self-tested, ready for `runs.step.Step`."""

    detect: Detector
    tracker: FaceTracker
    deidentifier: Deidentifier
    """The outermost: look-ahead, regions and whitelist, where there are any, lie around `inner`."""
    inner: ReplaceFaces | MaskFaces
    surrogates: Surrogates | None
    """None for a mask."""
    persons: Persons
    cuts: Callable[[], int]
    """How many scene cuts were seen so far."""
    shared: SharedPeople | None = None
    """The register that others share; None without."""
    tested_with: Surrogates | None = None
    """What the drawn person of the self-test gets a face from; a later part of the stream tests with it again."""

    def step(self) -> Step[Any]:
        """Filters with these parts, from now on."""
        return Step(self.detect, self.tracker, self.deidentifier)

    def close(self) -> None:
        """Nothing more will be filtered; the people stay known for a part that follows. Harmless when repeated."""
        self.inner.close()

    def end(self) -> None:
        """The stream is over: closed, and the register is told what was learned. Raises what `SharedPeople.tell` does.
        Harmless when repeated."""
        self.close()
        if self.shared is not None:
            self.shared.tell()

    @property
    def known_people(self) -> int | None:
        """Persons told apart in this part of the stream and those before it; None for a mask."""
        counts = self.persons.counts
        known = counts[Outcome.NEW] + counts[Outcome.UNCERTAIN] + counts[Outcome.UNSEEN]
        return None if isinstance(self.inner, MaskFaces) else known

    @property
    def tracks(self) -> dict[str, int]:
        """How tracks were assigned to persons, which says nothing for a mask."""
        return {outcome.value: count for outcome, count in self.persons.counts.items()}

    @property
    def provisional(self) -> ProvisionalCounts | None:
        """Faces that were drawn without knowing whose place they take; None for a mask and for fixed maps."""
        return ProvisionalCounts.of(self.surrogates, self.inner.replaced if isinstance(self.inner, ReplaceFaces) else 0)
