"""CPU time and memory of a process: read from Linux's /proc (zeros for memory where there is none), and held down."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import time
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Names of glibc's `mallopt`."""
_LARGE, _KEPT, _ARENAS = 4 << 20, 32 << 20, 2
"""Bytes from which a block goes back to the system when it is freed: what is made and dropped at the start, not the
planes of 1080p, whose pages would be cleared again for each frame. Bytes that the heap keeps at its end. Heaps."""


def be_frugal() -> None:
    """For a process that filters and nothing else, before its threads start: one thread for OpenCV, whose work here is
    in pieces too small to share (8 % of the CPU time of 1080p), and a heap that gives back what the start needed
    (30 MiB of a camera's smaller stream)."""
    import cv2

    cv2.setNumThreads(1)
    with contextlib.suppress(AttributeError, OSError):  # another C library
        library = ctypes.CDLL(None)
        for name, value in ((_M_ARENA_MAX, _ARENAS), (_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _KEPT)):
            library.mallopt(name, value)


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
