"""A recording as it was filmed does not stay on a machine, however the work on it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from streamdeid.runs.scratch import clear_abandoned, scratch

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a shell")
_KILLED = """
import sys, time
from streamdeid.runs.scratch import scratch
with scratch() as place:
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


def test_it_goes_with_a_process_that_is_killed(home: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _KILLED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        place = Path(process.stdout.readline().strip())
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
