"""The options of `streamdeid filter` that are for live streams only."""

from __future__ import annotations

import argparse

from streamdeid.cli.error_text import UsageError
from streamdeid.core.addresses import is_address
from streamdeid.core.settings_table import given, table
from streamdeid.runs.profiles import profile_of
from streamdeid.settings import FILES, Settings
from streamdeid.video.live.settings import LiveSettings

_NAMES = tuple(table(LiveSettings))
_FILES_ONLY = (
    *(name for name, one in table(Settings).items() if one.group == FILES and not one.camera),
    "report",
    "analysis",
    "edits",
)
"""Options that have no meaning for a live run."""


def live_settings_of(arguments: argparse.Namespace) -> LiveSettings:
    """Live settings from the options. Raises SettingsError, also for an option that a live stream cannot use."""
    for name in _FILES_ONLY:
        if getattr(arguments, name) not in (None, False):
            flag = table(Settings)[name].flag if name in table(Settings) else f"--{name}"
            raise UsageError(f"{flag} means nothing to a live stream")
    return LiveSettings(**{**profile_of(arguments.profile).live, **given(arguments, LiveSettings)})


def refuse_idle_options(arguments: argparse.Namespace, source: str, output: str) -> None:
    """Raise UsageError if an option was given that this input or this output cannot use."""
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
    """Raise UsageError if an option for live streams was given for a run over files."""
    for name in _NAMES:
        if getattr(arguments, name) is not None:
            hint = "; add --realtime to replay a file as if it were a camera" if name != "realtime" else ""
            raise UsageError(f"--{name.replace('_', '-')} is for live streams{hint}")
