"""HTTP: who may look, what is answered, and that it is answered with bytes made from filtered frames only."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import hashlib
import hmac
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from uvicorn.protocols.http.h11_impl import H11Protocol

from streamdeid.core.status import LATENCY_BOUNDS, LiveStatus, SinkState, SourceState
from streamdeid.errors import SettingsError
from streamdeid.service import web_server
from streamdeid.service.app import MOST_VIEWERS, app_of
from streamdeid.service.camera_report import CameraReport
from streamdeid.service.http_settings import HttpSettings
from streamdeid.service.web_server import WebServer
from tests.patience import PATIENCE

TOKEN = "a-long-token-that-nobody-guesses"
PICTURE = b"\xff\xd8\xff made from a filtered frame \xff\xd9"
STATUS = LiveStatus(
    state="live",
    source=SourceState(connected=True, connections=3, frames=110, dropped=4, damaged=2, queue=1),
    sink=SinkState(connected=True, openings=2, written=100, unsent=5),
    filtered=101,
    withheld=6,
    repeated=7,
    placeholders=8,
    faces={"posed face": 9, "own face": 200},
    people=2,
    frame_age=0.1,
    size=(640, 480),
    rate=14.5,
    latency=(0, 0, 0, 50, 50) + (0,) * (len(LATENCY_BOUNDS) - 4),
    latency_sum=11.0,
    cpu_seconds=12.5,
    memory_bytes=1 << 28,
)
DOOR = CameraReport("door", "live", None, 0.2, 3, STATUS, True, (0.1, 0.145))
YARD = CameraReport("yard", "degraded", "the camera does not answer", 7.0, 0, LiveStatus(), True, None, "pi-3")


class Shown:
    """A camera that is as it is told to be."""

    def __init__(self, report: CameraReport, picture: bytes | None) -> None:
        self._report, self._picture, self._number = report, picture, 0

    def report(self) -> CameraReport:
        return self._report

    async def preview(self, after: int, timeout: float) -> tuple[int, bytes] | None:
        await asyncio.sleep(0.02)
        self._number += 1
        return None if self._picture is None or self._number <= after else (self._number, self._picture)

    async def snapshot(self, timeout: float) -> bytes | None:
        return self._picture


class Service:
    """Two cameras, one of them well."""

    def __init__(self, *reports: CameraReport) -> None:
        self.cameras = {one.name: Shown(one, PICTURE if one.state == "live" else None) for one in reports}
        self.begun = 1.5e9
        self.reloads = {"done": 1, "refused": 2}


class Visitor:
    """Asks a server."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, method: str = "GET", host: str | None = None, **headers: str) -> tuple[int, Any, bytes]:
        """Status, headers and body."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=given | ({} if host is None else {"Host": host}))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()


@contextlib.contextmanager
def served(settings: HttpSettings, *reports: CameraReport, service: Service | None = None) -> Iterator[Visitor]:
    """A real server in a thread."""
    began = threading.Event()
    ports: list[int] = []

    async def serve() -> None:
        server = WebServer(settings, lambda over: app_of(service or Service(*reports), settings, over))
        running = asyncio.create_task(server.run())
        await server.started(running)
        ports.append(int(server.address.rstrip("/").rpartition(":")[2]))
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        stops.append(lambda: loop.call_soon_threadsafe(over.set))
        began.set()
        await over.wait()
        server.stop()
        await asyncio.wait_for(running, PATIENCE)

    stops: list[Any] = []
    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert began.wait(PATIENCE)
    try:
        yield Visitor(ports[0])
    finally:
        stops[0]()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def here() -> Iterator[Visitor]:
    """On loopback, without a token."""
    with served(HttpSettings(port=0), DOOR, YARD) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def locked() -> Iterator[Visitor]:
    """With a token."""
    with served(HttpSettings(port=0, token=TOKEN), DOOR) as visitor:
        yield visitor


def test_health_is_told_whatever_the_cameras_do(here: Visitor) -> None:
    code, headers, body = here.ask("/healthz")
    told = json.loads(body)
    assert code == 200 and told["status"] == "degraded" and told["degraded"] == ["yard"]
    assert told["cameras"]["yard"] == {"state": "degraded", "reason": "the camera does not answer"}
    assert headers["Content-Type"] == "application/json"


def test_ready_means_that_every_camera_filtered_a_frame_just_now(here: Visitor) -> None:
    code, _, body = here.ask("/readyz")
    assert code == 503 and json.loads(body)["not_ready"] == {"yard": "the camera does not answer"}
    late = replace(DOOR, frame_age=5.5)
    for reports, expected in (((DOOR,), 200), ((late,), 503), ((replace(DOOR, frame_age=None),), 503)):
        with served(HttpSettings(port=0), *reports) as visitor:
            assert visitor.ask("/readyz")[0] == expected


def test_metrics_are_prometheus_text_with_many_series(here: Visitor) -> None:
    code, headers, body = here.ask("/metrics")
    assert code == 200 and headers["Content-Type"].startswith("text/plain; version=")
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert len(families) >= 15 and all(name.startswith("streamdeid_") for name in families)
    values = {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in families.values()
        for sample in family.samples
    }
    for name, value in (
        ("frames_received_total", 110),
        ("frames_dropped_total", 4),
        ("frames_filtered_total", 101),
        ("frames_withheld_total", 6),
        ("frames_repeated_total", 7),
        ("placeholders_total", 8),
        ("frames_written_total", 100),
        ("frames_unsent_total", 5),
        ("source_reconnects_total", 2),
        ("sink_reconnects_total", 1),
        ("source_damaged_total", 2),
        ("camera_restarts_total", 3),
        ("cpu_seconds_total", 12.5),
        ("memory_bytes", 1 << 28),
        ("queue_frames", 1),
        ("frame_age_seconds", 0.2),
        ("people", 2),
        ("ready", 1),
        ("latency_seconds_count", 100),
        ("latency_seconds_sum", 11.0),
    ):
        assert values[f"streamdeid_{name}", "door"] == value, name
    assert values["streamdeid_faces_total", "door", "own face"] == 200
    assert values["streamdeid_latency_seconds_bucket", "door", "0.1"] == 50
    assert values["streamdeid_latency_seconds_bucket", "door", "+Inf"] == 100
    assert values["streamdeid_camera_state", "yard", "degraded"] == 1
    assert values["streamdeid_camera_state", "yard", "live"] == 0
    assert ("streamdeid_frame_age_seconds", "yard") in values and ("streamdeid_people", "yard") not in values
    assert [key for key in values if key[0] == "streamdeid_camera_node"] == [("streamdeid_camera_node", "yard", "pi-3")]
    assert values["streamdeid_reloads_total", "refused"] == 2
    assert any(name[0] == "streamdeid_build_info" for name in values)


def test_the_page_gets_each_camera(here: Visitor) -> None:
    door, yard = json.loads(here.ask("/api/cameras")[2])["cameras"]
    assert (door["latency_p50"], door["latency_p95"], door["size"], door["rate"]) == (0.1, 0.145, [640, 480], 14.5)
    assert (yard["state"], yard["people"], yard["latency_p50"], yard["size"]) == ("degraded", None, None, None)
    assert (door["node"], yard["node"]) == (None, "pi-3")


def test_the_page_needs_nothing_from_elsewhere(here: Visitor) -> None:
    for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
        code, headers, body = here.ask(path)
        assert code == 200 and headers["Content-Type"].startswith(kind)
        assert b"http://" not in body and b"https://" not in body and b"style=" not in body and b"onclick" not in body


@pytest.mark.parametrize("path", ["/", "/healthz", "/metrics", "/cameras/door/preview.jpg", "/nowhere", "/readyz"])
def test_security_headers_are_on_every_answer(here: Visitor, path: str) -> None:
    headers = here.ask(path)[1]
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store" and headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Referrer-Policy"] == "no-referrer" and "server" not in headers


def test_pictures(here: Visitor) -> None:
    for path in ("/cameras/door/preview.jpg", "/cameras/door/snapshot.jpg"):
        code, headers, body = here.ask(path)
        assert (code, body, headers["Content-Type"]) == (200, PICTURE, "image/jpeg")
    assert here.ask("/cameras/door/snapshot.jpg", "POST")[0] == 200
    assert here.ask("/cameras/door/snapshot.jpg")[1]["Content-Disposition"] == 'attachment; filename="door.jpg"'
    for name in ("preview.jpg", "snapshot.jpg"):
        assert here.ask(f"/cameras/yard/{name}")[0] == 503
        assert here.ask(f"/cameras/nobody/{name}")[0] == 404
    assert here.ask("/cameras/nobody/stream.mjpeg")[0] == 404
    assert here.ask("/cameras/door/stream.mjpeg", "HEAD")[0] == 200
    assert here.ask("/cameras/../../etc/passwd")[0] == 404
    assert here.ask("/cameras/door/preview.jpg", "POST")[0] == 405


def test_streams_are_pictures_one_after_the_other_for_so_many_viewers(here: Visitor) -> None:
    with contextlib.ExitStack() as opened:
        for viewer in range(MOST_VIEWERS + 1):
            connection = http.client.HTTPConnection("127.0.0.1", here.port, timeout=PATIENCE)
            opened.callback(connection.close)
            connection.request("GET", "/cameras/door/stream.mjpeg")
            answer = opened.enter_context(contextlib.closing(connection.getresponse()))
            assert answer.status == (200 if viewer < MOST_VIEWERS else 503)
            if viewer < MOST_VIEWERS:
                kind = answer.headers["Content-Type"]
                assert kind.startswith("multipart/x-mixed-replace; boundary=")
                part = b"--" + kind.partition("boundary=")[2].encode() + b"\r\n"
                part += b"Content-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(PICTURE) + PICTURE + b"\r\n"
                assert answer.read(2 * len(part)) == 2 * part
    for _ in range(100):  # those that left make room
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", here.port, timeout=PATIENCE)) as connection:
            connection.request("GET", "/cameras/door/stream.mjpeg")
            with contextlib.closing(connection.getresponse()) as answer:
                if answer.status == 200:
                    return
    raise AssertionError("the viewers are still counted")


def _parts(answer: http.client.HTTPResponse, count: int) -> list[bytes]:
    """The next pictures of a stream."""
    found: list[bytes] = []
    while len(found) < count:
        while not (line := answer.readline()).startswith(b"Content-Length: "):
            assert line, "the stream ended"
        answer.readline()
        found.append(answer.read(int(line.split()[1])))
    return found


def test_a_stream_says_when_there_is_no_picture_and_lives_on_over_new_settings() -> None:
    """A browser shows the last picture for ever: it must not be one of the scene. A new camera counts from 1 again."""
    service = Service(DOOR)
    with served(HttpSettings(port=0), service=service) as visitor, contextlib.ExitStack() as opened:
        connection = http.client.HTTPConnection("127.0.0.1", visitor.port, timeout=PATIENCE)
        opened.callback(connection.close)
        connection.request("GET", "/cameras/door/stream.mjpeg")
        answer = opened.enter_context(contextlib.closing(connection.getresponse()))
        assert _parts(answer, 3) == [PICTURE] * 3
        service.cameras = {"door": Shown(YARD, None)}
        while (data := _parts(answer, 1)[0]) == PICTURE:
            pass
        placeholder = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        assert placeholder.shape == (480, 640, 3) and np.ptp(placeholder, axis=2).max() < 16 and placeholder.max() > 150
        service.cameras = {"door": Shown(DOOR, PICTURE + b"new")}
        assert _parts(answer, 2) == [PICTURE + b"new"] * 2
        service.cameras = {}
        while (last := _parts(answer, 1)[0]) == PICTURE + b"new":
            pass
        assert last == data


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: local", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nG"]
)
def test_who_never_finishes_a_request_is_cut_off(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(web_server, "PATIENCE", 0.2)
    with served(HttpSettings(port=0), DOOR) as visitor, contextlib.ExitStack() as opened:
        silent = opened.enter_context(socket.create_connection(("127.0.0.1", visitor.port), timeout=PATIENCE))
        silent.sendall(sent)
        with contextlib.suppress(ConnectionResetError):
            while silent.recv(1 << 16):
                pass


def test_who_reads_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """And makes room for another viewer; who reads is not, however long."""
    monkeypatch.setattr(web_server, "PATIENCE", 0.2)
    service = Service(DOOR)
    service.cameras["door"] = Shown(DOOR, PICTURE + bytes(1 << 20))
    request = b"GET /cameras/door/stream.mjpeg HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with served(HttpSettings(port=0), service=service) as visitor, contextlib.ExitStack() as opened:
        for _ in range(MOST_VIEWERS):
            deaf = opened.enter_context(socket.create_connection(("127.0.0.1", visitor.port), timeout=PATIENCE))
            deaf.sendall(request)
            assert deaf.recv(12) == b"HTTP/1.1 200"
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            reads = opened.enter_context(socket.create_connection(("127.0.0.1", visitor.port), timeout=PATIENCE))
            reads.sendall(request)
            if reads.recv(12) == b"HTTP/1.1 200":
                break
            reads.close()
            time.sleep(0.05)
        began = time.monotonic()
        while time.monotonic() < began + 1.0:
            assert reads.recv(1 << 20)


REQUEST = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _until_cut_off(visitor: socket.socket) -> None:
    """Wait until the server ends a connection."""
    with contextlib.suppress(ConnectionResetError):
        while visitor.recv(1 << 16):
            pass


def test_who_waits_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many connect and ask nothing, further visitors are served; who asked last, longest."""
    monkeypatch.setattr(web_server, "MOST_CONNECTIONS", 3)
    taken, bounded = threading.Semaphore(0), web_server.bounded

    def told(most: int, patience: float) -> Callable[..., H11Protocol]:
        made = bounded(most, patience)

        def protocol(**given: Any) -> H11Protocol:
            one = made(**given)
            begun = one.connection_made

            def began(transport: asyncio.Transport) -> None:
                begun(transport)
                taken.release()

            one.connection_made = began  # type: ignore[method-assign]
            return one

        return protocol

    monkeypatch.setattr(web_server, "bounded", told)
    with served(HttpSettings(port=0), DOOR) as visitor, contextlib.ExitStack() as opened:

        def connected() -> socket.socket:
            """A connection that the server has taken: the kernel alone takes one at once, in whatever order."""
            one = opened.enter_context(socket.create_connection(("127.0.0.1", visitor.port), timeout=PATIENCE))
            assert taken.acquire(timeout=PATIENCE)
            return one

        asks = connected()
        asks.sendall(REQUEST % b"/readyz")
        assert asks.recv(12) == b"HTTP/1.1 200"
        silent = [connected() for _ in range(2)]
        asks.sendall(REQUEST % b"/readyz")
        while b"HTTP/1.1 200" not in asks.recv(1 << 16):
            pass
        crowd = [connected() for _ in range(2)]
        for one in silent:
            _until_cut_off(one)
        asks.sendall(REQUEST % b"/readyz")
        while b"HTTP/1.1 200" not in asks.recv(1 << 16):
            pass
        assert visitor.ask("/healthz")[0] == 200
        _until_cut_off(crowd[0])
        for one in (crowd[1], asks):
            one.sendall(REQUEST % b"/healthz")
            while b"HTTP/1.1 200" not in one.recv(1 << 16):
                pass


def test_who_is_answered_makes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Viewers keep their streams; where there is nobody else, the newest is cut off."""
    monkeypatch.setattr(web_server, "MOST_CONNECTIONS", 3)
    with served(HttpSettings(port=0), DOOR) as visitor, contextlib.ExitStack() as opened:
        viewers = []
        for _ in range(3):
            if len(viewers) == 2:
                assert visitor.ask("/healthz")[0] == 200
            connection = http.client.HTTPConnection("127.0.0.1", visitor.port, timeout=PATIENCE)
            opened.enter_context(contextlib.closing(connection))
            connection.request("GET", "/cameras/door/stream.mjpeg")
            viewers.append(opened.enter_context(contextlib.closing(connection.getresponse())))
            assert _parts(viewers[-1], 1) == [PICTURE]
        with pytest.raises((ConnectionError, http.client.BadStatusLine)):
            visitor.ask("/healthz")
        for one in viewers:
            assert _parts(one, 2) == [PICTURE] * 2


@pytest.mark.parametrize("together", [True, False], ids=["in one piece", "after the answer"])
@pytest.mark.parametrize("broken", [b"ZZZ\r\n\r\n", b"\r\n", b"5\r\nhelloZZ\r\n"])
@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"POST", b"PUT"])
@pytest.mark.parametrize("settings", [HttpSettings(port=0), HttpSettings(port=0, token=TOKEN)], ids=["open", "locked"])
def test_a_body_that_is_no_http_writes_no_log(
    caplog: pytest.LogCaptureFixture, settings: HttpSettings, method: bytes, broken: bytes, together: bool
) -> None:
    """h11 refuses to answer such a request a second time."""
    head = method + b" /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    with served(settings, DOOR) as visitor:
        with socket.create_connection(("127.0.0.1", visitor.port), timeout=PATIENCE) as odd:
            odd.sendall(head + (broken if together else b""))
            if not together:
                assert odd.recv(9) == b"HTTP/1.1 "
                odd.sendall(broken)
            _until_cut_off(odd)
        assert visitor.ask("/healthz")[0] == (200 if settings.token is None else 401)
    gc.collect()  # a task that failed is told of when it goes
    assert not caplog.records


def test_what_is_asked_before_nonsense_is_still_answered(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing of the request is missing, so its answer goes on."""
    with served(HttpSettings(port=0), DOOR) as visitor:
        with socket.create_connection(("127.0.0.1", visitor.port), timeout=PATIENCE) as odd:
            odd.sendall(b"GET /cameras/door/stream.mjpeg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert odd.recv(12) == b"HTTP/1.1 200"
            odd.sendall(b"ZZZ\r\n\r\n")
            told = b""
            while told.count(PICTURE) < 5:
                told += odd.recv(1 << 16)
        assert visitor.ask("/healthz")[0] == 200
    gc.collect()
    assert not caplog.records


def test_localhost_that_is_elsewhere_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """/etc/hosts may say anything."""

    class Elsewhere(socket.socket):
        def getsockname(self) -> tuple[str, int]:
            return "192.0.2.1", 1

    monkeypatch.setattr(socket, "socket", Elsewhere)
    with pytest.raises(SettingsError, match=r"localhost is 192\.0\.2\.1 here, which needs a token_file"):
        HttpSettings("localhost", 0).opened()
    HttpSettings("localhost", 0, TOKEN).opened().close()


def test_a_name_that_cannot_be_one_is_said() -> None:
    with pytest.raises(SettingsError, match="cannot listen on"):
        HttpSettings("a..b", 0, TOKEN).opened()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "2130706433"])
def test_another_name_for_this_machine_is_not_served(here: Visitor, host: str) -> None:
    """DNS rebinding: a page of another site reaches loopback by a name of its own."""
    assert here.ask("/", host=host)[0] == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8090", "[::1]:8090", "[::1]"])
def test_this_machine_by_its_own_names_is(here: Visitor, host: str) -> None:
    assert here.ask("/", host=host)[0] == 200


def test_another_site_cannot_show_pictures_nor_press_buttons(here: Visitor) -> None:
    path = "/cameras/door/snapshot.jpg"
    assert here.ask(path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert here.ask(path, "POST", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 403
    assert here.ask(path, Sec_Fetch_Site="same-site", Sec_Fetch_Mode="no-cors")[0] == 403  # another port
    assert here.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200
    assert here.ask(path, "POST", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors")[0] == 200


PATHS = ["/healthz", "/readyz", "/metrics", "/api/cameras", "/cameras/door/preview.jpg", "/nowhere", "//", "/page.js/"]


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_answered(locked: Visitor, path: str) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer \xe9"},
        {"Cookie": f"streamdeid={TOKEN}; token={TOKEN}"},
        {"Cookie": f"streamdeid={hmac.new(TOKEN.encode(), b'streamdeid cookie', hashlib.sha256).hexdigest()}"},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
    ):
        code, _, body = locked.ask(path, **headers)
        assert code == 401 and TOKEN.encode() not in body
    assert locked.ask(path, Authorization=f"Bearer {TOKEN}")[0] in (200, 404)


@pytest.mark.parametrize("path", ["/", "/page.js", "/token.js", "/page.css"])
def test_the_page_is_for_everybody_and_tells_nothing(locked: Visitor, path: str) -> None:
    code, headers, body = locked.ask(path, host="cameras.example")
    assert code == 200 and "Set-Cookie" not in headers and TOKEN.encode() not in body and b"door" not in body
    assert locked.ask(path, "POST")[0] == 401


@pytest.mark.parametrize("path", [*PATHS, "/"])
@pytest.mark.parametrize("token", [TOKEN, "wrong", ""])
def test_a_token_in_the_address_is_not_taken(locked: Visitor, path: str, token: str) -> None:
    """It would be kept in histories, and in the logs of proxies. Right or wrong, the answer is the same."""
    for headers in ({}, {"Authorization": f"Bearer {TOKEN}"}):
        code, told, body = locked.ask(f"{path}?a=1&token={token}", **headers)
        assert code == 400 and b"not taken in an address" in body
        assert TOKEN not in str(told) and TOKEN.encode() not in body and "Set-Cookie" not in told


def _basic(pair: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def test_the_token_as_a_password_is_enough_to_look(locked: Visitor) -> None:
    """As Home Assistant's generic camera asks: at once, and without following a redirection."""
    code, headers, body = locked.ask("/cameras/door/snapshot.jpg", host="cameras.example", **_basic(f"ha:{TOKEN}"))
    assert (code, headers["Content-Type"], body) == (200, "image/jpeg", PICTURE)
    assert "Set-Cookie" not in headers
    assert locked.ask("/metrics", **_basic(f":{TOKEN}"))[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        *(_basic(pair) for pair in (f"{TOKEN}:", TOKEN, f"ha:{TOKEN}x", f"ha:{TOKEN[:-1]}", f"ha::{TOKEN}", "ha:", "")),
        {"Authorization": "Basic"},
        {"Authorization": "Basic ="},
        {"Authorization": "Basic \xe9"},
        {"Authorization": "Basic /////w=="},
        {"Authorization": f"Basic ha:{TOKEN}"},
        {"Authorization": f"Digest username=ha, response={TOKEN}"},
    ],
)
def test_a_wrong_password_sees_nothing(locked: Visitor, headers: dict[str, str]) -> None:
    code, told, body = locked.ask("/cameras/door/snapshot.jpg", **headers)
    assert code == 401 and PICTURE not in body
    assert told["WWW-Authenticate"].startswith("Bearer")  # a browser must not ask for a password and keep it


def test_a_password_changes_nothing() -> None:
    """It is for looking, and never for pages that hold more than filtered pictures."""
    with served(HttpSettings(port=0, token=TOKEN), DOOR) as visitor:
        assert visitor.ask("/cameras/door/snapshot.jpg", "POST", **_basic(f"ha:{TOKEN}"))[0] == 401
    with served(HttpSettings(port=0, token=TOKEN, own_pages_only=True), DOOR) as desk:
        assert desk.ask("/cameras/door/snapshot.jpg", **_basic(f"ha:{TOKEN}"))[0] == 401
        assert desk.ask("/cameras/door/snapshot.jpg", Authorization=f"Bearer {TOKEN}")[0] == 200


def test_the_server_says_nothing(locked: Visitor, capfd: pytest.CaptureFixture[str]) -> None:
    locked.ask(f"/?token={TOKEN}")
    locked.ask("/?token=wrong")
    assert capfd.readouterr() == ("", "")
