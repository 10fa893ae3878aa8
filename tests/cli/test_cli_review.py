"""`streamdeid review` as a process of its own: it serves, keeps edits, refuses what does not fit, and ends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.analysis.edits import RemoveRedaction, Span
from streamdeid.analysis.edits_file import read_edits
from streamdeid.cli.main import main
from streamdeid.review.opening import Files
from streamdeid.surrogates.gallery import Gallery
from tests.patience import eventually
from tests.review.desk_server import Page
from tests.review.drawn_review import drawn_review

PROGRAM = "from streamdeid.cli.main import run; run()"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Files:
    """A recording with output and analysis."""
    return drawn_review(tmp_path_factory.mktemp("cli"), fitting, gallery, people=1, seconds=2.0).written()


@pytest.fixture
def files(drawn: Files, tmp_path: Path) -> Files:
    """Copies of them."""
    for path in (drawn.recording, drawn.output, drawn.analysis):
        shutil.copy(path, tmp_path)
    return Files(*(tmp_path / path.name for path in (drawn.recording, drawn.output, drawn.analysis, drawn.edits)))


Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Exit code and the one line of a desk that does not open, here: a start of its own costs two seconds."""

    def of(*words: str | Path) -> tuple[int, str]:
        code = main(["review", "--no-browser", *map(str, words)])
        said = capsys.readouterr().err
        assert len(said.splitlines()) == 1, said
        return code, said

    return of


def _refused_in_time(*words: str | Path) -> tuple[int, str]:
    """The same of a process of its own, which may wait for ever."""
    command = [sys.executable, "-c", PROGRAM, "review", "--no-browser", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.returncode, done.stderr


@contextlib.contextmanager
def _desk(*words: str | Path) -> Iterator[tuple[subprocess.Popen[str], Page]]:
    """A desk that serves."""
    command = [sys.executable, "-c", PROGRAM, "review", "--no-browser", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/#token=[0-9a-f]{32}$", process.stdout.readline().strip())
            assert found is not None
            page = Page(found[0])
            eventually(lambda: "opening" not in page.state())
            yield process, page
        finally:
            process.kill()


def test_edits_are_kept_and_a_second_desk_is_refused(files: Files, refused: Refused) -> None:
    with _desk(files.recording, "--reviewer", "R. Viewer") as (process, page):
        state = page.state()
        assert (state["recording"], state["output"]) == ("drawn.mp4", "drawn_deidentified.mp4")
        page.post("/edit", {"do": "remove", "track": 9, "first": 5, "last": 6})
        kept = read_edits(files.edits)
        assert kept.done == (RemoveRedaction(9, Span(5, 6)),) and kept.reviewer == "R. Viewer" and kept.reviewed
        code, line = refused(files.recording)
        assert code == 2 and "another review desk" in line
        with urllib.request.urlopen(page.address) as answer:  # as a browser opens it
            assert answer.status == 200 and b"desk.js" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    with _desk(files.recording, files.analysis) as (process, page):
        assert page.state()["edits"] == ["Redaction of track 9 removed, frames 5 to 6"]
        page.post("/undo")
        page.post("/finish")
        assert process.wait(10) == 0
    assert read_edits(files.edits).done == () and len(read_edits(files.edits).undone) == 1


def test_it_listens_on_this_machine_only(files: Files) -> None:
    with _desk(files.recording) as (process, page):
        port = f"{page.port:04X}"
        lines = Path(f"/proc/{process.pid}/net/tcp").read_text() + Path(f"/proc/{process.pid}/net/tcp6").read_text()
        places = [line.split()[1] for line in lines.splitlines() if f":{port} " in line and line.split()[3] == "0A"]
        assert places == [f"0100007F:{port}"]
        assert page.token.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()


def test_what_does_not_fit_is_refused_in_one_line(files: Files, tmp_path: Path, refused: Refused) -> None:
    assert refused(tmp_path / "none.mp4")[0] == 1
    assert refused(tmp_path)[0] == 1
    assert refused(files.recording, "--port", "70000")[0] == 2
    with files.recording.open("ab") as recording:
        recording.write(b"\0")
    code, line = refused(files.recording)
    assert code == 1 and "another recording" in line


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links are others there")
def test_links_pipes_and_names_that_cannot_be_are_refused(files: Files, tmp_path: Path, refused: Refused) -> None:
    """None of them waits for ever, and none is an error that nobody expected."""
    pipe, loop, long = tmp_path / "pipe.mp4", tmp_path / "loop", tmp_path / ("x" * 300)
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for words, of in (
        ((files.recording, "-o", pipe), _refused_in_time),
        ((pipe,), _refused_in_time),
        ((files.recording, loop), refused),
        ((files.recording, "--edits", loop), refused),
    ):
        code, line = of(*words)
        assert code == 1 and "cannot be read" in line, words
    for words in ((files.recording, long), (files.recording, "--edits", long)):
        code, line = refused(*words)
        assert code in (1, 3) and "unexpected" not in line, line


def test_another_output_or_analysis_is_refused(files: Files, refused: Refused) -> None:
    code, line = refused(files.recording, "-o", files.recording)
    assert code in (1, 2) and line
    with files.output.open("ab") as output:
        output.write(b"\0")
    code, line = refused(files.recording)
    assert code == 1 and "not what was published" in line
    files.analysis.write_bytes(files.analysis.read_bytes()[:200])
    assert refused(files.recording)[0] == 1
    files.analysis.unlink()
    code, line = refused(files.recording)
    assert code == 3 and "--overwrite" in line


def test_edits_of_another_recording_are_refused(files: Files, refused: Refused) -> None:
    with _desk(files.recording) as (_, page):
        page.post("/looked", {"id": page.state()["doubts"][0]["id"], "looked": True})
    told = json.loads(files.edits.read_text())
    files.edits.write_text(json.dumps(told).replace(read_edits(files.edits).input_sha256, "f" * 64))
    assert refused(files.recording)[0] == 2
    files.edits.write_text("{")
    assert refused(files.recording)[0] in (1, 2)
