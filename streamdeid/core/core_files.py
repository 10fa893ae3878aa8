"""Core files: what a process that dies of a fault leaves behind is its memory, with faces and keys in it."""

from __future__ import annotations

import sys


def no_core_files() -> None:
    """This process and those that it starts write no core file when they die, and cannot be made to again.

    The command line and every process of a run call it first of all. The library does not: that limit is its host's,
    which may call it. Windows has no such files, and no limit.

    What it does not do is keep other processes of the same user from reading this one's memory, or a program to which
    the system hands the memory of what died (`/proc/sys/kernel/core_pattern` begins with `|`) from getting it: that
    one is told the limit, and has to heed it. PR_SET_DUMPABLE would stop both, but it is gone at each `exec`, gives
    what is in /proc of this process to root, so that its user can neither trace nor measure it any more, and a process
    that cannot be watched is no better kept from its own user, who can read the key file.
    """
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
