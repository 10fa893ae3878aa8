"""Attacks on published identity vectors: each one breaks a map that leaks, and finds nothing in independent draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.lab.attacks import metrics
from streamdeid.lab.attacks.bayes import named_by, suspects
from streamdeid.lab.attacks.experiment import (
    LEARNERS,
    AttackSession,
    Scene,
    attacks,
    attacks_on_sampled,
    holds_key,
    new_session,
    pairs_of,
    train,
)
from streamdeid.lab.attacks.frame_averaging import averaged
from streamdeid.lab.attacks.inversion import inverted, shifts_of
from streamdeid.lab.attacks.known_plaintext import any_shift, nearest_shift, rotation
from streamdeid.lab.attacks.learnt_inversion import learnt
from streamdeid.lab.attacks.null_space import projected, residual
from streamdeid.lab.attacks.people import Population
from streamdeid.lab.attacks.publish import PeoplePublisher, published
from streamdeid.lab.attacks.scoring import Scored, scored
from streamdeid.surrogates.choice import MAPS, METHODS, Surrogates, SurrogateSettings
from streamdeid.surrogates.fixed_map import k_diff_map
from tests import simulated_faces

GALLERY = simulated_faces.gallery()
DONORS = GALLERY.identities
POPULATION = Population.of(DONORS)
SETTINGS = SurrogateSettings(bank_size=512)
KEY = b"a key for the tests alone"
N = 60
SCENE = Scene(
    POPULATION, POPULATION.sample(N, np.random.default_rng(1)), k_diff_map(DONORS, 5, np.random.default_rng(2))
)


def publisher(method: str) -> PeoplePublisher:
    return PeoplePublisher(method, GALLERY, simulated_faces.VARIANCES, SETTINGS)


def seeded(key: bytes) -> np.random.Generator:
    return np.random.default_rng(list(key))


def one_shift(seen: Floats, key: bytes) -> Floats:
    """Leaks to insiders and to learners: everybody is moved by the same keyed vector, further than faces are apart."""
    return seen + 5.0 * np.sqrt(simulated_faces.VARIANCES) * seeded(key).standard_normal(seen.shape[1])


def turned(seen: Floats, key: bytes) -> Floats:
    """Leaks to insiders: a keyed rotation for all, about the mean face."""
    orthogonal, _ = np.linalg.qr(seeded(key).standard_normal((seen.shape[1],) * 2))
    return np.asarray(POPULATION.mean + (seen - POPULATION.mean) @ orthogonal)


def permuted(seen: Floats, key: bytes) -> Floats:
    """The same permutation of components whatever the key is: leaks to learners only."""
    return seen[:, np.random.default_rng(0).permutation(seen.shape[1])]


def independent(seen: Floats, key: bytes) -> Floats:
    return POPULATION.sample(len(seen), seeded(key))


def session(publish: Callable[[Floats, bytes], Floats], seed: int = 5) -> AttackSession:
    return new_session(publish, SCENE, np.random.default_rng(seed))


def share(distances: Floats, known: NDArray[np.intp] | None = None) -> float:
    return float(np.nanmean(scored(distances, np.random.default_rng(0), known).rank_1))


@pytest.fixture(scope="module")
def paper() -> AttackSession:
    return session(publisher("k-diff-furthest-paper"))


# People and what is published of them


def test_drawn_people_vary_as_donors_do_and_captures_add_their_noise() -> None:
    rng = np.random.default_rng(3)
    people = POPULATION.sample(4000, rng)
    np.testing.assert_allclose(np.cov(POPULATION.places(people).T), np.eye(58), atol=0.15)
    np.testing.assert_allclose(np.trace(np.cov(people.T)), np.trace(np.cov(DONORS.T)), rtol=0.05)
    noise = POPULATION.places(POPULATION.capture(people, rng)) - POPULATION.places(people)
    np.testing.assert_allclose(noise.std(axis=0), 0.3, rtol=0.1)


def test_axes_without_spread_get_no_people_and_finite_whitened_values() -> None:
    flat = DONORS.copy()
    flat[:, -1] = 0.0
    population = Population.of(flat[:30])
    assert len(population.spread) == 29
    people = population.sample(10, np.random.default_rng(4))
    np.testing.assert_allclose(people[:, -1], 0.0, atol=1e-9)
    stranger = people + np.eye(58)[-1]
    assert np.isfinite(population.whitened(stranger)).all()
    assert np.linalg.norm(population.whitened(stranger) - population.whitened(people), axis=1).min() > 0.0


@pytest.mark.parametrize("method", METHODS)
def test_published_is_what_a_session_gives(method: str) -> None:
    people = simulated_faces.faces(8, seed=21)
    table = Surrogates(GALLERY, simulated_faces.VARIANCES, SurrogateSettings(method=method, bank_size=512), KEY)
    wanted = np.stack([table.surrogate(number, y).vector for number, y in enumerate(people, start=1)])
    np.testing.assert_array_equal(publisher(method)(people, KEY), wanted)


def test_who_gets_no_surrogate_is_a_row_of_nan_and_nobody_s_hit() -> None:
    people = simulated_faces.faces(6, seed=22)
    people[2, 0] = np.inf
    result = published(METHODS[0], people, GALLERY, simulated_faces.VARIANCES, KEY, settings=SETTINGS)
    assert np.isnan(result).all(axis=1).tolist() == [False, False, True, False, False, False]
    people[2, 0] = 0.0
    assert np.isnan(scored(metrics.euclid(result, people), np.random.default_rng(0)).rank_1[2])


def test_the_map_of_a_session_is_the_one_that_it_used(paper: AttackSession) -> None:
    fixed = publisher("k-diff-furthest-paper").map_of(paper.key)
    assert fixed is not None and set(MAPS) == set(METHODS[1:])
    moved = paper.seen - paper.published
    nearest = np.linalg.norm(moved[:, None] - shifts_of(fixed), axis=2).min(axis=1)
    np.testing.assert_allclose(nearest, 0.0, atol=1e-9)
    assert publisher(METHODS[0]).map_of(paper.key) is None


# Scores


def test_people_at_one_distance_are_named_at_random() -> None:
    rng = np.random.default_rng(7)
    alike = np.stack([scored(np.zeros((40, 40)), rng).rank_1 for _ in range(200)])
    assert alike.mean() == pytest.approx(1 / 40, abs=0.006)
    five = np.stack([scored(np.zeros((40, 40)), rng).rank_5 for _ in range(200)])
    assert five.mean() == pytest.approx(5 / 40, abs=0.015)


def test_people_known_already_are_neither_attacked_nor_suspected() -> None:
    distances = np.ones((4, 4)) - 0.5 * np.eye(4)
    distances[2, 0] = 0.1
    known = np.array([0])
    result = scored(distances, np.random.default_rng(0), known)
    assert np.isnan(result.rank_1[0]) and result.rank_1[1:].tolist() == [1.0, 1.0, 1.0]
    assert result.chance == pytest.approx(1 / 3)
    assert scored(distances, np.random.default_rng(0)).rank_1[2] == 0.0


# Every attack breaks what leaks to it


def test_the_paper_s_map_falls_to_attackers_without_the_key(paper: AttackSession) -> None:
    whitened = metrics.whitened(POPULATION)
    own = SCENE.own_map
    p, g = POPULATION.whitened(paper.published), POPULATION.whitened(paper.photographs)
    shifts = POPULATION.whitened(shifts_of(own) + POPULATION.mean)
    parroted = publisher("k-diff-furthest-paper")(paper.photographs, b"not that key, another")
    found = {
        "whitened": whitened(paper.published, paper.photographs),
        "null space": projected(paper.published, paper.photographs, own, POPULATION),
        "residual": residual(paper.published, paper.photographs, own, POPULATION),
        "inversion": inverted(p, g, shifts),
        "parrot": whitened(paper.published, parroted),
    }
    assert {name: share(distances) > 0.8 for name, distances in found.items()} == dict.fromkeys(found, True)
    # The metric of its theorem is the one that it withstands.
    assert share(metrics.euclid(paper.published, paper.photographs)) < 0.3


def test_the_right_shifts_undo_the_map_and_a_wrong_sign_does_not(paper: AttackSession) -> None:
    fixed = publisher("k-diff-furthest-paper").map_of(paper.key)
    assert fixed is not None
    assert share(inverted(paper.published, paper.photographs, shifts_of(fixed))) > 0.9
    wrong = inverted(paper.published, paper.photographs, -np.eye(1) * shifts_of(fixed)[:1])
    assert share(wrong) < 0.3


def test_inversion_is_the_same_as_trying_every_shift() -> None:
    rng = np.random.default_rng(8)
    p, g, shifts = rng.standard_normal((5, 4)), rng.standard_normal((6, 4)), rng.standard_normal((3, 4))
    slow = [[min(np.sqrt(sum((a + s - b) ** 2)) for s in shifts) for b in g] for a in p]
    np.testing.assert_allclose(inverted(p, g, shifts), slow)


def test_the_null_space_ignores_every_shift_of_its_map() -> None:
    moved = SCENE.identities + shifts_of(SCENE.own_map)[3] - 2.0 * shifts_of(SCENE.own_map)[0]
    np.testing.assert_allclose(
        np.diagonal(projected(moved, SCENE.identities, SCENE.own_map, POPULATION)), 0.0, atol=1e-3
    )


def test_one_insider_tells_a_shift_that_all_share() -> None:
    leaky = session(one_shift)
    known = np.array([0])
    assert share(metrics.euclid(leaky.published, leaky.photographs), known) < 0.2
    for way in (any_shift, nearest_shift):
        distances = way(leaky.published, leaky.photographs, leaky.seen[known], leaky.published[known])
        assert share(distances, known) > 0.95


def test_insiders_tell_a_rotation_that_all_share_the_more_the_better() -> None:
    leaky = session(turned)
    shares = []
    for count in (1, 8, 40):
        known = np.arange(count)
        distances = rotation(leaky.published, leaky.photographs, leaky.seen[known], leaky.published[known])
        shares.append(share(distances, known))
    assert shares[0] < 0.15 and shares[0] < shares[1] < shares[2] and shares[2] > 0.8


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_undo_what_is_the_same_in_every_session(name: str) -> None:
    leaky = session(permuted)
    assert share(metrics.euclid(leaky.published, leaky.photographs)) < 0.2
    pairs = pairs_of(permuted, POPULATION, 600, KEY, np.random.default_rng(9))
    assert share(learnt(LEARNERS[name], pairs, POPULATION)(leaky.published, leaky.photographs)) > 0.8


def test_learnt_weights_see_the_axes_that_a_method_leaves_alone() -> None:
    def loud(seen: Floats, key: bytes) -> Floats:
        """All axes but the last twenty are redrawn, and loudly."""
        places = POPULATION.places(seen)
        places[:, :-20] = 3.0 * POPULATION.places(independent(seen, key))[:, :-20]
        return np.asarray(POPULATION.mean + (places * POPULATION.spread) @ POPULATION.axes)

    leaky = session(loud)
    pairs = pairs_of(loud, POPULATION, 600, KEY, np.random.default_rng(10))
    metric = metrics.learnt_weights(POPULATION, pairs, np.random.default_rng(11))
    assert share(metric(leaky.published, leaky.photographs)) > 0.8
    assert share(metrics.euclid(leaky.published, leaky.photographs)) < 0.2


def test_lda_counts_axes_by_how_well_captures_agree_there() -> None:
    rng = np.random.default_rng(12)
    others = POPULATION.sample(500, rng)
    unsteady = np.where(np.arange(58) < 8, 3.0, 0.05) * POPULATION.spread

    def captured(identities: Floats) -> Floats:
        return np.asarray(identities + (rng.standard_normal(identities.shape) * unsteady) @ POPULATION.axes)

    metric = metrics.lda(POPULATION, captured(others), captured(others))
    probes, gallery = captured(SCENE.identities), captured(SCENE.identities)
    assert share(metric(probes, gallery)) > 0.95 > 0.5 > share(metrics.euclid(probes, gallery))


def test_averaging_removes_noise_and_not_the_person() -> None:
    rng = np.random.default_rng(13)
    photographs = POPULATION.capture(SCENE.identities, rng)

    def loudly(frames: int) -> float:
        mean = averaged(SCENE.identities, SCENE.identities, SCENE.identities, POPULATION, frames, rng, noise=8.0)
        return share(metrics.whitened(POPULATION)(mean, photographs))

    assert loudly(1) < 0.3 and loudly(1000) > 0.95


def test_what_a_stream_lets_through_is_the_error_of_its_estimate() -> None:
    zeros = np.zeros_like(SCENE.identities)
    seen = POPULATION.capture(SCENE.identities, np.random.default_rng(14))
    rng = np.random.default_rng(15)
    mean = averaged(zeros, SCENE.identities, seen, POPULATION, 10**8, rng)
    places = POPULATION.places(mean + POPULATION.mean)
    assert np.linalg.matrix_rank(places, tol=0.01) == 8
    exact = averaged(zeros, seen, seen, POPULATION, 10**8, rng)
    np.testing.assert_allclose(POPULATION.places(exact + POPULATION.mean), 0.0, atol=1e-3)


# Nothing is found where nothing is


@pytest.fixture(scope="module")
def on_nothing() -> dict[str, list[Scored]]:
    rng = np.random.default_rng(16)
    training = train(independent, SCENE, 2, 200, rng)
    found: dict[str, list[Scored]] = {}
    for _ in range(6):
        result = attacks(independent, SCENE, training, new_session(independent, SCENE, rng), rng)
        for name, score in result.items():
            found.setdefault(name, []).append(score)
    return found


def test_independent_draws_leave_every_attack_at_chance(on_nothing: dict[str, list[Scored]]) -> None:
    assert len(on_nothing) > 35
    for name, trials in on_nothing.items():
        hits = np.nanmean([one.rank_1 for one in trials])
        # 360 attempts at 1/60: more than 16 hits (or a tenth of the people left beside 50 insiders) is one in 10,000.
        few = trials[0].chance > 0.05
        assert hits < (0.35 if few else 0.045), name
    everything = np.concatenate([one.rank_1 / one.chance for trials in on_nothing.values() for one in trials])
    assert np.nanmean(everything) == pytest.approx(1.0, abs=0.25)


# The optimal attacker, and the one who holds the key


def test_bayes_gains_just_what_the_default_promises() -> None:
    drawn = publisher(METHODS[0])
    rates = []
    for seed in range(2):
        one = session(drawn, seed)
        mask = suspects(drawn, one.seen, one.published, one.key)
        assert np.diagonal(mask).all()
        rates.append(np.mean(named_by(mask).rank_1) * N)
    assert np.mean(rates) == pytest.approx(2.0, abs=0.15)


def test_bayes_refuses_what_is_not_from_the_bank(paper: AttackSession) -> None:
    with pytest.raises(SettingsError, match="not from the bank"):
        suspects(publisher(METHODS[0]), paper.seen, paper.published, paper.key)
    with pytest.raises(SettingsError, match="does not draw"):
        suspects(publisher("k-same-m"), paper.seen, paper.published, paper.key)


def test_named_by_shares_the_blame() -> None:
    mask = np.array([[True, True, False], [False, True, False], [False, False, False]])
    result = named_by(mask)
    np.testing.assert_array_equal(result.rank_1, [0.5, 1.0, np.nan])
    np.testing.assert_array_equal(result.rank_5, [1.0, 1.0, np.nan])


def test_who_holds_the_key_draws_again_what_was_drawn() -> None:
    drawn = publisher(METHODS[0])
    one = session(drawn)
    again = drawn.replayed(one.seen[:10], one.key, range(1, 3))
    np.testing.assert_array_equal(again[0, 0], one.published[0])
    # The proposals are the number's, not the person's: some of the ten would have got the same.
    assert all(1 < len(np.unique(faces, axis=0)) < 10 for faces in again)
    np.testing.assert_array_equal(drawn.replayed(one.seen[:2], one.key, range(1, 3))[:, 1], again[:, 1])


def test_attacks_on_the_default_alone_name_their_rows() -> None:
    drawn = publisher(METHODS[0])
    result = attacks_on_sampled(drawn, session(drawn), 2, np.random.default_rng(17))
    held = [name for name in result if holds_key(name)]
    assert len(result) == 2 and len(held) == 1
    assert np.isfinite(result[held[0]].rank_1).sum() == 2
    assert attacks_on_sampled(publisher("k-same-m"), session(independent), 2, np.random.default_rng(17)) == {}
    assert holds_key("A3 parrot, right key, whitened") and not holds_key("A3 parrot, wrong key, whitened")
