"""The S3 stand-in fails what it is told to fail, in each of its ways."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from benchmarks.cluster.store import _COUNTS, _Failing

_BODY = b"what was stored"


class Server:
    """Counts what it did."""

    def __init__(self, share: float) -> None:
        self.done = 0
        self.failing = _Failing(self._answer, share, seed=2)

    def _answer(self, environ: Any, start: Any) -> Iterable[bytes]:
        self.done += 1
        start("200 OK", [("Content-Length", str(len(_BODY)))])
        return [_BODY]

    def ask(self, path: str = "/archive/in") -> tuple[str, bytes]:
        """Status and body. Raises ConnectionAbortedError where the connection would break off."""
        told: list[str] = []
        body = b"".join(self.failing({"PATH_INFO": path}, lambda status, headers: told.append(status)))  # type: ignore[arg-type, return-value, func-returns-value]
        return told[0][:3], body


def test_nothing_fails_unless_asked_for() -> None:
    server = Server(0.0)
    assert {server.ask() for _ in range(50)} == {("200", _BODY)} and server.done == 50


def test_it_fails_in_each_way_as_often_as_asked_for() -> None:
    server = Server(0.3)
    refused = broken = answered = cut = 0
    for _ in range(1000):
        before = server.done
        try:
            status, body = server.ask()
        except ConnectionAbortedError:
            cut += 1
            assert server.done == before + 1
            continue
        refused += status == "503" and server.done == before
        broken += status == "500" and server.done == before + 1
        answered += (status, body) == ("200", _BODY)
    assert refused + broken + answered + cut == 1000
    assert all(60 < count < 140 for count in (refused, broken, cut)) and answered == pytest.approx(700, abs=60)
    counts = json.loads(server.ask(_COUNTS)[1])
    assert counts == {"answered": answered, "refused": refused, "done all the same": broken, "broken off": cut}
