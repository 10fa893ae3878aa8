"""The light of a turned head: a plane over the half that is seen; the other tells nothing (methods.md 6.3 item 4)."""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Pixels, Points
from streamdeid.observe.turned_view import TurnedView
from streamdeid.render.light import FEWEST, MOST, LightFrame
from streamdeid.render.robust_fit import robust_fit
from streamdeid.render.soft_skin import SoftSkin

_NEAR = 0.15, 0.3
"""How far beyond the middle of the face a pixel still counts, and the range over which it fades, in halves of the
width."""
_FARTHEST = 0.2
"""How far the plane goes on beyond the middle, in halves of the width: the far half was not seen."""
_SPREAD = 0.1
"""Deviation, natural log, from which a pixel counts less."""
_ACROSS, _DOWN = 4, 5
"""Terms of `LightFrame` for the place on the face, from -1 to 1."""


def turned_change(
    light: LightFrame,
    now: SoftSkin,
    rest: SoftSkin,
    change: Pixels,
    view: TurnedView,
    well: Points,
    before: float = -np.inf,
) -> Pixels:
    """A frame's change of light, natural log float32 (h, w, 1), blended into a plane as the head turns.

    now, rest: of the frame's small texture and of the neutral's. change: `light_change`, which holds where the face is
    rendered flat. well (f,): how well a place is seen in both; where next to none of the near half is, the change stays
    as it is. before: as of `light_change`.
    """
    terms = light.moving[:, [0, _ACROSS, _DOWN]]
    side = float(np.sign(view.pose.yaw))
    near = np.clip((side * terms[:, 1] + _NEAR[0]) / _NEAR[1], 0, 1) * well[light.fitted]
    if near.sum() < FEWEST:
        return change
    ridge = np.array([0, 4e-3, 4e-3])
    found = robust_fit(terms, now.level - rest.level, light.bright * near, np.zeros(3), ridge, _SPREAD, 4, before)
    across = np.maximum(side * light.terms[:, :, _ACROSS], -_FARTHEST) * side
    plane = np.clip(found[0] + found[1] * across + found[2] * light.terms[:, :, _DOWN], -MOST, MOST)[:, :, None]
    return np.asarray(change + np.float32(view.share) * (plane - change), np.float32)
