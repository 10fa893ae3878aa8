"""The banks of a key, one for each class that the preserved attributes make, each drawn when it is first needed.

A bank is a function of key and class alone (`surrogates.bank`), so it does not matter when it is drawn, nor in what
order. One takes a fifth of a second and 5 MiB, and most recordings need one or two of three.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from streamdeid.surrogates.bank import Bank


class Banks:
    """By class, what `draw` makes of it. Threads may share it: each bank is drawn once, and all wait for it."""

    def __init__(self, draw: Mapping[str, Callable[[], Bank]]) -> None:
        self._draw = draw
        self._made: dict[str, Future[Bank]] = {}
        self._lock = threading.Lock()

    @property
    def labels(self) -> frozenset[str]:
        """The classes."""
        return frozenset(self._draw)

    def __getitem__(self, label: str) -> Bank:
        """The bank of a class. Raises ModelError, each time, when it cannot be filled."""
        with self._lock:
            made = self._made.get(label)
            mine = made is None
            if made is None:
                made = self._made[label] = Future()
        if mine:
            try:
                made.set_result(self._draw[label]())
            except BaseException as error:  # whoever waits gets it too
                made.set_exception(error)
        return made.result()

    def draw_ahead(self) -> None:
        """Draw in a thread what was not drawn yet, for streams that cannot wait when somebody appears."""

        def draw() -> None:
            for label in self._draw:
                with contextlib.suppress(Exception):  # it is raised again where the bank is needed
                    self[label]

        threading.Thread(target=draw, name="banks", daemon=True).start()
