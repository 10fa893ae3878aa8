"""All or nothing on disk: a file grows under a temporary name and takes its own only when it is whole."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

from streamdeid.errors import OutputError, SettingsError

_LONGEST_NAME = 255
"""Bytes a file name may have on common file systems."""


def check_paths(path: Path, source: Path | None, overwrite: bool) -> None:
    """Raise SettingsError or OutputError when `path` cannot become the output of `source`, where there is one."""
    # `os.path` takes a name that is too long, or a link to itself, for none that is there; `Path` raises.
    if os.path.isdir(path):
        raise OutputError(f"{path} cannot be written: it is a directory")
    if len(os.fsencode(path.name)) > _LONGEST_NAME:  # known now, and not when all is done
        raise OutputError(f"{path} cannot be written: its name is too long")
    if not os.path.isdir(path.parent):
        raise OutputError(f"{path} cannot be written: its directory does not exist")
    if not os.path.exists(path):
        return
    if source is not None and path.samefile(source):  # by whatever name, link or hard link
        raise SettingsError(f"{path} is the input itself; choose another output")
    if not path.is_file():
        raise OutputError(f"{path} cannot be written: it is not a regular file")
    if not overwrite:
        raise SettingsError(f"{path} exists already; use --overwrite to replace it")


def reserve(path: Path) -> Path:
    """Create the temporary file beside `path`, hidden. Raises OutputError.

    A leftover of a killed run with the same process number is stepped over.
    """
    for attempt in itertools.count():
        ending = f".partial-{os.getpid()}{f'-{attempt}' if attempt else ''}{path.suffix}"
        stem = os.fsencode(path.stem)[: _LONGEST_NAME - 1 - len(os.fsencode(ending))]
        temporary = path.parent / f".{os.fsdecode(stem)}{ending}"
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return temporary
        except FileExistsError:
            continue
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {reason_of(error)}") from error
    raise AssertionError("count() does not end")


def reason_of(error: BaseException) -> str:
    """What the operating system says of an error, in words."""
    text = getattr(error, "strerror", None)
    return str(text).lower() if text else "the encoder or the file system refused"


def put_in_place(temporary: Path, path: Path, *, overwrite: bool) -> None:
    """Sync a whole file and give it its final name. Raises OutputError and OSError."""
    _sync(temporary)
    if path.exists() and not overwrite:
        raise OutputError(f"{path} was not written: another file took its name in the meantime")
    os.replace(temporary, path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    """Make a file or a directory survive a power cut."""
    if path.is_dir() and os.name == "nt":  # Windows cannot sync directories
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Delete a file if it can be deleted."""
    with contextlib.suppress(OSError):
        path.unlink()
