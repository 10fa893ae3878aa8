"""A recording as it was filmed does not stay on a machine, however the work on it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from streamdeid.errors import SettingsError
from streamdeid.runs.scratch import clear_abandoned, scratch, written_by_us

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a shell")
_KILLED = """
import sys, time
from pathlib import Path
from streamdeid.runs.scratch import scratch
with scratch(*map(Path, sys.argv[1:2]), *sys.argv[2:]) as place:
    (place / "recording").write_bytes(b"faces")
    print(place, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for temporary files of this test's own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def gone(home: Path) -> bool:
    until = time.monotonic() + 10
    while list(home.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    return not list(home.iterdir())


def test_it_is_private_and_gone_at_the_end(home: Path) -> None:
    with scratch() as place:
        assert place.parent == home and place.stat().st_mode & 0o777 == 0o700
        (place / "part").mkdir()
        (place / "part" / "recording").write_bytes(b"faces")
    assert gone(home)
    with pytest.raises(FileNotFoundError), scratch() as place:
        (place / "none" / "recording").write_bytes(b"faces")
    assert gone(home)


@pytest.mark.parametrize("prefix", ["", ".o[1].segments-"])
def test_it_goes_with_a_process_that_is_killed(home: Path, prefix: str) -> None:
    words = [str(home), prefix] if prefix else []
    with subprocess.Popen([sys.executable, "-c", _KILLED, *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        place = Path(process.stdout.readline().strip())
        assert place.parent == home and place.name.startswith(prefix or "streamdeid-scratch-")
        assert (place / "recording").exists()
        process.kill()
    assert gone(home)


def test_what_a_machine_left_is_cleared_and_what_is_in_use_stays(home: Path) -> None:
    with scratch() as place:
        left = home / place.name.replace(place.name[-4:], "dead")
        left.mkdir()
        (left / "recording").write_bytes(b"faces")
        aside = home / "somebody-elses"
        aside.mkdir()
        clear_abandoned()
        assert place.is_dir() and aside.is_dir() and not left.exists()
        aside.rmdir()
    assert gone(home)


def test_links_that_others_put_there_are_not_followed(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Names of temporary directories can be guessed by their beginning, where everybody may write."""
    theirs = tmp_path_factory.mktemp("theirs")
    (theirs / "file").write_text("kept")
    (home / "streamdeid-scratch-link").symlink_to(theirs)
    (home / "streamdeid-scratch-left").mkdir()
    (home / "streamdeid-scratch-left" / "inside").symlink_to(theirs)
    (home / "streamdeid-scratch-locked").mkdir()
    (home / ".streamdeid-scratch-locked.lock").symlink_to(theirs / "made")
    with scratch():
        assert not (home / "streamdeid-scratch-left").exists()
    assert (home / "streamdeid-scratch-link").is_symlink() and (home / "streamdeid-scratch-locked").is_dir()
    assert [(one.name, one.read_text()) for one in theirs.iterdir()] == [("file", "kept")]


def test_of_one_output_only_what_nobody_uses_is_cleared(home: Path) -> None:
    """Two runs beside each other for one output: neither takes the other's directory."""
    left, others = home / ".o[1].segments-dead", home / ".o1.segments-dead"
    left.mkdir()
    others.mkdir()
    with scratch(home, ".o[1].segments-") as one, scratch(home, ".o[1].segments-") as other:
        assert one != other and one.is_dir() and other.is_dir() and not left.exists() and others.is_dir()
    others.rmdir()
    assert gone(home)


_WRITING = """
import sys, time
from pathlib import Path
from streamdeid.core.atomic_file import reserve
from streamdeid.runs.scratch import written_by_us
with written_by_us(Path(sys.argv[1])):
    reserve(Path(sys.argv[1]))
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_run_left_of_a_file_is_removed_by_the_next_and_no_living_ones(home: Path) -> None:
    path, another = home / "a[1].analysis", home / ".a1.partial-7.analysis"
    another.touch()
    with subprocess.Popen([sys.executable, "-c", _WRITING, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "writing\n"
        left = home / f".a[1].partial-{process.pid}.analysis"
        with pytest.raises(SettingsError, match="is being written by another run"), written_by_us(path):
            pass
        assert left.exists()
        process.kill()
    assert left.exists()
    with written_by_us(path):
        assert not left.exists()
    assert sorted(home.iterdir()) == [another]
