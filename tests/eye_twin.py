"""One pixel of a drawn eye, from the definitions: the slow twin of the kernel in `render.eyes`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from streamdeid.core.arrays import Floats
from streamdeid.render.eyes import EyeColours
from tests.soft_twin import smooth_step


def lid_height(t: float, first: complex, second: complex) -> float:
    """Height at a share t of the way from corner to corner, over the eye's width, of the lid through two points: the
    power curve (t (1 - t))^0.7 (p + q t), p and q solved for."""
    shapes = [max(point.real * (1 - point.real), 0.04) ** 0.7 for point in (first, second)]
    system = np.array([[1.0, point.real] for point in (first, second)])
    p, q = np.linalg.solve(system, [point.imag / shape for point, shape in zip((first, second), shapes, strict=True)])
    return float((t * (1 - t)) ** 0.7 * (p + q * t))


def eye_twin(
    luma: float,
    chroma: tuple[float, float],
    lids: Floats,
    centre: Floats,
    radius: float,
    colours: EyeColours,
    squash: float,
    towards: Floats,
) -> Callable[[int, int], tuple[float, list[float]]]:
    """Luma at a pixel (x, y), and chroma of the pixel (x / 2, y / 2), of an eye drawn on plain skin."""
    corner = complex(*lids[0])
    across = complex(*lids[3]) - corner
    points = [(complex(*lid) - corner) / across for lid in lids]  # the corners lie at 0 and 1
    opening = (points[4] + points[5] - points[1] - points[2]).imag / 2
    awake = smooth_step((opening - 0.05) / 0.075)
    length, eye, light = abs(across), complex(*centre), complex(*towards)
    level = across / length

    def ball(place: complex, blur: float, channel: int) -> tuple[float, float]:
        """Value and opacity at a place between the corners; blur: luma pixels to a pixel of the plane."""
        t, h = ((place - corner) / across).real, ((place - corner) / across).imag * length
        top, bottom = length * lid_height(t, points[1], points[2]), length * lid_height(t, points[5], points[4])
        r_drawn = 0.95 * radius
        offset, sun = (place - eye) / level, light / level
        x, y = offset.real / (r_drawn * squash), offset.imag / r_drawn
        r = math.hypot(x, y)
        alpha = awake * min(max(min(h - top, bottom - h) / max(blur, 0.02 * length) + 0.5, 0), 1)
        edge = max(1.5 / r_drawn, 0.2)
        white = smooth_step((r - 1) / edge + 0.5)
        dark = smooth_step((0.42 - r) / max(0.8 * edge, 0.15) + 0.5)
        size = max(0.13 * r_drawn, 0.6)
        spot = complex(0.4 * r_drawn * squash * sun.real, 0.4 * r_drawn * sun.imag)
        glint = 0.85 * min(1, 0.2 * r_drawn / size) * math.exp(-0.5 * abs((offset - spot) / size) ** 2) * (1 - white)
        sclera, iris, pupil = (float(colour[channel]) for colour in (colours.sclera, colours.iris, colours.pupil))
        shade, gleam = 1.0, 128.0
        if channel == 0:
            rim = min(max(2 * r - 1, 0), 1)
            iris *= 1.1 - 0.4 * rim**2 - 0.25 * min(max(x * sun.real + y * sun.imag, -1), 1)
            sclera *= (1 - (2 * t - 1) ** 2 / 4) * (1 - 0.12 * smooth_step(2 - r))
            depth = max(0.6 * max(opening, 0) * length, 1.5)
            shade = 1 - 0.3 * (1 - min(max((h - top) / depth, 0), 1)) ** 2
            gleam = min(245.0, max(1.6 * float(colours.sclera[0]), float(colours.sclera[0]) + 25))
        value = (1 - white) * ((1 - dark) * iris + dark * pupil) + white * sclera
        return (1 - glint) * shade * value + glint * gleam, alpha

    def lines(place: complex) -> float:
        """Share of the light that upper lashes, lower lashes and the fold of the lid leave."""
        t, h = ((place - corner) / across).real, ((place - corner) / across).imag * length
        top, bottom = length * lid_height(t, points[1], points[2]), length * lid_height(t, points[5], points[4])
        thick = max(0.025 * length, 0.8)
        fine, ends = min(1, 0.03 * length / thick), min(1, 5 * t, 5 * (1 - t))
        depth = max(0.6 * max(opening, 0) * length, 1.5)
        lid = awake * top + (1 - awake) * bottom
        upper = 0.55 * fine * ends * smooth_step(1.25 - abs(h - lid + 0.7 * thick) / (thick * (0.6 + 0.4 * ends)))
        lower = 0.15 * fine * awake * ends * smooth_step(1.5 - abs(h - bottom - 0.3 * thick) / thick)
        fold = 0.1 * fine * awake * ends * smooth_step(1 - abs(h - top + 0.5 * depth) / max(thick, 1))
        return (1 - upper) * (1 - lower) * (1 - fold)

    def pixel(x: int, y: int) -> tuple[float, list[float]]:
        results = []
        for channel in range(3):
            under = luma if channel == 0 else chroma[channel - 1]
            place = complex(x, y) if channel == 0 else complex(2 * (x // 2) + 0.5, 2 * (y // 2) + 0.5)
            if 0 < ((place - corner) / across).real < 1:
                value, alpha = ball(place, 1.0 if channel == 0 else 2.0, channel)
                under = ((1 - alpha) * under + alpha * value) * (lines(place) if channel == 0 else 1)
            results.append(under)
        return results[0], results[1:]

    return pixel
