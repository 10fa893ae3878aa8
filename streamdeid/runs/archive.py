"""Recordings and results at addresses such as s3://bucket/folder: lists them, and fetches and stores them whole.

Only this file imports fsspec (extra `cluster`). Credentials come from the environment, as each library of fsspec reads
them, never from an address. A place is an address or a path of this machine, as of a mounted archive.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from streamdeid.core.addresses import is_address, scrubbed, shown
from streamdeid.core.atomic_file import check_paths, put_in_place, remove, reserve
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import InputError, OutputError, SettingsError, StreamdeidError

ATTEMPTS = 5
_WAIT = 0.5
"""Seconds to wait after the first failed attempt; doubled after each further one, and up to half as long again."""
_WHOLE_PUTS = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss", "oci"})
"""Stores in which an object appears when it is whole; elsewhere a file is written under another name and renamed."""
_SCHEMES = _WHOLE_PUTS | {"file", "local", "hdfs", "webhdfs", "sftp", "ssh", "ftp", "smb", "webdav"}
_LASTING = (
    FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError, ImportError, ValueError,
)  # fmt: skip
_NO_CREDENTIALS = ("NoCredentialsError", "PartialCredentialsError", "TokenRetrievalError")
"""Names of errors of botocore, which is installed with s3fs only."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENAMETOOLONG)
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Stored:
    """A file at an address, or at a path of this machine."""

    address: str
    bytes: int


def is_archive(text: str) -> bool:
    """Whether a text is an address of files, and not of a camera or a server."""
    return is_address(text) and text.partition("://")[0].lower() in _SCHEMES


def place_of(text: str) -> str:
    """The place that a user named: an address that can be reached, or an absolute path.

    Raises SettingsError for an address that holds a password, or that nothing here can reach.
    """
    if not is_address(text):
        return os.path.abspath(text)
    if any(not character.isprintable() for character in text):
        raise SettingsError(f"{shown(ascii(text))} is no address of an archive: it holds control characters")
    if _holds_secret(text):
        raise SettingsError(
            f"who may read an archive is told by the environment, not by its address: no password in {shown(text)}"
        )
    if "::" in text:
        raise SettingsError(f"an archive has one address, not a chain of them: {shown(text)}")
    if urlsplit(text).scheme.lower() in ("file", "local"):
        return os.path.abspath(unquote(urlsplit(text).path))
    _reached(text)
    return text.rstrip("/")


def _holds_secret(address: str) -> bool:
    """Whether an address has a password or something like one; the name of a user or container may stand before @."""
    try:
        password = urlsplit(address).password
    except ValueError:  # an address that cannot be parsed may hold one
        return True
    plain = address.replace("@", "")
    return password is not None or scrubbed(plain) != plain


def join(folder: str, name: str) -> str:
    """The place of a name in a folder."""
    return f"{folder}/{name}" if is_address(folder) else os.path.join(folder, name)


def name_of(place: str) -> str:
    """The last part of a place."""
    return place.rstrip("/").rpartition("/")[2] if is_address(place) else os.path.basename(place)


def folder_of(place: str) -> str:
    """The folder that holds a place."""
    return place.rstrip("/").rpartition("/")[0] if is_address(place) else os.path.dirname(place)


def listed(place: str, wanted: Callable[[str], bool]) -> list[Stored] | None:
    """The files of a folder whose names are wanted, by name; None when the place is no folder. Raises InputError."""
    files, path = _reached(place)

    def look() -> list[Stored] | None:
        files.invalidate_cache()
        if not files.isdir(path):
            return None
        found = [(name_of(str(one["name"])), one) for one in files.ls(path, detail=True)]
        return [
            Stored(join(place, name), int(one.get("size") or 0))
            for name, one in sorted(found, key=lambda entry: entry[0])
            if one.get("type") == "file" and wanted(name)
        ]

    return _patiently(look, f"{shown(place)} cannot be listed", InputError)


def size_of(place: str) -> int | None:
    """Bytes of a file; None when there is none. Raises InputError."""
    files, path = _reached(place)

    def look() -> int | None:
        files.invalidate_cache()
        try:
            found = files.info(path)
        except FileNotFoundError:
            return None
        return int(found.get("size") or 0) if found.get("type") == "file" else None

    return _patiently(look, f"{shown(place)} cannot be asked for", InputError)


def fetch(place: str, path: Path) -> None:
    """Copy a file of an archive to a path of this machine, whole. Raises InputError."""
    files, source = _reached(place)

    def get() -> None:
        files.invalidate_cache()
        expected = int(files.info(source)["size"])
        files.get_file(source, str(path))
        if path.stat().st_size != expected:
            raise ConnectionError("it came in part")

    _patiently(get, f"{shown(place)} cannot be fetched", InputError)


def check_output(place: str) -> None:
    """Raise SettingsError for a place where a result cannot be stored all or nothing."""
    if is_address(place) and not _puts_whole(place):
        files, _ = _reached(place)
        if type(files).mv is _fsspec().AbstractFileSystem.mv:  # it copies: half a copy would have the final name
            raise SettingsError(f"results cannot be stored all or nothing there: {shown(place)}")


def partial_of(place: str, token: str) -> str | None:
    """The place at which a result is written before it gets its own name; None where there is no such place.

    token: distinguishes one attempt from all others.
    """
    if is_address(place) and _puts_whole(place):
        return None
    stem, suffix = os.path.splitext(name_of(place))
    return join(folder_of(place), f".{stem[:100]}.partial-{token}{suffix}")


def store(path: Path, place: str, token: str, *, overwrite: bool) -> None:
    """Copy a whole file into an archive: under its final name it is whole, or not there.

    token: as for `partial_of`. Raises OutputError, and SettingsError for a result that exists and may not be replaced.
    """
    if not is_address(place):
        _store_here(path, Path(place), token, overwrite)
        return
    files, target = _reached(place)
    partial = partial_of(place, token)
    growing = target if partial is None else _reached(partial)[1]

    def put() -> None:
        files.invalidate_cache()
        if not overwrite and files.exists(target):
            raise SettingsError(f"{shown(place)} exists already; use --overwrite to replace it")
        files.put_file(str(path), growing)
        files.invalidate_cache()
        if int(files.info(growing)["size"]) != path.stat().st_size:
            raise ConnectionError("it went in part")

    try:
        _patiently(put, f"{shown(place)} cannot be written", OutputError)
        if partial is not None:
            _patiently(lambda: files.mv(growing, target), f"{shown(place)} cannot be written", OutputError)
    except BaseException:
        if partial is not None:
            remove_from(partial)
        raise


def _store_here(path: Path, place: Path, token: str, overwrite: bool) -> None:
    check_paths(place, None, overwrite)
    growing = reserve(place, name=Path(partial_of(str(place), token) or ""))
    try:
        with path.open("rb") as source, growing.opened() as target:
            shutil.copyfileobj(source, target, 1 << 20)
        put_in_place(growing, place, overwrite=overwrite)
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {system_reason(error)}") from error
    finally:
        growing.discard()
        growing.let_go()


def remove_from(place: str) -> None:
    """Delete a file of an archive if it is there and can be deleted."""
    if not is_address(place):
        remove(Path(place))
        return
    with contextlib.suppress(Exception):
        files, path = _reached(place)
        files.invalidate_cache()
        if files.exists(path):
            files.rm_file(path)


def write_small(place: str, content: bytes) -> None:
    """Write a small file at an address. Raises OutputError."""
    files, path = _reached(place)
    _patiently(lambda: files.pipe_file(path, content), f"{shown(place)} cannot be written", OutputError)


def read_small(places: list[str]) -> list[bytes]:
    """The contents of small files, all in one folder at an address. Raises InputError."""
    if not places:
        return []
    files, _ = _reached(places[0])
    paths = [_reached(place)[1] for place in places]

    def read() -> list[bytes]:
        files.invalidate_cache()
        return (
            [bytes(content) for content in files.cat(paths, recursive=False).values()]
            if len(paths) > 1
            else [bytes(files.cat_file(paths[0]))]
        )

    return _patiently(read, f"{shown(folder_of(places[0]))} cannot be read", InputError)


def _puts_whole(place: str) -> bool:
    return urlsplit(place).scheme.lower() in _WHOLE_PUTS


def _reached(place: str) -> tuple[Any, str]:
    """The file system of a place, and the path within it. Raises SettingsError."""
    fsspec = _fsspec()
    if not is_address(place):  # unchanged: a name may hold characters that mean something in an address
        return fsspec.filesystem("file"), place
    try:
        files, path = fsspec.core.url_to_fs(place)
    except (ImportError, ValueError) as error:
        reason = " ".join(scrubbed(str(error)).split())
        raise SettingsError(f"no archive can be reached by the address {shown(place)}: {reason}") from error
    return files, str(path)


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError as error:
        told = "archives at addresses need the extra `cluster`: pip install 'streamdeid[cluster]'"
        raise SettingsError(told) from error
    return fsspec


def _patiently(action: Callable[[], _Found], failed: str, kind: type[StreamdeidError]) -> _Found:
    """The result of an action; after a passing failure it is tried again, `ATTEMPTS` times in all. Raises `kind`."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return action()
        except Exception as error:
            if isinstance(error, StreamdeidError):
                raise
            if attempt == ATTEMPTS or _lasts(error):
                raise kind(f"{failed}: {_reason(error)}") from error
        time.sleep(_WAIT * 2 ** (attempt - 1) * random.uniform(1.0, 1.5))


def _lasts(error: Exception) -> bool:
    """Whether another attempt would fail in the same way."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return isinstance(error, _LASTING) or type(error).__name__ in _NO_CREDENTIALS


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is nothing"
    if isinstance(error, PermissionError):
        return "access was refused"
    text = " ".join(scrubbed(system_reason(error, as_told=True)).split())
    return f"{text[:1].lower()}{text[1:200]}" if text else type(error).__name__
