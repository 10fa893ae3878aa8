"""A network in the ONNX format, byte by byte: the average of each channel, (1, 3, 112, 112) to (1, 3)."""

from __future__ import annotations

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


def _node(kind: str, given: str, made: str) -> bytes:
    return _field(1, given) + _field(2, made) + _field(3, made) + _field(4, kind)


def averaging_network() -> bytes:
    """The file's content (ModelProto of ONNX, opset 13)."""
    graph = b"".join(
        [
            _field(1, _node("GlobalAveragePool", "picture", "pooled")),
            _field(1, _node("Flatten", "pooled", "vector")),
            _field(2, "averages"),
            _field(11, _value("picture", (1, 3, 112, 112))),
            _field(12, _value("vector", (1, 3))),
        ]
    )
    return _field(1, 8) + _field(8, _field(1, "") + _field(2, 13)) + _field(7, graph)
