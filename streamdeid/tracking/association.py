"""Tells which face belongs to which track, and where that is in doubt.

The cost of a pair, 0 (the same place) to 1, is half of 1 - GIoU (Rezatofighi et al. 2019, "Generalized Intersection
over Union"), averaged with the landmarks' distance where both sides have landmarks. A gate on distance and size leaves
a few candidates per track. The optimal assignment is then found in each connected component by shortest augmenting
paths (Jonker, Volgenant 1987; the rectangular form of Crouse 2016).

Only boxes near each other are compared (a sweep along x, in blocks of bounded size), so thousands of boxes need neither
a matrix of all pairs nor its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from streamdeid.core.arrays import Flags, Floats, Rows

REACH = 0.75
"""A face may lie this many face sizes from the predicted centre, plus two standard deviations of the prediction ..."""
REACH_LIMIT = 1.5
"""... but never farther than this: a split costs a new pseudonym, a merge gives one pseudonym to two people."""
SIZE_RATIO = 2.2
"""Largest ratio of the sizes (square root of the area) of a track's box and a face's box. A face itself, where mesh or
points show both sizes, may not shrink by more either: a woman's face of 74 pixels was taken for a man's profile of 176
pixels beside it, which stayed open until it had left (stage_and_audience). Of 11,983 pairs of sightings in 32 clips
eight shrink by more."""
MARGIN = 0.1
"""Two candidates whose costs differ by less than this are too close to tell apart."""
FAR = 0.5
"""A match above this cost is ambiguous: 0.5 is where the boxes no longer touch."""
OVERLAP = 0.3
"""IoU from which two boxes of one frame overlap strongly."""
LARGEST = 256
"""Components with more tracks and more faces than this are matched greedily."""
_UNMATCHED = 1.0
_CANDIDATES = 12
_BLOCK, _FEW = 1 << 19, 256
"""Pairs that are compared in one block; and number of pairs up to which all are compared, without the sweep."""


@dataclass(frozen=True)
class Shapes:
    """Boxes, float64 (n, 4) in pixels, and their landmarks, float64 (n, 68, 2), nan for a row without landmarks."""

    boxes: Floats
    landmarks: Floats
    sizes: Floats | None = None
    """(n,): size of the face itself, pixels; nan where it is not known. The box may be twice as large."""


@dataclass(frozen=True)
class Association:
    """Which track has which face in a frame."""

    pairs: Rows
    """intp (k, 2): row of the track, row of the face; each row at most once."""
    ambiguous_tracks: Flags
    """bool (n,): the track competes for a face, has two near-equal candidates, or its match is far."""
    ambiguous_faces: Flags
    """bool (m,): the face competes for a track, or has two near-equal candidates."""


def iou(a: Floats, b: Floats) -> Floats:
    """Intersection over union of boxes with positive sides, (..., 4) and (..., 4) broadcast to (...)."""
    shared, union, _ = _areas(a, b)
    return np.asarray(shared / union, dtype=np.float64)


def giou(a: Floats, b: Floats) -> Floats:
    """Generalised IoU of boxes with positive sides, -1 to 1, (..., 4) and (..., 4) broadcast to (...)."""
    shared, union, hull = _areas(a, b)
    return np.asarray(shared / union - (hull - union) / hull, dtype=np.float64)


def landmark_distance(a: Floats, b: Floats) -> Floats:
    """Mean distance of the points over the faces' size, (k, 68, 2) twice to (k,); nan where one side has none.

    The size is the square root of the product of the landmarks' width and height, averaged over the two faces.
    """
    size = (_extent(a) + _extent(b)) / 2
    return np.asarray(np.linalg.norm(a - b, axis=2).mean(axis=1) / size, dtype=np.float64)


def associate(
    tracks: Shapes, faces: Shapes, spread: Floats, sure_tracks: Flags | None = None, sure_faces: Flags | None = None
) -> Association:
    """Match predicted tracks (n rows) with the faces of a frame (m rows).

    spread: float64 (n, 2), standard deviation of the predicted boxes in pixels. sure_tracks, sure_faces: bool (n,) and
    (m,), which of them are surely faces, None for all; others are not rivals and make nothing ambiguous. At most 12
    candidates are kept per track; components beyond `LARGEST` are matched greedily, cheapest pair first.
    """
    n, m = len(tracks.boxes), len(faces.boxes)
    ones, others, cost = _candidates(tracks, faces, spread)
    ambiguous_tracks, ambiguous_faces = np.zeros(n, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
    sure = np.ones(len(ones), dtype=np.bool_)
    sure &= True if sure_tracks is None else sure_tracks[ones]
    sure &= True if sure_faces is None else sure_faces[others]
    for side, count in ((ones, n), (others, m)):
        best = np.full(count, np.inf)
        np.minimum.at(best, side, cost)
        near = sure & (cost <= best[side] + MARGIN)
        rivals = near & (np.bincount(side[near], minlength=count)[side] > 1)
        ambiguous_tracks[ones[rivals]] = True
        ambiguous_faces[others[rivals]] = True
    matched = _solve(ones, others, cost)
    far = matched[cost[matched] > FAR]
    ambiguous_tracks[ones[far]] = True
    return Association(np.stack([ones[matched], others[matched]], axis=1), ambiguous_tracks, ambiguous_faces)


def assign(cost: Floats, unmatched: float = _UNMATCHED) -> Rows:
    """Optimal partial assignment: pairs intp (k, 2) minimising the sum of their costs plus `unmatched` per idle row.

    cost: float64 (r, c), inf where a pair is forbidden. Rows may stay idle; so may columns, at no cost.
    """
    rows, columns = cost.shape
    idle = np.full((rows, rows), np.inf)
    np.fill_diagonal(idle, unmatched)
    full = np.concatenate([cost, idle], axis=1)  # each row can take its own idle column: always feasible
    u, v = np.zeros(rows), np.zeros(columns + rows)
    row_of, column_of = np.full(columns + rows, -1), np.full(rows, -1)
    for row in range(rows):
        shortest = np.full(columns + rows, np.inf)
        previous = np.full(columns + rows, -1)
        open_ = np.ones(columns + rows, dtype=np.bool_)
        i, lowest, visited = row, 0.0, [row]
        while True:
            reduced = lowest + full[i] - u[i] - v
            better = open_ & (reduced < shortest)
            shortest[better] = reduced[better]
            previous[better] = i
            j = int(np.argmin(np.where(open_, shortest, np.inf)))
            lowest = float(shortest[j])
            open_[j] = False
            i = int(row_of[j])
            if i < 0:
                break
            visited.append(i)
        u[row] += lowest
        for i in visited[1:]:
            u[i] += lowest - shortest[column_of[i]]
        v[~open_] -= lowest - shortest[~open_]
        i = -1
        while i != row:
            i = int(previous[j])
            row_of[j] = i
            column_of[i], j = j, int(column_of[i])
    matched = np.flatnonzero(column_of < columns)
    return np.stack([matched, column_of[matched]], axis=1, dtype=np.intp)


def overlapping(boxes: Floats, others: Floats | None = None, above: float = OVERLAP) -> Flags:
    """Which boxes (n, 4) have an IoU above `above` with one of the others (m, 4), or with one another; bool (n,)."""
    found = np.zeros(len(boxes), dtype=np.bool_)
    if others is None and len(boxes) < 2:
        return found
    against = boxes if others is None else others
    for i, j in _touching(boxes, against):
        strong = iou(boxes[i], against[j]) > above
        found[i[strong if others is not None else strong & (i != j)]] = True
    return found


def meeting(boxes: Floats, others: Floats, own: Rows) -> Flags:
    """Which boxes (n, 4) touch one of the others (m, 4) that is not their own; bool (n,). own (m,): row in `boxes`."""
    found = np.zeros(len(boxes), dtype=np.bool_)
    for i, j in _touching(boxes, others):
        found[i[own[j] != i]] = True
    return found


def duplicates(shapes: Shapes, quality: Floats) -> list[Rows]:
    """Detections grouped by face, the best of each group first; groups are in the order of their first rows.

    Two detections are one face when their landmarks lie within a tenth of its size, or, if one has no landmarks, when
    their IoU is 0.5 or more. Two faces with different landmarks stay two whatever their boxes. quality: (n,), finite.
    """
    if len(quality) < 2:  # the usual case: one face at most
        return [np.array([row]) for row in range(len(quality))]
    order = np.argsort(-quality, kind="stable")
    crowded = overlapping(shapes.boxes, above=0.1)[order]
    groups: list[Rows] = [order[[place]] for place in np.flatnonzero(~crowded)]
    left = order[crowded]
    while len(left):
        first, rest = left[:1], left[1:]
        shared = iou(shapes.boxes[first], shapes.boxes[rest])
        same = shared >= 0.5
        close = np.flatnonzero(shared > 0.1)
        points = shapes.landmarks[rest[close]]
        distance = landmark_distance(np.broadcast_to(shapes.landmarks[first], points.shape), points)
        known = ~np.isnan(distance)
        same[close[known]] = distance[known] < 0.1
        groups.append(np.concatenate([first, rest[same]]))
        left = rest[~same]
    return sorted(groups, key=lambda group: int(group[0]))


def _candidates(tracks: Shapes, faces: Shapes, spread: Floats) -> tuple[Rows, Rows, Floats]:
    """Gated pairs: row of the track, row of the face, cost, each (k,)."""
    place, size = _centres(tracks.boxes), _sizes(tracks.boxes)
    there, other = _centres(faces.boxes), _sizes(faces.boxes)
    wide = np.hypot(spread[:, 0], spread[:, 1])
    window = (REACH_LIMIT * np.sqrt(SIZE_RATIO) * size)[:, None]
    found: list[tuple[Rows, Rows, Floats]] = []
    windows, points = np.hstack([place - window, place + window]), np.hstack([there, there])
    for i, j in _touching(windows, points):
        ratio, unit = size[i] / other[j], np.sqrt(size[i] * other[j])
        distance = np.hypot(place[i, 0] - there[j, 0], place[i, 1] - there[j, 1])
        reach = np.minimum(REACH * unit + 2 * wide[i], REACH_LIMIT * unit)
        gate = (distance <= reach) & (np.maximum(ratio, 1 / ratio) <= SIZE_RATIO)
        if tracks.sizes is not None and faces.sizes is not None:
            gate &= ~(tracks.sizes[i] / faces.sizes[j] > SIZE_RATIO)  # nan: not known
        i, j = i[gate], j[gate]
        cost = (1 - giou(tracks.boxes[i], faces.boxes[j])) / 2
        order = np.lexsort((cost, i))
        nearest = order[np.arange(len(i)) - np.searchsorted(i, i) < _CANDIDATES]  # i is sorted, before and after
        found.append((i[nearest], j[nearest], cost[nearest]))
    if not found:
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0)
    ones, others, cost = (np.concatenate(part) for part in zip(*found, strict=True))
    apart = landmark_distance(tracks.landmarks[ones], faces.landmarks[others])
    # The distance is halved, so that faces one face apart cost about the same by box and by landmarks.
    return ones, others, np.where(np.isnan(apart), cost, (cost + np.minimum(apart / 2, 1)) / 2)


def _solve(ones: Rows, others: Rows, cost: Floats) -> Rows:
    """Which of the candidate pairs are matched: their rows, intp (k,)."""
    matched: list[Rows] = []
    for part in _components(ones, others):
        if len(part) == 1:  # the usual case: no other face near
            matched.append(part)
            continue
        rows, i = np.unique(ones[part], return_inverse=True)
        columns, j = np.unique(others[part], return_inverse=True)
        if min(len(rows), len(columns)) > LARGEST:
            matched.append(_greedy(part, ones, others, cost))
            continue
        table = np.full((len(rows), len(columns)), np.inf)
        where = np.full(table.shape, -1, dtype=np.intp)
        table[i, j], where[i, j] = cost[part], part
        chosen = assign(table)
        matched.append(where[chosen[:, 0], chosen[:, 1]])
    return np.concatenate(matched) if matched else np.zeros(0, dtype=np.intp)


def _greedy(part: Rows, ones: Rows, others: Rows, cost: Floats) -> Rows:
    rows: dict[int, int] = {}
    columns: dict[int, int] = {}
    for pair in part[np.argsort(cost[part], kind="stable")].tolist():
        if ones[pair] not in rows and others[pair] not in columns:
            rows[int(ones[pair])] = columns[int(others[pair])] = pair
    return np.array(list(rows.values()), dtype=np.intp)


def _components(ones: Rows, others: Rows) -> list[Rows]:
    """The candidate pairs grouped into connected components (union-find), intp arrays of pair rows."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    faces = [-1 - face for face in others.tolist()]  # negative, so that faces and tracks never share a node
    for track, face in zip(ones.tolist(), faces, strict=True):
        parent[root(track)] = root(face)
    groups: dict[int, list[int]] = {}
    for pair, face in enumerate(faces):
        groups.setdefault(root(face), []).append(pair)
    return [np.array(group, dtype=np.intp) for group in groups.values()]


def _areas(a: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """Areas of intersection, union and hull of boxes (..., 4), each (...)."""
    ax0, ay0, ax1, ay1 = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bx0, by0, bx1, by1 = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    wide = np.minimum(ax1, bx1) - np.maximum(ax0, bx0)
    high = np.minimum(ay1, by1) - np.maximum(ay0, by0)
    shared = np.maximum(wide, 0) * np.maximum(high, 0)
    union = (ax1 - ax0) * (ay1 - ay0) + (bx1 - bx0) * (by1 - by0) - shared
    hull = (np.maximum(ax1, bx1) - np.minimum(ax0, bx0)) * (np.maximum(ay1, by1) - np.minimum(ay0, by0))
    return shared, union, hull


def _centres(boxes: Floats) -> Floats:
    return (boxes[:, :2] + boxes[:, 2:]) / 2


def _sizes(boxes: Floats) -> Floats:
    return np.asarray(np.sqrt((boxes[:, 2:] - boxes[:, :2]).prod(axis=1)), dtype=np.float64)


def _extent(landmarks: Floats) -> Floats:
    # At least a pixel, so that degenerate landmarks do not cause a division by zero.
    return np.asarray(np.sqrt(np.maximum(np.ptp(landmarks, axis=1), 1).prod(axis=1)), dtype=np.float64)


def _touching(a: Floats, b: Floats) -> Iterator[tuple[Rows, Rows]]:
    """All pairs of boxes that touch, from (n, 4) and (m, 4), rows of `a` ascending; each row's pairs in one block."""
    if not len(a) or not len(b):
        return
    order = np.argsort(b[:, 0], kind="stable")
    if len(a) * len(b) <= _FEW:
        c = b[order]
        across = (c[:, 2] >= a[:, :1]) & (c[:, 0] <= a[:, 2:3])
        i, j = np.nonzero(across & (c[:, 1] <= a[:, 3:]) & (c[:, 3] >= a[:, 1:2]))
        yield i, order[j]
        return
    left = b[order, 0]
    # A box of `b` that starts farther left of a box of `a` than the widest box of `b` is wide cannot reach it.
    low = np.searchsorted(left, a[:, 0] - (b[:, 2] - b[:, 0]).max(), side="left")
    count = np.searchsorted(left, a[:, 2], side="right") - low
    total = np.cumsum(count)
    start = 0
    while start < len(a):
        done = total[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(total, done + _BLOCK, side="right")))
        sizes = count[start:stop]
        i = np.repeat(np.arange(start, stop), sizes)
        j = order[np.arange(len(i)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low[i]]
        near = (b[j, 2] >= a[i, 0]) & (b[j, 1] <= a[i, 3]) & (b[j, 3] >= a[i, 1])
        yield i[near], j[near]
        start = stop
