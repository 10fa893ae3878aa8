"""Applies edits to an analysis: per frame the redactions left out, those added, and each track's person. No pixels.

* An edit names a person by the number at the time of the edit. If that person was joined with another since, the edit
  is about both.
* Edits of the same thing take effect in their order: a person who is shown and then redacted is redacted.
* A person who is to be visible stays redacted in two kinds of frames: those in which the place is ambiguous, and those
  in which it meets a place drawn by hand or a redaction that stays, because another's redaction must stay whole.
* An edit about a person never leaves a place visible whose person is not known.

States of the edits are compared by their effects, so an edit that changes nothing touches no frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamdeid.analysis.edits import (
    AnotherSurrogate,
    CoverPerson,
    CoverPlace,
    CoverRegion,
    Edit,
    JoinPersons,
    PartPerson,
    RemoveRedaction,
    ShowPerson,
    Span,
)
from streamdeid.analysis.places import Places
from streamdeid.core.arrays import Box, Flags, Floats, Ints


@dataclass(frozen=True)
class FrameEdits:
    """The effect of the edits on one frame."""

    removed: frozenset[int]
    """Tracks whose redaction was removed as false."""
    visible: Mapping[int, int]
    """Tracks left without a redaction because their person is to be visible, with that person."""
    kept: Mapping[int, int]
    """Tracks that stay redacted though their person is to be visible, with that person: the track is ambiguous, or a
    redaction that stays meets it."""
    places: Sequence[tuple[int, Box]]
    """Additional places to redact, with their numbers."""
    regions: Sequence[Box]
    """Additional regions to fill."""
    persons: Mapping[int, int]
    """The person of each track whose person is known, after joining and parting."""

    @property
    def open(self) -> frozenset[int]:
        """Tracks whose redaction is not rendered."""
        return self.removed | self.visible.keys()


@dataclass(frozen=True)
class Summary:
    """Counts of what the edits did, for the report."""

    visible: Mapping[int, tuple[int, int]]
    """By person: the number of frames in which the person is visible, and of those in which the person is present and
    was to be visible."""
    covered_places: int
    covered_frames: int
    """Places redacted by hand, and frames with such a place."""
    removed_tracks: int
    removed_frames: int
    """Tracks of which a redaction was removed, and frames in which one was removed."""
    regions: int
    region_frames: int
    joined: int
    parted: int
    other_surrogates: int
    """Persons who got another surrogate."""
    doubts_looked_at: int
    doubts_not_looked_at: int


class Applied:
    """The effect of some edits on an analysis; it is made anew for each state of the edits."""

    def __init__(self, places: Places, edits: Sequence[Edit]) -> None:
        """places: those of the analysis. edits: such as `Edits.done` or the first of them, in their order; they have
        passed `check_edits`."""
        self._places, self._edits = places, tuple(edits)
        self._drawn = list({one.number: one for one in edits if isinstance(one, CoverPlace)}.values())
        self._regions = [one for one in edits if isinstance(one, CoverRegion)]
        alias, parts = _persons(places, edits)
        self._person: Ints = np.where(places.part < 0, 0, np.append(parts, 0)[places.part])
        self._alias = alias
        self._times = np.zeros(len(places.track), dtype=np.int64)
        self.surrogates: dict[int, int] = {}
        """By person: how many times another surrogate was asked for; only persons for whom this is at least 1."""
        for edit in edits:
            if isinstance(edit, AnotherSurrogate):
                person = alias.get(edit.person, edit.person)
                self.surrogates[person] = self.surrogates.get(person, 0) + 1
        for person, times in self.surrogates.items():
            self._times[self._person == person] = times
        self._removed = self._without_redaction()
        self._wanted = self._to_be_visible() & ~self._removed
        self._visible = self._wanted & ~self._kept_covered()

    def at(self, frame: int) -> FrameEdits:
        """The effect of the edits on a frame. frame: counted from 0."""
        here, track = self._places.rows(frame), self._places.track
        visible, wanted = self._visible[here], self._wanted[here]
        named = list(zip(track[here].tolist(), self._person[here].tolist(), strict=True))
        places, regions = self.besides(frame)
        return FrameEdits(
            removed=frozenset(track[here][self._removed[here]].tolist()),
            visible={number: person for (number, person), yes in zip(named, visible, strict=True) if yes},
            kept={number: person for (number, person), yes in zip(named, wanted & ~visible, strict=True) if yes},
            places=places,
            regions=regions,
            persons={number: person for number, person in named if number and person},
        )

    def besides(self, frame: int) -> tuple[Sequence[tuple[int, Box]], Sequence[Box]]:
        """The additional places, with their numbers, and regions to redact in a frame. frame: counted from 0."""
        places = tuple((one.number, one.boxes[frame - one.first]) for one in self._drawn if _in(one, frame))
        regions = (one for one in self._regions if _first_last(one.span, frame + 1)[0] <= frame <= _end(one))
        return places, tuple(one.box for one in regions)

    @property
    def person(self) -> Ints:
        """int64 (n,): the person of each place, after joining and parting; 0 if not known. Do not write to it."""
        return self._person

    @property
    def visible(self) -> Flags:
        """bool (n,): places without a redaction because their person is to be visible. Do not write to it."""
        return self._visible

    @property
    def removed(self) -> Flags:
        """bool (n,): places whose redaction was removed as false. Do not write to it."""
        return self._removed

    @cached_property
    def persons(self) -> Mapping[int, int]:
        """By tracklet: its person after joining and parting. Tracklets with no person, or several, are left out."""
        found: dict[int, set[int]] = {}
        known = (self._places.tracklet > 0) & (self._person > 0)
        pairs = np.unique(np.stack([self._places.tracklet[known], self._person[known]], axis=1), axis=0)
        for tracklet, person in pairs.tolist():
            found.setdefault(tracklet, set()).add(person)
        return {tracklet: people.pop() for tracklet, people in found.items() if len(people) == 1}

    def visible_frames(self) -> dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
        """By person: spans of frames in which the person is visible, and those in which the person was to be visible
        and stays redacted."""
        frame, found = self._places.frame, {}
        for person in np.unique(self._person[self._wanted]).tolist():
            theirs = self._wanted & (self._person == person)
            visible = np.unique(frame[theirs & self._visible])
            kept = np.unique(frame[theirs & ~self._visible])
            found[person] = spans(visible), spans(kept)
        return found

    def touched_since(self, before: Applied) -> list[tuple[int, int]]:
        """Spans of frames whose picture may differ between this and another state; rising, first and last included.

        before: another state of the edits of the same analysis.
        """
        places = self._places
        now, then = self._removed | self._visible, before._removed | before._visible
        other_face = (self._person != before._person) | (self._times != before._times)
        changed = (now != then) | (places.with_a_face & other_face & ~(now & then))
        frames = np.zeros(places.frames, dtype=np.bool_)
        frames[places.frame[changed]] = True
        for old, new in ((before, self), (self, before)):
            others = {one.number: one for one in new._drawn}
            for drawn in old._drawn:
                _mark_unlike(frames, drawn, others.get(drawn.number))
        for low, high in _region_changes(before._regions, self._regions, places.frames):
            frames[low : high + 1] = True
        return spans(np.flatnonzero(frames))

    def summary(self, doubts: Sequence[str] = (), looked_at: Sequence[str] = ()) -> Summary:
        """Counts for the report. doubts: names of all doubts of the recording. looked_at: names of doubts looked at."""
        frame, total = self._places.frame, self._places.frames
        asked = {}
        for person in np.unique(self._person[self._wanted]).tolist():
            theirs = self._person == person
            seen, wanted = (np.unique(frame[theirs & rows]) for rows in (self._visible, self._wanted))
            asked[person] = len(seen), len(wanted)
        drawn = np.zeros(total, dtype=np.bool_)
        for one in self._drawn:
            drawn[one.first : one.first + len(one.boxes)] = True
        filled = np.zeros(total, dtype=np.bool_)
        for region in self._regions:
            low, high = _first_last(region.span, total)
            filled[low : high + 1] = True
        looked = len(set(doubts) & set(looked_at))
        return Summary(
            visible=asked,
            covered_places=len(self._drawn),
            covered_frames=int(drawn.sum()),
            removed_tracks=len(np.unique(self._places.track[self._removed])),
            removed_frames=len(np.unique(frame[self._removed])),
            regions=len(self._regions),
            region_frames=int(filled.sum()),
            joined=sum(isinstance(one, JoinPersons) for one in self._edits),
            parted=sum(isinstance(one, PartPerson) for one in self._edits),
            other_surrogates=len(self.surrogates),
            doubts_looked_at=looked,
            doubts_not_looked_at=len(set(doubts)) - looked,
        )

    def _without_redaction(self) -> Flags:
        removed = np.zeros(len(self._places.track), dtype=np.bool_)
        for edit in self._edits:
            if isinstance(edit, RemoveRedaction):
                low, high = _first_last(edit.span, self._places.frames)
                removed |= (self._places.track == edit.track) & _within(self._places.frame, low, high)
        return removed & self._places.covers

    def _to_be_visible(self) -> Flags:
        """Redactions of persons who are to be visible, in their spans."""
        wanted = np.zeros(len(self._places.track), dtype=np.bool_)
        for edit in self._edits:
            if isinstance(edit, ShowPerson | CoverPerson):
                person = self._alias.get(edit.person, edit.person)
                low, high = _first_last(edit.span, self._places.frames)
                rows = (self._person == person) & _within(self._places.frame, low, high)
                wanted[rows] = isinstance(edit, ShowPerson)
        return wanted & self._places.covers

    def _kept_covered(self) -> Flags:
        """Redactions of persons to be visible that stay nevertheless."""
        places = self._places
        kept = self._wanted & places.ambiguous
        for drawn in self._drawn:
            rows = slice(int(places.starts[drawn.first]), int(places.starts[drawn.first + len(drawn.boxes)]))
            boxes = np.array(drawn.boxes, dtype=np.float64)[places.frame[rows] - drawn.first]
            kept[rows] |= self._wanted[rows] & _meet(places.extent[rows], boxes)
        ours = np.zeros(places.frames, dtype=np.bool_)
        ours[places.frame[self._wanted]] = True
        near = np.flatnonzero(ours[places.frame] & places.covers & ~self._removed)
        a, b = _meeting(places.frame[near], places.extent[near])
        stays, movable = ~self._wanted[near] | kept[near], self._wanted[near]
        while True:  # a redaction that stays makes those that it meets stay, too
            reached = np.concatenate([a[stays[b]], b[stays[a]]])
            reached = reached[~stays[reached]]
            if not len(reached):
                break
            stays[reached] = True
        kept[near[stays & movable]] = True
        return kept


def touched(places: Places, before: Sequence[Edit], after: Sequence[Edit]) -> list[tuple[int, int]]:
    """Spans of frames, first and last included, in which the picture may differ between two states of the edits."""
    return Applied(places, after).touched_since(Applied(places, before))


def spans(frames: Ints) -> list[tuple[int, int]]:
    """Spans, first and last included, of rising frame numbers int64 (n,)."""
    if not len(frames):
        return []
    breaks = np.flatnonzero(np.diff(frames) > 1)
    firsts, lasts = np.append(0, breaks + 1), np.append(breaks, len(frames) - 1)
    return list(zip(frames[firsts].tolist(), frames[lasts].tolist(), strict=True))


def _persons(places: Places, edits: Sequence[Edit]) -> tuple[dict[int, int], Ints]:
    """New numbers of renamed persons, by old number, and the person of each part (p,), after joining and parting."""
    alias: dict[int, int] = {}
    parts = places.persons.copy()
    for edit in edits:
        if isinstance(edit, JoinPersons):
            person, other = (alias.get(number, number) for number in (edit.person, edit.other))
            parts[parts == other] = person
            alias |= {number: person for number, now in alias.items() if now == other} | {other: person}
        elif isinstance(edit, PartPerson):
            person = alias.get(edit.person, edit.person)
            parts[(parts == person) & (places.begins >= edit.first)] = edit.new
    return alias, parts


def _meeting(frame: Ints, extent: Floats) -> tuple[Ints, Ints]:
    """Pairs of rows of the same frame whose boxes meet. frame (n,) rises."""
    a: list[Ints] = []
    b: list[Ints] = []
    for step in range(1, len(frame)):
        same = np.flatnonzero(frame[step:] == frame[:-step])
        if not len(same):
            break
        same = same[_meet(extent[same], extent[same + step])]
        a.append(same)
        b.append(same + step)
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *a]), np.concatenate([none, *b])


def _meet(a: Floats, b: Floats) -> Flags:
    """Whether boxes (n, 4) share a point with others (n, 4)."""
    return np.asarray(((a[:, :2] <= b[:, 2:]) & (b[:, :2] <= a[:, 2:])).all(axis=1), dtype=np.bool_)


def _within(frame: Ints, low: int, high: int) -> Flags:
    return np.asarray((frame >= low) & (frame <= high), dtype=np.bool_)


def _first_last(span: Span, frames: int) -> tuple[int, int]:
    return span.first, frames - 1 if span.last is None else span.last


def _end(region: CoverRegion) -> float:
    return float("inf") if region.span.last is None else region.span.last


def _in(drawn: CoverPlace, frame: int) -> bool:
    return drawn.first <= frame < drawn.first + len(drawn.boxes)


def _mark_unlike(frames: Flags, drawn: CoverPlace, other: CoverPlace | None) -> None:
    """Mark the frames that have a box of `drawn`, while `other` has no box or a different one."""
    for offset, box in enumerate(drawn.boxes):
        frame = drawn.first + offset
        if other is None or not _in(other, frame) or tuple(other.boxes[frame - other.first]) != tuple(box):
            frames[frame] = True


def _region_changes(before: Sequence[CoverRegion], after: Sequence[CoverRegion], frames: int) -> list[tuple[int, int]]:
    """Spans of regions that are in one of the two lists only."""
    one, two = ([(tuple(r.box), _first_last(r.span, frames)) for r in regions] for regions in (before, after))
    return [span for box, span in set(one) ^ set(two)]
