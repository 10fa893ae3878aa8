"""Two series with holes are compared by what both have: correlation, agreement about the medians, lag."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.looks.series import FEWEST, best_lag, concordance_about_medians, correlation

WAVE = np.sin(np.arange(60) / 4)


def test_holes_do_not_count() -> None:
    holed = WAVE.copy()
    holed[5:9] = np.nan
    other = 3 * WAVE + 1
    other[20] = np.inf
    assert correlation(holed, other) == pytest.approx(1.0)
    known = [i for i in range(60) if i != 20 and not 5 <= i < 9]
    noise = WAVE + np.random.default_rng(1).normal(0, 0.3, 60)
    noise[20] = np.nan
    assert correlation(holed, noise) == pytest.approx(np.corrcoef(WAVE[known], noise[known])[0, 1])


def test_an_offset_is_no_disagreement_but_another_amplitude_is() -> None:
    assert concordance_about_medians(WAVE, WAVE + 7) == pytest.approx(1.0)
    assert 0.5 < concordance_about_medians(WAVE, 2 * WAVE) < 0.9


def test_few_frames_say_nothing() -> None:
    few = WAVE[: FEWEST - 1]
    assert math.isnan(correlation(few, few)) and math.isnan(concordance_about_medians(few, few))
    assert not math.isnan(correlation(WAVE[:FEWEST], WAVE[:FEWEST]))


def test_the_lag_is_found_either_way() -> None:
    assert best_lag(WAVE[3:], WAVE[:-3]) == 3 and best_lag(WAVE[:-2], WAVE[2:]) == -2 and best_lag(WAVE, WAVE) == 0
