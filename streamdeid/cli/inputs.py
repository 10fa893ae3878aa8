"""Finds the files that a command line stands for, and the place of each result."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streamdeid.core.system_reason import system_reason
from streamdeid.errors import InputError, OutputError, SettingsError

SUFFIX = "_deidentified"
FALLBACK = ".mkv"
"""Container of the result where the input's own cannot be written; it takes nearly every sound codec."""

# fmt: off
_VIDEOS = frozenset({
    ".3gp", ".asf", ".avi", ".dv", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".mxf",
    ".ogv", ".ts", ".vob", ".webm", ".wmv",
})
# fmt: on
_WILD = frozenset("*?[")


@dataclass(frozen=True)
class Job:
    """One file to filter."""

    input: Path
    output: Path


def plan(arguments: Sequence[str], output: Path | None, writable: Sequence[str]) -> list[Job]:
    """The jobs that INPUT and OUTPUT arguments stand for.

    arguments: if there are exactly two, the second is the output, as for `cp`; if there are more, the last one is the
    output if it is a directory. output: from `--output`; if it is given, every argument is an input. A directory stands
    for the videos in it, but not for those in its sub-directories nor for earlier results. A pattern stands for the
    files that it matches. writable: extensions that can be written. The directory for the results of several files is
    made.

    Raises InputError when nothing is found, SettingsError for addresses and for results that would overwrite each
    other, OutputError when the directory cannot be made.
    """
    inputs = list(arguments)
    if output is None and (len(inputs) == 2 or (len(inputs) > 2 and Path(inputs[-1]).is_dir())):
        output = Path(inputs.pop())
    files: list[Path] = []
    for argument in inputs:
        files += files_of(argument)
    several = files != [Path(inputs[0])]
    jobs = [Job(file, _result(file, output, several, writable)) for file in files]
    taken: dict[Path, Path] = {}
    for job in jobs:
        other = taken.setdefault(job.output.absolute(), job.input)
        if other is not job.input:
            raise SettingsError(f"the results of {other} and {job.input} would have the same name, {job.output.name}")
    if several and output is not None:
        make_directory(output)
    return jobs


def files_of(argument: str) -> list[Path]:
    """The files of this machine that an argument stands for. Raises InputError, and SettingsError for an address."""
    if "://" in argument:
        # The message does not repeat the address, which can hold a password.
        raise SettingsError("this command filters files and directories, not addresses")
    path = Path(argument)
    if path.is_dir():
        try:
            found = sorted(entry for entry in path.iterdir() if is_video_name(entry.name) and entry.is_file())
        except OSError as error:
            raise InputError(f"{path} cannot be read: {system_reason(error)}") from error
        if not found:
            raise InputError(f"{path} holds no videos")
        return found
    if _WILD & set(argument) and not path.exists():
        found = sorted(Path(match) for match in glob.glob(argument) if Path(match).is_file())
        if not found:
            raise InputError(f"no file matches {argument}")
        return found
    return [path]


def is_video_name(name: str) -> bool:
    """Whether a file's name in a folder is that of a recording: a video, not hidden, and not an earlier result."""
    path = Path(name)
    return path.suffix.lower() in _VIDEOS and not (name.startswith(".") or path.stem.endswith(SUFFIX))


def _result(file: Path, output: Path | None, several: bool, writable: Sequence[str]) -> Path:
    name = result_name(file.name, writable)
    if output is None:
        return file.with_name(name)
    return output / name if several or output.is_dir() else output


def result_name(name: str, writable: Sequence[str]) -> str:
    """The name of the result of a recording with this name. writable: extensions that can be written."""
    path = Path(name)
    return f"{path.stem}{SUFFIX}{path.suffix if path.suffix.lower() in writable else FALLBACK}"


def make_directory(path: Path) -> None:
    """Make a directory for results if there is none. Raises OutputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path} cannot be made: {system_reason(error)}") from error
