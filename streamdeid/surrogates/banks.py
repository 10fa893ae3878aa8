"""The banks of a key, one for each class that the preserved attributes make; each is sampled when it is first needed.

A bank is a function of key and class alone (`surrogates.bank`), so it does not matter when it is sampled, nor in what
order. One bank takes a fifth of a second and 5 MiB, and most recordings need one or two of three.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from streamdeid.surrogates.bank import Bank


class Banks:
    """By class, the bank that `sample` makes. Threads may share it: each bank is sampled once, and all wait for it."""

    def __init__(self, sample: Mapping[str, Callable[[], Bank]]) -> None:
        self._sample = sample
        self._made: dict[str, Future[Bank]] = {}
        self._lock = threading.Lock()

    @property
    def labels(self) -> frozenset[str]:
        """The classes."""
        return frozenset(self._sample)

    def __getitem__(self, label: str) -> Bank:
        """The bank of a class. Raises ModelError, each time, when it cannot be filled."""
        with self._lock:
            made = self._made.get(label)
            mine = made is None
            if made is None:
                made = self._made[label] = Future()
        if mine:
            try:
                made.set_result(self._sample[label]())
            except BaseException as error:  # all threads that wait get the error, too
                made.set_exception(error)
        return made.result()

    def sample_ahead(self) -> None:
        """Sample in a thread all banks that were not sampled yet, for streams that cannot wait when somebody
        appears."""

        def sample() -> None:
            for label in self._sample:
                with contextlib.suppress(Exception):  # the error is raised again where the bank is needed
                    self[label]

        threading.Thread(target=sample, name="banks", daemon=True).start()
