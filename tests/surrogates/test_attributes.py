"""Preserved attributes: classes, their estimate and their leakage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamdeid.errors import SettingsError
from streamdeid.surrogates.attributes import (
    BETWEEN,
    EITHER,
    age_group,
    class_leakage,
    donor_labels,
    donors_of_class,
    fit_discriminant,
    leakage,
    leave_one_out_accuracy,
    rule_for,
)
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
    gallery = replace(simulated_faces.gallery(40, learnt=True), age=np.array([20, 30, -1, 50] * 10))
    rules = [rule_for(gallery, attribute) for attribute in ("gender", "age")]
    for label, rows in (("female, under 25", range(0, 40, 4)), ("male, 35 and over", range(3, 40, 4))):
        found = donors_of_class(gallery, ["gender", "age"], label, rules)
        np.testing.assert_array_equal(found, gallery.identities[list(rows)])
    np.testing.assert_array_equal(donors_of_class(gallery, [], "", []), gallery.identities)


def test_those_between_two_classes_are_sought_in_the_class_of_the_other_attribute() -> None:
    gallery = simulated_faces.gallery(learnt=True)
    rules = [rule_for(gallery, attribute) for attribute in ("gender", "age")]
    young, gender = gallery.identities[gallery.age < 25], gallery.gender[gallery.age < 25].tolist()
    found = donors_of_class(gallery, ["gender", "age"], f"{EITHER}, under 25", rules)
    np.testing.assert_array_equal(found, young[rules[0].between(young, gender)])
    assert len(found) == 2 * round(BETWEEN * len(young) / 2)


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(SettingsError, match="choose from gender, age"):
        donor_labels(simulated_faces.gallery(4), "ethnicity")


def test_the_leakage_is_the_surprise_of_the_class() -> None:
    paid = leakage({"a": 3, "b": 1})
    assert paid.by_class == pytest.approx({"a": -np.log2(0.75), "b": 2.0})
    assert paid.worst == pytest.approx(2.0)
    assert paid.mean == pytest.approx(0.8113, abs=1e-4)
    assert leakage({}).worst == 0.0
    assert leakage({"x": 8, "y": 8, "nobody": 0}).mean == pytest.approx(1.0)


def test_the_leakage_counts_the_class_of_those_of_whom_the_rule_is_unsure() -> None:
    gallery = simulated_faces.gallery(learnt=True)
    assert gallery.gender_rule is not None
    rule = rule_for(gallery, "gender")
    paid = class_leakage(gallery, ["gender"], [rule])
    share = gallery.gender_rule.seen[:, -1].mean()
    assert share > 0.02 and paid.by_class[EITHER] == pytest.approx(-np.log2(share))
    assert 1.0 < paid.mean <= np.log2(3) < paid.worst
    both = class_leakage(gallery, ["gender", "age"], [rule, rule_for(gallery, "age")])
    by_age = class_leakage(gallery, ["age"], [rule_for(gallery, "age")])
    assert both.mean > paid.mean and both.mean > by_age.mean
    # One after the other: what both tell is at most what each tells.
    assert both.mean <= paid.mean + by_age.mean + 1e-9
    young = gallery.age < 25
    joint = gallery.gender_rule.seen[young, 0].sum() / len(young)
    assert both.by_class["female, under 25"] == pytest.approx(-np.log2(joint))


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
