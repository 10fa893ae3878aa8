"""Writes a TFLite model, layer by layer, for LiteRT to run.

A TFLite file is a flatbuffer (`model_parts` reads one). The numbers of its fields, operators and options are those of
tensorflow/lite/schema.fbs. All pictures are float32 (1, height, width, channels), of fixed height and width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import flatbuffers
import numpy as np
from numpy.typing import NDArray

_VERSION = 3
_FLOAT, _INT = 0, 2
_SAME, _VALID = 0, 1
"""Paddings: zeros beyond the border, so that the output is as large as the input; and no padding."""
_RELU = 1
_ALIGNED = 16
"""Bytes: the schema's alignment of constants."""
_Field = tuple[int, str, int]
"""Number of a table's field, its type as in the builder's methods, and its value."""


class _Kind(NamedTuple):
    """The number of an operator, and the number of its table of options."""

    code: int
    options: int


_ADD, _CONVOLUTION, _CONVOLUTION_OF_EACH = _Kind(0, 11), _Kind(3, 1), _Kind(4, 2)
_UNFOLD, _LOGISTIC, _MAX_POOL, _PAD = _Kind(5, 94), _Kind(14, 0), _Kind(17, 5), _Kind(34, 22)


class _Tensor(NamedTuple):
    shape: tuple[int, ...]
    kind: int
    constant: int
    """Number of the buffer that holds its constant values, 0 where it has none."""


class _Layer(NamedTuple):
    kind: _Kind
    inputs: tuple[int, ...]
    output: int
    options: tuple[_Field, ...]


class TfliteFile:
    """A model to which layers are added one by one; a number identifies each picture between the layers."""

    def __init__(self, height: int, width: int, channels: int) -> None:
        """height, width, channels: those of the picture that the model takes as its input."""
        self._constants = [b""]
        self._tensors: list[_Tensor] = []
        self._layers: list[_Layer] = []
        self.picture = self._tensor((1, height, width, channels))

    def convolved(
        self, x: int, weights: NDArray[np.float32], bias: NDArray[np.float32], stride: int = 1, *, relu: bool = False
    ) -> int:
        """A convolution with weights (out, side, side, in) of odd side, whose middle starts on the first pixel, with
        zeros beyond the border; relu: negative results become 0."""
        return self._filtered(_CONVOLUTION, x, weights, bias, stride, ((3, "Int8", _RELU * relu),))

    def convolved_each(
        self, x: int, weights: NDArray[np.float32], bias: NDArray[np.float32], stride: int = 1, *, relu: bool = False
    ) -> int:
        """A convolution of each channel by itself with weights (side, side, channels); otherwise as `convolved`."""
        options = (3, "Int32", 1), (4, "Int8", _RELU * relu)
        return self._filtered(_CONVOLUTION_OF_EACH, x, weights[None], bias, stride, options)

    def added(self, x: int, y: int) -> int:
        """The sum of two pictures of one shape."""
        return self._layer(_ADD, (x, y), self._tensors[x].shape)

    def logistic(self, x: int) -> int:
        """1 / (1 + exp(-x))."""
        return self._layer(_LOGISTIC, (x,), self._tensors[x].shape)

    def pooled(self, x: int) -> int:
        """The largest of each 2 x 2 pixels; both sides are even."""
        _, height, width, channels = self._tensors[x].shape
        options = (0, "Int8", _VALID), *((field, "Int32", 2) for field in (1, 2, 3, 4))
        return self._layer(_MAX_POOL, (x,), (1, height // 2, width // 2, channels), options)

    def unfolded(self, x: int) -> int:
        """A picture twice as high and wide: the first quarter of the channels becomes the upper left of each 2 x 2
        pixels; the others become the upper right, lower left and lower right ones."""
        _, height, width, channels = self._tensors[x].shape
        return self._layer(_UNFOLD, (x,), (1, 2 * height, 2 * width, channels // 4), ((0, "Int32", 2),))

    def content(self, outputs: Sequence[int]) -> bytes:
        """The bytes of the model file; outputs: numbers of the pictures that the model returns."""
        build = flatbuffers.Builder(sum(map(len, self._constants)) + (1 << 16))
        buffers = [_table(build, *([(0, _bytes(build, one))] if one else ())) for one in self._constants]
        tensors = [
            _table(build, (0, _numbers(build, shape)), fields=((1, "Int8", kind), (2, "Uint32", constant)))
            for shape, kind, constant in self._tensors
        ]
        kinds = list(dict.fromkeys(layer.kind for layer in self._layers))
        codes = [
            _table(build, fields=((0, "Int8", kind.code), (3, "Int32", kind.code)))  # older and newer readers
            for kind in kinds
        ]
        graph = _table(
            build,
            (0, _tables(build, tensors)),
            (1, _numbers(build, (self.picture,))),
            (2, _numbers(build, outputs)),
            (3, _tables(build, [_operator(build, layer, kinds.index(layer.kind)) for layer in self._layers])),
        )
        model = _table(
            build,
            (1, _tables(build, codes)),
            (2, _tables(build, [graph])),
            (4, _tables(build, buffers)),
            fields=((0, "Uint32", _VERSION),),
        )
        build.Finish(model, b"TFL3")
        return bytes(build.Output())

    def _filtered(
        self,
        kind: _Kind,
        x: int,
        weights: NDArray[np.float32],
        bias: NDArray[np.float32],
        stride: int,
        options: tuple[_Field, ...],
    ) -> int:
        _, height, width, channels = self._tensors[x].shape
        around = weights.shape[1] // 2
        padding = _SAME
        if stride > 1 and around:  # "same" would start at another pixel
            sides = np.array([(0, 0), (around, around), (around, around), (0, 0)], np.int32)
            framed = 1, height + 2 * around, width + 2 * around, channels
            x, padding = self._layer(_PAD, (x, self._constant(sides, _INT)), framed), _VALID
        inputs = x, self._constant(weights, _FLOAT), self._constant(bias, _FLOAT)
        shape = 1, -(-height // stride), -(-width // stride), len(bias)
        strides = (1, "Int32", stride), (2, "Int32", stride)
        return self._layer(kind, inputs, shape, ((0, "Int8", padding), *strides, *options))

    def _layer(
        self, kind: _Kind, inputs: tuple[int, ...], shape: tuple[int, ...], options: tuple[_Field, ...] = ()
    ) -> int:
        output = self._tensor(shape)
        self._layers.append(_Layer(kind, inputs, output, options))
        return output

    def _constant(self, values: NDArray[np.float32] | NDArray[np.int32], kind: int) -> int:
        self._constants.append(values.astype("<i4" if kind == _INT else "<f4").tobytes())
        return self._tensor(values.shape, kind, len(self._constants) - 1)

    def _tensor(self, shape: tuple[int, ...], kind: int = _FLOAT, constant: int = 0) -> int:
        self._tensors.append(_Tensor(shape, kind, constant))
        return len(self._tensors) - 1


def _operator(build: flatbuffers.Builder, layer: _Layer, code: int) -> int:
    known = (1, _numbers(build, layer.inputs)), (2, _numbers(build, (layer.output,)))
    options = ((4, _table(build, fields=layer.options)),) if layer.kind.options else ()
    return _table(build, *known, *options, fields=((0, "Uint32", code), (3, "Uint8", layer.kind.options)))


def _table(build: flatbuffers.Builder, *parts: tuple[int, int], fields: Sequence[_Field] = ()) -> int:
    """Write a table of already written parts (number of the field, place) and of numbers; returns its place."""
    numbers = [number for number, _ in parts] + [number for number, _, _ in fields]
    build.StartObject(1 + max(numbers, default=0))
    for number, kind, value in fields:
        getattr(build, f"Prepend{kind}Slot")(number, value, 0)
    for number, place in parts:
        build.PrependUOffsetTRelativeSlot(number, place, 0)
    return int(build.EndObject())


def _tables(build: flatbuffers.Builder, places: Sequence[int]) -> int:
    """Write a vector of tables that are already written, at `places`; returns its place."""
    build.StartVector(4, len(places), 4)
    for place in reversed(places):
        build.PrependUOffsetTRelative(place)
    return int(build.EndVector())


def _numbers(build: flatbuffers.Builder, values: Sequence[int]) -> int:
    return int(build.CreateNumpyVector(np.array(values, "<i4")))


def _bytes(build: flatbuffers.Builder, content: bytes) -> int:
    build.Prep(_ALIGNED, len(content))
    return int(build.CreateByteVector(content))
