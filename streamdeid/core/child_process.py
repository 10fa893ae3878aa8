"""How all processes of a run are started: they run a function of this package, and no code of the current directory.

`python -c` and `python -m` search the current directory first, whatever lies there: a folder of recordings could hold
its own `base64.py`. Python 3.11 can be told not to search it (`-P`), 3.10 cannot, and `-I`, which would do, also drops
the user's own packages and PYTHONPATH. So the first statement of a process removes the current directory from the
searched places, before it imports anything that Python itself has not imported by then.

A process gets the environment of its parent; whoever set that could have used it against the parent as well. The
exception is what depends on the current directory: only the absolute places of PYTHONPATH are kept (an empty one stands
for the current directory). PYTHONSAFEPATH is set for the processes that a process starts in its turn, and
OPENBLAS_NUM_THREADS is 1 where nobody set it (`cli.main`).
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
"""Directory in which this package was found. A process must find the same package."""
_PROGRAM = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; "
    "{home!r} in sys.path or sys.path.insert(0, {home!r}); "
    "from streamdeid.core.child_process import run; run({function!r})"
)


def child_command(function: str, *words: str) -> list[str]:
    """Program and arguments of a process that calls a function of this package and exits with its return value.

    function: `package.module:name`, without arguments. words: its `sys.argv[1:]`; `ps` shows them.
    """
    return [sys.executable, "-c", _PROGRAM.format(home=_HOME, function=function), *words]


def child_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a child process. given: used instead of this process's own environment."""
    known = dict(os.environ if given is None else given)
    places = [place for place in known.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(place)]
    if places:
        known["PYTHONPATH"] = os.pathsep.join(places)
    return {"OPENBLAS_NUM_THREADS": "1", **known, "PYTHONSAFEPATH": "1"}


def run(function: str) -> None:
    """Call the function that the process was started for; its value becomes the exit code."""
    from importlib import import_module

    def called() -> int | None:
        gc.disable()  # until all is imported: it would search objects that only become more, a tenth of the start
        module, _, name = function.partition(":")
        call: Any = getattr(import_module(module), name)
        gc.freeze()  # modules stay: they need not be searched again and again
        gc.enable()
        code: int | None = call()
        return code

    no_core_files()
    end_with(called)
