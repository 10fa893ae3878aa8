"""Where a face is in frames in which the detector does not see it: places from patches, from sightings, from motion."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamdeid.tracking import kalman
from streamdeid.tracking.patches import Small, found_again

Floats = NDArray[np.float64]
Box = tuple[float, float, float, float]

MOTION = 8
"""Places from which a motion is derived."""
_SLACK, _SLACK_PER_SECOND, _SLACK_LIMIT = 0.1, 0.4, 0.4
"""Growth of a box without a sighting, on each side: shares of its sides, and of the seconds to the nearer sighting."""
_GROWTH, _GROWTH_LIMIT = 2.0, 0.75
"""Growth of a predicted box on each side: standard deviations, and the most, a share of its sides."""
_STAYS = 0.3
"""Seconds for which the last place stays covered beside the predicted one: people stop as often as they walk on."""


@dataclass(frozen=True)
class Place:
    """Where a face was."""

    time: float
    """Seconds."""
    box: Floats
    """float64 (4,), pixels."""


def motion_of(places: Sequence[Place]) -> kalman.Motion:
    """The motion after one or more places, forwards or backwards in time."""
    motion = kalman.begin(places[0].box[None])
    for last, one in itertools.pairwise(places):
        motion = kalman.predict(motion, abs(one.time - last.time))
        motion = kalman.correct(motion, np.zeros(1, dtype=np.intp), one.box[None])
    return motion


def rate_of(places: Sequence[Place]) -> Floats:
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


def predicted(places: Sequence[Place], time: float) -> Floats:
    """Where a face may be some time after (or before) its last place, which is lost and not found again, (4,)."""
    gone = abs(time - places[-1].time)
    motion = kalman.predict(motion_of(places), gone)
    last = places[-1].box
    sides = last[2:] - last[:2]  # what it seemed to grow by is not believed: it would be half the picture in a second
    reach = sides / 2 + np.minimum(_GROWTH * kalman.spread_of(motion)[0], _GROWTH_LIMIT * sides)
    centre = motion.mean[0, :2, 0]
    box = np.concatenate([centre - reach, centre + reach])
    return union(box, slack(last, gone)) if gone <= _STAYS else box


def between(before: Sequence[Place], after: Sequence[Place], time: float) -> Floats:
    """A place between sightings on either side, each one or more, in order of time, (4,)."""
    length = after[0].time - before[-1].time
    share = (time - before[-1].time) / length if length > 0 else 0.5
    straight = (1 - share) * before[-1].box + share * after[0].box
    # People turn round as often as they walk on, so the motion of the nearer side counts too.
    side = list(before[-MOTION:]) if share < 0.5 else list(after[:MOTION])[::-1]
    nearer = abs(time - side[-1].time)
    moved = kalman.boxes_of(kalman.predict(motion_of(side), nearer))[0]
    return slack(union(straight, moved), nearer, straight[2:] - straight[:2])


def trail(pictures: Sequence[Small], times: Sequence[float], places: Sequence[Place]) -> dict[float, Floats]:
    """Where a patch was before its first place, by time: as far back as it is found again.

    pictures and times: the frames from that of the first place backwards. places: the first ones, in order.
    """
    found: dict[float, Floats] = {}
    box, rate = places[0].box, rate_of(list(places)[::-1])  # of a motion that runs backwards
    for (after, later), (before, time) in itertools.pairwise(zip(pictures, times, strict=True)):
        place = found_again(after, before, box, rate * max(later - time, 0.0))
        if place is None:
            break
        box = found[time] = place
    return found
