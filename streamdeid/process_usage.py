"""CPU time and memory of a process, read from Linux's /proc (zeros for memory where there is none), and giving back."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import time
from pathlib import Path


def own_usage() -> tuple[float, int]:
    """CPU seconds so far and resident bytes now of this process, children left out."""
    return time.process_time(), _resident(Path("/proc/self/statm"))


def usage_of(process: int) -> tuple[float, int]:
    """The same of another process; zeros when it has ended or cannot be read."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
    except (OSError, ValueError, IndexError):
        return 0.0, 0
    return ticks / os.sysconf("SC_CLK_TCK"), _resident(Path(f"/proc/{process}/statm"))


def give_back_memory() -> None:
    """Return to the system what was freed. glibc keeps it otherwise: half a MiB each time that parts are built anew."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _resident(path: Path) -> int:
    try:
        return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
