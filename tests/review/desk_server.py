"""A desk that serves in a thread, and who asks it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.review.app import Open
from streamdeid.review.serving import serve_desk


class Page:
    """Asks a desk as its own page does."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.port = int(address.split(":")[2].split("/")[0])
        self.token = address.partition("#token=")[2]

    def ask(self, path: str, method: str = "GET", body: Any = None, **headers: str | None) -> tuple[int, Any, bytes]:
        """Status, headers and body. headers: in place of the page's own; None for one that is left out."""
        given: dict[str, str | None] = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, path, data, {name: one for name, one in given.items() if one is not None})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def state(self) -> dict[str, Any]:
        """The desk's state."""
        return dict(json.loads(self.ask("/state")[2]))

    def post(self, path: str, body: Any = None) -> dict[str, Any]:
        """What an edit that is taken tells."""
        status, _, told = self.ask(path, "POST", body)
        assert status == 200, told
        return dict(json.loads(told))

    def refused(self, path: str, body: Any) -> str:
        """Why an edit is refused."""
        status, _, told = self.ask(path, "POST", body)
        assert status == 422, (status, told)
        return str(json.loads(told)["wrong"])

    def picture(self, path: str) -> NDArray[np.uint8]:
        """A picture, BGR uint8 (h, w, 3)."""
        status, headers, data = self.ask(path)
        assert status == 200 and headers["Content-Type"] == "image/jpeg" and headers["Cache-Control"] == "no-store"
        return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), np.uint8)


@contextlib.contextmanager
def serving(read: Callable[[], Open]) -> Iterator[Page]:
    """Serve a desk until the block ends."""
    began = threading.Event()
    addresses: list[str] = []
    results: list[int] = []

    def ready(address: str) -> None:
        addresses.append(address)
        began.set()

    def run() -> None:
        results.append(asyncio.run(serve_desk(0, read, ready, ())))

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(10)
    page = Page(addresses[0])
    try:
        yield page
    finally:
        with contextlib.suppress(OSError):  # a test may have finished it
            page.ask("/finish", "POST")
        thread.join(10)
    assert not thread.is_alive() and results == [0]
