"""P5's masks on registered face images: exactly which pixels change, and to what."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError
from streamdeid.k_same import image_masks as masks
from streamdeid.k_same.image_masks import Grey
from tests import newton_twins


def images(count: int = 3, size: tuple[int, int] = masks.FRAME, seed: int = 0) -> Floats:
    """Grey levels from 1 to 254, so that no pixel has a mask's black or white."""
    return np.random.default_rng(seed).integers(1, 255, (count, *size)).astype(np.float64)


ALL: dict[str, Callable[[Grey], Floats]] = {
    "black-out": masks.black_out,
    "bar": masks.bar_mask,
    "t": masks.t_mask,
    "pixelate": lambda images: masks.pixelate_blocks(images, 20),
    "noise": lambda images: masks.random_noise(images, 9000, np.random.default_rng(0)),
    "flip": lambda images: masks.black_white_flip(images, 9000),
    "threshold": lambda images: masks.threshold_at_level(images, 118.0),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("before", [images(), images().astype(np.uint8)], ids=["float64", "uint8"])
def test_masks_are_pure_and_give_grey_levels(name: str, before: Grey) -> None:
    kept = before.copy()
    result = ALL[name](before)
    assert np.array_equal(before, kept)
    assert result.dtype == np.float64
    assert result.shape == before.shape
    assert result.min() >= 0.0
    assert result.max() <= 255.0
    assert not np.array_equal(result, before)
    assert not np.shares_memory(result, before)
    # Arrays that do not lie in order in memory, and empty ones.
    assert np.array_equal(ALL[name](before.transpose(0, 2, 1).copy().transpose(0, 2, 1)), result)
    assert ALL[name](before[:0]).shape == (0, *masks.FRAME)


@pytest.mark.parametrize("name", ALL)
def test_what_is_no_set_of_images_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="face images"):
        ALL[name](images()[0])


def test_black_out_leaves_nothing() -> None:
    assert not masks.black_out(images()).any()
    assert (masks.black_out(images(), 128.0) == 128.0).all()


def test_the_bar_covers_the_eyes_and_the_t_the_nose_too() -> None:
    before = images()
    bar, t = masks.bar_mask(before), masks.t_mask(before)
    in_bar, in_nose = np.zeros((2, *masks.FRAME), dtype=np.bool_)
    in_bar[38:62] = True
    in_nose[38:83, 36:63] = True  # 36 columns free on either side
    assert np.array_equal(bar != before, np.broadcast_to(in_bar, before.shape))
    assert np.array_equal(t != before, np.broadcast_to(in_bar | in_nose, before.shape))
    assert not bar[:, in_bar].any()
    assert not t[:, in_nose].any()


def test_another_registration_gives_other_places() -> None:
    before = images(1, (20, 10))
    changed = masks.t_mask(before, 255.0, (0.0, 0.1), (0.0, 0.5), (0.4, 0.6)) == 255.0
    assert changed.sum() == 2 * 10 + 8 * 2
    for span in ((0.5, 0.5), (-0.2, 0.5), (0.9, 1.3), (0.6, 0.4)):
        with pytest.raises(SettingsError, match="covers no part"):
            masks.bar_mask(before, rows=span)


@given(seed=st.integers(0, 10**6), height=st.integers(1, 12), width=st.integers(1, 12), block=st.integers(1, 15))
@settings(max_examples=50, deadline=None)
def test_blocks_are_means_and_the_last_ones_may_be_partial(seed: int, height: int, width: int, block: int) -> None:
    before = images(2, (height, width), seed)
    result = masks.pixelate_blocks(before, block)
    assert np.allclose(result, [newton_twins.pixelated(image, block) for image in before])


@pytest.mark.parametrize(("block", "values"), [(15, 9 * 7), (20, 7 * 5), (30, 5 * 4)])
def test_the_papers_blocks(block: int, values: int) -> None:
    result = masks.pixelate_blocks(np.random.default_rng(0).uniform(0, 255, (1, *masks.FRAME)), block)
    assert len(np.unique(result.round(9))) == values


@pytest.mark.parametrize("pixels", [0, 1, 6000, 9000, 13266])
def test_noise_changes_the_same_pixels_of_every_image(pixels: int) -> None:
    # 300 is no grey level, so what changed can be told.
    result = masks.random_noise(np.full((5, *masks.FRAME), 300.0), pixels, np.random.default_rng(1))
    changed = result != 300.0
    assert (changed == changed[0]).all()
    assert changed[0].sum() == pixels
    again = masks.random_noise(np.full((5, *masks.FRAME), 300.0), pixels, np.random.default_rng(2))
    assert np.array_equal(again != 300.0, changed)
    if pixels > 1000:
        levels = result[:, changed[0]]
        assert np.array_equal(levels, levels.round())
        assert len(np.unique(levels)) == 256
        assert np.abs(np.corrcoef(levels) - np.eye(5)).max() < 0.1
        other = masks.random_noise(np.full((5, *masks.FRAME), 300.0), pixels, np.random.default_rng(1), 7)
        assert np.array_equal(other != 300.0, changed) == (pixels == 13266)


def test_fewer_noisy_pixels_are_among_more() -> None:
    changed = [
        masks.random_noise(np.full((1, *masks.FRAME), 300.0), n, np.random.default_rng(1)) != 300.0
        for n in (3, 40, 500, 9000, 13000)
    ]
    assert all((many | ~few).all() for few, many in itertools.pairwise(changed))


@pytest.mark.parametrize("pixels", [0, 1, 6633, 13266])
def test_flips_turn_black_to_white_and_back(pixels: int) -> None:
    before = masks.threshold_at_level(images(), 118.0)
    result = masks.black_white_flip(before, pixels)
    flipped = result != before
    assert (flipped == flipped[0]).all()
    assert flipped[0].sum() == pixels
    assert np.array_equal(result[flipped], 255.0 - before[flipped])
    # Flipping twice at the same places undoes it; a grey image is made black and white first.
    assert np.array_equal(masks.black_white_flip(result, pixels), before)
    assert np.array_equal(masks.black_white_flip(images(), pixels), result)


def test_the_threshold_itself_is_white() -> None:
    levels = np.arange(256.0).reshape(1, 16, 16)
    for level in (1, 65, 118, 255):
        assert np.array_equal(masks.threshold_at_level(levels, level).ravel(), [0.0] * level + [255.0] * (256 - level))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: masks.pixelate_blocks(images(), 0),
        lambda: masks.random_noise(images(), 13267, np.random.default_rng(0)),
        lambda: masks.black_white_flip(images(), -1),
    ],
)
def test_impossible_sizes_are_refused(wrong: Callable[[], Floats]) -> None:
    with pytest.raises(SettingsError):
        wrong()
