"""The points of the faces of a chunk as few bytes: what is left when each face is predicted from one before.

A face is predicted by an affine map, in space, of the face before that is nearest to it: most of what moves is the
head. What is left (the expression, and the landmarker's unrest) is alike in neighbouring points of the mesh, so each
point keeps the difference from its parent's in a tree over the mesh. Whole numbers all through, so what is read is what
was written to the bit, whatever machine reads it.

Bytes of a chunk: for each set of parts that faces have, in the order of their numbers: references uint8 (f,), maps
int32 (f, 4, 3), differences uint16 (f, n, 3) in zigzag, each of these as its lowest bytes, then the next. Keypoints
stand elsewhere (`keypoint_coding`), and are no part here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.analysis.stored_faces import (
    FOREHEAD,
    HAS_IRIS,
    HAS_LANDMARKS,
    HAS_MESH,
    IRIS,
    LANDMARKERS,
    OF_MESH,
    OUTERMOST,
    FaceNumbers,
    points_of,
)
from streamdeid.core.arrays import Ints
from streamdeid.core.face_mesh import MESH
from streamdeid.core.ibug68 import LANDMARKS
from streamdeid.core.mesh_triangles import TRIANGLES

_BACK = 64
"""Faces of the same parts that are looked at for the nearest, at most 255."""
_UNIT = 11
"""Bits behind the point of a map's numbers."""
_NOSE = 1
"""The point of the mesh where its tree has its root."""
_MAP_BYTES, _DIFFERENCE_BYTES = 4, 2


class Misfit(Exception):
    """Bytes that `coded` cannot have made."""


def coded(faces: Sequence[FaceNumbers], *, predict: bool = True) -> bytes:
    """The points of faces, in the order in which they were found.

    predict: False for more bytes in less time; no face is then predicted from one before.
    """
    pieces: list[bytes] = []
    for parts in _kinds([face.parts for face in faces]):
        group = [face for face in faces if face.parts & LANDMARKERS == parts]
        if predict:
            found = [_predicted(group, i) for i in range(len(group))]
        else:
            found = [(0, np.zeros((4, 3), np.int64), face.points) for face in group]
        pieces.append(bytes(back for back, _, _ in found))
        pieces.append(planes(np.stack([numbers for _, numbers, _ in found]).astype("<i4")))
        left = np.stack([rest for _, _, rest in found])
        parents = _tree(parts)[0]
        differences = left - np.where(parents[:, None] >= 0, left[:, parents], 0)
        pieces.append(planes(((differences << 1) ^ (differences >> 63)).astype("<u2")))
    return b"".join(pieces)


def coded_bytes(parts: Sequence[int]) -> int:
    """Length of what `coded` makes of faces with these parts."""
    return sum(1 + 12 * _MAP_BYTES + 3 * _DIFFERENCE_BYTES * points_of(part) for part in parts if part & LANDMARKERS)


def decoded(data: bytes, parts: Sequence[int]) -> list[Ints]:
    """Points int64 (n, 3) of each face, (0, 3) for one without. data: `coded_bytes` of them, or more. Raises Misfit."""
    found: list[Ints] = [np.zeros((0, 3), np.int64)] * len(parts)
    at = 0
    for kind in _kinds(parts):
        numbers = [i for i, part in enumerate(parts) if part & LANDMARKERS == kind]
        f, n = len(numbers), points_of(kind)
        references = data[at : at + f]
        at += f
        maps = from_planes(data, at, (f, 4, 3), "<i4").astype(np.int64)
        at += maps.size * _MAP_BYTES
        zigzag = from_planes(data, at, (f, n, 3), "<u2").astype(np.int64)
        at += zigzag.size * _DIFFERENCE_BYTES
        left = _summed((zigzag >> 1) ^ -(zigzag & 1), kind)
        group: list[Ints] = []
        for i, back in enumerate(references):
            if back > i:
                raise Misfit("a face that is predicted from none")
            points = left[i] + _moved(group[i - back], maps[i]) if back else left[i]
            if np.abs(points).max() > OUTERMOST:
                raise Misfit("a point far outside its face")
            group.append(points)
        for i, points in zip(numbers, group, strict=True):
            found[i] = points
    return found


def planes(array: NDArray[Any]) -> bytes:
    """An array's lowest bytes, then the next, up to the highest: alike ones stand together."""
    return array.reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T.tobytes()


def from_planes(data: bytes, at: int, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """The array whose `planes` stand in data from a place on; data has to reach."""
    size = np.dtype(dtype).itemsize
    count = int(np.prod(shape))
    flat = np.frombuffer(data, np.uint8, count * size, at)
    return np.array(flat.reshape(size, count).T, order="C").reshape(-1).view(dtype).reshape(shape)


def _kinds(parts: Sequence[int]) -> list[int]:
    return sorted({part & LANDMARKERS for part in parts} - {0})


def _predicted(group: Sequence[FaceNumbers], i: int) -> tuple[int, Ints, Ints]:
    """How far back the face is that this one is predicted from (0: none), the map (4, 3), and what is left (n, 3)."""
    own, nothing = group[i], np.zeros((4, 3), np.int64)
    nearest = nearest_before(group, i)
    if nearest is None:
        return 0, nothing, own.points
    start = group[nearest].points
    columns = np.column_stack([start, np.ones(len(start))]).astype(np.float64)
    try:
        fit = np.linalg.lstsq(columns, own.points.astype(np.float64), rcond=None)[0]
    except np.linalg.LinAlgError:
        return 0, nothing, own.points
    numbers = np.rint(fit * (1 << _UNIT))
    if not np.abs(numbers).max() < 1 << 31:
        return 0, nothing, own.points
    moved = numbers.astype(np.int64)
    left = own.points - _moved(start, moved)
    if np.abs(left).max() > OUTERMOST:  # differences would not fit 16 bits
        return 0, nothing, own.points
    return i - nearest, moved, left


def nearest_before(group: Sequence[FaceNumbers], i: int) -> int | None:
    """Which of the faces before one in a row has the nearest box; of equally near ones the last. None for the first."""
    own = group[i].box
    before = reversed(range(max(0, i - _BACK), i))
    return min(before, key=lambda j: max(abs(a - b) for a, b in zip(group[j].box, own, strict=True)), default=None)


def _moved(points: Ints, numbers: Ints) -> Ints:
    """Points (n, 3) mapped: numbers (4, 3), the last row the shift, in steps of 2 ** -_UNIT."""
    # Within 2 ** 14 and 2 ** 31 no sum leaves 64 bits.
    moved: Ints = (points @ numbers[:3] + numbers[3] + (1 << (_UNIT - 1))) >> _UNIT
    return moved


def _summed(differences: Ints, parts: int) -> Ints:
    """The values (f, n, 3) whose differences from their parents these are."""
    parents, levels = _tree(parts)
    values = differences.copy()
    for level in levels:
        values[:, level] += values[:, parents[level]]
    return values


@lru_cache(maxsize=32)
def _tree(parts: int) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Each point's parent (n,), -1 for roots, and the other points by how far they are from their root."""
    blocks: list[NDArray[np.intp]] = []
    if parts & HAS_LANDMARKS and not parts & OF_MESH:
        blocks.append(np.arange(LANDMARKS + FOREHEAD) - 1)
    if parts & HAS_IRIS:
        blocks.append(np.where(np.arange(IRIS) % 5 == 0, -1, np.arange(IRIS) // 5 * 5))
    if parts & HAS_MESH:
        blocks.append(_mesh_tree())
    starts = np.cumsum([0, *map(len, blocks)])
    parents = np.concatenate(
        [np.where(block < 0, -1, block + start) for block, start in zip(blocks, starts[:-1], strict=True)]
    )
    depth = np.where(parents < 0, 0, -1)
    levels: list[NDArray[np.intp]] = []
    while (depth < 0).any():
        level = np.flatnonzero((depth < 0) & (depth[parents] == len(levels)) & (parents >= 0))
        depth[level] = len(levels) + 1
        levels.append(level)
    return parents, levels


def _mesh_tree() -> NDArray[np.intp]:
    """Parents (468,) of the mesh's points in a tree along its triangles' edges, from the tip of the nose outwards."""
    neighbours: list[set[int]] = [set() for _ in range(MESH)]
    for a, b, c in TRIANGLES.reshape(-1, 3).tolist():
        for p, q in ((a, b), (b, c), (c, a)):
            neighbours[p].add(q)
            neighbours[q].add(p)
    parents = np.full(MESH, -1)
    reached = [_NOSE]
    known = {_NOSE}
    for point in reached:
        for other in sorted(neighbours[point] - known):
            known.add(other)
            parents[other] = point
            reached.append(other)
    return parents
