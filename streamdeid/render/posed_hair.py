"""Where hair lies in a posed face's region, and its colour: so that the filling leaves a head of hair on a head.

A region reaches over the hairline. What is published beside its upper edge is hair above and a wall or a floor at the
sides; a mean of both is the hair of an old man. So where the mean head bears hair, from the hairline to the scalp's
outline, the filling has the one colour that is published just above the region, as far as the scalp reaches beyond it
there. Whether that is hair, a cap or bald skin is not asked. Nothing of the picture inside the region is looked at.
Where the scalp reaches nowhere beyond the region, or directions disagree, there is no colour but that of frames before.
Of somebody whose hair is known to be dark what is much lighter there is no hair, and hair as dark is shown instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streamdeid.aam.pose import HeadPose
from streamdeid.aam.smooth_step import smooth_step
from streamdeid.aam.solid_face import seen as seen_by
from streamdeid.core.arrays import Points
from streamdeid.core.convex import convex
from streamdeid.core.kernel_cache import kernel
from streamdeid.observe.hair_darkness import FLOOR
from streamdeid.render.posed_region import HAIRLINE

_MIDDLE, _RADII = np.array([99.5, 40.0, 118.0]), np.array([116.0, 140.0, 147.0])
"""Ellipsoid of the mean head with its hair, pixels of the model's frame and depth. A frame's pixel is 0.7 mm of a mean
head; a bare one is some 152 mm broad, 195 long and 228 from chin to vertex, and the rest is short hair. With sides of
110 instead of 116 hair was no different (`posed_tone`, seven clips)."""
_POINTS = 160
_EARS, _NAPE, _BACK = 30.0, 130.0, 150.0
"""How far down the frame hair grows before and behind the depth of the ears, and that depth, pixels of the frame."""
_BROW = 30.0, -42.0
"""What lies at less depth, and below this line, is forehead."""
_ABOVE = 30.0
"""Angle from the direction of the crown at which the colour beside the region counts 0.6, degrees."""
_SIDES = 40.0, 85.0
"""Angle from the crown at which hair begins to go over into what is beside a face, and where there is none, degrees."""
_ENOUGH = 0.3
"""Share of the weights of all directions from which the colour is fully known: of a head that nods up only the flanks
of the scalp reach beyond the region, and they show the wall."""
_NEWEST = 0.2
"""Weight of the newest frame in the running means, as soon as there are enough for that."""
_UNLIKE = 20.0, 40.0
"""Mean distance of the colours from their middle, grey levels of luma and chroma added, from which hair is doubtful,
and at which there is none: where the pose is wrong, half of the directions show a chair. In cctv_classroom, which chose
it, 85 of 100 faces have less than 17."""

_GREY, _MEAN, _TINGED = 128.0, 0.75, 0.35
"""The grey of chroma; the mean darkness of hair over that of its darkest, which is what is measured; and share of the
skin's colour that dark hair has in the same light."""
_DARK = -0.3, -0.7
"""How dark the hair must be at least for its darkness to be shown, and from where it is shown in full: of white hair
the darkest strands were a grey cap (crowd_1080p)."""
_LIGHTER = 0.15, 0.4
"""How much lighter than the person's hair, natural log, what lies above the region may be to be taken for hair, and
from where it is none: walls above a head that is posed too high were a bald crown (dinner), or a cap (friends2)."""


def _scalp() -> Points:
    """Points (n, 3) of the ellipsoid that bear hair, evenly spread (Fibonacci's lattice)."""
    place = np.arange(_POINTS) + 0.5
    height, around = 1 - 2 * place / _POINTS, np.pi * (1 + 5**0.5) * place
    flat = np.sqrt(1 - height**2)
    points = _MIDDLE + _RADII * np.column_stack([flat * np.cos(around), height, flat * np.sin(around)])
    y, depth = points.T[1:]
    bears = (y < np.where(depth > _BACK, _NAPE, _EARS)) & ~((depth < _BROW[0]) & (y > _BROW[1]))
    scalp: Points = points[bears]
    return scalp


SCALP = _scalp()
"""float64 (n, 3): points of the mean head that bear hair, pixels of the model's frame and depth."""
CROWN = np.array([[99.5, -95.0, 20.0]])
"""float64 (1, 3): the point of the mean head, pixels of the model's frame and depth, whose direction is upwards."""
_ALL = np.concatenate([HAIRLINE, SCALP, CROWN])


@dataclass(frozen=True)
class HairPlace:
    """Where a head bears hair, pixels of the picture."""

    face: Points
    """float64 (n, 2): hull of the face up to the hairline."""
    scalp: Points
    """float64 (m, 2): hull of what bears hair."""
    crown: Points
    """float64 (2,): where `CROWN` is seen."""

    @classmethod
    def of(cls, view: HeadPose, mesh: Points) -> HairPlace:
        """The place on the mean head at a view. mesh (m, 3): the face that is rendered there, pixels."""
        seen = seen_by(_ALL, view)[:, :2]
        return cls(
            convex(np.concatenate([mesh[:, :2], seen[: len(HAIRLINE)]])), convex(seen[len(HAIRLINE) : -1]), seen[-1]
        )


@dataclass
class HairColour:
    """The colour of a head's hair and how surely it is known, as running means over the frames that show the head."""

    colour: Points = field(default_factory=lambda: np.zeros(3))
    """float64 (3,): luma and chroma."""
    known: float = 0.0
    """0 to 1."""
    dark: float | None = None
    """Natural log of the brightness of the darkest hair over that of the skin (`HairDarkness`), if known."""
    _frames: int = 0

    def see(self, apart: Points, reaches: Points, outside: Points, rim: float) -> None:
        """Take in what a frame shows; where nothing is free above the region, nothing changes.

        apart (a,): angles of the directions from that of the crown, degrees. reaches (a, 4): how far mesh, region,
        hairline and scalp reach in each, pixels. outside (a, 4): sums of the colours just outside the region, within
        the breadth of its soft rim, and their number.
        """
        near = np.exp(-0.5 * (apart / _ABOVE) ** 2)
        weights = np.clip((reaches[:, 3] - reaches[:, 1]) / rim, 0, 1) * near * (outside[:, 3] > 0)
        total = float(weights.sum())
        if total <= 0:
            return
        weights /= total
        colours = outside[:, :3] / np.maximum(outside[:, 3:], 1)
        order = np.argsort(colours[:, 0], kind="stable")
        halved = np.diff(np.clip(np.cumsum(weights[order]), 0.25, 0.75), prepend=0.25)
        colour = 2 * (halved @ colours[order])
        spread = float(weights @ np.abs(colours - colour).sum(axis=1))
        agreed = min(max((_UNLIKE[1] - spread) / (_UNLIKE[1] - _UNLIKE[0]), 0.0), 1.0)
        known = agreed * min(total / (_ENOUGH * float(near.sum())), 1.0)
        self._frames += 1
        share = max(_NEWEST, 1 / self._frames)
        if known > 0:  # of a colour that was hardly known little is left
            weight = share * known / (share * known + (1 - share) * self.known)
            self.colour = self.colour + weight * (colour - self.colour)
        self.known += share * (known - self.known)

    def shown(self, skin: Points, levels: tuple[int, int]) -> tuple[Points, float]:
        """The colour (3,) to show, and how surely there is hair, 0 to 1. skin (3,): the colour of the face's skin.

        What lies above the region is no hair where it is much lighter than the person's hair is known to be.
        levels: luma of black and white (darkness was measured between 0 and 255).
        """
        told = 0.0 if self.dark is None else float(np.clip((_DARK[0] - self.dark) / (_DARK[0] - _DARK[1]), 0, 1))
        if self.dark is None or told == 0:
            return self.colour, self.known
        black, white = levels
        floor = FLOOR * (white - black) / 255 - black
        luma = max((skin[0] + floor) * np.exp(_MEAN * self.dark) - floor, black)
        dark = np.array([luma, *(_GREY + _TINGED * (skin[1:] - _GREY))])
        lighter = np.log((max(self.colour[0], luma) + floor) / (luma + floor))
        wall = told * float(np.clip((lighter - _LIGHTER[0]) / (_LIGHTER[1] - _LIGHTER[0]), 0, 1))
        above = self.known * (1 - wall)
        known = above + told * (1 - above)
        return dark + above / known * (self.colour - dark), known

    def amount(self, apart: Points, reaches: Points, soft: float, known: float) -> Points:
        """How much of what lies between hairline and scalp is hair in each direction, (a,), 0 to 1: less towards the
        sides. apart, reaches: as of `see`. soft: breadth of the hairline, pixels. known: as of `shown`."""
        sides = smooth_step((_SIDES[1] - apart) / (_SIDES[1] - _SIDES[0]))
        bears: Points = known * np.clip((reaches[:, 3] - reaches[:, 2]) / soft, 0, 1) * sides
        return bears


@kernel
def reach_of(middle, dx, dy, corners):  # type: ignore[no-untyped-def]
    """Where a ray from a place in a direction (dx, dy) of length 1 leaves a convex polygon (n, 2), pixels; 0 where it
    never meets it. The place may lie outside."""
    far = 0.0
    for i in range(len(corners)):
        ax, ay = corners[i - 1, 0] - middle[0], corners[i - 1, 1] - middle[1]
        bx, by = corners[i, 0] - middle[0], corners[i, 1] - middle[1]
        before, after = dx * ay - dy * ax, dx * by - dy * bx
        if before * after <= 0 and before != after:
            share = before / (before - after)
            far = max(far, dx * (ax + share * (bx - ax)) + dy * (ay + share * (by - ay)))
    return far
