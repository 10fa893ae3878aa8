"""What edits do to an analysis, frame by frame and obviously right: the slow twin of `analysis.applied`."""

from __future__ import annotations

from collections.abc import Sequence

from streamdeid.analysis import edits as e
from streamdeid.analysis.applied import FrameEdits
from streamdeid.analysis.records import Analysis, RecordedDecision
from streamdeid.core.arrays import Box


def frame_edits(analysis: Analysis, edits: Sequence[e.Edit], frame: int) -> FrameEdits:
    """`Applied.at`."""
    decisions = [one for one in analysis.frames[frame].decisions if one.track]
    persons = {one.track: _person(analysis, edits, one) for one in decisions}
    removed, wanted = set(), set()
    for edit in edits:
        for one in decisions:
            if isinstance(edit, e.RemoveRedaction) and edit.track == one.track and _within(edit.span, frame):
                removed.add(one.track)
            if not isinstance(edit, e.ShowPerson | e.CoverPerson) or not _within(edit.span, frame):
                continue
            if _called_now(edits, edit.person) == persons[one.track]:
                (wanted.add if isinstance(edit, e.ShowPerson) else wanted.discard)(one.track)
    covered = {one.track for one in decisions if one.level != "shown"}
    removed &= covered
    wanted = wanted & covered - removed
    drawn = {edit.number: edit for edit in edits if isinstance(edit, e.CoverPlace)}
    places = [
        (edit.number, edit.boxes[frame - edit.first])
        for edit in drawn.values()
        if 0 <= frame - edit.first < len(edit.boxes)
    ]
    visible = set(wanted)
    for _ in decisions:
        stay = [box for one in decisions if one.track in covered - removed - visible for box in [_extent(one)]]
        stay += [box for _, box in places]
        for one in decisions:
            if one.track in visible and (one.ambiguous or any(_meet(_extent(one), box) for box in stay)):
                visible.discard(one.track)
    regions = [edit.box for edit in edits if isinstance(edit, e.CoverRegion) and _within(edit.span, frame)]
    return FrameEdits(
        frozenset(removed),
        {track: persons[track] for track in visible},
        {track: persons[track] for track in wanted - visible},
        tuple(places),
        tuple(regions),
        {track: person for track, person in persons.items() if person},
    )


def picture(analysis: Analysis, edits: Sequence[e.Edit], frame: int) -> object:
    """All that the picture of a frame depends on."""
    done = frame_edits(analysis, edits, frame)
    faces = []
    for one in analysis.frames[frame].decisions:
        if one.track not in done.open and one.level in ("own face", "posed face"):
            person = done.persons.get(one.track, 0)
            times = [
                edit
                for edit in edits
                if isinstance(edit, e.AnotherSurrogate) and _called_now(edits, edit.person) == person
            ]
            faces.append((one.track, person, len(times)))
    return done.open, sorted(done.places), set(done.regions), faces


def _person(analysis: Analysis, edits: Sequence[e.Edit], one: RecordedDecision) -> int:
    """The person of a decision after joining and parting."""
    everything = [(index, other) for index, record in enumerate(analysis.frames) for other in record.decisions]
    tracklet = one.tracklet
    if not tracklet:
        tracklet = next((other.tracklet for _, other in everything if other.track == one.track and other.tracklet), 0)
    named = {other.person for _, other in everything if other.tracklet == tracklet and other.person}
    person = one.person or (named.pop() if len(named) == 1 else 0)
    if not tracklet or not person:
        return 0
    begins = min(index for index, other in everything if other.tracklet == tracklet)
    for number, edit in enumerate(edits):
        if isinstance(edit, e.JoinPersons) and person == _called_now(edits[:number], edit.other):
            person = _called_now(edits[:number], edit.person)
        if isinstance(edit, e.PartPerson) and person == _called_now(edits[:number], edit.person):
            person = edit.new if begins >= edit.first else person
    return person


def _called_now(edits: Sequence[e.Edit], person: int) -> int:
    """What a person is called after some edits."""
    for number, edit in enumerate(edits):
        if isinstance(edit, e.JoinPersons) and person == _called_now(edits[:number], edit.other):
            person = _called_now(edits[:number], edit.person)
    return person


def _within(span: e.Span, frame: int) -> bool:
    return span.first <= frame and (span.last is None or frame <= span.last)


def _extent(one: RecordedDecision) -> Box:
    return (
        min(one.box[0], one.place[0]),
        min(one.box[1], one.place[1]),
        max(one.box[2], one.place[2]),
        max(one.box[3], one.place[3]),
    )


def _meet(a: Box, b: Box) -> bool:
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]
