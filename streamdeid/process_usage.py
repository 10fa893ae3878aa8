"""CPU time and memory of a process, read from Linux's /proc; zeros for memory where there is none."""

from __future__ import annotations

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


def _resident(path: Path) -> int:
    try:
        return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
