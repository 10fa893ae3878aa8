"""A clip through the filter in this process, frame by frame, with what was found and covered (for `leaks`)."""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.around_watch import AroundWatch
from benchmarks.clips import KEY
from benchmarks.recall.late_survey import detector
from streamdeid.core.arrays import Box as Corners
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame, Planes
from streamdeid.core.protocols import Detector
from streamdeid.detection.guard import Watch
from streamdeid.runs.parts import assemble, lookahead_frames, open_source
from streamdeid.runs.session import Session
from streamdeid.runs.step import Step, filtered
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models

SILENT = 0.1
"""Share of all frames in which the detector is made to see nothing."""


@dataclass(frozen=True)
class Moment:
    """A published frame: what was found in it, and what was covered."""

    time: Fraction
    found: Sequence[Corners]
    redactions: Sequence[Corners]
    levels: Sequence[str] = ()
    """Labels of the protection levels of the redactions."""


def frames_of(
    video: Path, models: Models, settings: Settings, misses: int | None, spent: list[float], every: int = 1
) -> Iterator[tuple[Planes, Planes, Moment]]:
    """Every frame's stored picture before and after the filter, and what led to it, in its pixels; CPU seconds of
    detection are added up. every: only every so many frames, as of a slower camera."""
    source = open_source(video, settings)
    info = replace(source.info, average_rate=source.info.average_rate / every)
    taken = (replace(frame, index=number) for number, frame in enumerate(islice(source, 0, None, every)))
    with detector(settings) as own:
        stream = assemble(Session(settings, models, KEY), own, size=(info.width, info.height), rate=info.average_rate)
        detect = _Timed(stream.detect, spent)
        silent = (
            detect
            if misses is None
            else Silent(detect, (misses, zlib.crc32(video.name.encode())), float(info.average_rate))
        )
        step: Step[None] = Step(AroundWatch(detect, silent), stream.tracker, stream.deidentifier)
        for done in filtered(taken, step, lookahead_frames(settings, info)):
            pending, published = done.pending, done.frame
            frame = pending.frame
            grown = [new / old for new, old in zip(frame.planes.size, frame.as_stored.size, strict=True)]
            boxes = [_stored(one.box, *grown) for one in pending.tracks]
            covers = published.redactions
            places = [_stored(one.box, *grown) for one in covers]
            yield (
                frame.as_stored,
                published.planes,
                Moment(frame.time, boxes, places, [one.level for one in covers]),
            )


def _stored(box: Corners, across: float, down: float) -> Corners:
    """A box in stored pixels, whose pictures were made larger by these factors to have square ones."""
    return box[0] / across, box[1] / down, box[2] / across, box[3] / down


class _Timed(AroundWatch):
    """A detector whose CPU time is added up."""

    def __init__(self, watch: Watch, spent: list[float]) -> None:
        super().__init__(watch)
        self._spent = spent

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        with self._timed():
            return super().__call__(frame)

    def foresee(self, frame: Frame, following: Frame | None) -> None:
        with self._timed():
            super().foresee(frame, following)

    @contextlib.contextmanager
    def _timed(self) -> Iterator[None]:
        start = time.process_time()
        yield
        self._spent[0] += time.process_time() - start


class Silent:
    """A detector that says nothing for up to a second at a time, and nine times as long is left alone after that."""

    def __init__(self, detect: Detector, seed: tuple[int, int], rate: float) -> None:
        self._detect, self._rng, self._longest = detect, np.random.default_rng(seed), max(1, round(rate))
        self._silent, self._left = 0, int(self._rng.integers(1, self._longest + 1))

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        faces = self._detect(frame)
        if not self._left and not self._silent:
            self._silent = int(self._rng.integers(1, self._longest + 1))
            self._left = round(self._silent * (1 / SILENT - 1))
        if self._silent:
            self._silent -= 1
            return []
        self._left -= 1
        return faces
