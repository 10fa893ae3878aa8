"""Eyes: an iris of the surrogate's colours at the original's iris points, between the surrogate's lids (METHODS 4.5 a).

No pixel of the original's eye is used. Everything is drawn at the resolution of the picture, so eyes stay sharp.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from streamdeid.aam.piecewise_affine import Pixels, Points
from streamdeid.aam.synthesise import Patch
from streamdeid.kernel_cache import kernel

_PUPIL = 0.42
"""Pupil's radius over the iris's."""


_WHITEST = 1.25
"""Brightness of the sclera over that of the face, at most."""
_LASHES = 0.5
"""Brightness of the line of a closed eye over that of the lids."""


@dataclass(frozen=True)
class EyeColours:
    """Colours of one eye, each float32 (3,), RGB in the model's frame and YUV in a picture."""

    sclera: Pixels
    iris: Pixels
    pupil: Pixels


def eye_colours(picture: Pixels, eye: Points, iris: Points) -> EyeColours:
    """Colours of an eye in an RGB texture picture (h, w, 3), from its lids (6, 2) and iris (centre x, y, radius)."""
    x, y, radius = (float(v) for v in iris)
    rows, columns = np.mgrid[0 : picture.shape[0], 0 : picture.shape[1]]
    distance = np.hypot(columns - x, rows - y)
    (left, _), (right, _) = eye.min(axis=0), eye.max(axis=0)
    top, bottom = eye[:, 1].min(), eye[:, 1].max()
    inside = (columns > left) & (columns < right) & (rows > top) & (rows < bottom)
    ring = picture[inside & (distance > 0.5 * radius) & (distance < 0.85 * radius)]
    white = picture[inside & (distance > 1.15 * radius) & (np.abs(rows - y) < 0.6 * radius)]
    middle = picture[inside & (distance < 0.4 * radius)]
    iris_colour = np.median(ring, axis=0).astype(np.float32)
    bright = white.sum(axis=1)
    white_colour = np.median(white[bright >= np.percentile(bright, 60)], axis=0).astype(np.float32)
    white_colour = np.maximum(white_colour, iris_colour + 25)
    # The eyes of dark donors, brought to a mean tone, would glare.
    most = _WHITEST * float(np.median(picture, axis=(0, 1)).mean())
    white_colour = (white_colour * min(1.0, most / float(white_colour.mean()))).astype(np.float32)
    pupil = np.minimum(np.median(middle, axis=0).min(), 0.55 * iris_colour.mean())
    return EyeColours(white_colour, iris_colour, np.full(3, pupil, np.float32))


def shut(picture: Pixels, eye: Points) -> None:
    """Paint the opening of an eye, lids (6, 2), in an RGB texture picture (h, w, 3) in the colour of lashes, in place.

    An open eye is drawn over it; of a closed one this line is left, and not a strip of squeezed sclera.
    """
    inside = np.zeros(picture.shape[:2], np.uint8)
    cv2.fillPoly(inside, [np.round(eye * 16).astype(np.int32)], (1,), cv2.LINE_8, 4)
    around = np.greater(cv2.dilate(inside, np.ones((7, 7), np.uint8)), cv2.dilate(inside, np.ones((3, 3), np.uint8)))
    lashes = _LASHES * np.median(picture[around], axis=0)
    soft = cv2.GaussianBlur(inside.astype(np.float32), (0, 0), 0.8)[:, :, None]
    picture += soft * (lashes - picture)


def draw_eye(patch: Patch, lids: Points, centre: Points, radius: float, colours: EyeColours) -> None:
    """Draw an eye into a patch: lid points (6, 2) and iris centre (2,) in pixels of the picture, radius in pixels."""
    palette = np.stack([colours.sclera, colours.iris, colours.pupil]).astype(np.float32)
    origin = np.array([patch.x0, patch.y0], np.float64)
    _draw(patch.y[:, :, None], lids - origin, centre - origin, radius, palette[:, :1], 0.7)
    _draw(patch.uv, (lids - origin - 0.5) / 2, (centre - origin - 0.5) / 2, radius / 2, palette[:, 1:], 0.7)


@kernel
def _lid(u, ua, ha, ub, hb):  # type: ignore[no-untyped-def]
    """Height at u of the curve (u (1 - u))^0.7 (p + q u) through two lid points: zero at both corners, and steep
    enough there to leave an iris that looks sideways in the open."""
    ga = ha / max(ua * (1 - ua), 0.04) ** 0.7
    gb = hb / max(ub * (1 - ub), 0.04) ** 0.7
    q = (gb - ga) / max(ub - ua, 0.05)
    return (u * (1 - u)) ** 0.7 * (ga + q * (u - ua))


@kernel
def _draw(out, lids, centre, radius, palette, soft):  # type: ignore[no-untyped-def]
    height, width, channels = out.shape
    ax, ay = lids[0]
    dx, dy = lids[3, 0] - ax, lids[3, 1] - ay
    length = np.sqrt(dx * dx + dy * dy)
    if length < 2:
        return
    dx, dy = dx / length, dy / length
    u = np.empty(6)
    v = np.empty(6)
    for i in range(6):
        px, py = lids[i, 0] - ax, lids[i, 1] - ay
        u[i] = (px * dx + py * dy) / length
        v[i] = (py * dx - px * dy) / length
    opening = max(0.5 * (v[4] + v[5] - v[1] - v[2]), 1e-3)
    reach = 0.6 * length
    mx, my = ax + 0.5 * dx * length, ay + 0.5 * dy * length
    for y in range(max(0, int(my - reach)), min(height, int(my + reach) + 2)):
        for x in range(max(0, int(mx - reach)), min(width, int(mx + reach) + 2)):
            px, py = x - ax, y - ay
            t = (px * dx + py * dy) / length
            if t <= 0 or t >= 1:
                continue
            h = (py * dx - px * dy) / length
            upper = _lid(t, u[1], v[1], u[2], v[2])
            lower = _lid(t, u[5], v[5], u[4], v[4])
            inner = min(h - upper, lower - h) * length  # pixels inside the opening
            alpha = min(max(inner / soft * 0.5 + 0.25, 0.0), 1.0)
            if alpha <= 0:
                continue
            rx, ry = (x - centre[0]) / radius, (y - centre[1]) / radius
            r = np.sqrt(rx * rx + ry * ry)
            edge = max(1.2 / radius, 0.12)
            white = min(max((r - 1.0) / edge + 0.5, 0.0), 1.0)
            dark = min(max((_PUPIL - r) / edge + 0.5, 0.0), 1.0)
            limbus = max(0.0, 1 - abs(r - 0.92) / 0.2) * 0.35
            fleck = 0.9 + 0.25 * min(max((r - 0.35) / 0.45, 0.0), 1.0) * (0.6 + 0.4 * ry)
            shade = 0.55 + 0.45 * min(max((h - upper) / max(0.45 * opening, 0.03), 0.0), 1.0)
            corner = 1 - 0.22 * (2 * abs(t - 0.5)) ** 3
            glint = (
                max(0.0, 1 - np.sqrt((rx + 0.28) ** 2 + (ry + 0.36) ** 2) / max(0.16, 0.7 / radius)) if r < 1 else 0.0
            )
            for c in range(channels):
                sclera, iris, pupil = palette[0, c], palette[1, c], palette[2, c]
                if channels == 1:
                    iris = iris * fleck * (1 - limbus)
                    sclera = sclera * corner
                value = iris * (1 - dark) + pupil * dark
                value = value * (1 - white) + sclera * white
                if channels == 1:
                    value = value * shade
                    value = value + (max(sclera * 1.25, 150.0) - value) * min(glint * 0.9, 1.0)
                elif glint > 0:
                    value = value + (128 - value) * glint
                out[y, x, c] = out[y, x, c] * (1 - alpha) + value * alpha
