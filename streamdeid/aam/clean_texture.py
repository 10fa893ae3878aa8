"""Removes from a texture what is no part of an identity: hair over the forehead, and the light of the place.

Hair belongs to the surroundings, which stay those of the filmed person. A fringe learnt as skin would be rendered on
others, and a fringe in a probe would count as identity. The sheen of a lamp on dark skin, scaled up to fair skin, looks
like metal.
"""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.piecewise_affine import WarpTable, spread
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA
from streamdeid.core.ibug68 import INNER_LIP, LEFT_BROW, LEFT_EYE, RIGHT_BROW, RIGHT_EYE

_UNLIKE = 0.16
"""Share by which brightness may differ from skin in the person's tone before it is taken for hair."""


_SHADING = (-0.22, 0.1)
"""Range, natural log, to which soft differences from the mean face are clipped: beards stay, sheen is removed."""
_SHEEN = 0.05
"""Natural log by which a spot of skin may be brighter than its surroundings."""
_TINT = 0.06
"""The same for each channel against brightness."""


def matt_zone(mean_shape: Points, table: WarpTable) -> Pixels:
    """Mask of where sheen is no feature: 1 on skin and lips, 0 in eyes and between the lips, float32 (n,)."""
    width, height = table.size
    picture = np.ones((height, width), np.float32)
    for part in (LEFT_EYE, RIGHT_EYE, INNER_LIP):
        cv2.fillPoly(picture, [np.round(mean_shape[part] * 16).astype(np.int32)], (0,), cv2.LINE_8, 4)
    bright = cv2.erode(picture, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5)))
    return np.asarray(cv2.GaussianBlur(bright, (0, 0), 1.5)[table.rows, table.columns], np.float32)


def even_light(texture: Pixels, skin: Pixels, matt: Pixels, table: WarpTable) -> Pixels:
    """A texture (n, 3), which has the mean colour of skin (n, 3), in even light: its soft differences from skin are
    clipped to `_SHADING`, and its sheen, where matt (n,) is 1, to `_SHEEN`."""
    ratio = np.log((texture + 8) / (skin + 8))
    inside = spread(np.ones((len(texture), 1), np.float32), table)[:, :, 0]
    sigma = 0.035 * table.size[0]
    soft = cv2.GaussianBlur(spread(ratio, table), (0, 0), sigma, borderType=cv2.BORDER_CONSTANT)
    soft = soft / (cv2.GaussianBlur(inside, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT)[:, :, None] + 1e-3)
    shading = soft[table.rows, table.columns]
    level = (shading @ LUMA)[:, None]
    detail = np.log((texture + 8) @ LUMA) - (level[:, 0] + np.log((skin + 8) @ LUMA))
    sheen = np.maximum(detail - _SHEEN, 0)[:, None] * matt[:, None]
    kept = np.clip(level, *_SHADING) + np.clip(shading - level, -_TINT, _TINT)
    even: Pixels = np.clip(texture * np.exp(kept - shading - sheen), 0, 255).astype(np.float32)
    return even


_FRINGE = 0.2
"""Share of the forehead that hair may take before it counts as a fringe, which hangs over the brows, too."""


def hair_zone(mean_shape: Points, table: WarpTable) -> Pixels:
    """Where hair may lie: 0 to 1 for each pixel of the table, float32 (n, 3).

    First column: the forehead above the brows, and the sides of the face, where long hair hangs. Second: also all above
    the eyes, for people with a fringe. Third: the middle of the forehead alone, where a fringe shows.
    """
    brows = np.concatenate([mean_shape[LEFT_BROW], mean_shape[RIGHT_BROW]])
    lift = 0.045 * float(np.ptp(mean_shape[:, 1]))
    line = np.interp(table.columns, brows[:, 0], brows[:, 1])
    eyes = np.interp(table.columns, mean_shape[[36, 45], 0], mean_shape[[37, 44], 1])
    clear, all_above = table.rows < line - 1.4 * lift, table.rows < 0.35 * line + 0.65 * eyes
    beside = (table.columns < brows[0, 0]) | (table.columns > brows[-1, 0])
    hard = spread(np.column_stack([clear | beside, all_above | beside, clear & ~beside]).astype(np.float32), table)
    # There is no brow outside the mesh: the zone must not fade out along the outline.
    outside = spread(np.ones((len(table.rows), 1), np.float32), table)[:, :, 0] == 0
    hard[outside & (np.arange(table.size[1])[:, None] < mean_shape[[36, 45], 1].mean())] = 1
    soft = cv2.GaussianBlur(hard, (0, 0), 0.4 * lift)
    return np.asarray(soft[table.rows, table.columns], np.float32)


def without_hair(texture: Pixels, skin: Pixels, zone: Pixels, table: WarpTable) -> Pixels:
    """A texture (n, 3) without hair: pixels of the zone (n, 3) that differ much from skin (n, 3) are replaced by skin,
    in the person's own tone. Where a fringe hides the brows, the brows of skin take their place."""
    bare = zone[:, 1] < 0.5
    ratio = (texture @ LUMA + 4) / (skin @ LUMA + 4)
    ratio /= max(float(np.median(ratio[bare])), 1e-3)
    unlike = np.abs(ratio - 1) > _UNLIKE
    fringe = float((ratio < 1 - _UNLIKE)[zone[:, 2] > 0.5].mean()) > _FRINGE  # sheen is bright
    within = zone[:, int(fringe)]
    hair = spread((unlike & (within > 0.02)).astype(np.float32)[:, None], table)[:, :, 0]
    if fringe:
        hair = np.maximum(hair, spread((within > 0.5).astype(np.float32)[:, None], table)[:, :, 0])
    size = 2 * round(0.02 * table.size[0]) + 1
    grown = cv2.dilate(hair, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))
    soft = cv2.GaussianBlur(grown, (0, 0), 0.015 * table.size[0])[table.rows, table.columns] * within
    tone = np.median(texture[bare] / np.maximum(skin[bare], 1), axis=0)
    cleaned: Pixels = (texture + soft[:, None] * (skin * tone - texture)).astype(np.float32)
    return cleaned
