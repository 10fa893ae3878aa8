"""Photographs whose heads are redacted without a face: softly, and in the ways that it is compared with.

All kinds have the soft redaction's outline and feather, so that what they show of the surroundings is the same to the
pixel, and only what they put inside differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import cv2
import numpy as np

from streamdeid.aam.photographs import Photograph
from streamdeid.core.arrays import Picture, Points
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Planes
from streamdeid.lab.picture_attacks.picture_sets import PictureSet, originals
from streamdeid.lab.published_pictures import even_planes, whole_rgb
from streamdeid.protect.soft_redaction import Head, SoftMemory, head_of, soft_redaction
from streamdeid.render.masks import blur, pixelate

SOFT, RIM = "soft redaction", "soft redaction without its tone"
SOLID = "solid, the same outline"
BLUR, PIXELS, COLOURS = "blur", "pixels of an eighth of the width", "own 4 x 4 colours"
FILLED = "solid, filled by the attacker from its rim"
KINDS = (BLUR, PIXELS, COLOURS, SOFT, RIM, SOLID, FILLED)
"""The last two are the controls: what the surroundings alone tell, as they are, and prepared for a learner."""
_GREY = 128
_TRACE = 0.1
"""Least share of the original in a mixture from which it is taken out again."""
_COLOURS = 4
_BLOCKS = 8


def redacted_heads(photographs: Sequence[Photograph], kind: str) -> PictureSet:
    """The photographs with the head redacted in one of the `KINDS`."""
    pictures = tuple(whole_rgb(_REDACTED[kind](even_planes(p.image), head_in(p))) for p in photographs)
    return replace(originals(photographs, kind), pictures=pictures)


def heads_alone(given: PictureSet) -> PictureSet:
    """The redacted heads without their surroundings: everything beside the ellipse is grey."""
    pictures = []
    for picture, source in zip(given.pictures, given.sources, strict=True):
        alone = picture.copy()
        alone[_radii(head_in(source), picture) > 1] = _GREY
        pictures.append(alone)
    return replace(given, name=f"{given.name}, alone", pictures=tuple(pictures))


def head_in(photograph: Photograph) -> Head:
    """The ellipse about the head of a photograph."""
    height, width = photograph.image.shape[:2]
    return head_of(photograph.face.box, photograph.sample.points, (width & ~1, height & ~1))


def head_chip(picture: Picture, head: Head, reach: float, side: int) -> Points:
    """What lies within `reach` half axes of an upright head, reduced to float64 (side * side * 3,)."""
    fine = 4 * side
    scale = fine / (2 * reach * head.down)
    c, s = np.cos(head.angle) * scale, np.sin(head.angle) * scale
    linear = np.array([[c, s], [-s, c]])
    shift = fine / 2 - 0.5 - linear @ (head.x, head.y)
    matrix = np.column_stack([linear, shift])
    border = cv2.BORDER_CONSTANT
    chip = cv2.warpAffine(
        picture, matrix, (fine, fine), flags=cv2.INTER_LINEAR, borderMode=border, borderValue=(128.0,) * 3
    )
    small = cv2.resize(chip, (side, side), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.float64).ravel()


def _soft(tone: bool) -> Callable[[Planes, Head], Planes]:
    def redact(planes: Planes, head: Head) -> Planes:
        out = planes.copy()
        soft_redaction(out, planes, head, SoftMemory(), tone=tone)
        return out

    return redact


def _mixed(change: Callable[[Planes, Head], Planes]) -> Callable[[Planes, Head], Planes]:
    """A kind that puts a changed picture inside the outline."""

    def redact(planes: Planes, head: Head) -> Planes:
        inside = change(planes, head)
        out = planes.copy()
        for old, new, plane, step in (
            (planes.y, inside.y, out.y, 1.0),
            (planes.u, inside.u, out.u, 2.0),
            (planes.v, inside.v, out.v, 2.0),
        ):
            rows, columns = np.mgrid[0 : plane.shape[0], 0 : plane.shape[1]]
            weight = head.weights(step * columns + (step - 1) / 2, step * rows + (step - 1) / 2)
            plane[:] = np.clip(weight * new + (1 - weight) * old + 0.5, 0, 255)
        return out

    return redact


def _grey(planes: Planes, head: Head) -> Planes:
    y, u, v = (np.full_like(plane, _GREY) for plane in (planes.y, planes.u, planes.v))
    return Planes(y, u, v, planes.colour)


def _filled(planes: Planes, head: Head) -> Planes:
    """What an attacker makes of the solid kind: the grey taken out where the rim shows through, and the inside filled
    from there. Only published pixels enter."""
    published = even_planes(whole_rgb(_solid(planes, head)))
    recovered = published.copy()
    for plane, step in ((recovered.y, 1.0), (recovered.u, 2.0), (recovered.v, 2.0)):
        rows, columns = np.mgrid[0 : plane.shape[0], 0 : plane.shape[1]]
        weight = head.weights(step * columns + (step - 1) / 2, step * rows + (step - 1) / 2)
        shown = np.maximum(1 - weight, _TRACE)
        plane[:] = np.clip((plane - (1 - shown) * _GREY) / shown + 0.5, 0, 255)
    out = recovered.copy()
    soft_redaction(out, recovered, head, SoftMemory(), tone=False)
    return out


def _box(head: Head) -> tuple[float, float, float, float]:
    """The box about an upright head and its rim."""
    across, down = head.reach * head.across, head.reach * head.down
    return head.x - across, head.y - down, head.x + across, head.y + down


def _own_colours(planes: Planes, head: Head) -> Planes:
    """The ellipse's box reduced to 4 x 4 colours, softly enlarged."""
    rgb = whole_rgb(planes)
    x0, y0 = max(0, round(head.x - head.across)), max(0, round(head.y - head.down))
    x1, y1 = min(rgb.shape[1], round(head.x + head.across)), min(rgb.shape[0], round(head.y + head.down))
    small = cv2.resize(rgb[y0:y1, x0:x1], (_COLOURS, _COLOURS), interpolation=cv2.INTER_AREA)
    wide, high = x1 - x0, y1 - y0
    # Beyond the box its outermost colours go on.
    columns, rows = np.meshgrid(np.arange(rgb.shape[1]), np.arange(rgb.shape[0]))
    u = (columns - x0 + 0.5) * _COLOURS / wide - 0.5
    v = (rows - y0 + 0.5) * _COLOURS / high - 0.5
    large = cv2.remap(
        small, u.astype(np.float32), v.astype(np.float32), cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return planes_from_rgb(np.asarray(large, np.uint8), planes.colour)


def _radii(head: Head, picture: Picture) -> Points:
    rows, columns = np.mgrid[0 : picture.shape[0], 0 : picture.shape[1]]
    return head.radii(columns, rows)


_solid = _mixed(_grey)
_REDACTED: dict[str, Callable[[Planes, Head], Planes]] = {
    BLUR: _mixed(lambda planes, head: blur(planes, _box(head))),
    PIXELS: _mixed(lambda planes, head: pixelate(planes, _box(head), round(2 * head.across / _BLOCKS))),
    COLOURS: _mixed(_own_colours),
    SOFT: _soft(True),
    RIM: _soft(False),
    SOLID: _solid,
    FILLED: _filled,
}
