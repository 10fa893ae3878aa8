"""The picture laboratory: scores, controls, each chapter on data of known outcome; then the whole on drawn people."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import Photograph
from streamdeid.core.arrays import Floats
from streamdeid.core.faces import Face
from streamdeid.lab.picture_attacks import attack_pictures as whole
from streamdeid.lab.picture_attacks.donors import OTHER_KIND, OWN_KIND, donors_chapter
from streamdeid.lab.picture_attacks.laboratory import (
    BLACK_HULL,
    JPEG_AGAIN,
    PAPER,
    SHUFFLED,
    Amount,
    Subjects,
    known_to,
    scores,
)
from streamdeid.lab.picture_attacks.picture_sets import (
    black_hull,
    hull,
    hull_only,
    originals,
    published,
    surroundings_only,
)
from streamdeid.lab.picture_attacks.recognition import recognition_chapter
from streamdeid.lab.picture_attacks.refitted import refitted_chapter
from streamdeid.lab.picture_attacks.scores import KnownFaces, distances, score
from streamdeid.lab.picture_attacks.sessions import sessions_chapter
from streamdeid.lab.picture_attacks.soft_biometrics import soft_biometrics_chapter
from streamdeid.lab.tables import Chapter, limits
from streamdeid.surrogates.choice import SAMPLED
from streamdeid.surrogates.gallery import Gallery
from tests import simulated_faces
from tests.drawn_photographs import photographs


def _names(count: int, group: str = "drawn") -> list[str]:
    return [f"{group}/{i:03d}" for i in range(count)]


def _met(chapter: Chapter, words: str) -> list[bool]:
    found = [verdict.met for verdict in chapter.verdicts if words in verdict.claim]
    assert found, [verdict.claim for verdict in chapter.verdicts]
    return found


def test_scores_of_the_person_himself_of_strangers_and_of_nobody() -> None:
    rng = np.random.default_rng(0)
    known = KnownFaces(rng.standard_normal((30, 8)), tuple(_names(30)))
    people = _names(20)
    same = score(known.vectors[:20] + 1e-3, people, known, rng)
    assert (
        same.rank_1.value == 1.0 and same.tar_3.value == 1.0 and same.accepts_3 == 20 and same.equal_error.value == 0.0
    )
    assert same.rank_1.low < 1.0  # twenty of twenty is not certainty
    strange = score(10.0 + rng.standard_normal((20, 8)), people, known, rng)
    assert strange.rank_1.value < 0.3 and strange.accepts_3 == 0 and strange.tar_2.high > 0.0
    nobody = score(np.full((20, 8), np.nan), people, known, rng)
    assert nobody.rank_1.value == 0.0 and nobody.rank_5.value == 0.0 and nobody.accepts_3 == 0
    assert limits(same.rank_1).startswith("100.0 % (")


def test_several_probes_of_a_person_do_not_narrow_the_limits() -> None:
    rng = np.random.default_rng(1)
    known = KnownFaces(rng.standard_normal((10, 4)), tuple(_names(10)))
    # Five are found as themselves, five as somebody else.
    half = known.vectors[np.where(np.arange(10) < 5, np.arange(10), (np.arange(10) + 1) % 10)] + 1e-6
    once = score(half, _names(10), known, np.random.default_rng(2)).rank_1
    often = score(np.repeat(half, 8, axis=0), list(np.repeat(_names(10), 8)), known, np.random.default_rng(2)).rank_1
    assert once.value == often.value == 0.5
    assert often.high - often.low == pytest.approx(once.high - once.low, abs=0.11)


def test_impostors_are_pairs_of_different_people() -> None:
    vectors = np.array([[0.0], [1.0], [5.0]])
    assert sorted(KnownFaces(vectors, ("a", "b", "a")).impostors()) == [1.0, 4.0]
    assert np.allclose(distances(vectors, vectors), np.abs(vectors - vectors.T))


def test_controls_hide_and_show_what_they_say(model: AppearanceModel) -> None:
    people = photographs(model, range(2))
    held = originals(people, "held")
    inside = hull(people[0])
    black, beside, alone = black_hull(people), surroundings_only(people), hull_only(held)
    assert black.pictures[0][inside].max() == 0
    assert np.array_equal(black.pictures[0][~inside], people[0].image[~inside])
    assert np.array_equal(beside.pictures[0][~inside], people[0].image[~inside])
    assert np.abs(beside.pictures[0][inside].astype(int) - people[0].image[inside]).mean() > 10
    assert np.array_equal(alone.pictures[0][inside], people[0].image[inside])
    assert (alone.pictures[0][~inside] == 128).all()


def test_every_session_has_its_own_faces(fitting: FitModel, gallery: Gallery) -> None:
    people = photographs(fitting.model, range(2))
    made = published(people, fitting, gallery, SAMPLED, [bytes(32), b"1" * 32])
    assert made.people == [p.person for p in people] * 2 and made.sessions == (0, 0, 1, 1) and made.refused == 0
    assert not np.array_equal(made.pictures[0], made.pictures[2])


def _vectors_chapter(ours: Floats, paper: Floats, floor: Floats, known: KnownFaces, people: list[str]) -> Chapter:
    given = _set(people)
    sets = dict.fromkeys((JPEG_AGAIN, BLACK_HULL, SAMPLED, PAPER), given)
    rows = {JPEG_AGAIN: known.vectors[: len(people)], BLACK_HULL: floor, SAMPLED: ours, PAPER: paper}
    return recognition_chapter(
        {"dlib ResNet": scores(rows, sets, known)}, sets, len(known.people), ("not run: something",), None
    )


class _Set:
    """Stands for a set of pictures: the chapters only ask who is in it."""

    def __init__(self, people: list[str], sessions: tuple[int, ...] = ()) -> None:
        self.people, self.sessions, self.refused = people, sessions or (0,) * len(people), 0


def _set(people: list[str], sessions: tuple[int, ...] = ()) -> object:
    return _Set(people, sessions)


def test_bars_are_met_by_strangers_and_missed_by_the_persons_themselves() -> None:
    rng = np.random.default_rng(3)
    known = KnownFaces(rng.standard_normal((60, 16)), tuple(_names(60)))
    people = _names(30)
    far = 30.0 + rng.standard_normal((30, 16))
    near = known.vectors[:30] + 0.05 * rng.standard_normal((30, 16))
    good = _vectors_chapter(far, near, 30.0 + rng.standard_normal((30, 16)), known, people)
    missed = [verdict for verdict in good.verdicts if not verdict.met]
    assert [verdict.measured for verdict in missed] == ["not run: something"]
    bad = _vectors_chapter(near, far, far, known, people)
    assert not any(_met(bad, f"{SAMPLED} within")) and not any(_met(bad, "no true accept"))
    assert not any(_met(bad, "well above chance"))


def test_controls_notice_a_recogniser_that_knows_nobody_and_labels_that_are_not_shuffled() -> None:
    rng = np.random.default_rng(4)
    known = KnownFaces(rng.standard_normal((60, 16)), tuple(_names(60)))
    given = {
        JPEG_AGAIN: _set(_names(30)),
        BLACK_HULL: _set(_names(30)),
        SAMPLED: _set(_names(30)),
        PAPER: _set(_names(30)),
    }
    rows = {name: rng.standard_normal((30, 16)) for name in given}
    blind = recognition_chapter({"dlib ResNet": scores(rows, given, known)}, given, 60, (), None)  # type: ignore[arg-type]
    assert not any(_met(blind, "recognises the unaltered"))
    found = scores({**rows, PAPER: known.vectors[:30] + 0.1}, given, known)  # type: ignore[arg-type]
    assert found[SHUFFLED].rank_1.low <= 1 / 60 <= found[SHUFFLED].rank_1.high
    honest = recognition_chapter({"x": found}, given, 60, (), None)  # type: ignore[arg-type]
    assert all(_met(honest, "shuffled labels"))
    found[SHUFFLED] = found[PAPER]
    assert not any(_met(recognition_chapter({"x": found}, given, 60, (), None), "shuffled labels"))  # type: ignore[arg-type]
    del found[SHUFFLED], found[JPEG_AGAIN]
    nothing = recognition_chapter({"x": found}, given, 60, (), None)  # type: ignore[arg-type]
    assert [verdict.measured for verdict in nothing.verdicts] == ["not measured"] * 3


def test_sessions_link_what_stays_and_not_what_is_drawn_anew() -> None:
    rng = np.random.default_rng(5)
    people, donors = _names(40), _names(40, "donors")
    known = KnownFaces(rng.standard_normal((40, 16)), tuple(people))
    stays = rng.standard_normal((40, 16)) + 20.0

    def anew(names: list[str]) -> tuple[object, Floats]:
        return _set(names), rng.standard_normal((40, 16))

    def same(names: list[str]) -> tuple[object, Floats]:
        return _set(names), stays + 0.05 * rng.standard_normal((40, 16))

    ours = {SAMPLED: anew(people), PAPER: (_set(people), known.vectors + 0.1), BLACK_HULL: (_set(people, ()), stays)}
    pairs = {SAMPLED: (anew(donors), anew(donors)), PAPER: (same(donors), same(donors)),
             BLACK_HULL: (same(donors), same(donors))}  # fmt: skip
    chapter = sessions_chapter("x", ours, known, pairs, 0.5)  # type: ignore[arg-type]
    assert all(verdict.met for verdict in chapter.verdicts) and len(chapter.verdicts) == 5
    leaky = {**pairs, SAMPLED: pairs[PAPER], PAPER: pairs[SAMPLED], BLACK_HULL: (anew(donors), anew(donors))}
    found = sessions_chapter("x", {**ours, SAMPLED: ours[PAPER]}, known, leaky, 0.5)  # type: ignore[arg-type]
    assert not any(verdict.met for verdict in found.verdicts)
    alone = sessions_chapter("x", ours, known, {}, 0.5)  # type: ignore[arg-type]
    assert "not run" in alone.text and len(alone.verdicts) == 1


def test_refitting_finds_a_kept_residual_and_nothing_in_a_drawn_face() -> None:
    donors, people = simulated_faces.faces(40, 1), _names(30)
    known = KnownFaces(simulated_faces.faces(30, 2), tuple(people))
    shifted = known.vectors + donors[:5].mean(axis=0) - donors[5:10].mean(axis=0)
    drawn = simulated_faces.faces(30, 3)
    lost = drawn.copy()
    lost[0] = np.nan
    probes = {PAPER: (shifted, people), SAMPLED: (lost, people), "nobody": (np.full((30, 58), np.nan), people)}
    chapter = refitted_chapter(probes, known, donors, 5, 0.5)
    assert all(verdict.met for verdict in chapter.verdicts)
    assert [row[0] for row in chapter.tables[0].rows] == [PAPER, SAMPLED]
    assert chapter.tables[0].rows[1][-1] == "29 of 30"
    swapped = refitted_chapter({PAPER: probes[SAMPLED], SAMPLED: (known.vectors, people)}, known, donors, 5, 0.5)
    assert not any(verdict.met for verdict in swapped.verdicts)


def test_a_face_that_is_a_donors_is_noticed() -> None:
    rng = np.random.default_rng(7)
    donors, strangers = (
        KnownFaces(rng.standard_normal((30, 12)), tuple(_names(30, g))) for g in ("donors", "strangers")
    )
    people = _names(30, "strangers")
    harmless = donors_chapter("x", {SAMPLED: (rng.standard_normal((30, 12)) * 1.6, people)}, donors, strangers, SAMPLED)
    assert all(verdict.met for verdict in harmless.verdicts) and len(harmless.verdicts) == 8
    assert [row[0] for row in harmless.tables[0].rows] == [OWN_KIND, OTHER_KIND, SAMPLED]
    copied = donors_chapter("x", {SAMPLED: (donors.vectors + 1e-3, people)}, donors, strangers, SAMPLED)
    assert not any(verdict.met for verdict in copied.verdicts)


def test_gender_and_tone_are_read_where_they_are(model: AppearanceModel) -> None:
    people = photographs(model, range(12))
    held = originals(people, "held")
    gender = {p.person: ("female", "male")[i % 2] for i, p in enumerate(people)}
    told = np.array([[float(i % 2), 0.3 * (i % 3)] for i in range(12)])
    sets = {"told": held, "hidden": black_hull(people, "hidden")}
    chapter = soft_biometrics_chapter(
        "x", {"told": told, "hidden": np.full((12, 2), np.nan)}, sets, (told, held.people), gender
    )
    (row,) = chapter.tables[0].rows
    assert row[0] == "told" and str(row[1]).startswith("100.0 %") and row[2:] == ("50.0 %", "1.00", "1.00", "1.00")


def test_the_whole_laboratory_on_drawn_people(
    fitting: FitModel, gallery: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    unseen = photographs(fitting.model, range(6), group="unseen")
    donors = photographs(fitting.model, range(20, 26), group="donors")
    donors += photographs(fitting.model, range(20, 26), group="donors", expression="open")
    faces = [p.face for p in (*unseen, *donors)]

    def read(name: str) -> list[Photograph]:
        return {"unseen": unseen, "donors": donors}[name]

    def detect(image: NDArray[np.uint8]) -> list[Face]:
        return faces[:1]  # every drawn face is found at about the same place

    def labels(name: str) -> Mapping[str, Mapping[str, str]]:
        return {p.person: {"face_gender": ("female", "male")[i % 2]} for i, p in enumerate(read(name))}

    monkeypatch.setattr(whole, "QUICK", Amount(None, 2, 1, 3, (SAMPLED, PAPER, "blackout")))
    monkeypatch.setattr("streamdeid.identity.picture_recognisers.util.find_spec", lambda name: None)
    shares: list[float] = []
    chapters = whole.attack_pictures(
        read, labels, fitting, gallery, detect, unseen="unseen", donors="donors", quick=True,
        progress=lambda share, text: shares.append(share),
    )  # fmt: skip
    assert [c.slug for c in chapters] == [
        "recognition", "posed-faces", "other-photographs", "redacted-heads", "sessions", "refitted", "donors",
        "soft-biometrics",
    ]  # fmt: skip
    assert shares == sorted(shares) and 0.9 < shares[-1] <= 1.0
    assert len(chapters[0].tables) == 3 and "not run" in chapters[0].text
    eigenfaces = {str(row[0]): str(row[1]) for row in chapters[0].tables[0].rows}
    assert eigenfaces[f"control: {JPEG_AGAIN}"].startswith("100.0 %")
    assert float(eigenfaces[SAMPLED].split()[0]) < 60 < 100 == float(eigenfaces["control: " + JPEG_AGAIN].split()[0])


def test_subjects_give_the_attacker_one_photograph_of_each_donor(model: AppearanceModel) -> None:
    unseen = tuple(photographs(model, range(2), group="unseen"))
    neutral = tuple(photographs(model, range(5, 7), group="donors"))
    opened = tuple(photographs(model, range(5, 7), group="donors", expression="open"))
    subjects = Subjects(unseen, (*neutral, *opened))
    assert subjects.known == (*unseen, *neutral)
    known = known_to(lambda pictures, landmarks: np.zeros((len(pictures), 2)), subjects.known)  # type: ignore[arg-type]
    assert known.people == tuple(p.person for p in subjects.known)
