"""Runs networks in ONNX files by LiteRT where its wheel exists, otherwise by OpenCV.

LiteRT reads no ONNX, so the layers are written again as a TFLite model, in memory (`tflite_file`). Scores are the same
to a hundred-thousandth, at a third of OpenCV's CPU time (`benchmarks onnx_networks`). The layers are changed so: a
picture has its channels innermost. A "ReLU" behind a convolution becomes part of the convolution. A transposed
convolution by 2 x 2 that strides by 2 becomes an ordinary one with four times the channels, whose output is unfolded.
A batch normalisation behind a transposed convolution is multiplied into the weights.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.detection.litert import Network, Unusable
from streamdeid.detection.networks import CHOICE, say_once
from streamdeid.detection.onnx_file import Layer, OnnxFile, read
from streamdeid.detection.tflite_file import TfliteFile
from streamdeid.errors import SettingsError


class OnnxNetwork(Protocol):
    """A network that takes one picture, always of the same size. It keeps its memory; one call at a time."""

    def __call__(self, picture: NDArray[np.uint8], /) -> list[NDArray[np.float32]]:
        """The outputs (channels, rows, columns) for a picture, uint8 (height, width, channels)."""
        ...


def onnx_network(content: bytes, size: tuple[int, int], outputs: Sequence[str]) -> OnnxNetwork:
    """The network in an ONNX file for pictures of a size (width, height), which returns the named outputs.

    OpenCV runs it where LiteRT is missing or not wanted (`networks`). Raises SettingsError where LiteRT is forced and
    cannot run."""
    choice = os.environ.get(CHOICE)
    if choice == "graphs":
        return ByOpenCV(content, outputs)
    try:
        return ByLiteRT(content, size, outputs)
    except Unusable as error:
        if choice:
            raise SettingsError(f"{CHOICE} is {choice!r}, but {error}") from error
        say_once(f"{error}; OpenCV runs YuNet and CenterFace instead, at two to three times the cost")
        return ByOpenCV(content, outputs)


class ByLiteRT:
    """A network that LiteRT runs."""

    def __init__(self, content: bytes, size: tuple[int, int], outputs: Sequence[str]) -> None:
        """Raises Unusable where LiteRT is missing."""
        self._network = Network(as_tflite(read(content), size, outputs))

    def __call__(self, picture: NDArray[np.uint8], /) -> list[NDArray[np.float32]]:
        return [one.transpose(2, 0, 1) for one in self._network(picture.astype(np.float32))]


class ByOpenCV:
    """A network that OpenCV runs. Use it for one size only: after a picture of another size its answers are wrong, and
    no error is raised."""

    def __init__(self, content: bytes, outputs: Sequence[str]) -> None:
        self._network = cv2.dnn.readNetFromONNX(np.frombuffer(content, np.uint8))
        self._outputs = list(outputs)

    def __call__(self, picture: NDArray[np.uint8], /) -> list[NDArray[np.float32]]:
        self._network.setInput(cv2.dnn.blobFromImage(picture))
        return [np.asarray(one, np.float32)[0] for one in self._network.forward(self._outputs)]


def as_tflite(file: OnnxFile, size: tuple[int, int], outputs: Sequence[str]) -> bytes:
    """A network's layers as a TFLite model for pictures of a size (width, height), multiples of the network's strides.

    Made for the two files that come with streamdeid. Some layers of other files raise ValueError. Features that those
    two files do not have (dilations, a bias of an enlargement, an output that is used again) are not checked for.
    """
    return _Rewritten(file, size).content(outputs)


class _Rewritten:
    """Writes the layers of a file, one after another, into a TFLite model."""

    def __init__(self, file: OnnxFile, size: tuple[int, int]) -> None:
        self._constants = file.constants
        self._users: dict[str, list[Layer]] = {}
        for layer in file.layers:
            for name in layer.inputs:
                self._users.setdefault(name, []).append(layer)
        first = next(layer for layer in file.layers if layer.inputs[0] not in file.constants)
        channels = file.constants[first.inputs[1]].shape[1]
        self._made = TfliteFile(size[1], size[0], channels)
        self._numbers = {first.inputs[0]: self._made.picture}
        for layer in file.layers:
            if layer.output not in self._numbers:
                self._write(layer)

    def content(self, outputs: Sequence[str]) -> bytes:
        return self._made.content([self._numbers[name] for name in outputs])

    def _write(self, layer: Layer) -> None:
        made, x = self._made, self._numbers[layer.inputs[0]]
        if layer.kind == "Conv":
            self._convolution(layer, x)
        elif layer.kind == "ConvTranspose":
            self._enlargement(layer, x)
        elif layer.kind == "Add":
            self._numbers[layer.output] = made.added(x, self._numbers[layer.inputs[1]])
        elif layer.kind == "Sigmoid":
            self._numbers[layer.output] = made.logistic(x)
        elif layer.kind == "MaxPool" and layer.options["kernel_shape"] == layer.options["strides"] == [2, 2]:
            self._numbers[layer.output] = made.pooled(x)
        else:
            raise ValueError(f"a layer {layer.kind} is not known")

    def _convolution(self, layer: Layer, x: int) -> None:
        weights, bias = (self._constants[name] for name in layer.inputs[1:])
        options, side = layer.options, weights.shape[2]
        stride = options.get("strides", [1, 1])[0]
        if options.get("pads", [0] * 4) != [side // 2] * 4 or options.get("strides", [1, 1]) != [stride] * 2:
            raise ValueError("a convolution does not begin on the first pixel, or strides by no square")
        last, relu = self._followed(layer, "Relu")
        if options.get("group", 1) == 1:
            number = self._made.convolved(x, weights.transpose(0, 2, 3, 1), bias, stride, relu=relu)
        else:
            number = self._made.convolved_each(x, weights[:, 0].transpose(1, 2, 0), bias, stride, relu=relu)
        self._numbers[layer.output] = self._numbers[last.output] = number

    def _enlargement(self, layer: Layer, x: int) -> None:
        """A transposed convolution with weights (in, out, 2, 2) that strides by 2."""
        weights = self._constants[layer.inputs[1]]
        if weights.shape[2:] != (2, 2) or layer.options["strides"] != [2, 2]:
            raise ValueError("a transposed convolution does not double the sides")
        bias = np.zeros(weights.shape[1], np.float32)
        last, normalised = self._followed(layer, "BatchNormalization")
        if normalised:
            gain, offset, mean, variance = (self._constants[name].astype(np.float64) for name in last.inputs[1:])
            gain /= np.sqrt(variance + last.options["epsilon"])
            weights = (weights * gain[None, :, None, None]).astype(np.float32)
            bias = (offset - mean * gain).astype(np.float32)
        end, relu = self._followed(last, "Relu")
        fourfold = weights.transpose(2, 3, 1, 0).reshape(-1, 1, 1, weights.shape[0])
        number = self._made.unfolded(self._made.convolved(x, fourfold, np.tile(bias, 4), relu=relu))
        self._numbers[layer.output] = self._numbers[last.output] = self._numbers[end.output] = number

    def _followed(self, layer: Layer, kind: str) -> tuple[Layer, bool]:
        """The layer of a kind that alone uses a layer's output, and True; without one, the layer itself and False."""
        users = self._users.get(layer.output, [])
        there = len(users) == 1 and users[0].kind == kind
        return (users[0] if there else layer), there
