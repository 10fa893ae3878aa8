"""The options of `streamdeid filter` that are for live streams only."""

from __future__ import annotations

import argparse

from streamdeid.cli.error_text import UsageError
from streamdeid.core.addresses import is_address
from streamdeid.video.live.settings import MOST_REPEAT, STDOUT_FORMATS, TRANSPORTS, LiveSettings

_NAMES = (
    "transport",
    "publish_transport",
    "open_timeout",
    "read_timeout",
    "send_timeout",
    "keep_trying",
    "realtime",
    "loop",
    "key_interval",
    "repeat",
    "rotate",
    "keep_files",
    "stdout_format",
)
_FILES_ONLY = ("tolerant", "no_audio", "keep_metadata", "report")


def add_live_options(parser: argparse.ArgumentParser) -> None:
    """Declare them; what is not given is None, so that it can be told whether they mean anything."""
    default = LiveSettings()
    live = parser.add_argument_group(
        "live streams (INPUT is an address, a camera's device, or a file with --realtime; OUTPUT is an rtsp:// "
        "address, - for standard output, NAME.m3u8, or a file; there is no sound)"
    )

    def add(name: str, kind: type, metavar: str, text: str) -> None:
        live.add_argument(f"--{name}", type=kind, metavar=metavar, help=text)

    def flag(name: str, text: str) -> None:
        live.add_argument(f"--{name}", action="store_true", default=None, help=text)

    flag("realtime", "replay a file at its own pace, as if it were a camera")
    flag("loop", "begin such a file anew at its end")
    flag("keep-trying", "try again, too, when camera or server cannot be opened at the start")
    both = " or ".join(TRANSPORTS)
    add("transport", str, "T", f"how an RTSP camera sends: {both} ({default.transport})")
    add("publish-transport", str, "T", f"how the filtered stream is sent: {both} ({default.publish_transport})")
    add("open-timeout", float, "S", f"seconds for opening camera or server, 0.5 to 60 ({default.open_timeout:g})")
    add("read-timeout", float, "S", f"seconds without a picture after which it is lost ({default.read_timeout:g})")
    add("send-timeout", float, "S", f"seconds after which a stuck receiver is given up ({default.send_timeout:g})")
    add("key-interval", float, "S", f"seconds between key frames of the output ({default.key_interval:g})")
    add("repeat", float, "S", f"seconds, at most {MOST_REPEAT:g}, for which a frame is repeated ({default.repeat:g})")
    add("rotate", float, "S", "seconds after which a new output file begins; its name may hold %%Y%%m%%d-%%H%%M%%S")
    add("keep-files", int, "N", "rotated files of such names to keep; older ones are deleted (all)")
    add("stdout-format", str, "F", f"{' or '.join(STDOUT_FORMATS)}, for OUTPUT - ({default.stdout_format})")


def live_settings_of(arguments: argparse.Namespace) -> LiveSettings:
    """Settings from the options. Raises SettingsError, also for an option that means nothing to a live stream."""
    for name in _FILES_ONLY:
        if getattr(arguments, name):
            raise UsageError(f"--{name.replace('_', '-')} means nothing to a live stream")
    given = {name: getattr(arguments, name) for name in _NAMES}
    return LiveSettings(**{name: value for name, value in given.items() if value is not None})


def refuse_idle_options(arguments: argparse.Namespace, source: str, output: str) -> None:
    """Raise UsageError when an option was given that means nothing to this input or this output."""
    rtsp = source.lower().startswith(("rtsp:", "rtsps:"))
    file = output != "-" and not is_address(output) and not output.lower().endswith(".m3u8")
    for name, means, where in (
        ("transport", rtsp, "an RTSP camera"),
        ("publish_transport", is_address(output), "an output that is published to a server"),
        ("stdout_format", output == "-", "OUTPUT -"),
        ("rotate", file, "an output file"),
        ("keep_files", file, "an output file"),
    ):
        if getattr(arguments, name) is not None and not means:
            raise UsageError(f"--{name.replace('_', '-')} is for {where}")


def refuse_live_options(arguments: argparse.Namespace) -> None:
    """Raise UsageError when one of them was given for a run over files."""
    for name in _NAMES:
        if getattr(arguments, name) is not None:
            hint = "; add --realtime to replay a file as if it were a camera" if name != "realtime" else ""
            raise UsageError(f"--{name.replace('_', '-')} is for live streams{hint}")
