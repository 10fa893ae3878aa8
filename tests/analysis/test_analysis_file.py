"""An analysis file: what is written is read, whole or not at all, and nothing that it says is believed."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from streamdeid.analysis import layout
from streamdeid.analysis.columns import columns_of
from streamdeid.analysis.places import Places
from streamdeid.analysis.read_analysis import AnalysisFrames, read_analysis
from streamdeid.analysis.records import VERSION, AnalysisEnd, AnalysisHeader, FrameRecord, RecordedDecision
from streamdeid.analysis.stored_faces import numbers_of
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.core.atomic_file import Growing
from streamdeid.core.faces import Face
from streamdeid.errors import InputError, OutputError, SettingsError
from tests.analysis.made_recordings import END, HEADER, assert_kept, made_keypoints, made_record, write_recording
from tests.analysis.old_analysis import old_frame, write_version_1

_NOTHING = AnalysisEnd({}, None, "")


def _frame(number: int, **other: object) -> FrameRecord:
    return replace(FrameRecord(Fraction(number, 25), 0, (), ()), **other)  # type: ignore[arg-type]


def _written(path: Path, *records: FrameRecord, header: AnalysisHeader = HEADER) -> None:
    with AnalysisWriter(path, header, overwrite=True) as writer:
        for record in records:
            writer.add(record)
        writer.close(_NOTHING)


@pytest.mark.parametrize("frames", [0, 1, 31, 32, 33, 70])
def test_what_is_written_is_read(tmp_path: Path, frames: int) -> None:
    path = tmp_path / "a.analysis"
    records = write_recording(path, frames)
    analysis = read_analysis(path)
    assert (analysis.header, analysis.end, len(analysis.frames)) == (HEADER, END, frames)
    for record, read in zip(records, analysis.frames, strict=True):
        assert_kept(record, read)
    assert [path] == list(tmp_path.iterdir())


def test_frames_are_found_by_their_number(tmp_path: Path) -> None:
    records = write_recording(tmp_path / "a", 70)
    frames = read_analysis(tmp_path / "a").frames
    for number in (69, 0, 40, -1, 31, 32, -70, 5):
        assert_kept(records[number], frames[number])
    assert [frame.time for frame in frames[30:40:3]] == [record.time for record in records[30:40:3]]
    for number in (70, -71):
        with pytest.raises(IndexError):
            frames[number]


def test_several_threads_may_read(tmp_path: Path) -> None:
    records = write_recording(tmp_path / "a", 70)
    frames, wrong = read_analysis(tmp_path / "a").frames, []

    def look(seed: int) -> None:
        numbers = np.random.default_rng(seed).integers(0, 70, 40).tolist()
        wrong.extend(number for number in numbers if frames[number].time != records[number].time)

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_reading_what_was_read_gives_the_same_file(tmp_path: Path) -> None:
    write_recording(tmp_path / "a")
    analysis = read_analysis(tmp_path / "a")
    with AnalysisWriter(tmp_path / "b", analysis.header, overwrite=False) as writer:
        for frame in analysis.frames:
            writer.add(frame)
        writer.close(analysis.end)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_passing_file_says_the_same_in_more_bytes(tmp_path: Path) -> None:
    write_recording(tmp_path / "a")
    analysis = read_analysis(tmp_path / "a")
    with AnalysisWriter(tmp_path / "b", analysis.header, overwrite=False, passing=True) as writer:
        for frame in analysis.frames:
            writer.add(frame)
        writer.close(analysis.end)
    assert (tmp_path / "a").stat().st_size < (tmp_path / "b").stat().st_size
    again = read_analysis(tmp_path / "b")
    with AnalysisWriter(tmp_path / "c", again.header, overwrite=False) as writer:
        for frame in again.frames:
            writer.add(frame)
        writer.close(again.end)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


def test_times_are_exact_and_may_repeat(tmp_path: Path) -> None:
    times = [Fraction(-1, 3), Fraction(0), Fraction(0), Fraction(1, 90_000), Fraction(10**9 + 1, 1001)]
    _written(tmp_path / "a", *(_frame(0, time=time) for time in times))
    assert [frame.time for frame in read_analysis(tmp_path / "a").frames] == times


def test_columns_say_what_the_frames_say(tmp_path: Path) -> None:
    records = write_recording(tmp_path / "a", 70)
    frames = read_analysis(tmp_path / "a").frames
    columns = columns_of(frames)
    again = columns_of(list(frames))
    for part in ("found", "decisions"):
        one, other = getattr(columns, part), getattr(again, part)
        for field in fields(one):
            if field.name not in ("level", "cause"):
                assert (getattr(one, field.name) == getattr(other, field.name)).all(), field.name
    assert columns.time.tolist() == [float(record.time) for record in records]
    assert columns.scene.tolist() == [record.scene for record in records]
    made = columns.decisions
    for number, record in enumerate(frames):
        first, last = columns.decision_start[number : number + 2]
        assert [columns.levels[i] for i in made.level[first:last]] == [decision.level for decision in record.decisions]
        assert [columns.causes[i] for i in made.cause[first:last]] == [decision.cause for decision in record.decisions]
        assert [tuple(box) for box in made.place[first:last].tolist()] == [d.place for d in record.decisions]
        assert (made.frame[first:last] == number).all()
        for row, decision in zip(range(first, last), record.decisions, strict=True):
            face = made.face[row]
            assert (face < 0) == (decision.face is None) and made.near[row] == decision.near
            assert made.cut[row] == decision.cut == (decision.missed > 0)
            if decision.face is not None:
                assert columns.found.score[face] == record.found[decision.face].score
        start, end = columns.found_start[number : number + 2]
        assert columns.found.decided[start:end].tolist() == [i < len(record.found) - 1 for i in range(end - start)]
        assert columns.found.landmarks[start:end].all()


def test_a_recording_without_anybody_has_empty_columns(tmp_path: Path) -> None:
    _written(tmp_path / "a")
    columns = columns_of(read_analysis(tmp_path / "a").frames)
    assert len(columns.time) == len(columns.found.frame) == 0 and columns.decisions.box.shape == (0, 4)


def test_nothing_stays_of_an_analysis_that_is_not_closed(tmp_path: Path) -> None:
    with AnalysisWriter(tmp_path / "a", HEADER, overwrite=False) as writer:
        writer.add(_frame(0))
        assert not (tmp_path / "a").exists()
    assert list(tmp_path.iterdir()) == []
    writer.abort()
    with pytest.raises(ValueError, match="closed"):
        writer.add(_frame(1))


def test_an_existing_file_needs_overwrite_and_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"before")
    with pytest.raises(SettingsError, match="--overwrite"):
        AnalysisWriter(path, HEADER, overwrite=False)
    with AnalysisWriter(path, HEADER, overwrite=True) as writer:
        writer.add(_frame(0))
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"before"
    with pytest.raises(SettingsError, match="input itself"):
        AnalysisWriter(path, HEADER, source=path, overwrite=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = os.open("/dev/full", os.O_RDWR)
    monkeypatch.setattr(
        "streamdeid.analysis.write_analysis.reserve", lambda path, mode: Growing(tmp_path / "full", full)
    )
    record = made_record(np.random.default_rng(0), 0, 2)
    with pytest.raises(OutputError, match="no space left"):
        _written(tmp_path / "a", *[record] * 70)
    assert not (tmp_path / "a").exists()


_FACE = Face((0.0, 0.0, 9.0, 9.0), 1.0)
_DECISION = RecordedDecision(1, 1, 1, "solid", "", (0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 1.0, 1.0), None, 0, False, False)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (_frame(0, time=Fraction(-1)), "before"),
        (_frame(2, scene=-1), "before"),
        (_frame(2, scene=2**31), "no room"),
        (_frame(2, time=Fraction(1, 2**63)), "before"),
        (_frame(2, time=1 + Fraction(1, 2**63)), "too fine"),
        (_frame(2, found=[_FACE] * 1025), "too many"),
        (_frame(2, decisions=[_DECISION] * 2049), "too many"),
        (_frame(2, decisions=[replace(_DECISION, face=0)]), "about face 0 of 0"),
        (_frame(2, decisions=[replace(_DECISION, track=-1)]), "negative"),
        (_frame(2, decisions=[replace(_DECISION, level="a\nb")]), "not a name"),
        (_frame(2, decisions=[replace(_DECISION, box=(0.0, float("nan"), 1.0, 1.0))]), "not finite"),
        (_frame(2, decisions=[replace(_DECISION, sides=(float("inf"), 1.0))]), "not finite"),
        (_frame(2, decisions=[replace(_DECISION, cause=str(i)) for i in range(256)]), "more than 255"),
    ],
)
def test_a_frame_that_cannot_be_kept_is_refused(tmp_path: Path, record: FrameRecord, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        _written(tmp_path / "a", _frame(1), record)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "header",
    [
        replace(HEADER, width=0),
        replace(HEADER, rate=Fraction(0)),
        replace(HEADER, model_sha256="x"),
        replace(HEADER, settings={"a": float("nan")}),
        replace(HEADER, settings={"a": 2**60}),
        replace(HEADER, settings={"a": ("x" * 10_001,)}),
        replace(HEADER, settings={str(i): 0 for i in range(501)}),
    ],
)
def test_a_header_that_cannot_be_read_again_is_refused(tmp_path: Path, header: AnalysisHeader) -> None:
    with pytest.raises(ValueError, match=r"header|JSON"):
        AnalysisWriter(tmp_path / "a", header, overwrite=False)
    assert list(tmp_path.iterdir()) == []


def test_a_crowd_is_kept_in_smaller_chunks(tmp_path: Path) -> None:
    crowd = [replace(_FACE, box=(float(i), 0.0, i + 9.0, 9.0)) for i in range(1000)]
    _written(tmp_path / "a", *(_frame(i, found=crowd, decisions=[_DECISION] * 1500) for i in range(4)))
    frames = read_analysis(tmp_path / "a").frames
    assert isinstance(frames, AnalysisFrames) and frames.chunks == 4
    assert [len(frame.found) for frame in frames] == [1000] * 4 and frames[3].found[999].box[0] == 999


def test_the_file_takes_less_than_a_kilobyte_for_a_face(tmp_path: Path) -> None:
    records = write_recording(tmp_path / "a", 70, faces=4)
    faces = sum(len(record.found) for record in records)
    assert (tmp_path / "a").stat().st_size < 1024 * faces + layout.HEAD.size + 2000
    assert stat.S_ISREG(os.stat(tmp_path / "a").st_mode)


def test_links_pipes_folders_and_nothing_are_refused(tmp_path: Path) -> None:
    write_recording(tmp_path / "a", 3)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, reason in (
        ("link", "symbolic link"),
        ("pipe", "not a regular file"),
        ("folder", "not a regular file"),
        ("none", "no such file"),
        ("x\0y", "name"),
    ):
        with pytest.raises(InputError, match=reason) as caught:
            read_analysis(tmp_path / name)
        assert str(caught.value).startswith(str(tmp_path)) and "\n" not in str(caught.value)


def _told(path: Path) -> str:
    """SHA-256 of all that version 1 keeps of the frames of an analysis."""
    told = hashlib.sha256()
    for record in read_analysis(path).frames:
        told.update(repr((record.time, record.scene)).encode())
        for face in map(numbers_of, record.found):
            told.update(repr((face.box, face.score, face.presence, face.evidence, face.parts)).encode())
            told.update(face.points.astype("<i8").tobytes())
        for one in record.decisions:
            known = [
                getattr(one, field.name) for field in fields(RecordedDecision) if field.name not in ("sides", "cut")
            ]
            told.update(repr(tuple(known)).encode())
    return told.hexdigest()


def test_a_file_that_an_earlier_program_wrote_says_what_it_said(tmp_path: Path) -> None:
    """A drawn one, of version 1; the number is what that program read of it."""
    path = Path(__file__).with_name("version1.analysis")
    assert _told(path) == "e4eabf526fe18126834a995806e59d5df23d33379bf9a4b4e4ea5125a77a0e1e"
    known = read_analysis(path)
    kept = {person: one for person, one in END.surrogates.items() if not one.tracklet}
    end = replace(END, surrogates=kept, provisional={})  # that program had no provisional ones
    assert known.version == 1 and (known.header, known.end) == (HEADER, end)
    assert [(face.keypoints, face.surveyed) for frame in known.frames for face in frame.found] == [(None, None)] * 3
    with AnalysisWriter(tmp_path / "a", known.header, overwrite=False) as writer:
        for record in known.frames:
            writer.add(record)
        writer.close(known.end)
    assert read_analysis(tmp_path / "a").version == VERSION and _told(tmp_path / "a") == _told(path)


def test_a_file_of_version_1_is_read_as_it_was_written(tmp_path: Path) -> None:
    records = write_recording(tmp_path / "new", 70)
    write_version_1(tmp_path / "old", HEADER, records, END)
    known = read_analysis(tmp_path / "old")
    assert (known.version, known.header, known.end, len(known.frames)) == (1, HEADER, END, 70)
    for record, read in zip(records, known.frames, strict=True):
        assert_kept(old_frame(record), read)
    old, new = columns_of(known.frames), columns_of(read_analysis(tmp_path / "new").frames)
    assert (old.found.box == new.found.box).all() and (old.decisions.place == new.decisions.place).all()
    assert old.found.landmarks.all() and Places.of_columns(old).fingerprint == Places.of_columns(new).fingerprint


def test_a_face_of_keypoints_alone_has_no_landmarks(tmp_path: Path) -> None:
    seen = replace(_FACE, keypoints=made_keypoints(np.random.default_rng(0), 8.0, 5.0, 5.0))
    _written(tmp_path / "a", _frame(0, found=[seen]))
    (frame,) = read_analysis(tmp_path / "a").frames
    assert frame.found[0].keypoints is not None
    assert columns_of(read_analysis(tmp_path / "a").frames).found.landmarks.tolist() == [False]


@pytest.mark.parametrize("sides", [(1e-9, 1e9), (0.5, 70_000.0)])
def test_sides_of_a_lost_face_are_kept_within_bounds(tmp_path: Path, sides: tuple[float, float]) -> None:
    _written(tmp_path / "a", _frame(0, decisions=[replace(_DECISION, sides=sides)]))
    (one,) = read_analysis(tmp_path / "a").frames[0].decisions
    assert one.sides == (max(sides[0], 1 / 64), 65_536.0)
