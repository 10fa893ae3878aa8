"""One desk for one edits file."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from streamdeid.core.file_lock import locked


def lock_edits(path: Path) -> AbstractContextManager[None]:
    """Keep others from the edits in a file, which need not be there yet, as long as the context lasts.

    Raises SettingsError when another desk, of this process or another, has them; OutputError when no lock can be set.
    """
    return locked(path, "being edited by another review desk")
