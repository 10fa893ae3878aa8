"""A check that a file still is the one that was opened first.

A recording is opened more than once: to see what it is, to be hashed, for its pictures, for its sound, and again for a
second pass. If somebody put another file in its place meanwhile, its faces would be redacted where the first file had
faces.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from streamdeid.core.system_reason import system_reason
from streamdeid.errors import InputError


@dataclass(frozen=True)
class FileIdentity:
    """The identity of a file, and its state."""

    device: int
    inode: int
    size: int
    """Bytes."""
    changed: int
    """When it was last written to, ns."""

    @staticmethod
    def of(path: Path) -> FileIdentity:
        """The identity of the file at a path; links are followed. Raises InputError."""
        try:
            state = os.stat(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {system_reason(error, 'its name cannot be used')}") from error
        return FileIdentity(state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)

    def check(self, path: Path) -> None:
        """Raise InputError unless the path leads to the same file, and it is unchanged."""
        try:
            same = FileIdentity.of(path) == self
        except InputError:
            same = False
        if not same:
            raise InputError(f"{path} was replaced or changed while it was read; nothing was made of it")
