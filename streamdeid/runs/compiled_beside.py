"""Compiles kernels that were never compiled on this machine in several processes at the same time.

numba compiles one function at a time in a process, and a first start needs some 30 s of compilation. `kernels.txt`
names the kernels that a first picture needs, with their signatures. When one of them is called and was not kept, and
the program allowed it (`allow`), several processes share the missing kernels. Each takes one module of kernels at a
time, the largest first, but a module that a caller waits for goes before all others. The processes keep compiled
kernels in the usual place. They also send them to this process, which needs that where nothing can be written.
Decoding, detectors and models go on meanwhile; only the caller of a missing kernel waits for it. A kernel that does not
arrive is compiled by its caller: nothing depends on these processes.

To make `kernels.txt` anew after a change of kernels, run this twice (tests check that each line names a kernel and its
types):

    python -c "import streamdeid; streamdeid.warm_up(); from streamdeid.runs.compiled_beside import used; print(used())"
"""

from __future__ import annotations

import ast
import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from numba import types

from streamdeid.core import kernel_cache
from streamdeid.core.child_process import child_command, child_environment
from streamdeid.core.kernel_cache import KernelCache, caches
from streamdeid.core.process_usage import processors

_LIST = Path(__file__).with_name("kernels.txt")
_PROGRAM = "streamdeid.runs.compiled_beside:compile_for_another"
_LEAST = 0.2
"""Least share of the list that must be missing: a process takes a second before it compiles anything."""
_MOST = 8
"""Largest number of processes; the imports of each take 150 MB."""
_SHAPES = {"Array", "Tuple", "UniTuple"}


@dataclass(frozen=True)
class Listed:
    """A kernel that a first picture needs, with one of its signatures."""

    module: str
    name: str
    signature: tuple[types.Type, ...]
    size: int
    """Bytes of its cache entry, a measure of how long it takes to compile."""


@cache
def listed() -> tuple[Listed, ...]:
    """The kernels that `kernels.txt` names."""
    found = []
    for line in _LIST.read_text(encoding="ascii").splitlines():
        size, module, name, signature = line.split(maxsplit=3)
        found.append(Listed(module, name, signature_of(signature), int(size)))
    return tuple(found)


def signature_of(text: str) -> tuple[types.Type, ...]:
    """The signature in a text as numba prints it, `(Array(float64, 2, 'C', False, aligned=True), int64)`.

    Raises ValueError."""
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.Tuple):
        raise ValueError(f"no signature: {text}")
    return tuple(_value(one) for one in tree.elts)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and isinstance(found := getattr(types, node.id, None), types.Type):
        return found
    if isinstance(node, ast.Tuple):
        return tuple(_value(one) for one in node.elts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SHAPES:
        named = {str(one.arg): _value(one.value) for one in node.keywords}
        return getattr(types, node.func.id)(*map(_value, node.args), **named)
    raise ValueError(f"no type: {ast.unparse(node)}")


def used() -> str:
    """The list for `kernels.txt`: the kernels that this process called. Exact where all were loaded, not compiled."""
    lines = []
    for module, name, kernel in _kernels():
        for signature, result in kernel.overloads.items():
            size = sum(len(data) for data in kernel._cache.entries.values()) // len(kernel._cache.entries)
            if result is not None:
                lines.append(f"{size} {module} {name} {signature!r}")
    return "\n".join(sorted(lines, key=lambda line: line.split(maxsplit=1)[1]))


def _kernels() -> Iterator[tuple[str, str, Any]]:
    """Module, name and dispatcher of the kernels that were imported."""
    for module in list(sys.modules):
        if module.partition(".")[0] == __name__.partition(".")[0]:
            for name, value in vars(sys.modules[module]).items():
                if isinstance(getattr(value, "_cache", None), KernelCache) and value.py_func.__module__ == module:
                    yield module, name, value


def allow(told: Callable[[str], None] = lambda text: None) -> None:
    """Compile missing kernels in several processes from now on. told: called once, with a message, when that begins."""
    kernel_cache.compile_elsewhere(_Beside(told).wait_for)


def compile_listed() -> None:
    """Compile the listed kernels that are kept nowhere, and keep them."""
    for one in listed():
        import_module(one.module)
    allow()
    for one in listed():
        getattr(import_module(one.module), one.name).compile(one.signature)


class _Beside:
    """The missing kernels, and the processes that compile them."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        self._changed = threading.Condition()
        self._waiting: list[str] | None = None
        """Modules that no process compiles yet, the next one last. None before the first kernel is asked for."""
        self._busy: dict[str, int] = {}
        """Modules that are being compiled."""
        self._processes: list[subprocess.Popen[bytes]] = []

    def wait_for(self, asking: KernelCache, file_name: str) -> None:
        """Return when the cache entry of this name is there, or will not come."""
        module = asking.name.rpartition(".")[0]
        with self._changed:
            if self._waiting is None:
                self._waiting = _missing()
                self._begin(min(_MOST, processors(), len(self._waiting)))
            if module in self._waiting:
                self._waiting.remove(module)
                self._waiting.append(module)
            self._changed.wait_for(lambda: file_name in asking.entries or not self._is_coming(module))

    def _is_coming(self, module: str) -> bool:
        return module in self._busy or (bool(self._processes) and module in (self._waiting or ()))

    def _begin(self, processes: int) -> None:
        if processes < 2:  # a single process would only compete with this one
            self._waiting = []
            return
        self._told("compiling for this machine, which is done once")
        atexit.register(self._end)
        for _ in range(processes):
            with suppress(OSError):
                self._processes.append(
                    subprocess.Popen(
                        child_command(_PROGRAM),
                        env=child_environment(),
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                    )
                )
        for process in self._processes:
            threading.Thread(target=self._feed, args=(process,), name="kernels", daemon=True).start()

    def _feed(self, process: subprocess.Popen[bytes]) -> None:
        """Give a process one module after another and take what it compiled, until no module is left or it dies."""
        assert process.stdin is not None and process.stdout is not None
        known = {one.name: one for one in caches()}
        module = ""
        with process, suppress(OSError, ValueError):
            while module := self._next():
                process.stdin.write(f"{module}\n".encode())
                process.stdin.flush()
                while (line := process.stdout.readline()) != b"\n":
                    name, file_name, size = line.decode().split()  # ValueError where the process died
                    place = process.stdout.readline().rstrip(b"\n")
                    data = process.stdout.read(int(size))
                    with self._changed:
                        if len(data) == int(size) and name in known:
                            known[name].take(file_name, data, Path(os.fsdecode(place)) if place else None)
                        self._changed.notify_all()
                self._done(module)
            process.stdin.close()
        self._done(module)
        with self._changed:
            self._processes.remove(process)
            self._changed.notify_all()

    def _next(self) -> str:
        with self._changed:
            if not self._waiting:
                return ""
            module = self._waiting.pop()
            self._busy[module] = 1
            return module

    def _done(self, module: str) -> None:
        with self._changed:
            self._busy.pop(module, None)
            self._changed.notify_all()

    def _end(self) -> None:
        with self._changed:
            self._waiting = []
            for process in self._processes:
                process.kill()


def _missing() -> list[str]:
    """Modules with listed kernels that are kept nowhere, the slowest to compile last; none where most are kept."""
    found = {(module, name): kernel for module, name, kernel in _kernels()}
    sizes: dict[str, int] = {}
    for one in listed():
        kernel = found.get((one.module, one.name))  # a kernel that is not imported is not needed
        if kernel is not None and not kernel._cache.keeps(one.signature, kernel.targetctx):
            sizes[one.module] = sizes.get(one.module, 0) + one.size
    few = sum(sizes.values()) < _LEAST * sum(one.size for one in listed())
    return [] if few else sorted(sizes, key=lambda module: sizes[module])


def compile_for_another() -> int:
    """Compile the listed kernels of each module that is named on standard input; the program of such a process.

    For each entry that was compiled or found it writes a line (name of the kernel, name of the entry, size), a line
    with the path where the entry is kept, and the entry's bytes; an empty line ends the answer for a module.
    """
    out, sent = os.fdopen(os.dup(1), "wb"), set[str]()
    os.dup2(2, 1)  # what a library prints must not get into the answer
    for line in sys.stdin:
        module = line.strip()
        for one in listed():
            if one.module == module:
                with suppress(Exception):  # the process that needs the kernel compiles it, and reports the error
                    getattr(import_module(module), one.name).compile(one.signature)
                for entry in caches():
                    for file_name in entry.entries.keys() - sent:
                        sent.add(file_name)
                        data, path = entry.entries[file_name], entry.path_of(file_name)
                        head = f"{entry.name} {file_name} {len(data)}\n".encode()
                        out.write(head + os.fsencode(path or "") + b"\n" + data)
                out.flush()
        out.write(b"\n")
        out.flush()
    return 0
