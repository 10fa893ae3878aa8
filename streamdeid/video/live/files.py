"""Names of live files: the next file's name, which files are deleted, and the leftovers of a killed HLS muxer."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import time
from collections import deque
from pathlib import Path

from streamdeid.core.addresses import is_address
from streamdeid.core.atomic_file import remove
from streamdeid.errors import OutputError, SettingsError

_STAMP = "%Y%m%d-%H%M%S"
_DIGITS = {"%Y": r"\d{4}", "%j": r"\d{3}", "%%": "%"} | dict.fromkeys(("%m", "%d", "%H", "%M", "%S", "%y"), r"\d{2}")
_HEADER = 1500
"""Bytes; a file without a picture is smaller than this."""


class FileNames:
    """Gives a live run's files their names, and deletes the oldest files with such names, also of earlier runs.

    The last part of the path may hold fields of strftime. Without them, the first file of an output that is not rotated
    has the plain name; all other files get the time before the extension. Raises SettingsError when the fields make a
    name with a / in it, or when the first file exists and may not be overwritten; raises OutputError when the file
    cannot be written, for example because its directory does not exist.
    """

    def __init__(self, path: str, *, rotating: bool, keep: int | None, overwrite: bool) -> None:
        self._path = Path(path).absolute()
        check_directory(self._path)
        self._keep = keep
        self._own: deque[Path] = deque()
        self._plain: Path | None = None
        if rotating and keep is not None:
            self._own.extend(self._earlier())
        if "/" in time.strftime(self._path.name):  # for example from %D and %x
            raise SettingsError(f"{self._path.name} makes a name with a / in it; use other fields of strftime")
        if not rotating:
            self._plain = self._path.with_name(time.strftime(self._path.name))
            check_free(self._plain, overwrite)

    def following(self) -> Path:
        """The name of the next file. No such file exists yet, except a first file that may be overwritten."""
        path, self._plain = self._plain, None
        if path is None:
            first = self._path.with_name(time.strftime(self._fields()))
            numbered = (first.with_name(f"{first.stem}-{number}{first.suffix}") for number in itertools.count(1))
            path = next(path for path in itertools.chain([first], numbered) if not path.exists())
        return path

    def _fields(self) -> str:
        return _with_fields(self._path)

    def _earlier(self) -> list[Path]:
        """Files of earlier runs with such names, oldest first; none where a field is not a plain number."""
        name = _names_of(self._fields())
        if name is None:
            return []
        with contextlib.suppress(OSError):
            found = [path for path in self._path.parent.iterdir() if name.fullmatch(path.name) and path.is_file()]
            return sorted(found, key=lambda path: path.stat().st_mtime)
        return []

    def opened(self, path: Path) -> None:
        """Count a file that exists now, and delete the oldest files where there are too many.

        A file that never got a picture, for example because the disk was full, is deleted or at least not counted: no
        recording must be deleted because of it.
        """
        if self._own and _size(self._own[-1]) == 0:
            remove(self._own.pop())
        self._own.append(path)
        while self._keep is not None and sum(one == path or _size(one) >= _HEADER for one in self._own) > self._keep:
            remove(self._own.popleft())


class Playlist:
    """An HLS playlist with its segments beside it. Raises SettingsError and OutputError as `FileNames` does."""

    def __init__(self, path: str, *, overwrite: bool) -> None:
        self.path = Path(path).absolute()
        check_directory(self.path)
        check_free(self.path, overwrite)
        # Segments of each run have different names, because players and proxies keep the segments they have fetched.
        self._prefix = f"{self.path.stem}-{time.strftime(_STAMP)}-{os.getpid()}-"
        self._overwrite = overwrite
        self._begun = False

    def options(self) -> dict[str, str]:
        """The muxer's options for the next opening; the playlist is continued, with a discontinuity."""
        segments = str(self.path.with_name(self._prefix)).replace("%", "%%") + "%06d.ts"
        options = {"hls_segment_filename": segments}
        if self._begun and self.path.exists():
            self._clear()
            options["hls_flags"] = "append_list"
        elif not self._begun and self._overwrite:
            self._clear_earlier()
        self._begun = True
        return options

    def end(self) -> None:
        """Write the end mark into the playlist."""
        with contextlib.suppress(OSError):
            temporary = self.path.with_name(f"{self._prefix}list.tmp")
            remove(temporary)
            with temporary.open("xb") as file:  # never writes through a link that somebody put there
                file.write(self.path.read_bytes() + b"#EXT-X-ENDLIST\n")
            os.replace(temporary, self.path)

    def _clear(self) -> None:
        """Delete the segments that a killed muxer did not put into the playlist."""
        with contextlib.suppress(OSError):
            listed = set(self.path.read_bytes().splitlines())  # bytes, because a name need not be UTF-8
            for path in self.path.parent.iterdir():
                if path.name.startswith(self._prefix) and os.fsencode(path.name) not in listed:
                    remove(path)

    def _clear_earlier(self) -> None:
        """Delete the segments of earlier runs: their playlist is about to be overwritten, so nothing else would."""
        segment = _segments_of(self.path)
        with contextlib.suppress(OSError):
            for path in self.path.parent.iterdir():
                if segment.fullmatch(path.name) and not path.name.startswith(self._prefix):
                    remove(path)


def deletes(output: str, path: Path, *, keeps: bool, overwrite: bool) -> bool:
    """Whether a live output deletes an existing file, because the file has a name like one of an earlier run.

    keeps: whether the number of files that are kept is limited.
    """
    if is_address(output):
        return False
    target = Path(output).absolute()
    if path.resolve().parent != target.resolve().parent:
        return False
    if target.suffix.lower() == ".m3u8":
        return overwrite and _segments_of(target).fullmatch(path.resolve().name) is not None
    names = _names_of(_with_fields(target)) if keeps else None
    return names is not None and names.fullmatch(path.resolve().name) is not None


def _with_fields(path: Path) -> str:
    """The last part of a path; fields of strftime are added where it has none."""
    return path.name if "%" in path.stem else f"{path.stem}-{_STAMP}{path.suffix}"


def _names_of(fields: str) -> re.Pattern[str] | None:
    """The pattern of the names that fields of strftime can make; None where a field is not a plain number."""
    parts = re.split(r"(%.)", Path(fields).stem)
    if any(part.startswith("%") and part not in _DIGITS for part in parts):
        return None
    pattern = "".join(_DIGITS.get(part, re.escape(part)) for part in parts)
    return re.compile(rf"{pattern}(-\d+)?{re.escape(Path(fields).suffix)}")


def _segments_of(playlist: Path) -> re.Pattern[str]:
    """The pattern of the names of a playlist's segments, of any run."""
    return re.compile(re.escape(playlist.stem) + r"-\d{8}-\d{6}-\d+-\d{6,}\.ts(\.tmp)?")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def check_directory(path: Path) -> None:
    """Raise OutputError when no file can be made at this path."""
    if path.is_dir():
        raise OutputError(f"{path} cannot be written: it is a directory")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: its directory does not exist")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path} cannot be written: permission denied")


def check_free(path: Path, overwrite: bool) -> None:
    """Raise SettingsError for a file that may not be overwritten, OutputError for a path that is not a regular file."""
    if not path.exists():
        return
    if not path.is_file():
        raise OutputError(f"{path} cannot be written: it is not a regular file")
    if not overwrite:
        raise SettingsError(f"{path} exists already; use --overwrite to replace it")
