"""One head has one face: a detection on the hair, neck or ear of a head whose face is known is no further face.

`detection.matching` uses this for two faces that are seen, `tracking.lookahead` for a lost one.

In a tile, hair or a collar can look like a faint face of its own; its redaction would wipe out the hair beside a new
face. Boxes alone do not distinguish it from a neighbour. The head does: an ellipse of 1.8 widths of the face about a
face that two networks agree on. Another person's face in the ellipse has points of its own, beside those of the first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Floats

_ACROSS, _DOWN, _RAISED = 0.9, 1.0, 0.1
"""Half axes of the ellipse about a head, and how far its middle lies above the face's middle: the first in widths of
the face, the others in heights. Hair stands out from a face by 0.2 to 0.4 of its width on either side; a collar begins
at 0.1 below the chin."""
_LARGER = 1.8
"""Sides of a box over those of the face from which it may be somebody nearer to the camera instead."""
_LARGEST = 4.0
"""The same for a box whose middle lies in the face itself: a person in front of the face would hide it."""
_INSIDE = 0.1
"""Share of a face's height by which it may reach beyond a box that holds it."""
_SAME, _BESIDE = 0.35, 0.4
"""IoU of two faces above which, and distance of their middles, in sizes of the smaller, below which both are one."""
_ASIDE, _SURER = 0.6, 0.5
"""`_ASIDE`: least share of a face's width by which a face on its head that belongs to another person lies to the side.
It matters only where the first face is surer by more than `_SURER`, as a face with a mesh is than one with points
alone: in a view of hair the second network sees a face now and then, with a forehead of hair (crowd_1080p)."""


def on_head(boxes: Floats, faces: Floats) -> NDArray[np.bool_]:
    """Which boxes (..., 4) have their middle on the head of a face (..., 4); both are broadcast, in pixels.

    Faces reach from hairline to chin."""
    low, high = faces[..., :2], faces[..., 2:]
    sides_of_face = high - low
    height = sides_of_face[..., 1:]
    away = (boxes[..., :2] + boxes[..., 2:] - low - high) / 2 / sides_of_face
    sides, largest = (boxes[..., 2:] - boxes[..., :2]).max(axis=-1), sides_of_face.max(axis=-1)
    within = (np.abs(away) < 0.5).all(axis=-1) & (sides < _LARGEST * largest)
    # A box that holds the whole face is no person nearer to the camera: that person's head would hide the face.
    held = (boxes[..., :2] < low + _INSIDE * height) & (boxes[..., 2:] > high - _INSIDE * height)
    most = np.where(held.all(axis=-1), _LARGEST, _LARGER) * largest
    raised = away + np.array([0.0, _RAISED])
    near = ((raised / (_ACROSS, _DOWN)) ** 2).sum(axis=-1) < 1
    return np.asarray(within | (near & (sides < most)), np.bool_)


def seconds(
    boxes: Floats, faces: Sequence[Box | None], sure: Sequence[float], least: float, turns: Sequence[int] = ()
) -> set[int]:
    """Rows of the boxes (n, 4) that are a second sighting of a head.

    faces: the face in each box as points show it, from hairline to chin; None where no points were found. sure: how
    sure each is; of two sightings of one face the surer one stays, and only a face with at least `least` has a head.
    turns: how each head lies, in quarter turns; a sighting that lies differently on a surer head is that head, whatever
    points it has. Boxes are in pixels.
    """
    gone: set[int] = set()
    known = (row for row, face in enumerate(faces) if face is not None and sure[row] >= least)
    order = sorted(known, key=lambda row: -sure[row])
    own = np.array([(np.nan,) * 4 if face is None else face for face in faces], np.float64).reshape(-1, 4)
    on_heads = on_head(boxes, own[:, None])
    for row in order:
        if row in gone:
            continue
        held = on_heads[row]
        for other in range(len(boxes)):
            if other == row or other in gone:
                continue
            if faces[other] is None:
                second = bool(held[other])
            elif turns and turns[other] != turns[row]:
                second = bool(held[other]) and sure[other] <= sure[row]
            else:
                above = held[other] and sure[other] < sure[row] - _SURER and not _side_by_side(own[row], own[other])
                second = sure[other] <= sure[row] and (bool(above) or _one_face(own[row], own[other]))
            if second:
                gone.add(other)
    return gone


def _side_by_side(a: Floats, b: Floats) -> bool:
    """Whether two boxes (4,) from hairline to chin lie as far from one another to the side as two heads do."""
    return float(abs((a[0] + a[2]) - (b[0] + b[2]))) / 2 >= _ASIDE * float(a[2] - a[0])


def _one_face(a: Floats, b: Floats) -> bool:
    """Whether two boxes (4,) from hairline to chin are of one face."""
    shared = float(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0).prod())
    areas = [float((one[2:] - one[:2]).prod()) for one in (a, b)]
    if shared > _SAME * (sum(areas) - shared):
        return True
    apart = float(np.hypot(*((a[:2] + a[2:]) - (b[:2] + b[2:])))) / 2
    sizes = sorted(float(np.sqrt(area)) for area in areas)
    return apart < _BESIDE * sizes[0] and sizes[1] < _LARGER * sizes[0]
