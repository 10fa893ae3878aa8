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
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from streamdeid.core.file_lock import give_lock, take_lock
from streamdeid.core.process_usage import processors

InTurn = Callable[[threading.Event], AbstractContextManager[bool]]
"""Makes a context in which a picture is filtered, told what ends the waiting; it gives whether there was any."""
FOLDER = "STREAMDEID_TURNS"
"""The variable by which the service tells its cameras' processes the folder; it is no setting of the user's."""
PATIENCE = 2.0
"""Seconds after which a filter goes on without a turn: a process that holds one may hang."""
_PAUSE = 0.003
"""Seconds between two attempts to get a turn."""
_TOUCHED = 3600.0
"""Seconds between two times that the files are touched."""
_NEXT = "next"
"""The file whose lock the one has that gets the next turn. Without it, who has just had a turn would get the next, too,
because all others pause."""


def usual() -> int:
    """Number of turns that keep the processors busy that this process may use: one more than these, because a filter
    that has a turn waits now and then, as for its detector's thread."""
    return processors() + 1


def at_once(_stop: threading.Event) -> AbstractContextManager[bool]:
    """A turn of a filter that waits for nobody."""
    return contextlib.nullcontext(False)


@contextlib.contextmanager
def service_turns() -> Iterator[InTurn]:
    """Turns in the folder that the service names to its cameras' processes; without one nobody waits."""
    turns = None
    with contextlib.suppress(KeyError, OSError):
        turns = Turns(Path(os.environ[FOLDER]))
    if turns is None:
        yield at_once
        return
    with contextlib.closing(turns):
        yield turns


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
    dies leaves its turn. Where a lock fails, there is no waiting: turns save time, and nothing depends on them."""

    def __init__(self, folder: Path, count: int | None = None) -> None:
        """count: number of turns at a time, 1 or more; None: as `usual`. Raises OSError where files cannot be opened
        and locked in the folder."""
        names = [_NEXT, *(str(number) for number in range(usual() if count is None else count))]
        self._files: list[int] = []
        try:
            for name in names:
                self._files.append(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600))
            if take_lock(self._files[0]):  # some file systems have no locks
                give_lock(self._files[0])
        except OSError:
            self.close()
            raise
        self._touched = time.monotonic()

    @contextlib.contextmanager
    def __call__(self, stop: threading.Event) -> Iterator[bool]:
        """Wait for a turn and hold it as long as the context lasts; gives whether there was none at once. stop: ends
        the waiting; the context then begins without a turn."""
        try:
            turn, waited = self._waited_for(stop)
        except OSError:
            turn, waited = None, False
        try:
            yield waited
        finally:
            if turn is not None:
                give_lock(turn)

    def _waited_for(self, stop: threading.Event) -> tuple[int | None, bool]:
        """A turn, None where there is none in time, and whether it was waited for."""
        following, *turns = self._files
        self._keep()
        latest, mine, waited = time.monotonic() + PATIENCE, False, False
        try:
            while True:
                mine = mine or take_lock(following)
                turn = next((turn for turn in turns if take_lock(turn)), None) if mine else None
                if turn is not None or time.monotonic() > latest:
                    return turn, waited
                waited = True
                if stop.wait(_PAUSE):
                    return None, waited
        finally:
            if mine:
                give_lock(following)

    def _keep(self) -> None:
        """Touch the files now and then: what is not used for days is removed from folders for temporary files."""
        if time.monotonic() - self._touched > _TOUCHED:
            self._touched = time.monotonic()
            for file in self._files:
                with contextlib.suppress(OSError):
                    os.utime(file)

    def close(self) -> None:
        """Close the files; harmless when called again."""
        while self._files:
            os.close(self._files.pop())
