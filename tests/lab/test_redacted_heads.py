"""Attacks on redacted heads: one outline for all kinds, a learner that finds what is there and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import Photograph
from streamdeid.core.arrays import Points
from streamdeid.lab.picture_attacks import redactions
from streamdeid.lab.picture_attacks.laboratory import Subjects, known_to
from streamdeid.lab.picture_attacks.redacted_heads import (
    BLUR,
    COLOURS,
    FILLED,
    KINDS,
    PIXELS,
    RIM,
    SOFT,
    SOLID,
    head_chip,
    head_in,
    heads_alone,
    redacted_heads,
)
from streamdeid.lab.picture_attacks.redaction_inversion import RedactedPairs, named, named_in_folds
from streamdeid.lab.picture_attacks.redactions import ATTACKS, NAIVE, SAME, UNSEEN, redactions_chapter
from streamdeid.lab.picture_attacks.scores import KnownFaces
from tests.drawn_photographs import photographs


def _radii(photograph: Photograph, picture: NDArray[np.uint8]) -> Points:
    rows, columns = np.mgrid[0 : picture.shape[0], 0 : picture.shape[1]]
    return head_in(photograph).radii(columns, rows)


@pytest.fixture(scope="module")
def people(model: AppearanceModel) -> list[Photograph]:
    return photographs(model, range(4))


def test_all_kinds_show_the_same_surroundings(people: list[Photograph]) -> None:
    plain = redacted_heads(people, SOLID)
    for kind in (BLUR, PIXELS, COLOURS, SOFT, RIM):
        other = redacted_heads(people, kind)
        for one, two, source in zip(plain.pictures, other.pictures, other.sources, strict=True):
            beyond = _radii(source, one) > head_in(source).reach + 0.05
            assert np.abs(one[beyond].astype(int) - two[beyond]).max() == 0, kind
            inside = _radii(source, one) < 0.8
            assert np.abs(one[inside].astype(int) - two[inside]).mean() > 3, kind


def test_a_solid_head_alone_says_nothing_and_the_others_show_their_inside(people: list[Photograph]) -> None:
    for kind in KINDS:
        for picture, source in zip(heads_alone(redacted_heads(people, kind)).pictures, people, strict=True):
            assert (picture[_radii(source, picture) > 1] == 128).all()
            assert (picture[_radii(source, picture) < 0.97] == 128).all() == (kind == SOLID)


def test_the_filled_control_is_made_of_what_the_solid_one_shows(people: list[Photograph]) -> None:
    changed = []
    for source in people:
        image = source.image.copy()
        image[_radii(source, image) < 0.97] = 0
        changed.append(Photograph(source.person, source.expression, image, source.face, source.sample))
    for one, two in zip(redacted_heads(people, FILLED).pictures, redacted_heads(changed, FILLED).pictures, strict=True):
        assert np.array_equal(one, two)
    rim = redacted_heads(people, RIM).pictures
    for one, two, source in zip(redacted_heads(people, FILLED).pictures, rim, people, strict=True):
        inside = _radii(source, one) < 1
        assert np.abs(one[inside].astype(float) - two[inside]).mean() < 6, "it is what the soft one shows without tone"


def test_a_chip_is_upright_and_of_one_size(people: list[Photograph]) -> None:
    chip = head_chip(people[0].image, head_in(people[0]), 0.8, 16)
    assert chip.shape == (16 * 16 * 3,)
    face = chip.reshape(16, 16, 3)
    assert face[6:10, 6:10].mean() > 60 and face.std() > 8


def _pairs(count: int, told: float, seed: int = 0) -> tuple[RedactedPairs, RedactedPairs]:
    """Faces of `count` people twice, and pictures of them that tell so much: learnt from, and asked."""
    rng = np.random.default_rng(seed)
    faces = rng.normal(0, 1, (count, 12)) * np.linspace(4, 1, 12)
    mixing = rng.normal(0, 1, (12, 40))
    seen = told * faces @ mixing + rng.normal(0, 1, (count, 40))
    half = count // 2
    numbers = np.arange(count)
    return RedactedPairs(seen[:half], faces[:half], numbers[:half]), RedactedPairs(
        seen[half:], faces[half:], numbers[half:]
    )


def test_the_learner_finds_what_is_told_and_nothing_where_nothing_is() -> None:
    learnt, asked = _pairs(200, 1.0)
    assert named(learnt, asked, asked, 30).mean() > 0.8
    learnt, asked = _pairs(200, 0.0)
    assert named(learnt, asked, asked, 30).mean() < 0.06
    empty = RedactedPairs(np.zeros_like(learnt.seen), learnt.faces, learnt.people)
    blank = RedactedPairs(np.zeros_like(asked.seen), asked.faces, asked.people)
    assert named(empty, blank, asked, 30).mean() <= 0.01


def test_in_folds_nobody_is_learnt_from_who_is_asked() -> None:
    pairs, _ = _pairs(120, 1.0)
    assert named_in_folds(pairs, pairs, pairs, 30, 2).mean() > 0.5
    own = np.eye(len(pairs.people)) * 10  # everybody's picture is a mark of his own: useless for others
    marked = RedactedPairs(own, pairs.faces, pairs.people)
    assert named_in_folds(marked, marked, marked, 30, 2).mean() < 0.1


class _Pixels:
    """A recogniser that compares small pictures."""

    name = "pixels"

    def __call__(self, picture: NDArray[np.uint8], points: Points) -> NDArray[np.float64]:
        return picture[::16, ::16].astype(float).ravel()


def test_the_chapter_on_drawn_people(model: AppearanceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redactions, "_RUNS", 1)
    monkeypatch.setattr(redactions, "_SAMPLES", 1)
    unseen = tuple(photographs(model, range(6), group="unseen"))
    donors = photographs(model, range(20, 32), group="donors")
    donors += photographs(model, range(20, 32), group="donors", expression="open")
    subjects = Subjects(unseen, tuple(donors))
    recogniser = _Pixels()
    known = known_to(recogniser, subjects.known)
    shares: list[float] = []
    chapter = redactions_chapter(recogniser, known, subjects, lambda share, text: shares.append(share))
    assert chapter is not None and shares == sorted(shares)
    (table,) = chapter.tables
    assert table.columns[1:] == ATTACKS and len(table.rows) == 2 * len(KINDS)
    rows = {str(row[0]): dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert float(str(rows[f"{PIXELS}, with surroundings"][NAIVE]).split()[0]) == 100.0
    assert float(str(rows[f"{SOLID}, alone"][SAME]).split()[0]) <= 100 / 12 + 0.1
    assert float(str(rows[f"{SOLID}, alone"][UNSEEN]).split()[0]) <= 100 / 6 + 0.1
    assert len([v for v in chapter.verdicts if v.claim.startswith(SOFT)]) == len(ATTACKS)


def test_without_two_photographs_of_donors_there_is_no_chapter(model: AppearanceModel) -> None:
    few = tuple(photographs(model, range(3), group="donors"))
    known = KnownFaces(np.zeros((3, 2)), tuple(p.person for p in few))
    nothing = redactions_chapter(_Pixels(), known, Subjects(few, few), lambda share, text: None)
    assert nothing is None


def test_more_than_the_surroundings_is_missed() -> None:
    hits = {
        f"{kind}, {where}": dict.fromkeys(ATTACKS, np.zeros(50))
        for kind in KINDS
        for where in ("alone", "with surroundings")
    }
    hits[f"{SOFT}, with surroundings"] = dict.fromkeys(ATTACKS, np.r_[np.ones(4), np.zeros(46)])
    chapter = redactions._chapter("x", hits, 60, (50, 50))
    assert not any(v.met for v in chapter.verdicts if v.claim.startswith(SOFT))
    hits[f"{FILLED}, with surroundings"] = dict.fromkeys(ATTACKS, np.r_[np.zeros(46), np.ones(4)])
    chapter = redactions._chapter("x", hits, 60, (50, 50))
    assert all(v.met for v in chapter.verdicts if v.claim.startswith(SOFT))
