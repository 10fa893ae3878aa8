"""How the processes of a run are started, all in one way: a function of this package, and no code of the directory that
the run was started in.

`python -c` and `python -m` search the current directory first, whatever lies there: a folder of recordings could bring
an own `base64.py`. Python 3.11 can be told not to (`-P`), 3.10 cannot, and `-I`, which can, drops the user's own
packages and PYTHONPATH, too. So the first statement of a process takes the current directory off the places that are
searched, before anything is imported but what Python itself has imported by then.

A process is given the environment of the one that starts it, which whoever set it could have used against that one as
well, but for what follows from the current directory: of PYTHONPATH only absolute places are left (an empty one stands
for the current directory). PYTHONSAFEPATH is set, for whatever a process starts in its turn, and OPENBLAS_NUM_THREADS
is 1 where nobody set it (`cli.main`).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from typing import Any

from streamdeid.core.core_files import no_core_files
from streamdeid.core.process_end import end_with

_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""Where this package was found. A process must find the same one."""
_PROGRAM = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; "
    "{home!r} in sys.path or sys.path.insert(0, {home!r}); "
    "from streamdeid.core.child_process import run; run({function!r})"
)


def child_command(function: str, *words: str) -> list[str]:
    """The program and arguments of a process that calls a function of this package and ends with what it returns.

    function: `package.module:name`, without arguments. words: what it finds in `sys.argv[1:]`; `ps` shows them.
    """
    return [sys.executable, "-c", _PROGRAM.format(home=_HOME, function=function), *words]


def child_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for such a process. given: instead of this process's own."""
    known = dict(os.environ if given is None else given)
    places = [place for place in known.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(place)]
    if places:
        known["PYTHONPATH"] = os.pathsep.join(places)
    return {"OPENBLAS_NUM_THREADS": "1", **known, "PYTHONSAFEPATH": "1"}


def run(function: str) -> None:
    """Call the function that the process was started for; its value becomes the exit code."""
    from importlib import import_module

    def called() -> int | None:
        gc.disable()  # until everything is imported: it would look through what only grows, a tenth of the start
        module, _, name = function.partition(":")
        call: Any = getattr(import_module(module), name)
        gc.freeze()  # modules stay: they need not be looked through again and again
        gc.enable()
        code: int | None = call()
        return code

    no_core_files()
    end_with(called)
