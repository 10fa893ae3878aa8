"""A box for processes, as small as a small machine: one core, so much memory, no swap. Linux control groups, version 1.

Needs root and the groups' first version (`/sys/fs/cgroup/memory`). With version 2 let systemd make the box and count by
`systemd-cgtop`: `systemd-run --scope -p MemoryMax=512M -p MemorySwapMax=0 -p AllowedCPUs=0 ...`.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_KINDS = ("memory", "cpuset", "cpu", "cpuacct")
_SHARES = 8192
"""Weight of the box against what else runs on its core, 8 times the usual: a board's core runs nothing else."""
_MIB = 1 << 20


@dataclass(frozen=True)
class Used:
    """What all processes in the box use."""

    cpu_seconds: float
    own_mib: float
    """Memory of their own that is in use now."""
    charged_mib: float
    """With pages of files that were first read in the box, now."""
    most_mib: float
    """The most that was ever charged."""
    full: int
    """Times that the limit was met, and pages of files were taken back."""
    killed: int
    """Processes ended because nothing could be taken back."""


class Box:
    """Use it in a `with` statement; `enter` is for a child that is to run in it (`preexec_fn`).

    mebibytes: memory, swap included. core: the number of the processor. Raises OSError where boxes cannot be made.
    """

    def __init__(self, mebibytes: int, core: int) -> None:
        name = f"streamdeid-box-{os.getpid()}-{time.monotonic_ns()}"
        self._folders = {kind: _GROUPS / kind / name for kind in _KINDS}
        self._limit, self._core = mebibytes * _MIB, core

    def __enter__(self) -> Box:
        made = contextlib.ExitStack()
        with made:
            for folder in self._folders.values():
                folder.mkdir()
                made.callback(folder.rmdir)
            self._write("memory", "memory.limit_in_bytes", self._limit)
            self._write("memory", "memory.memsw.limit_in_bytes", self._limit)
            self._write("cpuset", "cpuset.cpus", self._core)
            self._write("cpuset", "cpuset.mems", 0)
            self._write("cpu", "cpu.shares", _SHARES)
            self._left = made.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        time.sleep(0.5)  # those who left are still counted for a moment
        self._left.close()

    def enter(self) -> None:
        """Move the calling process into the box."""
        for kind in _KINDS:
            self._write(kind, "cgroup.procs", os.getpid())

    def used(self) -> Used:
        """What it uses now."""
        table = dict(line.split() for line in self._read("memory", "memory.stat").splitlines())
        events = dict(line.split() for line in self._read("memory", "memory.oom_control").splitlines())
        return Used(
            int(self._read("cpuacct", "cpuacct.usage")) / 1e9,
            int(table["total_rss"]) / _MIB,
            int(self._read("memory", "memory.usage_in_bytes")) / _MIB,
            int(self._read("memory", "memory.max_usage_in_bytes")) / _MIB,
            int(self._read("memory", "memory.failcnt")),
            int(events["oom_kill"]),
        )

    def _write(self, kind: str, name: str, value: int) -> None:
        (self._folders[kind] / name).write_text(str(value), encoding="ascii")

    def _read(self, kind: str, name: str) -> str:
        return (self._folders[kind] / name).read_text(encoding="ascii")
