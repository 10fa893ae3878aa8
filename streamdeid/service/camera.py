"""One camera of the service: where it comes from, where it goes, and every setting, checked.

A camera is read twice from the same table: by the service, which says what is wrong with it, and by the camera's own
process, which gets the table over a pipe.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from streamdeid.core.addresses import checked_source, checked_target, is_address, is_device
from streamdeid.errors import SettingsError
from streamdeid.service.toml_values import Table, check_names, number, path, paths, regions, text, texts, truth, whole
from streamdeid.settings import Settings, attributes_of
from streamdeid.video.live.settings import LiveSettings

Reader = Callable[[str, object], Any]
FILTER: Mapping[str, Reader] = {
    "method": text,
    "k": whole,
    "q": number,
    "preserve": lambda name, value: attributes_of(texts(name, value)),
    "key_file": path,
    "transfer": text,
    "eyes": text,
    "strict": truth,
    "threshold": number,
    "min_face": number,
    "detector_interval": whole,
    "detector_deadline": number,
    "lookahead": number,
    "coast": number,
    "reentry": truth,
    "regions": regions,
    "whitelist": paths,
    "whitelist_recogniser": text,
    "whitelist_threshold": number,
    "codec": text,
    "crf": whole,
    "preset": text,
    "overwrite": truth,
    "models": path,
}
"""Fields of `Settings` that mean something to a camera; the others are for files."""
LIVE: Mapping[str, Reader] = {
    "transport": text,
    "publish_transport": text,
    "open_timeout": number,
    "read_timeout": number,
    "send_timeout": number,
    "loop": truth,
    "key_interval": number,
    "repeat": number,
    "rotate": number,
    "keep_files": whole,
}
"""Fields of `LiveSettings`. The service tries for ever, replays a file at its own pace, and has no standard output."""
KEY = "key"
"""The name of a key that the service draws and keeps in memory, for all cameras that name it."""
CHOICES = (*FILTER, *LIVE, KEY)
"""What a camera, or the defaults of all cameras, may set."""
LOOKAHEAD = 0.0
"""Seconds of look-ahead of a camera that names none: it would be added to its latency."""
PLAYLIST = ".m3u8"
_OF_FACES = ("k", "q", "preserve", "key_file", KEY, "transfer", "eyes", "strict", "reentry")
"""What means nothing to a mask."""
_NAME = re.compile(r"[a-z0-9_-]{1,40}")


@dataclass(frozen=True)
class Camera:
    """What a camera's process does. Addresses hold passwords and are not shown."""

    name: str
    source: str = field(repr=False)
    output: str = field(repr=False)
    settings: Settings
    live: LiveSettings
    group: str | None
    """Name of the shared key, or None: a key of its own, new at each start."""
    table: Table = field(repr=False)
    """What it was read from, fit for JSON: a process that gets it reads the same camera."""

    @property
    def target(self) -> str:
        """The output in one spelling, without a password: two cameras with the same one would collide."""
        return _place(self.output)


def read_camera(table: Table) -> Camera:
    """The camera of a table with absolute paths. Raises SettingsError that names it."""
    name = table.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingsError("a camera needs a name of 1 to 40 small letters, digits, _ and -")
    try:
        return _camera(name, table)
    except SettingsError as error:
        raise SettingsError(f"camera {name}: {error}") from None


def _camera(name: str, table: Table) -> Camera:
    check_names(table, ("name", "source", "output", *CHOICES))
    for needed in ("source", "output"):
        if needed not in table:
            raise SettingsError(f"{needed} is missing")
    source, output = text("source", table["source"]), text("output", table["output"])
    if is_address(source):
        checked_source(source)
    if is_address(output):
        checked_target(output)
    if output == "-":
        raise SettingsError("output cannot be standard output, which the service does not have")
    if _place(source) == _place(output):
        raise SettingsError("source and output are the same")
    group = text(KEY, table[KEY]) if KEY in table else None
    if group is not None and not _NAME.fullmatch(group):
        raise SettingsError(f"{KEY} is a name of 1 to 40 small letters, digits, _ and -; it names a key, it is none")
    if group is not None and "key_file" in table:
        raise SettingsError(f"choose {KEY} or key_file, not both")
    chosen = {each: read(each, table[each]) for each, read in FILTER.items() if each in table}
    if output.endswith(PLAYLIST):
        chosen["overwrite"] = True  # it is written anew at each start, and holds no recording
    settings = Settings(**({"lookahead": LOOKAHEAD} | chosen))
    if not settings.synthesises:
        unused = [each for each in _OF_FACES if each in table]
    else:
        unused = ["q"] if "q" in table and not settings.draws else []
    if unused:
        raise SettingsError(f"{unused[0]} means nothing to the method {settings.method}")
    kept = is_address(output) or "rotate" in table or "%" in Path(output).name or settings.overwrite
    if not kept:
        raise SettingsError(
            "the output file would be in the way at the next start: set rotate, put %Y%m%d-%H%M%S into its name, "
            "or set overwrite"
        )
    live = {each: read(each, table[each]) for each, read in LIVE.items() if each in table}
    replayed = not is_address(source) and not is_device(source)
    if live.get("loop") and not replayed:
        raise SettingsError("loop is for a file that is replayed")
    return Camera(
        name, source, output, settings, LiveSettings(keep_trying=True, realtime=replayed, **live), group, table
    )


def unused_by(method: object) -> tuple[str, ...]:
    """Names of defaults that a camera of this method leaves out."""
    settings = Settings(method=text("method", method))
    return _OF_FACES if not settings.synthesises else () if settings.draws else ("q",)


def _place(target: str) -> str:
    """One spelling for each place: an address without user, password and query, or a file's real path."""
    if not is_address(target):
        return os.path.realpath(Path(target))
    parts = urlsplit(target)
    port = parts.port or {"rtsp": 554, "rtsps": 322}.get(parts.scheme.lower())
    return f"{parts.scheme.lower()}://{(parts.hostname or '').lower()}:{port}{parts.path.rstrip('/')}"
