"""King's face recogniser: a residual network of 29 convolutions, run in numpy on the weights that dlib publishes.

The weights (`dlib_face_recognition_resnet_model_v1.dat`, 22 MB, public domain, D. King 2017) are read from dlib's own
serialisation; dlib is not needed. dlib itself is not used because its Python binding holds the interpreter's lock for
the 60 ms that one face takes, so that even a thread of its own would stop the loop. numpy's matrix products release
the lock, and take 9 ms. Both give the same vector (`tests/identity/test_face_resnet.py`).

The weights are kept as int16 with one scale for each filter, 11 MiB: half the memory that float32 takes, and no slower
(there is less to read). This changes the vector by 1e-4, a thousandth of the change from one frame to another.
"""

from __future__ import annotations

import hashlib
import mmap
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.errors import ModelError

SIDE = 150
"""Width and height of the picture that the network is made for, pixels."""
LENGTH = 128
"""Number of values of a vector."""
SHA256 = "55533b28a95800a551ba546ba62fe69625c7e95a7061c338adffead08719da30"
"""SHA-256 of the published weights."""
_MEAN = np.array([122.782, 117.001, 104.298], np.float32)
"""RGB that is subtracted from every pixel; the difference is divided by 256."""
_LEVELS = ((3, False), (4, True), (3, True), (3, True), (1, True))
"""Residual blocks of each level, and whether the first of them halves the picture."""
_PARAMETERS = re.compile(rb"\x01\x05con_4|\x01\x07affine_|\x01\x04fc_2")
"""dlib's names (with their lengths) of the layers that have parameters; in the file they stand from the picture on."""
_NEGATIVE, _BYTES = 0x80, 0x0F

Layer = NDArray[np.float32]
"""A picture inside the network, float32 (h, w, channels)."""


@dataclass(frozen=True)
class Convolution:
    """A convolution that already includes the scale and shift of the layer after it."""

    weights: NDArray[np.int16]
    """(k * k * channels, filters): row, column, channel."""
    scale: NDArray[np.float32]
    """(filters,): the value of one unit of the weights."""
    shift: NDArray[np.float32]
    """(filters,)."""
    side: int
    """k."""


def convolution(filters: NDArray[np.float32], gain: NDArray[np.float32], shift: NDArray[np.float32]) -> Convolution:
    """A convolution from filters (n, channels, k, k), the gain of each (n,), and the shift added to each (n,)."""
    side = filters.shape[-1]
    weights = (filters * gain[:, None, None, None]).transpose(2, 3, 1, 0).reshape(-1, len(filters))
    scale = np.maximum(np.abs(weights).max(axis=0), np.float32(1e-20)) / np.float32(np.iinfo(np.int16).max)
    return Convolution(np.rint(weights / scale).astype(np.int16), scale, shift.astype(np.float32), side)


def convolved(layer: Layer, by: Convolution, stride: int, border: int) -> Layer:
    """Convolve a layer, with a border of zeros about it, as one product of all its windows with all filters."""
    if border:
        layer = np.pad(layer, ((border, border), (border, border), (0, 0)))
    windows = _windows(layer, by.side, stride)
    height, width = windows.shape[:2]
    rows = np.ascontiguousarray(windows.transpose(0, 1, 3, 4, 2)).reshape(height * width, -1)
    made = rows @ by.weights.astype(np.float32)
    made *= by.scale
    made += by.shift
    return made.reshape(height, width, -1)


def _windows(layer: Layer, side: int, stride: int) -> Layer:
    """All windows of side x side pixels, (rows, columns, channels, side, side), a view."""
    view = np.lib.stride_tricks.sliding_window_view
    windows: Layer = view(layer, (side, side), axis=(0, 1))
    return windows[::stride, ::stride]


def halved(layer: Layer) -> Layer:
    """The mean of each 2 x 2 pixels; an odd last row or column is left out."""
    height, width = layer.shape[0] // 2, layer.shape[1] // 2
    blocks = layer[: 2 * height, : 2 * width].reshape(height, 2, width, 2, -1)
    return np.asarray(blocks.mean(axis=(1, 3)), np.float32)


def added(one: Layer, other: Layer) -> Layer:
    """The sum of two layers; the smaller is filled up with zeros on the right, below and in its channels."""
    total = np.zeros(np.maximum(one.shape, other.shape), np.float32)
    for layer in (one, other):
        height, width, channels = layer.shape
        total[:height, :width, :channels] += layer
    return total


class FaceResnet:
    """The network. It keeps nothing between calls, so threads may share it."""

    def __init__(self, weights: Path) -> None:
        """Raises ModelError when the file cannot be read or is not the published one."""
        self._convolutions, self._last = read_weights(weights)

    def __call__(self, picture: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Vector, float64 (128,), of a face in an RGB picture uint8 (150, 150, 3) that is cut like the pictures that
        the network was trained on (`person_recogniser.face_picture`)."""
        if picture.shape != (SIDE, SIDE, 3):
            raise ValueError(f"the network wants a picture of {SIDE} x {SIDE}, not {picture.shape}")
        layers = iter(self._convolutions)
        layer = (picture.astype(np.float32) - _MEAN) / np.float32(256)
        layer = np.maximum(convolved(layer, next(layers), 2, 0), 0)
        layer = _windows(layer, 3, 2).max(axis=(3, 4))
        for blocks, halving in _LEVELS:
            for block in range(blocks):
                first, second = next(layers), next(layers)
                down = halving and block == 0
                inner = np.maximum(convolved(layer, first, *((2, 0) if down else (1, 1))), 0)
                layer = added(convolved(inner, second, 1, 1), halved(layer) if down else layer)
                np.maximum(layer, 0, out=layer)
        return np.asarray(layer.mean(axis=(0, 1)) @ self._last, np.float64)


def read_weights(path: Path) -> tuple[list[Convolution], NDArray[np.float32]]:
    """The convolutions of dlib's file, from the picture on, and the last matrix (256, 128).

    Only parameters are read: the form of the published network is known, and the hash shows that the file is that one.
    Raises ModelError.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if hashlib.sha256(content).hexdigest() != SHA256:
                raise ModelError(f"{path} is not the recogniser that was published: its SHA-256 differs")
            return _parameters(content)
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise ModelError(f"the recogniser {path} cannot be read") from error


def _parameters(content: mmap.mmap) -> tuple[list[Convolution], NDArray[np.float32]]:
    found: list[Convolution] = []
    values = np.empty(0, np.float32)
    channels, side = 3, 7
    for match in _PARAMETERS.finditer(content):
        at, name = match.end(), match.group()[2:]
        if name == b"fc_2":
            for _ in range(2):  # its outputs and inputs
                _, at = _integer(content, at)
            return found, _tensor(content, at).reshape(-1, LENGTH)
        if name == b"con_4":
            values = _tensor(content, at)
            continue
        gain, shift = _tensor(content, at).reshape(2, -1)
        bias = values[-len(gain) :]
        filters = values[: -len(gain)].reshape(len(gain), channels, side, side)
        found.append(convolution(filters, gain, shift + gain * bias))
        channels, side = len(gain), 3
    raise ModelError("the recogniser has no last layer")


def _integer(content: mmap.mmap, at: int) -> tuple[int, int]:
    """An integer of dlib's serialisation, and its end: a byte with sign and length, then that many bytes."""
    head = content[at]
    end = at + 1 + (head & _BYTES)
    value = int.from_bytes(content[at + 1 : end], "little")
    return (-value if head & _NEGATIVE else value), end


def _tensor(content: mmap.mmap, at: int) -> NDArray[np.float32]:
    """The values of a tensor, float32 (n,): its version, four sizes, then little-endian floats."""
    _, at = _integer(content, at)
    count = 1
    for _ in range(4):
        size, at = _integer(content, at)
        count *= size
    return np.frombuffer(content[at : at + 4 * count], "<f4").astype(np.float32)
