"""Eyes with irises in the surrogate's colours, at the original's place between the surrogate's lids (methods.md 4.5 a).

Irises are browner under dark hair. No pixel of the original's eye is used. Everything is rendered at the resolution of
the picture, so eyes stay sharp: a ball shaded by the upper lid, an iris with a soft limbus, the reflection of the
light, lashes and the fold of the lid. Lines that are finer than a pixel take less light instead of growing thicker.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.kernel_cache import kernel

_IRIS = 0.95
"""Rendered radius over the given one, which is the model's. The landmarker reads the gaze's height from how much of an
iris the lids leave visible, and their opening from how much of it they cut off: a smaller iris shows more of the first
and less of the second. Chosen on expressions_gaze with four surrogates: at 0.82 the correlation of the opening falls
from .96 to .93."""
_PUPIL = 0.42
"""Pupil's radius over the iris's."""
_LASH = 0.55
"""Share of the light that the line of the upper lashes takes."""
_OUTSIDE = 0.7
"""How far outside the opening the middle of that line lies, in its thickness. In a face of 100 pixels the line is two
pixels wide, of six that the eye is open; nearer to the opening (0.4) it hid a third of the iris."""
_LID_SHADE = 0.3
"""Share of the light that the upper lid's shadow takes from the ball at its edge. With .45 the upper half of narrow
eyes was as dark as lashes (speech_1, speech_3)."""
_GLINT, _BRIGHTEST = 1.6, 245.0
"""Luma of the light's reflection over the sclera's, and its largest value: the reflection is part of the scene, and
dark in a dark one."""
_ABOVE = np.array([-0.58, -0.81])
"""Direction of the light where it is not known."""

_WHITE, _WHITEST = 1.12, 1.02
"""Brightness of the sclera over that of the face: that of a fair donor, and the largest one that is rendered. Dark
donors have 1.65. People of ten clips have .42 to .68 of the cheeks' brightness between their lids; with 1.15 new faces
had .48 to .76 there, and whites glared."""
_RELIT = 1.15
"""Largest factor by which an iris is brightened together with a white that is too dark."""
_VIVID, _DARKER, _WARMTH = 1.25, 0.8, 0.15
"""Saturation and brightness of an iris over those of the mean of donors; share of the skin's hue in the sclera's."""
_PALEST = 0.42
"""Largest brightness of an iris over that of the face. Pale irises, one in ten, stare under dark hair, and the
landmarker reads less of their gaze and opening."""
_BROWN = np.array([0.32, 0.27, 0.22], np.float32)
"""Colour of brown irises over the brightness of the face, RGB. They are as bright as those of a quarter of London's 32
donors who are not fair-skinned, and have the hue of the brownest tenth, since decoded irises are paler and greyer than
any donor's. Of its 19 donors with the darkest hair one in ten has eyes that are bluer than red by a tenth, of the
others one in four."""
_BROWNER = 0.85
"""Largest share of the way to brown irises: irises stay different."""
_LASHES = 0.5
"""Brightness of the line of a closed eye over that of the lids, whose hue it has."""
_RIM, _SHINE = (11, 23), 0.95
"""Widths of an eye's rim and of the skin about it, in pixels of the model's frame, 200 wide, and the largest brightness
of the rim over the skin's."""


@dataclass(frozen=True)
class EyeColours:
    """The colours of one eye, each float32 (3,): RGB in the model's frame, and YUV in a picture."""

    sclera: Pixels
    iris: Pixels
    pupil: Pixels


def eye_colours(picture: Pixels, eye: Points, iris: Points, skin: Pixels) -> EyeColours:
    """The colours of an eye in an RGB texture picture (h, w, 3), from its lids (6, 2) and iris (centre x, y, radius).

    skin (3,): the median of the picture.
    """
    x, y, radius = (float(v) for v in iris)
    (left, top), (right, bottom) = eye.min(axis=0), eye.max(axis=0)
    about = _about(picture, eye, 1)
    rows, columns = np.mgrid[about]
    picture = picture[about]
    distance = np.hypot(columns - x, rows - y)
    inside = (columns > left) & (columns < right) & (rows > top) & (rows < bottom)
    ring = picture[inside & (distance > 0.5 * radius) & (distance < 0.85 * radius)]
    white = picture[inside & (distance > 1.15 * radius) & (np.abs(rows - y) < 0.6 * radius)]
    middle = picture[inside & (distance < 0.4 * radius)]
    bright = white.sum(axis=1)
    white_colour = np.median(white[bright >= np.percentile(bright, 60)], axis=0).astype(np.float32)
    # The eyes of dark donors were brought to a mean skin's tone with the skin, which makes whites glare and brown eyes
    # blue. The iris is changed by the same factor that makes the white beside it a usual one.
    warm = 1 + _WARMTH * (skin / max(float(skin.mean()), 1.0) - 1)
    usual = _WHITE * float(skin.mean()) * warm
    iris_colour = np.median(ring, axis=0) * np.minimum(usual / np.maximum(white_colour, 1), _RELIT)
    # A mean of many eyes is greyer and lighter than any of them.
    grey = iris_colour.mean()
    iris_colour = np.maximum(_DARKER * (grey + _VIVID * (iris_colour - grey)), 5).astype(np.float32)
    iris_colour *= min(1.0, _PALEST * float(skin.mean()) / float(iris_colour.mean()))
    # Shadows and sky in the donors' eyes are not the eyes' own colour: a sclera is a pale, warm grey.
    white_colour = white_colour.mean() * warm
    white_colour = np.maximum(white_colour, iris_colour + 25)
    # Without this limit the eyes of dark donors, brought to a mean tone, would glare.
    most = _WHITEST * float(skin.mean())
    white_colour = (white_colour * min(1.0, most / float(white_colour.mean()))).astype(np.float32)
    pupil = np.minimum(np.median(middle, axis=0).min(), 0.55 * iris_colour.mean())
    return EyeColours(white_colour, iris_colour, np.full(3, pupil, np.float32))


def browner(own: EyeColours, share: float) -> EyeColours:
    """The eyes with irises nearer to brown ones, but no brighter than before.

    share: 0 leaves the irises as they are, 1 brings them as near to brown as is allowed. The whites tell how bright the
    face is.
    """
    brown = _BROWN * np.float32(own.sclera.mean() / _WHITE)
    brown = brown * np.float32(min(1.0, float(own.iris.mean() / brown.mean())))
    iris = own.iris + np.float32(_BROWNER * share) * (brown - own.iris)
    return EyeColours(own.sclera, iris, np.minimum(own.pupil, np.float32(0.55) * iris.mean()))


def alike(left: EyeColours, right: EyeColours) -> tuple[EyeColours, EyeColours]:
    """Both eyes of a face in their mean colours: light differs from side to side, irises do not."""
    half = np.float32(0.5)
    both = EyeColours(
        half * (left.sclera + right.sclera), half * (left.iris + right.iris), np.minimum(left.pupil, right.pupil)
    )
    return both, both


def shut(picture: Pixels, eye: Points) -> None:
    """Paint the opening of an eye, lids (6, 2), in an RGB texture picture (h, w, 3) in the colour of lashes, in place.

    An open eye is rendered over it. Of a closed eye this line is left, and not a strip of squeezed sclera.
    """
    about = _about(picture, eye, 2 * _RIM[1])
    picture, eye = picture[about], eye - (about[1].start, about[0].start)
    inside = np.zeros(picture.shape[:2], np.uint8)
    cv2.fillPoly(inside, [np.round(eye * 16).astype(np.int32)], (1,), cv2.LINE_8, 4)
    around = np.greater(cv2.dilate(inside, np.ones((7, 7), np.uint8)), cv2.dilate(inside, np.ones((3, 3), np.uint8)))
    skin = np.median(picture[around], axis=0)
    lashes = np.maximum(skin - (1 - _LASHES) * skin.mean(), 0)  # dark, and of the skin's hue
    _dull(picture, inside)
    soft = cv2.GaussianBlur(inside.astype(np.float32), (0, 0), 0.8)[:, :, None]
    picture += soft * (lashes - picture)


def _about(picture: Pixels, points: Points, margin: int) -> tuple[slice, slice]:
    """The rows and columns of a picture (h, w, 3) about points (n, 2), with `margin` pixels around them."""
    (left, top), (right, bottom) = np.floor(points.min(axis=0)), np.ceil(points.max(axis=0))
    rows = slice(max(0, int(top) - margin), min(picture.shape[0], int(bottom) + margin + 1))
    return rows, slice(max(0, int(left) - margin), min(picture.shape[1], int(right) + margin + 1))


def _dull(picture: Pixels, inside: NDArray[np.uint8]) -> None:
    """Darken the shiny rim of the lids about an opening, uint8 (h, w), of an RGB picture (h, w, 3), in place.

    Where donors' eyes are wider open than the surrogate's, this rim is a white line under the new eye.
    """
    near, far = (cv2.dilate(inside, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (d, d))) for d in _RIM)
    skin = np.median(picture[np.greater(far, near)], axis=0)
    level = picture.mean(axis=2) / max(float(skin.mean()), 1.0)
    less = np.minimum(1, _SHINE / np.maximum(level, 1e-3))
    soft = cv2.GaussianBlur(near.astype(np.float32), (0, 0), 1.0)
    picture *= (1 + soft * (less - 1))[:, :, None]


def narrowed(yaw: float) -> float:
    """The width of an iris over its height in a head turned by `yaw` radians; never narrower than at 60 degrees."""
    return max(0.5, float(np.cos(yaw)))


def render_eye(
    patch: Patch,
    lids: Points,
    centre: Points,
    radius: float,
    colours: EyeColours,
    squash: float = 1.0,
    towards: Points | None = None,
) -> None:
    """Render an eye into a patch: lid points (6, 2) and iris centre (2,) in pixels of the picture, radius in pixels.

    squash: width of the iris over its height, less than 1 in a turned head. towards (2,): unit vector in the picture to
    where the light comes from; if not given, from above and a little from the left. An eye less open than a twentieth
    of its width is a line of lashes and nothing else; from an eighth on it is whole.
    """
    palette = np.stack([colours.sclera, colours.iris, colours.pupil]).astype(np.float32)
    origin, radius = np.array([patch.x0, patch.y0], np.float64), _IRIS * radius
    light = _ABOVE if towards is None else np.asarray(towards, np.float64)
    glint = np.full(3, 128, np.float32)
    glint[0] = min(_BRIGHTEST, max(_GLINT * palette[0, 0], palette[0, 0] + 25))
    _render(patch.y[:, :, None], lids - origin, centre - origin, radius, squash, light, palette[:, :1], glint[:1], 1.0)
    halved, middle = (lids - origin - 0.5) / 2, (centre - origin - 0.5) / 2
    _render(patch.uv, halved, middle, radius / 2, squash, light, palette[:, 1:], glint[1:], 0.5)


@kernel
def _step(x):  # type: ignore[no-untyped-def]
    """A smooth step: 0 below 0, 1 above 1."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3 - 2 * x)


@kernel
def _curve(u, v, a, b, out):  # type: ignore[no-untyped-def]
    """Heights (n,) along a lid: (t (1 - t))^0.7 (p + q t) through its two points.

    The curve is zero at both corners, and steep enough there not to hide an iris that looks sideways. Where an eye is
    seen edge on, its points lie beside its corners, and the curve would shoot far beyond them. So it stays within one
    and a half of their heights.
    """
    ga = v[a] / max(u[a] * (1 - u[a]), 0.04) ** 0.7
    gb = v[b] / max(u[b] * (1 - u[b]), 0.04) ** 0.7
    q = (gb - ga) / max(u[b] - u[a], 0.05)
    most = 1.5 * max(abs(v[a]), abs(v[b]))
    for i in range(len(out)):
        t = i / (len(out) - 1)
        out[i] = min(max((t * (1 - t)) ** 0.7 * (ga + q * (t - u[a])), -most), most)


@kernel
def _render(out, lids, centre, radius, squash, light, palette, glint_colour, unit):  # type: ignore[no-untyped-def]
    """Render into planes (h, w, c): only luma is shaded and has lashes. unit: pixels of this plane for one of luma."""
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
        v[i] = py * dx - px * dy
    upper, lower = np.empty(65), np.empty(65)
    _curve(u, v, 1, 2, upper)
    _curve(u, v, 5, 4, lower)
    opening = max(0.5 * (v[4] + v[5] - v[1] - v[2]), 0.0) / length
    awake = _step((opening - 0.05) / 0.075)
    soft = max(1.0, 0.02 * length)
    thick = max(0.025 * length, 0.8 * unit)
    fine = min(1.0, 0.03 * length / thick)  # lines thinner than a pixel take less light
    across, down = (centre[0] - ax) * dx + (centre[1] - ay) * dy, (centre[1] - ay) * dx - (centre[0] - ax) * dy
    lx, ly = light[0] * dx + light[1] * dy, light[1] * dx - light[0] * dy
    edge = max(1.5 * unit / radius, 0.2)
    size = max(0.13 * radius, 0.6 * unit)
    strength = 0.85 * min(1.0, 0.2 * radius / size)
    gx, gy = across + 0.4 * radius * squash * lx, down + 0.4 * radius * ly
    depth = max(0.6 * opening * length, 1.5 * unit)
    low, high = 0.0, 0.0
    for i in range(65):
        low, high = min(low, upper[i], lower[i]), max(high, upper[i], lower[i])
    low, high = low - 0.5 * depth - 2 * thick - soft, high + 2 * thick + soft  # fold and lashes lie beyond lids
    x0, x1, y0, y1 = width - 1.0, 0.0, height - 1.0, 0.0
    for corner in range(4):
        t, h = length * (corner & 1), high if corner > 1 else low
        x, y = ax + t * dx - h * dy, ay + t * dy + h * dx
        x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y)
    for y in range(max(0, int(y0)), min(height, int(y1) + 2)):
        for x in range(max(0, int(x0)), min(width, int(x1) + 2)):
            px, py = x - ax, y - ay
            along = px * dx + py * dy
            t = along / length
            if t <= 0 or t >= 1:
                continue
            h = py * dx - px * dy
            k = int(64 * t)
            f = 64 * t - k
            top, bottom = upper[k] + f * (upper[k + 1] - upper[k]), lower[k] + f * (lower[k + 1] - lower[k])
            alpha = awake * min(max(min(h - top, bottom - h) / soft + 0.5, 0.0), 1.0)
            if alpha > 0:
                rx, ry = (along - across) / (radius * squash), (h - down) / radius
                r = np.sqrt(rx * rx + ry * ry)
                white = _step((r - 1) / edge + 0.5)
                dark = _step((_PUPIL - r) / max(0.8 * edge, 0.15) + 0.5)
                sx, sy = (along - gx) / size, (h - gy) / size
                glint = strength * np.exp(-0.5 * (sx * sx + sy * sy)) * (1 - white)
                shade = 1 - _LID_SHADE * (1 - min(max((h - top) / depth, 0.0), 1.0)) ** 2
                ball = 4 * (t - 0.5) * (t - 0.5)
                rim = min(max((r - 0.5) / 0.5, 0.0), 1.0)
                glow = 1.1 - 0.4 * rim * rim - 0.25 * min(max((rx * lx + ry * ly), -1.0), 1.0)
                for c in range(channels):
                    sclera, iris, pupil = palette[0, c], palette[1, c], palette[2, c]
                    if channels == 1:
                        iris = iris * glow
                        sclera = sclera * (1 - 0.25 * ball) * (1 - 0.12 * _step(2 - r))
                    value = iris + dark * (pupil - iris)
                    value = value + white * (sclera - value)
                    if channels == 1:
                        value = value * shade
                    value = value + glint * (glint_colour[c] - value)
                    out[y, x, c] += alpha * (value - out[y, x, c])
            if channels == 1:
                lid = bottom + awake * (top - bottom)  # the lashes of a closing eye come down to the lower lid
                ends = min(1.0, 5 * min(t, 1 - t))
                lash = (
                    _LASH * fine * ends * _step(1.25 - abs(h - lid + _OUTSIDE * thick) / (thick * (0.6 + 0.4 * ends)))
                )
                below = 0.15 * fine * awake * ends * _step(1.5 - abs(h - bottom - 0.3 * thick) / thick)
                fold = 0.1 * fine * awake * ends * _step(1 - abs(h - top + 0.5 * depth) / max(thick, unit))
                out[y, x, 0] *= (1 - lash) * (1 - below) * (1 - fold)
