"""Slow literal twins of the closed-set algorithms: the papers' pseudo-code as repaired in methods.md, in plain Python.

They share no code with `streamdeid`: points are tuples, sets are lists, and every figure is computed from scratch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from streamdeid.core.arrays import Floats

Point = tuple[float, ...]


def k_same_m(faces: Floats, k: int, rng: np.random.Generator) -> Floats:
    """P5 fig. 4 in parameter space."""
    points = _points(faces)
    left = list(range(len(points)))
    out: dict[int, Point] = {}
    for trigger in rng.permutation(len(points)).tolist():
        if trigger not in left:
            continue
        count = len(left) if len(left) < 2 * k else k
        others = sorted((i for i in left if i != trigger), key=lambda i: math.dist(points[i], points[trigger]))
        group = [trigger, *others][:count]
        for i in group:
            out[i] = _mean(points, group)
            left.remove(i)
    return _array(out)


def k_same_furthest(faces: Floats, k: int, rng: np.random.Generator) -> Floats:
    """P1 fig. 2."""
    points = _points(faces)
    left = list(range(len(points)))
    out: dict[int, Point] = {}
    centre_c: Point = ()
    centre_f: Point = ()
    for trigger in rng.permutation(len(points)).tolist():
        if trigger not in left:
            continue
        if len(left) < 2 * k:
            nearer_f = math.dist(points[trigger], centre_f) <= math.dist(points[trigger], centre_c)
            out[trigger] = centre_c if nearer_f else centre_f
            left.remove(trigger)
            continue
        c = [trigger]
        left.remove(trigger)
        f = [max(left, key=lambda i: math.dist(points[i], points[trigger]))]
        left.remove(f[0])
        while len(c) < k and len(f) < k:
            pick = _closest(points, left, _mean(points, f))
            f.append(pick)
            if _gap(points, c, f) <= _radius(points, c) + _radius(points, f):
                f.pop()
                break
            left.remove(pick)
            pick = _closest(points, left, _mean(points, c))
            c.append(pick)
            if _gap(points, c, f) <= _radius(points, c) + _radius(points, f):
                c.pop()
                break
            left.remove(pick)
        centre_c, centre_f = _mean(points, c), _mean(points, f)
        while len(f) < k:
            f.append(_closest(points, left, centre_f))
            left.remove(f[-1])
        while len(c) < k:
            c.append(_closest(points, left, centre_c))
            left.remove(c[-1])
        out.update(dict.fromkeys(c, centre_f))
        out.update(dict.fromkeys(f, centre_c))
    return _array(out)


def k_diff_furthest(faces: Floats, k: int, rng: np.random.Generator, *, relaxed: bool, singles: bool) -> Floats:
    """P3 fig. 2."""
    points = _points(faces)
    left = list(range(len(points)))
    out: dict[int, Point] = {}
    leftovers: list[int] = []
    c: list[int] = []
    f: list[int] = []
    pairs: list[tuple[list[int], list[int]]] = []
    for trigger in rng.permutation(len(points)).tolist():
        if trigger not in left:
            continue
        if len(left) == 1 or (len(left) == 2 and pairs and not singles):
            leftovers = left
            break
        c = [trigger]
        left.remove(trigger)
        f = [max(left, key=lambda i: math.dist(points[i], points[trigger]))]
        left.remove(f[0])
        while len(c) < k and len(f) < k and len(left) >= 2:
            to_f = _closest(points, left, _mean(points, f))
            to_c = _closest(points, [i for i in left if i != to_f], _mean(points, c))
            f.append(to_f)
            c.append(to_c)
            gap, rc, rf = _gap(points, c, f), _radius(points, c), _radius(points, f)
            if (gap**2 <= rc**2 + rf**2) if relaxed else (gap <= rc + rf):
                f.pop()
                c.pop()
                break
            left.remove(to_f)
            left.remove(to_c)
        pairs.append((c, f))
    for c, f in pairs:
        centre_c, centre_f = _mean(points, c), _mean(points, f)
        out.update({i: _move(points[i], centre_c, centre_f) for i in c})
        out.update({i: _move(points[i], centre_f, centre_c) for i in f})
    centre_c, centre_f = _mean(points, c), _mean(points, f)
    # Attached faces of the close side are decided first; the order matters to the random numbers only.
    nearer_f = [i for i in leftovers if math.dist(points[i], centre_c) > math.dist(points[i], centre_f)]
    for i in [*(j for j in leftovers if j not in nearer_f), *nearer_f]:
        tries = [_move(points[i], centre_c, centre_f), _move(points[i], centre_f, centre_c)]
        best = tries[0] if margin(points, i, tries[0]) >= margin(points, i, tries[1]) else tries[1]
        if margin(points, i, best) <= 0.0:
            earlier = [out[j] for j in leftovers if j in out]
            best = _drawn(points, i, centre_c if i in nearer_f else centre_f, rng, earlier)
        out[i] = best
    return _array(out)


def margin(points: Sequence[Point], own: int, output: Point) -> float:
    """How much nearer the nearest other original is than the own one."""
    others = min(math.dist(point, output) for i, point in enumerate(points) if i != own)
    return math.dist(points[own], output) - others


def _drawn(
    points: Sequence[Point], own: int, centre: Point, rng: np.random.Generator, earlier: Sequence[Point]
) -> Point:
    others = [i for i in range(len(points)) if i != own]
    for attempt in range(64):
        a, b = rng.choice(others, 2, replace=len(others) < 2)
        scale = math.sqrt(0.5) * (1.0 - attempt / 64)
        output = tuple(z + (x - y) * scale for x, y, z in zip(points[a], points[b], centre, strict=True))
        if margin(points, own, output) > 0.0 and output not in earlier:
            return output
    return centre


def _points(faces: Floats) -> list[Point]:
    return [tuple(row) for row in faces.tolist()]


def _array(out: dict[int, Point]) -> Floats:
    return np.array([out[i] for i in range(len(out))])


def _mean(points: Sequence[Point], rows: Sequence[int]) -> Point:
    return tuple(sum(values) / len(rows) for values in zip(*(points[i] for i in rows), strict=True))


def _radius(points: Sequence[Point], rows: Sequence[int]) -> float:
    return max(math.dist(points[i], _mean(points, rows)) for i in rows)


def _gap(points: Sequence[Point], c: Sequence[int], f: Sequence[int]) -> float:
    return math.dist(_mean(points, c), _mean(points, f))


def _closest(points: Sequence[Point], rows: Sequence[int], to: Point) -> int:
    return min(rows, key=lambda i: math.dist(points[i], to))


def _move(point: Point, old: Point, new: Point) -> Point:
    return tuple(x - a + b for x, a, b in zip(point, old, new, strict=True))
