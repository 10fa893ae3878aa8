"""No core files: a process that dies of a fault would leave its memory in one, with faces and keys in it."""

from __future__ import annotations

import sys


def no_core_files() -> None:
    """Prevent, for good, that this process and those that it starts write a core file when they die.

    The command line and every process of a run call it first of all. The library does not: the host program of the
    library decides about this limit, and may call it. Windows has no such files, and no limit.

    It does not keep other processes of the same user from reading this one's memory. Nor does it keep the memory of a
    dead process from a program that the system passes it to (`/proc/sys/kernel/core_pattern` begins with `|`): that
    program is told the limit, and has to respect it. PR_SET_DUMPABLE would stop both. But each `exec` resets it, and it
    gives the files in /proc of this process to root, so that its user can no longer trace or measure it. Nor would it
    protect the process from its own user, who can read the key file.
    """
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
