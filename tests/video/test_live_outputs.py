"""What a word for a live output means, how files are named, what goes over the pipe, how pictures are fitted in."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from streamdeid.core.frames import Colour, Planes
from streamdeid.errors import OutputError, SettingsError
from streamdeid.video.live.encoder.pictures import encoder_picture
from streamdeid.video.live.encoder.pipe import (
    FAILED,
    TAKEN,
    EncoderOpening,
    Replies,
    SentFrame,
    commands,
    end_command,
    frame_command,
    open_command,
    reply,
)
from streamdeid.video.live.files import FileNames, Playlist
from streamdeid.video.live.outputs import live_encoder_options, output_for

OPENING = EncoderOpening("rtsp://u:päss@h/x", "rtsp", {"a": "b"}, "libx264", {}, 6, 4, "bt601", False, 25.0, 2.0, 3.0)


def _planes(width: int, height: int, colour: Colour = Colour()) -> Planes:
    rng = np.random.default_rng(width)
    half = (height + 1) // 2, (width + 1) // 2
    shapes = ((height, width), half, half)
    y, u, v = (rng.integers(16, 236, shape, np.uint8) for shape in shapes)
    return Planes(y, u, v, colour)


@pytest.mark.parametrize(
    ("word", "kind", "muxer"),
    [
        ("rtsp://h/x", "rtsp", "rtsp"),
        ("rtsps://h:8322/x", "rtsp", "rtsp"),
        ("-", "stdout", "mpegts"),
        ("a/live.m3u8", "hls", "hls"),
        ("out.MKV", "files", "matroska"),
        ("out.ts", "files", "mpegts"),
        ("out-%H.mp4", "files", "mp4"),
    ],
)
def test_words(word: str, kind: str, muxer: str) -> None:
    output = output_for(word)
    assert (output.kind, output.muxer) == (kind, muxer)


@pytest.mark.parametrize("word", ["http://u:geheim@h/x", "out.avi", "out", "rtmp://u:geheim@h/x", "rtsp://u:geheim@"])
def test_what_is_no_output(word: str) -> None:
    with pytest.raises(SettingsError) as caught:
        output_for(word)
    assert "geheim" not in str(caught.value) and "\n" not in str(caught.value)


def test_wrong_wishes() -> None:
    with pytest.raises(SettingsError, match="transport"):
        output_for("rtsp://h/x", transport="smoke")
    with pytest.raises(SettingsError, match="stdout-format"):
        output_for("-", stdout_format="avi")
    with pytest.raises(SettingsError, match="mpeg4"):
        live_encoder_options("mpeg4", None, "veryfast")
    with pytest.raises(SettingsError, match="crf"):
        live_encoder_options("libx264", 60, "veryfast")


def test_names_of_files(tmp_path: Path) -> None:
    names = FileNames(str(tmp_path / "cam.mkv"), rotating=False, keep=None, overwrite=False)
    assert names.following().name == "cam.mkv"
    stamped = names.following()
    assert stamped.name.startswith("cam-2") and stamped.suffix == ".mkv"
    fields = FileNames(str(tmp_path / "cam %Y.mkv"), rotating=True, keep=None, overwrite=False)
    year = time.strftime("%Y")
    first = fields.following()
    assert first.name == f"cam {year}.mkv"
    first.touch()
    assert fields.following().name == f"cam {year}-1.mkv"


def test_only_files_of_this_run_are_deleted(tmp_path: Path) -> None:
    other = tmp_path / "com-20200101-000000.ts"
    other.touch()
    names = FileNames(str(tmp_path / "cam.ts"), rotating=True, keep=2, overwrite=False)
    made = []
    for _ in range(5):
        made.append(names.following())
        made[-1].write_bytes(bytes(5000))
        names.opened(made[-1])
    assert sorted(tmp_path.iterdir()) == sorted([other, *made[-2:]])


def test_files_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "there.ts").touch()
    with pytest.raises(SettingsError, match="exists already"):
        FileNames(str(tmp_path / "there.ts"), rotating=False, keep=None, overwrite=False)
    FileNames(str(tmp_path / "there.ts"), rotating=False, keep=None, overwrite=True)
    with pytest.raises(OutputError, match="does not exist"):
        FileNames(str(tmp_path / "no" / "there.ts"), rotating=True, keep=None, overwrite=False)
    (tmp_path / "dir.ts").mkdir()
    with pytest.raises(OutputError, match="directory"):
        FileNames(str(tmp_path / "dir.ts"), rotating=False, keep=None, overwrite=True)
    (tmp_path / "list.m3u8").touch()
    with pytest.raises(SettingsError, match="exists already"):
        Playlist(str(tmp_path / "list.m3u8"), overwrite=False)


def test_a_field_of_time_that_holds_a_slash_is_refused(tmp_path: Path) -> None:
    for rotating in (False, True):
        with pytest.raises(SettingsError, match="other fields"):
            FileNames(str(tmp_path / "cam-%D.mkv"), rotating=rotating, keep=None, overwrite=False)


def test_segments_of_earlier_runs_go_with_their_list(tmp_path: Path) -> None:
    old = tmp_path / "live-20260101-000000-77-000003.ts"
    others = [tmp_path / "live-holiday.ts", tmp_path / "live2-20260101-000000-77-000003.ts"]
    for path in (old, *others):
        path.touch()
    Playlist(str(tmp_path / "live.m3u8"), overwrite=False).options()
    assert old.exists()  # nobody said that anything may be overwritten
    Playlist(str(tmp_path / "live.m3u8"), overwrite=True).options()
    assert sorted(tmp_path.iterdir()) == sorted(others)


@pytest.mark.parametrize(("width", "height"), [(6, 4), (7, 5), (1, 1), (640, 480)])
def test_what_goes_over_the_pipe(width: int, height: int) -> None:
    planes = _planes(width, height, Colour("bt709", True))
    reading, writing = os.pipe()

    def send() -> None:
        for part in [*open_command(OPENING), *frame_command(7, -90, planes), *end_command()]:
            while part:
                part = part[os.write(writing, part) :]
        os.write(writing, b"F\0\0")  # cut off
        os.close(writing)

    sender = threading.Thread(target=send)
    sender.start()
    got = list(commands(reading))
    sender.join()
    os.close(reading)
    assert got[0] == OPENING and got[2] is None and len(got) == 3
    frame = got[1]
    assert isinstance(frame, SentFrame)
    assert (frame.number, frame.time, frame.planes.colour) == (7, -90, planes.colour)
    for name in ("y", "u", "v"):
        assert np.array_equal(getattr(planes, name), getattr(frame.planes, name))


def test_planes_that_are_views_go_over_the_pipe() -> None:
    planes = _planes(12, 8)
    part = Planes(planes.y[:, 2:9], planes.u[:, 1:5], planes.v[:, 1:5])
    sent = frame_command(1, 0, part)
    assert bytes(sent[1]) == part.y.tobytes() and bytes(sent[3]) == part.v.tobytes()


def test_replies_in_pieces() -> None:
    reading, writing = os.pipe()
    reply(writing, TAKEN, 3)
    reply(writing, FAILED, 0, "no way")
    data = os.read(reading, 4096)
    os.close(reading)
    os.close(writing)
    replies = Replies()
    found = [each for byte in data for each in replies.feed(bytes([byte]))]
    assert [(each.kind, each.number, each.text) for each in found] == [(TAKEN, 3, ""), (FAILED, 0, "no way")]


def test_odd_pictures_get_their_edge_twice() -> None:
    planes = _planes(5, 3)
    out = encoder_picture(planes, 6, 4, Colour()).to_ndarray()
    assert np.array_equal(out[:3, :5], planes.y)
    assert np.array_equal(out[:3, 5], planes.y[:, 4]) and np.array_equal(out[3], out[2])


@pytest.mark.parametrize(("width", "height"), [(64, 24), (24, 64), (33, 33), (320, 240), (3, 200)])
def test_pictures_of_another_size_get_bars(width: int, height: int) -> None:
    half = (height + 1) // 2, (width + 1) // 2
    flat = Planes(np.full((height, width), 200, np.uint8), np.full(half, 90, np.uint8), np.full(half, 170, np.uint8))
    picture = encoder_picture(flat, 64, 48, Colour())
    luma = picture.to_ndarray()[:48]
    inside = luma > 150
    rows, columns = np.flatnonzero(inside.any(1)), np.flatnonzero(inside.any(0))
    scale = min(64 / width, 48 / height)
    assert abs(len(rows) - height * scale) <= 2 and abs(len(columns) - width * scale) <= 2
    assert abs(rows[0] - (47 - rows[-1])) <= 2 and abs(columns[0] - (63 - columns[-1])) <= 2
    assert (luma[~inside.any(1)] == 16).all() and (luma[:, ~inside.any(0)] == 16).all()
    assert abs(int(np.median(luma[inside])) - 200) <= 2


def test_pictures_of_another_colour_are_turned() -> None:
    half = np.full((4, 4), 128, np.uint8)
    white = Planes(np.full((8, 8), 255, np.uint8), half, half, Colour("bt601", True))
    assert (encoder_picture(white, 8, 8, Colour("bt601", False)).to_ndarray()[:8] == 235).all()


def test_the_encoder_process_imports_no_more_than_it_must() -> None:
    """Each of these takes longer to import than all that it needs; that would be time without a picture."""
    heavy = ("cv2", "numba", "mediapipe", "matplotlib", "rich")
    program = (
        f"import sys, streamdeid.video.live.encoder.process; sys.exit(any(name in sys.modules for name in {heavy!r}))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_files_without_a_picture_push_no_recording_out(tmp_path: Path) -> None:
    names = FileNames(str(tmp_path / "cam-%H%M%S.mkv"), rotating=True, keep=2, overwrite=False)
    made = []
    for size in (5000, 6000, 0, 700, 0, 800):  # the disk is full for a while
        made.append(names.following())
        made[-1].write_bytes(b"x" * size)
        names.opened(made[-1])
    assert [size for size in _sizes(tmp_path) if size > 1000] == [6000], "one place is the running file's"
    for _ in range(3):
        made.append(names.following())
        made[-1].write_bytes(b"x" * 7000)
        names.opened(made[-1])
    assert _sizes(tmp_path) == [7000, 7000]


def _sizes(directory: Path) -> list[int]:
    return sorted(path.stat().st_size for path in directory.iterdir())


def test_recordings_of_earlier_runs_count_too(tmp_path: Path) -> None:
    earlier = [tmp_path / f"cam-20260101-00000{number}{end}.mkv" for number, end in ((0, ""), (1, ""), (1, "-1"))]
    others = [tmp_path / name for name in ("cam-notes.mkv", "other-20260101-000000.mkv", "cam-20260101-000000.txt")]
    for age, path in enumerate([*earlier, *others]):
        path.write_bytes(bytes(5000))
        os.utime(path, (1000 + age, 1000 + age))
    names = FileNames(str(tmp_path / "cam-%Y%m%d-%H%M%S.mkv"), rotating=True, keep=2, overwrite=False)
    new = names.following()
    new.write_bytes(bytes(5000))
    names.opened(new)
    assert sorted(tmp_path.iterdir()) == sorted([earlier[2], new, *others])


def test_names_that_are_no_plain_numbers_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "Monday.mkv").write_bytes(bytes(5000))
    names = FileNames(str(tmp_path / "%A.mkv"), rotating=True, keep=1, overwrite=False)
    for _ in range(2):
        path = names.following()
        path.write_bytes(bytes(5000))
        names.opened(path)
    assert (tmp_path / "Monday.mkv").exists() and len(list(tmp_path.iterdir())) == 2
