"""Checks whether edits fit an analysis: the persons, tracks and frames that they name must exist in the recording."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from streamdeid.analysis.edits import (
    AnotherSurrogate,
    CoverPerson,
    CoverPlace,
    CoverRegion,
    Edit,
    Edits,
    JoinPersons,
    PartPerson,
    RemoveRedaction,
    ShowPerson,
    Span,
)
from streamdeid.analysis.places import Places
from streamdeid.analysis.records import Analysis
from streamdeid.core.arrays import Box, Ints
from streamdeid.errors import SettingsError


def check_edits(analysis: Analysis, edits: Edits, places: Places | None = None) -> None:
    """Raise SettingsError, one line, for edits that are of another recording or run, or that do not fit this one.

    places: those of the analysis, if they are known. Undone edits are checked, too, as if they were made again.
    """
    if edits.input_sha256 != analysis.header.input.sha256 or edits.frames != len(analysis.frames):
        raise SettingsError("the edits are of another recording than the analysis")
    size = analysis.header.width, analysis.header.height
    known = places if places is not None else Places.of(analysis)
    if edits.places_sha256 not in ("", known.fingerprint):
        raise SettingsError(
            "the edits were made on the analysis of another run, in which tracks and persons may have other numbers: "
            "take that analysis, or review the recording anew with another edits file"
        )
    check_done(known, size, (*edits.done, *edits.undone))


def check_done(places: Places, size: tuple[int, int], edits: Sequence[Edit]) -> None:
    """Raise SettingsError for edits that do not fit. edits: in order. size: width and height of the recording."""
    check = _Check(places, size)
    for number, edit in enumerate(edits, 1):
        wrong = check(edit)
        if wrong:
            raise SettingsError(f"edit {number} does not fit the recording: {wrong}")


class _Check:
    """Keeps the numbers of persons through the edits, and tells what is wrong with the next edit, or an empty text."""

    def __init__(self, places: Places, size: tuple[int, int]) -> None:
        self._places, self._size = places, size
        self._tracks = set(np.unique(places.track[places.covers]).tolist())
        self._now: dict[int, int] = {number: number for number in np.unique(places.persons).tolist()}
        """By every number that a person has had: the person's number now."""
        self._parts: Ints = places.persons.copy()

    def __call__(self, edit: Edit) -> str:
        if isinstance(edit, ShowPerson | CoverPerson):
            return self._unknown(edit.person) or self._bad_span(edit.span)
        if isinstance(edit, AnotherSurrogate):
            return self._unknown(edit.person)
        if isinstance(edit, RemoveRedaction):
            known = edit.track in self._tracks
            return self._bad_span(edit.span) if known else f"there is no redaction of a track {edit.track}"
        if isinstance(edit, CoverPlace):
            return self._bad_place(edit)
        if isinstance(edit, CoverRegion):
            return self._bad_box(edit.box) or self._bad_span(edit.span)
        if isinstance(edit, JoinPersons):
            return self._joined(edit)
        return self._parted(edit)

    def _unknown(self, person: int) -> str:
        return "" if person in self._now else f"there is no person {person}"

    def _bad_span(self, span: Span) -> str:
        last = self._places.frames - 1 if span.last is None else span.last
        if 0 <= span.first <= last < self._places.frames:
            return ""
        return f"frames {span.first} to {last} are not those of a recording of {self._places.frames} frames"

    def _bad_box(self, box: Box) -> str:
        if len(box) != 4 or not all(math.isfinite(value) for value in box) or box[0] >= box[2] or box[1] >= box[3]:
            return "a box is none"
        width, height = self._size
        inside = box[0] < width and box[1] < height and box[2] > 0 and box[3] > 0
        return "" if inside else "a box lies outside the picture"

    def _bad_place(self, edit: CoverPlace) -> str:
        if edit.number < 1 or not edit.boxes or not edit.keys:
            return "a place by hand has a number from 1, boxes and key frames"
        keys = [frame for frame, _ in edit.keys]
        last = edit.first + len(edit.boxes) - 1
        if any(a >= b for a, b in itertools.pairwise(keys)) or not edit.first <= keys[0] <= keys[-1] <= last:
            return f"the key frames of place {edit.number} do not rise within its frames"
        wrong = (self._bad_box(box) for box in (*edit.boxes, *(box for _, box in edit.keys)))
        return self._bad_span(Span(edit.first, last)) or next((one for one in wrong if one), "")

    def _joined(self, edit: JoinPersons) -> str:
        wrong = self._unknown(edit.person) or self._unknown(edit.other)
        if wrong:
            return wrong
        person, other = self._now[edit.person], self._now[edit.other]
        if person == other:
            return f"persons {edit.person} and {edit.other} are one already"
        self._now = {number: person if now == other else now for number, now in self._now.items()}
        self._parts[self._parts == other] = person
        return ""

    def _parted(self, edit: PartPerson) -> str:
        wrong = self._unknown(edit.person) or self._bad_span(Span(edit.first, None))
        if wrong:
            return wrong
        theirs = self._parts == self._now[edit.person]
        later = theirs & (self._places.begins >= edit.first)
        if not later.any() or later.sum() == theirs.sum():
            return f"person {edit.person} has no tracklet before frame {edit.first} or none that begins there or later"
        if edit.new <= max(self._now):
            return f"person {edit.new} cannot be new"
        self._now[edit.new] = edit.new
        self._parts[later] = edit.new
        return ""
