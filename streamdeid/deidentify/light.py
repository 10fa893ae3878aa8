"""Light of the scene on a surrogate: brightness and colour by the shape of a face (METHODS 2.4, 4.0 step 4, 6.3).

A face at rest is relit by a few terms: normals of the mean face, the place on it, and how much of the general shading
of any face there is. Second-order terms of the normals carry the relief of the person's own face: a strong recogniser
knows a tenth more people by them, and few viewers miss them. They are fitted robustly to plain skin, on
which a beard counts little and eyes, brows, lips and hair nothing: what is dark on a person darkens nobody else. In
each frame the same is done with the change since the face at rest, plus a little of the soft folds. Everything is
measured in the fit's small frame.

What passes of a person at rest is what `StaticLight` says, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.albedo import LUMA
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Pixels, Points, WarpTable, spread
from streamdeid.aam.surface import surface_normals, vertex_slopes
from streamdeid.aam.zones import Zones
from streamdeid.deidentify.new_face import NewFace
from streamdeid.ibug68 import INNER_LIP, NOSE_BRIDGE
from streamdeid.kernel_cache import kernel, reordering_kernel

Rectangle = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels, the last two beyond it."""
_FLOOR = 2.0
"""Grey levels added above and below a ratio: dark pixels are mostly noise. What is compared was blurred before, so few
are enough, and with more dark faces come out brighter and greyer than they are (8: by 15 % at 38 grey levels)."""
_SIGMA = 9 / 180
"""Width of the blur of folds over the width of the frame."""
_NOISE = 1.6
"""Blur, pixels of the small frame, within plain skin before logarithms are taken: noise has no mean in them."""
_BEARD, _BEARD_COLOUR = 0.15, 0.25
"""What the lower face counts in a fit of brightness and of colour: beards are dark."""
_BEARD_RIDGE = 1e-2
"""How firmly the term that bends from brow to chin is held: it is the shape of a beard. With both, 13 % of a beard's
darkness of 0.5 passes (60 % at a weight of 0.2 and a ridge like the others'), and lamps drawn on faces of the model are
followed as well as without."""
_BEND = 7
"""Number of that term."""
MOST = 0.9
"""Largest brightening or darkening of a place against the whole face, natural log."""
_USUAL_SHADE = 0.65
"""Share of a face's general shading that is expected before anything is seen."""
_RATIO = (0.4, 2.2)
_FOLDS = (-0.12, 0.06)
"""Bounds of soft folds, natural log."""
_HAIR = ([0.1, 0.5, 1.2], [0.13, 0.32, 0.55])
"""How much darker than skin brows are, natural log, by how much darker hair is: between London's blond and black."""
_BROWS = (0.6, 1.15)
"""Bounds of the factor on a surrogate's brows."""
_LIPS, _LIP_SHIFT = 0.6, (-0.3, 0.25)
"""Share of the way that lips go towards the person's tone, and bounds of it, log RGB."""
_LIP_DARKER, _LIP_REDDER = 0.1, 0.12
"""Lips stay lips, whatever a gloss or a lamp makes of the person's: at least so much darker and redder than skin."""


@dataclass(frozen=True)
class StaticLight:
    """The light that a person at rest is in, as it falls on a surrogate."""

    field: Pixels
    """float32 (h, w, 3): natural log of the gain, in the small frame."""
    towards: Points
    """float64 (2,): where the light comes from in the picture, unit length; for highlights in eyes."""
    brows: float
    """Factor on the darkness of the surrogate's brows, so that they go with the hair."""
    lips: Points
    """float64 (3,): log RGB by which the surrogate's lips go towards the person's."""


@dataclass(frozen=True)
class SoftSkin:
    """What the light is told by of one small texture, blurred once."""

    level: Pixels
    """float32 (p,): natural log of the luma of soft skin where it is fitted."""
    folds: Pixels
    """float32 (h, w, 3): the texture blurred to the scale of folds, and `_FLOOR` added."""


@dataclass(frozen=True)
class LightFrame:
    """The small frame and what is constant in it. p of its f pixels inside the mesh are plain skin that is fitted."""

    table: WarpTable
    inside: Pixels
    """float32 (h, w): blurred mask of the mesh, the normaliser of folds."""
    terms: Points
    """float64 (h, w, 9): terms of brightness; the last one is the general shading of a face."""
    tints: Points
    """float64 (h, w, 5): terms of colour, less the one that follows brightness."""
    studio: Pixels
    """float32 (h, w, 3): the studio's light in the training set."""
    skin: Pixels
    """float32 (f,): plain skin."""
    near: Pixels
    """float32 (f,): the same, blurred."""
    fitted: NDArray[np.intp]
    """int64 (p,): numbers of the pixels that are fitted."""
    bright: Points
    """float64 (p,): what each counts for brightness."""
    colour: Points
    """float64 (p,): what each counts for colour."""
    upper: NDArray[np.bool_]
    """bool (f,): plain skin of the upper face."""
    brows: Points
    """float64 (f,): weights of the middle of the brows, together 1."""
    lips: Points
    """float64 (f,): weights of the lips, without what shows between them, together 1."""
    slopes: Points
    """float64 (81, 2): `surface.vertex_slopes`."""
    moving: Points
    """float64 (p, 8): the terms of brightness that change from frame to frame, where they are fitted."""
    flanks: tuple[tuple[Pixels, Rectangle], tuple[Pixels, Rectangle]]
    """Soft masks (h, w, 1) of both sides of the nose, image-left first, with their rectangles in the model's frame."""

    @classmethod
    def of(cls, fitting: FitModel) -> LightFrame:
        """Light frame of a model's fit."""
        model, table = fitting.model, fitting.table
        size, at = table.size, (table.rows, table.columns)
        zones = Zones.of(model.mean_shape, model.frame_size[0], size)
        surface = surface_normals(model.mean_mesh, model.frame_size)
        normals = np.asarray(cv2.resize(surface, size, interpolation=cv2.INTER_AREA), np.float32)
        normals /= np.linalg.norm(normals, axis=2, keepdims=True)
        studio = np.asarray(cv2.resize(model.albedo.studio, size, interpolation=cv2.INTER_AREA), np.float32)
        terms = _terms(normals, studio @ LUMA)
        skin = zones.skin[at]
        near = _blur(spread(skin[:, None], table)[:, :, 0], _NOISE)[at]
        opening = np.zeros((size[1], size[0]), np.uint8)
        corners = model.mean_shape[INNER_LIP] * fitting.scale
        cv2.fillPoly(opening, [np.round(corners * 16).astype(np.int32)], (1,), cv2.LINE_8, 4)
        shut = cv2.dilate(opening, np.ones((5, 5), np.uint8)) == 0
        checked = (table.rows + table.columns) % 2 == 0  # the terms are smooth: half the pixels tell as much
        fitted = np.nonzero((skin > 0) & checked)[0]
        lower = zones.lower[at]
        return cls(
            table,
            _blur(spread(np.ones((len(skin), 1), np.float32), table)[:, :, 0], _SIGMA * size[0]) + 1e-3,
            terms,
            np.ascontiguousarray(terms[:, :, [0, 1, 2, 4, 5]]),
            studio,
            skin,
            near,
            fitted,
            (1 - (1 - _BEARD) * lower)[fitted].astype(np.float64),
            np.where(lower > 0, _BEARD_COLOUR, 1.0)[fitted],
            (skin > 0.5) & (lower == 0),
            _core(zones.brows[at], 0.3),
            _core((zones.lips * shut)[at], 0.5),
            vertex_slopes(surface, model.mean_shape),
            np.ascontiguousarray(terms[at][fitted][:, :-1]),
            (_flank(model, 39, 31, 41), _flank(model, 42, 35, 46)),
        )

    def edge_on(self, texture: Pixels, yaw: float) -> Pixels:
        """The texture (h, w, 3) with the far side of the nose smooth where a turned head shows it edge on: thirty
        pixels of it end in three, and would alias into a ragged line. In place."""
        strength = float(np.clip((abs(yaw) - 0.2) / 0.2, 0, 1))
        if strength > 0:
            mask, (x0, y0, x1, y1) = self.flanks[0 if yaw > 0 else 1]
            region = texture[y0:y1, x0:x1]
            region += strength * mask * (cv2.GaussianBlur(region, (0, 0), sigmaX=6.0, sigmaY=3.0) - region)
        return texture

    def soft_skin(self, texture: Pixels) -> Pixels:
        """A small texture (f, 3) blurred within plain skin, float32 (f, 3)."""
        at = self.table.rows, self.table.columns
        blurred = _blur(spread(texture * self.skin[:, None], self.table), _NOISE)[at]
        return np.where(self.near[:, None] > 0.05, blurred / np.maximum(self.near, 0.05)[:, None], texture)

    def brighter(self, soft: Pixels, other: Pixels) -> Pixels:
        """How much brighter a soft skin (f, 3) is than another one, natural log float32 (p,), where it is fitted."""
        return np.log((soft @ LUMA + _FLOOR) / (other @ LUMA + _FLOOR))[self.fitted]

    def skin_of(self, texture: Pixels) -> SoftSkin:
        """What the light is told by of a small texture (f, 3)."""
        luma = texture @ LUMA
        spread_luma = spread((luma * self.skin)[:, None], self.table)[:, :, 0]
        at = self.table.rows[self.fitted], self.table.columns[self.fitted]
        near = self.near[self.fitted]
        soft = np.where(near > 0.05, _blur(spread_luma, _NOISE)[at] / np.maximum(near, 0.05), luma[self.fitted])
        return SoftSkin(np.log(soft + _FLOOR).astype(np.float32), self.soft(texture) + np.float32(_FLOOR))

    def soft(self, texture: Pixels) -> Pixels:
        """Picture float32 (h, w, 3) of a small texture (f, 3), blurred to the scale of folds."""
        smooth: Pixels = _blur(spread(texture, self.table), _SIGMA * self.table.size[0]) / self.inside[:, :, None]
        return smooth


def static_light(light: LightFrame, neutral: Pixels, face: NewFace, hair: float | None = None) -> StaticLight:
    """The light of a person's small neutral texture (f, 3) on a surrogate. hair: log darkness of the person's."""
    at = light.table.rows, light.table.columns
    person, own = light.soft_skin(neutral), light.soft_skin(face.small_texture)
    level = light.brighter(person, own)
    ridge = np.full(light.terms.shape[2], 1e-3)
    ridge[0], ridge[_BEND], ridge[-1] = 0, _BEARD_RIDGE, 1e-4
    usual = np.zeros(len(ridge))
    usual[-1] = _USUAL_SHADE
    found = robust_fit(light.terms[at][light.fitted], level, light.bright, usual, ridge, 0.12, 6)
    bright = np.clip(light.terms[:, :, :-1] @ found[:-1] - found[0], -MOST, MOST) + found[0]
    shade = (light.studio @ LUMA)[:, :, None] * np.float32(np.clip(found[-1], 0, 1))
    tint = _tint(light, person, own * np.exp(shade[at]), bright)
    towards = np.array([0.7 * np.clip(2 * found[1], -1, 1), -0.75 + 0.3 * np.clip(2 * found[2], -1, 1)])
    there = np.log(neutral + _FLOOR) - (bright[:, :, None] + tint)[at]
    return StaticLight(
        (bright[:, :, None] + tint + shade).astype(np.float32),
        towards / max(float(np.linalg.norm(towards)), 1e-6),
        _brow_factor(light, face.small_texture, hair),
        _lip_shift(light, there, face.small_texture),
    )


def light_change(light: LightFrame, now: SoftSkin, rest: SoftSkin) -> Pixels:
    """Log gain float32 (h, w, 1) of light and folds in a frame, by what `LightFrame.skin_of` tells of its small texture
    and of the neutral's."""
    ridge = np.full(light.moving.shape[1], 2e-3)
    ridge[0] = 0
    found = robust_fit(light.moving, now.level - rest.level, light.bright, np.zeros(len(ridge)), ridge, 0.1, 3)
    change = np.empty(light.terms.shape[:2], np.float32)
    _changed(light.terms, found, now.folds, rest.folds, LUMA, change)
    return change[:, :, None]


def robust_fit(
    terms: Points, level: Pixels, weights: Points, usual: Points, ridge: Points, scale: float, rounds: int
) -> Points:
    """Coefficients float64 (q,) of level (p,) over terms (p, q), by reweighted least squares: Geman and McClure's
    weights of that scale, Cauchy's at first. A ridge (q,), times the total weight (p,), draws them towards the usual
    ones (q,). The first term is constant, and leaves as much above the fit as below."""
    return _robust_fit(
        np.ascontiguousarray(terms, np.float64), level.astype(np.float64), weights, usual, ridge, scale, rounds
    )


@kernel
def _robust_fit(terms, level, weights, usual, ridge, scale, rounds):  # type: ignore[no-untyped-def]
    n, q = terms.shape
    total = weights.sum()
    away = np.empty(n)
    for i in range(n):
        away[i] = level[i]
        for j in range(q):
            away[i] -= terms[i, j] * usual[j]
    # Hair over the forehead is out from the start.
    middle = _weighted_median(away, weights)
    now = np.empty(n)
    for i in range(n):
        now[i] = weights[i] / (1 + ((away[i] - middle) / (3 * scale)) ** 2)
    found = usual.copy()
    for _ in range(rounds):
        matrix, right = _normal_equations(terms, level, now)
        for j in range(q):
            matrix[j, j] += total * ridge[j]
            right[j] += total * ridge[j] * usual[j]
        found = _solved(matrix, right)
        for i in range(n):
            away[i] = level[i]
            for j in range(q):
                away[i] -= terms[i, j] * found[j]
            now[i] = weights[i] / (1 + (away[i] / scale) ** 2) ** 2
    found[0] += _weighted_median(away, now)  # trusting the densest colour most, it is a shade off
    return found


@kernel
def _weighted_median(values, weights):  # type: ignore[no-untyped-def]
    """The least of values (n,) up to which half of the weights (n,) lie: the half in which it is is looked for again and
    again, as quicksort does."""
    left, masses = values.copy(), weights.copy()
    count, before, half = len(values), 0.0, weights.sum() / 2
    while count > 1:
        a, b, c = left[0], left[count // 2], left[count - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        lower, lower_mass, same_mass = 0, 0.0, 0.0
        for i in range(count):
            if left[i] < pivot:
                lower += 1
                lower_mass += masses[i]
            elif left[i] == pivot:
                same_mass += masses[i]
        if before + lower_mass < half <= before + lower_mass + same_mass:
            return pivot
        down = lower > 0 and before + lower_mass >= half
        kept = 0
        for i in range(count):
            if (left[i] < pivot) if down else (left[i] > pivot):
                left[kept], masses[kept] = left[i], masses[i]
                kept += 1
        if kept == 0:  # rounding, or no numbers
            return pivot
        before, count = before if down else before + lower_mass + same_mass, kept
    return left[0]


@reordering_kernel
def _normal_equations(terms, level, weights):  # type: ignore[no-untyped-def]
    n, q = terms.shape
    matrix, right = np.zeros((q, q)), np.zeros(q)
    columns, weighted = np.empty((q, n)), np.empty(n)
    for i in range(n):
        for j in range(q):
            columns[j, i] = terms[i, j]
    for j in range(q):
        total = 0.0
        for i in range(n):
            weighted[i] = weights[i] * columns[j, i]
            total += weighted[i] * level[i]
        right[j] = total
        for k in range(j + 1):
            total = 0.0
            for i in range(n):
                total += weighted[i] * columns[k, i]
            matrix[j, k] = matrix[k, j] = total
    return matrix, right


@kernel
def _solved(matrix, right):  # type: ignore[no-untyped-def]
    """Solution of a symmetric, positive system (q, q), (q,), by Cholesky's way; numbers that are none when it is not
    positive. In place."""
    q = len(right)
    for j in range(q):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = np.sqrt(matrix[j, j]) if matrix[j, j] > 0 else np.nan
        for i in range(j + 1, q):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    for j in range(q):
        for k in range(j):
            right[j] -= matrix[j, k] * right[k]
        right[j] /= matrix[j, j]
    for j in range(q - 1, -1, -1):
        for k in range(j + 1, q):
            right[j] -= matrix[k, j] * right[k]
        right[j] /= matrix[j, j]
    return right


@kernel
def _changed(terms, found, now, rest, luma, out):  # type: ignore[no-untyped-def]
    """Terms (h, w, 9) with coefficients (8,), within bounds, and the folds between two soft pictures (h, w, 3)."""
    height, width = out.shape
    for y in range(height):
        for x in range(width):
            change = 0.0
            for j in range(len(found)):
                change += terms[y, x, j] * found[j]
            change = min(max(change, -MOST), MOST) if change == change else change  # what is no number stays none
            level = 0.0
            for c in range(3):
                level += luma[c] * min(max(now[y, x, c] / rest[y, x, c], _RATIO[0]), _RATIO[1])
            fold = np.log(level) - change
            out[y, x] = change + min(max(fold, _FOLDS[0]), _FOLDS[1])


def _terms(normals: Pixels, shade: Pixels) -> Points:
    height, width = shade.shape
    rows, columns = np.mgrid[0:height, 0:width]
    u, v = (columns - width / 2) / (width / 2), (rows - height / 2) / (height / 2)
    x, y, z = normals[..., 0], normals[..., 1], normals[..., 2]
    parts = [np.ones_like(u), x, y, z - 0.85, u, v, u * u, v * v, shade]
    return np.dstack(parts).astype(np.float64)


def _tint(light: LightFrame, person: Pixels, own: Pixels, bright: Points) -> Points:
    """Colour of the light, log RGB (h, w, 3) without brightness: lamps of two colours are the rule."""
    at = light.table.rows, light.table.columns
    terms = np.dstack([light.tints, bright - np.median(bright[at])])
    fitted = terms[at][light.fitted]
    away = [np.log(soft + _FLOOR) - np.log(soft @ LUMA + _FLOOR)[:, None] for soft in (person, own)]
    difference = (away[0] - away[1])[light.fitted]
    ridge = np.full(terms.shape[2], 4e-3)
    ridge[0] = 0
    usual = np.zeros(len(ridge))
    found = [robust_fit(fitted, difference[:, c], light.colour, usual, ridge, 0.06, 5) for c in range(3)]
    return np.clip(np.dstack([terms @ part for part in found]), -0.8, 0.8)


def _brow_factor(light: LightFrame, own: Pixels, hair: float | None) -> float:
    if hair is None:
        return 1.0
    darkness = float(((np.log(own + _FLOOR) - np.log(own[light.upper] + _FLOOR).mean(axis=0)) @ LUMA) @ light.brows)
    wanted = -float(np.interp(-hair, *_HAIR))
    return float(np.clip(0.3 + 0.7 * wanted / min(darkness, -0.1), *_BROWS))


def _lip_shift(light: LightFrame, person: Points, own: Pixels) -> Points:
    """person (f, 3): log colours of the person with the light taken off."""
    skin = np.log(own[light.upper] + _FLOOR).mean(axis=0)
    own_lips = light.lips @ (np.log(own + _FLOOR) - skin)
    lips = own_lips + np.clip(_LIPS * (light.lips @ (person - skin) - own_lips), *_LIP_SHIFT)
    lips += min(0.0, -_LIP_DARKER - float(lips @ LUMA))
    lips += max(0.0, _LIP_REDDER - float(lips[0] - lips[1])) * np.array([0.6, -0.4, -0.2])
    shift: Points = lips - own_lips
    return shift


def _flank(model: AppearanceModel, corner: int, wing: int, lid: int) -> tuple[Pixels, Rectangle]:
    """One side of the nose, between an eye's inner corner, a wing of the nose and the cheek under a lid."""
    width, height = model.frame_size
    p = model.mean_shape
    middle = 0.85 * p[NOSE_BRIDGE] + 0.15 * p[wing]
    cheek, beside = 0.55 * p[wing] + 0.45 * p[lid], p[wing] + 0.25 * (p[wing] - p[33])
    polygon = np.concatenate([middle, [p[wing] + (0, 4), beside, cheek, p[corner] + (0, 5)]])
    hard = np.zeros((height, width), np.uint8)
    hull = cv2.convexHull(polygon.astype(np.float32)).reshape(-1, 2)
    cv2.fillPoly(hard, [np.round(hull * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    soft = np.asarray(cv2.GaussianBlur(hard.astype(np.float32) / 255, (0, 0), 2.5), np.float32)
    rows, columns = np.nonzero(soft > 0.01)
    x0, y0, x1, y1 = int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1
    return soft[y0:y1, x0:x1, None], (x0, y0, x1, y1)


def _core(mask: Pixels, least: float) -> Points:
    weights = np.where(mask > least, mask, 0).astype(np.float64)
    return weights / max(float(weights.sum()), 1e-6)


def _blur(picture: Pixels, sigma: float) -> Pixels:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT), np.float32)
