"""Newton's three attacks: which set plays which part, and what each must find on methods whose outcome is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.k_same.diff_furthest import k_diff_furthest
from streamdeid.k_same.m import k_same_m
from streamdeid.lab.newton_attacks import naive, parrot, reverse
from tests import simulated_faces

Attack = Callable[[Floats, Floats, str, "int | None"], NDArray[np.bool_]]


def slow_hits(training: Floats, gallery: Floats, probes: Floats, metric: str) -> list[bool]:
    """By the whole covariance: a hit when the own gallery face is nearer than every other."""
    centred = training - training.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / (len(training) - 1))
    axes = vectors[:, values > 1e-9 * values[-1]]
    if metric == "mahalanobis":
        axes = axes / np.sqrt(values[values > 1e-9 * values[-1]])
    hits = []
    for i, probe in enumerate(probes):
        own, *others = (
            float(np.linalg.norm((probe - gallery[j]) @ axes)) for j in [i, *range(i), *range(i + 1, len(gallery))]
        )
        hits.append(all(own < other for other in others))
    return hits


@given(st.integers(0, 10**6), st.integers(3, 12), st.sampled_from(["euclidean", "mahalanobis"]))
@settings(max_examples=40, deadline=None)
def test_each_set_plays_its_part(seed: int, count: int, metric: str) -> None:
    rng = np.random.default_rng(seed)
    originals, outputs = rng.normal(0.0, 1.0, (2, count, 6))
    outputs = 0.5 * originals + outputs * np.linspace(0.2, 2.0, 6)
    again = outputs + rng.normal(0.0, 0.5, outputs.shape)
    assert naive(originals, outputs, metric).tolist() == slow_hits(originals, originals, outputs, metric)
    assert reverse(originals, outputs, metric).tolist() == slow_hits(originals, outputs, originals, metric)
    retrained = reverse(originals, outputs, metric, trained_on_outputs=True)
    assert retrained.tolist() == slow_hits(outputs, outputs, originals, metric)
    assert parrot(outputs, again, metric).tolist() == slow_hits(outputs, outputs, again, metric)


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
@pytest.mark.parametrize("attack", [naive, reverse, parrot])
def test_originals_are_all_recognised(attack: Attack, metric: str) -> None:
    """P5: 100 % from original to original, the control of every figure."""
    faces = simulated_faces.faces(40, 1)
    assert attack(faces, faces, metric, None).all()
    assert attack(faces, faces, metric, 5).all()


def test_black_out_leaves_guessing() -> None:
    """P5: 0 % naive and parrot. All probes are one picture, and one picture has one nearest original."""
    faces = simulated_faces.faces(40, 2)
    black = np.zeros_like(faces)
    assert naive(faces, black).sum() <= 1
    assert not reverse(faces, black).any()
    assert not parrot(black, black).any()


def test_a_mask_that_leaves_differences_falls_to_the_parrot() -> None:
    """P5's point: what defeats the naive attack (1 or 2 %) need not defeat the parrot (100 %)."""
    originals = simulated_faces.faces(40, 3)
    masked = originals.copy()
    masked[:, :20] = 200.0
    assert naive(originals, masked).mean() < 0.1
    assert parrot(masked, masked).all()


@pytest.mark.parametrize("k", [2, 5, 10])
@pytest.mark.parametrize("attack", [naive, reverse, parrot])
def test_k_same_keeps_below_one_in_k(attack: Attack, k: int) -> None:
    """P5's claim, against all three attacks; the k equal outputs tie, and ties are missed."""
    originals = simulated_faces.faces(40, 4)
    outputs = k_same_m(originals, k, np.random.default_rng(0))
    for metric in ("euclidean", "mahalanobis"):
        hits = attack(outputs, outputs, metric, None) if attack is parrot else attack(originals, outputs, metric, None)
        assert hits.mean() <= 1 / k
        if attack is not naive:
            assert not hits.any()


def test_k_diff_furthest_is_naively_safe_and_falls_to_a_parrot_with_the_same_draw() -> None:
    originals = simulated_faces.faces(40, 5)
    outputs = k_diff_furthest(originals, 5, np.random.default_rng(0))
    assert naive(originals, outputs).mean() <= 0.025
    assert parrot(outputs, outputs).all()
    # Another order of triggers is another map: the parrot's own copies are other faces.
    other = k_diff_furthest(originals, 5, np.random.default_rng(1))
    assert parrot(other, outputs).mean() < 1.0


def test_two_draws_do_not_recognise_each_other() -> None:
    """Outputs that owe nothing to the originals: chance for every attack."""
    originals, first, second = (simulated_faces.faces(200, seed) for seed in (6, 7, 8))
    for hits in (naive(originals, first), reverse(originals, first), parrot(first, second)):
        assert hits.mean() <= 0.03


def test_few_components_recognise_less() -> None:
    originals = simulated_faces.faces(60, 9)
    outputs = originals + np.random.default_rng(0).normal(0.0, 2.0, originals.shape)
    assert naive(originals, outputs, components=1).sum() < naive(originals, outputs).sum()


def test_misfits_are_refused() -> None:
    faces = simulated_faces.faces(4, 0)
    with pytest.raises(SettingsError, match="same people"):
        naive(faces, faces[:3])
    with pytest.raises(SettingsError, match="two faces"):
        parrot(faces[:1], faces[:1])
    with pytest.raises(SettingsError, match="metric"):
        reverse(faces, faces, "cosine")
