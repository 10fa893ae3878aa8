"""Settings of a live run beside those of the filter: connections, deadlines, what is written."""

from __future__ import annotations

import math
from dataclasses import dataclass

from streamdeid.errors import SettingsError

TRANSPORTS = ("tcp", "udp")
STDOUT_FORMATS = ("mpegts", "matroska")
MOST_REPEAT = 2.0
"""Seconds for which a filtered frame may be repeated at most (DESIGN section 4)."""


@dataclass(frozen=True)
class LiveSettings:
    """Everything a live run depends on besides `Settings`. Raises SettingsError, one line, for a value out of range."""

    transport: str = "tcp"
    """How an RTSP camera sends, one of `TRANSPORTS`."""
    publish_transport: str = "tcp"
    """How the filtered stream is sent to an RTSP server, one of `TRANSPORTS`."""
    open_timeout: float = 3.0
    """Seconds that opening a camera or a server may take; 0.5 to 60."""
    read_timeout: float = 3.0
    """Seconds without data or without a picture after which a camera is lost; 0.5 to 60."""
    send_timeout: float = 3.0
    """Seconds after which a receiver that takes nothing is given up; 0.5 to 60."""
    keep_trying: bool = False
    """Whether a camera or a server that cannot be opened at the start is tried again, as it is later in any case."""
    realtime: bool = False
    """Whether the input is a file that is replayed at its own pace."""
    loop: bool = False
    """Whether such a file begins anew at its end."""
    key_interval: float = 2.0
    """Seconds between key frames of the output; 0.2 to 60."""
    repeat: float = MOST_REPEAT
    """Seconds for which the last filtered frame is repeated before the slate comes; 0 to `MOST_REPEAT`."""
    rotate: float | None = None
    """Seconds after which a new output file begins, 1 to 604800; None: never."""
    keep_files: int | None = None
    """Rotated files that are kept, 1 to 100000; older ones are deleted, of earlier runs too
    where their names fit. None: all."""
    stdout_format: str = "mpegts"
    """What standard output carries, one of `STDOUT_FORMATS`."""

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("transport", self.transport, TRANSPORTS),
            ("publish-transport", self.publish_transport, TRANSPORTS),
            ("stdout-format", self.stdout_format, STDOUT_FORMATS),
        ):
            if value not in choices:
                raise SettingsError(f"unknown {name} {value!r}; choose one of {', '.join(choices)}")
        _check("open-timeout", self.open_timeout, 0.5, 60)
        _check("read-timeout", self.read_timeout, 0.5, 60)
        _check("send-timeout", self.send_timeout, 0.5, 60)
        _check("key-interval", self.key_interval, 0.2, 60)
        _check("repeat", self.repeat, 0, MOST_REPEAT)
        if self.loop and not self.realtime:
            raise SettingsError("loop is for a file that is replayed with realtime")
        if self.rotate is not None:
            _check("rotate", self.rotate, 1, 604800)
        if self.keep_files is not None:
            if self.rotate is None:
                raise SettingsError("keep-files needs rotate")
            if not 1 <= self.keep_files <= 100000:
                raise SettingsError(f"keep-files must be from 1 to 100000, not {self.keep_files}")


def _check(name: str, value: float, least: float, most: float) -> None:
    if not (math.isfinite(value) and least <= value <= most):
        raise SettingsError(f"{name} must be from {least:g} to {most:g} seconds, not {value:g}")
