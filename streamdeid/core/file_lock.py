"""Locks that keep a file to one process: each is set on a file beside it, and ends with the process that holds it."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from streamdeid.core.atomic_file import reason_of
from streamdeid.core.named_files import lock_of
from streamdeid.errors import OutputError, SettingsError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


_PAUSE = 0.005
"""Seconds between two attempts to get a lock."""


@contextlib.contextmanager
def locked(path: Path, taken_by: str, wait: float = 0.0) -> Iterator[None]:
    """Keep others from a file, which need not exist yet, as long as the context lasts.

    taken_by: words that finish "FILE is …". Raises SettingsError with them when somebody else, in this process or
    another, holds the lock and does not release it within `wait` seconds; OutputError when no lock can be set.
    """
    lock = lock_of(path)
    latest = time.monotonic() + wait
    while True:
        descriptor = _opened(path, lock)
        try:
            free = take_lock(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise OutputError(f"{path} cannot be used: no lock can be set: {reason_of(error)}") from error
        if not free:
            os.close(descriptor)
            if time.monotonic() < latest:
                time.sleep(_PAUSE)
                continue
            raise SettingsError(f"{path} is {taken_by}")
        if _is(lock, descriptor):
            break
        os.close(descriptor)  # the last holder removed the file between the two steps
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows removes no open file; an empty file that stays does no harm
            lock.unlink()
        os.close(descriptor)


def _opened(path: Path, lock: Path) -> int:
    flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(lock, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
    except OSError as error:
        raise OutputError(f"{path} cannot be used: its lock cannot be made: {reason_of(error)}") from error


def take_lock(descriptor: int) -> bool:
    """Try to lock an open file; whether nobody else has the lock. It ends with the process, at the latest. Raises
    OSError where no lock can be set."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def give_lock(descriptor: int) -> None:
    """Release the lock of an open file."""
    if sys.platform == "win32":
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _is(lock: Path, descriptor: int) -> bool:
    """Whether the name still leads to the open file."""
    try:
        return os.path.samestat(os.stat(lock), os.fstat(descriptor))
    except FileNotFoundError:
        return False
