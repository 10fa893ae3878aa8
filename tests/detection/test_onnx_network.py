"""ONNX networks: LiteRT says what OpenCV says of the same file, and each layer does what its words say."""

from __future__ import annotations

from itertools import islice

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.shipped_models import CENTERFACE, YUNET, network
from streamdeid.detection import centerface, onnx_network, yunet
from streamdeid.detection.litert import Network, Unusable
from streamdeid.detection.networks import CHOICE, by_litert_at_all, say_once
from streamdeid.detection.onnx_file import Layer, OnnxFile, read
from streamdeid.detection.onnx_network import ByLiteRT, ByOpenCV, as_tflite
from streamdeid.detection.tflite_file import TfliteFile
from streamdeid.errors import SettingsError
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people

SCORES = {"537", *(f"{what}{scale}" for what in ("class", "object") for scale in range(3))}
needs_litert = pytest.mark.skipif(not by_litert_at_all(), reason="LiteRT has no wheel for this machine")
FILES = {
    "centerface": (CENTERFACE, centerface._OUTPUTS),
    "yunet": (YUNET, yunet._OUTPUTS),
}


def numbers(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def run(file: TfliteFile, output: int, picture: NDArray[np.float32]) -> NDArray[np.float32]:
    return Network(file.content([output]))(picture)[0]


def slowly(
    picture: NDArray[np.float32], weights: NDArray[np.float32], bias: NDArray[np.float32], stride: int
) -> NDArray[np.float64]:
    """A convolution pixel by pixel, weights (out, side, side, in)."""
    around = weights.shape[1] // 2
    framed = np.pad(picture.astype(np.float64), ((around, around), (around, around), (0, 0)))
    rows, columns = (-(-side // stride) for side in picture.shape[:2])
    out = np.empty((rows, columns, len(weights)))
    for row in range(rows):
        for column in range(columns):
            y, x = row * stride, column * stride
            part = framed[y : y + weights.shape[1], x : x + weights.shape[2]]
            out[row, column] = (weights * part).sum(axis=(1, 2, 3)) + bias
    return out


@needs_litert
@pytest.mark.parametrize("size", [(96, 96), (192, 96), (64, 128)])
@pytest.mark.parametrize("name", FILES)
def test_litert_says_what_opencv_says(name: str, size: tuple[int, int]) -> None:
    file, outputs = FILES[name]
    content = network(file)
    models = load_models(None)
    (one,) = islice(synthetic_people(models.fitting, models.gallery, people=1, size=(320, 240)), 1)
    rgb = cv2.resize(rectangle_to_rgb(one.frame.planes, 0, 0, 320, 240), size, interpolation=cv2.INTER_AREA)
    picture = np.asarray(rgb, np.uint8)
    ours, theirs = ByLiteRT(content, size, outputs)(picture), ByOpenCV(content, outputs)(picture)
    assert len(ours) == len(theirs) == len(outputs)
    for label, one_way, other in zip(outputs, ours, theirs, strict=True):
        assert one_way.shape == other.shape
        usual = np.isfinite(other) & (np.abs(other) < 1e3)  # some of CenterFace's sides are no numbers
        assert usual.mean() > 0.5
        score = label in SCORES
        np.testing.assert_allclose(one_way[usual], other[usual], rtol=1e-3, atol=1e-5 if score else 1e-3)
    sure = max(float(values.max()) for label, values in zip(outputs, ours, strict=True) if label in SCORES)
    assert sure > 0.1  # there was something to say


def test_where_litert_is_not_wanted_opencv_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHOICE, "graphs")
    assert isinstance(onnx_network.onnx_network(network(YUNET), (64, 64), yunet._OUTPUTS), ByOpenCV)


@pytest.mark.parametrize("forced", [False, True])
def test_without_litert_opencv_runs_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, forced: bool
) -> None:
    def missing(content: bytes) -> Network:
        raise Unusable("it is not here")

    say_once.cache_clear()
    monkeypatch.setattr(onnx_network, "Network", missing)
    monkeypatch.setenv(CHOICE, "litert" if forced else "")
    if forced:
        with pytest.raises(SettingsError, match="it is not here"):
            onnx_network.onnx_network(network(YUNET), (64, 64), yunet._OUTPUTS)
        return
    made = onnx_network.onnx_network(network(YUNET), (64, 64), yunet._OUTPUTS)
    assert isinstance(made, ByOpenCV)
    assert made(np.zeros((64, 64, 3), np.uint8))[0].shape == (1, 8, 8)
    assert "it is not here" in caplog.text


@needs_litert
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("side", [1, 3])
@pytest.mark.parametrize("relu", [False, True])
def test_a_convolution_is_one(stride: int, side: int, relu: bool) -> None:
    picture, weights, bias = numbers(6, 8, 3), numbers(5, side, side, 3), numbers(5)
    file = TfliteFile(6, 8, 3)
    said = run(file, file.convolved(file.picture, weights, bias, stride, relu=relu), picture)
    expected = slowly(picture, weights, bias, stride)
    np.testing.assert_allclose(said, np.maximum(expected, 0) if relu else expected, rtol=1e-4, atol=1e-4)


@needs_litert
@pytest.mark.parametrize("stride", [1, 2])
def test_a_convolution_of_each_channel_is_one(stride: int) -> None:
    picture, weights, bias = numbers(6, 8, 4), numbers(3, 3, 4), numbers(4)
    file = TfliteFile(6, 8, 4)
    said = run(file, file.convolved_each(file.picture, weights, bias, stride, relu=True), picture)
    for channel in range(4):
        own = slowly(picture[:, :, [channel]], weights[None, :, :, [channel]], bias[[channel]], stride)[:, :, 0]
        np.testing.assert_allclose(said[:, :, channel], np.maximum(own, 0), rtol=1e-4, atol=1e-4)


@needs_litert
def test_sums_pools_and_the_rest() -> None:
    picture = numbers(4, 6, 8)
    file = TfliteFile(4, 6, 8)
    doubled = file.added(file.picture, file.picture)
    said = Network(file.content([doubled, file.logistic(doubled), file.pooled(doubled), file.unfolded(doubled)]))(
        picture
    )
    np.testing.assert_allclose(said[0], 2 * picture, rtol=1e-6)
    np.testing.assert_allclose(said[1], 1 / (1 + np.exp(-2.0 * picture)), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(said[2], 2 * picture.reshape(2, 2, 3, 2, 8).max(axis=(1, 3)), rtol=1e-6)
    for row, column in np.ndindex(4, 6):
        four = 2 * picture[row, column].reshape(2, 2, 2)
        np.testing.assert_allclose(said[3][2 * row : 2 * row + 2, 2 * column : 2 * column + 2], four, rtol=1e-6)


@needs_litert
def test_an_enlargement_with_its_normalisation_is_one_of_each_pixel() -> None:
    weights, picture = numbers(3, 2, 2, 2), numbers(4, 6, 3)
    gain, offset, mean, variance = (np.abs(numbers(2)) + number for number in (0.5, 0.1, 0.2, 0.3))
    constants = {"w": weights, "g": gain, "o": offset, "m": mean, "v": variance}
    layers = (
        Layer("Conv", ("picture", "one", "none"), "same", {"pads": [0, 0, 0, 0]}),
        Layer("ConvTranspose", ("same", "w"), "large", {"strides": [2, 2]}),
        Layer("BatchNormalization", ("large", "g", "o", "m", "v"), "normal", {"epsilon": 0.01}),
        Layer("Relu", ("normal",), "out", {}),
    )
    constants |= {"one": np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1), "none": np.zeros(3, np.float32)}
    said = Network(as_tflite(OnnxFile(layers, constants), (6, 4), ["out"]))(picture)[0]
    for row, column, y, x in np.ndindex(4, 6, 2, 2):
        own = (picture[row, column] @ weights[:, :, y, x] - mean) * gain / np.sqrt(variance + 0.01) + offset
        np.testing.assert_allclose(said[2 * row + y, 2 * column + x], np.maximum(own, 0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "options", "shape"),
    [
        ("Softmax", {}, (2, 3, 1, 1)),
        ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2]}, (2, 3, 1, 1)),
        ("Conv", {"pads": [0, 0, 1, 1]}, (2, 3, 3, 3)),
        ("Conv", {"strides": [1, 2]}, (2, 3, 1, 1)),
        ("ConvTranspose", {"strides": [1, 1]}, (3, 2, 2, 2)),
    ],
)
def test_other_layers_are_refused(kind: str, options: dict[str, object], shape: tuple[int, ...]) -> None:
    constants = {
        "w": np.zeros((3, 3, 1, 1), np.float32),
        "v": np.zeros(shape, np.float32),
        "b": np.zeros(3, np.float32),
    }
    layers = (
        Layer("Conv", ("picture", "w", "b"), "first", {}),
        Layer(kind, ("first", "v", "b"), "out", options),
    )
    with pytest.raises(ValueError):
        as_tflite(OnnxFile(layers, constants), (8, 8), ["out"])


def test_a_file_is_read_as_it_says() -> None:
    file = read(network(YUNET))
    assert file.layers[0].kind == "Conv"
    assert file.layers[0].inputs[0] == "picture"
    assert file.layers[0].options == {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    assert file.constants[file.layers[0].inputs[1]].shape == (16, 3, 3, 3)
    assert {layer.kind for layer in file.layers} == {"Conv", "Relu", "MaxPool", "ConvTranspose", "Add", "Sigmoid"}
    normal = next(layer for layer in read(network(CENTERFACE)).layers if layer.kind == "BatchNormalization")
    assert normal.options["epsilon"] == pytest.approx(0.001)
