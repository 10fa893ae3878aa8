"""The surrogate's own shape with the gesture of a turned head: no point of the person is transferred by itself.

A mouth is opened, widened and lifted alike on both sides, so it cannot slant, however badly the far side was seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.surface import slid_depth
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import (
    CHIN,
    INNER_LIP,
    JAW,
    LEFT_BROW,
    LEFT_EYE,
    MOUTH,
    MOUTH_CORNERS,
    OUTLINE,
    RIGHT_BROW,
    RIGHT_EYE,
    RIGID,
)
from streamdeid.observe.turned_view import Gesture
from streamdeid.render.at_ease import faced

_UPPER = np.array([49, 50, 51, 52, 53, 61, 62, 63])
_LOWER = np.array([55, 56, 57, 58, 59, 65, 66, 67])
_PAIRS = np.array([[61, 67], [62, 66], [63, 65]])
_CHIN_REACH = 3.5
"""Number of points of the jaw on either side of the chin that go down with it."""
_CHIN_FOLLOWS = 0.8
"""How far the chin goes down for a pixel of the lower lip."""
_BACK = 0.3
"""How far lower lip and chin go back for a pixel down: the jaw turns about a joint by the ear."""
_PULLED_BACK = 0.3
"""How far the corners of the mouth go back for a pixel outwards."""
_SMILE_PULLS = 6.0
"""Pixels by which a smile pulls the corners outwards."""
_SMILING = np.concatenate([np.arange(31, 36), np.arange(48, 68)])
"""Points that follow a smile: nostrils and mouth. Eyes and brows have numbers of their own."""
_STEP = 0.12
"""The outline is grown by this share of its distance from the middle, or not at all; what the person's own outline
reaches beyond is filled in (`turned_rim`). With as many steps of 0.06 as are needed, these three numbers alone told 67
% of 26 tracks of 11 clips apart by what was rendered of them before; with this one step 15 %."""
_HOLDS = 0.25
"""Distance of the need from the step, in steps, from which the growth changes."""
_EASE = 0.15
"""Share of the way to a new growth that is covered in one frame."""
_SIDES, _BOTTOM, _TOP = [0, 1, 2, 3, 13, 14, 15, 16, 68, 80], slice(5, 12), slice(71, 78)


@dataclass(frozen=True)
class RestingSolid:
    """A surrogate at rest, at ease, that looks where the mean face looks."""

    shape: Points
    """float64 (81, 2), the model's frame."""
    depth: Points
    """float64 (81,)."""

    @classmethod
    def of(cls, shape: Points, model: AppearanceModel, slopes: Points | None = None) -> RestingSolid:
        """The solid of a surrogate's shape (81, 2).

        slopes (81, 2): how much farther away the surface of the mean face gets at each point for a pixel right and down
        (`aam.surface`); without them the depth is the mean's.
        """
        rest = faced(shape, model.mean_shape, model.depth)
        if slopes is None:
            return cls(rest, model.depth)
        return cls(rest, slid_depth(model.depth, rest - model.mean_shape, slopes))


class Growth:
    """The growth of the outline of a track's surrogate, so that the person's head lies behind it.

    It is three numbers in coarse steps, for sides, bottom and top, which ease from one step to the next.
    """

    def __init__(self) -> None:
        self._step: Points | None = None
        self._now = np.ones(3)

    def __call__(self, shape: Points, own: Points, fresh: bool) -> Points:
        """The outline (30, 2) of a shape (81, 2), grown; own (81, 2): the person's points in the same frame."""
        outline, centre = shape[OUTLINE], shape[OUTLINE].mean(axis=0)
        there = own[OUTLINE] - (own - shape)[RIGID].mean(axis=0)
        reach = np.linalg.norm(there - centre, axis=1) / np.maximum(np.linalg.norm(outline - centre, axis=1), 1e-6)
        ratio = np.ones(len(own))
        ratio[OUTLINE] = reach
        need = np.array([_most_of(ratio[part]) for part in (_SIDES, _BOTTOM, _TOP)])
        if fresh or self._step is None:
            self._now = self._step = _stepped(need)
        clear = np.abs(need - (1 + _STEP)) > _HOLDS * _STEP
        self._step = np.where(clear, _stepped(need), self._step)
        self._now = self._now + _EASE * (self._step - self._now)
        ray = outline - centre
        up = ray[:, 1] / np.maximum(np.linalg.norm(ray, axis=1), 1e-9)
        sides, bottom, top = self._now
        factor = (1 - up**2) * sides + up**2 * np.where(up > 0, bottom, top)
        grown: Points = centre + ray * factor[:, None]
        return grown


def _most_of(values: Points) -> float:
    """The value that four fifths of values (n,) do not exceed."""
    return float(np.sort(values)[int(0.8 * (len(values) - 1))])


def _stepped(need: Points) -> Points:
    return np.where(need >= 1 + _STEP, 1 + _STEP, 1.0)


def gestured(rest: RestingSolid, gesture: Gesture, smile: Points) -> RestingSolid:
    """A surrogate at rest with a gesture of eyes and mouth.

    smile (81, 2): how far a whole smile moves each point (`AppearanceModel.smile`).
    """
    shape, depth = rest.shape.copy(), rest.depth.copy()
    shape[_SMILING] += gesture.smile * smile[_SMILING]
    _move_mouth(shape, depth, gesture)
    for lids, opened in zip((LEFT_EYE, RIGHT_EYE), gesture.lids, strict=True):
        shape[lids] = _opened(shape[lids], opened)
    for brow, raised in zip((LEFT_BROW, RIGHT_BROW), gesture.raised, strict=True):
        shape[brow, 1] -= raised
    return RestingSolid(shape, depth)


def _move_mouth(shape: Points, depth: Points, gesture: Gesture) -> None:
    """Shut the mouth of a shape at rest (81, 2) and open it by the gesture, in place; its depth (81,) likewise."""
    between = shape[_PAIRS].mean(axis=1)
    shape[_PAIRS[:, 0]], shape[_PAIRS[:, 1]] = between, between
    left, right = shape[list(MOUTH_CORNERS)]
    middle, half = (left + right) / 2, max(float(np.linalg.norm(right - left)) / 2, 1e-6)
    across = np.clip((shape[MOUTH, 0] - middle[0]) / half, -1, 1)
    arch = np.zeros(len(shape))
    arch[MOUTH] = 1 - across**2
    shape[MOUTH, 0] += gesture.wider * across
    depth[MOUTH] += _PULLED_BACK * (gesture.wider + gesture.smile * _SMILE_PULLS) * across**2
    first, last = INNER_LIP.start, INNER_LIP.start + 4
    lower = max(float(shape[last, 0] - shape[first, 0]) * gesture.gape - gesture.upper, 0.0)
    shape[_UPPER, 1] -= gesture.upper * np.sqrt(arch[_UPPER])
    # Above the lowest point an open mouth is an oval: its lips leave the corners steeply.
    shape[_LOWER, 1] += lower * np.sqrt(arch[_LOWER])
    depth[_LOWER] += _BACK * lower * np.sqrt(arch[_LOWER])
    corners = [first, last]
    shape[corners, 1] += 0.5 * (lower - gesture.upper) * np.sqrt(arch[corners])
    near = np.exp(-(((np.arange(JAW.stop) - CHIN) / _CHIN_REACH) ** 2))
    shape[JAW, 1] += _CHIN_FOLLOWS * lower * near
    depth[JAW] += _BACK * lower * near


def _opened(lids: Points, share: float) -> Points:
    """Lids (6, 2) whose distance from the line of their corners is scaled."""
    along = lids[3] - lids[0]
    foot = lids[0] + np.outer((lids - lids[0]) @ along / max(float(along @ along), 1e-9), along)
    moved: Points = foot + share * (lids - foot)
    return moved
