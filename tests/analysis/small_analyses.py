"""Analyses of a few frames for tests: put together by hand, or drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import strategies as st

from streamdeid.analysis import edits as e
from streamdeid.analysis.records import Analysis, AnalysisEnd, AnalysisHeader, FrameRecord, RecordedDecision, Side
from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face

SIZE = 160, 120
LEVELS = ("own face", "posed face", "soft redaction", "shown")


def decision(
    track: int,
    tracklet: int,
    person: int,
    box: Box,
    level: str = "own face",
    *,
    ambiguous: bool = False,
    place: Box | None = None,
    face: int | None = None,
    missed: int = 0,
    near: bool = False,
) -> RecordedDecision:
    """A decision; place: as the box where it is not given."""
    return RecordedDecision(track, tracklet, person, level, "", box, place or box, face, missed, ambiguous, near)


def analysis_of(
    frames: Sequence[Sequence[RecordedDecision]],
    found: Sequence[Sequence[Face]] | None = None,
    scenes: Sequence[int] | None = None,
    size: tuple[int, int] = SIZE,
    rate: int = 25,
) -> Analysis:
    """An analysis of these decisions by frame; found and scenes by frame, too."""
    records = [
        FrameRecord(
            Fraction(index, rate),
            scenes[index] if scenes is not None else 0,
            found[index] if found is not None else (),
            decisions,
        )
        for index, decisions in enumerate(frames)
    ]
    header = AnalysisHeader(Side("a" * 64, 1), *size, Fraction(rate), {}, "", "")
    return Analysis(header, records, AnalysisEnd({}, None, ""))


def edits_of(analysis: Analysis, *done: e.Edit) -> e.Edits:
    """These edits of an analysis."""
    return e.Edits(analysis.header.input.sha256, len(analysis.frames), done)


_corner = st.integers(0, 6).map(lambda n: 20.0 * n)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    """Boxes that often meet, some only with their edges."""
    x, y = draw(_corner), draw(_corner)
    return x, y, x + draw(st.sampled_from([20.0, 30.0])), y + draw(st.sampled_from([20.0, 30.0]))


@st.composite
def analyses(draw: st.DrawFn) -> Analysis:
    """Up to ten frames with up to four tracks: tracklets change, persons are known late, places come first."""
    frames: list[list[RecordedDecision]] = [[] for _ in range(draw(st.integers(1, 10)))]
    tracklet = 0
    for track in range(1, draw(st.integers(1, 4)) + 1):
        tracklet += 1
        person = draw(st.integers(0, 3))
        before = draw(st.integers(0, 2))
        for index in range(draw(st.integers(0, len(frames) - 1)), draw(st.integers(1, len(frames)))):
            if before:
                frames[index].append(decision(track, 0, 0, draw(boxes()), "soft redaction"))
                before -= 1
                continue
            if draw(st.integers(0, 5)) == 0:
                tracklet, person = tracklet + 1, draw(st.integers(0, 3))
            level = draw(st.sampled_from(LEVELS))
            named = person if draw(st.integers(0, 3)) else draw(st.sampled_from([0, 0, 3]))
            doubt = draw(st.integers(0, 6)) == 0
            frames[index].append(decision(track, tracklet, named, draw(boxes()), level, ambiguous=doubt))
    for row in frames:
        if draw(st.integers(0, 9)) == 0:
            row.append(decision(0, 0, 0, draw(boxes()), "region"))
    return analysis_of(frames)


@st.composite
def some_edits(draw: st.DrawFn, analysis: Analysis, most: int = 6) -> list[e.Edit]:
    """Edits in any order, which need not fit."""
    number = st.integers(1, 5)
    frames = len(analysis.frames)
    done: list[e.Edit] = []
    for index in range(draw(st.integers(0, most))):
        first = draw(st.integers(0, frames - 1))
        span = e.Span(first, draw(st.one_of(st.none(), st.integers(first, frames - 1))))
        place = draw(boxes())
        row = [draw(boxes()) for _ in range(draw(st.integers(1, frames - first)))]
        kinds: list[e.Edit] = [
            e.ShowPerson(draw(number), span),
            e.CoverPerson(draw(number), span),
            e.CoverPlace(draw(st.integers(1, 2)), [(first, row[0])], first, row),
            e.RemoveRedaction(draw(number), span),
            e.JoinPersons(draw(number), draw(number)),
            e.PartPerson(draw(number), first, 100 + index),
            e.AnotherSurrogate(draw(number)),
            e.CoverRegion(place, span),
        ]
        done.append(draw(st.sampled_from(kinds[:1] * 3 + kinds)))
    return done
