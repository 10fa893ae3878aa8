"""Numbers that surrogates are drawn for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamdeid.surrogates.sampling_numbers import of_another, of_run

BELOW, ABOVE = st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 31) - 1)


@given(BELOW, ABOVE, BELOW, ABOVE)
def test_no_two_share_a_number(person: int, times: int, other: int, more: int) -> None:
    assert (of_another(person, times) == of_another(other, more)) == ((person, times) == (other, more))
    assert (of_run(times, person) == of_run(more, other)) == ((person, times) == (other, more))
    assert 0 <= of_another(person, times) < 1 << 63, "eight bytes are hashed"


def test_the_numbers_are_those_of_earlier_versions() -> None:
    """Or a key would not give the faces again that it gave."""
    assert of_another(7, 0) == 7 and of_another(7, 2) == 7 + 2 * (1 << 32)
    assert of_run(3, 9) == (3 << 32) + 9


@pytest.mark.parametrize(("above", "below"), [(-1, 1), (1, -1), (1 << 31, 1), (1, 1 << 32)])
def test_what_would_give_somebody_elses_is_refused(above: int, below: int) -> None:
    with pytest.raises(ValueError, match="no surrogate is sampled"):
        of_another(below, above)
    with pytest.raises(ValueError, match="no surrogate is sampled"):
        of_run(above, below)
