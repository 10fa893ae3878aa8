"""Renders some segments of a recording again, from its analysis; the others are copied from the earlier output.

No face is searched, followed or recognised again: tracks, tracklets and persons are those of the analysis, and the
surrogates are those that the key gave then. What a face looks like at rest is learned anew from a few seconds before
each segment.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from streamdeid.analysis.applied import Applied
from streamdeid.analysis.edits import AnotherSurrogate, Edit, PartPerson
from streamdeid.analysis.places import SHOWN, Places
from streamdeid.analysis.records import Analysis
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face, Track
from streamdeid.core.file_identity import FileIdentity
from streamdeid.core.frames import Frame
from streamdeid.errors import FailedClosed, InputError
from streamdeid.identity.recorded_identity import RecordedTrack
from streamdeid.protect.plan import Deidentifier
from streamdeid.report.counts import Counts
from streamdeid.runs.filmed_again import FilmedAgain
from streamdeid.runs.scratch import scratch
from streamdeid.runs.step import Done, Step, filtered
from streamdeid.surrogates.choice import Surrogate, Surrogates
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource
from streamdeid.video.files.spliced import NotSplicedError, Segment, splice

_WARM = 3
"""Seconds before a segment from which its faces are studied: a face at rest is known after 1 s, steady after 2 s."""
_AHEAD = 1
"""Seconds after a frame that are analysed before it is decided how its faces are shown, as in the earlier run: a pose
is held over half a second."""

ALL_AGAIN = PartPerson, AnotherSurrogate
"""Edits that need a new surrogate: choosing one takes the person's identity, which no analysis keeps."""


@dataclass(frozen=True)
class RecordedFrames:
    """A recording as its analysis describes it."""

    analysis: Analysis

    def known(self, index: int) -> Mapping[int, RecordedTrack]:
        """The tracks of a frame, with tracklet and person, by track number."""
        decisions = self.analysis.frames[index].decisions
        return {one.track: RecordedTrack(one.tracklet, one.person) for one in decisions}

    def faces(self, frame: Frame, /) -> Sequence[Face]:
        """The faces that were found in a frame. Raises FailedClosed when the recording is another one."""
        record = self.analysis.frames[frame.index]
        if record.time != frame.time:
            raise FailedClosed(f"the analysis has another time for frame {frame.index}")
        return record.found

    def tracks(self, index: int) -> list[Track]:
        """The tracks of a frame that were redacted."""
        record = self.analysis.frames[index]
        return [
            Track(
                one.track,
                one.place,
                None if one.face is None else record.found[one.face],
                one.missed,
                one.ambiguous,
                one.near,
                one.sides,
                one.cut,
            )
            for one in record.decisions
            if one.track and one.level != SHOWN
        ]


@dataclass(frozen=True)
class EditedRecording(RecordedFrames):
    """A recording as its analysis describes it, with edits applied."""

    applied: Applied
    places: Places
    """Of the analysis."""


class RecordedTracks:
    """A tracker that returns the tracks of an analysis; a `protocols.Tracker`."""

    def __init__(self, recorded: RecordedFrames, first: int) -> None:
        """first: the number of the frame that is asked for first; the others follow it in order."""
        self._recorded, self._next = recorded, first

    def update(self, faces: Sequence[Face], time: Fraction) -> Sequence[Track]:
        """The tracks of the next frame."""
        self._next += 1
        return self._recorded.tracks(self._next - 1)


class RecordedChoice:
    """Gives everybody the surrogate of the earlier run; a `replace_faces.Choice`."""

    def __init__(self, analysis: Analysis, surrogates: Surrogates) -> None:
        self._chosen, self._surrogates = analysis.end.surrogates, surrogates
        self._provisional = analysis.end.provisional

    def surrogate(self, person: int, y: Points) -> Surrogate:
        """The surrogate that a person got in that run, or one chosen now by y (d,). Raises FailedClosed."""
        known = self._chosen.get(person)
        if known is None:
            return self._surrogates.surrogate(person, y)
        return self._surrogates.again(person, known.label, known.attempt, known.tracklet or None)

    def provisional(self, number: int) -> Surrogate:
        """The provisional surrogate of a tracklet in that run. Raises FailedClosed for a tracklet that had none."""
        known = self._provisional.get(number)
        if known is None:
            raise FailedClosed(f"tracklet {number} had no provisional surrogate")
        return self._surrogates.provisional_again(number, known.label, known.attempt)

    def adopt(self, number: int, person: int, y: Points) -> Surrogate:
        """The surrogate that the person of a tracklet got in that run; else the provisional one."""
        return self.surrogate(person, y) if person in self._chosen else self._surrogates.adopt(number, person)

    def release(self, number: int) -> None:
        """Release the surrogate of a tracklet that is over."""
        self._surrogates.release(number)

    def forget(self, person: int) -> None:
        """Drop a person who will not come back."""
        self._surrogates.forget(person)


def needs_all(*states: Sequence[Edit]) -> bool:
    """Whether some edits cannot be rendered from an analysis alone."""
    return any(isinstance(edit, ALL_AGAIN) for edits in states for edit in edits)


@dataclass(frozen=True)
class Again:
    """Renders segments of one recording again."""

    recorded: EditedRecording
    source: FileSource
    method: Callable[[], Deidentifier]
    """Makes a new de-identifier, with edits applied, for each segment."""
    write: Callable[[Path], FileSink]
    """The sink for the pictures of a segment."""
    times: Sequence[Fraction]
    """Presentation times of all frames, seconds."""

    def render(
        self,
        segments: Sequence[Segment],
        earlier: Path,
        output: Path,
        done: Callable[[Done[None]], None],
        *,
        overwrite: bool,
        identity: FileIdentity | None = None,
    ) -> None:
        """Render segments of the earlier output anew and put the output together; it appears when it is whole.

        done: called with each frame that was rendered. identity: as for `spliced.splice`. Raises InputError,
        OutputError, FailedClosed and, where the files cannot be put together, NotSplicedError.
        """
        with scratch() as place:
            pieces = {one: place / f"{number}{output.suffix}" for number, one in enumerate(segments)}
            for segment, path in pieces.items():
                self._piece(segment, path, done)
            splice(earlier, pieces, output, overwrite=overwrite, identity=identity)

    def _piece(self, segment: Segment, path: Path, done: Callable[[Done[None]], None]) -> None:
        analysis = self.recorded.analysis
        begin = studied_from(self.times, segment.first, analysis.header.rate)
        ahead = round(_AHEAD * analysis.header.rate)
        step: Step[None] = Step(FilmedAgain(self.recorded.faces), RecordedTracks(self.recorded, begin), self.method())
        with self.write(path) as sink:
            last = min(segment.last + ahead, len(analysis.frames) - 1)
            for one in filtered(self._frames(begin, last), step, ahead):
                if segment.first <= one.frame.index:
                    sink.write(one.frame)
                    done(one)
                if one.frame.index == segment.last:
                    break

    def _frames(self, first: int, last: int) -> Iterator[Frame]:
        """The frames `first` to `last` of the recording. Raises NotSplicedError where it can only be read from its
        beginning: its time stamps run backwards, or there are none."""
        try:
            yield from self.source.between(self.times, first, last)
        except InputError as error:
            raise NotSplicedError("the recording can only be read from its beginning") from error


def studied_from(times: Sequence[Fraction], first: int, rate: Fraction) -> int:
    """The frame from which faces are studied for a segment that begins with the frame `first`: `_WARM` seconds before,
    by the clock (times of all frames, seconds) and by the mean rate, whichever is earlier: where frames come faster
    than that, the rate alone would leave less."""
    by_rate = first - round(_WARM * rate)
    return max(0, min(by_rate, bisect_left(times, times[first] - _WARM, 0, first)))


def count_rendered(counts: Counts, done: Done[Any], recorded: EditedRecording) -> None:
    """Count a frame that was rendered again. People whom a whitelist showed in the earlier run are shown again."""
    whitelisted = sum(one.level == SHOWN for one in recorded.analysis.frames[done.frame.index].decisions)
    done.count(counts)
    counts.shown += whitelisted


def count_copied(
    counts: Counts, recorded: EditedRecording, segments: Sequence[Segment], by_hand: str, regions: int = 0
) -> None:
    """Count all frames outside of some segments. by_hand: protection level of places that a reviewer marked. regions:
    how many fixed areas are filled in every frame, besides those that a reviewer marked."""
    applied, places = recorded.applied, recorded.places
    outside = np.ones(places.frames, np.bool_)
    for segment in segments:
        outside[segment.first : segment.last + 1] = False
    rows = outside[places.frame]
    visible = rows & ((places.level == SHOWN) | applied.visible)
    copied = int(outside.sum())
    counts.frames += copied
    counts.regions += regions * copied
    counts.shown += int(visible.sum())
    rows &= ~visible & ~applied.removed
    counts.cut += int((rows & places.cut).sum())
    person = np.where(places.decided, applied.person, 0)
    kinds, times = np.unique(
        np.stack([np.char.mod("%d", person[rows]), places.level[rows]]), axis=1, return_counts=True
    )
    for (who, level), many in zip(kinds.T.tolist(), times.tolist(), strict=True):
        counts.redacted(level, int(who), many)
    for index in np.flatnonzero(outside).tolist():
        drawn, filled = applied.besides(index)
        if drawn:
            counts.redacted(by_hand, 0, len(drawn))
        counts.regions += len(filled)
