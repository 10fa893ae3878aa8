"""Reads a network from an ONNX file: its layers and their constants.

A file is one message of Protocol Buffers: numbered fields, each a number, 8 bytes, 4 bytes, or a given number of bytes,
which may be a message again (protobuf.dev, "Encoding"). Of the messages of ONNX (github.com/onnx/onnx, onnx.proto) only
those parts are read that the two networks that come with streamdeid use. Nothing is checked here: the caller checks the
file's hash.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GRAPH = 7
_NODES, _CONSTANTS = 1, 5
_INPUTS, _OUTPUTS, _KIND, _OPTIONS = 1, 2, 4, 5
_OPTION_NAME, _OPTION_FLOAT, _OPTION_WHOLE, _OPTION_LIST = 1, 2, 3, 8
_SIDES, _TYPE, _FLOATS, _NAME, _RAW = 1, 2, 4, 8, 9
_FLOAT = 1
"""ONNX's number for the type float32."""


@dataclass(frozen=True)
class Layer:
    """One operator."""

    kind: str
    inputs: tuple[str, ...]
    output: str
    options: dict[str, Any]
    """Whole numbers, floats, and lists of whole numbers, by ONNX's names."""


@dataclass(frozen=True)
class OnnxFile:
    """A network: layers in an order in which each can be computed, and the float32 constants by name."""

    layers: tuple[Layer, ...]
    constants: dict[str, NDArray[np.float32]]


def read(content: bytes) -> OnnxFile:
    """The network in the bytes of a file; its constants are views of those bytes, not copies."""
    fields = list(_fields(next(value for number, value in _fields(memoryview(content)) if number == _GRAPH)))
    constants = dict(_constant(value) for number, value in fields if number == _CONSTANTS)
    layers = tuple(_layer(value) for number, value in fields if number == _NODES)
    return OnnxFile(layers, {name: one for name, one in constants.items() if one is not None})


def _layer(content: memoryview) -> Layer:
    fields = list(_fields(content))
    inputs, outputs, kinds = (
        [str(value, "utf-8") for number, value in fields if number == wanted] for wanted in (_INPUTS, _OUTPUTS, _KIND)
    )
    options = dict(_option(value) for number, value in fields if number == _OPTIONS)
    return Layer(kinds[0], tuple(inputs), outputs[0], options)


def _option(content: memoryview) -> tuple[str, Any]:
    fields = list(_fields(content))
    name = next(str(value, "utf-8") for number, value in fields if number == _OPTION_NAME)
    for number, value in fields:
        if number == _OPTION_FLOAT:
            return name, struct.unpack("<f", value)[0]
        if number == _OPTION_WHOLE:
            return name, value
    return name, [whole for number, value in fields if number == _OPTION_LIST for whole in _wholes(value)]


def _constant(content: memoryview) -> tuple[str, NDArray[np.float32] | None]:
    fields = list(_fields(content))
    name = next(str(value, "utf-8") for number, value in fields if number == _NAME)
    if next((value for number, value in fields if number == _TYPE), None) != _FLOAT:
        return name, None
    sides = [whole for number, value in fields if number == _SIDES for whole in _wholes(value)]
    values = next((value for number, value in fields if number in (_FLOATS, _RAW)), b"")  # the same bytes either way
    return name, np.frombuffer(values, "<f4").reshape(sides)


def _wholes(value: Any) -> list[int]:
    """The whole numbers in a value of a repeated field: one number, or several packed into bytes."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        one, at = _varint(value, at)
        found.append(one)
    return found


def _fields(content: memoryview) -> Iterator[tuple[int, Any]]:
    """The number and the value of each field of a message; a value is a whole number or bytes."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value: Any
            value, at = _varint(content, at)
        else:
            size, at = _varint(content, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            value, at = content[at : at + size], at + size
        yield number, value


def _varint(content: memoryview, at: int) -> tuple[int, int]:
    """The whole number at a position, seven bits to a byte, and the position after its end."""
    value, shift = 0, 0
    while True:
        byte = content[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at
