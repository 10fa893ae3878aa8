"""Between the passes: joins the tracks of all segments, decides once who is who, and gives everybody a surrogate."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.whose import Whose
from streamdeid.errors import FailedClosed
from streamdeid.identity.gathered import Gathered
from streamdeid.identity.reentry import Outcome
from streamdeid.identity.register import Distances
from streamdeid.identity.whole_recording import Tracklet, Who, who_is_who
from streamdeid.runs.segments.cutting import SegmentSpan
from streamdeid.runs.segments.registered_faces import RegisteredFaces, SharedRegister, WholePerson
from streamdeid.runs.segments.study import AtJoint, Studied
from streamdeid.surrogates.choice import Surrogate, Surrogates
from streamdeid.tracking.association import iou

_SAME_PLACE = 0.5
"""Least IoU of two boxes in the same frame, one from each segment, that are of one face. Each segment found the face on
its own; the boxes of two people who stand close overlap by less than a third."""
_GONE = 600
"""Seconds after a person's last frame from which another may get the same surrogate, as in `identity.reentry`."""


@dataclass(frozen=True)
class Numbers:
    """The numbers in the whole recording for the track and tracklet numbers in the records of a segment."""

    tracks: Mapping[int, int]
    tracklets: Mapping[int, int]


@dataclass(frozen=True)
class Whole:
    """All decisions about a recording."""

    numbers: Sequence[Numbers]
    """Numbers by segment."""
    persons: Mapping[int, int]
    """Persons by tracklet of the recording."""
    surrogates: Mapping[Whose, Surrogate] = field(repr=False)
    """Of persons, and of tracklets that surely show a face while its person is unknown or ambiguous."""
    counts: Mapping[Outcome, int]


def decide(
    spans: Sequence[SegmentSpan],
    studies: Sequence[Studied],
    distances: Distances,
    surrogates: Surrogates | None,
    *,
    reentry: bool,
    rate: Fraction,
    register: SharedRegister | None = None,
) -> Whole:
    """Decide who is who, and give everybody a surrogate. rate: frames per second. surrogates: None for a mask.
    register: a register with people of other recordings, or None. Raises what the register's file does."""
    numbers = _numbered(studies)
    tracklets: dict[int, Tracklet] = {}
    together: set[tuple[int, int]] = set()
    for one, studied in zip(numbers, studies, strict=True):
        for local, (first, last) in studied.spans.items():
            number = one.tracklets[local]
            follows = one.tracklets.get(studied.follows.get(local, 0))
            gathered, known = studied.tracklets.get(local), tracklets.get(number)
            if known is not None:
                first, gathered = known.first, _better(known.gathered, gathered)
                follows = known.follows
            tracklets[number] = Tracklet(first, last, gathered, follows)
        together |= {
            (min(pair), max(pair))
            for pair in ((one.tracklets[low], one.tracklets[high]) for low, high in studied.together)
            if pair[0] != pair[1]
        }
    who = who_is_who(tracklets, together, distances, reentry=reentry)
    faces = {one.tracklets[local] for one, studied in zip(numbers, studies, strict=True) for local in studied.faces}
    doubted = {one.tracklets[local] for one, studied in zip(numbers, studies, strict=True) for local in studied.doubted}
    provisional = {number: tracklets[number] for number in doubted | faces - who.persons.keys() if number in tracklets}
    chosen: dict[Whose, Surrogate] = {}
    if surrogates is not None and register is None:
        chosen = _chosen(tracklets, who.persons, provisional, surrogates, round(_GONE * rate))
    elif surrogates is not None and register is not None:
        with register.faces(_people(tracklets, who, together), surrogates, distances) as registered:
            chosen = _chosen(tracklets, who.persons, provisional, registered, round(_GONE * rate))
    return Whole(numbers, who.persons, chosen, who.counts)


def _people(
    tracklets: Mapping[int, Tracklet], who: Who, together: Collection[tuple[int, int]]
) -> dict[int, WholePerson]:
    """The persons of a recording, in the form in which a register takes them."""
    beside: dict[int, set[int]] = {person: set() for person in who.persons.values()}
    for pair in together:
        if all(number in who.persons for number in pair):
            one, other = (who.persons[number] for number in pair)
            beside[one].add(other)
            beside[other].add(one)
    known: dict[int, list[tuple[Points, int]]] = {person: [] for person in beside}
    for number, person in sorted(who.persons.items()):
        gathered = tracklets[number].gathered
        if gathered is not None and gathered.template is not None:
            known[person].append((gathered.template, max(gathered.frames, 1)))
    found = {}
    for person, views in known.items():
        frames = sum(count for _, count in views)
        template = np.sum([count * vector for vector, count in views], axis=0) / frames if views else None
        found[person] = WholePerson(template, frames, frozenset(beside[person]), person in who.sure)
    return found


def _numbered(studies: Sequence[Studied]) -> list[Numbers]:
    """Numbers in the whole recording, by segment; a track that goes on over a joint keeps its number."""
    found: list[Numbers] = []
    tracks = tracklets = 0
    for place, studied in enumerate(studies):
        tracks_of = {local: tracks + local for local in range(1, studied.most[0] + 1)}
        tracklets_of = {local: tracklets + local for local in range(1, studied.most[1] + 1)}
        if place:
            before, earlier = studies[place - 1], found[-1]
            for old, new in _same(before.after, studied.at_start):
                tracks_of[new.track] = earlier.tracks[old.track]
                if old.tracklet and new.tracklet and not (old.ambiguous or new.ambiguous):
                    tracklets_of[new.tracklet] = earlier.tracklets[old.tracklet]
        tracks += studied.most[0]
        tracklets += studied.most[1]
        found.append(Numbers(tracks_of, tracklets_of))
    return found


def _same(before: Sequence[AtJoint], after: Sequence[AtJoint]) -> list[tuple[AtJoint, AtJoint]]:
    """Pairs of tracks in two lists of the same frame that are of one face; each track at most once."""
    if not before or not after:
        return []
    overlaps = np.stack([iou(np.array([one.box for one in after]), np.array([old.box])) for old in before])
    overlaps = overlaps.reshape(len(before), len(after))
    pairs: list[tuple[AtJoint, AtJoint]] = []
    for flat in np.argsort(-overlaps, axis=None, kind="stable"):
        old, new = divmod(int(flat), len(after))
        if overlaps[old, new] < _SAME_PLACE:
            break
        if all(before[old] is not one and after[new] is not other for one, other in pairs):
            pairs.append((before[old], after[new]))
    return pairs


def _better(one: Gathered | None, other: Gathered | None) -> Gathered | None:
    """What is known of a tracklet that two segments saw: the mean of both templates, and y of the longer view."""
    if one is None or other is None:
        return one or other
    longer = one if one.frames >= other.frames else other
    if one.template is None or other.template is None:
        known = one if one.template is not None else other
        return known if known.template is not None else longer
    frames = one.frames + other.frames
    template = (one.frames * one.template + other.frames * other.template) / frames
    return Gathered(longer.y, template, frames)


def _chosen(
    tracklets: Mapping[int, Tracklet],
    persons: Mapping[int, int],
    provisional: Mapping[int, Tracklet],
    surrogates: Surrogates | RegisteredFaces,
    gone: int,
) -> dict[Whose, Surrogate]:
    """A surrogate for each person, in the order in which they appear; a person without one gets a soft redaction.

    provisional: tracklets that get a provisional surrogate. gone: `_GONE` in frames."""
    spans: dict[Whose, tuple[int, int]] = {}
    views: dict[int, Gathered] = {}
    for number, person in persons.items():
        one = tracklets[number]
        first, last = spans.get(Whose(person), (one.first, one.last))
        spans[Whose(person)] = min(first, one.first), max(last, one.last)
        if one.gathered is not None and (person not in views or one.gathered.frames > views[person].frames):
            views[person] = one.gathered
    lent = {Whose(number, provisional=True): (one.first, one.last) for number, one in provisional.items()}
    spans |= lent
    chosen: dict[Whose, Surrogate] = {}
    here: set[Whose] = set()
    # Where two begin and end together, tracklets come before persons, and the last tracklet first.
    order = {who: (spans[who], -who.number if who.provisional else who.number) for who in [*map(Whose, views), *lent]}
    for who in sorted(order, key=lambda who: order[who]):
        for other in [one for one in here if spans[one][1] < spans[who][0] - (0 if one.provisional else gone)]:
            if other.provisional:
                surrogates.release(other.number)
            else:
                surrogates.forget(other.number)
            here.discard(other)
        with contextlib.suppress(FailedClosed):
            if who.provisional:
                chosen[who] = surrogates.provisional(who.number)
            else:
                chosen[who] = surrogates.surrogate(who.number, views[who.number].y)
            here.add(who)
    return chosen
