"""Labelled clips made harder at run time (for `recall --made`), with their labels moved along.

Nobody has labelled clips of dome cameras, of infrared light or of five frames a second, so they are made of those that
are labelled: what is known of the heads stays known, and the unchanged clip is the control. Pixels must be square."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from benchmarks.clips import encode
from benchmarks.recall.changes import (
    CHANGES,
    DARK,
    DIM,
    FISHEYE,
    GREY,
    HALF,
    MIRRORED,
    MOVES,
    NARROW,
    SOFT,
    TILTED,
    TURNED,
    UPSIDE_DOWN,
    WALL,
    Size,
    copies_along,
)
from benchmarks.recall.truth import CLASSES, UNSURE, Clip, Head
from streamdeid.core.frames import Frame, Planes
from streamdeid.lab.attacks.gaps import Box
from streamdeid.video.files.source import FileSource

UNCHANGED = "unchanged"
BLOCKS, FIVE, PANNED, CUT = "blocks", "five", "panned", "cut"
"""Strong compression; five to seven frames a second; a window of two thirds of each side that pans over the clip and
shakes, as by a camera that is turned or carried; the picture ends where that cuts off a part of most faces, as of
people who come in or sit at the border."""
VARIANTS = (
    BLOCKS, FIVE, TURNED, UPSIDE_DOWN, TILTED, FISHEYE, GREY, DIM, DARK, SOFT, HALF, NARROW, MIRRORED, WALL, PANNED,
    CUT,
)  # fmt: skip
_COARSE, _FINE = 44, 12
"""Quality (libx264's crf) of `blocks`, and of what is to lose nothing to the encoder."""
_PER_SECOND = 5
_AFTER = 2.0
"""Seconds that are kept after the last label, for the filter's look-ahead."""

_WINDOW, _ROUND, _SHAKE = 2 / 3, (75, 113), 1 / 400
"""Of `panned`: share of each side, frames in which the window goes there and back across and down, and the shake's
standard deviation, share of the clip's width."""
_SHOWN, _WHOLE = 0.6, 0.98
"""Share of a face in the window from which it counts, and from which its border does not cut it."""
_LOST, _STEP = (0.1, 0.4), 8
"""Of `cut`: shares of a face that the border can take for it to count, and how far apart borders are tried, pixels."""

Window = tuple[int, int, int, int]
"""Left, top, right and bottom, even pixels."""


def make(variant: str, video: Path, clip: Clip, directory: Path) -> tuple[Path, Clip]:
    """A variant of a labelled clip, written into a directory up to what its last label needs, and its labels.

    Raises what reading raises, and ValueError where pixels are not square."""
    if variant == UNCHANGED:
        return video, replace(clip, name=f"{clip.name}, {variant}")
    source = FileSource(video)
    rate = source.info.average_rate.limit_denominator(1001)
    labelled = sorted(clip.heads)
    last = labelled[-1] + math.ceil(_AFTER * rate)
    step = max(1, round(rate / _PER_SECOND)) if variant == FIVE else 1
    kept = spaced([*labelled, last], step)
    places = {frame: place for place, frame in enumerate(kept)}
    size = source.info.width, source.info.height
    window = _window_of(variant, clip, size)
    kept_frames = (frame for index, frame in enumerate(islice(source, last + 1)) if index in places)
    frames = _changed(kept_frames, variant, window)
    path = directory / f"{clip.name}-{variant}.mp4"
    encode(frames, path, rate / step, _COARSE if variant == BLOCKS else _FINE)
    heads = {
        place: [
            one
            for head in clip.heads[frame]
            for there in repeated(moved(head, variant, size, place), variant, size)
            for one in (cut(there, window(place)) if window is not None else [there])
        ]
        for frame, place in places.items()
        if frame in clip.heads
    }
    return path, Clip(f"{clip.name}, {variant}", clip.half, heads)


def _changed(frames: Iterable[Frame], variant: str, window: Callable[[int], Window] | None) -> Iterator[Frame]:
    for frame in frames:
        if frame.stored is not None:
            raise ValueError(f"no variants are made of clips whose pixels are not square, as frame {frame.index}")
        if window is not None:
            yield replace(frame, planes=within(frame.planes, window(frame.index)))
        else:
            yield replace(frame, planes=CHANGES[variant](frame.planes)) if variant in CHANGES else frame


def spaced(wanted: Sequence[int], step: int) -> list[int]:
    """Frames from the first on, about a step apart, with all that are wanted (in their order) among them."""
    frames = list(range(wanted[0] % step, wanted[0], step))
    for one, following in pairwise(wanted):
        pieces = max(1, round((following - one) / step))
        frames += [one + round(piece * (following - one) / pieces) for piece in range(pieces)]
    return [*frames, wanted[-1]]


def moved(head: Head, variant: str, size: Size, frame: int) -> Head:
    """A labelled head where it is in a variant of a picture of a size; a face that became too small is none."""
    corners = MOVES[variant](head.box.corners, size) if variant in MOVES else head.box.corners
    box = Box(frame, *corners, head.box.score)
    if head.face and box.side < CLASSES[0][0]:
        return Head(box, "small", False)
    return replace(head, box=box)


def repeated(head: Head, variant: str, size: Size) -> list[Head]:
    """A head in each copy of a picture of a size in a wall."""
    if variant != WALL:
        return [head]
    width, height = (side & ~1 for side in size)
    x0, y0, x1, y1 = head.box.corners
    along = range(copies_along(size))
    copies = [(width * column, height * row) for row in along for column in along]
    boxes = (Box(head.box.frame, x0 + x, y0 + y, x1 + x, y1 + y, head.box.score) for x, y in copies)
    return [replace(head, box=box) for box in boxes]


def _window_of(variant: str, clip: Clip, size: Size) -> Callable[[int], Window] | None:
    """What a variant shows of each frame of a clip; None for all of it."""
    if variant == PANNED:
        return functools.partial(panned, size)
    if variant == CUT:
        shown = ended(clip, size)
        return lambda _: shown
    return None


def panned(size: Size, frame: int) -> Window:
    """What the window that pans over pictures of a size shows of a frame: the same in each run."""
    width, height = (int(_WINDOW * side) & ~1 for side in size)
    shakes = np.random.default_rng(frame).normal(0, _SHAKE * size[0], 2)
    room = size[0] - width, size[1] - height
    across, down = (0.5 + 0.5 * math.sin(math.tau * frame / frames + phase) for phase, frames in enumerate(_ROUND))
    x, y = (
        int(np.clip(share * free + shake, 0, free)) & ~1
        for share, free, shake in zip((across, down), room, shakes, strict=True)
    )
    return x, y, x + width, y + height


def ended(clip: Clip, size: Size) -> Window:
    """The picture of a size without what lies beyond the upright or level line that cuts a part (`_LOST`) off most of
    a clip's faces, and at most half of it; the whole picture where none does."""
    faces = np.array([head.box.corners for heads in clip.heads.values() for head in heads if head.face]).reshape(-1, 4)
    whole = 0, 0, size[0] & ~1, size[1] & ~1
    best: tuple[int, Window] = 0, whole
    for axis in range(2):
        low, high = faces[:, axis], faces[:, axis + 2]
        for line in range(0, whole[axis + 2], _STEP):
            lost = (line - low) / (high - low)
            for last, share in ((False, lost), (True, 1 - lost)):
                window = list(whole)
                window[axis + 2 * last] = line
                count = int(((share >= _LOST[0]) & (share <= _LOST[1])).sum())
                if count > best[0] and 2 * (window[axis + 2] - window[axis]) >= size[axis]:
                    best = count, (window[0], window[1], window[2], window[3])
    return best[1]


def within(planes: Planes, window: Window) -> Planes:
    """What a window shows of a picture."""
    left, top, right, bottom = window
    u, v = (plane[top // 2 : bottom // 2, left // 2 : right // 2].copy() for plane in (planes.u, planes.v))
    return Planes(planes.y[top:bottom, left:right].copy(), u, v, planes.colour)


def cut(head: Head, window: Window) -> list[Head]:
    """What of a head a window shows, in its pixels: all, a face at its border, a place that says nothing, or
    nothing."""
    left, top, right, bottom = window
    x0, y0, x1, y1 = (side - start for side, start in zip(head.box.corners, (left, top, left, top), strict=True))
    low, high = (max(x0, 0.0), max(y0, 0.0)), (min(x1, float(right - left)), min(y1, float(bottom - top)))
    wide, tall = high[0] - low[0], high[1] - low[1]
    if wide < 1 or tall < 1:
        return []
    share = wide * tall / max((x1 - x0) * (y1 - y0), 1e-6)
    if share >= _WHOLE:
        return [replace(head, box=Box(head.box.frame, x0, y0, x1, y1, head.box.score))]
    box = Box(head.box.frame, *low, *high, head.box.score)
    counts = head.face and share >= _SHOWN and box.side >= CLASSES[0][0]
    return [Head(box, "border", True) if counts else Head(box, UNSURE, False)]
