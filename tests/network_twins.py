"""Slow twins of the kernels around mediapipe's networks: one value at a time, as the graphs' calculators say it."""

from __future__ import annotations

import math

import numpy as np

from streamdeid.core.arrays import Floats


def letterboxed(rgb: Floats, side: int) -> Floats:
    """The input of the detector: corners to corners, bilinear in 32nds of a pixel, rounded to 8 bits, black outside."""
    height, width = rgb.shape[:2]
    longer = max(height, width)
    out = np.zeros((side, side, 3))
    for j in range(side):
        for i in range(side):
            x = round(32 * ((width - longer) / 2 + i * longer / side)) / 32
            y = round(32 * ((height - longer) / 2 + j * longer / side)) / 32
            value = np.zeros(3)
            for row in (math.floor(y), math.floor(y) + 1):
                for column in (math.floor(x), math.floor(x) + 1):
                    if 0 <= row < height and 0 <= column < width:
                        value += max(0, 1 - abs(x - column)) * max(0, 1 - abs(y - row)) * rgb[row, column]
            out[j, i] = np.floor(value + 0.5) / 127.5 - 1
    return out


def decoded(boxes: Floats, logits: Floats, threshold: float) -> list[list[float]]:
    """Boxes, points and scores of the anchors that are sure enough: 48 x 48 of them, in a 192-pixel input."""
    found = []
    for row, (box, logit) in enumerate(zip(boxes.tolist(), logits.tolist(), strict=True)):
        score = 1 / (1 + math.exp(-min(max(logit, -100), 100)))
        if score < threshold or box[2] < 0 or box[3] < 0:
            continue
        x, y = (row % 48 + 0.5) * 4, (row // 48 + 0.5) * 4
        middle_x, middle_y, wide, high = x + box[0], y + box[1], box[2], box[3]
        points = [value + (x, y)[k % 2] for k, value in enumerate(box[4:])]
        corners = [middle_x - wide / 2, middle_y - high / 2, middle_x + wide / 2, middle_y + high / 2]
        found.append([*corners, *points, score])
    return found


def iou(a: list[float], b: list[float]) -> float:
    """Of two boxes; 0 without an area."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(wide, 0.0) * max(high, 0.0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / union if union > 0 else 0.0


def together(found: list[list[float]]) -> list[list[float]]:
    """Weighted suppression: the surest of what is left takes all that it overlaps, and is their mean by score."""
    left = sorted(found, key=lambda one: -one[-1])
    faces = []
    while left:
        best = left[0]
        same = [one for one in left if iou(one, best) > 0.3]
        left = [one for one in left[1:] if one not in same]
        weights = [one[-1] for one in same]
        mean = np.average([one[:-1] for one in same], axis=0, weights=weights).tolist() if same else best[:-1]
        faces.append([*mean, best[-1]])
    return faces


def cut(layer: Floats, place: Floats, side: int) -> Floats:
    """A crop of a layer by an affine map between the middles of their pixels; 0 where it has to reach outside."""
    height, width, channels = layer.shape
    out = np.zeros((side, side, channels))
    for j in range(side):
        for i in range(side):
            x, y = place @ (i + 0.5, j + 0.5, 1) - 0.5
            if 0 <= x <= width - 1 and 0 <= y <= height - 1:
                for row in range(height):
                    for column in range(width):
                        out[j, i] += max(0, 1 - abs(x - column)) * max(0, 1 - abs(y - row)) * layer[row, column]
    return out


def crop_map(points: Floats, level: Floats, reach: float) -> Floats:
    """The map (2, 3) from a crop of 16 pixels to the layer, of which a pixel has four of the input's."""
    angle = math.atan2(level[1], level[0])
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    straight = points @ turn / 4
    low, high = straight.min(axis=0), straight.max(axis=0)
    linear = turn * (reach * (high - low) / 16)
    middle = turn @ ((low + high) / 2)
    return np.concatenate([linear, (middle - linear @ (8, 8))[:, None]], axis=1)


def along(line: Floats, t: Floats) -> Floats:
    """Points at shares of the length of a polyline, the length measured in its first two coordinates."""
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line[:, :2], axis=0).T))])
    return np.stack([np.interp(t * length[-1], length, axis) for axis in line.T], axis=1)
