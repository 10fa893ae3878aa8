"""Attacks on posed faces: published in the stream's parts, beside a black hull of the very region that they replace."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import Photograph
from streamdeid.core.arrays import Picture, Points, Vector, Vectors
from streamdeid.core.faces import Keypoints
from streamdeid.lab.picture_attacks import posed_recognition
from streamdeid.lab.picture_attacks.laboratory import Subjects, key_of
from streamdeid.lab.picture_attacks.other_photographs import OTHERS, PhotographedPeople
from streamdeid.lab.picture_attacks.posed_faces import (
    WIDTHS,
    black_region_at,
    posed,
    posed_at,
    posed_sets,
    small,
    unaltered_at,
)
from streamdeid.lab.picture_attacks.posed_recognition import posed_chapter
from streamdeid.lab.picture_attacks.scores import KnownFaces, Score, score
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame
from streamdeid.surrogates.gallery import Gallery
from tests.drawn_faces import some_identity
from tests.drawn_photographs import photographs


@pytest.fixture(scope="module")
def people(model: AppearanceModel) -> list[Photograph]:
    return photographs(model, range(4))


@pytest.mark.parametrize("width", WIDTHS)
def test_photographs_are_as_small_as_the_faces_that_are_posed(people: list[Photograph], width: float) -> None:
    for photograph in small(people, width):
        assert np.ptp(photograph.sample.points[:, 0]) == pytest.approx(width, abs=1)


def test_posed_faces_are_published_once_for_each_key(
    fitting: FitModel, gallery: Gallery, people: list[Photograph]
) -> None:
    sets = posed_sets(people, 60.0, fitting, gallery, [key_of(0), key_of(1)])
    given = sets.posed
    assert len(given.pictures) + given.refused == 8 and given.refused <= 2
    assert set(given.sessions) == {0, 1}
    first = {s.person: p for s, p, n in zip(given.sources, given.pictures, given.sessions, strict=True) if n == 0}
    second = {s.person: p for s, p, n in zip(given.sources, given.pictures, given.sessions, strict=True) if n == 1}
    assert first.keys() & second.keys()
    for person in first.keys() & second.keys():
        assert (first[person] != second[person]).mean() > 0.02, "another key, another face"


def test_the_control_is_black_where_the_posed_face_is_and_the_photograph_elsewhere(
    fitting: FitModel, gallery: Gallery, people: list[Photograph]
) -> None:
    sets = posed_sets(people, 60.0, fitting, gallery, [key_of(0)])
    assert sets.black_region.sources == sets.posed.sources and len(sets.posed.pictures) >= 2
    plain = {p.person: picture for p, picture in zip(sets.unaltered.sources, sets.unaltered.pictures, strict=True)}
    for black, shown, source in zip(sets.black_region.pictures, sets.posed.pictures, sets.posed.sources, strict=True):
        inside = black.max(axis=2) == 0
        assert inside.mean() > 0.02
        face = source.sample.points[:68]
        hull = np.zeros(black.shape[:2], np.uint8)
        cv2.fillConvexPoly(hull, cv2.convexHull(face.round().astype(np.int32)), (1,))
        assert inside[hull > 0].all(), "the region holds the face"
        beyond = cv2.distanceTransform((~inside).astype(np.uint8), cv2.DIST_L2, 5) > 12
        own = plain[source.person][: black.shape[0], : black.shape[1]]
        assert np.abs(shown[beyond].astype(int) - black[beyond]).max() <= 1, "the surroundings are the same"
        assert np.abs(own[beyond].astype(int) - black[beyond]).max() < 40, "but for the colours' half resolution"


def test_the_pose_is_that_of_the_photographs_own_landmarks(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, people: list[Photograph]
) -> None:
    """Keypoints of before it was made small would be elsewhere."""
    (photograph,) = small(people[:1], 60.0)
    face, frame = NewFace.of(some_identity(model, 8), fitting), PosedFrame.of(fitting, light)
    stale = Keypoints((0.0, 0.0, 20.0, 20.0), np.zeros((5, 2)), 0.9)
    plain = posed(photograph, face, frame)
    other = posed(replace(photograph, face=replace(photograph.face, keypoints=stale)), face, frame)
    assert plain is not None and other is not None and np.array_equal(plain[0], other[0])
    unsure = replace(photograph, face=replace(photograph.face, presence=0.1))
    assert posed(unsure, face, frame) is None, "nothing tells its pose"


class _Pixels:
    """Knows people by the whole picture."""

    name = "pixels"

    def __call__(self, picture: Picture, points: Points) -> Vector:
        return cv2.resize(picture, (16, 16), interpolation=cv2.INTER_AREA).ravel().astype(np.float64)


def test_the_chapter_has_every_size_against_the_same_and_other_photographs(
    model: AppearanceModel, fitting: FitModel, gallery: Gallery
) -> None:
    unseen = tuple(photographs(model, range(4), group="unseen"))
    donors = tuple(photographs(model, range(20, 23), group="donors"))
    others = PhotographedPeople(
        tuple(photographs(model, range(4, 6), group="people")),
        tuple(photographs(model, range(4, 6), group="people", expression="open")),
    )
    shares: list[float] = []
    chapter = posed_chapter(
        [_Pixels()],
        Subjects(unseen, donors), others, fitting, gallery, [key_of(0)], lambda share, text: shares.append(share),
    )  # fmt: skip
    assert shares == sorted(shares) and [table.title for table in chapter.tables] == ["pixels", f"pixels: {OTHERS}"]
    for table in chapter.tables:
        assert [row[0] for row in table.rows if not str(row[0]).startswith("control:")] == [posed_at(w) for w in WIDTHS]
    same = {str(row[0]): str(row[1]) for row in chapter.tables[0].rows}
    assert all(same[f"control: {unaltered_at(width)}"].startswith("100.0 %") for width in WIDTHS)
    assert {verdict.claim.split(" within")[0] for verdict in chapter.verdicts if "rank-1 of" in verdict.claim} >= {
        f"pixels: rank-1 of {posed_at(width)}" for width in WIDTHS
    }


def _scores(ours: Vectors, floor: Vectors, unaltered: Vectors, known: KnownFaces) -> dict[str, Score]:
    rng, names = np.random.default_rng(1), known.people[: len(ours)]
    rows = [(unaltered_at, unaltered), (black_region_at, floor), (posed_at, ours)]
    return {name(width): score(vectors, names, known, rng) for width in WIDTHS for name, vectors in rows}


def test_a_posed_face_that_tells_more_than_a_black_hull_is_missed() -> None:
    rng = np.random.default_rng(3)
    known = KnownFaces(rng.standard_normal((60, 16)), tuple(f"p/{i:03d}" for i in range(60)))
    itself, strange = known.vectors[:30] + 0.01, 30.0 + rng.standard_normal((30, 16))
    good = posed_recognition._verdicts("x", _scores(strange, strange, itself, known))
    assert len(good) == 2 * len(WIDTHS) and all(verdict.met for verdict in good)
    bad = posed_recognition._verdicts("x", _scores(itself, strange, itself, known))
    assert len(bad) == 2 * len(WIDTHS) and not any(verdict.met for verdict in bad)
    blind = posed_recognition._verdicts("x", _scores(strange, strange, strange, known))
    assert len(blind) == len(WIDTHS) and not any(verdict.met for verdict in blind), "who knows nobody proves nothing"
    nothing = {name: one for name, one in _scores(strange, strange, itself, known).items() if "posed," not in name}
    assert not any(verdict.met for verdict in posed_recognition._verdicts("x", nothing))
