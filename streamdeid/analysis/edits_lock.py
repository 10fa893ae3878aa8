"""The lock by which only one review desk at a time uses an edits file."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from streamdeid.core.file_lock import locked


def lock_edits(path: Path) -> AbstractContextManager[None]:
    """Lock an edits file, which need not exist yet, for as long as the context lasts.

    Raises SettingsError when another desk, in this or another process, holds the lock; OutputError when no lock can be
    set.
    """
    return locked(path, "being edited by another review desk")
