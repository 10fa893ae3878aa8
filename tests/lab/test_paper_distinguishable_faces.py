"""P3 repeated on people who never lived: recognition, distances, the test set's rules, and the chapter as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.faces import Face
from streamdeid.errors import InputError
from streamdeid.k_same.clusters import Pair, cluster_of
from streamdeid.k_same.diff_furthest import k_diff_furthest, k_diff_furthest_pairs
from streamdeid.lab.papers import distinguishable_faces
from streamdeid.lab.papers.distinguishable_faces import reproduce, without_brightness
from streamdeid.lab.papers.distinguishable_figures import (
    DIFF,
    KS,
    PRINTED,
    RELAXED,
    SAME,
    SAME_CHANCE,
    SAME_FURTHEST,
    SAME_MISSED,
    SINGLES,
    Diversity,
    RankOneRecognition,
    distance_figures,
    diversity,
    effective_dimension,
    pair_distances,
    printed_outputs,
    printed_rates,
    rank_1,
    recognition,
)
from streamdeid.lab.papers.distinguishable_tables import (
    brightness_verdict,
    diversity_tables,
    diversity_verdicts,
    recognition_verdicts,
)
from streamdeid.lab.papers.plain_model import AnnotatedFace
from streamdeid.lab.tables import Chapter
from tests import simulated_faces
from tests.lab.test_plain_model import drawn, layout, write


def test_a_tie_is_missed_or_shared() -> None:
    faces = np.array([[0.0, 0.0], [2.0, 0.0], [10.0, 0.0]])
    outputs = np.array([[1.0, 0.0], [1.0, 0.0], [9.0, 0.0]])
    missed, chance = rank_1(outputs, faces)
    assert missed == pytest.approx(1 / 3)
    assert chance == pytest.approx((0.5 + 0.5 + 1.0) / 3)


def test_leftovers_as_printed_are_shifted_like_the_side_they_joined() -> None:
    faces = np.array([[0.0, 0.0], [10.0, 0.0], [1.0, 1.0], [8.0, 1.0]])
    pair = Pair(cluster_of(faces, (0,)), cluster_of(faces, (1,)), (2,), (3,))
    outputs = printed_outputs(faces, (pair,))
    assert np.allclose(outputs, [[10.0, 0.0], [0.0, 0.0], [11.0, 1.0], [-2.0, 1.0]])


def test_without_leftovers_the_printed_outputs_are_ours() -> None:
    faces = simulated_faces.faces(20, 4)
    pairs = k_diff_furthest_pairs(faces, 3, np.random.default_rng(0), singles=True)
    ours = k_diff_furthest(faces, 3, np.random.default_rng(0), singles=True)
    assert np.allclose(printed_outputs(faces, pairs), ours)


def test_distances_of_repeated_faces_are_zero_and_not_in_the_deviation() -> None:
    # Equal faces far from the origin: products of rows would leave small distances between them.
    faces = np.array([[1e5 / 3, 1.0], [1e5 / 3, 1.0], [1e5 / 3 + 3.0, 1.0], [1e5 / 3, 5.0]])
    assert sorted(pair_distances(faces)) == pytest.approx([0.0, 3.0, 3.0, 4.0, 4.0, 5.0])
    smallest, largest, mean, deviation = distance_figures(faces)
    assert (smallest, largest) == pytest.approx((0.0, 5.0))
    assert mean == pytest.approx(19 / 6)
    assert deviation == pytest.approx(np.std([3.0, 3.0, 4.0, 4.0, 5.0], ddof=1))
    assert distance_figures(faces[:2])[3] == 0.0


def test_effective_dimension_of_three_equal_variances_is_three() -> None:
    draws = np.random.default_rng(0).standard_normal((4000, 3))
    assert effective_dimension(np.hstack([draws, np.zeros((4000, 5))])) == pytest.approx(3.0, abs=0.05)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_recognition_of_simulated_people(k: int) -> None:
    found = recognition(simulated_faces.faces(40, 2), k, 6)
    assert found.k == k and all(len(rates) == 6 for rates in found.rates.values())
    assert found.rates[SAME_CHANCE].max() <= 1.0 / k + 1e-12
    assert (found.rates[SAME_MISSED] <= found.rates[SAME_CHANCE]).all()
    for name in (SINGLES, DIFF, RELAXED, SAME_FURTHEST):
        assert found.rates[name].max() == 0.0
    assert found.counts["mean cluster size, relaxed test"] >= found.counts["mean cluster size"] >= 1.0
    names = [f"lone pairs, share of iterations, {kind}" for kind in ("singles allowed", "singles not allowed")]
    assert 1.0 > found.counts[names[0]] > found.counts[names[1]]


def test_k_same_m_with_pairs_ties_and_without_protection_is_recognised() -> None:
    found = recognition(simulated_faces.faces(40, 3), 2, 4)
    assert found.rates[SAME_MISSED].max() == 0.0
    assert 0.3 < found.rates[SAME_CHANCE].mean() <= 0.5
    faces = simulated_faces.faces(40, 3)
    assert rank_1(faces + 0.01, faces) == (1.0, 1.0)


def test_leftovers_as_printed_are_recognised_now_and_then() -> None:
    rates = [recognition(simulated_faces.faces(6, seed), 4, 20).rates for seed in range(5)]
    assert 0.0 < np.mean([each[PRINTED] for each in rates]) < 0.2
    assert np.max([each[DIFF] for each in rates]) == 0.0


def test_rates_of_the_printed_rule_alone_are_those_of_the_whole() -> None:
    faces = simulated_faces.faces(6, 1)
    rates = printed_rates(faces, 4, 12)
    assert np.array_equal(rates, recognition(faces, 4, 12).rates[PRINTED]) and rates.max() > 0.0


def test_runs_are_repeatable_and_differ() -> None:
    faces = simulated_faces.faces(40, 5)
    first, second = recognition(faces, 5, 3), recognition(faces, 5, 3)
    assert all(np.array_equal(first.rates[name], second.rates[name]) for name in first.rates)
    ratios = diversity(faces, 3).ratios[DIFF]
    assert len({tuple(row) for row in ratios.tolist()}) == 3


def test_diversity_of_simulated_people() -> None:
    faces = simulated_faces.faces(40, 6)
    found = diversity(faces, 10)
    assert np.allclose(found.originals, distance_figures(faces))
    outputs = k_diff_furthest(faces, 5, np.random.default_rng([20150504, 5, 0]))
    assert np.allclose(found.ratios[DIFF][0] * found.originals, distance_figures(outputs))
    assert found.mean(SAME)[0] == found.mean(SAME_FURTHEST)[0] == 0.0
    assert found.mean(SAME)[2] < found.mean(SAME_FURTHEST)[2] < found.mean(DIFF)[2]


def _measured(k: int, **changed: float) -> RankOneRecognition:
    rates = dict.fromkeys((SAME_MISSED, SAME_CHANCE, SAME_FURTHEST, SINGLES, PRINTED, DIFF, RELAXED), np.zeros(4))
    rates |= {SAME_CHANCE: np.full(4, 1.0 / k), PRINTED: np.array([0.0, 0.0, 0.0, 0.015])}
    return RankOneRecognition(
        k, {**rates, **{name: np.array([0.0, 0.0, 0.0, value]) for name, value in changed.items()}}, {}
    )


@pytest.mark.parametrize(
    ("name", "value", "missed"),
    [(SAME_CHANCE, 0.201, 0), (SINGLES, 0.025, 1), (PRINTED, 0.0161, 2), (DIFF, 0.025, 3), (RELAXED, 0.025, 4)],
)
def test_each_claim_of_recognition_can_be_missed(name: str, value: float, missed: int) -> None:
    fine = [_measured(k) for k in KS]
    assert all(verdict.met for verdict in recognition_verdicts(fine))
    spoilt = [*fine[:2], _measured(5, **{name: value}), *fine[3:]]
    assert [i for i, verdict in enumerate(recognition_verdicts(spoilt)) if not verdict.met] == [missed]


@pytest.mark.parametrize(
    ("name", "ratios", "missed"),
    [
        (DIFF, (1.63, 0.99, 1.10, 0.89), [0]),
        (DIFF, (1.63, 0.99, 1.04, 0.78), [1]),
        (DIFF, (0.99, 0.99, 1.04, 0.89), [2]),
        (DIFF, (1.63, 0.88, 1.04, 0.89), [3]),
        (SAME, (0.0, 1.0, 0.49, 0.3), [4]),
        (SAME, (0.0, 0.37, 0.60, 0.3), [5]),
        (SAME_FURTHEST, (0.0, 0.62, 0.85, 0.68), [6]),
    ],
)
def test_each_claim_of_table_1_can_be_missed(name: str, ratios: tuple[float, ...], missed: list[int]) -> None:
    paper = {DIFF: (1.63, 0.99, 1.04, 0.89), SAME: (0, 0.37, 0.49, 0.3), SAME_FURTHEST: (0, 0.62, 0.74, 0.68)}
    originals = np.array([7.84, 50.5, 25.74, 7.32])

    def verdicts(changed: dict[str, tuple[float, ...]]) -> list[bool]:
        found = Diversity(originals, {name: np.array([row]) for name, row in {**paper, **changed}.items()})
        return [verdict.met for verdict in diversity_verdicts(found)]

    assert all(verdicts({}))
    assert [i for i, met in enumerate(verdicts({name: ratios})) if not met] == missed


def test_brightness_must_be_the_first_parameter() -> None:
    assert brightness_verdict(np.array([-0.99, 0.1])).met
    assert not brightness_verdict(np.array([0.5, 0.8])).met
    vectors = np.arange(118.0).reshape(2, 59) + 1.0
    assert (without_brightness(vectors) == 0.0).nonzero()[1].tolist() == [9, 9]
    assert (vectors != 0.0).all()


def test_a_smallest_distance_that_only_rounding_lessens_is_kept() -> None:
    rows = np.array([[1.0 - 1e-13, 1.0, 1.0, 0.9], [1.2, 1.0, 1.0, 0.9], [0.9, 1.0, 1.0, 0.9], [1.0, 1.0, 1.0, 0.9]])
    found = Diversity(np.ones(4), {DIFF: rows, SAME: rows * 0.5, SAME_FURTHEST: rows * 0.7})
    assert "75.0 % of runs" in diversity_verdicts(found)[2].measured


def test_table_1_holds_the_papers_ratios() -> None:
    faces = simulated_faces.faces(40, 7)
    (table, _) = diversity_tables(faces, diversity(faces, 2), [])
    assert "780 pairs" in table.title
    assert [row[1:] for row in table.rows if row[0] == f"{DIFF}, the paper's"] == [
        tuple(round(a / b, 2) for a, b in zip((12.76, 50.10, 26.80, 6.55), (7.84, 50.50, 25.74, 7.32), strict=True))
    ]


class _Landmarker:
    """Knows the points of the pictures that it was told."""

    def __init__(self, faces: Sequence[AnnotatedFace]) -> None:
        self.points = {face.image.tobytes(): face.points for face in faces}

    def __call__(self, image: NDArray[np.uint8]) -> list[Face]:
        points = self.points[image.tobytes()]
        return [
            Face(
                (0.0, 0.0, 1.0, 1.0), 1.0, points, np.zeros((13, 2)), np.zeros((2, 5, 2)), 1.0, depth=np.zeros(81),
                mesh=np.zeros((468, 3))
            )
        ]  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, _Landmarker]:
    """Pictures of nobody, laid out like LFPW and IMM."""
    root = tmp_path_factory.mktemp("faces")
    red = np.array([40, 0, 0])
    lfpw = [replace(face, image=np.clip(face.image + red, 0, 255).astype(np.uint8)) for face in drawn(80, 11)]
    # Three that are as frontal and neutral as can be, one of which is grey and so of no use.
    for number, grow in ((20, 1.0), (30, 1.001), (40, 1.002), (50, 1.003)):
        lfpw[number] = replace(lfpw[number], points=layout() * (grow, 1.0) + np.array([80.0, 70.0]))
    lfpw[30] = replace(lfpw[30], image=np.repeat(lfpw[30].image[:, :, 1:2], 3, axis=2))
    for number, face in enumerate(lfpw):
        write(face, root / "lfpw" / ("trainset" if number < 60 else "testset") / f"image_{number:04d}.jpg")
    imm = drawn(37, 12)
    (root / "imm37").mkdir()
    for number, face in enumerate(imm):
        cv2.imwrite(str(root / "imm37" / f"{number:02d}.png"), face.image[:, :, ::-1])
    return root, _Landmarker(imm)


@pytest.fixture(scope="module")
def told(made: tuple[Path, _Landmarker], tmp_path_factory: pytest.TempPathFactory) -> tuple[Chapter, Path, list[float]]:
    """The chapter about these pictures, with five runs for each k, its directory, and the shares of the progress."""
    out, shares = tmp_path_factory.mktemp("report") / "new", list[float]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinguishable_faces, "_QUICK", 5)
        chapter = reproduce(*made, out, quick=True, progress=lambda share, _: shares.append(share))
    return chapter, out, shares


def test_the_chapter_is_whole(told: tuple[Chapter, Path, list[float]]) -> None:
    chapter, out, shares = told
    assert len(chapter.verdicts) == 13 and len(chapter.tables) == 4
    met = {verdict.claim: verdict.met for verdict in chapter.verdicts}
    assert met["Rank-1 of k-Diff-furthest is 0 in every run when single-member clusters are allowed"]
    assert met["Rank-1 of k-Same-M is at most 1/k in every run"]
    assert next(met[claim] for claim in met if "overall brightness" in claim)
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] == 1.0
    assert [row[0] for row in chapter.tables[0].rows][-1] == f"{PRINTED}, grey levels from 0 to 255"
    assert len(chapter.plots) == 3
    for name in (*chapter.plots, "distinguishable-faces-sheet.png"):
        assert cv2.imread(str(out / name)) is not None


def test_the_test_set_is_chosen_by_shape_among_coloured_pictures(told: tuple[Chapter, Path, list[float]]) -> None:
    text = " ".join(told[0].text.split())
    assert "trained on 116 pictures" in text  # 80 of LFPW less a grey one, and 37 of IMM
    listed = text.split("frontal and neutral: ")[1].split(". A face")[0].split(", ")
    assert sorted(listed) == ["trainset/image_0020", "trainset/image_0040", "trainset/image_0050"]
    assert "780 pairs" in told[0].tables[2].title


def test_missing_pictures_are_told(made: tuple[Path, _Landmarker], tmp_path: Path) -> None:
    (tmp_path / "imm37").symlink_to(made[0] / "imm37")
    with pytest.raises(InputError, match="LFPW"):
        reproduce(tmp_path, made[1], tmp_path / "out", quick=True, progress=lambda share, text: None)
    with pytest.raises(InputError, match="imm37"):
        reproduce(tmp_path / "nowhere", made[1], tmp_path / "out", quick=True, progress=lambda share, text: None)
