"""A directory in which one recording is worked on, gone when the work is, however it ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from streamdeid.core.atomic_file import reason_of
from streamdeid.core.file_lock import locked
from streamdeid.errors import OutputError, StreamdeidError

_PREFIX = "streamdeid-scratch-"
_IN_USE = "in use"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """An empty directory that nobody else may read, removed at the end. Raises OutputError.

    What killed processes left on this machine is removed first: a lock that dies with its process tells whose it was.
    """
    clear_abandoned()
    place = _home() / f"{_PREFIX}{uuid.uuid4().hex}"
    with locked(place, _IN_USE):
        try:
            place.mkdir(mode=0o700)
        except OSError as error:
            raise OutputError(f"{place} cannot be made: {reason_of(error)}") from error
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


def clear_abandoned() -> None:
    """Remove the directories of processes that are gone; those of other users stay."""
    for place in _home().glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, StreamdeidError):
            if not place.is_symlink() and place.is_dir() and _ours(place):
                with locked(place, _IN_USE):
                    shutil.rmtree(place, ignore_errors=True)


def _home() -> Path:
    return Path(tempfile.gettempdir())


def _ours(place: Path) -> bool:
    return not hasattr(os, "getuid") or place.lstat().st_uid == os.getuid()
