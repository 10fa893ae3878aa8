"""One camera of the service: its source, its output, and all its settings, checked.

A camera is read twice from the same table: by the service, which reports errors in it, and by the camera's own process,
which gets the table over a pipe.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from streamdeid.core.addresses import checked_source, checked_target, is_address, is_device
from streamdeid.core.settings_table import table
from streamdeid.errors import SettingsError
from streamdeid.runs.profiles import profile_of
from streamdeid.service.toml_values import Table, check_names, text, value
from streamdeid.settings import OF_FACES, Settings
from streamdeid.video.live.settings import LiveSettings

FILTER = {name: one for name, one in table(Settings).items() if one.camera}
"""The settings of the filter that apply to a camera; the others are for files."""
LIVE = {name: one for name, one in table(LiveSettings).items() if one.camera}
"""The settings of a live run that apply to a camera. The service has no standard output; it tries again without end and
replays a file at the file's own pace."""
PROFILE = "profile"
"""The setting that names a profile; values that are given replace those of the profile."""
KEY = "key"
"""The setting that names a key; the service generates this key and keeps it in memory, for all cameras that name it."""
CHOICES = (*FILTER, *LIVE, KEY, PROFILE)
"""The settings that a camera, or the defaults of all cameras, may have."""
LOOKAHEAD = 0.0
"""Seconds of look-ahead of a camera that sets none: look-ahead would add to its latency."""
PLAYLIST = ".m3u8"
_NAME = re.compile(r"[a-z0-9_-]{1,40}")


@dataclass(frozen=True)
class Camera:
    """A camera with checked settings, as its process runs it. Addresses hold passwords and are not shown."""

    name: str
    source: str = field(repr=False)
    output: str = field(repr=False)
    settings: Settings
    live: LiveSettings
    group: str | None
    """Name of the shared key; None: the key of its key file, or a key of its own, new at each start."""
    table: Table = field(repr=False)
    """The table that the camera was read from, fit for JSON: a process that gets it reads the same camera."""

    @property
    def target(self) -> str:
        """The output in a unique spelling, without a password: two cameras must not have the same output."""
        return _place(self.output)


def read_camera(given: Table) -> Camera:
    """Read a camera from a table with absolute paths. Raises SettingsError with the camera's name."""
    name = given.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingsError("a camera needs a name of 1 to 40 small letters, digits, _ and -")
    try:
        return _camera(name, given)
    except SettingsError as error:
        raise SettingsError(f"camera {name}: {error}") from None


def _camera(name: str, given: Table) -> Camera:
    check_names(given, ("name", "source", "output", *CHOICES))
    for needed in ("source", "output"):
        if needed not in given:
            raise SettingsError(f"{needed} is missing")
    source, output = text("source", given["source"]), text("output", given["output"])
    if is_address(source):
        checked_source(source)
    if is_address(output):
        checked_target(output)
    if output == "-":
        raise SettingsError("output cannot be standard output, which the service does not have")
    if _place(source) == _place(output):
        raise SettingsError("source and output are the same")
    group = text(KEY, given[KEY]) if KEY in given else None
    if group is not None and not _NAME.fullmatch(group):
        raise SettingsError(f"{KEY} is a name of 1 to 40 small letters, digits, _ and -; it names a key, it is none")
    if group is not None and "key_file" in given:
        raise SettingsError(f"choose {KEY} or key_file, not both")
    profile = profile_of(text(PROFILE, given[PROFILE]) if PROFILE in given else None)
    chosen = {each: value(one, given[each]) for each, one in FILTER.items() if each in given}
    if output.endswith(PLAYLIST):
        chosen["overwrite"] = True  # a playlist is written anew at each start, and holds no recording
    settings = Settings(**{"lookahead": LOOKAHEAD, **profile.settings, **chosen})
    unused = settings.unused(given) + [KEY] * (KEY in given and not settings.synthesises)
    if unused:
        raise SettingsError(f"{unused[0]} means nothing to the method {settings.method}")
    kept = is_address(output) or "rotate" in given or "%" in Path(output).name or settings.overwrite
    if not kept:
        raise SettingsError(
            "the output file would be in the way at the next start: set rotate, put %Y%m%d-%H%M%S into its name, "
            "or set overwrite"
        )
    live = {each: value(one, given[each]) for each, one in LIVE.items() if each in given}
    replayed = not is_address(source) and not is_device(source)
    if live.get("loop") and not replayed:
        raise SettingsError("loop is for a file that is replayed")
    lively = LiveSettings(**{**profile.live, **live, "keep_trying": True, "realtime": replayed})
    settings.check_lines(lively.most_lines)
    return Camera(name, source, output, settings, lively, group, given)


def unused_by(method: object) -> tuple[str, ...]:
    """Names of the defaults that do not apply to a camera with this method."""
    settings = Settings(method=text("method", method))
    return (*settings.unused(OF_FACES), *([] if settings.synthesises else [KEY]))


def _place(target: str) -> str:
    """A unique spelling for a place: an address without user, password and query, or a file's real path."""
    if not is_address(target):
        return os.path.realpath(Path(target))
    parts = urlsplit(target)
    port = parts.port or {"rtsp": 554, "rtsps": 322}.get(parts.scheme.lower())
    return f"{parts.scheme.lower()}://{(parts.hostname or '').lower()}:{port}{parts.path.rstrip('/')}"
