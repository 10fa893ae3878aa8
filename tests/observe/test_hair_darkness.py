"""How dark a person's hair is."""

from __future__ import annotations

import pytest

from streamdeid.observe.hair_darkness import HairDarkness


def test_it_is_a_running_mean_in_which_light_hair_counts() -> None:
    hair = HairDarkness()
    assert hair.mean is None
    hair.see(-1.0)
    assert hair.mean == -1.0
    hair.see(None)
    assert hair.mean == pytest.approx(-0.5), "nothing darker than the skin was seen"
    for _ in range(200):
        hair.see(-1.2)
    before = hair.mean
    assert before == pytest.approx(-1.2, abs=1e-3)
    hair.see(0.0)
    assert hair.mean == pytest.approx(before + 0.06, abs=1e-3), "one frame changes little"
