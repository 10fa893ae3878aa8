"""Live outputs against a real RTSP server, real files and real pipes; servers that die, hang and come back."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from streamdeid.core.frames import Colour, DeidentifiedFrame, Frame, Planes
from streamdeid.errors import FailedClosed, OutputError
from streamdeid.video.live import backoff
from streamdeid.video.live.encoder.child import EncoderChild
from streamdeid.video.live.sink import LiveSink
from tests.patience import PATIENCE, clock
from tests.rtsp import GstServer, gst_missing

needs_gstreamer = pytest.mark.skipif(gst_missing() is not None, reason=str(gst_missing()))
NOISE = [np.random.default_rng(seed).integers(16, 100, (480, 640), np.uint8) for seed in range(4)]


def _planes(width: int, height: int, luma: int = 90) -> Planes:
    half = (height + 1) // 2, (width + 1) // 2
    return Planes(np.full((height, width), luma, np.uint8), np.full(half, 110, np.uint8), np.full(half, 140, np.uint8))


def _frame(index: int, rate: int = 30, size: tuple[int, int] = (160, 120)) -> DeidentifiedFrame:
    return DeidentifiedFrame(_planes(*size, luma=40 + index % 100), Fraction(index, rate), index)


def _noisy(index: int, rate: int = 30) -> DeidentifiedFrame:
    """Some megabits a second, so that a server that takes nothing is noticed."""
    plain = _planes(640, 480)
    return DeidentifiedFrame(Planes(NOISE[index % 4], plain.u, plain.v), Fraction(index, rate), index)


class _Feed:
    """Writes frames at a steady rate in a thread, as the live loop does; it keeps the longest time of a write."""

    def __init__(self, sink: LiveSink, make: Callable[[int], DeidentifiedFrame] = _frame, rate: int = 30) -> None:
        self._sink, self._make, self._rate = sink, make, rate
        self._stop = threading.Event()
        self.longest, self.error = 0.0, ""
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> _Feed:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        index = 0
        while not self._stop.wait(1 / self._rate):
            frame, begun = self._make(index), clock()
            try:
                self._sink.write(frame, self._rate, time.monotonic())
            except OutputError as error:
                self.error = str(error)
                return
            self.longest = max(self.longest, clock() - begun)
            index += 1


@contextlib.contextmanager
def _sink(output: Path | str, **wishes: object) -> Iterator[LiveSink]:
    """A sink that waits for a slow machine's first opening, unless the test is about that."""
    sink = LiveSink(str(output), **{"open_timeout": PATIENCE, **wishes})  # type: ignore[arg-type]
    try:
        yield sink
    finally:
        with contextlib.suppress(OutputError):
            sink.close()


def _until(condition: Callable[[], object], limit: float = PATIENCE) -> float:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < limit, "it did not come to that"
        time.sleep(0.01)
    return time.monotonic() - begun


def _written(sink: LiveSink, count: int, limit: float = PATIENCE) -> float:
    goal = sink.state().written + count

    def there() -> bool:
        assert not sink._queue.failed, sink.state().reason  # nothing will come any more
        return sink.state().written >= goal

    return _until(there, limit)


def _decoded(path: Path | str | io.BytesIO, form: str | None = None) -> list[av.VideoFrame]:
    with av.open(path if isinstance(path, io.BytesIO) else str(path), format=form) as container:
        assert isinstance(container, av.container.InputContainer)
        return list(container.decode(video=0))


def _children() -> set[str]:
    """Of this process, without those of earlier tests that live as long as it does (multiprocessing's tracker)."""
    found: set[str] = set()
    for entry in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found |= set((entry / "children").read_text().split())
    return found - _EARLIER


_EARLIER: set[str] = set()


def _held() -> tuple[int, int, int]:
    """What this process holds just now: open files, threads, children."""
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(_children())


def _no_more_than(before: tuple[int, int, int]) -> None:
    """What was let go of takes the system a moment; what was kept stays."""
    _until(lambda: all(now <= then for now, then in zip(_held(), before, strict=True)))


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    _EARLIER.clear()
    _EARLIER.update(_children())
    before = _held()
    yield
    _no_more_than(before)


@contextlib.contextmanager
def _elsewhere(argument: str, lines: str) -> Iterator[subprocess.Popen[bytes]]:
    """Lines of Python in a process of their own that can end or block as it likes."""
    head = (
        "import sys, threading; sys.path.insert(0, sys.argv[2])\n"
        "from tests.video.test_live_sink import LiveSink, _Feed, _frame, _noisy, _until, _written\n"
    )
    command = [sys.executable, "-c", head + lines, argument, str(Path(__file__).parents[2])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def _stdout_sink(form: str, lines: str) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    return _elsewhere(form, "sink = LiveSink('-', stdout_format=sys.argv[1], send_timeout=0.5)\n" + lines)


@needs_gstreamer
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_published_frames_arrive(tmp_path: Path, transport: str) -> None:
    share = 1 if transport == "tcp" else Fraction(3, 4)  # a busy machine loses datagrams
    with GstServer(record=tmp_path / "rec") as server:

        def arrived() -> bool:
            return len(_decoded(tmp_path / "rec", "h264")) >= share * sink.state().written

        with _sink(server.url("/rec"), transport=transport, key_interval=0.5) as sink:
            with _Feed(sink) as feed:
                _written(sink, 40)
                assert sink.state().connected and sink.state().openings == 1
            _until(arrived)  # the server drops what it has not looked at yet when the publisher goes
        latencies = sink.take_latencies()
        state = sink.state()
        _until(arrived)
    pictures = _decoded(tmp_path / "rec", "h264")
    assert share * state.written <= len(pictures) <= state.written and state.written >= 40 and not state.connected
    assert [each.key_frame for each in pictures].count(True) >= 2
    assert feed.longest < 0.05 and len(latencies) == state.written and np.median(latencies) < 0.1


@needs_gstreamer
def test_a_server_that_dies_and_one_that_hangs(tmp_path: Path) -> None:
    with GstServer(record=tmp_path / "rec") as server:
        with _sink(server.url("/rec"), send_timeout=0.5, open_timeout=1.0) as sink, _Feed(sink, _noisy) as feed:
            _written(sink, 10)
            handles, first = len(os.listdir("/proc/self/fd")), sink.child_pid
            server.kill()
            _until(lambda: not sink.state().connected)
            assert sink.state().reason is not None
            time.sleep(1.0)
            server.start()
            _written(sink, 5)
            server.stop()
            _until(lambda: sink.state().reason in ("it took nothing for 0.5 s", "no answer within 1 s"))
            server.cont()
            _written(sink, 5)
            assert sink.child_pid != first and len(_children()) == 2 and not feed.error
            # Pipes of the server and of the encoder are the same in number as at the start.
            assert len(os.listdir("/proc/self/fd")) == handles
            assert sink.state().openings >= 3 and sink.state().unsent > 0
            server.stop()
            time.sleep(0.3)
        sink.close()
        assert feed.longest < 0.05


@needs_gstreamer
def test_the_process_ends_with_its_parent_though_its_muxer_hangs(tmp_path: Path) -> None:
    program = (
        "sink = LiveSink(sys.argv[1], send_timeout=60.0)\n"
        "feed = _Feed(sink, _noisy).__enter__(); _written(sink, 5); print(sink.child_pid, flush=True)"
    )
    with GstServer(record=tmp_path / "rec") as server, _elsewhere(server.url("/rec"), program) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        server.stop()
        time.sleep(1.5)
        parent.kill()
        parent.wait()
        _until(lambda: not Path(f"/proc/{child}").exists())


@needs_gstreamer
def test_the_password_is_nowhere(tmp_path: Path) -> None:
    with GstServer(record=tmp_path / "rec", user="u", password="geheim/@1") as server:
        with _sink(server.url("/rec")) as sink, _Feed(sink):
            _written(sink, 3)
            for part in ("cmdline", "environ"):
                assert b"geheim" not in Path(f"/proc/{sink.child_pid}/{part}").read_bytes()
            usage = sink.child_usage()
            assert usage[0] > 0 and usage[1] > 10_000_000
        for url, words in (
            (server.url("/rec", password="geheim2"), "401"),
            (server.url("/nothing"), "404"),
        ):
            _refused(url, words)


@pytest.mark.parametrize(
    ("host", "words"), [("127.0.0.1:9", "refused"), ("no.such.host.invalid", "no.such.host.invalid is unknown")]
)
def test_what_cannot_be_reached(host: str, words: str) -> None:
    _refused(f"rtsp://u:geheim@{host}/x", words)


def test_a_server_that_never_answers() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        _refused(f"rtsp://u:geheim@127.0.0.1:{server.getsockname()[1]}/x", "no answer within 0.5 s", open_timeout=0.5)


def _refused(url: str, words: str, **wishes: object) -> None:
    with _sink(url, **wishes) as sink, _Feed(sink) as feed:
        _until(lambda: feed.error)
        reason = str(sink.state())
    assert words in feed.error and words in reason
    assert "geheim" not in feed.error + reason and "\n" not in feed.error and "***@" in feed.error


def test_trying_on_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "_CAP", 0.02)
    with _sink("rtsp://u:geheim@127.0.0.1:9/x", keep_trying=True) as sink, _Feed(sink) as feed:
        _until(lambda: sink.state().reason)
        child = sink.child_pid
        time.sleep(0.5)
        assert not feed.error and sink.child_pid == child  # a refusal costs no new process
        assert "refused" in str(sink.state().reason) and sink.state().unsent > 5


def test_a_killed_process_that_takes_long_to_end_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, asked = EncoderChild.reaped, list[float]()

    def late(child: EncoderChild) -> bool:
        asked.append(time.monotonic())
        return asked[-1] - asked[0] > 1.5 and ended(child)

    monkeypatch.setattr(EncoderChild, "reaped", late)
    _refused("rtsp://u:geheim@127.0.0.1:9/x", "refused")
    _until(lambda: not _children())  # not a dead process in the system's list for good


def test_a_raw_frame_is_refused(tmp_path: Path) -> None:
    with _sink(tmp_path / "a.ts") as sink:
        with pytest.raises(FailedClosed):
            sink.write(Frame(_planes(16, 16), Fraction(0), 0), 25.0)  # type: ignore[arg-type]
        assert sink.state().written == 0
    assert not (tmp_path / "a.ts").exists()


def test_an_error_that_no_write_has_told_is_told_by_close() -> None:
    sink = LiveSink("rtsp://u:geheim@127.0.0.1:9/x")
    sink.write(_frame(0), 30.0)
    with pytest.raises(OutputError, match="refused"):
        sink.close()
    sink.close()
    with pytest.raises(OutputError):
        sink.write(_frame(1), 30.0)


@pytest.mark.parametrize("extension", [".mkv", ".ts", ".mp4"])
def test_files_rotate_and_the_oldest_go(tmp_path: Path, extension: str) -> None:
    with _sink(tmp_path / f"cam{extension}", rotate=1.0, keep_files=2, key_interval=0.5) as sink:
        for index in range(70):
            sink.write(_frame(index, rate=20), 20.0)
            _until(lambda goal=index: sink.state().written > goal)  # type: ignore[misc]
        sink.close()
        assert sink.state().written == 70 and sink.state().openings == 4
    names = sorted(path for path in tmp_path.iterdir())
    assert len(names) == 2
    counts = sorted(len(_decoded(path)) for path in names)
    assert counts == [10, 20]
    for path in names:
        pictures = _decoded(path)
        assert pictures[0].key_frame and [each.key_frame for each in pictures].count(True) == len(pictures) // 10
        assert pictures[0].time is not None and abs(pictures[0].time) < 0.1


@pytest.mark.parametrize("codec", ["libx264", "libx265"])
def test_what_is_written_is_what_was_given(tmp_path: Path, codec: str) -> None:
    ramp = np.tile(np.linspace(20, 230, 161).astype(np.uint8), (121, 1))
    half = np.full((61, 81), 90, np.uint8)
    path = tmp_path / "odd.mkv"
    with _sink(path, codec=codec) as sink:
        for index, ticks in enumerate((0, 33, 33, 20, 150)):  # the third and fourth time do not rise
            planes = Planes(ramp, half, half, Colour("bt709", True))
            sink.write(DeidentifiedFrame(planes, Fraction(ticks, 1000) + 1000, index), 30.0)
            _until(lambda goal=index: sink.state().written > goal)  # type: ignore[misc]
    pictures = _decoded(path)
    times = [float(each.time or 0) for each in pictures]
    assert len(times) == 5 and abs(times[-1] - 0.15) < 0.002
    assert all(one < other for one, other in itertools.pairwise(times))  # in MKV, which counts in milliseconds
    first = pictures[0]
    assert (first.width, first.height, first.colorspace, first.color_range) == (162, 122, 1, 2)
    shown = first.to_ndarray(format="yuvj420p")[:121, :161].astype(int)
    assert abs(shown - ramp).mean() < 2


def test_a_file_that_was_cut_off_is_playable(tmp_path: Path) -> None:
    paths = [tmp_path / f"cut{extension}" for extension in (".mp4", ".mkv", ".ts")]
    with contextlib.ExitStack() as stack:
        sinks = [stack.enter_context(_sink(path, key_interval=0.5)) for path in paths]
        for sink in sinks:
            stack.enter_context(_Feed(sink))
        growing = []
        for sink, path in zip(sinks, paths, strict=True):
            _until(lambda: sink.state().written >= 60)  # noqa: B023
            growing.append(path.read_bytes())
            assert sink.child_pid is not None
            os.kill(sink.child_pid, signal.SIGKILL)
        for sink in sinks:
            _until(lambda: sink.state().openings == 2)  # noqa: B023
            _written(sink, 5)
    for path, part in zip(paths, growing, strict=True):
        assert len(_decoded(io.BytesIO(part))) >= 20 and len(_decoded(path)) >= 20
        others = [other for other in tmp_path.glob(f"*{path.suffix}") if other != path]
        assert len(others) == 1 and len(_decoded(others[0])) >= 5


def test_another_size_begins_a_new_file(tmp_path: Path) -> None:
    with _sink(tmp_path / "cam.mkv") as sink:
        for index in range(8):
            sink.write(_frame(index, size=(160, 120) if index < 4 else (98, 66)), 30.0)
            _until(lambda goal=index: sink.state().written > goal)  # type: ignore[misc]
    sizes = {(path.name == "cam.mkv"): [(p.width, p.height) for p in _decoded(path)] for path in tmp_path.iterdir()}
    assert sizes == {True: [(160, 120)] * 4, False: [(98, 66)] * 4}


def test_a_file_that_cannot_grow_is_begun_anew(tmp_path: Path) -> None:
    with _sink(tmp_path / "full.ts") as sink, _Feed(sink, _noisy) as feed:
        _written(sink, 3)
        assert sink.child_pid is not None
        resource.prlimit(sink.child_pid, resource.RLIMIT_FSIZE, (100_000, 100_000))  # as a disk that is full
        _until(lambda: sink.state().openings >= 2)
        _written(sink, 3)
        assert not feed.error
    assert len(list(tmp_path.iterdir())) >= 2


def test_a_directory_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    place, away = tmp_path / "out", tmp_path / "away"
    place.mkdir()
    with _sink(place / "cam.ts", rotate=1.0) as sink, _Feed(sink) as feed:
        _written(sink, 3)
        place.rename(away)
        _until(lambda: sink.state().reason == "no such file or directory")
        away.rename(place)
        _written(sink, 3)
        assert not feed.error


def test_an_hls_directory_goes_on_after_a_kill(tmp_path: Path) -> None:
    with _sink(tmp_path / "live.m3u8", key_interval=0.3) as sink:
        with _Feed(sink):
            _until(lambda: (tmp_path / "live.m3u8").exists())
            for _ in range(2):
                assert sink.child_pid is not None
                os.kill(sink.child_pid, signal.SIGKILL)
                _until(lambda: not sink.state().connected)
                text = (tmp_path / "live.m3u8").read_text()
                assert "ENDLIST" not in text and "#EXT-X-INDEPENDENT-SEGMENTS" in text
                assert len(_decoded(tmp_path / text.split()[-1])) >= 5
                _written(sink, 35)
        sink.close()
    lines = (tmp_path / "live.m3u8").read_text().splitlines()
    listed = {line for line in lines if not line.startswith("#")}
    assert "#EXT-X-DISCONTINUITY" in lines and lines[-1] == "#EXT-X-ENDLIST"
    present = {path.name for path in tmp_path.iterdir()} - {"live.m3u8"}
    assert listed <= present and len(present) <= len(listed) + 2
    assert all(_decoded(tmp_path / name)[0].key_frame for name in listed)


@pytest.mark.parametrize("form", ["mpegts", "matroska"])
def test_standard_output_keeps_its_size(form: str) -> None:
    lines = (
        "for index in range(20):\n"
        "    sink.write(_frame(index, size=(160, 120) if index < 10 else (120, 160)), 30.0)\n"
        "    _until(lambda: sink.state().written > index)\n"
        "sink.close()"
    )
    with _stdout_sink(form, lines) as writer:
        data, complaints = writer.communicate(timeout=PATIENCE)
        assert writer.returncode == 0, complaints
    pictures = _decoded(io.BytesIO(data), form)
    assert len(pictures) == 20 and {(each.width, each.height) for each in pictures} == {(160, 120)}
    last = pictures[-1].to_ndarray(format="gray").astype(int)
    assert last[:, :30].max() <= 8 < last[60, 80]  # bars


def test_a_slow_reader_costs_frames_and_nothing_else() -> None:
    lines = (
        "feed = _Feed(sink, _noisy).__enter__()\n"
        "_until(lambda: sink.state().unsent > 60)\n"
        "print(sink.state().openings, feed.longest < 0.05, file=sys.stderr)\n"
        "threading.Timer(0.5, feed.__exit__).start(); _until(lambda: feed._stop.is_set()); sink.close()"
    )
    with _stdout_sink("mpegts", lines) as writer:
        assert writer.stdout is not None and writer.stderr is not None
        assert writer.stderr.readline().split() == [b"1", b"True"]
        data = writer.stdout.read()
    assert len(data) % 188 == 0 and len(_decoded(io.BytesIO(data), "mpegts")) >= 3


def test_the_time_of_the_process_counts_after_its_end(tmp_path: Path) -> None:
    with _sink(tmp_path / "cam.ts") as sink:
        with _Feed(sink):
            _written(sink, 5)
        before = sink.child_usage()[0]
        sink.close()
        assert sink.child_usage()[0] >= before > 0


def test_a_reader_that_stops_is_told_of_until_it_goes_on() -> None:
    lines = (
        "feed = _Feed(sink, _noisy).__enter__()\n"
        "_until(lambda: sink.state().connected); _until(lambda: not sink.state().connected)\n"
        "print(sink.state().reason, file=sys.stderr, flush=True)\n"
        "_until(lambda: sink.state().connected)\n"
        "print(sink.state().reason, sink.state().openings, file=sys.stderr, flush=True)\n"
        "feed.__exit__(); sink.close()"
    )
    with _stdout_sink("mpegts", lines) as writer:
        assert writer.stdout is not None and writer.stderr is not None
        assert writer.stderr.readline() == b"it took nothing for 0.5 s\n"
        assert writer.stdout.read()
        assert writer.stderr.readline() == b"None 1\n"


def test_a_reader_that_goes_ends_it() -> None:
    lines = (
        "feed = _Feed(sink, _noisy).__enter__()\n"
        "_until(lambda: feed.error)\n"
        "print(feed.error, file=sys.stderr)\n"
        "feed.__exit__(); sink.close()"
    )
    with _stdout_sink("mpegts", lines) as writer:
        assert writer.stdout is not None and writer.stderr is not None
        writer.stdout.read(2000)
        writer.stdout.close()
        assert b"the reader has gone" in writer.stderr.read()


def test_a_process_that_hangs_is_killed_and_started_anew(tmp_path: Path) -> None:
    """Stopped from outside; its pipe is full by then, and nobody waits for it."""
    with (
        _sink(tmp_path / "a.ts", send_timeout=0.5) as sink,
        _Feed(sink, lambda index: _frame(index, size=(1280, 720))) as feed,
    ):
        _written(sink, 5)
        first = sink.child_pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        _until(lambda: sink.state().reason == "it took nothing for 0.5 s")
        _until(lambda: sink.state().openings == 2)
        _written(sink, 5)
        assert sink.child_pid != first and not Path(f"/proc/{first}").exists()
        assert feed.longest < 0.05
        assert sink.child_pid is not None
        os.kill(sink.child_pid, signal.SIGSTOP)
        time.sleep(0.2)
        begun = time.monotonic()
    assert time.monotonic() - begun < 3.5


def test_signals_of_a_terminal_do_not_end_the_process(tmp_path: Path) -> None:
    with _sink(tmp_path / "a.mkv") as sink, _Feed(sink):
        _written(sink, 2)
        child = sink.child_pid
        assert child is not None and os.getsid(child) == child
        os.kill(child, signal.SIGINT)
        os.kill(child, signal.SIGTERM)
        _written(sink, 5)
        assert sink.child_pid == child and sink.state().openings == 1


def test_ten_reopenings_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "_CAP", 0.01)
    with _sink(tmp_path / "a.ts", keep_files=2) as sink, _Feed(sink):
        for number in range(10):
            _until(lambda goal=number: sink.state().openings > goal)  # type: ignore[misc]
            if number == 0:
                _until(lambda: _held()[2] == 1)
                first = _held()
            _no_more_than(first)
            assert sink.child_pid is not None
            os.kill(sink.child_pid, signal.SIGKILL)
    assert sum(path.stat().st_size >= 1500 for path in tmp_path.iterdir()) <= 2
