"""Files that are written whole or not at all: each grows under a temporary name, and gets its own when it is whole."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path
from typing import BinaryIO

from streamdeid.core.system_reason import system_reason
from streamdeid.errors import OutputError, SettingsError

_LONGEST_NAME = 255
"""Bytes a file name may have on common file systems."""
_NEW = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def check_paths(path: Path, source: Path | None, overwrite: bool) -> None:
    """Raise SettingsError or OutputError when `path` cannot become the output of `source`, where there is one."""
    # `os.path` treats a name that is too long, or a link to itself, as a missing file; `Path` raises.
    if os.path.isdir(path):
        raise OutputError(f"{path} cannot be written: it is a directory")
    if len(os.fsencode(path.name)) > _LONGEST_NAME:  # reported now, and not when all work is done
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


class Growing:
    """A file that is written under a temporary name, beside the name that it gets in the end; made by `reserve`.

    The file is held open until it has its name or is discarded. So somebody who may write to the folder cannot redirect
    the writing to another file. Where the system has names for open files (Linux), `place` is that name, and a link
    that was put in the file's place is never followed. Elsewhere such an exchange is found before the file gets its
    name.
    """

    def __init__(self, name: Path, descriptor: int | None) -> None:
        """descriptor: None on Windows, which renames no open file; links need rights there."""
        self.name, self._descriptor = name, descriptor
        held = Path(f"/proc/self/fd/{descriptor}")
        self.place = held if descriptor is not None and held.exists() else name
        """Path by which the file is opened."""

    def write(self, data: bytes) -> None:
        """Write all of a file. Raises OSError."""
        descriptor = self._descriptor
        with open(self.name, "wb") if descriptor is None else open(descriptor, "wb", closefd=False) as file:
            file.write(data)

    def opened(self) -> BinaryIO:
        """The file, opened for writing; the caller closes it. Raises OSError."""
        return self.name.open("wb") if self._descriptor is None else os.fdopen(os.dup(self._descriptor), "wb")

    def sync(self) -> None:
        """Make the content survive a power cut. Raises OSError, and OutputError where the name is another file's."""
        if self._descriptor is None:
            _sync(self.name)
            return
        os.fsync(self._descriptor)
        if not os.path.samestat(os.lstat(self.name), os.fstat(self._descriptor)):
            raise OutputError(f"{self.name} is not what was written: somebody exchanged it")

    def let_go(self) -> None:
        """Close the file. Harmless when repeated."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def discard(self) -> None:
        """Delete the file, unless it has got its final name. Harmless when repeated.

        Code that has it open by `place`, and opens it by `place` once more, reads nothing.
        """
        remove(self.name)
        if self._descriptor is not None and self.place != self.name:
            nothing = os.open(os.devnull, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
            os.dup2(nothing, self._descriptor, inheritable=False)
            os.close(nothing)


def reserve(path: Path, *, mode: int = 0o666, name: Path | None = None) -> Growing:
    """Create the temporary file beside `path`, hidden. Raises OutputError.

    mode: the most rights to read and write it; the user's mask reduces them, and so do narrower rights of a file that
    is at `path` now. name: the name of the temporary file, which nobody else uses; None: a new name is chosen, and a
    leftover of a killed run with the same process number is skipped.
    """
    rights = mode & _rights_at(path) | 0o600
    for attempt in itertools.count():
        ending = f".partial-{os.getpid()}{f'-{attempt}' if attempt else ''}{path.suffix}"
        stem = os.fsencode(path.stem)[: _LONGEST_NAME - 1 - len(os.fsencode(ending))]
        temporary = name or path.parent / f".{os.fsdecode(stem)}{ending}"
        try:
            descriptor = os.open(temporary, _NEW, rights)
        except FileExistsError as error:
            if name is None:
                continue
            raise OutputError(f"{path} cannot be written: {reason_of(error)}") from error
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {reason_of(error)}") from error
        if os.name == "nt":
            os.close(descriptor)
            return Growing(temporary, None)
        return Growing(temporary, descriptor)
    raise AssertionError("count() does not end")


def _rights_at(path: Path) -> int:
    """The rights of a file that is to be replaced; where there is none, those of any new file."""
    try:
        return os.stat(path).st_mode & 0o666
    except OSError:
        return 0o666


def write_whole(path: Path, data: bytes, *, overwrite: bool, mode: int = 0o666) -> None:
    """Write a small file, whole and safe on the disk; it replaces a link itself, never the target of the link.

    mode: as for `reserve`. Raises OutputError, and SettingsError for a file that exists and must not be replaced.
    """
    check_paths(path, None, overwrite)
    growing = reserve(path, mode=mode)
    try:
        growing.write(data)
        put_in_place(growing, path, overwrite=overwrite)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason_of(error)}") from error
    finally:
        growing.discard()
        growing.let_go()


def reason_of(error: BaseException) -> str:
    """Why a file could not be written, as of `system_reason`. An error without a description may be the encoder's here,
    whose own text means nothing to the user."""
    return system_reason(error, "the encoder or the file system refused")


def put_in_place(growing: Growing, path: Path, *, overwrite: bool) -> None:
    """Sync a whole file and give it its final name. Raises OutputError and OSError."""
    growing.sync()
    if path.exists() and not overwrite:
        raise OutputError(f"{path} was not written: another file took its name in the meantime")
    os.replace(growing.name, path)
    growing.let_go()
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
