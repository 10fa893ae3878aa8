"""P5's chapter: registration, the attacker, guessing among ties, and verdicts that can turn out either way."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.photographs import Photograph
from streamdeid.aam.train import Sample
from streamdeid.core.arrays import Floats
from streamdeid.core.face_mesh import MESH
from streamdeid.core.faces import Face
from streamdeid.core.ibug68 import LEFT_EYE, MOUTH_CORNERS, POINTS, RIGHT_EYE
from streamdeid.errors import InputError
from streamdeid.k_same.image_masks import bar_mask, black_out, pixelate_blocks, random_noise, threshold_at_level
from streamdeid.k_same.pixel import k_same_pixel
from streamdeid.lab import newton_attacks
from streamdeid.lab.eigenfaces import Eigenfaces
from streamdeid.lab.papers import ad_hoc_masks, k_same_recognition
from streamdeid.lab.papers.attacker import Shares, attacker_on, flat
from streamdeid.lab.papers.guessing import guessed
from streamdeid.lab.papers.preserving_privacy import face_set, reproduce
from streamdeid.lab.papers.registered_faces import (
    P2_CHIN,
    P2_INNER,
    P2_WHOLE,
    P5_FRAME,
    RegisteredFrame,
    registered_faces,
)
from streamdeid.lab.tables import Chapter, ClaimVerdict
from tests import drawn_people


def blobs(count: int, seed: int, size: tuple[int, int] = (40, 30)) -> Floats:
    """Soft random images of whole grey levels, float64 (count, rows, columns)."""
    rng = np.random.default_rng(seed)
    rows = [cv2.resize(rng.uniform(0, 255, (7, 6)), size[::-1], interpolation=cv2.INTER_LINEAR) for _ in range(count)]
    return np.asarray(np.rint(np.array(rows)), np.float64)


def spots(scale: float, angle: float) -> Photograph:
    """A black picture with three bright spots where eyes and mouth would be, turned and scaled."""
    points = np.zeros((POINTS, 2))
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = np.array([3.0 * scale * 30, 3.0 * scale * 30])
    places = np.array([[-20.0, -15.0], [20.0, -15.0], [0.0, -15.0 + 1.08 * 40.0]]) @ turn.T + middle
    points[LEFT_EYE], points[RIGHT_EYE] = places[0], places[1]
    points[list(MOUTH_CORNERS)] = places[2]
    picture = np.zeros((round(2 * middle[1]), round(2 * middle[0])), np.float64)
    for x, y in places:
        across, down = np.meshgrid(np.arange(picture.shape[1]) - x, np.arange(picture.shape[0]) - y)
        picture += 255 * np.exp(-(across**2 + down**2) / (2 * (2.5 * scale) ** 2))
    image = np.repeat(np.clip(picture, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)
    face = Face((0.0, 0.0, 1.0, 1.0), 1.0)
    return Photograph(
        "spots", "neutral", image, face, Sample(image, points, np.zeros(POINTS), np.zeros((2, 3)), np.zeros((MESH, 3)))
    )


@pytest.mark.parametrize("frame", [P5_FRAME, P2_CHIN, P2_INNER, P2_WHOLE])
@pytest.mark.parametrize(("scale", "angle"), [(1.0, 0.0), (4.0, 0.3), (0.6, -0.4)])
def test_eyes_and_mouth_come_to_their_places(frame: RegisteredFrame, scale: float, angle: float) -> None:
    image = registered_faces([spots(scale, angle)], frame)[0]
    assert image.shape == (frame.rows, frame.columns)
    for x, y in frame.places():
        column, row = round(x), round(y)
        part = image[row - 6 : row + 7, column - 6 : column + 7]
        down, across = np.mgrid[row - 6 : row - 6 + part.shape[0], column - 6 : column - 6 + part.shape[1]]
        found = np.array([(part * across).sum(), (part * down).sum()]) / part.sum()
        assert np.abs(found - (x, y)).max() < 0.6


def test_guessing_shares_a_hit_among_the_nearest() -> None:
    distances = np.array([[1.0, 1.0, 3.0], [2.0, 1.0, 1.0], [5.0, 4.0, 3.0], [0.0, 0.0, 0.0]])
    assert guessed(distances, np.array([0, 0, 2, 1])).tolist() == [0.5, 0.0, 1.0, pytest.approx(1 / 3)]
    nearly = np.array([[1.0, 1.0 - 1e-13]])
    assert guessed(nearly, np.array([0])).tolist() == [0.5]


def test_the_attacker_is_newtons() -> None:
    """One face space for all masks must find what `newton_attacks` finds by training anew."""
    images = blobs(25, 1)
    attacker = attacker_on(images)
    rng = np.random.default_rng(2)
    seen = set()
    flat_ones = (black_out(images), threshold_at_level(images, 5.0))
    for outputs in (bar_mask(images), pixelate_blocks(images, 15), random_noise(images, 900, rng), *flat_ones):
        again = random_noise(images, 900, rng)
        faces, masked, own = flat(images), flat(outputs), flat(again)
        found = attacker.attack(outputs, again)
        assert found.naive == newton_attacks.naive(faces, masked).mean()
        assert found.reverse == newton_attacks.reverse(faces, masked).mean()
        assert found.parrot == newton_attacks.parrot(own, masked).mean()
        few = newton_attacks.naive(faces, masked, "mahalanobis", 5).mean()
        assert attacker.naive_in(outputs, "mahalanobis", 5) == few
        seen |= {found.naive, found.reverse, found.parrot}
    assert len(seen) > 3


def test_face_space_coordinates_stand_for_pixels() -> None:
    """k-Same and its recognition are the same in the coordinates as in the images."""
    images = flat(blobs(30, 3))
    faces = Eigenfaces.train(images).project(images)
    own = np.arange(len(images))
    for k in (2, 3, 7):
        chances = []
        for rows in (images, faces):
            outputs = k_same_pixel(rows, k, np.random.default_rng(k), components=8)
            chances.append(guessed(Eigenfaces.train(rows).distances(outputs, rows), own))
        assert np.array_equal(chances[0], chances[1])
        assert 0.0 < chances[0].mean() <= 1 / k


def test_a_face_set_is_filled_from_all_over() -> None:
    named, filling = [spots(1.0, 0.0)] * 3, [spots(1.0, 0.1 * i) for i in range(5)]
    assert len(face_set(named, filling, 5)) == 5
    assert np.array_equal(face_set(named, filling, 5)[3:], registered_faces([filling[0], filling[-1]]))
    assert len(face_set(named, filling, 100)) == 8
    assert len(face_set(named, filling, 2 + 2)) == 4
    with pytest.raises(InputError, match="3 faces are too few"):
        face_set(named, [], 100)


@pytest.fixture(scope="module")
def chapter(model: AppearanceModel, tmp_path_factory: pytest.TempPathFactory) -> tuple[Chapter, Path, list[float]]:
    """The quick chapter on 24 drawn people and 4 that fill up."""
    people = drawn_people.photographs(model, 28, seed=5)
    neutral = [p for p in people if p.expression == "neutral"]
    sets = {"london": [*neutral[:16], *people[28:]], "canada": neutral[16:20], "imm37": neutral[20:24]}
    out = tmp_path_factory.mktemp("p5")
    told: list[float] = []
    sets["lfpw/trainset"] = neutral[24:]
    return reproduce(sets.__getitem__, out, quick=True, progress=lambda share, text: told.append(share)), out, told


def verdict(chapter: Chapter, claim: str) -> ClaimVerdict:
    """The one verdict whose claim starts so."""
    (found,) = [v for v in chapter.verdicts if v.claim.startswith(claim)]
    return found


def test_chapter_holds_every_row_of_methods(chapter: tuple[Chapter, Path, list[float]]) -> None:
    found, out, told = chapter
    assert all((out / plot).stat().st_size > 1000 for plot in found.plots) and len(found.plots) == 3
    masks = next(table for table in found.tables if table.title.startswith("Masks"))
    assert [row[0] for row in masks.rows] == [*ad_hoc_masks._PAPER]
    noise = next(table for table in found.tables if table.title.startswith("Grey random noise"))
    assert [row[0] for row in noise.rows] == [6000, 9000, 13000]
    assert told == sorted(told) and told[0] == 0.0 and told[-1] == 1.0
    assert "28 faces" in found.text and "24 from London" in found.text
    assert verdict(found, "no mask").met
    for name in ("bar", "T", "pixels of 15", "pixels of 20", "pixels of 30"):
        assert verdict(found, f"{name}: broken").met
    assert verdict(found, "k-Same-Pixel: recognised at most 1/k").met
    assert verdict(found, "k-Same-Eigen: recognised at most 1/k").met


def test_verdicts_notice_masks_that_are_not_broken() -> None:
    shares = {name: Shares(1.0, 1.0, 0.98) for name in ad_hoc_masks._PAPER}
    found = {v.claim: v.met for v in ad_hoc_masks._mask_verdicts(shares, 200)}
    assert not found["bar: broken by the parrot attack"] and not found["black-out: no better than guessing"]
    assert not found["bar: naive attack"] and found["pixels of 15: naive attack"]
    assert not found["no mask: everybody is recognised"]


def test_verdicts_notice_a_k_same_that_does_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nothing(faces: Floats, k: int, rng: np.random.Generator, components: int | None = None) -> Floats:
        return faces

    monkeypatch.setitem(k_same_recognition.METHODS, "k-Same-Eigen", nothing)
    _, verdicts, _ = k_same_recognition.k_same_recognition(
        flat(blobs(24, 4)), tmp_path, runs=2, all_attacks=1, report=lambda share, text: None
    )
    met = {v.claim: v.met for v in verdicts}
    claim = "recognised at most 1/k by naive, reverse and parrot, every k and every run"
    assert met[f"k-Same-Pixel: {claim}"] and not met[f"k-Same-Eigen: {claim}"]
    assert not met["k-Same takes linear time"]
