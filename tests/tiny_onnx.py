"""Networks in the ONNX format, byte by byte: none that knows anything, but of the right shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_FLOAT = 1
_LENGTH = 2


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, content: bytes | str | int) -> bytes:
    if isinstance(content, int):
        return _number(number << 3) + _number(content)
    data = content.encode() if isinstance(content, str) else content
    return _number(number << 3 | _LENGTH) + _number(len(data)) + data


def _value(name: str, sizes: tuple[int, ...]) -> bytes:
    dimensions = b"".join(_field(1, _field(1, size)) for size in sizes)
    return _field(1, name) + _field(2, _field(1, _field(1, _FLOAT) + _field(2, dimensions)))


def _node(kind: str, given: str | Sequence[str], made: str) -> bytes:
    names = [given] if isinstance(given, str) else given
    return b"".join(_field(1, name) for name in names) + _field(2, made) + _field(3, made) + _field(4, kind)


def _constant(name: str, values: Sequence[float], sizes: tuple[int, ...]) -> bytes:
    dimensions = b"".join(_field(1, size) for size in sizes)
    return dimensions + _field(2, _FLOAT) + _field(8, name) + _field(9, np.asarray(values, "<f4").tobytes())


def _model(graph: bytes) -> bytes:
    """ModelProto of ONNX, opset 13."""
    return _field(1, 8) + _field(8, _field(1, "") + _field(2, 13)) + _field(7, graph)


def averaging_network() -> bytes:
    """The average of each channel, (1, 3, 112, 112) to (1, 3)."""
    graph = b"".join(
        [
            _field(1, _node("GlobalAveragePool", "picture", "pooled")),
            _field(1, _node("Flatten", "pooled", "vector")),
            _field(2, "averages"),
            _field(11, _value("picture", (1, 3, 112, 112))),
            _field(12, _value("vector", (1, 3))),
        ]
    )
    return _model(graph)


def one_box_network(box: Sequence[float], side: int) -> bytes:
    """A detector that always says the same x0, y0, x1, y1, score, (1, 3, side, side) to (1, 5)."""
    graph = b"".join(
        [
            _field(1, _node("GlobalAveragePool", "picture", "pooled")),
            _field(1, _node("Flatten", "pooled", "vector")),
            _field(1, _node("Gemm", ("vector", "weights", "box"), "boxes")),
            _field(2, "one_box"),
            _field(5, _constant("weights", [0.0] * 15, (3, 5))),
            _field(5, _constant("box", box, (5,))),
            _field(11, _value("picture", (1, 3, side, side))),
            _field(12, _value("boxes", (1, 5))),
        ]
    )
    return _model(graph)
