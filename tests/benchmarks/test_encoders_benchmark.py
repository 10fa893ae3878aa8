"""The benchmark of encoder settings: similarity of pictures, and what is read between two qualities."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cost.encoders import Encoded, beside, ssim


def test_a_picture_is_like_itself_and_less_like_a_noisier_one() -> None:
    random = np.random.default_rng(0)
    picture = random.integers(60, 190, (48, 64)).astype(np.uint8)
    noise = random.normal(0, 1, picture.shape)
    likeness = [ssim(picture, np.clip(picture + level * noise, 0, 255).astype(np.uint8)) for level in (0, 5, 20)]
    assert likeness[0] == pytest.approx(1)
    assert likeness[0] > likeness[1] > likeness[2] > 0


def test_a_row_that_an_encoder_added_does_not_count() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (15, 21)).astype(np.uint8)
    assert ssim(picture, np.pad(picture, ((0, 1), (0, 1)))) == pytest.approx(1)


def test_ratios_are_those_of_the_same_quality() -> None:
    own = [Encoded(500, 8.0, 18.0), Encoded(1000, 10.0, 20.0), Encoded(2000, 14.0, 22.0)]
    assert beside(own, Encoded(1000, 5.0, 20.0)) == pytest.approx((1.0, 0.5))
    assert beside(own, Encoded(2000, 14.0, 22.0)) == pytest.approx((1.0, 1.0))
    size, cost = beside(own, Encoded(1000, 12.0, 21.0))  # half-way: 1414 bytes, 12 milliseconds
    assert (size, cost) == pytest.approx((2**-0.5, 1.0))
    assert beside(own, Encoded(500, 9.0, 19.0))[0] == pytest.approx(2**-0.5)
