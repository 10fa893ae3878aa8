"""Applies a reviewer's changes while a recording is rendered again (`analysis.applied` says which, frame by frame).

Only a face that the analysis found can be opened: a redaction is left out only where this run has the same track at the
same place. Anything that does not fit ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from streamdeid.analysis.applied import FrameEdits
from streamdeid.core.arrays import Box
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Redaction
from streamdeid.errors import FailedClosed
from streamdeid.protect.fixed_regions import REGION
from streamdeid.protect.levels import Cause, Level
from streamdeid.protect.pending import PendingFrame, Waiting
from streamdeid.protect.plan import Deidentifier, Plan, Plans
from streamdeid.render.masks import solid_fill
from streamdeid.render.new_face import NewFace
from streamdeid.surrogates.sampling_numbers import of_another

_APART = 2.0
"""Pixels by which a place may differ from the place in the analysis, which keeps rounded boxes."""
_AROUND = 0.04
"""Share of its sides by which a box that a person drew by hand is grown on each side. The ellipse that is taken for the
head (`soft_head.head_of`) then contains the corners of the box, too: the review desk shows the whole box filled."""


class FacesOfPersons(Protocol):
    """Chooses and tells the new face of each person: `protect.replace_faces`."""

    def choose_as(self, person: int, like: int) -> None: ...

    def face_of(self, person: int) -> NewFace | None: ...


class Edited:
    """Leaves out the redactions that edits open and adds those that they ask for; a `plan.Deidentifier` around another
    one."""

    def __init__(
        self,
        inner: Deidentifier,
        edits: Callable[[int], FrameEdits],
        places: Callable[[int], Mapping[int, Box]],
        faces: FacesOfPersons | None,
        surrogates: Mapping[int, int] | None = None,
    ) -> None:
        """edits: the edits of a frame, by its number. places: the boxes of its tracks in the analysis. faces: of
        persons whom the reviewer joined, separated or gave another surrogate; None for a mask. surrogates: by person,
        how many times another one was asked for."""
        self._inner, self._edits, self._places, self._faces = inner, edits, places, faces
        self._times = surrogates or {}

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        """Pass the call on to the inner de-identifier."""
        self._inner.observe(pending, waiting)

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        """Settle the tracks that stay protected and the places that the edits add, and choose the faces that they ask
        for.

        Raises FailedClosed where the tracks are not those of the analysis.
        """
        if due is None:
            self._inner.settle(waiting)
            return
        pending = waiting[0]
        edits = self._edits(pending.frame.index)
        self._check(pending, due, edits)
        covered = _covered(due, edits)
        self._inner.settle(waiting, covered)
        for plan in self._inner.decide(pending, covered):
            other = self._other(plan, edits)
            if other and self._faces is not None:
                self._faces.choose_as(other, like=plan.person)
        pending.left |= set(edits.visible)

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> Plans:
        """The inner de-identifier's plans for the tracks that are not opened and for the places drawn by hand."""
        edits = self._edits(pending.frame.index)
        return [self._as_person(plan, edits) for plan in self._inner.decide(pending, _covered(tracks, edits))]

    def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
        """The inner de-identifier's frame with the regions filled as the last step."""
        boxes = self._edits(pending.frame.index).regions
        pending.regions.extend(boxes)
        done = self._inner.render(pending, plans)
        planes = done.planes
        for box in boxes:
            planes = solid_fill(planes, box, roundness=0.0)
        regions = tuple(Redaction(0, box, REGION) for box in boxes)
        return DeidentifiedFrame(planes, done.time, done.index, done.redactions + regions)

    def _check(self, pending: PendingFrame[Any], tracks: Sequence[Track], edits: FrameEdits) -> None:
        """Raise FailedClosed unless each track that is to be opened is here, where the analysis saw it."""
        known, here = self._places(pending.frame.index), {track.number: track.box for track in tracks}
        for number in edits.open:
            pairs = zip(here.get(number, ()), known.get(number, ()), strict=False)
            apart = [abs(a - b) for a, b in pairs]
            if len(apart) != 4 or not max(apart) <= _APART:
                where = f"frame {pending.frame.index}"
                raise FailedClosed(f"the analysis does not fit {where}: what is to be left open is not where it was")

    def _other(self, plan: Plan, edits: FrameEdits) -> int:
        """The number of the person whose face a plan shows instead of its own; 0 where it keeps its own, or shows no
        face."""
        person = edits.persons.get(plan.track.number, 0)
        times = self._times.get(person, 0)
        own = not person or (person == plan.person and not times)
        return 0 if plan.face is None or own else of_another(person, times)

    def _as_person(self, plan: Plan, edits: FrameEdits) -> Plan:
        """The plan as the person whom the edits name, with that person's face where the plan shows a face."""
        person = edits.persons.get(plan.track.number, 0)
        if plan.face is None and plan.person and person:
            return replace(plan, person=person)
        other = self._other(plan, edits)
        if not other:
            return plan
        face = None if self._faces is None else self._faces.face_of(other)
        if face is None:  # no other surrogate is free
            return replace(plan, level=Level.SOLID, cause=Cause.NOBODY, person=0, face=None)
        return replace(plan, person=person, face=face)


def _covered(tracks: Sequence[Track], edits: FrameEdits) -> list[Track]:
    """The tracks of a frame that are not opened, and the places drawn by hand, whose numbers are below 0."""
    by_hand = (Track(-number, _held(box), None, 1, True) for number, box in edits.places)
    return [*(track for track in tracks if track.number not in edits.open), *by_hand]


def _held(box: Box) -> Box:
    x0, y0, x1, y1 = box
    dx, dy = _AROUND * (x1 - x0), _AROUND * (y1 - y0)
    return x0 - dx, y0 - dy, x1 + dx, y1 + dy
