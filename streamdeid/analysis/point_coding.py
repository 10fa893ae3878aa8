"""Codes the points of a chunk's faces in few bytes, as the error of predicting each face from an earlier one.

A face is predicted by a 3-D affine map of the nearest earlier face, since most of the movement is the head's. The
error that is left (the expression, and the landmarker's noise) is similar in neighbouring points of the mesh. So each
point keeps the difference between its error and that of its parent in a tree over the mesh. All arithmetic on the
stored values is in whole numbers, so that every machine reads the same bits as were written.

Bytes of a chunk: for each set of parts that faces have, in the order of their numbers: references uint8 (f,), maps
int32 (f, 4, 3), differences uint16 (f, n, 3) in zigzag. Of each array the lowest bytes come first, then the next ones.
Keypoints are coded elsewhere (`keypoint_coding`), and do not count as a part here.
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
"""Number of earlier faces with the same parts among which the nearest is searched for; it must not exceed 255."""
_UNIT = 11
"""Fractional bits of a map's numbers."""
_NOSE = 1
"""The point of the mesh that is the root of its tree."""
_MAP_BYTES, _DIFFERENCE_BYTES = 4, 2


class Misfit(Exception):
    """Bytes that `coded` or `coded_keypoints` cannot have made."""


def coded(faces: Sequence[FaceNumbers], *, predict: bool = True) -> bytes:
    """The coded points of faces, in the order in which they were found.

    predict: False takes less time and makes more bytes; then no face is predicted from an earlier one.
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
    """Length in bytes of what `coded` makes of faces with these parts."""
    return sum(1 + 12 * _MAP_BYTES + 3 * _DIFFERENCE_BYTES * points_of(part) for part in parts if part & LANDMARKERS)


def decoded(data: bytes, parts: Sequence[int]) -> list[Ints]:
    """Points int64 (n, 3) of each face, (0, 3) without points. data: at least `coded_bytes(parts)`. Raises Misfit."""
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
    """An array's lowest bytes, then the next ones, up to the highest, so that similar bytes stand together."""
    return array.reshape(-1).view(np.uint8).reshape(-1, array.itemsize).T.tobytes()


def from_planes(data: bytes, at: int, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """The array whose `planes` stand in data from `at` on; data must be long enough."""
    size = np.dtype(dtype).itemsize
    count = int(np.prod(shape))
    flat = np.frombuffer(data, np.uint8, count * size, at)
    return np.array(flat.reshape(size, count).T, order="C").reshape(-1).view(dtype).reshape(shape)


def _kinds(parts: Sequence[int]) -> list[int]:
    return sorted({part & LANDMARKERS for part in parts} - {0})


def _predicted(group: Sequence[FaceNumbers], i: int) -> tuple[int, Ints, Ints]:
    """How far back the face is that face i is predicted from (0: none), the map (4, 3), and the error left (n, 3)."""
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
    """Index of the earlier face with the nearest box; among equally near ones the last. None for the first face."""
    own = group[i].box
    before = reversed(range(max(0, i - _BACK), i))
    return min(before, key=lambda j: max(abs(a - b) for a, b in zip(group[j].box, own, strict=True)), default=None)


def _moved(points: Ints, numbers: Ints) -> Ints:
    """Apply a map to points (n, 3). numbers: (4, 3) in steps of 2 ** -_UNIT; the last row is the shift."""
    # With points below 2 ** 14 and numbers below 2 ** 31 no sum exceeds 64 bits.
    moved: Ints = (points @ numbers[:3] + numbers[3] + (1 << (_UNIT - 1))) >> _UNIT
    return moved


def _summed(differences: Ints, parts: int) -> Ints:
    """The values (f, n, 3) that have these differences from their parents' values."""
    parents, levels = _tree(parts)
    values = differences.copy()
    for level in levels:
        values[:, level] += values[:, parents[level]]
    return values


@lru_cache(maxsize=32)
def _tree(parts: int) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Each point's parent (n,), -1 for roots, and the other points grouped by their depth below the root."""
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
