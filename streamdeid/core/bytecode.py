"""Bytecode of everything that a process imported, written where the interpreter could not write it, or was told not to.

Installers such as uv leave bytecode out, and images are often built with `PYTHONDONTWRITEBYTECODE`. On a read-only
image each start then parses a million lines. The bytecode written here is tied to the content of the sources, not to
their dates, which images change.
"""

from __future__ import annotations

import importlib.util
import py_compile
import sys
from pathlib import Path

_HEADER = 16
"""Bytes of a header of bytecode (PEP 552): magic number, kind, then date and size or a hash of the source."""


def write_bytecode() -> int:
    """Write missing bytecode of the modules imported so far; returns the number of files. Never raises OSError."""
    count = 0
    for module in list(sys.modules.values()):
        source = getattr(module, "__file__", None)
        if isinstance(source, str) and source.endswith(".py"):
            count += _written(Path(source))
    return count


def _written(source: Path) -> bool:
    if sys.implementation.cache_tag is None:  # an interpreter that keeps no bytecode
        return False
    try:
        target = Path(importlib.util.cache_from_source(str(source)))
        if _fresh(source, target):
            return False
        mode = py_compile.PycInvalidationMode.CHECKED_HASH
        py_compile.compile(str(source), str(target), doraise=True, invalidation_mode=mode)
    except (OSError, py_compile.PyCompileError):  # read-only, or a template that is not Python
        return False
    return True


def _fresh(source: Path, target: Path) -> bool:
    """Whether there is bytecode that the interpreter would use."""
    try:
        with target.open("rb") as file:
            header = file.read(_HEADER)
    except OSError:
        return False
    if len(header) < _HEADER or header[:4] != importlib.util.MAGIC_NUMBER:
        return False
    kind = int.from_bytes(header[4:8], "little")
    if kind & 1:  # by hash; an unchecked hash is always accepted
        return not kind & 2 or header[8:] == importlib.util.source_hash(source.read_bytes())
    stat = source.stat()
    date, size = int(stat.st_mtime) & 0xFFFFFFFF, stat.st_size & 0xFFFFFFFF
    return header[8:] == date.to_bytes(4, "little") + size.to_bytes(4, "little")
