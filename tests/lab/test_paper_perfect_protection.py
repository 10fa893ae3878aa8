"""P1's chapter: the cropped faces, what is measured on them, and verdicts that can turn out either way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.errors import InputError
from streamdeid.k_same.furthest import k_same_furthest
from streamdeid.k_same.m import k_same_m
from streamdeid.lab.papers import perfect_protection
from streamdeid.lab.papers.cropped_faces import (
    Faces,
    TwoExpressions,
    crop,
    decoded_crops,
    training_shares,
    two_expressions,
)
from streamdeid.lab.papers.furthest_outputs import cores_table, moves
from streamdeid.lab.tables import Chapter
from tests import drawn_faces, drawn_people, simulated_faces

PEOPLE = 12


@pytest.fixture(scope="module")
def crowd(model: AppearanceModel) -> TwoExpressions:
    """Twelve drawn people."""
    return two_expressions(drawn_people.photographs(model, PEOPLE), model)


def simulated(count: int, seed: int) -> TwoExpressions:
    """People with vectors only; the second image is the first with a little of another person."""
    first, second = simulated_faces.faces(count, seed), simulated_faces.faces(count, seed + 1)
    empty = np.zeros((count, 81, 2)), np.zeros((count, 1, 3), np.float32), np.zeros((count, 1), np.float32)
    names = np.array([f"{row:03d}" for row in range(count)])
    return TwoExpressions(names, Faces(first, *empty), Faces(first + 0.3 * second, *empty))


def test_a_crop_shows_shape_and_texture_but_no_brightness(model: AppearanceModel) -> None:
    vector = drawn_faces.some_identity(model, 1)
    shape, texture = model.decode(vector)
    own = crop(model, shape, texture)
    assert own.shape == ((model.frame_size[0] // 2) * (model.frame_size[1] // 2),)
    assert np.allclose(own, crop(model, shape, texture * 0.5), atol=0.01)
    other_shape, other_texture = model.decode(drawn_faces.some_identity(model, 2))
    assert np.abs(own - crop(model, other_shape, texture)).mean() > 1.0
    assert np.abs(own - crop(model, shape, other_texture)).mean() > 1.0


def test_photograph_and_decoded_vector_give_nearly_the_same_crop(model: AppearanceModel, crowd: TwoExpressions) -> None:
    drawn = decoded_crops(model, crowd.neutral.vectors)
    apart = np.linalg.norm(drawn[:, None] - crowd.neutral.crops[None], axis=2)
    assert (apart.argmin(axis=1) == np.arange(PEOPLE)).all()
    twice = decoded_crops(model, crowd.neutral.vectors[[0, 1, 0]])
    assert np.array_equal(twice[0], twice[2])
    assert not np.array_equal(twice[0], twice[1])


def test_people_without_both_photographs_are_left_out(model: AppearanceModel) -> None:
    pictures = drawn_people.photographs(model, 11)
    kept = two_expressions([each for each in pictures if each.person != "drawn/003"], model)
    assert len(kept.people) == 10 and "drawn/003" not in kept.people
    assert list(kept.owners[:10]) == list(kept.owners[10:]) == list(kept.people)
    assert kept.smiles.tolist() == [False] * 10 + [True] * 10
    with pytest.raises(InputError, match="9 people"):
        two_expressions([each for each in pictures if each.person not in ("drawn/003", "drawn/004")], model)


def test_seventy_percent_train_each_time_others() -> None:
    shares = training_shares(40, 10, np.random.default_rng(0))
    assert [int(share.sum()) for share in shares] == [28] * 10
    assert len({share.tobytes() for share in shares}) == 10


def test_moves_are_those_of_the_first_face() -> None:
    crowd = simulated(24, 5)
    found, fewest = moves(crowd, (2, 4), 3)
    measured = []
    for order in range(3):
        outputs = [k_same_furthest(crowd.neutral.vectors, k, np.random.default_rng([78, order])) for k in (2, 4)]
        first = int(np.random.default_rng([78, order]).permutation(24)[0])
        measured.append(float(np.linalg.norm(outputs[0][first] - outputs[1][first])))
    one = found["same expression (figure 7)"]
    assert one.first == pytest.approx(np.mean(measured))
    assert one.first < one.everybody
    assert fewest >= 0


def test_single_members_are_counted_as_real_faces_shown() -> None:
    crowd = simulated(40, 7)
    vectors = crowd.neutral.vectors
    shown = 0
    for order in range(6):
        outputs = k_same_furthest(vectors, 5, np.random.default_rng([78, order]))
        shown += int((np.abs(outputs[:, None] - vectors[None]).max(axis=2) < 1e-9).any(axis=1).sum())
    row = cores_table(crowd, (5,), 6).rows[0]
    assert shown > 0
    assert row[2] == f"{100 * shown / 240:.1f} %"


def chapter(monkeypatch: pytest.MonkeyPatch, model: AppearanceModel, crowd: TwoExpressions, out: Path) -> Chapter:
    """The chapter on few people with a small plan, from faces that are cropped already."""
    plan = replace(perfect_protection._QUICK, sizes=(2, 3), runs=1, people=None)
    monkeypatch.setattr(perfect_protection, "_QUICK", plan)
    monkeypatch.setattr(perfect_protection, "two_expressions", lambda pictures, model, most: crowd)
    steps: list[float] = []
    written = perfect_protection.reproduce(
        lambda name: [], model, out, quick=True, progress=lambda share, text: steps.append(share)
    )
    assert steps == sorted(steps) and steps[0] == 0.0 and steps[-1] == 1.0
    return written


def test_the_theorem_shows_in_the_chapter(
    monkeypatch: pytest.MonkeyPatch, model: AppearanceModel, crowd: TwoExpressions, tmp_path: Path
) -> None:
    written = chapter(monkeypatch, model, crowd, tmp_path)
    assert (tmp_path / written.plots[0]).stat().st_size > 1000
    verdicts = {verdict.claim: verdict for verdict in written.verdicts}
    assert verdicts["k-Same-furthest, one image each, its own AAM metric"].met
    assert verdicts["k-Same-M: at or under 1/k at every k, every recogniser, one image each or expressions apart"].met
    assert verdicts["every output is shared by k faces (theorem 1)"].met
    originals = {row[0]: row[1] for row in written.tables[1].rows}
    assert all(str(cell).startswith("100.0 %") for cell in originals.values())


def test_the_chapter_reports_what_is_not_zero(
    monkeypatch: pytest.MonkeyPatch, model: AppearanceModel, crowd: TwoExpressions, tmp_path: Path
) -> None:
    monkeypatch.setitem(perfect_protection._METHODS, "k-Same-furthest", k_same_m)
    missed = [verdict.claim for verdict in chapter(monkeypatch, model, crowd, tmp_path).verdicts if not verdict.met]
    assert "k-Same-furthest, one image each, its own AAM metric" in missed
    assert "k-Same-furthest, pixel Eigenfaces: slightly above zero and below k-Same-M at every k" in missed
