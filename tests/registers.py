"""Small registers for tests, without anybody in them who exists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.identity.register import Distances
from streamdeid.identity.registered import PeopleRegister, RegisteredPerson, registered

KEY = bytes(range(32))
NEAR = Distances(accept=1.0, reject=2.0, margin=0.5, enough=0.2, likelier=1.0)
"""Templates of `made` people are 10 apart."""
DAY = 86400


def place(number: int, off: float = 0.0) -> NDArray[np.float64]:
    """The template (3,) of person number 1, 2, ...; off: how far from it along another axis."""
    return np.array([10.0 * number, off, 0.0])


def face(number: int) -> NDArray[np.float64]:
    """The surrogate (4,) of a person."""
    return np.array([100.0 * number, -1.5, 0.25, 1 / 3])


def somebody(number: int, last: int = 1000) -> RegisteredPerson:
    """A person as nobody else is."""
    return RegisteredPerson(number, place(number), 24, face(number), "female", min(500, last), last)


def empty(days: float = 30.0) -> PeopleRegister:
    """A register of nobody."""
    return PeopleRegister({"k": "5"}, days)


def of(*last: int, days: float = 30.0) -> PeopleRegister:
    """A register of people 1, 2, ... last seen at these times."""
    register = empty(days)
    for number, when in enumerate(last, start=1):
        register = registered(register, somebody(number, when))
    return register


def key_file(folder: Path) -> Path:
    """A key file that only its owner may read."""
    path = folder / "key"
    path.write_bytes(KEY)
    path.chmod(0o600)
    return path
