"""The analysis that a run keeps beside a recording (`--analysis`), and how a later run uses it.

A run renders from the faces as the analysis file keeps them, rounded in the same way. So a later run that reads the
file publishes the same bits.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from streamdeid.analysis.places import SHOWN
from streamdeid.analysis.read_analysis import sealed_with
from streamdeid.analysis.records import (
    VERSION,
    Analysis,
    AnalysisHeader,
    ChosenSurrogate,
    FrameRecord,
    RecordedDecision,
    Side,
)
from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame
from streamdeid.core.protocols import Begins, Detector, LooksAgain
from streamdeid.core.square_pixels import in_words
from streamdeid.errors import FailedClosed, InputError
from streamdeid.report.redaction_report import FileSide
from streamdeid.runs.step import Done
from streamdeid.settings import Settings
from streamdeid.surrogates.choice import SAMPLED, Surrogate
from streamdeid.surrogates.models import Models
from streamdeid.video.files.source import SourceInfo

_ASPECT, _AS_STORED = "pixel_aspect", in_words(Fraction(1))
"""Name in a header of the pixel aspect by which the pictures were made square, and its value where they were not made
square, or where the program that wrote the header never did so."""
_BEFORE = {_ASPECT: _AS_STORED, "children": False}
"""Settings that an earlier program did not have, with the values that describe what it did."""
_FOUND_BY = ("threshold", "min_face", "detector_interval", "survey", "tolerant", "lookahead", "coast", _ASPECT)
"""Settings on which the faces that are found depend. Without look-ahead there are fewer surveys. Which places are
looked at again depends on the tracks and on the length of the look-ahead."""
_LOOKED = 4
"""First version of an analysis in which places were looked at again, for tracks numbered as in this program."""
_LACKS = {1: "keypoints", 2: "looks at places that are not covered", 3: "tracks that go along with a camera"}
_NOT_DECIDED_BY = (
    "key_file", "detector_deadline", "codec", "crf", "preset", "audio", "keep_metadata", "overwrite", "models",
)  # fmt: skip
"""Settings on which no decision depends; the models are identified by their hashes."""


def header_of(settings: Settings, models: Models, info: SourceInfo, side: FileSide) -> AnalysisHeader:
    """The header of an analysis: all that it depends on. side: name, hash and size of the recording."""
    names = [one.name for one in fields(settings) if one.name not in _NOT_DECIDED_BY]
    kept = {name: _plain(getattr(settings, name)) for name in names}
    # Not the setting but its result: all places are in these pixels.
    kept[_ASPECT] = in_words(info.squared_by) if info.squared else _AS_STORED
    return AnalysisHeader(
        input=Side(side.sha256, side.bytes),
        width=info.width,
        height=info.height,
        rate=info.average_rate,
        settings=kept,
        model_sha256=models.fitting.model.sha256,
        gallery_sha256=models.gallery.sha256,
    )


def _plain(value: Any) -> str | float | int | bool | tuple[str, ...] | None:
    """A setting as a file keeps it. Of whitelisted pictures the file keeps no names, only their number and a hash."""
    if isinstance(value, tuple):
        return _pictures(value) if value and isinstance(value[0], Path) else tuple(str(one) for one in value)
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _pictures(paths: Sequence[Path]) -> str:
    """The number of pictures, and 16 hexadecimal digits of a SHA-256 over all. They have been read before."""
    known = sorted(FileSide.of(path).sha256 for path in paths)
    return f"{len(paths)} ({hashlib.sha256(''.join(known).encode()).hexdigest()[:16]})"


def why_not_found_so(known: AnalysisHeader, wanted: AnalysisHeader) -> str | None:
    """Why faces have to be found anew, in words that finish "since …"; None where they need not be."""
    if known.input.sha256 != wanted.input.sha256:
        return "it is of another recording"
    return _unlike(known, wanted, _FOUND_BY)


def why_too_old(analysis: Analysis) -> str | None:
    """Why faces have to be found anew because an earlier program found fewer; as for `why_not_found_so`."""
    lacks = _LACKS.get(analysis.version, "what this one finds")
    return None if analysis.version == VERSION else f"it is of version {analysis.version}, without {lacks}"


def why_not_decided_so(known: AnalysisHeader, wanted: AnalysisHeader) -> str | None:
    """Why decisions have to be made anew; as for `why_not_found_so`."""
    return why_not_found_so(known, wanted) or _unlike(known, wanted, sorted(wanted.settings))


def _unlike(known: AnalysisHeader, wanted: AnalysisHeader, names: Sequence[str]) -> str | None:
    for name in names:
        before, now = (one.settings.get(name, _BEFORE.get(name)) for one in (known, wanted))
        if before != now:
            return f"{name.replace('_', ' ')} was {before}, and is {now}"
    if (known.model_sha256, known.gallery_sha256) != (wanted.model_sha256, wanted.gallery_sha256):
        return "it was made with other models"
    return None


class FoundBefore:
    """A detector that returns the faces that an analysis keeps of its recording."""

    def __init__(self, analysis: Analysis) -> None:
        self._frames, self._version = analysis.frames, analysis.version

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """The faces of a frame. Raises FailedClosed when the recording is not the one that was analysed."""
        return [face for face in self._record(frame).found if not face.again]

    def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
        """The face that was found by looking again for the face of a track; None where none was found.

        Where an earlier program did not look again, a face without evidence at `box`, since there may be one. Raises
        FailedClosed as a call does."""
        record = self._record(frame)
        if self._version < _LOOKED:
            return Face(box, 0.0, evidence=0.0)
        place = next((one.face for one in record.decisions if one.track == track), None)
        return None if place is None else record.found[place]

    def _record(self, frame: Frame) -> FrameRecord:
        if frame.index >= len(self._frames):
            raise FailedClosed(f"the analysis ends before frame {frame.index}")
        record = self._frames[frame.index]
        if record.time != frame.time:
            raise FailedClosed(f"the analysis has another time for frame {frame.index}")
        return record


class Kept:
    """A detector that returns the faces of another one as the analysis will keep them."""

    def __init__(self, detect: Detector, stored: Callable[[Face], Face]) -> None:
        self._detect, self._stored = detect, stored

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        return [self._stored(face) for face in self._detect(frame)]

    def begin(self, frame: Frame) -> None:
        """Let the detector begin with a frame, if it can."""
        if isinstance(self._detect, Begins):
            self._detect.begin(frame)

    def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
        """The answer of the detector when it looks again; if it cannot, a face without evidence: there may be one."""
        if not isinstance(self._detect, LooksAgain):
            return Face(box, 0.0, evidence=0.0)
        found = self._detect.look_again(frame, track, box, others)
        return None if found is None else self._stored(found)


def record_of(done: Done[Any]) -> FrameRecord:
    """The record that an analysis keeps of a frame."""
    pending, decided = done.pending, {one.track: one for one in done.frame.redactions if one.track}
    found, number = found_as_tracked(pending.found, [*(plan.track for plan in done.plans), *pending.tracks])
    decisions = []
    for track in [plan.track for plan in done.plans] + [one for one in pending.tracks if one.number in pending.left]:
        redaction = decided.get(track.number)
        plan = next((plan for plan in done.plans if plan.track.number == track.number), None)
        level = SHOWN if redaction is None else redaction.level
        cause = "" if plan is None or plan.cause is None else plan.cause.value
        decisions.append(
            RecordedDecision(
                track=track.number,
                tracklet=pending.tracklet(track.number),
                person=0 if plan is None else plan.person,
                level=level,
                cause=cause,
                box=track.box if redaction is None else redaction.box,
                place=track.box,
                face=None if track.face is None else number.get(id(track.face)),
                missed=track.missed,
                ambiguous=pending.ambiguous(track.number),
                near=track.near,
                sides=track.sides,
                cut=track.cut,
            )
        )
    return FrameRecord(pending.frame.time, pending.scene, found, decisions)


def found_as_tracked(found: Sequence[Face], tracks: Sequence[Track]) -> tuple[list[Face], dict[int, int]]:
    """The faces that were found, those found by looking again too, and by the `id` of a track's face its index in them.

    Where the tracker joined a face that was found twice, the track's face is the better of the two with the evidence of
    both. This is a new object, which replaces the one that it was made from.
    """
    faces, number = list(found), {id(face): place for place, face in enumerate(found)}
    for face in [track.face for track in tracks]:
        if face is not None and id(face) not in number:
            same = (place for place, one in enumerate(found) if one.box == face.box and one.landmarks is face.landmarks)
            place = next(same, None)
            if place is not None:
                faces[place], number[id(face)] = face, place
            elif face.again:
                number[id(face)] = len(faces)
                faces.append(face)
    return faces, number


@dataclass
class ChosenSurrogates:
    """Which surrogate each person and tracklet got, in a form that only the key turns into a face."""

    by_person: dict[int, ChosenSurrogate]
    by_tracklet: dict[int, ChosenSurrogate] = field(default_factory=dict)

    def note(self, done: Done[Any], chosen: Callable[[int], object], provisional: Callable[[int], object]) -> None:
        """Note the surrogates of a frame. chosen: gives the surrogate of a person; provisional: that of a tracklet."""
        for plan in done.plans:
            if plan.person and plan.person not in self.by_person:
                _note(self.by_person, plan.person, chosen(plan.person))
            tracklet = done.pending.tracklet(plan.track.number)
            if tracklet and plan.face is not None and tracklet not in self.by_tracklet:
                _note(self.by_tracklet, tracklet, provisional(tracklet))


def _note(noted: dict[int, ChosenSurrogate], number: int, one: object) -> None:
    if isinstance(one, Surrogate) and one.method == SAMPLED:
        noted[number] = ChosenSurrogate(one.preserved, one.attempts - 1, one.provisional or 0)


def key_check(key: bytes | None) -> str:
    """A check value by which the owner of a key recognises it: 16 hexadecimal digits; empty without a key."""
    return "" if key is None else hmac.new(key, b"streamdeid analysis", "sha256").hexdigest()[:16]


def why_not_believed(analysis: Analysis, key: bytes) -> str | None:
    """Why a run with this key does not believe an analysis, in words that finish "since …"; None where it does.

    Raises InputError for an analysis that was made with this key and then changed.
    """
    if analysis.end.key_check != key_check(key):
        return "the analysis was not made with this key"
    if not sealed_with(analysis, key):
        raise InputError("the analysis was changed since it was written: remove it, and filter with --analysis again")
    return None


def places_of(analysis: Analysis) -> Callable[[int], Mapping[int, Box]]:
    """A function from the number of a frame to the place of each track in it."""

    def of(index: int) -> Mapping[int, Box]:
        frames = analysis.frames
        return {one.track: one.place for one in frames[index].decisions} if index < len(frames) else {}

    return of
