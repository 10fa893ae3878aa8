"""Fault injection (benchmarks/faults) in small, and the watermarks it looks for: found where they are only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.faults import faults
from benchmarks.faults.clip import RATE, SIZE, TrueDetector, number_of, walk
from benchmarks.faults.injected import Broken, Fault, wrong_points
from benchmarks.faults.runs import calibrate, through_command, through_library
from benchmarks.watermark import Watermark
from streamdeid.aam import fit as fit_module
from streamdeid.aam.fit import FitModel, fit
from streamdeid.aam.piecewise_affine import _bilinear
from streamdeid.core.frames import Planes
from streamdeid.core.similarity import Similarity
from streamdeid.errors import ExitCode
from streamdeid.observe.observation import Observer
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import Models
from tests import drawn_faces

THRESHOLD = 0.55
"""What `calibrate` finds, about; checked below."""
CHEAP = ("blackout", "pixelate")
FIRST_MISSED = (600, 601, 604, 629)


def one_for_each(kind: str, *words: str) -> tuple[int, ...]:
    """For each of the words a seed whose fault has it in its description."""
    number = list(faults.KINDS).index(kind)
    found = {}
    for seed in range(700, 1000):
        said = faults.KINDS[kind](np.random.default_rng((seed, number))).words
        for word in words:
            if all(part in said for part in word.split("|")):
                found.setdefault(word, seed)
    assert len(found) == len(words), f"{kind}: {found}"
    return tuple(found.values())


SEEDS = dict.fromkeys(faults.KINDS, (501, 502, 503))
SEEDS |= {
    "nothing": (602, 603, 605),  # the first frame is seen
    "hangs": (601, 602),
    "landmarker": one_for_each("landmarker", "none", "mirrored", "shuffled", "shifted"),
    "fit": one_for_each(
        "fit", "singular step", "step to nowhere", "texture of no numbers", "pose without", "pose of no numbers"
    ),
    "memory": one_for_each("memory", "decoder|FFmpeg", "muxer|FFmpeg", "encoder|Python", "observation", "last rename"),
    "corrupt": one_for_each("corrupt", "1 places, tolerated", "2 places, tolerated", "1 places"),
}


@pytest.fixture(scope="module")
def models(fitting: FitModel, gallery: Gallery) -> Models:
    """The shipped models."""
    return Models(fitting, gallery)


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind, seeds in SEEDS.items() for seed in seeds])
def test_no_fault_lets_a_face_through(kind: str, seed: int, models: Models) -> None:
    verdict = faults.judge(kind, seed, models, THRESHOLD, methods=CHEAP)
    assert verdict.problems == (), verdict.words


@pytest.mark.parametrize("seed", FIRST_MISSED)
def test_a_face_whose_first_frames_are_missed_is_covered_in_them(seed: int, models: Models) -> None:
    verdict = faults.judge("nothing", seed, models, THRESHOLD, methods=CHEAP)
    assert verdict.problems == (), verdict.words


def test_what_is_published_by_a_blind_filter_is_found_and_nothing_else(models: Models) -> None:
    """The check can fail: an unfiltered face is found in every picture, and no pattern where it is not."""
    found, other = calibrate(models, 3, controls=2)
    assert found > 0.8
    assert other < 0.45
    assert other + 0.05 < THRESHOLD < found - 0.2
    assert abs(faults.threshold_between(found, other) - THRESHOLD) < 0.05


def test_a_run_that_leaks_is_condemned(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    """A detector that never sees the first face is no documented fault: the verdict has to be that it got through."""

    def forgetful(rng: np.random.Generator) -> Fault:
        def blind(inner: TrueDetector) -> Broken:
            return Broken(inner, lambda frame: frame.planes.size == SIZE, lambda faces, frame: faces[1:])

        return Fault("nothing", "one face is never seen", frozenset({0}), 10, blind)

    monkeypatch.setitem(faults.KINDS, "nothing", forgetful)
    verdict = faults.judge("nothing", 3, models, THRESHOLD, methods=("blackout",))
    assert "survived in 10 pictures, from 0 on" in verdict.problems[0]
    monkeypatch.setitem(faults.KINDS, "nothing", lambda rng: Fault("nothing", "no fault, code 4 awaited", frames=10))
    verdict = faults.judge("nothing", 3, models, THRESHOLD, methods=("blackout",))
    assert "exit code 0, not [4]" in verdict.problems[0]


def test_a_quarter_of_a_face_is_enough_to_be_found() -> None:
    rng = np.random.default_rng(1)
    mark, other = Watermark.of((1,), 64, 76), Watermark.of((2,), 64, 76)
    bare = np.clip(rng.normal(110, 12, (176, 256)) + np.linspace(-60, 60, 256), 0, 255).astype(np.uint8)
    for rows, columns in ((slice(0, 38), slice(0, 32)), (slice(38, 76), slice(32, 64)), (slice(19, 57), slice(16, 48))):
        hull = np.zeros((76, 64), np.float32)
        hull[rows, columns] = 1
        picture = bare.copy()
        mark.stamp(picture, 37, 51, hull)
        assert mark.strongest(picture) > THRESHOLD
        assert other.strongest(picture) < 0.45
    assert mark.strongest(bare) < 0.45
    assert mark.strongest(np.full((176, 256), 80, np.uint8)) == 0.0


def test_a_watermark_is_cut_at_the_border_of_the_picture() -> None:
    mark = Watermark.of((1,), 64, 76)
    picture = np.full((60, 50), 100, np.uint8)
    for x, y in ((-64, 0), (50, 60), (0, -76), (-90, -90), (-5, -5)):
        mark.stamp(picture, x, y, np.ones((76, 64), np.float32))
    assert np.unique(picture).tolist() == [80, 120]
    assert picture[0, 0] == 100 + 20 * mark.pattern[5, 5]


def test_a_picture_tells_its_number(models: Models) -> None:
    clip = walk(models, 5, 70)
    assert [number_of(planes) for planes in clip.pictures] == list(range(70))
    assert number_of(Planes(np.full((176, 256), 90, np.uint8), *(np.zeros((88, 128), np.uint8),) * 2)) is None
    frame = clip.frames()[33]
    assert TrueDetector(clip, models.fitting)(frame)[0].box == clip.faces[33][0].box
    assert frame.time * RATE == 33


def test_filter_and_command_agree_on_a_clip_without_faults(models: Models) -> None:
    clip = walk(models, 8, 8)
    one = through_command(clip, models, None)
    other = through_library(clip, models, Fault("none", "no fault"), "blackout")
    assert one.code == other.code == int(ExitCode.DONE)
    assert one.problems == other.problems == []
    assert len(one.pictures) == len(other.pictures) == 8


@pytest.mark.parametrize("way", ["collapsed", "mirrored", "shuffled", "noise", "too large"])
def test_points_of_no_face_are_no_error(way: str, fitting: FitModel) -> None:
    model = fitting.model
    shape, texture = model.decode(drawn_faces.some_identity(model, 3))
    made = drawn_faces.scene(model, shape, texture, drawn_faces.pose_at(model))
    observe = Observer(fitting)
    first = observe(made.planes, made.face, 0.0)
    wrong = observe(made.planes, wrong_points(made.face, way, np.random.default_rng(1)), 0.04)
    if way != "too large":  # `Watch` sees that, who knows the box
        assert wrong is None
    again = observe(made.planes, made.face, 0.08)
    assert first is not None and again is not None
    assert np.isfinite(again.points).all() and again.fit.converged
    assert float(np.abs(again.points - first.points).max()) < 0.25 * first.width


def test_a_fit_that_starts_nowhere_explains_nothing(fitting: FitModel) -> None:
    pose = drawn_faces.pose_at(fitting.model, 60.0, (48.0, 48.0))
    grey = np.full((96, 96), 100, np.uint8)
    for start in (np.full((81, 2), np.nan), np.full((81, 2), np.inf)):
        with np.errstate(invalid="ignore"):
            fitted = fit(fitting, grey, Similarity(np.eye(2), np.zeros(2)), pose, start)
        assert not fitted.converged and fitted.residual == 1.0
        assert np.isfinite(fitted.triangle_residual).all() and np.isfinite(fitted.texture).all()


@pytest.mark.parametrize(("broken", "good"), [("_step", 1), ("normalised_grey", 2), ("normalised_grey", 0)])
def test_a_fit_that_diverges_is_a_value(
    broken: str, good: int, fitting: FitModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some good calls a part of the fit breaks: the best so far counts, or nothing at all is explained."""
    model = fitting.model
    pose = drawn_faces.pose_at(model)
    made = drawn_faces.scene(model, *model.decode(drawn_faces.some_identity(model, 3)), pose)
    real = getattr(fit_module, broken)
    calls = []

    def instead(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) <= good:
            return real(*arguments)
        if broken == "_step":
            raise np.linalg.LinAlgError("Singular matrix")
        return real(*arguments) * np.float32("nan")

    monkeypatch.setattr(fit_module, broken, instead)
    fitted = fit_module.fit(fitting, made.planes.y, Similarity(np.eye(2), np.zeros(2)), pose, model.mean_shape)
    assert len(calls) == good + 1
    assert np.isfinite(fitted.points).all() and np.isfinite(fitted.triangle_residual).all()
    if good:
        assert fitted.residual <= fitted.residual_before < 1.0
    else:
        assert fitted.residual == fitted.residual_before == 1.0 and not fitted.converged


def test_a_pixel_at_no_place_is_no_pixel_of_another_memory() -> None:
    """A coordinate that is no number, clamped by min and max, would become an index far outside the picture."""
    out = np.zeros(1, np.float32)
    for x, y in ((np.nan, np.nan), (np.nan, 2.0), (1e300, -1e300), (np.inf, -np.inf)):
        _bilinear(np.full((4, 5, 1), 7.0, np.float32), x, y, out)
        assert out[0] == 7.0
