"""The rule for gender: its third class, what it is learnt from, and how right it is about people it has not seen."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from streamdeid.aam import variations
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.train import sample_of, texture_of_sample
from streamdeid.aam.variations import filmed, variation
from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.surrogates.attributes import EITHER, ELSEWHERE, GENDER_SURE, rule_for
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
    assert rightness(rule, labels)[1] > 0.3
    of_men = rule.seen[np.array(labels) == "male"].mean(axis=0)
    assert of_men[0] < 0.05  # a forced choice would be wrong about one of six


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
    assert (found == gallery.gender).mean() > 0.85
    assert not ((found != gallery.gender) & (found != EITHER)).any()
    assert (rule.estimate(np.zeros(gallery.identities.shape[1]))) != "female"
    assert gallery.gender_rule is not None
    right, _, wrong = rightness(gallery.gender_rule, gallery.gender.tolist())
    assert right > 0.65 and wrong < 0.065  # models/CARD.md


def test_people_before_other_cameras_are_judged_by_a_moved_border_and_drawn_faces_are_not(gallery: Gallery) -> None:
    rule = rule_for(gallery, "gender")
    female, male = rule.names.index("female"), rule.names.index("male")
    along = rule.weights[male] - rule.weights[female]
    drawn = (rule.offsets[female] - rule.offsets[male]) / (along @ along) * along
    assert rule.odds(drawn[None])[0] == pytest.approx(0, abs=1e-9) and rule.unsure(drawn[None]).all()
    assert rule.estimate(drawn) == "male"
    moved = drawn - ELSEWHERE["male"] / (along @ along) * along
    assert rule.estimate(moved) == EITHER and not rule.unsure(moved[None]).any()
    just = (GENDER_SURE + 0.01) / (along @ along) * along
    assert [rule.estimate(moved - just), rule.estimate(moved + just)] == ["female", "male"]


def test_the_shape_has_no_weight(gallery: Gallery, model: AppearanceModel) -> None:
    """Landmarks of small faces are not exact enough to tell a gender by."""
    assert gallery.gender_rule is not None
    assert not gallery.gender_rule.weights[:, : len(model.shape_variances)].any()
    people, labels = _people()
    rule = learn_gender(people, labels, 1)  # they differ in the first dimension alone
    assert rule is not None and not rule.weights[:, 0].any() and rule.weights[:, 1:].any()
    right, _, wrong = rightness(rule, labels)
    assert right - wrong < 0.35


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
        plain.append(model.identity(given.points, texture_of_sample(given, model.mean_shape, model.table)))
        rng = np.random.default_rng(seed)
        varied.append([variation(given, model, rng) for _ in range(24)])
    spread = np.array(varied) - np.array(plain)[:, None]
    assert (np.linalg.norm(spread, axis=2) > 0.1 * np.linalg.norm(np.array(plain), axis=1)[:, None]).all()
    apart = np.linalg.norm(np.mean(varied, axis=1)[:, None] - np.array(plain), axis=2)
    assert (apart.argmin(axis=1) == np.arange(len(plain))).all()


def test_variations_follow_the_seed(model: AppearanceModel) -> None:
    shape, texture = model.decode(some_identity(model, 1, 0.5))
    given = sample_of(*(lambda view: (view.rgb, view.face))(scene(model, shape, texture, pose_at(model, 200.0))))
    one, two, other = (variation(given, model, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, other)


def test_a_filmed_photograph_shows_the_same_smaller_and_softer(
    model: AppearanceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, texture = model.decode(some_identity(model, 1, 0.5))
    view = scene(model, shape, texture, pose_at(model, 200.0), (300, 320))
    width = float(np.ptp(view.face.landmarks[:, 0])) if view.face.landmarks is not None else 0.0
    sizes = set()
    for seed in range(12):
        seen = filmed(view.rgb, width, np.random.default_rng(seed))
        again = filmed(view.rgb, width, np.random.default_rng(seed))
        np.testing.assert_array_equal(seen, again)
        assert seen.dtype == np.uint8 and seen.shape[2] == 3 and min(seen.shape[:2]) >= 159
        with monkeypatch.context() as without:  # a border
            without.setattr(variations, "_LEAST_SIDE", 0)
            seen = filmed(view.rgb, width, np.random.default_rng(seed))
        sizes.add(seen.shape)
        side = 36, 34  # reduced to the smallest size, both show the same
        one, other = (cv2.resize(each, side, interpolation=cv2.INTER_AREA).mean(axis=2) for each in (seen, view.rgb))
        assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.9
    assert len(sizes) > 6
