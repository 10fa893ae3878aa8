"""Numbers that surrogates are drawn for: with one key the same number draws the same face (`key.generator`).

A person of a run is drawn for the number that the run gives. Two others need numbers that no run gives to anybody: a
reviewer's further face of a person, and the provisional face of a tracklet where runs share a key and a register. Both
are parted here, and nowhere else, into a number above and one below, of which there are 2 to the 32: somebody new
every hundredth of a second for sixteen months.
"""

from __future__ import annotations

_BELOW = 32
"""Bits of the number below."""
_ABOVE = 31
"""Bits of the number above: the whole is hashed as 8 bytes."""


def of_another(person: int, times: int) -> int:
    """The number of another surrogate of a person, asked for so many times; 0 times is the person's own number.

    Raises ValueError for numbers that would draw somebody else's.
    """
    return _parted(times, person)


def of_run(run: int, tracklet: int) -> int:
    """The number of a tracklet among those of all runs. run: a number of the register that no other run has.

    Raises ValueError for numbers that would draw somebody else's.
    """
    return _parted(run, tracklet)


def _parted(above: int, below: int) -> int:
    if not 0 <= above < 1 << _ABOVE or not 0 <= below < 1 << _BELOW:
        raise ValueError(f"no surrogate is drawn for the numbers {above} and {below}")
    return above << _BELOW | below
