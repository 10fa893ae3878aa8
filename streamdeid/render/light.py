"""Light of the scene on a surrogate: brightness and colour by the shape of a face (methods.md 2.4, 4.0 step 4, 6.3).

A face at rest is relit by a few terms: normals of the mean face, the place on it, and the amount of the general shading
of any face. Second-order terms of the normals are left out: they carry the relief of the person's own face, a strong
recogniser knows a tenth more people by them, and few viewers miss them. The terms are fitted robustly to plain skin: a
beard counts little, and eyes, brows, lips and hair nothing. So what is dark on a person does not darken the surrogate,
with two exceptions: a quarter of a lower face's darkness, which may be the chin's shade, and eye sockets that are
darker than most people's (`sockets`). In each frame the change since the face at rest is fitted in the same way, and a
little of the soft folds is added. Everything is measured in the fit's small frame. Of a person at rest, the surrogate
gets only what `StaticLight` lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import WarpTable, spread
from streamdeid.aam.surface import vertex_slopes
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA
from streamdeid.core.ibug68 import INNER_LIP
from streamdeid.core.kernel_cache import kernel
from streamdeid.render.dark_glasses import NO_LENSES, DarkGlasses, Lenses
from streamdeid.render.face_covering import NO_CLOTH, Cloth, FaceCovering
from streamdeid.render.feature_tones import FLOOR, FeatureTones, brownness
from streamdeid.render.new_face import NewFace
from streamdeid.render.nose_flanks import NoseFlanks
from streamdeid.render.robust_fit import middle_of, robust_fit
from streamdeid.render.shade_colour import LIT, shade_colour
from streamdeid.render.sockets import Sockets
from streamdeid.render.soft_skin import SoftSkin, laid, soft_level

_SIGMA = 9 / 180
"""Width of the blur of folds, over the width of the frame."""
_NOISE = 1.6
"""Blur within plain skin before logarithms are taken, pixels of the small frame: noise lowers their mean."""
_BEARD, _BEARD_COLOUR = 0.15, 0.25
"""Weights of the lower face in a fit of brightness and of colour: beards are dark."""
_BEARD_RIDGE = 1e-2
"""How firmly the term that bends from brow to chin is held: it has the shape of a beard. With this ridge and the weight
above, 13 % of a beard's darkness of 0.5 passes (60 % at a weight of 0.2 and a ridge like the others') before the lower
face is held to what is seen, and 31 % after that; rendered lamps are followed as well as without."""
_SOFT_BORDER = 0.12
"""Blur of the border between the upper and the lower face, share of the width."""
_ABOVE, _SHADOWED = 0.05, 0.25
"""Largest rendered brightness of the lower face over the upper one, natural log, unless it looks brighter; and the
rendered share of the darkness that is seen there, which may be a beard's."""
_PLACE, _BEND = slice(4, 6), 7
"""Numbers of the terms that are a place across and down, and of the one that bends from brow to chin."""
_SEEN = 0.3, 0.4
"""Share of its pixels that a place of a turned head must keep to count at all, and the range over which it comes to
count in full. From the front a face's rim has a cosine of .34 to the camera: nothing is divided by less."""
MOST = 0.9
"""Largest brightening or darkening of a place against the whole face, natural log."""
_NOSE = np.array([-0.35, -0.35]), np.array([0.35, 0.3])
"""What lies beside the nose: least and most place across and down, shares of half the frame from its middle."""
_USUAL_SHADE = 0.65
"""Share of a face's general shading that is expected before anything is seen."""
_RATIO = (0.4, 2.2)
_FOLDS = (-0.12, 0.06)
"""Bounds of soft folds, natural log."""
_WELL, FEWEST = 0.5, 12
"""How well a place must be seen to count where it counts or does not; and the fewest places that tell anything."""
_FEW, _SOME_CLOTH = 3, 0.3
"""One pixel of so many is looked at first for what is worn; share of cloth on the lower face above which all are."""
_TINT, _TOLD = 0.8, 8
"""Bound of the change of the light's colour since the face at rest, natural log; one fitted pixel of so many tells
it."""


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
    brown: float
    """How near the surrogate's irises come to brown ones, 0 to 1: blue eyes under black hair are rare."""


@dataclass(frozen=True)
class LightFrame:
    """The small frame and what is constant in it. p of its f pixels inside the mesh are plain skin that is fitted."""

    table: WarpTable
    inside: Pixels
    """float32 (h, w): blurred mask of the mesh, the normaliser of folds."""
    terms: Points
    """float64 (h, w, 9): terms of brightness; the last one is the general shading of a face."""
    tints: Points
    """float64 (h, w, 6): terms of colour, less the one that follows brightness. One is how much a place faces the
    camera: cheeks and nose shine, and the rim of a face does not."""
    studio: Pixels
    """float32 (h, w, 3): the studio's light in the training set."""
    skin: Pixels
    """float32 (f,): plain skin."""
    near: Pixels
    """float32 (f,): the plain skin, blurred."""
    fitted: NDArray[np.intp]
    """int64 (p,): numbers of the pixels that are fitted."""
    bright: Points
    """float64 (p,): weight of each for brightness."""
    colour: Points
    """float64 (p,): weight of each for colour."""
    lower: Pixels
    """float32 (h, w): `Zones.lower`, where a beard may be, with a border as soft as light."""
    features: FeatureTones
    """Where brows and lips are."""
    covering: FaceCovering
    """Where a mask may be."""
    dark_glasses: DarkGlasses
    """Where dark glasses may be."""
    worn_at_few: tuple[FaceCovering, DarkGlasses]
    """Both regions, with every third pixel only."""
    slopes: Points
    """float64 (81, 2): `surface.vertex_slopes`."""
    moving: Points
    """float64 (p, 8): the terms of brightness that change from frame to frame, where they are fitted."""
    flanks: NoseFlanks
    """The sides of the nose; a turned head shows one of them edge on."""
    sockets: Sockets
    """The eye sockets of any face."""
    normals: Points
    """float64 (f, 3): right, down and away from the camera, on the mean face."""

    @classmethod
    def of(cls, fitting: FitModel) -> LightFrame:
        """The light frame of a model's fit."""
        model, table = fitting.model, fitting.table
        size, at = table.size, (table.rows, table.columns)
        zones = Zones.of(model.mean_shape, model.frame_size[0], size)
        surface = model.normals
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
        covering, glasses = FaceCovering.of(fitting, zones), DarkGlasses.of(fitting, zones)
        few = np.arange(0, len(skin), _FEW)
        return cls(
            table,
            _blur(spread(np.ones((len(skin), 1), np.float32), table)[:, :, 0], _SIGMA * size[0]) + 1e-3,
            terms,
            np.ascontiguousarray(terms[:, :, :6]),
            studio,
            skin,
            near,
            fitted,
            (1 - (1 - _BEARD) * lower)[fitted].astype(np.float64),
            np.where(lower > 0, _BEARD_COLOUR, 1.0)[fitted],
            np.asarray(cv2.GaussianBlur(zones.lower, (0, 0), _SOFT_BORDER * size[0]), np.float32),
            FeatureTones.of(zones, shut, table),
            covering,
            glasses,
            (covering.at(few), glasses.at(few)),
            vertex_slopes(surface, model.mean_shape),
            np.ascontiguousarray(terms[at][fitted][:, :-1]),
            NoseFlanks.of(model),
            Sockets.of(table, zones, studio @ LUMA),
            normals[at].astype(np.float64) * (1, 1, -1),
        )

    @cached_property
    def beside_nose(self) -> NDArray[np.bool_]:
        """Which of the fitted pixels (p,) lie beside the nose."""
        places = self.moving[:, _PLACE]
        return np.asarray(((places > _NOSE[0]) & (places < _NOSE[1])).all(axis=1), np.bool_)

    def seen_from(self, towards: Points) -> Points:
        """How well each pixel (f,) of a head is seen, 0 to 1, if the camera looks that way (3,) in the head's own axes.

        towards: the third row of `HeadPose.rotation`. 1: the pixel keeps seven tenths of its size in the picture from
        the front or more; 0: three tenths or less. In a texture, what a turned head hides is filled in with what lies
        beside it.
        """
        left = (self.normals @ towards) / self.normals[:, 2]
        seen: Points = np.clip((left - _SEEN[0]) / _SEEN[1], 0, 1)
        return seen

    def worn_on(self, texture: Pixels, well: Points) -> tuple[Cloth, Lenses, Points]:
        """The mask and dark glasses that a small texture (f, 3) shows, and how free of them each place (f,) is, 0 to 1.

        well (f,): how well each place is seen. Every third pixel is looked at first. Cheeks behind a mask tell nothing
        of glasses. If there are glasses, the mask is looked for again, since lenses are no skin.
        """
        few = texture[::_FEW], well[::_FEW]
        covering, glasses = self.worn_at_few
        if covering.seen(*few).below < _SOME_CLOTH and glasses.seen(*few).told <= 0:
            return NO_CLOTH, NO_LENSES, np.ones(len(texture))
        cloth = self.covering.seen(texture, well)
        bare = self.covering.bare(cloth)
        lenses = self.dark_glasses.seen(texture, well * bare)
        clear = self.dark_glasses.bare(lenses)
        if lenses.told > 0:
            cloth = self.covering.seen(texture, well * clear)
            bare = self.covering.bare(cloth)
        return cloth, lenses, bare * clear

    def soft_skin(self, texture: Pixels) -> Pixels:
        """A small texture (f, 3) blurred within plain skin, float32 (f, 3)."""
        at = self.table.rows, self.table.columns
        blurred = _blur(spread(texture * self.skin[:, None], self.table), _NOISE)[at]
        return np.where(self.near[:, None] > 0.05, blurred / np.maximum(self.near, 0.05)[:, None], texture)

    def brighter(self, soft: Pixels, other: Pixels) -> Pixels:
        """How much brighter one soft skin (f, 3) is than another, natural log float32 (p,), where it is fitted."""
        return np.log((soft @ LUMA + FLOOR) / (other @ LUMA + FLOOR))[self.fitted]

    def skin_of(self, texture: Pixels) -> SoftSkin:
        """The `SoftSkin` of a small texture (f, 3)."""
        width, height = self.table.size
        luma, colour = np.zeros((height, width), np.float32), np.zeros((height, width, 3), np.float32)
        laid(texture, self.skin, self.table.rows, self.table.columns, LUMA, luma, colour)
        level = np.empty(len(self.fitted), np.float32)
        at = self.table.rows, self.table.columns, self.fitted
        soft_level(texture, _blur(luma, _NOISE), self.near, *at, LUMA, level)
        folds = _blur(colour, _SIGMA * width) / self.inside[:, :, None] + np.float32(FLOOR)
        return SoftSkin(level, folds)

    def soft(self, texture: Pixels) -> Pixels:
        """The picture float32 (h, w, 3) of a small texture (f, 3), blurred to the scale of folds."""
        return _blur(spread(texture, self.table), _SIGMA * self.table.size[0]) / self.inside[:, :, None]


def static_light(
    light: LightFrame, neutral: Pixels, face: NewFace, well: Points, hair: float | None = None
) -> StaticLight:
    """The light of a person's small neutral texture (f, 3) on a surrogate. hair: log darkness of the person's hair.

    well (f,): `LightFrame.seen_from` of the head in the texture.
    """
    at = light.table.rows, light.table.columns
    person, own = light.soft_skin(neutral), light.soft_skin(face.small_texture)
    level = light.brighter(person, own)
    ridge = np.full(light.terms.shape[2], 1e-3)
    ridge[0], ridge[_BEND], ridge[-1] = 0, _BEARD_RIDGE, 1e-4
    usual = np.zeros(len(ridge))
    usual[-1] = _USUAL_SHADE
    terms, weights = light.terms[at][light.fitted], light.bright * well[light.fitted]
    # Hair may lie over more than half of a turned face, and seldom beside the nose.
    beside = light.beside_nose
    begin = middle_of((level - terms @ usual)[beside], weights[beside]) if weights[beside].sum() >= FEWEST else -np.inf
    found = robust_fit(terms, level, weights, usual, ridge, 0.12, 6, begin)
    bright = np.clip(light.terms[:, :, :-1] @ found[:-1] - found[0], -MOST, MOST) + found[0]
    shade = (light.studio @ LUMA)[:, :, None] * np.float32(np.clip(found[-1], 0, 1))
    bright = _held_below(light, bright, level - shade[at][light.fitted, 0], well[light.fitted])
    tint = _tint(light, person, own * np.exp(shade[at]), bright, well)
    towards = np.array([0.7 * np.clip(2 * found[1], -1, 1), -0.75 + 0.3 * np.clip(2 * found[2], -1, 1)])
    there = np.log(neutral + FLOOR) - (bright[:, :, None] + tint)[at]
    field = np.asarray(bright[:, :, None] + tint + shade, np.float32)
    darker = light.sockets.darker(neutral, face.small_texture * np.exp(field[at]), well)
    field += np.float32(darker) * light.sockets.studio[:, :, None]
    lit, seen = face.small_texture * np.exp(field[at]), light.bright * well[light.fitted]
    field += shade_colour(lit, light.soft_skin(lit), person, light.fitted, seen, light.table)
    return StaticLight(
        field,
        towards / max(float(np.linalg.norm(towards)), 1e-6),
        light.features.brow_factor(face.small_texture, hair),
        light.features.lip_shift(there, face.small_texture, well),
        brownness(hair),
    )


def _held_below(light: LightFrame, bright: Points, seen: Points, well: Points) -> Points:
    """The brightness (h, w) of the light, with the lower face held to the brightness that is seen (p,).

    well (p,): how well it is seen. The terms follow the upper face; the lower one is brighter only if it looks so.
    """
    at = light.table.rows[light.fitted], light.table.columns[light.fitted]
    below, fitted = light.lower[at] > 0.5, bright[at]
    best = float(well[below].max())
    told = float(np.median(seen[below & (well >= min(_WELL, best))]))
    rendered, above = float(np.median(fitted[below])), float(np.median(fitted[~below]))
    told = above + min(1.0, best / _WELL) * (told - above)  # behind a mask nothing of it is seen
    most = max(above + _ABOVE, told)
    held = min(rendered, most)
    held += _SHADOWED * max(min(told - held, 0.0), -MOST)
    return np.asarray(bright + (held - rendered) * light.lower, np.float64)


def light_change(
    light: LightFrame, now: SoftSkin, rest: SoftSkin, well: Points, before: float = -np.inf
) -> tuple[Pixels, float]:
    """The log gain float32 (h, w, 1) of light and folds in a frame, and its mean over the skin.

    now, rest: `LightFrame.skin_of` the frame's and the neutral's small texture. well (f,): how well a place is seen in
    both (`LightFrame.seen_from`); where next to none is, nothing changes. before: that mean a frame ago (`robust_fit`).
    """
    change = np.zeros(light.terms.shape[:2], np.float32)
    weights, mean = light.bright * well[light.fitted], before
    if weights.sum() >= FEWEST:
        ridge = np.full(light.moving.shape[1], 2e-3)
        ridge[0] = 0
        found = robust_fit(light.moving, now.level - rest.level, weights, np.zeros(len(ridge)), ridge, 0.1, 3, before)
        mean = float(weights @ (light.moving @ found) / weights.sum())
        folds = now.folds
        if well.min() < 1:
            # Beyond the mesh as at its rim: with nothing there turned heads had a line of other light about the face.
            folds = rest.folds + well.astype(np.float32)[light.table.nearest, None] * (folds - rest.folds)
        _changed(light.terms, found, folds, rest.folds, LUMA, change)
    return change[:, :, None], mean


def tint_change(light: LightFrame, now: SoftSkin, rest: SoftSkin, well: Points) -> Points:
    """Change of the light's colour since the face at rest, log RGB float64 (3,) without brightness.

    For a person who walks from a window to a lamp, or a camera that adapts. One colour for the whole face, as most of
    its skin shows. well (f,): how well a place is seen in both; none changes where next to none is.
    """
    at = light.fitted[::_TOLD]
    at = at[well[at] > _WELL]
    if len(at) < FEWEST:
        return np.zeros(3)
    rows, columns = light.table.rows[at], light.table.columns[at]
    there, before = now.folds[rows, columns], rest.folds[rows, columns]
    with np.errstate(invalid="ignore", divide="ignore"):
        away = np.log(there / before) - np.log((there @ LUMA) / (before @ LUMA))[:, None]
    found: Points = np.clip(np.median(away, axis=0), -_TINT, _TINT).astype(np.float64)
    return found


@kernel
def _changed(terms, found, now, rest, luma, out):  # type: ignore[no-untyped-def]
    """Add up terms (h, w, 9) with coefficients (8,), bounded, and the folds between two soft pictures (h, w, 3)."""
    height, width = out.shape
    for y in range(height):
        for x in range(width):
            change = 0.0
            for j in range(len(found)):
                change += terms[y, x, j] * found[j]
            change = min(max(change, -MOST), MOST) if change == change else change  # NaN stays NaN
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


def _tint(light: LightFrame, person: Pixels, own: Pixels, bright: Points, well: Points) -> Points:
    """The colour of the light, log RGB (h, w, 3) without brightness: lamps of two colours are the rule."""
    luma, seen = (person @ LUMA)[light.fitted] + FLOOR, well[light.fitted]
    lit = np.quantile(luma[seen > _WELL] if (seen > _WELL).any() else luma, LIT)
    weights = light.colour * seen * np.minimum(luma / lit, 1)
    at = light.table.rows, light.table.columns
    terms = np.dstack([light.tints, bright - np.median(bright[at])])
    fitted = terms[at][light.fitted]
    away = [np.log(soft + FLOOR) - np.log(soft @ LUMA + FLOOR)[:, None] for soft in (person, own)]
    difference = (away[0] - away[1])[light.fitted]
    ridge = np.full(terms.shape[2], 4e-3)
    ridge[0] = 0
    found = [robust_fit(fitted, difference[:, c], weights, np.zeros(len(ridge)), ridge, 0.06, 5) for c in range(3)]
    return np.clip(np.dstack([terms @ part for part in found]), -0.8, 0.8)


def _blur(picture: Pixels, sigma: float) -> Pixels:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT), np.float32)
