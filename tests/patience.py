"""How long tests wait: for events, never for time. On a busy machine an event is late, not absent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE = 600.0
"""Seconds from which nobody waits for an event any more: a service that compiles its kernels first is late, too."""


def eventually(what: Callable[[], Any]) -> Any:
    """The first true value of a function that is asked again and again. Fails after `PATIENCE`."""
    until = time.monotonic() + PATIENCE
    while True:
        value = what()
        if value:
            return value
        assert time.monotonic() < until, f"still {value!r} after {PATIENCE:g} s"
        time.sleep(0.1)


def clock() -> float:
    """Seconds that go by for this thread, without those in which it could have run and had no processor (Linux)."""
    try:
        waited = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()[1]
    except OSError:
        waited = "0"
    return time.monotonic() - int(waited) / 1e9
