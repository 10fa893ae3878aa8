"""Reads the file that lists the cameras: TOML, checked strictly.

::

    [http]                          # optional
    listen = "127.0.0.1:8090"       # or "off"
    token_file = "token"            # needed for any other interface

    [defaults]                      # optional, for all cameras
    key = "house"

    [[camera]]
    name = "door"
    source = "rtsp://${DOOR_LOGIN}@192.168.1.20/stream1"
    output = "rtsp://127.0.0.1:8554/door"

Relative paths start at the file's directory. Cameras that name the same `key` share one key, which the service
generates and keeps in memory: they have the same possible faces and take the same random values, also after a restart
of a camera. This is not recognition across cameras: a person has a different number in each camera, and may look
different in each. Cameras that name the same `register`, and its `key_file`, recognise each other's people.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamdeid.core.addresses import is_address, is_device, scrubbed
from streamdeid.core.named_files import CAMERAS, TOKEN, Named, check_named
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import SettingsError
from streamdeid.runs.named_by_settings import files_of_run
from streamdeid.runs.register_file import private_key
from streamdeid.service.camera import CHOICES, KEY, Camera, read_camera, unused_by
from streamdeid.service.http_settings import HttpSettings, read_http
from streamdeid.service.toml_values import (
    Table,
    check_names,
    filled_in,
    holds_password,
    most_parts,
    table,
    text,
    texts,
)
from streamdeid.surrogates.key import read_by_everybody, read_key_file, warning_of
from streamdeid.video.live.files import deletes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MOST_BYTES = 1 << 18
"""Largest size of the file: 4 KiB for each of `_MOST_CAMERAS` cameras."""
_MOST_CAMERAS = 64
_MOST_PARTS = 8
"""Most parts of a dotted key. Valid keys have at most two, and reading takes the square of their number."""
_ADDRESSES = ("source", "output")
_PATHS = ("key_file", "register", "models")


@dataclass(frozen=True)
class CamerasFile:
    """The checked content of the file."""

    cameras: tuple[Camera, ...]
    http: HttpSettings | None
    warnings: tuple[str, ...] = ()
    """Warnings for the user, one line each."""
    variables: frozenset[str] = frozenset()
    """Names of the environment variables that were filled in; camera processes do not need these variables."""


def read_cameras(file: Path, environment: Mapping[str, str] = os.environ) -> CamerasFile:
    """Read and check the file. Raises SettingsError, one line that names the place and holds no password."""
    try:
        return _read(file, environment)
    except SettingsError as error:
        raise SettingsError(scrubbed(f"{file}: {error}")) from None


def _read(file: Path, environment: Mapping[str, str]) -> CamerasFile:
    whole = _parsed(file)
    check_names(whole, ("http", "defaults", "camera"))
    directory = file.absolute().parent
    http = read_http(table("[http]", whole.get("http", {})), directory)
    defaults = table("[defaults]", whole.get("defaults", {}))
    try:
        check_names(defaults, CHOICES)
    except SettingsError as error:
        raise SettingsError(f"[defaults]: {error}") from None
    given = whole.get("camera", [])
    if not isinstance(given, list) or not given:
        raise SettingsError("there is no camera; each begins with a line [[camera]]")
    if len(given) > _MOST_CAMERAS:
        raise SettingsError(f"{len(given)} cameras are more than {_MOST_CAMERAS}")
    cameras: list[Camera] = []
    variables: set[str] = set()
    secret = False
    for place, each in enumerate(given, 1):
        own = table(f"camera {place}", each)
        secret |= any(isinstance(own.get(name), str) and holds_password(str(own[name])) for name in _ADDRESSES)
        try:
            filled, names = _filled(_merged(defaults, own), environment, directory)
            camera = read_camera(filled)
            if camera.settings.key_file is not None:
                read = read_key_file if camera.settings.register is None else private_key
                read(camera.settings.key_file)
        except SettingsError as error:
            name = own.get("name")
            known = str(error).startswith(f"camera {name}: ")
            called = f"camera {name}" if isinstance(name, str) and name.isprintable() else f"camera number {place}"
            raise SettingsError(str(error) if known else f"{called}: {error}") from None
        cameras.append(camera)
        variables |= names
    _check_apart(cameras)
    secrets = {file: "a password"} if secret else {}
    if http is not None and http.token_file is not None:
        secrets[http.token_file] = "a token"
    warnings = [
        f"{place} holds {what} and can be read by everybody (chmod o-r)"
        for place, what in secrets.items()
        if read_by_everybody(place)
    ]
    keys = {one.settings.key_file: None for one in cameras if one.settings.key_file is not None}
    warnings += [line for line in map(warning_of, keys) if line is not None]
    _check_files(file, http, cameras)
    return CamerasFile(tuple(cameras), http, tuple(warnings), frozenset(variables))


def _parsed(file: Path) -> Table:
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"cannot be read: {system_reason(error)}") from None
    if len(content) > _MOST_BYTES:
        raise SettingsError(f"is larger than {_MOST_BYTES} bytes")
    try:
        words = content.decode("utf-8-sig")
        if most_parts(words) > _MOST_PARTS:
            raise SettingsError(f"has a key of more than {_MOST_PARTS} parts between dots")
        return tomllib.loads(words)
    except UnicodeDecodeError:
        raise SettingsError("is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"is no TOML: {' '.join(str(error).split())}") from None
    except ValueError:  # a number with thousands of digits
        raise SettingsError("is no TOML: a number that is far too large") from None
    except RecursionError:
        raise SettingsError("is no TOML: too deeply nested") from None


def _merged(defaults: Table, own: Table) -> dict[str, object]:
    """The camera's own table added to the defaults, without the defaults that do not apply to this camera."""
    dropped: set[str] = set()
    if "key_file" in own or KEY in own:
        dropped |= {"key_file", KEY}
    method = own.get("method", defaults.get("method"))
    if method is not None:
        dropped |= set(unused_by(method))
    if own.get("rotate", defaults.get("rotate")) is None:
        dropped.add("keep_files")
    source = own.get("source")
    if isinstance(source, str) and (is_address(source) or is_device(source)):
        dropped.add("loop")
    return {name: value for name, value in defaults.items() if name not in dropped} | dict(own)


def _filled(
    camera: dict[str, object], environment: Mapping[str, str], directory: Path
) -> tuple[dict[str, object], set[str]]:
    """The table with variables filled in and absolute paths, and the variables' names. Raises SettingsError."""
    names: set[str] = set()
    for name in _ADDRESSES:
        if name in camera:
            value, used = filled_in(name, text(name, camera[name]), environment)
            names |= used
            place = is_address(value) or is_device(value) or value == "-"
            camera[name] = value if place else str(directory / value)
    for name in _PATHS:
        if name in camera:
            camera[name] = str(directory / text(name, camera[name]))
    if "whitelist" in camera:
        camera["whitelist"] = [str(directory / each) for each in texts("whitelist", camera["whitelist"])]
    recogniser = camera.get("whitelist_recogniser")
    if isinstance(recogniser, str) and recogniser.endswith(".onnx"):
        camera["whitelist_recogniser"] = str(directory / recogniser)
    return camera, names


def _check_files(file: Path, http: HttpSettings | None, cameras: list[Camera]) -> None:
    """Raise SettingsError where a file that a camera writes or deletes has another use in the service, too."""
    named = [Named(CAMERAS, file)]
    if http is not None and http.token_file is not None:
        named.append(Named(TOKEN, http.token_file))
    for one in cameras:
        source, target = _local(one.source), _local(one.output)
        named += files_of_run(one.settings, [(source, target)])
        keeps = one.live.keep_files is not None
        if source is not None and deletes(one.output, source, keeps=keeps, overwrite=one.settings.overwrite):
            raise SettingsError(f"camera {one.name}: {source} would be deleted as an earlier file of its output")
    check_named("serve", named)


def _local(place: str) -> Path | None:
    """The path of a source or an output that is a file of this machine; None for all others."""
    return None if is_address(place) or is_device(place) else Path(place)


def _check_apart(cameras: list[Camera]) -> None:
    names: set[str] = set()
    targets: dict[str, str] = {}
    for camera in cameras:
        if camera.name in names:
            raise SettingsError(f"two cameras are named {camera.name}")
        names.add(camera.name)
        other = targets.setdefault(camera.target, camera.name)
        if other != camera.name:
            raise SettingsError(f"the cameras {other} and {camera.name} have the same output")
