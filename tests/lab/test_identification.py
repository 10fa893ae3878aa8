"""Ranks, thresholds, equal error rate and limits, beside slow literal twins and figures known in closed form."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.lab.identification import (
    accepted,
    bootstrap,
    bootstrap_equal_error,
    equal_error_rate,
    exact_limits,
    identified,
    threshold_at,
)


def slow_identified(distances: Floats, probes: list[int], gallery: list[int], rank: int) -> list[bool]:
    """Count, person by person, who is as near as the own person."""
    hits = []
    for row, own in zip(distances.tolist(), probes, strict=True):
        best: dict[int, float] = {}
        for person, distance in zip(gallery, row, strict=True):
            if math.isfinite(distance):
                best[person] = min(distance, best.get(person, math.inf))
        hits.append(own in best and sum(d <= best[own] for person, d in best.items() if person != own) < rank)
    return hits


def slow_equal_error_rate(genuine: list[float], impostors: list[float]) -> float:
    """Walk the operating points until as many are wrongly accepted as refused; exact fractions."""
    far, frr = Fraction(0), Fraction(1)
    for t in sorted({*genuine, *impostors}):
        next_far = Fraction(sum(d <= t for d in impostors), len(impostors))
        next_frr = Fraction(sum(d > t for d in genuine), len(genuine))
        if next_far >= next_frr:
            share = (frr - far) / ((next_far - far) + (frr - next_frr))
            return float(far + share * (next_far - far))
        far, frr = next_far, next_frr
    raise AssertionError("accepting everybody refuses nobody")


def slow_tail(low: int, high: int, trials: int, chance: float) -> float:
    """Probability of low to high hits, term by term in exact binomials."""
    return math.fsum(math.comb(trials, i) * chance**i * (1 - chance) ** (trials - i) for i in range(low, high + 1))


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[Floats, list[int], list[int]]:
    """Few different distances, so that many tie; some missing."""
    probes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    gallery = draw(st.lists(st.integers(0, 5), min_size=1, max_size=9))
    values = st.sampled_from([0.0, 1.0, 2.0, 3.0, math.nan, math.inf])
    rows = draw(st.lists(st.lists(values, min_size=len(gallery), max_size=len(gallery)), min_size=1, max_size=6))
    return np.array((rows * len(probes))[: len(probes)]), probes, gallery


@given(comparisons(), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_identified_agrees_with_the_literal_twin(case: tuple[Floats, list[int], list[int]], rank: int) -> None:
    distances, probes, gallery = case
    assert identified(distances, probes, gallery, rank).tolist() == slow_identified(distances, probes, gallery, rank)


@given(comparisons(), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_a_hit_stays_a_hit_at_a_larger_rank(case: tuple[Floats, list[int], list[int]], rank: int) -> None:
    assert (identified(*case, rank=rank) <= identified(*case, rank=rank + 1)).all()


def test_ties_are_missed_and_a_person_counts_once() -> None:
    people = np.array(["ann", "bob", "bob", "cy"])
    assert identified(np.array([[1.0, 2.0, 3.0, 4.0]]), ["ann"], people).tolist() == [True]
    assert identified(np.array([[1.0, 1.0, 3.0, 4.0]]), ["ann"], people).tolist() == [False]
    # Both of Bob's pictures are nearer than Cy's; that is one other person, not two.
    assert identified(np.array([[9.0, 1.0, 2.0, 3.0]]), ["cy"], people, rank=2).tolist() == [True]
    # A tie within one's own pictures is none.
    assert identified(np.array([[9.0, 1.0, 1.0, 3.0]]), ["bob"], people).tolist() == [True]


def test_k_equal_outputs_are_all_missed() -> None:
    assert not identified(np.zeros((5, 5)), np.arange(5), np.arange(5), rank=4).any()
    assert identified(np.zeros((5, 5)), np.arange(5), np.arange(5), rank=5).all()


def test_who_cannot_be_compared_or_is_not_there_is_missed() -> None:
    distances = np.array([[math.nan, 5.0], [math.inf, 5.0], [1.0, math.nan], [1.0, 2.0]])
    assert identified(distances, [0, 0, 0, 7], [0, 1], rank=9).tolist() == [False, False, True, False]
    assert identified(np.empty((2, 0)), [0, 1], []).tolist() == [False, False]


def test_misfits_are_refused() -> None:
    with pytest.raises(SettingsError, match="do not fit"):
        identified(np.zeros((2, 3)), [0, 1], [0, 1])
    with pytest.raises(SettingsError, match="rank"):
        identified(np.zeros((1, 1)), [0], [0], rank=0)
    with pytest.raises(SettingsError, match="false-accept"):
        threshold_at(np.zeros(3), 1.5)
    with pytest.raises(SettingsError, match="impostor"):
        threshold_at(np.empty(0), 0.1)
    with pytest.raises(SettingsError, match="genuine"):
        equal_error_rate(np.empty(0), np.zeros(3))
    with pytest.raises(SettingsError, match="cannot be"):
        exact_limits(3, 2)
    with pytest.raises(SettingsError, match="run"):
        bootstrap(np.ones((2, 2)), np.random.default_rng(0), runs=0)


sets = st.lists(st.one_of(st.integers(0, 6).map(float), st.floats(0, 10)), min_size=1, max_size=40)


@given(sets, st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_threshold_is_the_largest_that_keeps_the_rate(values: list[float], far: float) -> None:
    impostors = np.array(values)
    threshold = threshold_at(impostors, far)
    assert accepted(impostors, threshold).mean() <= far
    if math.isfinite(threshold):
        assert accepted(impostors, math.nextafter(threshold, math.inf)).mean() > far
    else:
        assert far == 1.0


@given(sets, sets, st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_a_laxer_rate_accepts_no_fewer(genuine: list[float], impostors: list[float], a: float, b: float) -> None:
    strict, lax = (threshold_at(np.array(impostors), far) for far in sorted((a, b)))
    assert strict <= lax
    assert (accepted(np.array(genuine), strict) <= accepted(np.array(genuine), lax)).all()


def test_thresholds_known_by_hand() -> None:
    impostors = np.arange(1.0, 101.0)
    assert 1.0 < threshold_at(impostors, 0.01) < 2.0
    assert 29.0 < threshold_at(impostors, 0.29) < 30.0  # 0.29 * 100 is 28.999...
    assert threshold_at(impostors, 0.0) < 1.0
    assert threshold_at(impostors, 1.0) == math.inf
    assert threshold_at(np.array([1.0, 1.0, 1.0, 2.0]), 0.5) < 1.0
    assert threshold_at(np.array([math.nan, 3.0]), 0.5) > 3.0
    assert accepted(np.array([math.nan, math.inf, 1.0, 2.0]), math.inf).tolist() == [False, False, True, True]


@given(sets, sets)
@settings(max_examples=200, deadline=None)
def test_equal_error_rate_agrees_with_the_literal_twin(genuine: list[float], impostors: list[float]) -> None:
    found = equal_error_rate(np.array(genuine), np.array(impostors))
    assert found == pytest.approx(slow_equal_error_rate(genuine, impostors), abs=1e-12)


def test_equal_error_rate_at_its_ends() -> None:
    rng = np.random.default_rng(1)
    assert equal_error_rate(rng.normal(size=4000), rng.normal(size=4000)) == pytest.approx(0.5, abs=0.03)
    assert equal_error_rate(np.zeros(3), np.ones(4)) == 0.0
    assert equal_error_rate(np.ones(3), np.zeros(4)) == 1.0
    assert equal_error_rate(np.ones(3), np.ones(9)) == 0.5
    # Means d' = 2 apart: 1 - Phi(1).
    far_apart = equal_error_rate(rng.normal(size=20000), rng.normal(2.0, 1.0, size=20000))
    assert far_apart == pytest.approx(0.1587, abs=0.006)
    assert equal_error_rate(np.array([math.nan, math.nan]), np.array([1.0, 2.0])) == 1.0


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4), st.booleans())
@settings(max_examples=60, deadline=None)
def test_bootstrap_limits_hold_the_mean(seed: int, people: int, trials: int, gaps: bool) -> None:
    rng = np.random.default_rng(seed)
    hits = (rng.random((people, trials)) < rng.random()).astype(float)
    if gaps:
        hits[rng.random(hits.shape) < 0.3] = np.nan
        hits[0, 0] = 1.0
    found = bootstrap(hits, rng, runs=50)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.value == pytest.approx(np.nanmean(hits))
    assert found.count == int((~np.isnan(hits)).any(axis=1).sum())


def test_bootstrap_resamples_people_not_trials() -> None:
    rng = np.random.default_rng(2)
    # Each person is always or never hit: 100 trials of one person know no more than one.
    once = rng.random(50) < 0.5
    many = bootstrap(np.repeat(once[:, None], 100, axis=1), np.random.default_rng(0))
    one = bootstrap(once, np.random.default_rng(0))
    assert (many.low, many.high) == pytest.approx((one.low, one.high))
    width = 2 * 1.96 * math.sqrt(one.value * (1 - one.value) / 50)
    assert one.high - one.low == pytest.approx(width, rel=0.15)
    everybody, exact = bootstrap(np.ones((4, 2), bool), rng), exact_limits(4, 4)
    assert (everybody.low, everybody.high, everybody.count) == (exact.low, 1.0, 4)


def test_bootstrap_of_nothing_is_nothing() -> None:
    for nothing in (np.full((3, 2), np.nan), np.empty((0, 2)), np.empty(0), np.empty((3, 0))):
        found = bootstrap(nothing, np.random.default_rng(0))
        assert found.count == 0 and math.isnan(found.value) and math.isnan(found.low)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=80, deadline=None)
def test_exact_limits_leave_two_and_a_half_percent_on_each_side(case: tuple[int, int]) -> None:
    hits, trials = case
    found = exact_limits(hits, trials)
    assert found.low <= found.value == hits / trials <= found.high
    if hits:
        assert slow_tail(hits, trials, trials, found.low) == pytest.approx(0.025, rel=1e-8)
    else:
        assert found.low == 0.0
    if hits < trials:
        assert slow_tail(0, hits, trials, found.high) == pytest.approx(0.025, rel=1e-8)
    else:
        assert found.high == 1.0


@pytest.mark.parametrize("trials", [1, 7, 500, 100_000])
def test_exact_limits_of_none_and_all(trials: int) -> None:
    bound = -math.expm1(math.log(0.025) / trials)
    assert exact_limits(0, trials).high == pytest.approx(bound, rel=1e-8)
    assert exact_limits(trials, trials).low == pytest.approx(1 - bound, rel=1e-12)


def test_exact_limits_known_from_tables() -> None:
    five = exact_limits(5, 10)
    assert (five.low, five.high) == pytest.approx((0.18709, 0.81291), abs=1e-5)
    one = exact_limits(1, 100)
    assert (one.low, one.high) == pytest.approx((0.00025315, 0.05445945), abs=1e-7)
    many = exact_limits(50_000, 100_000)  # the normal approximation is good here
    assert (many.low, many.high) == pytest.approx((0.5 - 0.0030990, 0.5 + 0.0030990), abs=1e-5)
    mirrored = exact_limits(99_990, 100_000), exact_limits(10, 100_000)
    assert mirrored[0].low == pytest.approx(1 - mirrored[1].high, abs=1e-10)
    nothing = exact_limits(0, 0)
    assert (nothing.low, nothing.high, nothing.count) == (0.0, 1.0, 0) and math.isnan(nothing.value)


def test_exact_limits_cover_every_chance() -> None:
    """Whatever the chance, at least 95 % of experiments of 12 trials have it within their limits."""
    limits = [exact_limits(hits, 12) for hits in range(13)]
    for chance in np.linspace(0.01, 0.99, 99):
        covered = sum(
            slow_tail(h, h, 12, chance) for h, found in enumerate(limits) if found.low <= chance <= found.high
        )
        assert covered >= 0.95 - 1e-12


def test_the_limits_of_an_equal_error_rate_hold_it_and_widen_with_fewer_people() -> None:
    rng = np.random.default_rng(8)
    people = np.repeat(np.arange(40), 3)
    genuine, impostors = rng.normal(1.0, 1.0, 120), rng.normal(2.5, 1.0, (120, 30))
    impostors[5, 3] = np.nan
    found = bootstrap_equal_error(genuine, impostors, people, np.random.default_rng(1))
    assert found.value == equal_error_rate(genuine, impostors[~np.isnan(impostors)])
    assert found.low < found.value < found.high and found.count == 40
    # A slow twin: resample people and compute the rate anew.
    errors = []
    for _ in range(200):
        rows = np.concatenate([np.flatnonzero(people == who) for who in rng.integers(40, size=40)])
        errors.append(equal_error_rate(genuine[rows], impostors[rows][~np.isnan(impostors[rows])]))
    low, high = np.percentile(errors, [2.5, 97.5])
    assert found.low == pytest.approx(low, abs=0.02) and found.high == pytest.approx(high, abs=0.02)
    few = bootstrap_equal_error(genuine[:15], impostors[:15], people[:15], np.random.default_rng(1))
    assert few.high - few.low > found.high - found.low
    apart = bootstrap_equal_error(genuine - 50, impostors, people, np.random.default_rng(1))
    assert (apart.value, apart.low) == (0.0, 0.0) and apart.high < 0.01
    alone = bootstrap_equal_error(genuine[:3], impostors[:3], people[:3], np.random.default_rng(1))
    assert alone.low == alone.value == alone.high
