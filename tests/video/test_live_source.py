"""A live source: found, lost and found again; against GStreamer's RTSP server where that is installed."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from streamdeid.core.status import Arrival
from streamdeid.errors import ExitCode, InputError
from streamdeid.video.files.source import FileSource
from streamdeid.video.live import camera as camera_module
from streamdeid.video.live import source as live_source
from streamdeid.video.live.camera import CameraConnection, ConnectionLost, DecodedPicture
from streamdeid.video.live.source import LiveSource
from tests.patience import PATIENCE, eventually
from tests.rtsp import GstServer, gst_missing
from tests.synthetic_video import encode, picture, set_display_matrix

LIVE = {"tune": "zerolatency", "preset": "ultrafast", "g": "12"}
SHORT: dict[str, Any] = {"open_timeout": 1.0, "read_timeout": 1.0}


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two clips of different size with a key frame every half second."""
    folder = tmp_path_factory.mktemp("clips")
    return (
        encode(folder / "small.mp4", frames=50, size=(160, 120), options=LIVE),
        encode(folder / "large.mp4", frames=50, size=(320, 240), options=LIVE),
    )


@pytest.fixture(scope="module")
def server(clips: tuple[Path, Path]) -> Iterator[GstServer]:
    """A server that is left alone."""
    if (missing := gst_missing()) is not None:
        pytest.skip(missing)
    with GstServer(cam=clips[0]) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """No test leaves a thread behind."""
    yield
    end = time.monotonic() + PATIENCE
    while any(thread.name == "live-source" for thread in threading.enumerate()):
        assert time.monotonic() < end, "a reader is still there"
        time.sleep(0.02)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every picture waits for whoever takes it: on a busy machine two would not do, and which come is the question."""
    monkeypatch.setattr(live_source, "_QUEUE", 1000)


@contextlib.contextmanager
def opened(address: str, **settings: Any) -> Iterator[LiveSource]:
    """A source that has begun and is closed in the end."""
    source = LiveSource(address, **{**SHORT, **settings})
    source.start()
    try:
        yield source
    finally:
        source.close()


def some(source: LiveSource, count: int, timeout: float = PATIENCE) -> list[Arrival]:
    """The next frames."""
    found: list[Arrival] = []
    end = time.monotonic() + timeout
    while len(found) < count:
        assert time.monotonic() < end, f"{len(found)} of {count} frames came; {source.state()}"
        arrival = source.take(0.2)
        if arrival is not None:
            found.append(arrival)
    return found


def rise(arrivals: list[Arrival]) -> bool:
    """Whether times, numbers and arrivals are in order."""
    return all(
        a.frame.time < b.frame.time and a.frame.index < b.frame.index and a.arrived <= b.arrived
        for a, b in pairwise(arrivals)
    )


def refusal(address: str, **settings: Any) -> str:
    """The one line that the source gives up with."""
    with opened(address, **settings) as source:
        with pytest.raises(InputError) as caught:
            source.take(10)
        assert caught.value.exit_code == ExitCode.INPUT and caught.value.__cause__ is None
        assert not source.state().connected and "\n" not in str(caught.value)
        with pytest.raises(InputError):
            source.take(0)
        return str(caught.value)


# -- replayed files ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("kept")
def test_a_file_comes_at_its_own_pace_and_ends(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4", frames=20, options={"bf": "2"})
    with opened(str(path), realtime=True) as source:
        begun = time.monotonic()
        arrivals = some(source, 20)
        assert 0.7 < time.monotonic() - begun < 30, "its pace is 0.76 s"
        assert source.take(5) is None and source.ended
        assert source.state().dropped == 0 and source.state().frames == 20
    assert rise(arrivals) and arrivals[0].frame.time == 0 and arrivals[0].rate == 25
    assert abs(float(arrivals[-1].frame.time) - 0.76) < 0.02
    for arrival, frame in zip(arrivals, FileSource(path), strict=True):
        planes = arrival.frame.planes
        assert np.array_equal(planes.y, frame.planes.y) and planes.colour == frame.planes.colour


def test_a_slow_reader_gets_the_newest_two(tmp_path: Path) -> None:
    with opened(str(encode(tmp_path / "a.mp4", frames=20)), realtime=True) as source:
        some(source, 1)
        while source.state().frames < 20:
            time.sleep(0.02)
        assert (source.state().queue, source.state().dropped) == (2, 17) and not source.ended
        assert [arrival.frame.index for arrival in some(source, 2)] == [18, 19]
        assert source.take(5) is None and source.ended


def test_a_loop_begins_anew_and_time_goes_on(tmp_path: Path) -> None:
    with opened(str(encode(tmp_path / "a.mp4", frames=6)), realtime=True, loop=True) as source:
        arrivals = some(source, 20)
        assert not source.ended
    assert rise(arrivals) and {arrival.connection for arrival in arrivals} >= {1, 2, 3}
    assert 0.5 < float(arrivals[-1].frame.time) < 2


def test_a_turned_file_comes_upright(tmp_path: Path) -> None:
    path = set_display_matrix(encode(tmp_path / "a.mp4", frames=3), (0, -1, 1, 0))
    with opened(str(path), realtime=True) as source:
        planes = some(source, 1)[0].frame.planes
    assert planes.size == (48, 64) and np.array_equal(planes.y, next(iter(FileSource(path))).planes.y)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    assert "no such" in refusal(str(tmp_path / "none.mp4"), realtime=True)
    (tmp_path / "a.mp4").write_bytes(b"nonsense" * 100)
    assert "not a video" in refusal(str(tmp_path / "a.mp4"), realtime=True, loop=True, keep_trying=True)


@pytest.mark.usefixtures("kept")
def test_pictures_after_a_hole_are_left_out_up_to_the_next_key_frame(tmp_path: Path) -> None:
    options = {**LIVE, "g": "15"}
    path = encode(tmp_path / "a.ts", frames=40, size=(160, 120), options=options)
    whole = [frame.planes.y for frame in FileSource(path)]
    with av.open(str(path)) as container:
        places = [packet.pos for packet in container.demux(video=0) if packet.size]
    data = path.read_bytes()
    path.write_bytes(data[: places[20]] + data[places[21] :])
    found = []
    with opened(str(path), realtime=True) as source:
        while not source.ended:
            arrival = source.take(1)
            if arrival is not None:
                found += [n for n, plane in enumerate(whole) if np.array_equal(plane, arrival.frame.planes.y)] or [-1]
        assert source.state().damaged == 1 and source.state().dropped == 0
    # The picture before the hole may go with it: the demuxer finds its end too late.
    assert (
        found[-10:] == list(range(30, 40)) and found[:-10] == list(range(len(found) - 10)) and 15 < len(found) - 10 < 21
    )


@pytest.mark.usefixtures("kept")
def test_a_lost_picture_that_only_its_number_tells_of_is_noticed(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.h264", frames=30, size=(160, 120), options={**LIVE, "g": "15"})
    with av.open(str(path)) as container:
        packets = [bytes(packet) for packet in container.demux(video=0) if packet.size]
    path.write_bytes(b"".join(packets[:5] + packets[6:]))
    with opened(str(path), realtime=True) as source:
        count = 0
        while not source.ended:
            count += source.take(1) is not None
        assert (count, source.state().damaged) == (20, 1)


# -- without a server --------------------------------------------------------------------------------------------------


def test_who_cannot_be_reached_is_named_without_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening
        port = taken.getsockname()[1]
        lines = [
            refusal(f"rtsp://anna:sesame@127.0.0.1:{port}/x?token=sesame"),
            refusal("rtsp://anna:sesame@camera.invalid/x"),
            refusal(f"http://anna:sesame@127.0.0.1:{port}/x"),
            refusal("/dev/video77"),
        ]
    assert [line.split(": ")[-1] for line in lines] == [
        "the connection was refused",
        "there is no host of that name",
        "the connection was refused",
        "there is no such device or file",
    ]
    assert not any("sesame" in line for line in lines)


@pytest.mark.parametrize("scheme", ["rtsp", "http", "tcp"])
def test_a_server_that_never_answers_is_given_up_in_time(scheme: str) -> None:
    begun = time.monotonic()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        line = refusal(f"{scheme}://127.0.0.1:{silent.getsockname()[1]}/x")
    assert line.endswith("no answer within 1 s") and time.monotonic() - begun < 30, "late, not so late"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """An HTTP server of a folder; its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path))
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{listening.server_port}"
    listening.shutdown()
    thread.join()
    listening.server_close()


def test_a_transport_stream_over_http_is_read_again_when_it_ends(web: str, tmp_path: Path) -> None:
    encode(tmp_path / "a.ts", frames=30, options=LIVE, audio=("aac",))
    with opened(f"{web}/a.ts") as source:
        arrivals = some(source, 4)
        while source.state().connections < 3:
            arrivals += some(source, 1)
    assert rise(arrivals) and arrivals[0].frame.planes.size == (64, 48)


def test_what_the_web_serves_instead_of_video_is_refused(web: str, tmp_path: Path) -> None:
    (tmp_path / "page").write_text("<html>" * 100)
    (tmp_path / "list.m3u8").write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile://{tmp_path}/a.ts\n")
    encode(tmp_path / "a.ts", frames=5)
    with av.open(str(tmp_path / "sound.ts"), "w") as output:
        track: Any = output.add_stream("mp2", rate=48000)
        track.codec_context.layout = "mono"
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 1152 * 20), np.int16), format="s16", layout="mono")
        sound.sample_rate = 48000
        output.mux(track.encode(sound))
        output.mux(track.encode(None))
    assert "not a video" in refusal(f"{web}/page") and "not a video" in refusal(f"{web}/list.m3u8")
    assert "there is no video in it" in refusal(f"{web}/sound.ts")
    assert "404" in refusal(f"{web}/none.ts")


# -- a transport stream over TCP ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def sending(first: bytes, then: list[bytes]) -> Iterator[str]:
    """A TCP server that sends `first` at once to each who connects, then `then` over and over, piece by piece."""
    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.05)

    def serve() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError), listening.accept()[0] as connection:
                connection.settimeout(PATIENCE)
                connection.sendall(first)
                while then and not over.is_set():
                    for piece in then:
                        connection.sendall(piece)
                        over.wait(0.01)

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"tcp://127.0.0.1:{listening.getsockname()[1]}"
    over.set()
    thread.join()
    listening.close()


def pieces(path: Path, kind: str) -> list[bytes]:
    """The TS packets of one stream of a file, a few at a time."""
    data = path.read_bytes()
    with av.open(str(path)) as container:
        pid = next(stream.id for stream in container.streams if stream.type == kind)
    packets = [data[place : place + 188] for place in range(0, len(data), 188)]
    mine = [packet for packet in packets if (packet[1] & 31) << 8 | packet[2] == pid]
    return [b"".join(mine[place : place + 4]) for place in range(0, len(mine), 4)]


def reason_after(source: LiveSource, connections: int = 1) -> str:
    """Take frames until that connection is lost; why it was."""
    end = time.monotonic() + PATIENCE
    while (state := source.state()).connected or state.connections < connections:
        assert time.monotonic() < end, state
        source.take(0.05)
    return str(state.reason)


def test_a_camera_whose_sound_goes_on_without_its_picture_is_lost(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.ts", frames=50, options=LIVE, audio=("mp2",))
    with sending(path.read_bytes(), pieces(path, "audio")) as address, opened(address) as source:
        assert reason_after(source) == "no video came for 1 s, though other data did"


def test_a_camera_whose_packets_give_no_picture_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(camera_module, "_KEY_PATIENCE", 1.0)
    path = encode(tmp_path / "a.ts", frames=50, options={**LIVE, "g": "100"})
    with sending(path.read_bytes(), pieces(path, "video")[4:]) as address, opened(address) as source:
        assert reason_after(source) == "no picture could be decoded for 1 s"
        assert source.state().damaged >= 1


def test_another_size_in_mid_stream_is_handed_on(tmp_path: Path) -> None:
    small = encode(tmp_path / "a.ts", frames=25, options=LIVE)
    large = encode(tmp_path / "b.ts", frames=25, size=(128, 96), options=LIVE)
    sizes = set()
    with sending(b"", [small.read_bytes(), large.read_bytes()]) as address, opened(address) as source:
        arrivals = some(source, 1)
        while len(sizes) < 2:
            arrivals += some(source, 1)
            sizes.add(arrivals[-1].frame.planes.size)
        assert source.state().connections == 1 and rise(arrivals)
    assert sizes == {(64, 48), (128, 96)}


# -- drawn cameras -----------------------------------------------------------------------------------------------------


class DrawnCamera:
    """Stands for `CameraConnection`: each connection does what its number says."""

    rate = 25.0
    damaged = 0
    codec = "h264"

    def __init__(self, act: Callable[[], list[int]]) -> None:
        self._act = act

    def read(self) -> list[DecodedPicture]:
        """Pictures with the stamps that `act` gives."""
        pictures = []
        for stamp in self._act():
            image = av.VideoFrame.from_ndarray(picture(0, 64 if stamp < 900 else 32, 48), format="rgb24")
            pictures.append(DecodedPicture(image, Fraction(stamp, 25), time.monotonic()))
        return pictures

    def close(self) -> None:
        """Nothing to end."""


def play(monkeypatch: pytest.MonkeyPatch, connect: Callable[[int], DrawnCamera]) -> list[float]:
    """Let `connect` stand for the camera; it gets the number of the attempt. Returns when attempts began."""
    begun: list[float] = []

    def stand_in(*_: object, file: bool, codec: str | None, most_pixels: float) -> DrawnCamera:
        begun.append(time.monotonic())
        return connect(len(begun))

    monkeypatch.setattr(live_source, "CameraConnection", stand_in)
    return begun


def dying(reason: ConnectionLost, pictures: int = 1) -> Callable[[], list[int]]:
    """Gives some pictures and is lost."""
    left = iter(range(pictures))

    def act() -> list[int]:
        for stamp in left:
            return [stamp]
        raise reason

    return act


def test_a_refused_password_is_not_hammered_after_a_first_success(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(number: int) -> DrawnCamera:
        if number > 1:
            raise ConnectionLost("user or password are wrong or missing (401)", refused=True)
        return DrawnCamera(dying(ConnectionLost("the stream ended", ended=True)))

    begun = play(monkeypatch, connect)
    with opened("rtsp://drawn/x") as source:
        assert source.take(1) is not None and source.take(1.5) is None
        assert source.state().reason == "user or password are wrong or missing (401)"
    assert len(begun) == 2


def test_a_camera_that_comes_and_goes_is_tried_for_ever_and_calmly(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = play(monkeypatch, lambda number: DrawnCamera(dying(ConnectionLost("the stream ended", ended=True))))
    with opened("rtsp://drawn/x") as source:
        arrivals = some(source, 4)
    assert rise(arrivals) and [arrival.connection for arrival in arrivals] == [1, 2, 3, 4]
    assert begun[3] - begun[0] > 0.8


def test_the_first_opening_is_tried_again_only_when_wished(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(number: int) -> DrawnCamera:
        if number < 3:
            raise ConnectionLost("the connection was refused")
        return DrawnCamera(dying(ConnectionLost("over"), 5))

    play(monkeypatch, connect)
    with opened("rtsp://drawn/x", keep_trying=True) as source:
        assert source.take(0) is None and source.state().reason
        assert some(source, 1)[0].connection == 1
    play(monkeypatch, connect)
    assert refusal("rtsp://a:b@drawn/x") == "rtsp://***@drawn/x cannot be read: the connection was refused"


def test_a_reader_that_hangs_is_abandoned_and_delivers_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_source, "_ABANDON", 0.5)
    free = threading.Event()
    stamps = iter(range(10**6))

    def hang() -> list[int]:
        free.wait(PATIENCE)
        return [999]

    def run() -> list[int]:
        time.sleep(0.02)
        return [next(stamps)]

    play(monkeypatch, lambda number: DrawnCamera(hang if number == 1 else run))
    with opened("rtsp://drawn/x") as source:
        arrivals = some(source, 5)
        state = source.state()
        free.set()
        arrivals += some(source, 20)
        assert source.state().connections == state.connections == 1
    assert rise(arrivals) and {arrival.frame.planes.size for arrival in arrivals} == {(64, 48)}


def test_readers_that_hang_are_no_more_than_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_ABANDON", 0.01), ("_MOST_HUNG", 3), ("_HOPELESS", 0.5)):
        monkeypatch.setattr(live_source, name, value)
    free = threading.Event()
    begun = play(monkeypatch, lambda number: DrawnCamera(lambda: [int(free.wait(PATIENCE))]))
    with opened("rtsp://a:b@drawn/x") as source:
        with pytest.raises(InputError, match=r"^rtsp://\*\*\*@drawn/x cannot be read: 4 readers hang$"):
            some(source, 1)
        free.set()
    assert len(begun) == 4


def test_a_picture_that_cannot_be_converted_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = iter(range(20))

    def planes(picture: DecodedPicture) -> object:
        if picture.stamp == 0:
            raise MemoryError
        return convert(picture)

    def act() -> list[int]:
        time.sleep(0.05)
        return [next(stamps)]

    convert = DecodedPicture.planes
    monkeypatch.setattr(DecodedPicture, "planes", planes)
    play(monkeypatch, lambda number: DrawnCamera(act))
    with opened("rtsp://drawn/x") as source:
        assert some(source, 2)[0].frame.index == 1
        assert source.state().damaged == 1


def test_what_nobody_expected_is_a_lost_camera_and_tells_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(number: int) -> DrawnCamera:
        if number == 2:
            raise RuntimeError("rtsp://anna:sesame@drawn/x")
        return DrawnCamera(dying(ConnectionLost("over")))

    play(monkeypatch, connect)
    with opened("rtsp://anna:sesame@drawn/x") as source:
        some(source, 1)
        while (reason := source.state().reason) in (None, "over"):
            time.sleep(0.01)
        assert reason == "an unexpected RuntimeError"
        some(source, 1)


def test_a_hanging_reader_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    play(monkeypatch, lambda number: DrawnCamera(lambda: [int(free.wait(PATIENCE))]))
    begun = time.monotonic()
    with opened("rtsp://drawn/x") as source:
        assert source.take(0.1) is None
    assert time.monotonic() - begun < 30 and source.take(0.1) is None
    assert "live-source" in {one.name for one in threading.enumerate()}
    free.set()


# -- GStreamer's server ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_rtsp_is_read_at_once_and_without_a_growing_delay(server: GstServer, transport: str) -> None:
    # GStreamer answers 503 while it still clears up after the reader before.
    with opened(server.url("/live"), transport=transport, keep_trying=True) as source:
        arrivals = some(source, 41)
        assert time.monotonic() - arrivals[-1].arrived < 0.2
        state = source.state()
    assert rise(arrivals) and state.connected and state.connections == 1
    assert state.damaged == 0 or transport == "udp"  # a busy machine loses datagrams
    assert arrivals[-1].frame.planes.size == (320, 240) and arrivals[-1].rate == 25
    steps = np.diff([float(arrival.frame.time) for arrival in arrivals[5:]])
    assert abs(float(np.median(steps)) - 0.04) < 0.005


def test_the_parser_is_used_again_where_the_last_connection_had_another_codec(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str | None] = []

    def stand_in(*_: object, file: bool, codec: str | None, most_pixels: float) -> DrawnCamera:
        given.append(codec)
        camera = DrawnCamera(dying(ConnectionLost("the stream ended", ended=True)))
        camera.codec = "hevc"
        return camera

    monkeypatch.setattr(live_source, "CameraConnection", stand_in)
    with opened("rtsp://drawn/x") as source:
        some(source, 2)
    assert given[:2] == [None, "hevc"]


def test_rtsp_streams_that_cannot_be_had(server: GstServer) -> None:
    assert "404" in refusal(server.url("/none"))
    assert "there is no video in it" in refusal(server.url("/sound"))


def test_rtsp_with_a_password(clips: tuple[Path, Path]) -> None:
    if (missing := gst_missing()) is not None:
        pytest.skip(missing)
    with GstServer(cam=clips[0], user="anna", password="open/ses@me") as locked:
        with opened(locked.url()) as source:
            some(source, 2)
        line = refusal(locked.url(password="se5ame"))
        assert "401" in line and "se5ame" not in line and "anna" not in line


def back_again(source: LiveSource, since: float) -> Arrival:
    """The first frame that arrived after `since`."""
    while True:
        arrival = source.take(0.1)
        assert time.monotonic() - since < PATIENCE, source.state()
        if arrival is not None and arrival.arrived > since:
            return arrival


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_killed_or_stopped_server_is_found_again(clips: tuple[Path, Path], transport: str) -> None:
    if (missing := gst_missing()) is not None:
        pytest.skip(missing)
    with GstServer(cam=clips[0]) as shaky, opened(shaky.url(), transport=transport) as source:
        arrivals = some(source, 5)
        descriptors = len(os.listdir("/proc/self/fd"))
        shaky.kill()
        eventually(lambda: source.take(0.1) is None and not source.state().connected)
        assert source.state().reason
        shaky.cam = clips[1]
        shaky.start()
        arrivals.append(back_again(source, time.monotonic()))
        assert arrivals[-1].frame.planes.size == (320, 240) and arrivals[-1].connection == 2
        arrivals += some(source, 5)
        shaky.stop()
        eventually(lambda: source.take(0.1) is None and not source.state().connected)
        assert source.state().reason == "nothing came for 1 s"
        shaky.cont()
        arrivals.append(back_again(source, time.monotonic()))
        arrivals += some(source, 5)
        assert rise(arrivals) and len(os.listdir("/proc/self/fd")) == descriptors


def test_one_connection_leaves_nothing_behind(server: GstServer) -> None:
    before = len(os.listdir("/proc/self/fd"))
    camera = CameraConnection(server.url("/live"), "tcp", 2.0, 2.0, file=False)
    while not camera.read():
        pass
    camera.close()
    assert len(os.listdir("/proc/self/fd")) == before
