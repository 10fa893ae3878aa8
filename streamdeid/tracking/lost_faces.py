"""Where a face is in frames in which the detector does not see it: places from patches, from sightings, from motion."""

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
"""Places from which a motion is derived."""
_SLACK, _SLACK_PER_SECOND, _SLACK_LIMIT = 0.1, 0.4, 0.3
"""Growth of a box without a sighting, on each side: shares of its sides, and of the seconds to the nearer sighting."""
_LARGEST = 1.6
"""Sides of a box where no face is seen, over those of the face it is for: larger ones hid the picture, not the face
(docs/methods.md 6.2)."""
_GROWTH = 2.0
"""Growth of a predicted box on each side, in standard deviations, as far as `_LARGEST` allows."""
_NOTHING = 1e-6
"""Pixels by which a box that is just as large as it may be can seem larger, since numbers are rounded."""


@dataclass(frozen=True)
class LostPlace:
    """Where a face was."""

    time: float
    """Seconds."""
    box: Floats
    """float64 (4,), pixels; where the camera moves, of the first picture of the scene (`noted`)."""

    @property
    def sides(self) -> tuple[float, float]:
        """Of the box, pixels."""
        x0, y0, x1, y1 = self.box.tolist()
        return x1 - x0, y1 - y0


class Bounded(NamedTuple):
    """A box of no more than the largest size."""

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
    """A box that was seen so many seconds ago, or will be, grown; sides (2,): the face's, if the box is larger."""
    growth = min(_SLACK + _SLACK_PER_SECOND * seconds, _SLACK_LIMIT) * (box[2:] - box[:2] if sides is None else sides)
    return np.concatenate([box[:2] - growth, box[2:] + growth])


def union(a: Floats, b: Floats) -> Floats:
    """The box around two boxes."""
    return np.concatenate([np.minimum(a[:2], b[:2]), np.maximum(a[2:], b[2:])])


def bounded(box: Floats, face: Floats, cut: bool = False) -> Bounded:
    """A box (4,) cut to `_LARGEST` times the sides of a face's (4,). cut: whether a part of it was cut before."""
    return within(box, _LARGEST * (face[2:] - face[:2]), cut)


def within(box: Floats, most: Floats, cut: bool = False) -> Bounded:
    """A box (4,) cut to sides (2,) of at most so much, about its own middle."""
    sides, centre = box[2:] - box[:2], (box[:2] + box[2:]) / 2
    half = np.minimum(sides, most) / 2
    return Bounded(np.concatenate([centre - half, centre + half]), cut or bool((sides > most + _NOTHING).any()))


def moved(places: Sequence[LostPlace], time: float) -> Floats:
    """Where one or more places lead to some time after (or, reversed, before) the last of them, in its size, (4,)."""
    motion = kalman.predict(motion_of(places), abs(time - places[-1].time))
    last = places[-1].box  # what it seemed to grow by is not believed: it would be half the picture in a second
    centre, half = motion.mean[0, :2, 0], (last[2:] - last[:2]) / 2
    return np.concatenate([centre - half, centre + half])


def predicted(places: Sequence[LostPlace], time: float) -> Bounded:
    """Where a face may be some time after its last place, which is lost and not found again.

    The last place is covered with the one it moves to as long as one box of the largest size holds both: people stop as
    often as they walk on.
    """
    gone = abs(time - places[-1].time)
    motion = kalman.predict(motion_of(places), gone)
    last = places[-1].box
    reach = _GROWTH * kalman.spread_of(motion)[0]
    box = moved(places, time)
    return bounded(union(box + np.concatenate([-reach, reach]), last), last)


def between(before: Sequence[LostPlace], after: Sequence[LostPlace], time: float) -> Bounded:
    """A place between sightings on either side, each one or more, in order of time."""
    length = after[0].time - before[-1].time
    share = (time - before[-1].time) / length if length > 0 else 0.5
    straight = (1 - share) * before[-1].box + share * after[0].box
    # People turn round as often as they walk on, so the motion of the nearer side counts too.
    side = list(before[-MOTION:]) if share < 0.5 else list(after[:MOTION])[::-1]
    nearer = abs(time - side[-1].time)
    going = kalman.boxes_of(kalman.predict(motion_of(side), nearer))[0]
    return bounded(slack(union(straight, going), nearer, straight[2:] - straight[:2]), straight)


def trail(frames: Sequence[Noted], places: Sequence[LostPlace]) -> Iterator[Floats]:
    """Where a patch was before its first place, frame by frame, float64 (4,): as far back as it is found again.

    frames: from that of the first place backwards. places: the first ones, in order.
    """
    box, rate = places[0].box, rate_of(list(places)[::-1])  # of a motion that runs backwards
    for after, before in itertools.pairwise(frames):
        place = followed(after, before, box, rate * max(after.time - before.time, 0.0))
        if place is None:
            return
        box = place
        yield box


def doubled(faces: Floats) -> Floats:
    """Boxes (..., 4) of twice the sides about the same middles."""
    middle, sides = (faces[..., :2] + faces[..., 2:]) / 2, faces[..., 2:] - faces[..., :2]
    return np.concatenate([middle - sides, middle + sides], axis=-1)


def near(faces: Floats, heads: Floats) -> NDArray[np.bool_]:
    """Which of some faces (n, 4) are on which heads (m, 4) or near them, or the other way round, as (n, m); boxes from
    hairline to chin."""
    return on_head(faces[:, None], doubled(heads)) | on_head(heads, doubled(faces)[:, None])


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
