"""Misses on purpose: detections that are deleted from an analysis (for `review_doubts`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.leaks.run import Corners
from benchmarks.review.recorded_clips import Clip, Miss
from streamdeid.analysis.columns import columns_of
from streamdeid.analysis.records import Analysis, FrameRecord
from streamdeid.lab.attacks.gaps import CLASSES, overlap
from streamdeid.review.columns import Columns
from streamdeid.review.stretches import Stretch, stretches

KINDS = ("start", "middle", "end", "whole")
"""What is deleted: the first, some or the last frames of a stretch, or a short stretch but for a trace."""
_SECONDS = 0.2, 1.0
"""How long a deleted start, middle or end lasts; never over a third of the stretch."""
_SHORT = 2.5
"""Seconds that a stretch lasts at most to be deleted as a whole."""
_TRACE = 8
"""One in so many sightings of a stretch that is deleted as a whole stays, at least two."""
_SAME = 0.3
"""Intersection over union from which a box is at a face's place."""


def without(
    clip: Clip, kind: str, rng: np.random.Generator, spared: Sequence[int] = ()
) -> tuple[Analysis, Miss] | None:
    """The analysis with one miss more; None where the clip has nothing to delete in that way.

    Only tracks that the independent detector takes for faces are chosen. spared: tracks that are left as they are.
    """
    analysis = clip.analysis
    rate = float(analysis.header.rate)
    size = analysis.header.width, analysis.header.height
    found = [
        one
        for one in stretches(Columns.of(columns_of(analysis.frames), size, rate))
        if one.track not in spared and one.side >= CLASSES[0][0] and _true(one, clip.faces)
    ]
    if kind == "whole":
        found = [one for one in found if len(one.frames) <= _SHORT * rate and one.seen.sum() > 3]
    else:
        found = [one for one in found if len(one.frames) >= 0.5 * rate]
    if not found:
        return None
    one = found[int(rng.integers(len(found)))]
    low, high = _part(len(one.frames), kind, rate, rng)
    places: dict[int, Corners] = {
        frame: (x0, y0, x1, y1)
        for frame, (x0, y0, x1, y1) in zip(one.frames[low:high].tolist(), one.places[low:high].tolist(), strict=True)
    }
    left = rng.choice(list(places), size=max(2, len(places) // _TRACE)) if kind == "whole" else []
    frames = list(analysis.frames)
    for frame, place in places.items():
        frames[frame] = _deleted(frames[frame], one.track, place, frame in left)
    return replace(analysis, frames=frames), Miss(kind, places)


def _part(frames: int, kind: str, rate: float, rng: np.random.Generator) -> tuple[int, int]:
    """First frame to delete, and the first not to, of a stretch of so many."""
    if kind == "whole":
        return 0, frames
    low, high = (max(3, round(seconds * rate)) for seconds in _SECONDS)
    length = min(int(rng.integers(low, high + 1)), max(3, frames // 3))
    if kind == "start":
        return 0, length
    if kind == "end":
        return frames - length, frames
    edge = max(1, frames // 6)
    start = int(rng.integers(edge, max(edge + 1, frames - length - edge)))
    return start, start + length


def _true(one: Stretch, faces: Mapping[int, Sequence[Corners]]) -> bool:
    """Whether the independent detector sees a face in most of a stretch's frames that it looked at."""
    rows = [place for frame, place in zip(one.frames.tolist(), one.places.tolist(), strict=True) if frame in faces]
    at = [frame for frame in one.frames.tolist() if frame in faces]
    hits = sum(any(overlap(place, box) > _SAME for box in faces[frame]) for frame, place in zip(at, rows, strict=True))
    return bool(rows) and hits > len(rows) / 2


def _deleted(record: FrameRecord, track: int, place: Corners, traced: bool) -> FrameRecord:
    """A frame without a track's decision and, but for a trace, without what was found there."""
    others = {one.face for one in record.decisions if one.track != track}
    own = {one.face for one in record.decisions if one.track == track}
    stays = [
        number
        for number, face in enumerate(record.found)
        if traced or number in others or not (number in own or overlap(face.box, place) > _SAME)
    ]
    number_now = {before: now for now, before in enumerate(stays)}
    decisions = [
        replace(one, face=None if one.face is None else number_now[one.face])
        for one in record.decisions
        if one.track != track
    ]
    return replace(record, found=[record.found[number] for number in stays], decisions=decisions)
