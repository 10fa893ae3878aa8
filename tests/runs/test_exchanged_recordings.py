"""A recording that is exchanged or changed while it is filtered: nothing comes of it, whichever way it was read.

Another recording of the same size and times has its faces elsewhere: what was found in the first would leave them open.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamdeid.analysis.edits import CoverRegion, Edits, Span
from streamdeid.analysis.edits_file import write_edits
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.cli.main import main
from streamdeid.core.file_identity import FileIdentity
from streamdeid.errors import InputError
from streamdeid.report.redaction_report import FileSide
from streamdeid.runs import files
from streamdeid.runs.files import filter_file
from streamdeid.settings import Settings
from streamdeid.video.files import joined, sink
from streamdeid.video.files.source import FileSource
from tests.synthetic_video import encode

FRAMES = 40
CHANGED = "was replaced or changed while it was read"
GONE = "cannot be read again for its sound"
Exchange = Callable[[Path], None]


def _replaced(path: Path) -> None:
    """Another file of the same bytes takes the name, as a sync client does it."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    state = path.stat()
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    os.replace(other, path)


def _written_to(path: Path) -> None:
    """The same file gets other bytes, no more and no fewer."""
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    os.utime(path, ns=(0, 7))


def _grown(path: Path) -> None:
    """It is still being recorded."""
    with path.open("ab") as file:
        file.write(b"\0" * 8)


def _gone(path: Path) -> None:
    """Nobody has it any more."""
    path.unlink()


EXCHANGES = (_replaced, _written_to, _grown, _gone)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording in a folder of its own."""
    (tmp_path / "in").mkdir()
    return encode(tmp_path / "in" / "r.mp4", frames=FRAMES, options={"g": "10"}, audio=["aac"])


def _chosen(**more: Any) -> Settings:
    return Settings(method="blackout", **more)


class _AtFrame:
    """A progress function that exchanges the recording once, when so many frames are told as done."""

    def __init__(self, frame: int, path: Path, exchange: Exchange) -> None:
        self._frame, self._path, self._exchange, self.done = frame, path, exchange, False

    def __call__(self, done: int, total: int | None, faces: int) -> None:
        if done >= self._frame and not self.done:
            self.done = True
            self._exchange(self._path)


def _refused(recording: Path, exchange: _AtFrame, settings: Settings, **more: Any) -> None:
    """A run fails with one line and leaves nothing."""
    out = recording.parents[1] / "out"
    out.mkdir()
    with pytest.raises(InputError, match=f"{CHANGED}|{GONE}") as caught:
        filter_file(recording, out / "o.mp4", settings, progress=exchange, **more)
    assert exchange.done and "\n" not in str(caught.value) and list(out.iterdir()) == []


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("frame", [1, FRAMES], ids=["at the first frame", "at the last"])
def test_in_one_pass(recording: Path, frame: int, exchange: Exchange) -> None:
    _refused(recording, _AtFrame(frame, recording, exchange), _chosen())


# With processes a file that stays and one that does not: what tells the others apart is the same code without.
@pytest.mark.parametrize(
    ("workers", "exchange"), [*((1, exchange) for exchange in EXCHANGES), (2, _replaced), (2, _gone)]
)
def test_between_two_passes(recording: Path, exchange: Exchange, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of all is told as done when the first pass is; with two processes each knows which file is meant."""
    inner = files.filter_segments
    monkeypatch.setattr(files, "filter_segments", lambda *words, **more: inner(*words, length=0.5, **more))
    at = _AtFrame(FRAMES // 2, recording, exchange)
    _refused(recording, at, _chosen(decisions="whole-file"), workers=workers)


@pytest.mark.parametrize("exchange", [_replaced, _written_to])
def test_before_the_segments_are_joined(recording: Path, exchange: Exchange, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pictures are rendered, and the sound is read when they are joined."""
    inner = joined.opened_video
    at = _AtFrame(0, recording, exchange)

    def opened(path: Path) -> Any:
        at(0, None, 0)
        return inner(path)

    monkeypatch.setattr(joined, "opened_video", opened)
    _refused(recording, at, _chosen(decisions="whole-file"))


def test_between_the_hash_and_the_pictures(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An analysis holds the hash of the recording; what is read afterwards must be what was hashed."""
    analysis = recording.with_name("r.analysis")
    filter_file(recording, recording.with_name("first.mp4"), _chosen(), analysis=analysis)
    before = analysis.read_bytes()
    inner, at = files._hashed, _AtFrame(0, recording, _replaced)

    def hashed(source: FileSource) -> FileSide:
        side = inner(source)
        at(0, None, 0)
        return side

    monkeypatch.setattr(files, "_hashed", hashed)
    _refused(recording, at, _chosen(), analysis=analysis)
    assert analysis.read_bytes() == before and not [one for one in recording.parent.iterdir() if "partial" in one.name]


@pytest.mark.parametrize("what", ["recording", "earlier output"])
def test_with_edits(recording: Path, what: str, tmp_path: Path) -> None:
    """What no edit touches is copied from the earlier output, which must be the one whose hash was compared."""
    analysis, out, edits = recording.with_name("r.analysis"), tmp_path / "o.mp4", tmp_path / "e.json"
    report = filter_file(recording, out, _chosen(), analysis=analysis)
    known = read_analysis(analysis)
    done = (CoverRegion((0.0, 0.0, 20.0, 20.0), Span(3, 6)),)
    write_edits(edits, Edits(known.header.input.sha256, len(known.frames), done=done))
    at = _AtFrame(1, recording if what == "recording" else out, _replaced)
    with pytest.raises(InputError, match=CHANGED):
        filter_file(recording, out, _chosen(overwrite=True), progress=at, analysis=analysis, edits=edits)
    assert at.done and FileSide.of(out) == report.output
    assert sorted(one.name for one in tmp_path.iterdir()) == ["e.json", "in", "o.mp4"]
    again = filter_file(recording, out, _chosen(overwrite=True), analysis=analysis, edits=edits)
    assert again.review is not None and again.review.frames_rendered is not None


def test_sound_of_another_recording_is_not_taken(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sound is opened by name once more, when the pictures are known already."""
    inner = sink.CopiedStreams

    def copied(*words: Any, **more: Any) -> Any:
        _replaced(recording)
        return inner(*words, **more)

    monkeypatch.setattr(sink, "CopiedStreams", copied)
    with pytest.raises(InputError, match=CHANGED):
        filter_file(recording, recording.with_name("o.mp4"), _chosen())
    assert [one.name for one in recording.parent.iterdir()] == ["r.mp4"]


def test_the_command_line_ends_with_1(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("streamdeid.cli.filter.Bar.__call__", _AtFrame(1, recording, _replaced))
    out = recording.with_name("o.mp4")
    assert main(["filter", str(recording), str(out), "--method", "blackout"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and CHANGED in said and not out.exists()


def test_a_file_that_nobody_touched_is_the_same(recording: Path) -> None:
    identity = FileIdentity.of(recording)
    recording.read_bytes()
    recording.chmod(0o600)
    identity.check(recording)
    link = recording.with_name("link")
    link.symlink_to(recording)
    identity.check(link)


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_an_analysis_is_open_to_nobody_else_than_its_recording(recording: Path, mode: int) -> None:
    recording.chmod(mode)
    earlier = os.umask(0o022)
    try:
        analysis = recording.with_name("r.analysis")
        filter_file(recording, recording.with_name("o.mp4"), _chosen(), analysis=analysis)
    finally:
        os.umask(earlier)
    assert analysis.stat().st_mode & 0o777 == mode
