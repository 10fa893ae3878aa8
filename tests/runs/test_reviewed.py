"""A recording filtered with an analysis beside it, and again with edits: the same bits where nothing was changed."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.analysis.applied import Applied
from streamdeid.analysis.edits import (
    AnotherSurrogate,
    CoverPlace,
    CoverRegion,
    Edit,
    Edits,
    JoinPersons,
    RemoveRedaction,
    ShowPerson,
    Span,
)
from streamdeid.analysis.edits_file import read_edits, write_edits
from streamdeid.analysis.places import Places
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import VERSION, Analysis, RecordedDecision
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.cli.main import main
from streamdeid.core.faces import Face, Keypoints, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes, Redaction
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.errors import InputError, OutputError, SettingsError
from streamdeid.protect.fading import LONGEST
from streamdeid.protect.levels import Level
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import Plan
from streamdeid.report.counts import Counts
from streamdeid.report.redaction_report import FileReport, FileSide
from streamdeid.runs.again import Again, EditedRecording, count_copied, count_rendered
from streamdeid.runs.analysed import header_of, why_not_decided_so
from streamdeid.runs.files import filter_file
from streamdeid.runs.step import Done
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import SyntheticFrame, synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from streamdeid.video.files.source import FileSource
from streamdeid.video.files.spliced import Segment, segments_of
from tests.analysis.old_analysis import write_version_1
from tests.analysis.small_analyses import analysis_of, decision
from tests.synthetic_video import encode

RATE, FRAMES = 10, 50
SAME, OTHER = 3.0, 5.0
"""Grey levels, on average, that one face's pictures are apart at most (the codec's doing), and two faces' at least."""


class Recording:
    """A drawn recording of two people, its output and its analysis."""

    def __init__(self, place: Path, fitting: FitModel, gallery: Gallery) -> None:
        self.place, self.path = place, place / "in.mp4"
        self.drawn: list[SyntheticFrame] = list(
            synthetic_people(fitting, gallery, people=2, seconds=FRAMES / RATE, size=(480, 270), rate=RATE)
        )
        write_drawn_clip(self.path, (one.frame.planes for one in self.drawn), RATE)
        key = place / "key"
        key.write_bytes(bytes(range(32)))
        key.chmod(0o600)
        self.settings = Settings(key_file=key, overwrite=True)
        self.output, self.analysis_path = place / "out.mp4", place / "in.analysis"
        self.left = place / ".in.partial-17.analysis"
        self.left.write_bytes(b"landmarks")
        self.report = filter_file(self.path, self.output, self.settings, analysis=self.analysis_path)
        self.first = pictures(self.output)

    @property
    def analysis(self) -> Analysis:
        return read_analysis(self.analysis_path)

    def edited(self, *done: Edit, output: str = "edited.mp4", fresh: bool = True, **changes: object) -> FileReport:
        """Filter again with some edits; fresh: the earlier output is where the new one will be."""
        target, edits = self.place / output, self.place / "edits.json"
        if fresh:
            target.write_bytes(self.output.read_bytes())
            write_edits(edits, Edits(self.analysis.header.input.sha256, FRAMES, done))
        else:
            write_edits(edits, replace(read_edits(edits), done=done))
        settings = replace(self.settings, **changes)  # type: ignore[arg-type]
        return filter_file(self.path, target, settings, analysis=self.analysis_path, edits=edits)

    def box(self, index: int, person: int, grown: float = 0.0) -> tuple[int, int, int, int]:
        """Where a person's redaction is in a frame."""
        (one,) = [one for one in self.analysis.frames[index].decisions if one.person == person]
        x0, y0, x1, y1 = one.box
        dx, dy = grown * (x1 - x0), grown * (y1 - y0)
        return int(x0 - dx), int(y0 - dy), int(x1 + dx), int(y1 + dy)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Recording:
    return Recording(tmp_path_factory.mktemp("reviewed"), fitting, gallery)


def pictures(path: Path) -> list[Planes]:
    return [frame.planes for frame in FileSource(path)]


def same(a: Planes, b: Planes) -> bool:
    return all(np.array_equal(getattr(a, plane), getattr(b, plane)) for plane in "yuv")


def apart(a: Planes, b: Planes, box: tuple[int, int, int, int]) -> float:
    """Mean absolute difference of luma in a box."""
    x0, y0, x1, y1 = box
    return float(np.abs(luma(a)[y0:y1, x0:x1] - luma(b)[y0:y1, x0:x1]).mean())


def luma(planes: Planes) -> NDArray[np.float64]:
    return planes.y.astype(np.float64)


def changed(before: Sequence[Planes], after: Sequence[Planes]) -> list[int]:
    return [index for index, (a, b) in enumerate(zip(before, after, strict=True)) if not same(a, b)]


def test_what_a_killed_run_left_of_an_analysis_is_removed(recording: Recording) -> None:
    assert not recording.left.exists() and sorted(one.suffix for one in recording.place.glob(".*")) == []


def test_an_analysis_is_kept_and_says_what_was_done(recording: Recording) -> None:
    analysis = recording.analysis
    assert len(analysis.frames) == FRAMES == recording.report.frames
    decisions = [one for record in analysis.frames for one in record.decisions]
    assert len(decisions) == recording.report.faces
    assert {one.person for one in decisions} - {0} == {1, 2} == set(analysis.end.surrogates)
    assert analysis.end.output is not None and analysis.end.output.sha256 == recording.report.output.sha256
    assert all(one.face is None or record.found[one.face] for record in analysis.frames for one in record.decisions)
    assert recording.report.review is not None and recording.report.review.edits is None


def test_an_analysis_that_is_there_saves_the_search_and_changes_nothing(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    known = MediapipeFaces.__call__

    def counted(self: MediapipeFaces, frame: object) -> object:
        asked.append(1)
        return known(self, frame)  # type: ignore[arg-type]

    monkeypatch.setattr(MediapipeFaces, "__call__", counted)
    report = filter_file(
        recording.path, recording.place / "b.mp4", recording.settings, analysis=recording.analysis_path
    )
    assert report.review is not None and "nothing was searched again" in report.review.analysis
    assert len(asked) == 1, "the self-test's"
    assert (recording.place / "b.mp4").read_bytes() == recording.output.read_bytes()
    again = replace(recording.settings, threshold=0.4)
    other = recording.place / "other.analysis"
    other.write_bytes(recording.analysis_path.read_bytes())
    report = filter_file(recording.path, recording.place / "c.mp4", again, analysis=other)
    assert report.review is not None and "threshold was 0.5, and is 0.4" in report.review.analysis
    assert len(asked) > FRAMES


def test_what_a_second_network_saw_decides_again_whatever_was_read(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points far from the landmarks: nobody gets a face on those, in no pass over the recording."""
    clip, known = tmp_path / "in.mp4", MediapipeFaces.__call__
    write_drawn_clip(clip, (one.frame.planes for one in recording.drawn[:20]), RATE)
    assert any(one.level == "own face" for frame in recording.analysis.frames[:20] for one in frame.decisions)

    def beside(self: MediapipeFaces, frame: Frame) -> list[Face]:
        faces = []
        for face in known(self, frame):
            five = np.tile(face.box[:2], (5, 1)) if frame.planes.size == (480, 270) else None  # not the self-test's
            faces.append(replace(face, keypoints=None if five is None else Keypoints(face.box, five, 0.9)))
        return faces

    monkeypatch.setattr(MediapipeFaces, "__call__", beside)
    analysis = tmp_path / "in.analysis"
    first = filter_file(clip, tmp_path / "a.mp4", recording.settings, analysis=analysis)
    assert first.faces and "own face" not in first.levels
    kept = [face.keypoints for frame in read_analysis(analysis).frames for face in frame.found]
    assert kept and None not in kept
    second = filter_file(clip, tmp_path / "b.mp4", recording.settings, analysis=analysis)
    assert second.review is not None and "nothing was searched again" in second.review.analysis
    assert (second.levels, second.persons) == (first.levels, first.persons)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    twice = filter_file(clip, tmp_path / "c.mp4", replace(recording.settings, decisions="whole-file"))
    assert twice.faces and "own face" not in twice.levels


def test_an_analysis_of_version_1_is_edited_and_never_rendered_from_alone(recording: Recording) -> None:
    settings = Settings(method="blackout", overwrite=True)
    path, output, edits = (recording.place / name for name in ("old.analysis", "old.mp4", "old.json"))
    filter_file(recording.path, output, settings, analysis=path)
    before, known = pictures(output), read_analysis(path)
    write_version_1(path, known.header, list(known.frames), known.end)
    track = known.frames[25].decisions[0].track
    write_edits(edits, Edits(known.header.input.sha256, FRAMES, (RemoveRedaction(track, Span(25, 25)),)))
    report = filter_file(recording.path, output, settings, analysis=path, edits=edits)
    assert report.review is not None and report.review.frames_rendered == 20
    assert 25 in changed(before, pictures(output)) and read_analysis(path).version == 1
    with pytest.raises(SettingsError, match=r"version 1, without keypoints; use --overwrite"):
        filter_file(recording.path, recording.place / "n.mp4", replace(settings, overwrite=False), analysis=path)
    report = filter_file(recording.path, output, settings, analysis=path)
    assert report.review is not None
    assert report.review.analysis == "faces were searched again, since it is of version 1, without keypoints"
    assert read_analysis(path).version == VERSION and not changed(before, pictures(output))


def test_without_an_analysis_faces_are_as_they_were_found(recording: Recording) -> None:
    """Rounding them changes next to nothing."""
    filter_file(recording.path, recording.place / "d.mp4", recording.settings)
    plain = pictures(recording.place / "d.mp4")
    errors = [float(np.square(luma(a) - luma(b)).mean()) for a, b in zip(recording.first, plain, strict=True)]
    assert 10 * np.log10(255**2 / np.mean(errors)) > 38


def test_a_person_is_left_visible_there_and_then_and_nothing_else_changes(recording: Recording) -> None:
    report = recording.edited(ShowPerson(1, Span(24, 27)))
    after = pictures(recording.place / "edited.mp4")
    assert report.review is not None and report.review.edits is not None
    assert report.review.frames_rendered == 20 and report.review.edits.visible_frames == {"1": 4} and report.shown == 4
    assert changed(recording.first, after) and set(changed(recording.first, after)) <= set(range(20, 40))
    original = [one.frame.planes for one in recording.drawn]
    for index in (24, 26, 27):
        assert apart(after[index], original[index], recording.box(index, 1)) < SAME
        assert apart(after[index], original[index], recording.box(index, 2)) > OTHER
    for index in (22, 23, 28, 30):
        assert apart(after[index], original[index], recording.box(index, 1)) > OTHER
    for index in range(20, 40):  # the others keep their faces, in segments that were rendered again, too
        assert apart(after[index], recording.first[index], recording.box(index, 2)) < SAME
    assert sum(report.levels.values()) == report.faces == recording.report.faces - 4


def test_what_is_rendered_again_lies_where_a_killed_run_leaves_nothing(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In scratch folders, which a shell removes when the run is killed (tests/runs/test_scratch.py)."""
    target, edits = recording.place / "again.mp4", recording.place / "edits.json"
    target.write_bytes(recording.output.read_bytes())
    write_edits(edits, Edits(recording.analysis.header.input.sha256, FRAMES, (ShowPerson(1, Span(24, 27)),)))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: set[tuple[str, int]] = set()

    def progress(*_: int) -> None:
        here = [one for one in tmp_path.iterdir() if one.is_dir()]
        seen.update((one.name.rpartition("-")[0], one.stat().st_mode & 0o777) for one in here)

    analysis, settings = recording.analysis_path, recording.settings
    filter_file(recording.path, target, settings, progress=progress, analysis=analysis, edits=edits)
    assert seen == {("streamdeid-scratch", 0o700)} and not list(tmp_path.iterdir())


def test_undone_edits_are_taken_out_of_the_output_again(recording: Recording) -> None:
    recording.edited(ShowPerson(1, Span(24, 27)), output="undone.mp4")
    report = recording.edited(output="undone.mp4", fresh=False)
    assert report.review is not None and report.review.frames_rendered == 20
    after = pictures(recording.place / "undone.mp4")
    assert all(
        apart(a, b, recording.box(i, 1)) < SAME for i, (a, b) in enumerate(zip(after, recording.first, strict=True))
    )
    report = recording.edited(output="undone.mp4", fresh=False)
    assert report.review is not None and report.review.frames_rendered == 0


def test_places_regions_and_false_redactions(recording: Recording) -> None:
    box = (200.0, 10.0, 260.0, 70.0)
    track = next(one.track for one in recording.analysis.frames[44].decisions if one.person == 2)
    report = recording.edited(
        CoverPlace(1, [(2, box)], 2, [box] * 3), CoverRegion((0.0, 200.0, 60.0, 260.0), Span(45, None)),
        RemoveRedaction(track, Span(44, 44)),
    )  # fmt: skip
    assert report.review is not None and report.review.frames_rendered == 30 and report.filled_regions == 5
    faces = {person: sum(levels.values()) for person, levels in report.persons.items()}
    before = {person: sum(levels.values()) for person, levels in recording.report.persons.items()}
    assert faces == {**before, "2": before["2"] - 1, "0": before.get("0", 0) + 3}, "copied and rendered ones alike"
    after, original = pictures(recording.place / "edited.mp4"), [one.frame.planes for one in recording.drawn]
    corner = luma(after[47])[205:255, 5:55]
    assert corner.std() < 3 and luma(after[44])[205:255, 5:55].std() > 3
    assert apart(after[44], original[44], recording.box(44, 2)) < SAME
    assert apart(after[45], original[45], recording.box(45, 2)) > OTHER
    inside = (205, 15, 255, 65)
    assert apart(after[3], recording.first[3], inside) > 2 * apart(after[8], recording.first[8], inside)


def _soft(track: int, person: int, tracklet: int = 1) -> RecordedDecision:
    return decision(track, tracklet, person, (10.0, 10.0, 50.0, 50.0), "soft redaction")


@pytest.mark.parametrize(("last", "rendered"), [(19 - LONGEST, 20), (20 - LONGEST, 40)])
def test_what_an_edit_touches_goes_on_for_as_long_as_what_was_shown_fades(
    recording: Recording, last: int, rendered: int
) -> None:
    assert [one.first for one in segments_of(recording.output)] == [0, 20, 40]
    done = recording.edited(CoverRegion((8.0, 8.0, 40.0, 40.0), Span(0, last)))
    assert done.review is not None and done.review.frames_rendered == rendered


def test_people_are_counted_alike_however_they_were_rendered() -> None:
    """Somebody known who is redacted softly is no less known: as in one pass, so in two, rendered again and copied."""
    box = (10.0, 10.0, 50.0, 50.0)
    planes = Planes(*(np.zeros(size, np.uint8) for size in ((120, 160), (60, 80), (60, 80))))
    tracks = [Track(number, box, None, 1, False) for number in (1, 2)]
    people = zip(tracks, (7, 0), strict=True)
    plans = [Plan(track, (box, None, (160, 120)), Level.SOFT, person=who) for track, who in people]
    hidden = [Redaction(track.number, box, Level.SOFT.label) for track in tracks]
    frame = Frame(planes, Fraction(0), 0)
    done = Done(PendingFrame(frame, tracks, None), plans, DeidentifiedFrame(planes, Fraction(0), 0, tuple(hidden)))
    analysis = analysis_of([[_soft(1, 7, 1), _soft(2, 0, 2)], [_soft(1, 7, 1)]])
    places = Places.of(analysis)
    recorded = EditedRecording(analysis, Applied(places, ()), places)
    once, again, copied = Counts(), Counts(), Counts()
    done.count(once)
    count_rendered(again, done, recorded)
    count_copied(copied, recorded, [Segment(1, 1)], "solid")
    assert once.by_person == {"0": {"soft redaction": 1}, "7": {"soft redaction": 1}}
    assert once == again == copied


def test_what_was_cut_is_counted_alike_however_it_was_rendered() -> None:
    box = (10.0, 10.0, 50.0, 50.0)
    planes = Planes(*(np.zeros(size, np.uint8) for size in ((120, 160), (60, 80), (60, 80))))
    tracks = [Track(number, box, None, 1, False, cut=number < 3) for number in (1, 2, 3)]
    plans = [Plan(track, (box, None, (160, 120)), Level.SOFT) for track in tracks]
    done = Done(
        PendingFrame(Frame(planes, Fraction(0), 0), tracks, None), plans, DeidentifiedFrame(planes, Fraction(0), 0, ())
    )
    kept = [replace(_soft(number, 0, number), cut=number < 3) for number in (1, 2, 3)]
    analysis = analysis_of([kept, kept])
    places = Places.of(analysis)
    recorded = EditedRecording(analysis, Applied(places, ()), places)
    assert [track.cut for track in recorded.tracks(1)] == [True, True, False]
    once, again, copied, without = Counts(), Counts(), Counts(), Counts()
    done.count(once)
    count_rendered(again, done, recorded)
    count_copied(copied, recorded, [Segment(1, 1)], "solid")
    applied = Applied(places, (RemoveRedaction(1, Span(0, 0)),))
    count_copied(without, EditedRecording(analysis, applied, places), [Segment(1, 1)], "solid")
    assert (once.cut, again.cut, copied.cut, without.cut) == (2, 2, 2, 1)


def test_fixed_areas_are_counted_in_copied_frames_too() -> None:
    analysis = analysis_of([[_soft(1, 0)]] * 5)
    places = Places.of(analysis)
    counts = Counts()
    count_copied(counts, EditedRecording(analysis, Applied(places, ()), places), [Segment(1, 2)], "solid", regions=2)
    assert (counts.frames, counts.regions, counts.faces) == (3, 6, 3)


def test_who_was_not_known_yet_in_a_copied_frame_is_counted_as_nobody() -> None:
    """The tracklet's person was decided later, as in the run that rendered it."""
    analysis = analysis_of([[_soft(1, 0)], [_soft(1, 7)]])
    places = Places.of(analysis)
    counted, joined = Counts(), Counts()
    count_copied(counted, EditedRecording(analysis, Applied(places, ()), places), [], "solid")
    assert counted.by_person == {"0": {"soft redaction": 1}, "7": {"soft redaction": 1}}
    count_copied(joined, EditedRecording(analysis, Applied(places, (JoinPersons(3, 7),)), places), [], "solid")
    assert joined.persons.keys() == {0, 3}


def test_without_the_key_everything_is_rendered_and_edits_hold_all_the_same(recording: Recording) -> None:
    report = recording.edited(ShowPerson(1, Span(24, 27)), key_file=None)
    assert report.review is not None and report.review.frames_rendered is None
    assert "the key is not the one" in report.review.analysis and report.shown == 4
    after, original = pictures(recording.place / "edited.mp4"), [one.frame.planes for one in recording.drawn]
    assert apart(after[25], original[25], recording.box(25, 1)) < SAME
    assert apart(after[30], original[30], recording.box(30, 1)) > OTHER


def test_joined_persons_share_a_face_and_who_asks_for_another_gets_one(recording: Recording) -> None:
    middle = recording.box(40, 2)
    recording.edited(JoinPersons(1, 2))
    joined = pictures(recording.place / "edited.mp4")
    report = recording.edited(JoinPersons(1, 2), output="whole.mp4", fresh=True, lookahead=1.0)
    assert report.review is not None and report.review.frames_rendered == FRAMES
    assert apart(joined[40], recording.first[40], middle) > SAME
    unchanged = [apart(a, b, recording.box(i, 1)) for i, (a, b) in enumerate(zip(joined, recording.first, strict=True))]
    assert max(unchanged) < SAME
    recording.edited(AnotherSurrogate(2))
    other = pictures(recording.place / "edited.mp4")
    assert apart(other[40], recording.first[40], middle) > SAME
    assert apart(other[40], joined[40], middle) > max(unchanged)  # two drawn faces in one light can be much alike


def test_a_mask_needs_no_key(recording: Recording) -> None:
    settings = Settings(method="blackout", overwrite=True)
    analysis, output, edits = (recording.place / name for name in ("m.analysis", "m.mp4", "m.json"))
    filter_file(recording.path, output, settings, analysis=analysis)
    before, known = pictures(output), read_analysis(analysis)
    track = known.frames[25].decisions[0].track
    write_edits(edits, Edits(known.header.input.sha256, FRAMES, (RemoveRedaction(track, Span(25, 25)),)))
    report = filter_file(recording.path, output, settings, analysis=analysis, edits=edits)
    assert report.review is not None and report.review.frames_rendered == 20 and report.people is None
    assert 25 in changed(before, pictures(output))


def _rewritten(recording: Recording, path: Path, **changes: object) -> None:
    """The analysis without person 2 in frames 20 to 39, by somebody who has no key."""
    known = recording.analysis
    with AnalysisWriter(path, known.header, overwrite=True) as writer:
        for index, record in enumerate(known.frames):
            left = [one for one in record.decisions if one.person != 2 or not 20 <= index < 40]
            faces = {one.face for one in record.decisions} - {one.face for one in left}
            found = [face for number, face in enumerate(record.found) if number not in faces]
            place = {id(face): number for number, face in enumerate(found)}
            writer.add(
                replace(
                    record,
                    found=found,
                    decisions=[
                        replace(o, face=None if o.face is None else place[id(record.found[o.face])]) for o in left
                    ],
                )
            )
        writer.close(replace(known.end, **changes))  # type: ignore[arg-type]


def test_who_has_the_key_does_not_believe_an_analysis_that_was_changed(recording: Recording, tmp_path: Path) -> None:
    """A face that somebody took out of the analysis is not left open in what is rendered again."""
    forged, edits, output = (tmp_path / name for name in ("in.analysis", "e.json", "o.mp4"))

    def edited() -> FileReport:
        output.write_bytes(recording.output.read_bytes())
        write_edits(edits, Edits(recording.analysis.header.input.sha256, FRAMES, (ShowPerson(1, Span(24, 27)),)))
        return filter_file(recording.path, output, recording.settings, analysis=forged, edits=edits)

    _rewritten(recording, forged)
    with pytest.raises(InputError, match="was changed since it was written"):
        edited()
    assert output.read_bytes() == recording.output.read_bytes()
    _rewritten(recording, forged, key_check="", seal="")
    report = edited()
    assert report.review is not None and "faces were searched again" in report.review.analysis
    after, original = pictures(output), [one.frame.planes for one in recording.drawn]
    for index in range(20, 40):
        assert apart(after[index], original[index], recording.box(index, 2)) > OTHER


def test_what_an_output_holds_is_believed_under_the_key_only(recording: Recording) -> None:
    """Somebody puts another file in the place of the output, and says that it holds the edits."""
    target, edits = recording.place / "forged.mp4", recording.place / "edits.json"
    recording.edited(ShowPerson(1, Span(24, 27)), output="forged.mp4")
    target.write_bytes(recording.path.read_bytes())
    known = read_edits(edits)
    assert known.rendered is not None and known.rendered.seal
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    write_edits(edits, replace(known, rendered=replace(known.rendered, output_sha256=digest)))
    report = filter_file(recording.path, target, recording.settings, analysis=recording.analysis_path, edits=edits)
    assert report.review is not None and report.review.frames_rendered is None
    after, original = pictures(target), [one.frame.planes for one in recording.drawn]
    assert apart(after[40], original[40], recording.box(40, 2)) > OTHER


def test_what_a_desk_changes_meanwhile_is_not_lost(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    edits, later = recording.place / "edits.json", ShowPerson(2, Span(0, 3))
    render = Again.render

    def rendered(self: Again, *given: Any, **named: Any) -> None:
        render(self, *given, **named)
        known = read_edits(edits)
        write_edits(edits, replace(known, done=(*known.done, later)))

    monkeypatch.setattr(Again, "render", rendered)
    recording.edited(ShowPerson(1, Span(24, 27)), output="meanwhile.mp4")
    known = read_edits(edits)
    assert known.done == (ShowPerson(1, Span(24, 27)), later)
    assert known.rendered is not None and known.rendered.edits == (ShowPerson(1, Span(24, 27)),)


def test_sound_is_not_copied_from_an_earlier_output_when_it_is_not_wanted(tmp_path: Path, recording: Recording) -> None:
    path, output = tmp_path / "in.mp4", tmp_path / "out.mp4"
    encode(path, frames=8, audio=("aac",))
    analysis, edits = tmp_path / "in.analysis", tmp_path / "e.json"
    settings = replace(recording.settings, method="blackout", key_file=None)
    report = filter_file(path, output, settings, analysis=analysis)
    region = CoverRegion((0.0, 0.0, 20.0, 20.0), Span(2, 3))
    write_edits(edits, Edits(report.input.sha256, report.frames, (region,)))
    report = filter_file(path, output, settings, analysis=analysis, edits=edits)
    assert report.review is not None and report.review.frames_rendered
    assert FileSource(output).info.audio_codecs
    report = filter_file(path, output, replace(settings, audio=False), analysis=analysis, edits=edits)
    assert report.review is not None and "has sound" in report.review.analysis
    assert not FileSource(output).info.audio_codecs


def test_a_recording_that_cannot_be_sought_is_rendered_whole(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    def between(self: FileSource, *given: Any) -> Any:
        raise InputError("no")

    monkeypatch.setattr(FileSource, "between", between)
    report = recording.edited(ShowPerson(1, Span(24, 27)), output="sought.mp4")
    assert report.review is not None and "only be read from its beginning" in report.review.analysis
    assert report.shown == 4


def test_links_and_names_that_cannot_be_are_refused(recording: Recording, tmp_path: Path) -> None:
    loop, long, output = tmp_path / "loop", tmp_path / ("x" * 300), tmp_path / "o.mp4"
    loop.symlink_to(loop)
    for analysis, edits in ((loop, None), (recording.analysis_path, loop), (recording.analysis_path, long)):
        with pytest.raises(InputError, match="cannot be read"):
            filter_file(recording.path, output, recording.settings, analysis=analysis, edits=edits)
    with pytest.raises(OutputError, match="cannot be written"):
        filter_file(recording.path, output, recording.settings, analysis=long)
    assert not output.exists()


def test_other_pictures_on_the_whitelist_are_told_apart(tmp_path: Path, recording: Recording) -> None:
    """Else whom an earlier run left visible would stay so in what is copied, though somebody else is named now."""
    headers = []
    for content in (b"one", b"another", b"one"):
        picture = tmp_path / f"{len(headers)}.jpg"
        picture.write_bytes(content)
        settings = replace(recording.settings, whitelist=(picture,))
        source, models = FileSource(recording.path), load_models(settings.models)
        headers.append(header_of(settings, models, source.info, FileSide.of(recording.path)))
    reason = why_not_decided_so(headers[0], headers[1])
    assert reason is not None and "whitelist" in reason and "jpg" not in reason
    assert why_not_decided_so(headers[0], headers[2]) is None


def test_what_does_not_fit_is_refused(recording: Recording, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="lookahead was 1"):
        recording.edited(lookahead=0.5)
    kept = recording.analysis_path.read_bytes()
    other = replace(recording.settings, threshold=0.4, overwrite=False)
    with pytest.raises(SettingsError, match=r"threshold was 0.5, and is 0.4.*--overwrite"):
        filter_file(recording.path, tmp_path / "o.mp4", other, analysis=recording.analysis_path)
    assert recording.analysis_path.read_bytes() == kept and not (tmp_path / "o.mp4").exists()
    edits = tmp_path / "e.json"
    write_edits(edits, Edits("0" * 64, FRAMES))
    with pytest.raises(SettingsError, match="another recording"):
        filter_file(
            recording.path, tmp_path / "o.mp4", recording.settings, analysis=recording.analysis_path, edits=edits
        )
    with pytest.raises((InputError, SettingsError)):
        filter_file(recording.path, tmp_path / "o.mp4", recording.settings, analysis=tmp_path / "none", edits=edits)
    other = tmp_path / "clip.mp4"
    write_drawn_clip(other, (one.frame.planes for one in recording.drawn[:12]), RATE)
    kept = tmp_path / "in.analysis"
    kept.write_bytes(recording.analysis_path.read_bytes())
    with pytest.raises(SettingsError, match="of another recording"):
        filter_file(other, tmp_path / "o.mp4", replace(recording.settings, overwrite=False), analysis=kept)
    assert kept.read_bytes() == recording.analysis_path.read_bytes() and not (tmp_path / "o.mp4").exists()
    for one, two in ((tmp_path / "o.mp4", tmp_path / "o.mp4"), (tmp_path / "o.mp4", recording.path)):
        with pytest.raises(SettingsError, match="itself; choose another"):
            filter_file(recording.path, one, recording.settings, analysis=two)


def test_the_command_line_tells_what_became_of_edits(recording: Recording, capsys: pytest.CaptureFixture[str]) -> None:
    output, edits, report = (recording.place / name for name in ("cli.mp4", "cli.json", "report.json"))
    output.write_bytes(recording.output.read_bytes())
    write_edits(edits, Edits(recording.analysis.header.input.sha256, FRAMES, (ShowPerson(1, Span(24, 27)),)))
    command = [
        "filter",
        str(recording.path),
        str(output),
        "--edits",
        str(edits),
        "--overwrite",
        "--report",
        str(report),
    ]
    assert main([*command, "--key-file", str(recording.settings.key_file)]) == 0
    said = capsys.readouterr().out
    assert "person 1 VISIBLE in 4 frames" in said.splitlines()[0]
    assert main([*command, "--key-file", str(recording.settings.key_file), "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert not quiet.out and "person 1 VISIBLE in 4 frames" in quiet.err
    assert next(iter(json.loads(report.read_text()))) == "left_visible"
    known = json.loads(report.read_text())
    assert known["files"][0]["review"]["edits"]["visible_frames"] == {"1": 4}
    assert main(["audit", str(report)]) in (0, 1)
    assert "VISIBLE" in capsys.readouterr().out.splitlines()[0]
    assert main(["audit", str(report), "--json"]) in (0, 1)
    assert "person 1 VISIBLE" in json.loads(capsys.readouterr().out)["left_visible"][0]
    track = recording.analysis.frames[44].decisions[0].track
    write_edits(edits, Edits(recording.analysis.header.input.sha256, FRAMES, (RemoveRedaction(track, Span(44, 44)),)))
    assert main([*command, "--key-file", str(recording.settings.key_file)]) == 0
    assert "REMOVED as false in 1 frames" in capsys.readouterr().out.splitlines()[0]
