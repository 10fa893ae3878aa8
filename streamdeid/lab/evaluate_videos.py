"""The video part of `streamdeid evaluate attacks`: the real filter over clips, watched by attacks A8, A10 and A14.

Everything stays in memory; the only file written is a published one, in a temporary directory, to read its tags.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from streamdeid.cli.inputs import FALLBACK, plan
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame
from streamdeid.core.protocols import Detector
from streamdeid.core.square_pixels import resized
from streamdeid.lab.attacks import gaps
from streamdeid.lab.attacks.averaged_frames import Aligned, Averages, Recogniser, identity, recognised
from streamdeid.lab.attacks.filmed import Filmed, FilmedPair, Person, counterpart
from streamdeid.lab.attacks.gaps_chapter import gaps_chapter
from streamdeid.lab.attacks.video_chapters import averages_chapter, motion_chapter
from streamdeid.lab.tables import Chapter, Table
from streamdeid.runs.parts import (
    WRITABLE,
    assemble,
    lookahead_frames,
    open_sink,
    open_source,
    timed_detector,
)
from streamdeid.runs.session import Session, open_session, secret
from streamdeid.runs.step import Step, filtered
from streamdeid.settings import Settings
from streamdeid.surrogates.choice import SAMPLED
from streamdeid.surrogates.models import Models

Progress = Callable[[str], None]
Describe = Callable[[Aligned], Mapping[str, Points]]

CONTRAST = "k-diff-furthest-paper"
"""The method that carries the person's own residual: an attack that finds nothing there is no attack."""
_MOST, _MOST_LONG, _MOST_CONTRAST, _MOST_QUICK = 500, 1000, 125, 60
"""Frames of a clip that are looked at; the second where the first ones show one person most of the time."""
_QUICK_CLIPS = 4
_TAGGED_FRAMES = 10
_OF_THE_CONTAINER = ("major_brand", "minor_version", "compatible_brands")
"""Tags that name the format of the file itself, which the output has too."""
_LEAST_TEXT = 4
"""Characters: shorter texts are found in any file by chance."""


@dataclass(frozen=True)
class _Tools:
    session: Session
    detect: Detector
    again: Detector
    """Finds faces in what was published; a second one, since detectors remember the last picture."""
    describe: tuple[Describe, Describe]
    """What is made of averaged faces: of the original's and of the published ones."""
    tested: bool = True


def video_chapters(
    directory: Path,
    *,
    models: Models | None = None,
    method: str = SAMPLED,
    key_file: Path | None = None,
    recogniser: Recogniser | None = None,
    quick: bool = False,
    progress: Progress = lambda line: None,
) -> list[Chapter]:
    """Chapters A8, A10 and A14 from the clips of a directory, through the whole filter with its default settings.

    Where NAME.faces.csv (frame, x0, y0, x1, y1, score: an independent detector's boxes) lies beside a clip, faces that
    keep their pixels are counted. key_file: a secret that makes the run repeatable. recogniser: RGB picture and 68
    landmarks in, a vector out. quick: the first 60 frames of the four smallest files. progress is told each clip's name
    before it runs. Raises SettingsError, InputError, ModelError, FailedClosed and, for the file with the tags,
    OutputError.
    """
    settings = Settings(method=method, key_file=key_file)
    session = open_session(settings) if models is None else Session(settings, models, secret(settings))
    model = session.models.fitting.model
    clips = [job.input for job in plan([str(directory)], Path(tempfile.gettempdir()), WRITABLE)]
    clips = sorted(sorted(clips, key=lambda clip: clip.stat().st_size)[:_QUICK_CLIPS]) if quick else clips

    def describe(face: Aligned) -> Mapping[str, Points]:
        vector = identity(face, model)
        vectors = {"model": vector, "model, whitened": vector / np.sqrt(model.variances)}
        if recogniser is not None:
            vectors["recogniser"] = recognised(face, model, recogniser)
        return vectors

    with (
        contextlib.closing(timed_detector(settings)) as detect,
        contextlib.closing(timed_detector(settings)) as two,
    ):
        tools = _Tools(session, detect, two, (describe, describe))
        most = (_MOST_QUICK, _MOST_QUICK, _MOST_QUICK // 2) if quick else (_MOST, _MOST_LONG, _MOST_CONTRAST)
        results, others = [], []
        for clip in clips:
            progress(f"{clip.name}, {method}")
            heard = _Heard(detect)
            own = replace(tools, session=replace(session, key=_key_of(clip, session.key)), detect=heard)
            results.append(_filmed(clip, own, most[:2]))
            if results[-1].main is not None and method != CONTRAST:
                progress(f"{clip.name}, {CONTRAST}")
                # The originals were described already.
                other = replace(own.session, settings=replace(settings, method=CONTRAST))
                said = _Replayed(heard.faces)
                seen = replace(own, session=other, detect=said, tested=False, describe=(lambda face: {}, describe))
                others.append(_filmed(clip, seen, (most[2], most[2])))
        progress("tags of a published file")
        tags, survived = _tags(clips, tools)
    return [
        averages_chapter(results, method, others, CONTRAST),
        motion_chapter(results),
        gaps_chapter(results, tags, survived),
    ]


def _key_of(clip: Path, key: bytes | None) -> bytes | None:
    """A key for each clip: under one key, person 1 of every clip would be drawn the same new face."""
    return None if key is None else hmac.new(key, clip.name.encode(), hashlib.sha256).digest()


class _Heard:
    """A detector that keeps what it said, so that another method need not look again."""

    def __init__(self, detect: Detector) -> None:
        self._detect = detect
        self.faces: dict[int, Sequence[Face]] = {}

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        found = self._detect(frame)
        self.faces[frame.index] = found
        return found


class _Replayed:
    """A detector that says again what was heard."""

    def __init__(self, faces: Mapping[int, Sequence[Face]]) -> None:
        self._faces = faces

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        return self._faces[frame.index]


@dataclass(frozen=True)
class _Shown:
    """A frame before and after the filter."""

    original: Frame
    tracks: Sequence[Track]
    published: DeidentifiedFrame


def _shown(path: Path, tools: _Tools, more: Callable[[int], bool]) -> Iterator[_Shown]:
    """The clip's frames, while `more` is true of their number, through the filter as `FileRun.filter` runs it."""
    settings = tools.session.settings
    source = open_source(path, settings)
    size, rate = (source.info.width, source.info.height), source.info.average_rate
    stream = assemble(tools.session, tools.detect, size=size, rate=rate, tested=tools.tested)
    step: Step[None] = stream.step()
    frames = itertools.takewhile(lambda frame: more(frame.index), source)
    with contextlib.closing(stream):
        for done in filtered(frames, step, lookahead_frames(settings, source.info)):
            yield _Shown(done.pending.frame, done.pending.tracks, done.frame)


def _filmed(path: Path, tools: _Tools, most: tuple[int, int]) -> Filmed:
    """What the attacks measure of a clip's first frames; `most`: for any clip, and for one with a main person."""
    info = open_source(path, tools.session.settings).info
    table = path.with_name(f"{path.stem}.faces.csv")
    boxes = gaps.read_boxes(table) if table.is_file() else None
    result = Filmed(
        path.stem, float(info.average_rate), gaps.looked_at_every(boxes or ()), None if boxes is None else []
    )

    def more(number: int) -> bool:
        return number < most[0] or (number < most[1] and result.main is not None)

    for shown in _shown(path, tools, more):
        index, time = shown.original.index, float(shown.original.time)
        before = shown.original.planes
        after = resized(shown.published.planes, before.size)
        result.frames += 1
        if boxes is not None and result.findings is not None:
            # Nothing was encoded, so the original "encoded again" is the original itself.
            result.findings += gaps.compared(before, after, before, [box for box in boxes if box.frame == index])
        tracks = [track for track in shown.tracks if track.face is not None and track.face.landmarks is not None]
        found = tools.again(Frame(after, shown.original.time, index)) if tracks else ()
        for track in tracks:
            assert track.face is not None
            averages = Averages(tools.describe[0]), Averages(tools.describe[1])
            pair = FilmedPair(time, before, after, track.face, counterpart(track.face, found))
            result.people.setdefault(track.number, Person(averages)).add(pair, tools.session.models.fitting.model)
    return result


def _tags(clips: Sequence[Path], tools: _Tools) -> tuple[Table | None, list[str]]:
    """What became of the tags of the smallest clip that has some, and those that can still be read in the output.

    The first frames are published and written as `streamdeid filter` does it, into a directory that is then removed.
    """
    settings = tools.session.settings
    for clip in sorted(clips, key=lambda each: each.stat().st_size):
        info = open_source(clip, settings).info
        tags = [(name, value) for name, value in info.metadata if name not in _OF_THE_CONTAINER]
        if tags:
            break
    else:
        return None, []
    with tempfile.TemporaryDirectory(prefix="streamdeid-") as directory:
        extension = clip.suffix if clip.suffix.lower() in WRITABLE else FALLBACK
        out = Path(directory) / f"out{extension}"
        with open_sink(out, info, settings) as sink:
            for shown in _shown(clip, tools, lambda number: number < _TAGGED_FRAMES):
                sink.write(shown.published)
        content, written = out.read_bytes(), open_source(out, settings).info
    kept = dict(written.metadata)
    rows, survived = [], []
    for name, value in tags:
        readable = kept.get(name) == value or (len(value) >= _LEAST_TEXT and value.encode() in content)
        survived += [name] if readable else []
        rows.append((name, "survives" if readable else "gone"))
    sound = ", ".join(info.audio_codecs) or "none"
    same = written.audio_codecs == info.audio_codecs
    rows.append(("sound", f"{sound}: copied, so the voice is heard" if same and info.audio_codecs else sound))
    new = sorted(name for name in kept if name not in dict(info.metadata) and name not in _OF_THE_CONTAINER)
    rows.append(("tags that the output has and the input has not", ", ".join(new) or "none"))
    note = (
        "Looked for in the output's own tags and, as text, in all its bytes. Tags of the file only, not those "
        "of single streams. Values are not shown."
    )
    return Table(
        f"Tags of {clip.name} in what the filter writes", ("Tag", "In the output"), tuple(rows), note
    ), survived
