"""Slow, obviously right twins of the kernels that draw: whole arrays, textbook formulas."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats, Singles
from streamdeid.core.ibug68 import (
    LEFT_EYE,
    LEFT_EYE_CORNERS,
    MOUTH,
    MOUTH_CORNERS,
    OUTLINE,
    RIGHT_EYE,
    RIGHT_EYE_CORNERS,
)
from streamdeid.render import posed_fill

Bytes = NDArray[np.uint8]


def blended(
    plane: Bytes, corner: tuple[int, int], drawn: Singles, weights: Singles, mask: Bytes, lift: Singles
) -> Bytes:
    """A plane (H, W) with what was drawn (h, w) blended into it from a corner (x, y) on. weights: (h, w) or half of it;
    mask (h, w); lift (gh, gw): what is added."""
    x0, y0 = corner
    height, width = drawn.shape
    if weights.shape != drawn.shape:
        weights = cv2.resize(weights, weights.shape[::-1] * np.array([2, 2]))[:height, :width]
    added = cv2.resize(lift, (width, height))
    out = plane.copy()
    old = out[y0 : y0 + height, x0 : x0 + width].astype(np.float32)
    new = old + weights * mask * (drawn + added - old)
    out[y0 : y0 + height, x0 : x0 + width] = np.clip(new + 0.5, 0, 255)
    return out


_UPPER_LIP, _LOWER_LIP = ((2, 13), (3, 14), (4, 15)), ((8, 17), (9, 18), (10, 19))


def transferred(shape: Floats, neutral: Floats, surrogate: Floats) -> Floats:
    """methods.md 4.0 step 3: every point moves by the change; within eyes and mouth it is laid anew."""
    moved = surrogate + shape - neutral
    rest_open, now_open = (np.array(_opened(face)) for face in (neutral, shape))
    lift = np.maximum(0.8 * rest_open[::-1] / rest_open, 1)
    open_share = np.minimum(now_open / np.maximum(rest_open * lift, 0.12), 1)
    alike = 1 - _rising(open_share.max(), 0.65, 0.85)
    more = alike * (open_share.mean() - open_share)
    for part, (a, b) in ((LEFT_EYE, LEFT_EYE_CORNERS), (RIGHT_EYE, RIGHT_EYE_CORNERS), (MOUTH, MOUTH_CORNERS)):
        now, rest, own = (_turned(face[part], face[a], face[b]) for face in (shape, neutral, surrogate))
        ratio = np.linalg.norm(surrogate[b] - surrogate[a]) / np.linalg.norm(neutral[b] - neutral[a])
        if part is MOUTH:
            ratio = np.clip(ratio, 1.0, 1.12)
        laid = own + ratio * (now - rest)
        if part is MOUTH:
            wide_now, wide_rest, wide = (np.linalg.norm(face[b] - face[a]) for face in (shape, neutral, surrogate))
            wide += ratio * (wide_now - wide_rest)
            opened = max((now[lower, 1] - now[upper, 1]) / wide_now for upper, lower in ((13, 19), (14, 18), (15, 17)))
            most = max(_rising(wide_now / wide_rest, 1.1, 1.5), _rising(opened, 0.25, 0.9))
            laid[:, 0] *= (1 - most) + most * min(1.0, 1.12 * wide_now / wide)
            least = 0.06 * (rest[6, 0] - rest[0, 0])
            for sign, pairs, sides in ((-1, _UPPER_LIP, (1, 5)), (1, _LOWER_LIP, (7, 11))):
                thick_now, thick_rest, thick = (
                    np.mean([abs(mouth[o, 1] - mouth[i, 1]) for o, i in pairs]) for mouth in (now, rest, own)
                )
                lost = min(thick_now - thick_rest, 0)
                more_lip = lost * min(thick / thick_rest, max(thick / least, 1)) - ratio * lost
                laid[[o for o, _ in pairs], 1] += sign * more_lip
                laid[list(sides), 1] += sign * more_lip / 2
            ratio = max(ratio, 1.06)
            for upper, lower, over, under in (
                (13, 19, (1, 2), (10, 11)),
                (14, 18, (3,), (9,)),
                (15, 17, (4, 5), (7, 8)),
            ):
                middle, gap = laid[[upper, lower], 1].mean(), ratio * max(now[lower, 1] - now[upper, 1], 0)
                for inner, outer, at in ((upper, over, middle - gap / 2), (lower, under, middle + gap / 2)):
                    laid[list(outer), 1] += at - laid[inner, 1]
                    laid[inner, 1] = at
        else:
            side = 0 if part is LEFT_EYE else 1
            for upper, lower in ((1, 5), (2, 4)):
                opened, usual, own_gap = (eye[lower, 1] - eye[upper, 1] for eye in (now, rest, own))
                usual *= lift[side]
                part_open = min(max(opened, 0) / max(usual, 0.12 * np.ptp(rest[:, 0])), 1)
                closed = max(own_gap, 0) * np.clip(part_open + more[side], 0, 1)
                laid[upper, 1] = laid[lower, 1] - min(
                    closed + ratio * max(opened - usual, 0), 1.1 * max(own_gap, ratio * opened, 0)
                )
        along = (moved[b] - moved[a]) / np.linalg.norm(moved[b] - moved[a])
        back = np.array([[along[0], along[1]], [-along[1], along[0]]])
        moved[part] = laid @ back + (moved[a] + moved[b]) / 2
    share = (shape[51, 1] - shape[33, 1]) / max(neutral[51, 1] - neutral[33, 1], 1e-6)
    if share < 1:
        moved[MOUTH, 1] += max(share * (surrogate[51, 1] - surrogate[33, 1]) - (moved[51, 1] - moved[33, 1]), 0)
    ring = neutral[OUTLINE]
    edge = np.roll(ring, -1, axis=0) - np.roll(ring, 1, axis=0)
    normal = np.column_stack([edge[:, 1], -edge[:, 0]]) / np.linalg.norm(edge, axis=1, keepdims=True)
    normal *= np.sign(((ring - ring.mean(axis=0)) * normal).sum())
    push = np.clip(((surrogate[OUTLINE] - ring) * normal).sum(axis=1, keepdims=True), 0, 4)
    moved[OUTLINE] = shape[OUTLINE] + push * normal
    return moved


def _opened(face: Floats) -> list[float]:
    """Mean height over width of each eye."""
    found = []
    for part, (a, b) in ((LEFT_EYE, LEFT_EYE_CORNERS), (RIGHT_EYE, RIGHT_EYE_CORNERS)):
        eye = _turned(face[part], face[a], face[b])
        height = (eye[5, 1] + eye[4, 1] - eye[1, 1] - eye[2, 1]) / 2
        found.append(float(max(height, 0) / np.linalg.norm(face[b] - face[a])))
    return found


def _rising(value: float, first: float, last: float) -> float:
    t = float(np.clip((value - first) / (last - first), 0, 1))
    return 3 * t**2 - 2 * t**3


def _turned(points: Floats, a: Floats, b: Floats) -> Floats:
    along = (b - a) / np.linalg.norm(b - a)
    level: Floats = (points - (a + b) / 2) @ np.array([[along[0], -along[1]], [along[1], along[0]]])
    return level


def left_at(outline: Floats, direction: Floats) -> float:
    """How far away a ray from the origin leaves a closed outline (n, 2): the farthest of all edges that it meets."""
    farthest = 0.0
    for a, b in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        system = np.column_stack([direction, a - b])  # t direction = a + s (b - a)
        if abs(np.linalg.det(system)) > 1e-12:
            t, s = np.linalg.solve(system, a)
            if -1e-9 <= s <= 1 + 1e-9:
                farthest = max(farthest, float(t))
    return farthest


def rim_filled(
    drawn: Singles,
    depth: Singles,
    wanted: Bytes,
    line: Floats,
    origin: tuple[int, int],
    numbers: Floats,
    carried: list[Singles],
) -> Singles:
    """What was rendered (h, w, c), filled where it is wanted (`turned_rim._fill`); carried: skin and background
    (h, w, c) at the size of the plane."""
    inset, softness, behind, edge = numbers
    rows, columns = np.mgrid[0 : depth.shape[0], 0 : depth.shape[1]]
    x, y = columns + origin[0], rows + origin[1]
    side, down = line[0] * x + line[1] * y + line[2], line[3] * x + line[4] * y + line[5]
    before = np.clip(np.minimum(down - 0.08, 1.02 - down) / 0.08, 0, 1)
    share = (behind * np.maximum(before, wanted == 2) * np.clip(side / edge, 0, 1))[:, :, None]
    skin, background = carried
    within = drawn + softness * (1 - depth[:, :, None] / inset) * (1 - share) * (skin - drawn)
    beside = skin + share * (background - skin)
    deep, rim = depth >= inset, (depth > 0) & (depth < inset)
    bare = (depth == 0) & (wanted > 0)
    kept = deep | ~(rim | bare)
    return np.where(kept[:, :, None], drawn, np.where(rim[:, :, None], within, beside)).astype(np.float32)


def region_filled(
    drawn: Floats,
    covered: NDArray[Any],
    place: Floats,
    reaches: Floats,
    colours: Floats,
    line: Floats,
    hair_line: Floats,
    numbers: Floats,
    past: Floats,
    known: Floats,
) -> Floats:
    """One plane (h, w, c) of a posed face, filled where a mesh (h, w) does not cover it and softened at its rim.

    place (h, w, 2): where each pixel lies, pixels of luma. reaches (a, 5): of mesh, region, hairline and scalp by
    direction, and how much hair there is. colours (a, 3, c): skin, what is outside as it is at the region's edge, and
    as it is at the mesh. line, hair_line: of a profile, and of where hair ends beside it. numbers: middle x, y, rim,
    inset, background, edge, hairline, breadth of the hair's line, breadths of skin beside the mesh and (more) behind
    the face, and this plane's colour of hair (c,). The sixth column of reaches: how much of the background, past
    (h, w, c), is shown where it is known (h, w), 0 to 1.
    """
    mx, my, rim, inset, behind, edge, soft_hair, hair_edge, beside, to_ear, *hair = numbers
    out, count = drawn.astype(float).copy(), len(reaches)
    angles = 2 * np.pi * np.arange(count + 1) / count
    ring = [np.concatenate([values, values[:1]]) for values in reaches.T]
    for row, column in np.ndindex(covered.shape):
        x, y = place[row, column]
        r, angle = np.hypot(x - mx, y - my), np.arctan2(y - my, x - mx) % (2 * np.pi)
        if r > reaches[:, 1].max() + rim + posed_fill._MORE:
            continue
        mesh, end, hairline, scalp, bears, again = (float(np.interp(angle, angles, values)) for values in ring)
        skin, at_edge, at_mesh = (
            np.array([np.interp(angle, angles, [*side[:, c], side[0, c]]) for c in range(out.shape[2])])
            for side in (colours[:, 0], colours[:, 1], colours[:, 2])
        )
        there = at_mesh + np.clip((r - mesh) / max(end - mesh, 1.0), 0, 1) * (at_edge - at_mesh)
        again *= float(known[row, column])
        there, at_edge = ((1 - again) * one + again * past[row, column] for one in (there, at_edge))
        down = line[3] * x + line[4] * y + line[5]
        ends = np.clip(min(down - 0.08, 1.02 - down) / 0.08, 0, 1)
        share = behind * ends * np.clip((line[0] * x + line[1] * y + line[2]) / edge, 0, 1)
        if covered[row, column]:
            soft = np.clip(1 - (mesh - r) / inset, 0, 1) * (1 - share)
            out[row, column] += soft * (skin - out[row, column])
        else:
            behind_face = np.dot(-np.array(line[:2]), (x - mx, y - my)) / max(r, 1.0)
            over = min(beside + max(to_ear * behind_face, 0.0), 0.7 * (end - mesh))
            t = np.clip((r - mesh) / max(over, 1.0), 0, 1)
            base = skin + t * t * (3 - 2 * t) * (there - skin)
            bald = base + share * (there - base)
            grown, beyond = (float(np.clip((r - limit) / soft_hair + 0.5, 0, 1)) for limit in (hairline, scalp))
            head = (1 - beyond) * ((1 - grown) * skin + grown * np.array(hair)) + beyond * at_edge
            before = behind * np.clip((hair_line[0] * x + hair_line[1] * y + hair_line[2]) / hair_edge, 0, 1)
            out[row, column] = bald + bears * (1 - before) * (head - bald)
    return out


def reached(middle: Floats, region: Floats, covered: NDArray[Any], directions: Floats) -> Floats:
    """How far a mask (h, w) and a convex region (n, 2) reach from a place in directions (a, 2): (a, 2)."""
    found = []
    for direction in directions:
        near = far = 0.0
        for r in np.arange(0, 60, 0.05):
            place = middle + r * direction
            along = np.roll(region, -1, axis=0) - region
            away = place - region
            side = along[:, 0] * away[:, 1] - along[:, 1] * away[:, 0]
            far = float(r) if (side >= 0).all() or (side <= 0).all() else far
            x, y = round(place[0]), round(place[1])
            inside = 0 <= x < covered.shape[1] and 0 <= y < covered.shape[0]
            near = float(r) if inside and covered[y, x] else near
        found.append((near, far))
    return np.array(found)
