"""Follows a box drawn by hand through earlier and later frames, until a cut or until the patch in it is lost.

The patch is found again from frame to frame (`tracking.patches`). Each step is also made backwards. If it does not lead
back to where it began, the patch has slid onto something else, and following ends. It also ends where the patch no
longer looks like the drawn one. Then the reviewer sets the box anew (a key frame). Between two key frames the paths
from both are blended, so that each key frame keeps exactly its box.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Floats, Plane
from streamdeid.core.luma_pyramid import luma_pyramid
from streamdeid.tracking.patches import Small, found_again, small

_BACK = 0.12
"""Share of a box's longer side by which a backward step may miss the place where the forward step began."""
_UNLIKE = 0.2
"""Correlation with the drawn patch below which a patch is something else. A head that turns away stays above it."""
_UNLIKE_FRAMES = 3
"""Consecutive frames in which the correlation must be that low before following ends."""
_PATCH = 32
"""Sides, in pixels, of the patch that is compared."""
_TOGETHER = 64
"""Frames that are read together."""
_MOST = 1500
"""Frames in each direction after which following ends: a minute at 25 a second."""


@dataclass
class Following:
    """The state of following a box. The following thread writes it, and others read it."""

    boxes: dict[int, Box] = field(default_factory=dict)
    """Boxes found so far, by frame."""
    ends: dict[str, str] = field(default_factory=dict)
    """Why it ended, for "before" and "after": "cut", "lost", "drifts", "outside", "long", "stopped"; "damage" for both
    where the recording cannot be decoded."""
    done: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    """Another thread sets it to end following."""


Picture = Callable[[int], Small]
"""Gives a reduced frame by its number."""


class ReducedPictures:
    """Frames of a recording reduced for following. Frames before a requested one are read with it, so that going
    backwards is quick, too."""

    def __init__(self, luma: Callable[[int], Plane]) -> None:
        """luma: gives uint8 (h, w) of a frame by its number; quick when frames are asked for in order."""
        self._luma = luma
        self._kept: OrderedDict[int, Small] = OrderedDict()

    def __call__(self, number: int) -> Small:
        """The reduced frame with this number."""
        if number not in self._kept:
            forwards = number - 1 in self._kept
            for each in range(number if forwards else max(number - _TOGETHER + 1, 0), number + 1):
                self._kept[each] = small(luma_pyramid(self._luma(each)))
            while len(self._kept) > 2 * _TOGETHER:
                self._kept.popitem(last=False)
        return self._kept[number]


def follow(keys: Mapping[int, Box], scene: tuple[int, int], picture: Picture, into: Following) -> None:
    """Follow a box through a scene. keys: boxes drawn by hand, by frame, all in one scene.

    scene: its first and last frame. picture: called in steps of one frame, forwards and backwards. into: gets the
    result.
    """
    frames = sorted(keys)
    into.boxes.update(keys)
    for first, second in itertools.pairwise(frames):
        into.boxes.update(_between(first, keys[first], second, keys[second], picture, into.stop))
    for side, begin, towards in (("after", frames[-1], scene[1]), ("before", frames[0], scene[0])):
        way = _way(begin, keys[begin], towards, picture, into.stop)
        why = "cut"
        for found in way:
            if isinstance(found, str):
                why = found
            else:
                into.boxes[found[0]] = found[1]
        into.ends[side] = why
    into.done = True


def _between(first: int, box: Box, second: int, other: Box, picture: Picture, stop: threading.Event) -> dict[int, Box]:
    """Boxes of the frames between two key frames: the mean of the paths from both, weighted by nearness in time."""
    forth = dict(_found(_way(first, box, second - 1, picture, stop)))
    back = dict(_found(_way(second, other, first + 1, picture, stop)))
    result: dict[int, Box] = {}
    a, b = np.array(box), np.array(other)
    for at in range(first + 1, second):
        share = (at - first) / (second - first)
        straight = a + share * (b - a)
        sides = straight[2:] - straight[:2]
        centres = [(1 - share, _centre(forth[at]))] if at in forth else []
        centres += [(share, _centre(back[at]))] if at in back else []
        if not centres:
            centres = [(1.0, _centre(straight))]
        weight = sum(w for w, _ in centres)
        middle = np.sum([w * c for w, c in centres], axis=0) / weight
        result[at] = _box(np.concatenate([middle - sides / 2, middle + sides / 2]))
    return result


def _found(way: Iterator[tuple[int, Box] | str]) -> Iterator[tuple[int, Box]]:
    return (found for found in way if not isinstance(found, str))


def _way(
    begin: int, drawn: Box, towards: int, picture: Picture, stop: threading.Event
) -> Iterator[tuple[int, Box] | str]:
    """Boxes from after frame `begin` up to frame `towards`; if following ends earlier, the last item is the reason."""
    step = 1 if towards >= begin else -1
    box, shift = np.array(drawn, np.float64), np.zeros(2)
    before = picture(begin)
    height, width = (before.factor * side for side in before.luma.shape)
    look = _patch(before, box)
    unlike: list[int] = []
    for count, at in enumerate(range(begin + step, towards + step, step)):
        if stop.is_set() or count >= _MOST:
            yield "stopped" if stop.is_set() else "long"
            return
        after = picture(at)
        found = found_again(before, after, box, shift)
        if found is None:
            yield "lost"
            return
        again = found_again(after, before, found, box[:2] - found[:2])
        side = float((box[2:] - box[:2]).max())
        if again is None or np.abs(again - box).max() > _BACK * side:
            yield "drifts"
            return
        centre = _centre(found)
        if not (0 <= centre[0] < width and 0 <= centre[1] < height):
            yield "outside"
            return
        unlike = [*unlike, at] if _likeness(look, _patch(after, found)) < _UNLIKE else []
        if len(unlike) >= _UNLIKE_FRAMES:
            yield "drifts"
            return
        shift = 0.5 * shift + 0.5 * (found - box)[:2]
        box, before = found, after
        yield at, _box(box)


def _centre(box: Sequence[float] | Floats) -> Floats:
    b = np.asarray(box, np.float64)
    return np.asarray((b[:2] + b[2:]) / 2, np.float64)


def _box(values: Floats) -> Box:
    x0, y0, x1, y1 = (round(float(value), 2) for value in values)
    return x0, y0, x1, y1


def _patch(picture: Small, box: Floats) -> NDArray[np.float32]:
    """A box's pixels, resampled and smoothed, float32 (_PATCH, _PATCH)."""
    x0, y0, x1, y1 = box / picture.factor
    size = np.array([[(x1 - x0) / _PATCH, 0, x0], [0, (y1 - y0) / _PATCH, y0]], np.float32)
    how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    cut = cv2.warpAffine(picture.luma, size, (_PATCH, _PATCH), flags=how, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(cv2.GaussianBlur(cut, (5, 5), 0), np.float32)


def _likeness(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Correlation of two patches, -1 to 1."""
    a, b = one - one.mean(), other - other.mean()
    return float((a * b).sum() / max(np.sqrt((a * a).sum() * (b * b).sum()), 1e-6))
