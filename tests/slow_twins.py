"""Slow, obviously right twins of the numba kernels: one pixel at a time, textbook formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats


def barycentric(corners: Floats, place: Floats) -> Floats | None:
    """Weights (3,) of a place (2,) in a triangle (3, 2): solves the definition. None for triangles that are
    degenerate or turned away (on the screen, y down, a visible triangle has a positive area)."""
    (ax, ay), (bx, by), (cx, cy) = corners
    if (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) <= 1e-6:
        return None
    system = np.vstack([corners.T, np.ones(3)])
    weights: Floats = np.linalg.solve(system, np.array([*place, 1.0]))
    return weights


def bilinear(image: NDArray[Any], x: float, y: float) -> Floats:
    """Colour of an image (h, w, c) between its pixels; the border is repeated outside."""
    height, width = image.shape[:2]
    x, y = min(max(x, 0.0), width - 1), min(max(y, 0.0), height - 1)
    colour = np.zeros(image.shape[2])
    for row in range(height):
        for column in range(width):
            share = max(0.0, 1 - abs(x - column)) * max(0.0, 1 - abs(y - row))
            if share > 0:
                colour += share * image[row, column].astype(float)
    return colour


def rasterised(
    points: Floats, triangles: NDArray[Any], size: tuple[int, int]
) -> dict[tuple[int, int], tuple[set[int], Floats]]:
    """For each pixel (row, column) that lies in the mesh: the triangles it lies in, and its weights in the first."""
    width, height = size
    found = {}
    for row in range(height):
        for column in range(width):
            inside: dict[int, Floats] = {}
            for number, triangle in enumerate(triangles):
                weights = barycentric(points[triangle], np.array([column, row], float))
                if weights is not None and (weights >= -1e-9).all():
                    inside[number] = weights
            if inside:
                first = min(inside)
                found[row, column] = set(inside), inside[first]
    return found


def rendered(
    texture: Floats, frame_points: Floats, points: Floats, triangles: NDArray[Any], out: Floats
) -> tuple[Floats, NDArray[Any]]:
    """`out` (h, w, c) with the texture drawn on the mesh, later triangles over earlier ones, and where it was drawn."""
    out = out.astype(float).copy()
    covered = np.zeros(out.shape[:2], np.uint8)
    for triangle in triangles:
        for row in range(out.shape[0]):
            for column in range(out.shape[1]):
                weights = barycentric(points[triangle], np.array([column, row], float))
                if weights is not None and (weights >= -1e-9).all():
                    u, v = weights @ frame_points[triangle]
                    out[row, column] = bilinear(texture, u, v)
                    covered[row, column] = 1
    return out, covered


def triangle_rms(error: Floats, triangle: NDArray[Any], count: int) -> Floats:
    """Root mean square of error (f,) over the pixels of each triangle; 0 for a triangle without pixels."""
    return np.array(
        [np.sqrt(np.mean(error[triangle == t] ** 2)) if (triangle == t).any() else 0.0 for t in range(count)]
    )


def weighted_gradient(jacobian: Floats, error: Floats, triangle: NDArray[Any], weights: Floats) -> Floats:
    """J' W e with the weight of each pixel's triangle."""
    whole: Floats = jacobian.T @ (weights[triangle] * error)
    return whole


def gauss_newton_increment(
    jacobian: Floats, error: Floats, triangle: NDArray[Any], count: int, prior: Floats, standing: Floats
) -> Floats:
    """The parameters' change of one robust step: weighted least squares with a prior, solved as one tall system.

    Triangles are weighted by Cauchy's function of their error over 2.5 times the typical one; the prior draws what
    `standing` plus the change comes to towards zero. The increment is the one that the inverse warp takes back.
    """
    rms = triangle_rms(error, triangle, count)
    weights = 1 / (1 + (rms / (2.5 * np.median(rms))) ** 2)
    root = np.sqrt(weights[triangle])[:, None]
    tall = np.vstack([root * jacobian, np.diag(np.sqrt(prior))])
    wanted = np.concatenate([root[:, 0] * error, -np.sqrt(prior) * standing])
    solution: Floats = np.linalg.lstsq(tall, wanted, rcond=None)[0]
    return solution


def normal_equations(terms: Floats, level: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """A' W A and A' W b, as they are written."""
    return terms.T @ np.diag(weights) @ terms, terms.T @ np.diag(weights) @ level


def robust_fit(
    terms: Floats,
    level: Floats,
    weights: Floats,
    usual: Floats,
    ridge: Floats,
    scale: float,
    rounds: int,
    before: float = -np.inf,
) -> Floats:
    """Reweighted least squares, each round solved as one tall system with the ridge as rows of its own. Weights are
    Geman and McClure's; in the first round Cauchy's, about the weighted median of what the usual coefficients leave
    over, or about where most of it was before, if that is higher; these are squared where it is higher by three scales
    and more. In the end the first coefficient takes the weighted median of what is left."""
    over = level - terms @ usual
    median = weighted_median(over, weights)
    error = over - max(median, before)
    higher = max(before - median, 0) / (3 * scale)
    now = weights / (1 + (error / (3 * scale)) ** 2) ** (1 + min(higher, 1))
    pull = np.diag(np.sqrt(weights.sum() * ridge))
    for _ in range(rounds):
        root = np.sqrt(now)
        tall = np.vstack([root[:, None] * terms, pull])
        found: Floats = np.linalg.lstsq(tall, np.concatenate([root * level, pull @ usual]), rcond=None)[0]
        error = level - terms @ found
        now = weights / (1 + (error / scale) ** 2) ** 2
    found[0] += weighted_median(error, now)
    return found


def weighted_median(values: Floats, weights: Floats) -> float:
    """The least of the values up to which at least half of the weights lie."""
    return min(float(v) for v in values if weights[values <= v].sum() >= weights.sum() / 2)


def lit(picture: Floats, gain: Floats, matrix: Floats, offset: Floats, knee: float) -> Floats:
    """YUV (h, w, 3) of a picture (h, w, 3) under a gain (h, w, 1 or 3). Of a pixel whose largest channel is beyond the
    knee all channels are scaled alike, so that this one comes nearer to 255 and never there."""
    out = np.zeros(picture.shape)
    for y, x in np.ndindex(picture.shape[:2]):
        colour = picture[y, x].astype(float) * gain[y, x].astype(float)
        peak, room = colour.max(), 255 - knee
        if peak > knee:
            over = peak - knee
            colour = colour * (knee + room * over / (over + room)) / peak
        out[y, x] = matrix @ colour + offset
    return out
