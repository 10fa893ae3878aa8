"""Opens files that somebody else may have made: only regular files, no links, and none that is too large."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from streamdeid.core.system_reason import system_reason
from streamdeid.errors import InputError


def open_plain(path: Path) -> tuple[int, int]:
    """Open a file for reading; return its descriptor, which the caller closes, and its size in bytes.

    Links, pipes, devices and directories are refused: a pipe would block for ever, and a person who can create a link
    could make the program read another file. Raises InputError.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if os.path.islink(path):  # the error names the link; this is the only check where the system has no O_NOFOLLOW
        raise InputError(f"{path} cannot be read: it is a symbolic link")
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {system_reason(error, 'its name cannot be used')}") from error
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        raise InputError(f"{path} cannot be read: it is not a regular file")
    return descriptor, state.st_size


def read_plain(path: Path, most: int) -> bytes:
    """All bytes of a file that has at most `most` bytes. Raises InputError."""
    descriptor, size = open_plain(path)
    with open(descriptor, "rb") as file:
        if size > most:
            raise InputError(f"{path} cannot be read: it is larger than {most:,} bytes")
        data = file.read(most + 1)
    if len(data) > most:
        raise InputError(f"{path} cannot be read: it is larger than {most:,} bytes")
    return data
