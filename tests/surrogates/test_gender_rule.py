"""The rule for gender: its third class, what it is learnt from, and how right it is about people it has not seen."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.train import sample_of, texture_of_sample
from streamdeid.aam.variations import variation
from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.surrogates.attributes import EITHER, GENDER_SURE, rule_for
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.gender_rule import learn_gender, rightness
from tests import simulated_faces
from tests.drawn_faces import pose_at, scene, some_identity


def _people(count: int = 30, gap: float = 6.0) -> tuple[list[Floats], list[str]]:
    """People of two classes `gap` standard deviations apart along one of eight dimensions, in four variations each."""
    rng = np.random.default_rng(3)
    labels = ["female", "male"] * (count // 2)
    centres = rng.standard_normal((count, 8))
    centres[:, 0] += np.where(np.array(labels) == "male", gap / 2, -gap / 2)
    return [centre + 0.2 * rng.standard_normal((4, 8)) for centre in centres], labels


def test_clear_people_are_told_right_and_others_are_either() -> None:
    people, labels = _people()
    rule = learn_gender(people, labels)
    assert rule is not None and rule.names.tolist() == ["female", "male"]
    right, neither, wrong = rightness(rule, labels)
    assert right > 0.9 and wrong < 1e-9 and right + neither + wrong == pytest.approx(1.0)
    people, labels = _people(gap=2.0)
    rule = learn_gender(people, labels)
    assert rule is not None
    unclear, wrong = rightness(rule, labels)[1:]
    assert unclear > 0.4 and wrong < 0.05  # a forced choice would be wrong about one of six


def test_people_are_judged_by_a_rule_that_has_not_seen_them() -> None:
    """With labels dealt out at random there is nothing to learn: whoever were judged by their own rule would be told
    right all the same."""
    people, labels = _people(gap=0.0)
    rule = learn_gender(people, labels)
    assert rule is not None
    right, _, wrong = rightness(rule, labels)
    assert right - wrong < 0.35
    np.testing.assert_allclose(rule.seen.sum(axis=1), 1.0)


def test_without_two_classes_there_is_no_rule() -> None:
    people, _ = _people(4)
    assert learn_gender(people, ["female"] * 4) is None
    assert learn_gender(people, [""] * 4) is None
    assert learn_gender(people, ["female", "female", "female", "male"]) is None  # nobody is left to learn men from
    assert learn_gender(people, ["female", "male", "female", "male"]) is not None
    with pytest.raises(SettingsError, match="two genders"):
        rule_for(simulated_faces.gallery(), "gender")


def test_who_states_no_gender_is_judged_and_teaches_nothing() -> None:
    people, labels = _people()
    hidden = ["", *labels[1:]]
    rule, without = learn_gender(people, hidden), learn_gender(people[1:], labels[1:])
    assert rule is not None and without is not None
    np.testing.assert_allclose(rule.weights, without.weights)
    assert rule.seen[0, 0] == 1.0
    assert rightness(rule, hidden)[0] == pytest.approx(rightness(without, labels[1:])[0])


def test_the_shipped_rule_is_right_about_donors_and_unsure_of_the_mean_face(gallery: Gallery) -> None:
    rule = rule_for(gallery, "gender")
    assert rule.sure == GENDER_SURE and rule.classes == ("female", "male", EITHER)
    found = np.array([rule.estimate(y) for y in gallery.identities])
    assert (found == gallery.gender).mean() > 0.95
    assert not ((found != gallery.gender) & (found != EITHER)).any()
    middle = (gallery.identities[found == "female"].mean(axis=0) + gallery.identities[found == "male"].mean(axis=0)) / 2
    assert rule.estimate(middle) == EITHER
    assert gallery.gender_rule is not None
    right, _, wrong = rightness(gallery.gender_rule, gallery.gender.tolist())
    assert right > 0.85 and wrong < 0.015


def test_faces_between_the_classes_are_those_nearest_to_the_border(gallery: Gallery) -> None:
    rule = rule_for(gallery, "gender")
    between = rule.between(gallery.identities, gallery.gender.tolist())
    assert between.sum() == 44
    odds = np.abs(np.diff(gallery.identities @ rule.weights.T + rule.offsets, axis=1)[:, 0])
    for name in rule.names:
        own = gallery.gender == name
        assert (between & own).sum() == 22
        assert odds[between & own].max() <= odds[~between & own].min()


def test_variations_keep_the_person_and_change_what_cameras_change(model: AppearanceModel) -> None:
    plain, varied = [], []
    for seed in range(5):
        shape, texture = model.decode(some_identity(model, seed, 0.5))
        view = scene(model, shape, texture, pose_at(model, 200.0), (300, 320))
        given = sample_of(view.rgb, view.face)
        texture = texture_of_sample(given, model.mean_shape, model.table)
        plain.append(model.identity(given.points, texture))
        rng = np.random.default_rng(seed)
        varied.append([variation(given, texture, model, rng) for _ in range(8)])
    spread = np.array(varied) - np.array(plain)[:, None]
    assert (np.linalg.norm(spread, axis=2) > 0.1 * np.linalg.norm(np.array(plain), axis=1)[:, None]).all()
    apart = np.linalg.norm(np.mean(varied, axis=1)[:, None] - np.array(plain), axis=2)
    assert (apart.argmin(axis=1) == np.arange(len(plain))).all()


def test_variations_follow_the_seed(model: AppearanceModel) -> None:
    shape, texture = model.decode(some_identity(model, 1, 0.5))
    given = sample_of(*(lambda view: (view.rgb, view.face))(scene(model, shape, texture, pose_at(model, 200.0))))
    one, two, other = (variation(given, texture, model, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, other)
