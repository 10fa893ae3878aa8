"""The face recogniser's network: its parts against slow twins, the whole against dlib."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.errors import ModelError
from streamdeid.identity.face_resnet import LENGTH, SIDE, FaceResnet, added, convolution, convolved, halved
from streamdeid.identity.person_recogniser import face_picture, installed_weights
from tests.drawn_photographs import photograph


def _slowly_convolved(
    layer: NDArray[Any], filters: NDArray[Any], gain: NDArray[Any], shift: NDArray[Any], stride: int, border: int
) -> NDArray[np.float64]:
    count, _, side, _ = filters.shape
    wide = np.zeros((layer.shape[0] + 2 * border, layer.shape[1] + 2 * border, layer.shape[2]))
    wide[border : border + layer.shape[0], border : border + layer.shape[1]] = layer
    rows, columns = ((extent - side) // stride + 1 for extent in wide.shape[:2])
    made = np.zeros((rows, columns, count))
    for row, column, one in product(range(rows), range(columns), range(count)):
        window = wide[row * stride : row * stride + side, column * stride : column * stride + side]
        total = sum(
            float(window[y, x, c] * filters[one, c, y, x])
            for y, x, c in product(range(side), range(side), range(layer.shape[2]))
        )
        made[row, column, one] = gain[one] * total + shift[one]
    return made


@pytest.mark.parametrize(("side", "stride", "border"), [(3, 1, 1), (3, 2, 0), (7, 2, 0)])
def test_a_convolution_is_what_loops_make_of_it(side: int, stride: int, border: int) -> None:
    rng = np.random.default_rng(3)
    layer = rng.normal(size=(9, 11, 4)).astype(np.float32)
    filters = rng.normal(size=(5, 4, side, side)).astype(np.float32)
    gain, shift = (rng.normal(size=5).astype(np.float32) for _ in range(2))
    filters[2] = 0  # a filter without any weight has no scale of its own
    fast = convolved(layer, convolution(filters, gain, shift), stride, border)
    slow = _slowly_convolved(layer, filters, gain, shift, stride, border)
    assert fast.shape == slow.shape
    assert np.abs(fast - slow).max() <= 1e-3 * np.abs(slow).max()


def test_halving_takes_means_and_leaves_the_odd_border_out() -> None:
    layer = np.arange(5 * 4 * 2, dtype=np.float32).reshape(5, 4, 2)
    small = halved(layer)
    assert small.shape == (2, 2, 2)
    assert small[1, 0, 1] == np.mean([layer[y, x, 1] for y in (2, 3) for x in (0, 1)])


def test_layers_of_two_sizes_are_added_as_if_zeros_were_about_them() -> None:
    one, other = np.ones((3, 3, 4), np.float32), np.full((4, 4, 2), 2, np.float32)
    total = added(one, other)
    assert total.shape == (4, 4, 4)
    assert total[0, 0].tolist() == [3, 3, 1, 1] and total[3, 3].tolist() == [2, 2, 0, 0]


@pytest.mark.parametrize("content", [b"", b"\x01\x01\x01\x0dloss_metric_2" + bytes(500)])
def test_a_file_that_is_not_the_published_one_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.dat"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"weights\.dat"):
        FaceResnet(path)
    with pytest.raises(ModelError, match="cannot be read"):
        FaceResnet(tmp_path / "missing.dat")


def _installed() -> Path:
    path = installed_weights()
    if path is None:
        pytest.skip("the recogniser's weights are not installed")
    return path


def test_the_network_says_what_dlib_says(model: AppearanceModel) -> None:
    dlib: Any = pytest.importorskip("dlib", reason="dlib is not installed")
    path = _installed()
    ours, theirs = FaceResnet(path), dlib.face_recognition_model_v1(str(path))
    noise = np.random.default_rng(1).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    drawn = photograph(model, 1)
    for picture in (noise, face_picture(drawn.image, drawn.sample.points)):
        vector = ours(picture)
        assert vector.shape == (LENGTH,) and vector.dtype == np.float64
        expected = np.asarray(theirs.compute_face_descriptor(picture))
        assert np.linalg.norm(vector - expected) < 2e-3 < 0.5 < np.linalg.norm(expected)


def test_the_network_takes_pictures_of_its_own_size_only() -> None:
    network = FaceResnet(_installed())
    with pytest.raises(ValueError, match="150 x 150"):
        network(np.zeros((149, 150, 3), np.uint8))
