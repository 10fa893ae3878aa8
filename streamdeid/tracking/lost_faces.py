"""Places of faces in frames in which the detector does not see them: from patches, from sightings, from motion."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Floats
from streamdeid.core.faces import Track
from streamdeid.core.heads import on_head
from streamdeid.tracking import kalman
from streamdeid.tracking.noted import Noted, followed

MOTION = 8
"""Number of places from which a motion is derived."""
_SLACK, _SLACK_PER_SECOND, _SLACK_LIMIT = 0.1, 0.4, 0.3
"""Growth of a box without a sighting, on each side: shares of its sides, and of the seconds to the nearer sighting."""
_LARGEST = 1.6
"""Largest sides of a box where no face is seen, over those of its face: larger boxes hid the picture, not the face
(docs/methods.md 6.2)."""
_GROWTH = 2.0
"""Growth of a predicted box on each side, in standard deviations, as far as `_LARGEST` allows."""
_NOTHING = 1e-6
"""Pixels by which rounding can make a box seem larger than the largest size."""


@dataclass(frozen=True)
class LostPlace:
    """Where a face was at some time."""

    time: float
    """Seconds."""
    box: Floats
    """float64 (4,), pixels; where the camera moves, in the first picture of the scene (`noted`)."""

    @property
    def sides(self) -> tuple[float, float]:
        """Width and height of the box, pixels."""
        x0, y0, x1, y1 = self.box.tolist()
        return x1 - x0, y1 - y0


class Bounded(NamedTuple):
    """A box that is at most as large as allowed."""

    box: Floats
    """float64 (4,), pixels."""
    cut: bool = False
    """Whether it would have been larger."""


def motion_of(places: Sequence[LostPlace]) -> kalman.Motion:
    """The motion after one or more places, forwards or backwards in time."""
    return kalman.seen_at(np.array([place.box for place in places]), np.array([place.time for place in places]))


def rate_of(places: Sequence[LostPlace]) -> Floats:
    """Pixels per second, float64 (2,), at the last of one or more places."""
    rate: Floats = motion_of(places).mean[0, :2, 1]
    return rate


def slack(box: Floats, seconds: float, sides: Floats | None = None) -> Floats:
    """The box of a face that was, or will be, seen so many seconds away, grown. sides (2,): the face's, if smaller."""
    growth = min(_SLACK + _SLACK_PER_SECOND * seconds, _SLACK_LIMIT) * (box[2:] - box[:2] if sides is None else sides)
    return np.concatenate([box[:2] - growth, box[2:] + growth])


def union(a: Floats, b: Floats) -> Floats:
    """The box around two boxes."""
    return np.concatenate([np.minimum(a[:2], b[:2]), np.maximum(a[2:], b[2:])])


def bounded(box: Floats, face: Floats, cut: bool = False) -> Bounded:
    """A box (4,) cut to `_LARGEST` times the sides of a face's box (4,). cut: whether a part was cut before."""
    return within(box, _LARGEST * (face[2:] - face[:2]), cut)


def within(box: Floats, most: Floats, cut: bool = False) -> Bounded:
    """A box (4,) cut to the largest sides (2,) about its own middle. cut: whether a part was cut before."""
    sides, centre = box[2:] - box[:2], (box[:2] + box[2:]) / 2
    half = np.minimum(sides, most) / 2
    return Bounded(np.concatenate([centre - half, centre + half]), cut or bool((sides > most + _NOTHING).any()))


def moved(places: Sequence[LostPlace], time: float) -> Floats:
    """Box (4,) to which one or more places lead at a later (or, reversed, earlier) time, with the last one's size."""
    motion = kalman.predict(motion_of(places), abs(time - places[-1].time))
    last = places[-1].box  # predicted growth is not believed: the box would fill half the picture in a second
    centre, half = motion.mean[0, :2, 0], (last[2:] - last[:2]) / 2
    return np.concatenate([centre - half, centre + half])


def predicted(places: Sequence[LostPlace], time: float) -> Bounded:
    """Where a lost face that is not found again may be some time after its last place.

    The box holds the last place and the predicted place, as long as one box of the largest size holds both: people stop
    as often as they walk on.
    """
    gone = abs(time - places[-1].time)
    motion = kalman.predict(motion_of(places), gone)
    last = places[-1].box
    reach = _GROWTH * kalman.spread_of(motion)[0]
    box = moved(places, time)
    return bounded(union(box + np.concatenate([-reach, reach]), last), last)


def between(before: Sequence[LostPlace], after: Sequence[LostPlace], time: float) -> Bounded:
    """The place at a time between two series of places, each with one place or more, in order of time."""
    length = after[0].time - before[-1].time
    share = (time - before[-1].time) / length if length > 0 else 0.5
    straight = (1 - share) * before[-1].box + share * after[0].box
    # People turn round as often as they walk on, so the motion of the nearer side counts, too.
    side = list(before[-MOTION:]) if share < 0.5 else list(after[:MOTION])[::-1]
    nearer = abs(time - side[-1].time)
    going = kalman.boxes_of(kalman.predict(motion_of(side), nearer))[0]
    return bounded(slack(union(straight, going), nearer, straight[2:] - straight[:2]), straight)


def trail(frames: Sequence[Noted], places: Sequence[LostPlace]) -> Iterator[Floats]:
    """Where a patch was before its first place, frame by frame, float64 (4,), as far back as it is found again.

    frames: from the frame of the first place backwards. places: the first places, in order.
    """
    box, rate = places[0].box, rate_of(list(places)[::-1])  # the motion runs backwards
    for after, before in itertools.pairwise(frames):
        place = followed(after, before, box, rate * max(after.time - before.time, 0.0))
        if place is None:
            return
        box = place
        yield box


def doubled(faces: Floats) -> Floats:
    """Boxes (..., 4) with twice the sides about the same middles."""
    middle, sides = (faces[..., :2] + faces[..., 2:]) / 2, faces[..., 2:] - faces[..., :2]
    return np.concatenate([middle - sides, middle + sides], axis=-1)


def near(faces: Floats, heads: Floats) -> NDArray[np.bool_]:
    """Which faces (n, 4) are on or near which heads (m, 4), or the other way round, (n, m); all boxes are from hairline
    to chin."""
    return on_head(faces[:, None], doubled(heads)) | on_head(heads, doubled(faces)[:, None])


def at_border(box: Box, size: tuple[int, int] | None, beside: float = 0.0) -> bool:
    """Whether the border of a picture of this size cuts the box in which a lost face is or may be, or is no farther
    from it than a share of its longer side; True for an unknown size."""
    if size is None:
        return True
    x0, y0, x1, y1 = box
    return min(x0, y0, size[0] - x1, size[1] - y1) < beside * max(x1 - x0, y1 - y0)


def outside(box: Floats, size: tuple[int, int] | None) -> bool:
    """Whether a box (4,) lies outside a picture of this size; False for an unknown one."""
    return size is not None and bool((box[2:] <= 0).any() or (box[:2] >= size).any())


def corners(box: Floats) -> Box:
    """A box (4,) as four numbers."""
    x0, y0, x1, y1 = (float(value) for value in box)
    return x0, y0, x1, y1


def face_in(track: Track) -> Box:
    """Where the face of a lost track is expected, pixels: in the middle of its place, in its own size."""
    if track.sides is None:
        return track.box
    middle, half = np.reshape(track.box, (2, 2)).mean(axis=0), np.array(track.sides) / 2
    return corners(np.concatenate([middle - half, middle + half]))
