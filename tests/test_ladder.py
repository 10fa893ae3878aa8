"""The ladder: what a face deserves, and steps that go down at once and up slowly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.deidentify.ladder import Rung, Steps, deserved
from streamdeid.deidentify.observation import Observation, Observer
from tests.drawn_faces import pose_at, scene, some_identity


@pytest.fixture(scope="module")
def seen(model: AppearanceModel, fitting: FitModel) -> Observation:
    shape, texture = model.decode(some_identity(model, 4))
    made = scene(model, shape, texture, pose_at(model))
    return Observer(fitting)(made.planes, made.face, 0.0)


@pytest.fixture(scope="module")
def areas(model: AppearanceModel) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.full(len(model.triangles), 1 / len(model.triangles))


def test_a_plain_face_gets_a_synthetic_one(
    seen: Observation, areas: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> None:
    assert deserved(seen, areas) is Rung.SYNTHETIC


@pytest.mark.parametrize("angles", [{"yaw": 1.2}, {"yaw": -1.2}, {"pitch": 1.1}, {"pitch": -1.1}])
def test_a_strongly_turned_one_does_not(
    model: AppearanceModel,
    seen: Observation,
    areas: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    angles: dict[str, float],
) -> None:
    assert deserved(replace(seen, pose=pose_at(model, 150, **angles)), areas) is Rung.MEAN_FACE


def test_nor_one_that_was_not_fitted(
    seen: Observation, areas: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> None:
    assert deserved(replace(seen, fit=replace(seen.fit, converged=False)), areas) is Rung.MEAN_FACE


def test_nor_a_tiny_one(seen: Observation, areas: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    centre = seen.points.mean(axis=0)
    tiny = replace(seen, points=centre + (seen.points - centre) * (12 / seen.width))
    assert deserved(tiny, areas) is Rung.MEAN_FACE


def test_nor_an_occluded_one(seen: Observation, areas: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    """A third of the mesh that fits badly is an occlusion, a twentieth is not."""
    for share, rung in ((0.33, Rung.MEAN_FACE), (0.05, Rung.SYNTHETIC)):
        residual = np.full(len(areas), 0.5)
        residual[: int(share * len(areas))] = 50.0
        assert deserved(replace(seen, fit=replace(seen.fit, triangle_residual=residual)), areas) is rung


def test_a_real_occluder_is_noticed(
    model: AppearanceModel, fitting: FitModel, areas: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
) -> None:
    shape, texture = model.decode(some_identity(model, 4))
    made = scene(model, shape, texture, pose_at(model))
    low, high = made.points.min(axis=0).astype(int), made.points.max(axis=0).astype(int)
    middle = (low[1] + high[1]) // 2
    rng = np.random.default_rng(1)
    made.planes.y[middle : high[1], low[0] : high[0]] = rng.integers(0, 255, (high[1] - middle, high[0] - low[0]))
    hidden = Observer(fitting)(made.planes, made.face, 0.0)
    assert deserved(hidden, areas) is Rung.MEAN_FACE


@given(st.lists(st.sampled_from(list(Rung)), min_size=1, max_size=60))
def test_a_face_never_gets_better_than_it_deserves(rungs: list[Rung]) -> None:
    steps = Steps()
    for rung in rungs:
        assert steps(rung) >= rung


def test_down_at_once_up_after_a_while() -> None:
    steps = Steps()
    assert steps(Rung.SYNTHETIC) is Rung.SYNTHETIC
    assert steps(Rung.MEAN_FACE) is Rung.MEAN_FACE
    got = [steps(Rung.SYNTHETIC) for _ in range(12)]
    assert got[:3] == [Rung.MEAN_FACE] * 3 and got[-1] is Rung.SYNTHETIC
    assert got == sorted(got, reverse=True), "once up, it stays up"


def test_a_relapse_starts_the_wait_anew() -> None:
    steps = Steps()
    steps(Rung.MEAN_FACE)
    for _ in range(4):
        for _ in range(3):
            assert steps(Rung.SYNTHETIC) is Rung.MEAN_FACE
        assert steps(Rung.MEAN_FACE) is Rung.MEAN_FACE


def test_rungs_are_ordered_from_best_to_safest() -> None:
    assert Rung.SYNTHETIC < Rung.MEAN_FACE < Rung.SOLID_FILL
