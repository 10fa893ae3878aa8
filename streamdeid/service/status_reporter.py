"""Writes and reads a camera's status as a line of JSON, and adds up the statuses of one camera's processes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, cast

from streamdeid.core.status import LATENCY_BOUNDS, LiveStatus, SinkState, SourceState

_COUNTED = ("filtered", "withheld", "repeated", "placeholders", "latency_sum", "cpu_seconds")
_SOURCE_COUNTED = ("connections", "frames", "dropped", "spared", "damaged")
_SINK_COUNTED = ("openings", "written", "unsent")


def status_line(status: LiveStatus) -> bytes:
    """The status as one line of JSON."""
    return json.dumps({"status": asdict(status)}, separators=(",", ":")).encode() + b"\n"


def read_status(table: object) -> LiveStatus:
    """The status in a line's table. Raises ValueError for other data, because the other process is not trusted."""
    given = _table(table, LiveStatus)
    source = SourceState(**_plain(_table(given.pop("source"), SourceState), SourceState))
    sink = SinkState(**_plain(_table(given.pop("sink"), SinkState), SinkState))
    faces = {str(name): _count(number) for name, number in _dictionary(given.pop("faces")).items()}
    latency = tuple(_count(number) for number in _list(given.pop("latency")))
    if len(latency) != len(LATENCY_BOUNDS) + 1:
        raise ValueError("a histogram of another length")
    size = given.pop("size")
    if size is not None:
        width, height = (_count(number) for number in _list(size))
        size = width, height
    return LiveStatus(source=source, sink=sink, faces=faces, latency=latency, size=size, **_plain(given, LiveStatus))


def added(earlier: LiveStatus, now: LiveStatus) -> LiveStatus:
    """The newer status with the counters of both added; all other values are those of the newer status."""
    return replace(
        now,
        source=replace(now.source, **_sums(earlier.source, now.source, _SOURCE_COUNTED)),
        sink=replace(now.sink, **_sums(earlier.sink, now.sink, _SINK_COUNTED)),
        faces=dict(sorted((Counter(earlier.faces) + Counter(now.faces)).items())),
        latency=tuple(a + b for a, b in zip(earlier.latency, now.latency, strict=True)),
        **_sums(earlier, now, _COUNTED),
    )


def never_back(before: LiveStatus, now: LiveStatus) -> LiveStatus:
    """The newer status of one process, whose CPU time must not fall when its encoder is replaced."""
    return replace(now, cpu_seconds=max(before.cpu_seconds, now.cpu_seconds))


def _sums(earlier: object, now: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(earlier, name) + getattr(now, name) for name in names}


def _table(value: object, kind: type) -> dict[str, Any]:
    given = dict(_dictionary(value))
    if given.keys() != {field.name for field in fields(kind)}:
        raise ValueError(f"no {kind.__name__}")
    return given


def _dictionary(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("no table")
    return cast(Mapping[str, Any], value)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("no list")
    return value


def _plain(values: dict[str, Any], kind: type) -> dict[str, Any]:
    """The checked values: each has the type of the dataclass's default; numbers are finite and not below 0.

    Raises ValueError for other values.
    """
    for name, value in values.items():
        default = getattr(kind(), name)
        if isinstance(value, int | float) and not 0 <= value < float("inf"):
            raise ValueError("no number of a status")
        if default is None:
            fits = value is None or isinstance(value, int | float | str)
        else:
            fits = type(value) is type(default) or (type(default) is float and type(value) is int)
        if not fits:
            raise ValueError("no value of a status")
    return values


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("no count")
    return value
