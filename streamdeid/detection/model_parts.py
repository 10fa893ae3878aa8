"""Makes a part of a TFLite model a model of its own: the operators that lead from given tensors to others.

mediapipe's attention mesh cannot run outside mediapipe as a whole, because eight of its 712 operators exist only there.
The operators before and behind those eight can. A TFLite file is a flatbuffer: tables that point forward to vectors and
other tables. A part needs no new file layout: the same bytes with a shorter list of operators and other lists of inputs
and outputs are a valid model, whose unused tensors cost nothing when it runs. So nothing is parsed into objects, packed
again or kept on disk. A part is made in a few milliseconds from the bytes of mediapipe's own file, and the result is
always the same bytes.

Layout: github.com/google/flatbuffers (internals), and tensorflow/lite/schema.fbs for the numbers of the fields.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from flatbuffers import flexbuffers

_SUBGRAPHS = 2
_INPUTS, _OUTPUTS, _OPERATORS = 1, 2, 3
_OPERATOR_INPUTS, _OPERATOR_OUTPUTS, _OPERATOR_CUSTOM = 1, 2, 5


class Model:
    """The bytes of a TFLite model with one subgraph. Nothing is checked here: the caller checks the file's hash."""

    def __init__(self, content: bytes) -> None:
        self._bytes = content
        graphs = self._vector(self._follow(0), _SUBGRAPHS)
        self._graph = self._follow(graphs + 4)
        self._operators = self._references(self._graph, _OPERATORS)

    def part(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """A model that computes the tensors `outputs` from the tensors `inputs`, both by their numbers in this model.

        Raises ValueError where an output depends on another input of this model.
        """
        made_by = {tensor: row for row in range(len(self._operators)) for tensor in self._tensors_of(row, outputs=True)}
        graph_inputs = self._numbers(self._graph, _INPUTS)
        needed: set[int] = set()
        waiting = list(outputs)
        while waiting:
            tensor = waiting.pop()
            if tensor in inputs or tensor < 0:
                continue
            if tensor in graph_inputs:
                raise ValueError(f"the outputs depend on the model's own input {tensor}")
            row = made_by.get(tensor)
            if row is not None and row not in needed:
                needed.add(row)
                waiting += self._tensors_of(row, outputs=False)
        return self._patched(sorted(needed), inputs, outputs)

    def options(self, operator: int) -> dict[str, object]:
        """The parameters of a custom operator, by its number."""
        at = self._vector(self._operators[operator], _OPERATOR_CUSTOM)
        found = flexbuffers.Loads(self._bytes[at + 4 : at + 4 + self._u32(at)])
        return dict(found)

    def _patched(self, operators: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        new = bytearray(self._bytes)
        vector = self._vector(self._graph, _OPERATORS)
        struct.pack_into("<I", new, vector, len(operators))
        for slot, row in enumerate(operators):
            at = vector + 4 + 4 * slot
            struct.pack_into("<I", new, at, self._operators[row] - at)  # slots only move away from their targets
        for field, numbers in ((_INPUTS, inputs), (_OUTPUTS, outputs)):
            new += b"\0" * (-len(new) % 4)
            at = self._field(self._graph, field)
            struct.pack_into("<I", new, at, len(new) - at)
            new += struct.pack(f"<I{len(numbers)}i", len(numbers), *numbers)
        return bytes(new)

    def _tensors_of(self, operator: int, *, outputs: bool) -> list[int]:
        return self._numbers(self._operators[operator], _OPERATOR_OUTPUTS if outputs else _OPERATOR_INPUTS)

    def _u32(self, at: int) -> int:
        return int(struct.unpack_from("<I", self._bytes, at)[0])

    def _follow(self, at: int) -> int:
        """The position that the reference at a position points to."""
        return at + self._u32(at)

    def _field(self, table: int, field: int) -> int:
        """The position of a field of a table. Raises ValueError when it is absent."""
        fields = table - struct.unpack_from("<i", self._bytes, table)[0]
        size = struct.unpack_from("<H", self._bytes, fields)[0]
        offset = struct.unpack_from("<H", self._bytes, fields + 4 + 2 * field)[0] if 4 + 2 * field < size else 0
        if not offset:
            raise ValueError(f"a table of the model has no field {field}")
        return int(table + offset)

    def _vector(self, table: int, field: int) -> int:
        """The position of a vector's length; the vector's items follow it."""
        return self._follow(self._field(table, field))

    def _numbers(self, table: int, field: int) -> list[int]:
        at = self._vector(table, field)
        return list(struct.unpack_from(f"<{self._u32(at)}i", self._bytes, at + 4))

    def _references(self, table: int, field: int) -> list[int]:
        """The positions of a vector's tables."""
        at = self._vector(table, field)
        offsets = struct.unpack_from(f"<{self._u32(at)}I", self._bytes, at + 4)
        return [at + 4 + 4 * i + offset for i, offset in enumerate(offsets)]
