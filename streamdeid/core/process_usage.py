"""CPU time and memory of a process: how they are measured, by Linux's /proc (memory is 0 without it), and kept low."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import time
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_PERTURB, _M_ARENA_MAX = -1, -3, -6, -8
"""Names of glibc's `mallopt`."""
_LARGE, _KEPT, _ARENAS = 4 << 20, 32 << 20, 1
"""`_LARGE`: bytes from which a block goes back to the system when it is freed; it holds for memory that is used only at
the start, not for the planes of 1080p, whose pages would be cleared again for each frame. `_KEPT`: bytes that the heap
keeps at its end. `_ARENAS`: number of heaps; with one, memory that one thread frees serves the others, which takes 10
to 15 MiB less than two, at the same CPU time."""
_DONT_NEED = 4
"""Linux's MADV_DONTNEED."""
_PRESENT, _OF_A_FILE = 0b11 << 62, 1 << 61
"""Bits of an entry of /proc/self/pagemap: in memory or swapped; the file's own page, not a changed copy of it."""
_LIMIT = Path("/sys/fs/cgroup/cpu.max")
"""File in which Linux tells how many microseconds a container may run, and in how many."""
_WORTH = 1 << 17
"""Least bytes of an area that is given back."""


def be_frugal() -> None:
    """Reduce the CPU time and memory of a process that only filters; call it before its threads start.

    OpenCV gets one thread, since its work here is in pieces too small to share (8 % of the CPU time of 1080p). The heap
    gives back the memory that the start needed (30 MiB of a camera's smaller stream)."""
    import cv2

    cv2.setNumThreads(1)
    with contextlib.suppress(AttributeError, OSError):  # another C library
        library = ctypes.CDLL(None)
        for name, value in ((_M_ARENA_MAX, _ARENAS), (_M_MMAP_THRESHOLD, _LARGE), (_M_TRIM_THRESHOLD, _KEPT)):
            library.mallopt(name, value)


def processors() -> int:
    """Number of processors that this process may use, at least 1; a container's limit counts, rounded down."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _LIMIT.read_text().split()
        return max(1, min(there, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no such limit, or "max"
        return there


def clear_new_memory(on: bool) -> None:
    """From now on fill newly allocated memory with zeros, or stop doing so. Nothing happens with another C library.

    It is for a library that reads memory which it never wrote: without it, the same input would give another result.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_PERTURB, 0xFF if on else 0)  # allocated memory is filled with the complement


def own_usage() -> tuple[float, int]:
    """CPU seconds so far and resident bytes now of this process, children left out."""
    return time.process_time(), _resident(Path("/proc/self/statm"))


def cpu_seconds() -> float:
    """CPU seconds so far of this process and of those that it started and that have ended."""
    of = os.times()
    return of.user + of.system + of.children_user + of.children_system


def usage_of(process: int) -> tuple[float, int]:
    """CPU seconds and resident bytes of another process; zeros when it has ended or cannot be read."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
    except (OSError, ValueError, IndexError):
        return 0.0, 0
    return ticks / os.sysconf("SC_CLK_TCK"), _resident(Path(f"/proc/{process}/statm"))


def give_back_memory() -> None:
    """Return freed memory to the system. glibc keeps it otherwise: half a MiB each time that parts are built anew."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def let_go_of_code() -> None:
    """Take the code and constants of libraries out of this process's memory; pages that are used are loaded again.

    Most of them were needed only to start: numba's compiler alone has 60 MiB in memory once the kernels are loaded.
    They are unchanged pages of files, which the system still holds, and are loaded again in pieces of 64 KiB in about
    1 µs. Nothing happens where /proc does not tell which pages are unchanged.
    """
    with contextlib.suppress(AttributeError, OSError, ValueError):  # another system
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        areas = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
        with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
            for place, rights, *_, path in (area for area in areas if len(area) > 5):
                begin, end = (int(side, 16) for side in place.split("-"))
                readable = rights in ("r-xp", "r--p") and path.startswith("/")
                # Changed pages would be lost: the loader wrote addresses into them.
                if readable and end - begin >= _WORTH and _unchanged(pagemap.fileno(), begin, end):
                    advise(begin, end - begin, _DONT_NEED)


def _unchanged(pagemap: int, begin: int, end: int) -> bool:
    """Whether all pages of an area that are in memory are the file's own."""
    import numpy as np  # the service that watches cameras runs without it

    page = os.sysconf("SC_PAGE_SIZE")
    pages = (end - begin) // page
    entries = np.frombuffer(os.pread(pagemap, 8 * pages, 8 * (begin // page)), np.uint64)
    present = entries & np.uint64(_PRESENT) != 0
    return len(entries) == pages and bool((entries[present] & np.uint64(_OF_A_FILE) != 0).all())


def _resident(path: Path) -> int:
    try:
        return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
