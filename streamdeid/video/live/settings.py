"""Settings of a live run in addition to those of the filter: connections, deadlines, outputs."""

from __future__ import annotations

from dataclasses import dataclass

from streamdeid.core.settings_table import check, setting
from streamdeid.errors import SettingsError

TRANSPORTS = ("tcp", "udp")
STDOUT_FORMATS = ("mpegts", "matroska")
LIVE = "live"
"""The group of these settings."""
_TIMEOUT = {"metavar": "S", "least": 0.5, "most": 60.0, "unit": "seconds"}


@dataclass(frozen=True)
class LiveSettings:
    """Everything that a live run depends on besides `Settings`; docs/settings.md describes each setting.

    Raises SettingsError, one line, for a value that is not allowed."""

    realtime: bool = setting(False, "replay a file at its own pace, as if it were a camera", LIVE, camera=False)
    loop: bool = setting(False, "begin such a file anew at its end", LIVE)
    keep_trying: bool = setting(
        False, "try again, too, when camera or server cannot be opened at the start", LIVE, camera=False
    )
    transport: str = setting("tcp", "how an RTSP camera sends", LIVE, metavar="T", choices=TRANSPORTS)
    publish_transport: str = setting(
        "tcp", "how the filtered stream is sent to an RTSP server", LIVE, metavar="T", choices=TRANSPORTS
    )
    open_timeout: float = setting(3.0, "time that opening a camera or a server may take", LIVE, **_TIMEOUT)
    read_timeout: float = setting(3.0, "time without a picture after which a camera is lost", LIVE, **_TIMEOUT)
    send_timeout: float = setting(3.0, "time after which a receiver that takes nothing is given up", LIVE, **_TIMEOUT)
    key_interval: float = setting(
        2.0, "time between key frames of the output", LIVE, metavar="S", least=0.2, most=60.0, unit="seconds"
    )
    repeat: float = setting(
        2.0, "time for which the last filtered frame is repeated before the placeholder comes", LIVE, metavar="S",
        least=0.0, most=2.0, unit="seconds",
    )  # fmt: skip
    rotate: float | None = setting(
        None, "time after which a new output file begins; its name may hold %Y%m%d-%H%M%S", LIVE, metavar="S",
        least=1.0, most=604_800.0, unit="seconds", shown="never",
    )  # fmt: skip
    keep_files: int | None = setting(
        None, "rotated files of such names to keep; older ones are deleted, of earlier runs too", LIVE, metavar="N",
        least=1, most=100_000, shown="all",
    )  # fmt: skip
    most_rate: float | None = setting(
        None, "frames per second that are filtered; what a camera sends beyond is left out, evenly, and never shown",
        LIVE, metavar="N", least=1.0, most=240.0, shown="all",
    )  # fmt: skip
    most_lines: int | None = setting(
        None, "pixels of the picture's shorter side; larger pictures are made smaller before they are filtered, and "
        "other settings in pixels mean the smaller picture", LIVE, metavar="N", least=120, most=4320,
        shown="as it comes",
    )  # fmt: skip
    stdout_format: str = setting(
        "mpegts", "what OUTPUT - carries", LIVE, metavar="F", choices=STDOUT_FORMATS, camera=False
    )

    def __post_init__(self) -> None:
        check(self)
        if self.loop and not self.realtime:
            raise SettingsError("loop is for a file that is replayed with realtime")
        if self.keep_files is not None and self.rotate is None:
            raise SettingsError("keep-files needs rotate")
