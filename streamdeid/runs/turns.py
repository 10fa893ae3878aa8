"""Turns at a machine's processors, for filters that run in processes beside each other.

With more cameras than processors, the system gives each process a small share of the time, so that every picture takes
several times as long and is old when it leaves. Where the last picture was more than a second ago, faces have to be
found and made anew, which takes three times as long again, so a machine that was overloaded for a moment stayed so:
eight cameras of 640x480 on two processors published a picture every three seconds, two seconds old. With turns, only
as many filters as keep the processors busy work on a picture at a time; the others wait, and then take the newest.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from streamdeid.core.file_lock import give_lock, take_lock

FOLDER = "STREAMDEID_TURNS"
"""The variable by which the service tells its cameras' processes the folder; it is no setting of the user's."""
PATIENCE = 2.0
"""Seconds after which a filter goes on without a turn: a process that holds one may hang."""
_PAUSE = 0.003
"""Seconds between two attempts to get a turn."""
_NEXT = "next"
"""The file whose lock the one has that gets the next turn. Without it, who has just had a turn would get the next, too,
because all others pause."""


def usual() -> int:
    """Number of turns that keep the processors busy that this process may use: one more than these, because a filter
    that has a turn waits now and then, as for its detector's thread."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


@contextlib.contextmanager
def folder_of_turns() -> Iterator[Path | None]:
    """A new folder for turns, which is removed in the end; None where none can be made: then nobody waits."""
    with contextlib.ExitStack() as safe:
        made = None
        with contextlib.suppress(OSError):
            made = Path(safe.enter_context(tempfile.TemporaryDirectory(prefix="streamdeid-turns-")))
        yield made


class Turns:
    """Turns that are shared by all processes that name the same folder. Locks of files hold them, so a process that
    dies leaves its turn."""

    def __init__(self, folder: Path, count: int | None = None) -> None:
        """count: number of turns at a time, 1 or more; None: as `usual`. Raises OSError if there is no folder."""
        names = [_NEXT, *(str(number) for number in range(usual() if count is None else count))]
        self._next, *self._turns = (os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600) for name in names)

    @contextlib.contextmanager
    def __call__(self) -> Iterator[bool]:
        """Wait for a turn and hold it as long as the context lasts; gives whether there was none at once."""
        turn = self._free() if take_lock(self._next) else None
        waited = turn is None
        latest = time.monotonic() + PATIENCE
        while turn is None and time.monotonic() < latest:
            time.sleep(_PAUSE)
            if take_lock(self._next):
                turn = self._free()
        give_lock(self._next)
        try:
            yield waited
        finally:
            if turn is not None:
                give_lock(turn)

    def _free(self) -> int | None:
        """A turn that nobody had, and now this process has; None for none."""
        return next((turn for turn in self._turns if take_lock(turn)), None)

    def close(self) -> None:
        """Close the files; harmless when called again."""
        while self._turns:
            os.close(self._turns.pop())
        if self._next >= 0:
            os.close(self._next)
            self._next = -1
