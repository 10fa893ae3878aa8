"""`same_output` runs the version that it was told to, wherever it is started."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.versions.same_output import published
from streamdeid.core.frames import Planes
from streamdeid.video.files.drawn_clip import write_drawn_clip

ROOT = Path(__file__).parents[2]
_COPIES = """
import shutil, sys
def run():
    shutil.copy(sys.argv[2], sys.argv[3])
"""


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """Five grey pictures, each another grey."""
    half = np.full((32, 32), 128, np.uint8)
    path = tmp_path / "clip.mkv"
    write_drawn_clip(path, (Planes(np.full((64, 64), 40 * i, np.uint8), half, half) for i in range(1, 6)), 10)
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A version of the program that copies what it is given."""
    home = tmp_path / "other" / "streamdeid" / "cli"
    home.mkdir(parents=True)
    (home.parent / "__init__.py").write_text("", encoding="utf-8")
    (home / "main.py").write_text(_COPIES, encoding="utf-8")
    return tmp_path / "other"


def test_the_other_version_is_run_from_inside_this_one(
    clip: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert len(published(other, clip, tmp_path / "out.mkv", live=False) or []) == 5
    assert (tmp_path / "out.mkv").read_bytes() == clip.read_bytes()


def test_a_version_that_is_not_there_is_told(clip: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RuntimeError, match=r"another version was imported|No module named"):
        published(tmp_path / "empty", clip, tmp_path / "out.mkv", live=False)
