"""Pictures larger than a limit: refused in one line, before memory is taken for one."""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from streamdeid.core.frames import MOST_PIXELS
from streamdeid.errors import InputError, SettingsError
from streamdeid.settings import Settings
from streamdeid.video.files.seeking import SeekingSource
from streamdeid.video.files.source import FileSource
from streamdeid.video.live.camera import CameraConnection, ConnectionLost
from tests.synthetic_video import encode

SIDE = 15_000


def png(width: int, height: int) -> bytes:
    """A black picture, a few kilobytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + 8 * width)) for _ in range(height)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 16, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def bomb(path: Path, said: int, side: int) -> Path:
    """A film of pictures of side x side, 16 bit and transparent, whose header says `said` x `said`."""
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("png", rate=25)
        stream.width = stream.height = said
        stream.pix_fmt = "rgba64be"
        picture = png(side, side)
        for index in range(3):
            packet: Any = av.Packet(picture)
            packet.pts = packet.dts = index
            packet.time_base, packet.stream, packet.is_keyframe = Fraction(1, 25), stream, True
            output.mux(packet)
    return path


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))
from pathlib import Path
from streamdeid.errors import InputError
from streamdeid.video.files.source import FileSource
try:
    FileSource(Path(sys.argv[1]), threads=int(sys.argv[2]))
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("said", "words"),
    [
        (SIDE, f"its pictures have {SIDE}x{SIDE} pixels, more than 36 million"),
        (64, "not one picture of it can be decoded"),
    ],
)
def test_a_bomb_of_pictures_takes_no_memory(said: int, words: str, threads: int, tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.mov", said, SIDE)
    assert path.stat().st_size < 20 << 20, "a picture of it would take 1.8 GB"
    # In 1.5 GB of addresses, libraries included, such a picture could not be decoded.
    run = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(path), str(threads)], capture_output=True, text=True, check=False
    )
    assert words in run.stdout and run.stdout.count("\n") == 1 and run.stderr == ""


@pytest.mark.parametrize(
    ("codec", "name", "form"),
    [
        ("libx264", "a.mp4", "yuv420p"),
        ("libx264", "a.ts", "yuv420p"),
        ("libx265", "a.mkv", "yuv420p"),
        ("libvpx-vp9", "a.webm", "yuv420p"),
        ("mjpeg", "a.mkv", "yuvj420p"),
        ("mpeg4", "a.avi", "yuv420p"),
        ("mpeg2video", "a.mpg", "yuv420p"),
        ("ffv1", "a.mkv", "yuv420p"),
        ("png", "a.mov", "rgb24"),
    ],
)
def test_every_way_in_has_the_limit(codec: str, name: str, form: str, tmp_path: Path) -> None:
    path = encode(tmp_path / name, codec, frames=6, size=(320, 200), pix_fmt=form)
    words = r"320x200 pixels, more than 0\.05 million; --most-pixels allows more"
    for opened in (FileSource, SeekingSource):
        with pytest.raises(InputError, match=words) as caught:
            opened(path, most_pixels=0.05)  # type: ignore[operator]
        assert "\n" not in str(caught.value)
        opened(path, most_pixels=0.064)  # type: ignore[operator]  # its very size
    with pytest.raises(ConnectionLost, match="^its pictures have " + words):
        CameraConnection(str(path), "tcp", 3.0, 3.0, file=True, most_pixels=0.05)
    camera = CameraConnection(str(path), "tcp", 3.0, 3.0, file=True, most_pixels=0.064)
    camera.close()


def test_pictures_that_grow_beyond_the_limit_are_damage(tmp_path: Path) -> None:
    small, large = (encode(tmp_path / f"{side}.h264", frames=10, size=(side, side)) for side in (64, 320))
    both = tmp_path / "both.h264"
    both.write_bytes(small.read_bytes() + large.read_bytes())
    source = FileSource(both, most_pixels=0.05)
    with pytest.raises(InputError, match="cannot be decoded"):
        list(source)
    with pytest.raises(InputError, match="changes its picture size"):
        list(FileSource(both))


def test_the_limit_is_a_setting() -> None:
    assert Settings().most_pixels == MOST_PIXELS >= 8192 * 4320 / 1e6
    for wrong in (0, 257, float("nan")):
        with pytest.raises(SettingsError, match="most"):
            Settings(most_pixels=wrong)
