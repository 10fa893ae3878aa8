"""Which files each command reads and writes: one table, and the one check that no file is two things at once.

A report that is written over the recording that it tells of destroys it. So before a command does anything, each file
that it writes is compared with all that it reads and all else that it writes: by device and inode, links followed, and,
where there is nothing yet, by the folder and the name that the path leads to.
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
    """What a command does with files, by what they are to it."""

    reads: Sequence[str]
    writes: Sequence[str]
    """New ones, or new contents of old ones; they may be read before."""


_SETTINGS = (KEY, WHITELIST, RECOGNISER, MODELS)
"""What settings of a filter name, and nothing but reads."""
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
"""Every command that there is. `warmup` writes kernels and bytecode, whose names no user gives."""

_MANY = (KEY, REGISTER, WHITELIST, RECOGNISER, MODELS, LOCK)
"""What several recordings or cameras of one run may share, though it is written: who writes it holds its lock."""


@dataclass(frozen=True)
class Named:
    """A file that a command line or a setting names."""

    role: str
    """One of those above."""
    path: Path


def lock_of(path: Path) -> Path:
    """The file beside another one that a lock on that is set on; it is made, and removed at the end."""
    return path.parent / f".{path.name}.lock"


def check_named(command: str, named: Iterable[Named]) -> None:
    """Raise SettingsError where a file that the command writes is also something else to it.

    named: every file that it is going to use. Roles that the table does not give the command raise ValueError.
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
    """Raise SettingsError where two names of one file do not go together."""
    if one.role not in written and other.role not in written:
        return
    if one.role == other.role and one.role in _MANY:
        return
    first, second = (one, other) if one.role in written else (other, one)
    if first.role == second.role:
        raise SettingsError(f"{first.path} and {second.path} are one file, and cannot be the {first.role} of both")
    raise SettingsError(f"{first.path} is the {second.role} itself; choose another {first.role}")


def _marks(path: Path) -> set[tuple[object, ...]]:
    """What two paths have in common where they are one file, or would be once it is there."""
    marks: set[tuple[object, ...]] = set()
    try:
        # It follows what links there are and keeps the rest of a path, be it there or not; a link to itself stays.
        places = {os.path.realpath(path), os.path.join(os.path.realpath(path.parent), path.name)}
    except ValueError:  # a name that no file can have: nothing comes to be there
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
    """A name as file systems compare it that mind neither case nor how accents are coded, where these are usual."""
    if sys.platform not in ("darwin", "win32"):
        return name
    return unicodedata.normalize("NFC", name).casefold()
