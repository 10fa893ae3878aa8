"""An S3 server on this machine (moto), in a process of its own, that fails a share of what it is asked for."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

_COMMAND = "from benchmarks.cluster.store import serve; serve()"
_COUNTS = "/injected-errors"
_BUSY = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_BROKEN = b"<?xml version='1.0'?><Error><Code>InternalError</Code><Message>We had an internal error.</Message></Error>"

App = Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]


@contextlib.contextmanager
def s3_stand_in(share: float = 0.0, seed: int = 1) -> Iterator[dict[str, str]]:
    """Start a server that fails this share of requests; the environment variables that lead to it."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _COMMAND, str(share), str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            yield {
                "AWS_ENDPOINT_URL": address,
                "AWS_ACCESS_KEY_ID": "nobody",
                "AWS_SECRET_ACCESS_KEY": "a-secret-of-nobody",
                "AWS_DEFAULT_REGION": "us-east-1",
            }
        finally:
            process.terminate()


def injected(environment: dict[str, str]) -> dict[str, int]:
    """How many requests the server answered, and failed in each way."""
    with urllib.request.urlopen(environment["AWS_ENDPOINT_URL"] + _COUNTS) as answer:
        counts: dict[str, int] = json.load(answer)
    return counts


def serve() -> None:
    """Serve until the process is ended; the program of the process."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    share, seed = float(sys.argv[1]), int(sys.argv[2])
    app = _Failing(DomainDispatcherApplication(create_backend_app), share, seed)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


class _Failing:
    """Fails some requests: refuses them, does what they ask and says it did not, or breaks off in the middle."""

    def __init__(self, app: App, share: float, seed: int) -> None:
        self._app, self._share, self._rng = app, share, random.Random(seed)
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == _COUNTS:
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(self._counts).encode()]
        with self._lock:
            kinds = ("refused", "done all the same", "broken off")
            kind = self._rng.choice(kinds) if self._rng.random() < self._share else "answered"
            self._counts[kind] += 1
        if kind == "refused":
            start("503 Slow Down", [("Content-Type", "application/xml")])
            return [_BUSY]
        if kind == "answered":
            return self._app(environ, start)
        told: list[Any] = []
        body = b"".join(self._app(environ, lambda *words: told.extend(words)))  # type: ignore[arg-type,return-value]
        if kind == "done all the same":
            start("500 Internal Server Error", [("Content-Type", "application/xml")])
            return [_BROKEN]
        start(told[0], told[1])
        return self._half(body)

    @staticmethod
    def _half(body: bytes) -> Iterator[bytes]:
        yield body[: len(body) // 2]
        raise ConnectionAbortedError("broken off on purpose")
