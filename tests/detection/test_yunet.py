"""The second network: what it is given, and how its numbers are read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.ibug68 import LEFT_EYE, MOUTH_CORNERS, NOSE_TIP, RIGHT_EYE
from streamdeid.core.process_usage import own_usage
from streamdeid.core.shipped_models import YUNET, network
from streamdeid.detection import yunet
from streamdeid.detection.yunet import YuNet
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people

Told = list[NDArray[np.float32]]


@pytest.fixture(scope="module")
def second() -> YuNet:
    return YuNet(network(YUNET))


def told(size: tuple[int, int], seen: Sequence[tuple[int, int, int, float, float, Sequence[float]]] = ()) -> Told:
    """What the network says of a picture (width, height): scale, row, column, class, object and fourteen numbers."""
    numbers: Told = []
    for scale, cell in enumerate((8, 16, 32)):
        shape = size[1] // cell, size[0] // cell
        one = [np.zeros((channels, *shape), np.float32) for channels in (1, 1, 4, 10)]
        for at, row, column, kind, there, values in seen:
            if at == scale:
                one[0][0, row, column], one[1][0, row, column] = kind, there
                one[2][:, row, column], one[3][:, row, column] = values[:4], values[4:]
        numbers += one
    return numbers


def answering(numbers: Told, monkeypatch: pytest.MonkeyPatch) -> tuple[YuNet, list[object]]:
    """A detector whose network says these numbers, and what it was asked."""
    asked: list[object] = []

    def made(content: bytes, size: tuple[int, int], outputs: Sequence[str]) -> object:
        asked.append(size)

        def say(picture: NDArray[np.uint8]) -> Told:
            asked.append(picture[0, 0].tolist())
            return numbers

        return say

    monkeypatch.setattr(yunet, "onnx_network", made)
    return YuNet(b""), asked


def test_boxes_and_points_are_read_cell_by_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    five = [0.1, 0.3, 1.0, 0.25, 0.51, 0.5, 0.0, 1.0, 1.1, 1.0]
    near, far = (
        (0, 2, 5, 0.826, 1.0, [0.57, 0.26, np.log(2.1), np.log(4.1), *five]),
        (2, 1, 0, 0.5, 0.5, [0.0, 0.0, 0, 0, *five]),
    )
    faint = 1, 1, 1, 0.2, 0.19, [0.0] * 14
    found, asked = answering(told((96, 64), [far, near, faint]), monkeypatch)
    picture = np.zeros((64, 96, 3), np.uint8)
    picture[0, 0] = 1, 2, 3
    boxes, points, scores = found(picture)
    assert asked == [(96, 64), [3, 2, 1]]
    assert scores == pytest.approx([0.9, 0.5])
    # The library's own cuts: hundredths, and whole corners, sides and points.
    assert boxes.tolist() == [[36, 1, 52, 33], [-16, 16, 16, 48]]
    assert points[0].tolist() == [[40, 18], [48, 18], [44, 20], [40, 24], [48, 24]]
    found(picture)
    assert asked[2:] == [[3, 2, 1]]  # one network for a size


def test_of_two_boxes_of_one_face_the_surer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    size = [0.5, 0.5, np.log(4), np.log(4), *[0.0] * 10]
    rows = [(0, 3, 3, 0.25, 1.0, size), (0, 3, 4, 0.64, 1.0, size), (0, 3, 9, 0.36, 1.0, size)]
    found, _ = answering(told((128, 64), rows), monkeypatch)
    assert found(np.zeros((64, 128, 3), np.uint8)).scores == pytest.approx([0.8, 0.6])


def test_sides_beyond_all_measure_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    large, none = [0.0, 0.0, 1e9, -1e9, *[0.0] * 10], [0.0] * 4 + [np.nan] * 10
    found, _ = answering(told((64, 64), [(0, 3, 3, 1.0, 1.0, large), (0, 5, 5, 1.0, 1.0, none)]), monkeypatch)
    boxes, points, scores = found(np.zeros((64, 64, 3), np.uint8))
    assert len(scores) == 1
    assert np.isfinite(boxes).all() and np.isfinite(points).all()


def test_nothing_found_is_no_rows(second: YuNet) -> None:
    boxes, points, scores = second(np.full((64, 96, 3), 90, np.uint8))
    assert boxes.shape == (0, 4)
    assert points.shape == (0, 5, 2)
    assert scores.shape == (0,)


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((64, 96), np.uint8),
        np.zeros((64, 96, 4), np.uint8),
        np.zeros((64, 96, 3), np.float32),
        np.zeros((0, 96, 3), np.uint8),
        np.zeros((64, 97, 3), np.uint8),
    ],
)
def test_pictures_of_another_kind_are_refused(second: YuNet, picture: np.ndarray) -> None:
    with pytest.raises(ValueError, match="multiples of 32"):
        second(picture)


def test_it_keeps_nothing_of_the_pictures_that_it_saw(second: YuNet) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (128, 128, 3), dtype=np.uint8)
    growth = []
    for _ in range(6):
        before = own_usage()[1]
        for _ in range(100):
            second(noise)
        growth.append(own_usage()[1] - before)
    # What it kept would show in each of them (4.7 MiB of pictures); the allocator's own growth shows in one or two.
    assert min(growth) < 1 << 20


def test_its_points_lie_on_eyes_nose_and_mouth_in_order(second: YuNet) -> None:
    models = load_models(None)
    (one,) = islice(synthetic_people(models.fitting, models.gallery, people=1, size=(320, 256)), 1)
    found = second(rectangle_to_rgb(one.frame.planes, 0, 0, 320, 256))
    truth = one.truths[0].points
    best = found.points[int(found.scores.argmax())]
    eyes = [truth[eye].mean(axis=0) for eye in (LEFT_EYE, RIGHT_EYE)]
    five = np.array([*eyes, truth[NOSE_TIP], *truth[list(MOUTH_CORNERS)]])
    assert np.linalg.norm(best - five, axis=1).max() < 0.12 * np.ptp(truth[:, 0])


def test_it_sees_a_face_as_large_in_a_picture_twice_as_large(second: YuNet) -> None:
    models = load_models(None)
    (one,) = islice(synthetic_people(models.fitting, models.gallery, people=1, size=(320, 256)), 1)
    rgb = rectangle_to_rgb(one.frame.planes, 0, 0, 320, 256)
    small, large = second(rgb), second(np.asarray(cv2.resize(rgb, (640, 512)), np.uint8))
    side = np.ptp(small.boxes[0].reshape(2, 2), axis=0).max()
    assert np.abs(large.boxes[0] / 2 - small.boxes[0]).max() < 0.1 * side
