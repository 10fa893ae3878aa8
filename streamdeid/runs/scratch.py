"""Temporary places of a run, removed at its end however it ends: a scratch directory, and the partial file of an
output."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from glob import escape
from pathlib import Path

from streamdeid.core.atomic_file import reason_of, remove
from streamdeid.core.file_lock import locked
from streamdeid.errors import OutputError, StreamdeidError

_PREFIX = "streamdeid-scratch-"
_IN_USE = "in use"


@contextlib.contextmanager
def scratch(home: Path | None = None, prefix: str = _PREFIX) -> Iterator[Path]:
    """An empty directory that no other user may read, removed at the end. Raises OutputError.

    The directory holds an unfiltered recording, or landmarks. So it is removed even when this process is killed: a
    shell waits for that and removes it. After a machine stopped, the next call of this function removes what is left:
    it knows an abandoned directory by a lock that died with its process. Where no lock can be set, nothing is removed.
    home: where to make the directory; None: where temporary files are. prefix: of its name.
    """
    home = _home() if home is None else home
    clear_abandoned(home, prefix)
    place = home / f"{prefix}{uuid.uuid4().hex}"
    with contextlib.ExitStack() as lock:
        with contextlib.suppress(OutputError):
            lock.enter_context(locked(place, _IN_USE))
        try:
            place.mkdir(mode=0o700)
        except OSError as error:
            raise OutputError(f"{place} cannot be made: {reason_of(error)}") from error
        with _watched(place):
            try:
                yield place
            finally:
                shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def _watched(place: Path) -> Iterator[None]:
    """Have a directory removed when this process is killed; without a shell the next call of `scratch` removes it."""
    if os.name == "nt":
        yield
        return
    lock = place.parent / f".{place.name}.lock"
    # A grandchild, since Ray kills the children of a worker too. It reads until the other end of the pipe is closed.
    script = 'exec 3<&0; { cat <&3; rm -rf -- "$1" "$2"; } > /dev/null 2>&1 &'
    command = ["sh", "-c", script, "sh", str(place), str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True):
        yield


@contextlib.contextmanager
def written_by_us(path: Path) -> Iterator[None]:
    """Be the only run that writes a file, and remove what killed runs left of it (`core.atomic_file.reserve`).

    Raises SettingsError while another run writes it. Where no lock can be set, no run is kept out and nothing removed.
    """
    with contextlib.ExitStack() as lock:
        with contextlib.suppress(OutputError):
            lock.enter_context(locked(path, "being written by another run"))
            for left in path.parent.glob(f".{escape(path.stem)}.partial-*{escape(path.suffix)}"):
                remove(left)
        yield


def clear_abandoned(home: Path | None = None, prefix: str = _PREFIX) -> None:
    """Remove the scratch directories of processes that are gone; those of other users stay."""
    for place in (_home() if home is None else home).glob(f"{escape(prefix)}*"):
        with contextlib.suppress(OSError, StreamdeidError):
            if not place.is_symlink() and place.is_dir() and _ours(place):
                with locked(place, _IN_USE):
                    shutil.rmtree(place, ignore_errors=True)


def _home() -> Path:
    return Path(tempfile.gettempdir())


def _ours(place: Path) -> bool:
    return not hasattr(os, "getuid") or place.lstat().st_uid == os.getuid()
