"""What published faces keep: the measures tell good from bad, and the chapters say what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import Photograph, photograph_of
from streamdeid.core.arrays import Floats, Picture
from streamdeid.core.faces import Face
from streamdeid.core.ibug68 import LEFT_BROW, RIGHT_BROW
from streamdeid.errors import InputError, SettingsError
from streamdeid.lab.published_pictures import Publisher
from streamdeid.lab.tables import Chapter
from streamdeid.lab.utility import crowd_chapter, measure
from streamdeid.lab.utility.attribute_agreement import attribute_agreement, label_of
from streamdeid.lab.utility.chapters import attribute_chapter, detection_chapter, expression_chapter, geometry_chapter
from streamdeid.lab.utility.correlation import concordance, pearson
from streamdeid.lab.utility.distinguishability import PairDistances, drawn_people, surrogates_of
from streamdeid.lab.utility.expression_agreement import expression_agreement
from streamdeid.lab.utility.landmark_geometry import MEASURES, geometry
from streamdeid.lab.utility.measure import measure_utility
from streamdeid.lab.utility.refit import RefitFaces, refit_originals, refit_published
from streamdeid.lab.utility.results import ORIGINALS, Results, preserving
from streamdeid.surrogates.attributes import ATTRIBUTES, Discriminant
from streamdeid.surrogates.choice import METHODS, SAMPLED
from streamdeid.surrogates.gallery import Gallery
from tests import simulated_faces
from tests.drawn_faces import pose_at, scene, some_identity, with_mouth

DIMENSIONS = 20
SMILE = 8.0


def smilers(people: int, seed: int, smile: float = 3.0) -> Floats:
    """Vectors (people, 2, DIMENSIONS) of people whose smile moves the first coordinate, by more or less."""
    rng = np.random.default_rng(seed)
    faces = np.repeat(rng.standard_normal((people, 1, DIMENSIONS)), 2, axis=1)
    faces += 0.1 * rng.standard_normal(faces.shape)
    faces[:, 1, 0] += smile * rng.uniform(0.5, 1.5, people)
    return faces


# Correlation


def test_correlations_know_shift_and_scale_apart() -> None:
    x = np.random.default_rng(1).standard_normal(50)
    assert pearson(x, 3 * x + 1) == pytest.approx(1.0)
    assert concordance(x, x) == pytest.approx(1.0)
    assert concordance(x, 3 * x + 1) < 0.7
    assert concordance(x, -x + 2 * x.mean()) == pytest.approx(-1.0)
    assert pearson(x, np.r_[np.nan, -x[1:]]) == pytest.approx(-1.0)


def test_no_correlation_without_variation_or_pairs() -> None:
    assert math.isnan(pearson(np.arange(5.0), np.ones(5)))
    assert math.isnan(pearson(np.arange(2.0), np.arange(2.0)))
    assert math.isnan(concordance(np.full(5, np.nan), np.arange(5.0)))


# Expression


def test_a_kept_smile_agrees_and_a_lost_one_does_not() -> None:
    originals = smilers(40, 1)
    new_faces = np.random.default_rng(2).standard_normal((40, 1, DIMENSIONS))
    new_faces[..., 0] = 0.0
    kept = originals - originals[:, :1] + new_faces
    lost = np.repeat(new_faces, 2, axis=1)
    good, bad = (expression_agreement(originals, originals, published) for published in (kept, lost))
    assert good.right > 0.9
    assert good.change_r > 0.99
    assert good.intensity_r > 0.7
    assert bad.right == 0.5
    assert abs(bad.intensity_r) < 0.5
    assert math.isnan(bad.change_r)
    itself = expression_agreement(originals, originals, originals)
    assert (itself.as_original, itself.intensity_r, itself.intensity_concordance) == (1.0, 1.0, pytest.approx(1.0))


def test_nobody_is_judged_by_a_classifier_that_has_seen_them() -> None:
    """Without any smile to learn, training on the very pictures would be right far more often than one half."""
    originals = np.random.default_rng(3).standard_normal((30, 2, 100))
    assert 0.3 < expression_agreement(originals, originals, originals).right < 0.7


def test_pictures_without_a_face_do_not_count() -> None:
    originals = smilers(40, 4)
    published = originals.copy()
    published[5:, 1] = np.nan
    found = expression_agreement(originals, originals, published)
    assert found.pictures == 45
    nothing = expression_agreement(originals, originals, np.full_like(originals, np.nan))
    assert nothing.pictures == 0
    assert all(math.isnan(value) for value in (nothing.right, nothing.as_original, nothing.intensity_r))
    with pytest.raises(SettingsError, match="too few"):
        expression_agreement(originals[:6], originals[:6], originals[:6])


# Landmarks


@settings(deadline=None)
@given(st.floats(0.3, 5.0), st.floats(-0.6, 0.6), st.floats(-500, 500))
def test_geometry_is_free_of_place_size_and_roll(
    model: AppearanceModel, scale: float, roll: float, move: float
) -> None:
    points = model.mean_shape[:68]
    turn = scale * np.array([[np.cos(roll), -np.sin(roll)], [np.sin(roll), np.cos(roll)]])
    np.testing.assert_allclose(geometry(points @ turn.T + move), geometry(points), atol=1e-9)


def test_each_measure_grows_with_what_it_is_named_after(model: AppearanceModel) -> None:
    still = model.mean_shape[:68]
    changes = {name: still.copy() for name in MEASURES}
    changes["mouth opening"] = with_mouth(model.mean_shape, 0.5)[:68]
    changes["mouth width"][[48, 54], 0] += (-5, 5)
    changes["lip-corner height"][[48, 54], 1] -= 5
    changes["eye opening"][[37, 38, 43, 44], 1] -= 2
    changes["brow height"][[*range(*LEFT_BROW.indices(68)), *range(*RIGHT_BROW.indices(68))], 1] -= 4
    for i, name in enumerate(MEASURES):
        grown = geometry(changes[name]) - geometry(still)
        assert grown[i] > 0.01, name
    batch = geometry(np.stack([still, np.full_like(still, np.nan)])[None])
    assert batch.shape == (1, 2, 5)
    assert np.isnan(batch[0, 1]).all() and np.isfinite(batch[0, 0]).all()


# Attributes

RULE = Discriminant(("female", "male"), np.array([[-1.0], [1.0]]), np.zeros(2))


def test_chance_is_what_dealt_out_estimates_would_reach() -> None:
    labels = ["female"] * 30 + ["male"] * 10
    vectors = np.array([[-1.0]] * 20 + [[1.0]] * 20)
    found = attribute_agreement(vectors, labels, RULE)
    assert (found.faces, found.agreement) == (40, 0.75)
    assert found.chance == pytest.approx(0.5)
    rng = np.random.default_rng(5)
    dealt = np.mean([attribute_agreement(rng.permutation(vectors), labels, RULE).agreement for _ in range(400)])
    assert dealt == pytest.approx(found.chance, abs=0.02)


def test_faces_that_were_not_found_and_people_without_label_do_not_count() -> None:
    found = attribute_agreement(np.array([[-1.0], [np.nan], [1.0]]), ["female", "female", ""], RULE)
    assert (found.faces, found.agreement, found.chance) == (1, 1.0, 1.0)
    assert attribute_agreement(np.array([[np.nan]]), ["male"], RULE).faces == 0


def test_labels_of_a_table() -> None:
    row = {"face_gender": "female", "face_age": "29.0"}
    assert [label_of(row, attribute) for attribute in ATTRIBUTES] == ["female", "25-34"]
    assert label_of({"face_age": "unknown"}, "age") == label_of({}, "age") == label_of({}, "gender") == ""


# Distances


def test_distances_of_all_pairs() -> None:
    found = PairDistances.of(np.array([[0.0, 0.0], [3.0, 4.0], [np.nan, 0.0], [0.0, 0.0]]))
    assert (found.faces, found.least, found.largest) == (3, 0.0, 5.0)
    assert found.mean == pytest.approx(10 / 3)
    assert found.deviation == 0.0  # without the repetition
    assert found.ratios(found)[1:3] == (1.0, 1.0)
    assert math.isnan(found.ratios(found)[0])
    assert math.isnan(PairDistances.of(np.zeros((1, 2))).least)


def test_equal_faces_are_at_zero_exactly() -> None:
    face = 1e4 * np.random.default_rng(6).standard_normal(138)
    assert PairDistances.of(np.stack([face, face, -face])).least == 0.0


def test_drawn_people_vary_as_donors_do() -> None:
    donors = simulated_faces.faces(60, 7) + 5.0
    people = drawn_people(donors, 20_000, np.random.default_rng(8))
    assert people.mean() == pytest.approx(donors.mean(), abs=0.1)
    assert np.square(people - people.mean(axis=0)).sum(axis=1).mean() == pytest.approx(
        np.square(donors - donors.mean(axis=0)).sum(axis=1).mean() * 60 / 59, rel=0.03
    )


def test_drawn_surrogates_differ_and_centroids_repeat() -> None:
    gallery = simulated_faces.gallery()
    people = drawn_people(gallery.identities, 40, np.random.default_rng(9))
    key = b"a key for the tests alone"
    drawn = surrogates_of(people, gallery, simulated_faces.VARIANCES, SAMPLED, key)
    shared = surrogates_of(people, gallery, simulated_faces.VARIANCES, "k-same-furthest", key)
    assert (drawn.distinct, drawn.refused, drawn.relaxed) == (40, 0, 0)
    assert shared.distinct < 30
    assert PairDistances.of(shared.vectors).least == 0.0 < PairDistances.of(drawn.vectors).least


# Pictures


class Room:
    """Drawn people, and a detector that knows every picture by a grey patch in its corner."""

    def __init__(self, model: AppearanceModel, people: int, name: str, expressions: Sequence[str]) -> None:
        self._faces: dict[int, Face] = {}
        self.photographs: list[Photograph] = []
        for number in range(people):
            shape, texture = model.decode(some_identity(model, number, 0.5))
            for expression in expressions:
                moved = with_mouth(shape, 0.4) if expression == "smiling" else shape
                drawn = scene(model, moved, texture, pose_at(model))
                code = len(self._faces)
                picture = drawn.rgb.copy()
                picture[:8, :8] = 4 * code + 20
                self._faces[code] = drawn.face
                photograph = photograph_of(picture, f"{name}/{number:03}", expression, self.detect)
                assert photograph is not None
                self.photographs.append(photograph)

    def detect(self, picture: Picture) -> list[Face]:
        """The face that belongs to the picture with this corner."""
        return [self._faces[round((float(picture[:8, :8].mean()) - 20) / 4)]]


def people_of(room: Room) -> list[list[Photograph]]:
    names = sorted({photograph.person for photograph in room.photographs})
    return [[photograph for photograph in room.photographs if photograph.person == name] for name in names]


@pytest.fixture(scope="module")
def room(model: AppearanceModel) -> Room:
    return Room(model, 3, "london", ("neutral", "smiling"))


def test_pictures_are_published_and_measured_again(room: Room, fitting: FitModel, gallery: Gallery) -> None:
    people = people_of(room)
    ticks: list[int] = []
    originals = refit_originals(people, fitting.model, room.detect, lambda: ticks.append(1))
    publisher = Publisher(fitting, gallery, "k-same-m", b"a key for the tests alone")
    published = refit_published(publisher, people, fitting.model, room.detect, lambda: ticks.append(1), neutral_times=3)
    assert len(ticks) == 6
    assert originals.shown.all() and originals.detected.all()
    assert published.vectors.shape == originals.vectors.shape == (3, 2, len(fitting.model.variances))
    # This detector sees the old landmarks, but the skin inside them is another one.
    np.testing.assert_allclose(published.landmarks, originals.landmarks)
    assert np.linalg.norm(published.vectors - originals.vectors, axis=2).min() > 500.0
    assert published.shown.all()
    assert publisher.vector(1) is not None


def test_a_face_elsewhere_is_not_a_face_found_again(room: Room, fitting: FitModel) -> None:
    people = people_of(room)

    def beside(picture: Picture) -> list[Face]:
        face = room.detect(picture)[0]
        x0, y0, x1, y1 = face.box
        return [replace(face, box=(x0 + 200, y0, x1 + 200, y1))]

    def boxes(picture: Picture) -> list[Face]:
        return [Face(room.detect(picture)[0].box, 0.9)]

    nothing = refit_originals(people, fitting.model, beside, lambda: None)
    assert nothing.share_detected == 0.0 and np.isnan(nothing.vectors).all()
    found = refit_originals(people, fitting.model, boxes, lambda: None)
    assert found.share_detected == 1.0 and np.isnan(found.landmarks).all()


# Chapters


def results(published: Floats, landmarks: Floats, detected: bool = True) -> Results:
    """Results of 24 London people and as many of Canada, in which every way of publishing gave the same."""
    originals = smilers(len(published), 1, SMILE)
    before = simulated_landmarks(len(published))
    flags = np.ones(published.shape[:2], np.bool_)
    after = RefitFaces(published, landmarks, flags, flags & detected)
    refits = {}
    for people in ("london", "canada"):
        refits[people, ORIGINALS] = RefitFaces(originals, before, flags, flags)
        for name in (*METHODS, *(preserving((attribute,)) for attribute in ATTRIBUTES)):
            refits[people, name] = after
    return Results(originals, refits, {}, dict.fromkeys(refits, len(published)))


def simulated_landmarks(people: int, seed: int = 2) -> Floats:
    rng = np.random.default_rng(seed)
    landmarks = 100.0 * rng.standard_normal((1, 1, 68, 2)) + 5.0 * rng.standard_normal((people, 2, 68, 2))
    landmarks[..., [36, 39, 42, 45], :] = [[0, 0], [40, 0], [80, 0], [120, 0]]
    return np.asarray(landmarks)


def verdicts(chapter: Chapter) -> list[bool]:
    return [verdict.met for verdict in chapter.verdicts]


def test_verdicts_follow_what_was_measured() -> None:
    kept = results(smilers(24, 1, SMILE), simulated_landmarks(24))
    lost = results(smilers(24, 2, smile=0.0), simulated_landmarks(24, seed=3), detected=False)
    for chapter in (expression_chapter, geometry_chapter, detection_chapter):
        good, bad = chapter(kept), chapter(lost)
        assert set(verdicts(good)) == {True}, good.slug
        assert set(verdicts(bad)) == {False}, bad.slug


def test_without_labels_attributes_are_not_measured(gallery: Gallery) -> None:
    chapter = attribute_chapter(results(smilers(24, 1), simulated_landmarks(24)), {"london": [], "canada": []}, gallery)
    assert (chapter.tables, chapter.verdicts) == ((), ())
    assert chapter.text.startswith("Not measured")


class Honest:
    """A publisher that publishes the originals."""

    def __init__(self, *arguments: object, **options: object) -> None:
        """Takes what `Publisher` does."""

    def publish(self, person: int, photographs: Sequence[Photograph]) -> list[Picture]:
        return [photograph.image for photograph in photographs]

    def vector(self, person: int) -> None:
        return None


def test_the_whole_work_on_pictures_that_nobody_changed(
    model: AppearanceModel, fitting: FitModel, gallery: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    london = Room(model, 16, "london", ("neutral", "smiling"))
    canada = Room(model, 4, "canada", ("neutral",))
    rooms = {"london": london, "canada": canada}

    def photographs(name: str) -> list[Photograph]:
        return list(reversed(rooms[name].photographs))

    def told(share: float, what: str) -> None:
        shares.append(share)

    shares: list[float] = []
    monkeypatch.setattr(measure, "Publisher", Honest)
    for module, name, value in (
        (measure, "MASKS", ("blackout",)),
        (measure, "_QUICK_FEW", 2),
        (measure, "_QUICK_KEYS", 1),
        (crowd_chapter, "_CROWD", 12),
    ):
        monkeypatch.setattr(module, name, value)
    labels = {f"{name}/{n:03}": {"face_gender": "female", "face_age": "20"} for name in rooms for n in range(16)}
    chapters = measure_utility(
        # The same codes mean other faces in the two rooms, but all of them are drawn in one place.
        photographs,
        fitting,
        gallery,
        london.detect,
        quick=True,
        progress=told,
        labels=lambda name: labels,
    )
    assert [chapter.slug for chapter in chapters] == [
        "utility-expression",
        "utility-geometry",
        "utility-attributes",
        "utility-distinguishability",
        "utility-detection",
    ]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    expression, moved, _, _, found = chapters
    drawn = next(row for row in expression.tables[0].rows if row[0] == SAMPLED)
    assert (drawn[1], drawn[5], drawn[6]) == (32, "100.0 %", pytest.approx(1.0))
    assert [row[1] for row in moved.tables[0].rows if row[0] == SAMPLED] == [pytest.approx(1.0)]
    assert {row[4] for row in found.tables[0].rows} == {"100.0 %"}


def test_too_few_people_are_an_input_error(room: Room, fitting: FitModel, gallery: Gallery) -> None:
    with pytest.raises(InputError, match="london has 3 usable people"):
        measure_utility(
            lambda name: room.photographs, fitting, gallery, room.detect, quick=True, progress=lambda share, what: None
        )
