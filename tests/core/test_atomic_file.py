"""Files that appear whole or not at all, and that nobody who may write to the folder can have written elsewhere."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from streamdeid.core import atomic_file
from streamdeid.core.atomic_file import put_in_place, reserve, write_whole
from streamdeid.errors import OutputError, SettingsError
from streamdeid.video.files import sink as sinks
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource
from tests.synthetic_video import encode
from tests.video.test_video_sink import passed


def _rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_small_file_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_whole(path, b"one", overwrite=False)
    with pytest.raises(SettingsError, match="exists already"):
        write_whole(path, b"two", overwrite=False)
    write_whole(path, b"two", overwrite=True)
    assert path.read_bytes() == b"two" and list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_whole(path, b"one", overwrite=False)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 0
    with pytest.raises(OutputError, match="no space left"):
        write_whole(path, b"two", overwrite=True)
    assert path.read_bytes() == b"one" and list(tmp_path.iterdir()) == [path]
    assert not before or len(os.listdir("/proc/self/fd")) == before, "nothing stays open"


def test_a_link_is_replaced_and_never_written_through(tmp_path: Path) -> None:
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_bytes(b"kept")
    link.symlink_to(victim)
    write_whole(link, b"new", overwrite=True)
    assert victim.read_bytes() == b"kept" and link.read_bytes() == b"new" and not link.is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_rights_are_never_wider_than_asked_for_nor_than_before(tmp_path: Path) -> None:
    earlier = os.umask(0o022)
    try:
        for number, (mode, before, after) in enumerate(
            [(0o666, None, 0o644), (0o600, None, 0o600), (0o666, 0o600, 0o600), (0o640, 0o664, 0o640)]
        ):
            path = tmp_path / str(number)
            if before is not None:
                path.touch()
                path.chmod(before)
            write_whole(path, b"x", overwrite=True, mode=mode)
            assert _rights(path) == after, (mode, before)
    finally:
        os.umask(earlier)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux's names of open files")
def test_a_link_in_place_of_the_growing_file_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who may write to the folder exchanges the file between its making and FFmpeg's opening it."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"kept")
    source = FileSource(encode(tmp_path / "in.mp4", frames=5))
    made = sinks.reserve

    def exchanged(path: Path) -> atomic_file.Growing:
        growing = made(path)
        growing.name.unlink()
        growing.name.symlink_to(victim)
        return growing

    monkeypatch.setattr(sinks, "reserve", exchanged)
    sink = FileSink(tmp_path / "out.mp4", source.info)
    for frame in source:
        sink.write(passed(frame))
    with pytest.raises(OutputError, match="exchanged"):
        sink.finish()
    assert victim.read_bytes() == b"kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mp4", "victim"]


def test_what_took_the_place_of_a_small_file_does_not_get_its_name(tmp_path: Path) -> None:
    growing = reserve(tmp_path / "a")
    growing.name.unlink()
    growing.name.write_bytes(b"somebody's")
    with pytest.raises(OutputError, match="exchanged"):
        put_in_place(growing, tmp_path / "a", overwrite=False)
    growing.discard()
    growing.let_go()
    assert list(tmp_path.iterdir()) == []
