"""Preserved attributes: classes, their estimate and their price."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamdeid.deidentify.attributes import (
    age_group,
    donor_classes,
    donor_labels,
    fit_discriminant,
    leave_one_out_accuracy,
    price,
)
from streamdeid.errors import SettingsError
from tests import simulated_faces


def test_age_groups() -> None:
    assert [age_group(age) for age in (-1, 18, 24, 25, 34, 35, 80)] == [
        "",
        "under 25",
        "under 25",
        "25-34",
        "25-34",
        "35 and over",
        "35 and over",
    ]


def test_classes_combine_and_leave_out_who_did_not_state() -> None:
    gallery = simulated_faces.gallery(4)
    gallery = replace(gallery, age=np.array([20, 30, -1, 50]))
    assert donor_classes(gallery, ["gender", "age"]).tolist() == [
        "female, under 25",
        "male, 25-34",
        "",
        "male, 35 and over",
    ]
    assert donor_classes(gallery, []).tolist() == [""] * 4


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(SettingsError, match="choose from gender, age"):
        donor_labels(simulated_faces.gallery(4), "ethnicity")


def test_the_price_is_the_surprise_of_the_class() -> None:
    paid = price(np.array(["a", "a", "a", "b", ""]))
    assert paid.by_class == pytest.approx({"a": -np.log2(0.75), "b": 2.0})
    assert paid.worst == pytest.approx(2.0)
    assert paid.mean == pytest.approx(0.8113, abs=1e-4)
    assert price(np.array(["", ""])).worst == 0.0
    assert price(np.array(["x", "y"] * 8)).mean == pytest.approx(1.0)


def test_gender_is_estimated_from_the_identity() -> None:
    gallery = simulated_faces.gallery()
    labels = donor_labels(gallery, "gender")
    assert leave_one_out_accuracy(gallery.identities, labels) > 0.85
    shuffled = np.random.default_rng(0).permutation(labels).tolist()
    assert 0.3 < leave_one_out_accuracy(gallery.identities, shuffled) < 0.7


def test_the_estimate_works_with_more_dimensions_than_donors() -> None:
    vectors = np.random.default_rng(0).standard_normal((20, 50))
    vectors[10:, 0] += 9.0
    rule = fit_discriminant(vectors, ["left"] * 10 + ["right"] * 10)
    assert rule.estimate(vectors[:10].mean(axis=0)) == "left"
    assert rule.estimate(vectors[10:].mean(axis=0)) == "right"


def test_one_class_is_no_attribute() -> None:
    with pytest.raises(SettingsError, match="two classes"):
        fit_discriminant(np.eye(4), ["a", "a", "", "a"])
