"""A camera's address leads where it says, over the network: no answer of a server opens a file of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from streamdeid.video.live.camera import CameraConnection, ConnectionLost
from tests.synthetic_video import encode


class _Server:
    """Answers /in with what a test puts there, anything else with a video."""

    def __init__(self, video: bytes) -> None:
        self.location: str | None = None
        self.body = b""
        self.asked: list[str] = []
        outer = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                if self.path == "/in" and outer.location is not None:
                    self.send_response(302)
                    self.send_header("Location", outer.location)
                    self.end_headers()
                    return
                body = outer.body if self.path == "/in" else video
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: object) -> None:
                """Say nothing."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.address = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[_Server]:
    given = _Server(encode(tmp_path / "secret.ts", frames=40).read_bytes())
    thread = threading.Thread(target=given.http.serve_forever, args=(0.05,))
    thread.start()
    yield given
    given.http.shutdown()
    thread.join()
    given.http.server_close()


def opened(server: _Server) -> int:
    """How many pictures come from /in."""
    camera = CameraConnection(f"{server.address}/in", "tcp", 10.0, 10.0, file=False)
    count = sum(len(camera.read()) for _ in range(10))
    camera.close()
    return count


_PLACES = ["file://{}", "file:{}", "concat:{}", "subfile,,start,0,end,0,,:{}", "crypto:{}", "tcp://127.0.0.1:9"]


@pytest.mark.parametrize("place", _PLACES)
def test_a_redirect_opens_no_file(place: str, server: _Server, tmp_path: Path) -> None:
    server.location = place.format(tmp_path / "secret.ts")
    with pytest.raises(ConnectionLost, match=r"^it is not a video stream$"):
        opened(server)
    assert server.asked == ["/in"]


@pytest.mark.parametrize("place", [*_PLACES, "/other"])
@pytest.mark.parametrize(
    "script",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile {}\n",
        '<?xml version="1.0"?><MPD><Period><AdaptationSet><Representation id="1"><BaseURL>{}</BaseURL>'
        "</Representation></AdaptationSet></Period></MPD>",
    ],
)
def test_a_playlist_or_script_is_no_video(script: str, place: str, server: _Server, tmp_path: Path) -> None:
    server.body = script.format(place.format(tmp_path / "secret.ts")).encode()
    with pytest.raises(ConnectionLost, match=r"^it is not a video stream$"):
        opened(server)
    assert server.asked == ["/in"]


def test_a_redirect_within_the_network_is_followed(server: _Server) -> None:
    server.location = f"{server.address}/other"
    assert opened(server) > 0
    assert server.asked == ["/in", "/other"]
