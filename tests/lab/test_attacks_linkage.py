"""Linkage of sessions, verification in an open set, and the chapter that puts all attacks on parameters together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamdeid.core.arrays import Floats
from streamdeid.lab.attacks.campaign import MethodFindings, Size
from streamdeid.lab.attacks.linkage import ahead, linked, scores, unlinkability
from streamdeid.lab.attacks.open_set import summary, verified
from streamdeid.lab.attacks.parameter_space import attack_parameters
from streamdeid.lab.attacks.people import Population
from streamdeid.lab.attacks.publish import PeoplePublisher
from streamdeid.lab.attacks.results import UNALTERED, UNRELATED, link_rank_1
from streamdeid.lab.attacks.scoring import Scored
from streamdeid.lab.attacks.verdicts import BREAKS_THE_PAPER, PAPER, verdicts
from streamdeid.lab.tables import Chapter, ClaimVerdict
from streamdeid.surrogates.choice import METHODS, SAMPLED, SurrogateSettings
from tests import simulated_faces

GALLERY = simulated_faces.gallery()
POPULATION = Population.of(GALLERY.identities)
PEOPLE = POPULATION.sample(60, np.random.default_rng(1))
KEY = b"a key for the tests alone"
SMALL = Size(people=60, trials=2, sessions=1, others=100, same_key_trials=1, same_key_pairs=100, replays=1)


def slow_unlinkability(mated: list[float], other: list[float]) -> float:
    """Equations 3 to 5 of Gomez-Barrero et al. 2018, bin by bin."""
    low, high = min(mated + other), max(mated + other)
    bins = max(2, min(len(mated) // 10, 100))

    def place(score: float) -> int:
        return min(int((score - low) / (high - low) * bins), bins - 1)

    total = 0.0
    for b in range(bins):
        m = sum(place(score) == b for score in mated) / len(mated)
        o = sum(place(score) == b for score in other) / len(other)
        if o == 0.0:
            total += m
        elif m / o > 1.0:
            total += m * (2.0 * (m / o) / (1.0 + m / o) - 1.0)
    return total


# Unlinkability


@given(st.integers(0, 10**6), st.floats(-2.0, 2.0))
def test_unlinkability_is_the_definition(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    mated, other = rng.standard_normal(130) + shift, rng.standard_normal(300)
    assert unlinkability(mated, other) == pytest.approx(slow_unlinkability(mated.tolist(), other.tolist()), abs=0.02)


def test_unlinkability_goes_from_nothing_to_one() -> None:
    rng = np.random.default_rng(2)
    same, other, far = rng.random(20000), rng.random(20000), 5.0 + rng.random(20000)
    assert unlinkability(same, other) < 0.05
    assert unlinkability(far, other) == unlinkability(other, far) == 1.0
    halfway = unlinkability(np.concatenate([same[:10000], far[:10000]]), other)
    assert halfway == pytest.approx(0.5, abs=0.03)
    assert unlinkability(np.ones(5), np.ones(9)) == 0.0
    assert math.isnan(unlinkability(np.empty(0), other))


def test_the_area_counts_who_is_further() -> None:
    distances = np.array([[1.0, 2.0, 0.5], [3.0, 3.0, 4.0], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(ahead(distances), [0.5, 0.75, np.nan])
    mated, other = scores(distances)
    assert mated.tolist() == [1.0, 3.0] and other.tolist() == [2.0, 0.5, 3.0, 4.0]


@given(st.integers(0, 10**6))
def test_the_area_does_not_depend_on_the_scale(seed: int) -> None:
    distances = np.random.default_rng(seed).random((6, 6))
    np.testing.assert_array_equal(ahead(distances), ahead(np.exp(distances)))


def test_sessions_that_change_nothing_are_linked_and_independent_ones_are_not() -> None:
    rng = np.random.default_rng(3)
    seen = POPULATION.capture(PEOPLE, rng)
    for distances in linked(lambda people, _key: people, POPULATION, PEOPLE, KEY, seen, rng).values():
        assert link_rank_1([distances], rng).value > 0.6
        assert np.mean(ahead(distances)) > 0.95
        mated, other = scores(distances)
        assert unlinkability(mated, other) > 0.7

    def independent(people: Floats, key: bytes) -> Floats:
        return POPULATION.sample(len(people), np.random.default_rng(list(key)))

    # Same key, same draws, another order: whoever came first is not the first again.
    for distances in linked(independent, POPULATION, PEOPLE, KEY, independent(PEOPLE, KEY), rng).values():
        assert link_rank_1([distances], rng).value < 0.15
        assert abs(np.mean(ahead(distances)) - 0.5) < 0.15


def test_the_paper_s_map_links_sessions_with_different_keys() -> None:
    rng = np.random.default_rng(4)
    paper = PeoplePublisher(PAPER, GALLERY, simulated_faces.VARIANCES)
    found = linked(paper, POPULATION, PEOPLE, KEY, paper(POPULATION.capture(PEOPLE, rng), KEY), rng)
    assert link_rank_1([found["new key, whitened"]], rng).value > 0.8


# Open set


def test_verification_accepts_who_is_nearer_than_strangers() -> None:
    strangers = np.linspace(1.0, 2.0, 1000)[:, None] * np.ones(3)
    distances = np.full((3, 3), 9.0)
    np.fill_diagonal(distances, [0.5, 1.005, 1.5])
    result = verified(distances, strangers)
    assert [rate.tolist() for rate in result.accepted] == [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    rates, equal = summary([result, result], np.random.default_rng(5))
    assert [rate.value for rate in rates] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert 0.0 < equal.value < 0.5


def test_who_was_not_published_is_neither_accepted_nor_refused() -> None:
    distances = np.full((2, 2), np.nan)
    distances[0] = [0.1, 3.0]
    result = verified(distances, np.array([[1.0, 2.0], [np.nan, np.nan]]))
    np.testing.assert_array_equal(result.accepted[0], [1.0, np.nan])
    nobody = verified(np.full((2, 2), np.nan), np.full((2, 2), np.nan))
    assert math.isnan(nobody.equal_error) and np.isnan(nobody.accepted[0]).all()


# The chapter


@pytest.fixture(scope="module")
def chapter() -> Chapter:
    heard: list[str] = []
    settings = SurrogateSettings(bank_size=256)
    result = attack_parameters(GALLERY, simulated_faces.VARIANCES, size=SMALL, settings=settings, progress=heard.append)
    assert len(heard) == SMALL.trials * (len(METHODS) + 2)
    return result


def test_the_chapter_shows_every_method_and_every_attack(chapter: Chapter) -> None:
    ranks = chapter.tables[0]
    assert ranks.columns == ("attack", *METHODS, UNALTERED, UNRELATED)
    attacks = [str(row[0]) for row in ranks.rows]
    assert {attack.split()[0] for attack in attacks} == {"A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "Bayes,"}
    assert attacks[0] == "A1 naive, Euclid" and attacks[-1].startswith("Bayes") and len(set(attacks)) == len(attacks)
    assert [table.title for table in chapter.tables][2:] == [
        "A1 as verification, open set",
        "A9 linkage of two sessions",
        "Sessions",
    ]


def test_the_chapter_s_controls_hold_and_the_paper_s_map_falls(chapter: Chapter) -> None:
    controls = [verdict for verdict in chapter.verdicts if verdict.claim.startswith("control:")]
    falls = [verdict for verdict in chapter.verdicts if verdict.claim.startswith(PAPER)]
    assert len(controls) == 3 and all(verdict.met for verdict in controls)
    assert len(falls) == len(BREAKS_THE_PAPER) and all(verdict.met for verdict in falls)


def findings(rate: float, rng: np.random.Generator) -> MethodFindings:
    """Three trials of sixty people in which all attacks of this file reach `rate`."""
    result = MethodFindings()
    for attack in (*BREAKS_THE_PAPER.values(), "A3 parrot, right key, whitened"):
        for _ in range(3):
            hits = np.asarray(rng.permutation(60) < round(60 * rate), np.float64)
            result.scores.setdefault(attack, []).append(Scored(hits, hits, 1 / 60))
    for metric in ("Euclid", "whitened"):
        distances = [rng.random((60, 60)) - (rng.random(60) < rate) * np.eye(60) for _ in range(3)]
        result.links[f"new key, {metric}"] = distances
    result.distinct.extend([60, 60, 60])
    return result


def judged(paper: float, drawn: float, unaltered: float, unrelated: float) -> dict[str, ClaimVerdict]:
    rng = np.random.default_rng(6)
    found = {PAPER: paper, SAMPLED: drawn, UNALTERED: unaltered, UNRELATED: unrelated}
    measured = {name: findings(rate, rng) for name, rate in found.items()}
    return {verdict.claim: verdict for verdict in verdicts(measured, 0.5, 60, rng)}


def missed(found: dict[str, ClaimVerdict]) -> list[str]:
    return [claim for claim, verdict in found.items() if not verdict.met]


def test_everything_as_it_should_be_is_met() -> None:
    assert missed(judged(paper=0.9, drawn=1 / 60, unaltered=1.0, unrelated=1 / 60)) == []


def test_a_default_that_leaks_is_found_out() -> None:
    found = missed(judged(paper=0.9, drawn=0.3, unaltered=1.0, unrelated=1 / 60))
    assert any("gains more" in claim for claim in found)
    assert sum("not linked" in claim for claim in found) == 4
    assert sum("linked no more often" in claim for claim in found) == 2


def test_who_holds_the_key_is_not_held_against_the_default() -> None:
    rng = np.random.default_rng(7)
    found = {name: findings(rate, rng) for name, rate in ((PAPER, 1.0), (UNALTERED, 1.0), (UNRELATED, 1 / 60))}
    found[SAMPLED] = findings(1 / 60, rng)
    right = found[SAMPLED].scores["A3 parrot, right key, whitened"]
    right[:] = [Scored(np.ones(60), np.ones(60), 1 / 60)] * 3
    assert missed({verdict.claim: verdict for verdict in verdicts(found, 0.5, 60, rng)}) == []
    found[SAMPLED].distinct[1] = 59
    assert len(missed({verdict.claim: verdict for verdict in verdicts(found, 0.5, 60, rng)})) == 1


def test_attacks_that_do_not_work_miss_their_controls() -> None:
    weak = missed(judged(paper=0.1, drawn=1 / 60, unaltered=0.3, unrelated=1 / 60))
    assert sum(claim.startswith(PAPER) for claim in weak) == 4
    assert "control: unaltered second captures are recognised" in weak
    mislabelled = missed(judged(paper=0.9, drawn=1 / 60, unaltered=1.0, unrelated=0.4))
    assert [claim for claim in mislabelled if claim.startswith("control:")] == [
        "control: no attack recognises people behind vectors drawn without regard to them"
    ]
