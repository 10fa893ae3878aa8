"""k-Same-Select: classes kept apart, each with its own generator, and refused by name when too small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.errors import SettingsError
from streamdeid.k_same.diff_furthest import k_diff_furthest
from streamdeid.k_same.furthest import k_same_furthest
from streamdeid.k_same.m import k_same_m
from streamdeid.k_same.pixel import k_same_pixel
from streamdeid.k_same.select import ClosedSet, k_same_select
from tests import simulated_faces

ALGORITHMS = (k_same_m, k_same_pixel, k_same_furthest, k_diff_furthest)


@given(seed=st.integers(0, 10**6), sizes=st.lists(st.integers(6, 11), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_each_class_is_the_algorithm_on_its_own_faces(algorithm: ClosedSet, seed: int, sizes: list[int]) -> None:
    names = ["surprised", "happy", "angry", "neutral"][: len(sizes)]
    labels = np.random.default_rng(seed).permutation(np.repeat(names, sizes))
    faces = simulated_faces.faces(len(labels), seed)
    outputs = k_same_select(faces, labels, 3, np.random.default_rng(seed), algorithm)
    children = np.random.default_rng(seed).spawn(len(names))
    for name, child in zip(sorted(names), children, strict=True):
        rows = [i for i, label in enumerate(labels) if label == name]
        assert np.array_equal(outputs[rows], algorithm(faces[rows], 3, child))


def test_a_face_never_mixes_with_another_class() -> None:
    # Two classes in one place: without labels most groups would be mixed.
    faces = simulated_faces.faces(40, 6)
    labels = np.arange(40) % 2
    outputs = k_same_select(faces, labels, 4, np.random.default_rng(0))
    before = [faces[labels == label].mean(axis=0) for label in (0, 1)]
    assert np.allclose([outputs[labels == label].mean(axis=0) for label in (0, 1)], before)
    assert not {row.tobytes() for row in outputs[labels == 0]} & {row.tobytes() for row in outputs[labels == 1]}


def test_what_a_class_gets_does_not_depend_on_the_faces_of_another() -> None:
    faces = simulated_faces.faces(30, 1)
    labels = np.repeat(["a", "b"], 15)
    other = faces.copy()
    other[15:] = simulated_faces.faces(15, 2)
    first = k_same_select(faces, labels, 3, np.random.default_rng(0))
    second = k_same_select(other, labels, 3, np.random.default_rng(0))
    assert np.array_equal(first[:15], second[:15])
    assert not np.array_equal(first[15:], second[15:])


def test_classes_draw_different_orders() -> None:
    # The same faces twice, as two classes: with one generator state for both the outputs would be equal.
    half = simulated_faces.faces(20, 3)
    outputs = k_same_select(np.vstack([half, half]), np.repeat([0, 1], 20), 3, np.random.default_rng(0))
    assert not np.array_equal(outputs[:20], outputs[20:])


@pytest.mark.parametrize("swap", [False, True])
def test_the_order_of_classes_in_the_input_does_not_matter(swap: bool) -> None:
    faces = simulated_faces.faces(24, 5)
    labels = np.repeat(["a", "b"], 12)
    order = np.r_[12:24, 0:12] if swap else np.arange(24)
    plain = k_same_select(faces, labels, 3, np.random.default_rng(8))
    moved = k_same_select(faces[order], labels[order], 3, np.random.default_rng(8))
    assert np.array_equal(moved, plain[order])


@pytest.mark.parametrize("labels", [["male"] * 9 + ["female"] * 2, [1] * 9 + [0] * 2])
def test_a_class_too_small_is_named(labels: list[str]) -> None:
    with pytest.raises(SettingsError, match=r"class '(female|0)' has 2 faces, too few for k = 3"):
        k_same_select(simulated_faces.faces(11, 0), np.array(labels), 3, np.random.default_rng(0))


def test_a_class_too_small_for_the_algorithm_is_named() -> None:
    # k-Same-furthest needs 2k.
    labels = ["male"] * 9 + ["female"] * 5
    with pytest.raises(SettingsError, match=r"class 'female': 5 faces are too few for k = 3: at least 6"):
        k_same_select(simulated_faces.faces(14, 0), labels, 3, np.random.default_rng(0), k_same_furthest)


def test_labels_must_fit_the_faces() -> None:
    with pytest.raises(SettingsError, match="one label each"):
        k_same_select(simulated_faces.faces(11, 0), ["a"] * 10, 3, np.random.default_rng(0))
