"""FFmpeg and GStreamer in front of the filter and behind it, as docs/neighbours.md has the pipelines."""

from __future__ import annotations

import contextlib
import itertools
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamdeid.video.files.drawn_clip import write_drawn_clip
from streamdeid.video.files.source import FileSource
from tests.live_fakes import planes
from tests.rtsp import GstServer, gst_missing

DOCS = (Path(__file__).parents[2] / "docs" / "neighbours.md").read_text(encoding="utf-8")
FFMPEG = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs Debian's package ffmpeg")


def _gst_lacks() -> str:
    if not (shutil.which("gst-launch-1.0") and shutil.which("gst-inspect-1.0")):
        return "needs Debian's package gstreamer1.0-tools"
    for element in ("mpegtsmux", "tsdemux", "x264enc", "avdec_h264", "tcpserversink"):
        if subprocess.run(["gst-inspect-1.0", element], capture_output=True, check=False).returncode:
            return f"GStreamer lacks {element} (gstreamer1.0-plugins-bad, -ugly, -libav)"
    return ""


GST = pytest.mark.skipif(bool(_gst_lacks()), reason=_gst_lacks())
RATE, SECONDS = 10, 3


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("neighbours") / "in.mp4"
    write_drawn_clip(path, (planes(60 + 4 * number, (320, 240)) for number in range(RATE * SECONDS)), RATE)
    return path


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def command(name: str, **places: object) -> list[str]:
    """A command of the docs, by the comment that stands at its end, with its names replaced."""
    found = re.search(rf"^(.*?)\s+# {re.escape(name)}$", DOCS, re.MULTILINE)
    assert found, name
    text = found[1]
    for place, value in places.items():
        assert place in text, f"{place} in {text}"
        text = text.replace(place, str(value))
    return shlex.split(text)


def filtering(*words: str) -> list[str]:
    return [
        sys.executable, "-c", "from streamdeid.cli.main import run; run()", "filter", *words, "--method", "blackout",
        "--quiet", "--keep-trying",
    ]  # fmt: skip


@contextlib.contextmanager
def running(words: list[str], **more: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(words, stderr=subprocess.DEVNULL, **more) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            if process.stdout is not None:
                process.stdout.close()


def eventually_long(path: Path, frames: int, seconds: float = 60) -> int:
    """Frames of a file that grows, once it has so many."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(Exception):  # it is not there yet, or not whole
            count = sum(1 for _ in FileSource(path, tolerant=True))
            if count >= frames:
                return count
        time.sleep(0.5)
    return 0


@FFMPEG
def test_ffmpeg_publishes_and_reads(clip: Path, port: int, tmp_path: Path) -> None:
    publisher = command("FFmpeg as a camera", **{"recording.mp4": clip, "9000": port})
    with (
        running(publisher),
        running(filtering(f"tcp://127.0.0.1:{port}", "-"), stdout=subprocess.PIPE) as ours,
    ):
        reader = command("FFmpeg behind it", **{"filtered.mkv": tmp_path / "got.mkv"})
        done = subprocess.run(
            [*reader[:-1], "-frames:v", "25", reader[-1]],
            stdin=ours.stdout,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-500:]
    times = [frame.time for frame in FileSource(tmp_path / "got.mkv")]
    assert len(times) == 25 and all(one < other for one, other in itertools.pairwise(times))


@GST
def test_gstreamer_before_and_behind(port: int, tmp_path: Path) -> None:
    camera = command("GStreamer as a camera", **{"9000": port})
    reader = command("GStreamer behind it", **{"filtered.ts": tmp_path / "got.ts"})
    with (
        running(camera),
        running(filtering(f"tcp://127.0.0.1:{port}", "-"), stdout=subprocess.PIPE) as ours,
        running(reader, stdin=ours.stdout.fileno()),  # type: ignore[union-attr]
    ):
        assert eventually_long(tmp_path / "got.ts", 20) >= 20


@FFMPEG
@GST
@pytest.mark.skipif(gst_missing() is not None, reason=str(gst_missing()))
def test_published_and_read_by_rtsp(clip: Path, tmp_path: Path) -> None:
    with GstServer() as front, GstServer() as back:
        before, behind = {"8554": front.port}, {"8555": back.port}
        with (
            running(command("FFmpeg publishes RTSP", **{"recording.mp4": clip}, **before)),
            running(filtering(f"rtsp://127.0.0.1:{front.port}/out", f"rtsp://127.0.0.1:{back.port}/rec")),
        ):
            reader = command("FFmpeg reads RTSP", **{"filtered.mkv": tmp_path / "got.mkv"}, **behind)
            until, code = time.monotonic() + 60, 1
            while code and time.monotonic() < until:  # there is nothing to read before the first filtered frame
                code = subprocess.run(
                    [*reader[:-1], "-frames:v", "25", reader[-1]], capture_output=True, timeout=60, check=False
                ).returncode
                time.sleep(0.3)
            assert code == 0
            with running(command("GStreamer reads RTSP", **{"filtered.ts": tmp_path / "got.ts"}, **behind)):
                assert eventually_long(tmp_path / "got.ts", 20) >= 20
    times = [frame.time for frame in FileSource(tmp_path / "got.mkv")]
    assert len(times) == 25 and all(one < other for one, other in itertools.pairwise(times))


@FFMPEG
def test_what_is_read_as_home_assistant_does(clip: Path, tmp_path: Path) -> None:
    """Its generic camera opens `stream_source` with FFmpeg, at any time: HLS that is being written will do."""
    with running(filtering("--realtime", "--loop", str(clip), str(tmp_path / "hall.m3u8"))):
        until = time.monotonic() + 60
        while not (tmp_path / "hall.m3u8").exists() and time.monotonic() < until:
            time.sleep(0.2)
        time.sleep(1)
        done = subprocess.run(
            ["ffmpeg", "-v", "error", "-i", tmp_path / "hall.m3u8", "-frames:v", "10", "-f", "framemd5", "-"],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 0 and len([one for one in done.stdout.splitlines() if not one.startswith("#")]) == 10
