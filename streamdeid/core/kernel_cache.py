"""Compiled kernels on disk, so that only the first start ever compiles.

numba's own cache must write wherever it reads. On a read-only image that was filled when it was built, numba 0.68
compiles again when the user has another directory to write to, and refuses to import at all ("no locator available")
when there is none, even with `NUMBA_CACHE_DIR`. Here every place is read, and the first that can be written is written.
Where there is none, kernels are compiled in memory, and nothing fails. The places, in this order:

1. `NUMBA_CACHE_DIR`, where it is set,
2. `__pycache__` beside the source, inside an installed package or an image,
3. the user's cache directory (`XDG_CACHE_HOME` or `~/.cache`; `LOCALAPPDATA` on Windows).

An entry belongs to one signature, to all that its code was made from (`KernelCache.stamp`), to versions of Python,
numba and NumPy, and to a processor with its features: another processor compiles for itself. The code of a kernel
contains the code of the kernels that it calls and the values of the constants that it names, from whatever file they
are. So sources count by their content (not their date: images and wheels change dates), constants by their value, and a
kernel that names anything else is not kept. An entry carries its own SHA-256, since a power cut may leave half a file.
Entries are pickles, as numba's are, so whoever writes one can run code. Therefore only files of this user, of root, or
of the owner of the source are read, and none that everybody may write (POSIX).
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numba
import numpy as np
from numba import njit
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

_SUFFIX = ".kernel"
_DIGEST = 32
"""Bytes of the SHA-256 at the head of an entry."""
_LIBRARIES = {"math", "numpy"}
"""Modules that a kernel may name: numba has its own code for their functions."""
_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])


class KernelCache:
    """The cache of one function: numba's dispatcher looks here before it compiles, and stores what it compiled.

    The methods are those that `numba.core.dispatcher` calls; none of them raises.
    """

    def __init__(self, function: FunctionType, options: str) -> None:
        """options: the options of the compiler, as text."""
        self._function = function
        self._source = Path(function.__code__.co_filename)
        self.name = f"{function.__module__}.{function.__qualname__}"
        try:
            content = self._source.read_bytes()
        except OSError:
            content = b""  # in a zip file, for example: versions cannot be told apart, so nothing is kept
        self._owners = _trusted(self._source)
        own = content + function.__code__.co_code + options.encode()
        self._own = hashlib.sha256(own).hexdigest() if content else ""
        self.entries: dict[str, bytes] = {}
        """Entries that this process compiled or loaded, by file name."""
        self.found: list[Path] = []
        """Entries that were loaded."""
        self.stored: list[Path] = []
        """Entries that were written."""
        self.compiled = 0
        """Signatures that this process had to compile."""
        self.cache_path: str | None = None
        """Read by numba's statistics; there is no single path."""

    def stamp(self, calling: frozenset[int] = frozenset()) -> str:
        """Hash of what this kernel is made from: its source and options, the constants that it names, and the stamps of
        the kernels that it names. Empty where that is unknown; then nothing is kept. calling: the caches that ask."""
        if id(self) in calling:  # a kernel that calls itself is already in the stamp of the first call
            return "itself"
        function, told = self._function, [self._own]
        named = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        named.update((name, cell.cell_contents) for name, cell in cells)
        for name, value in sorted(named.items()):
            cache = getattr(value, "_cache", None)
            known = cache.stamp(calling | {id(self)}) if isinstance(cache, KernelCache) else _constant(value)
            told += [name, known]
        return hashlib.sha256(repr(told).encode()).hexdigest() if all(told) else ""

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function for a signature (its argument types), or None."""
        target.refresh()  # numba does this first: a loaded function needs its symbols
        stamp = self.stamp()
        if not stamp:
            return None
        name = self._file_name(signature, target.codegen(), stamp)
        for place in places(self._source):
            path = place / name
            try:
                data = _read(path, self._owners)
            except OSError:
                continue
            result = _rebuilt(data, signature, target)
            if result is not None:
                if name not in self.entries:
                    self.found.append(path)
                self.entries[name] = data
                return result
        if name not in self.entries:
            for wait in _ELSEWHERE:
                wait(self, name)
        return _rebuilt(self.entries[name], signature, target) if name in self.entries else None

    def keeps(self, signature: Any, target: Any) -> bool:
        """Whether any place has an entry for a signature, whether or not it can be used."""
        stamp = self.stamp()
        name = self._file_name(signature, target.codegen(), stamp)
        return bool(stamp) and any((place / name).is_file() for place in places(self._source))

    def take(self, name: str, data: bytes, path: Path | None) -> None:
        """Take an entry that another process compiled for this one. path: where that process keeps it; None if not."""
        if name not in self.entries:
            self.entries[name] = data
            self.compiled += 1
            self.stored += [] if path is None else [path]

    def path_of(self, name: str) -> Path | None:
        """Path of an entry of this process; None where it is not kept."""
        return next((path for path in (*self.stored, *self.found) if path.name == name), None)

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code that was compiled for a signature, in the first place that can be written."""
        self.compiled += 1
        _log.info("compiled %s", self.name)
        try:
            stamp = self.stamp()
            if not stamp or result.library.has_dynamic_globals:
                return
            content = dumps(result._reduce())
            name = self._file_name(signature, result.codegen, stamp)
        except Exception:  # another version of numba than this was written for: the code runs, and is not kept
            _log.warning("%s cannot be kept", self.name, exc_info=True)
            return
        self.entries[name] = hashlib.sha256(content).digest() + content
        for place in places(self._source):
            if _written(place / name, self.entries[name]):
                self.stored.append(place / name)
                return

    def flush(self) -> None:
        """Do nothing: an entry is found by all that it was made from, so none is out of date."""

    def _file_name(self, signature: Any, codegen: Any, stamp: str) -> str:
        python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
        key = repr((numba.__version__, np.__version__, python, repr(signature), codegen.magic_tuple(), stamp))
        return f"{self.name}.{python}.{hashlib.sha256(key.encode()).hexdigest()[:24]}{_SUFFIX}"


_CACHES: list[KernelCache] = []
_ELSEWHERE: list[Callable[[KernelCache, str], None]] = []
"""The function that waits for an entry that is kept nowhere; at most one."""


def kernel(function: _Function) -> _Function:
    """Compile a function with numba when it is first called, or load it. It runs without the interpreter's lock."""
    return _compiled(function, nogil=True)


def reordering_kernel(function: _Function) -> _Function:
    """`kernel` for a function whose sums may be added up in any order, by vector instructions. The last bits of its
    results depend on the processor, and are the same from call to call. nan stays nan."""
    return _compiled(function, nogil=True, fastmath=("contract", "reassoc"))


def _compiled(function: _Function, nogil: bool, fastmath: tuple[str, ...] = ()) -> _Function:
    # Nobody calls a kernel from C: the wrapper that numba would compile for that takes a tenth of all compiling.
    options: dict[str, Any] = {"nogil": nogil, "fastmath": set(fastmath) or False, "no_cfunc_wrapper": True}
    compiled: Any = njit(**options)(function)
    cache = KernelCache(function, repr((nogil, fastmath, "no_cfunc_wrapper")))  # type: ignore[arg-type]
    compiled._cache = cache  # `njit(cache=True)` does the same with numba's own cache
    _CACHES.append(cache)
    return compiled  # type: ignore[no-any-return]


def caches() -> tuple[KernelCache, ...]:
    """The caches of all kernels that were imported."""
    return tuple(_CACHES)


def compile_elsewhere(wait: Callable[[KernelCache, str], None]) -> None:
    """Let another process compile the entries that are kept nowhere (`compiled_beside`). wait: a function that returns
    when the entry was taken, or will not come."""
    _ELSEWHERE[:] = [wait]


def places(source: Path) -> list[Path]:
    """Directories in which the kernels of a source file may lie, the preferred one first."""
    found = [source.parent / "__pycache__"]
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        found.insert(0, shared_place(Path(chosen)))
    home = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(home):  # a user without a home keeps the ~
        found.append(shared_place(Path(home)))
    return found


def shared_place(directory: Path) -> Path:
    """Directory of the kernels in a directory of caches; the same wherever streamdeid is installed."""
    return directory / "streamdeid"


def copy_entries(directory: Path) -> int:
    """Write every kernel that this process uses to a directory for `NUMBA_CACHE_DIR`; returns their number. Raises
    OSError."""
    count = 0
    for cache in _CACHES:
        for name, data in cache.entries.items():
            path = shared_place(directory) / name
            if not _written(path, data):
                raise OSError(f"{directory} cannot be written")
            count += 1
    return count


def _names(code: CodeType) -> set[str]:
    """Names that a function uses, including those of functions inside it."""
    inside = [one for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*map(_names, inside))


def _constant(value: object) -> str:
    """The value of a constant, in full; empty for an object that is not a constant."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, bool | int | float | complex | str | bytes | np.generic) or value is None:
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple):
        parts = [_constant(one) for one in value]
        return repr(parts) if all(parts) else ""
    if isinstance(value, ModuleType):
        return value.__name__ if value.__name__ in _LIBRARIES else ""
    if isinstance(value, type | BuiltinFunctionType | np.ufunc):
        module = getattr(value, "__module__", None) or "numpy"
        return f"{module}.{value.__name__}" if module.partition(".")[0] in {*_LIBRARIES, "builtins"} else ""
    return ""


def _rebuilt(data: bytes, signature: Any, target: Any) -> Any:
    """The function of an entry; None where anything is wrong with it, so that it is compiled again."""
    digest, content = data[:_DIGEST], data[_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        return None
    try:
        result = CompileResult._rebuild(target, *pickle.loads(content))
    except Exception:
        return None
    return result if tuple(result.signature.args) == tuple(signature) else None


def _trusted(source: Path) -> frozenset[int] | None:
    """Users whose entries are run, since they can change the source or this process anyway; None where users have no
    numbers."""
    if not hasattr(os, "geteuid"):
        return None
    try:
        return frozenset((0, os.geteuid(), source.stat().st_uid))
    except OSError:
        return frozenset((0, os.geteuid()))


def _read(path: Path, owners: frozenset[int] | None) -> bytes:
    """The content of an entry. Raises OSError, PermissionError for one that somebody else may have written."""
    with path.open("rb") as file:
        stat = os.fstat(file.fileno())
        if owners is not None and (stat.st_uid not in owners or stat.st_mode & 0o002):
            _log.warning("%s is not run: anybody may have written it", path)
            raise PermissionError(path)
        return file.read()


def _written(path: Path, data: bytes) -> bool:
    """Write a file whole or not at all; returns whether that worked."""
    partial = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(partial, 0o644)  # an image is filled by one user and read by another
        os.replace(partial, path)
    except OSError:
        if partial is not None:
            Path(partial).unlink(missing_ok=True)
        return False
    return True
