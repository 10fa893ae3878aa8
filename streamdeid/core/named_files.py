"""Which files each command reads and writes: one table, and the one check that no file has two roles at once.

A report that is written over its own recording destroys the recording. So before a command does anything, each file
that it writes is compared with all files that it reads and all others that it writes. Files are compared by device and
inode, links followed, and, where there is no file yet, by the folder and the name that the path leads to.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamdeid.errors import SettingsError

INPUT, OUTPUT, REPORT, ANALYSIS, EDITS, JOURNAL, SHEET = (
    "input", "output", "report", "analysis", "edits file", "journal", "sheet",
)  # fmt: skip
KEY, REGISTER, WHITELIST, RECOGNISER, MODELS, LOCK = (
    "key file", "register", "whitelisted picture", "recogniser", "model file", "lock",
)  # fmt: skip
CAMERAS, TOKEN, PHOTOGRAPH, TABLE = "cameras file", "token file", "photograph", "table of people"


@dataclass(frozen=True)
class Uses:
    """The roles of files that a command reads and writes."""

    reads: Sequence[str]
    writes: Sequence[str]
    """Files that the command creates or changes; it may read them before."""


_SETTINGS = (KEY, WHITELIST, RECOGNISER, MODELS)
"""Files that settings of a filter name; they are only read."""
COMMANDS: Mapping[str, Uses] = {
    "filter": Uses((INPUT, *_SETTINGS), (OUTPUT, REPORT, ANALYSIS, EDITS, REGISTER, JOURNAL, LOCK)),
    "serve": Uses((CAMERAS, TOKEN, INPUT, *_SETTINGS), (OUTPUT, REGISTER, LOCK)),
    "register": Uses((KEY,), (REGISTER, LOCK)),
    "review": Uses((INPUT, KEY), (OUTPUT, ANALYSIS, EDITS, LOCK)),
    "demo": Uses((), (OUTPUT, REPORT, SHEET)),
    "compare": Uses((INPUT, OUTPUT), (SHEET,)),
    "train": Uses((PHOTOGRAPH, TABLE), (MODELS,)),
    "evaluate": Uses((PHOTOGRAPH, TABLE, INPUT, RECOGNISER, MODELS), (REPORT,)),
    "audit": Uses((REPORT, INPUT, OUTPUT), ()),
    "warmup": Uses((), ()),
}
"""All commands. `warmup` writes kernels and bytecode, but no user gives their names."""

_MANY = (KEY, REGISTER, WHITELIST, RECOGNISER, MODELS, LOCK)
"""Files that several recordings or cameras of one run may share, though they are written: a writer holds the lock."""


@dataclass(frozen=True)
class Named:
    """A file that a command line or a setting names."""

    role: str
    """One of the roles above."""
    path: Path


def lock_of(path: Path) -> Path:
    """The file beside `path` on which a lock for `path` is set; it is created, and removed at the end."""
    return path.parent / f".{path.name}.lock"


def check_named(command: str, named: Iterable[Named]) -> None:
    """Raise SettingsError where a file that the command writes also has another role in it.

    named: every file that the command is going to use. A role that the table does not give it raises ValueError.
    """
    uses = COMMANDS[command]
    taken: dict[tuple[object, ...], list[Named]] = {}
    for one in named:
        if one.role not in (*uses.reads, *uses.writes):
            raise ValueError(f"{command} is not said to use a {one.role}")
        for mark in _marks(one.path):
            for other in taken.setdefault(mark, []):
                _check_pair(one, other, uses.writes)
            taken[mark].append(one)


def _check_pair(one: Named, other: Named, written: Sequence[str]) -> None:
    """Raise SettingsError where the roles of two names of one file exclude each other."""
    if one.role not in written and other.role not in written:
        return
    if one.role == other.role and one.role in _MANY:
        return
    first, second = (one, other) if one.role in written else (other, one)
    if first.role == second.role:
        raise SettingsError(f"{first.path} and {second.path} are one file, and cannot be the {first.role} of both")
    raise SettingsError(f"{first.path} is the {second.role} itself; choose another {first.role}")


def _marks(path: Path) -> set[tuple[object, ...]]:
    """Marks of a path: two paths share one where they lead to one file, or would lead to one once it exists."""
    marks: set[tuple[object, ...]] = set()
    try:
        # `realpath` follows existing links and keeps the rest of a path, existing or not; a link to itself stays.
        places = {os.path.realpath(path), os.path.join(os.path.realpath(path.parent), path.name)}
    except ValueError:  # a name that no file can have: no file will ever be there
        return marks
    for place in places:
        folder, name = os.path.split(place)
        marks.add((_number(folder) or folder, _alike(name)))
    known = _number(path)
    return marks if known is None else {*marks, known}


def _number(path: str | Path) -> tuple[int, int] | None:
    """Device and inode; None where nothing is there."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino


def _alike(name: str) -> str:
    """A name as it is compared where the usual file systems ignore case and the coding of accents."""
    if sys.platform not in ("darwin", "win32"):
        return name
    return unicodedata.normalize("NFC", name).casefold()
