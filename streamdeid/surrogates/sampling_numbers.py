"""Numbers that surrogates are sampled for: with one key the same number gives the same face (`key.generator`).

The surrogate of a person is sampled for the number that the run gives this person. Two other surrogates need numbers
that no run gives to anybody: a reviewer's further face of a person, and the provisional face of a tracklet where runs
share a key and a register. Only this module forms them, from a number above and a number below, of which there are 2 to
the 32: a new person every hundredth of a second for sixteen months.
"""

from __future__ import annotations

_BELOW = 32
"""Bits of the number below."""
_ABOVE = 31
"""Bits of the number above: the whole is hashed as 8 bytes."""


def of_another(person: int, times: int) -> int:
    """The number of another surrogate of a person, asked for so many times; 0 times is the person's own number.

    Raises ValueError for numbers that would give somebody else's surrogate.
    """
    return _parted(times, person)


def of_run(run: int, tracklet: int) -> int:
    """The number of a tracklet among those of all runs. run: a number of the register that no other run has.

    Raises ValueError for numbers that would give somebody else's surrogate.
    """
    return _parted(run, tracklet)


def _parted(above: int, below: int) -> int:
    if not 0 <= above < 1 << _ABOVE or not 0 <= below < 1 << _BELOW:
        raise ValueError(f"no surrogate is sampled for the numbers {above} and {below}")
    return above << _BELOW | below
