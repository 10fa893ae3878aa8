"""A clip through the filter in this process, with what was shown on whom in each frame (for `people`)."""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.pose import pose_of
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes, Redaction
from streamdeid.runs.components import assemble, default_detector, lookahead_frames, open_source
from streamdeid.runs.step import Done, Step, filtered
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models

Corners = tuple[float, float, float, float]

OWN, QUIET = "own face", "own face quiet"
_LEVELS = {"synthetic": OWN}


def level_of(redaction: Redaction) -> str:
    """The protection level's label; those of earlier versions of the filter under today's names."""
    return _LEVELS.get(redaction.level, redaction.level)


KEY = bytes(range(32))
"""The same draws each time."""


_Published = Done[None]


@dataclass(frozen=True)
class Place:
    """Where a face was protected."""

    corners: Corners
    level: str
    """Label of the protection level."""
    person: int
    """Person of the filter's register, each with a surrogate of its own; 0 for nobody known."""


@dataclass(frozen=True)
class Shown:
    """A published frame."""

    index: int
    redactions: Sequence[Place]
    turns: Sequence[tuple[Corners, float]]
    """For each face with landmarks, as detected in this frame, their bounding box and the yaw, degrees from 0 up."""


class Filtering:
    """The filter over one clip, as on a file, without encoding."""

    def __init__(
        self, video: Path, models: Models, settings: Settings, most: int | None = None, key: bytes = KEY
    ) -> None:
        """Nothing runs before `frames`; most: the clip ends after so many frames; key: 32 bytes."""
        self._video, self._models, self._settings, self._most, self._key = video, models, settings, most, key
        self.cpu = 0.0
        """CPU seconds of this process: reading, detection, filter."""
        self.breaks: Counter[str] = Counter()
        """Why a known face's tracklet ended, in words, and how often."""
        self.causes: Counter[str] = Counter()
        """Why faces got a lower level than their own face."""

    def frames(self) -> Iterator[tuple[Frame, Planes, Shown]]:
        """Each frame, what was published of it, and what was shown. Raises StreamdeidError."""
        model = self._models.fitting.model
        for original, published, tracks in self.published():
            yield original, published.planes, shown(published, tracks, model)

    def published(self) -> Iterator[tuple[Frame, DeidentifiedFrame, Sequence[Track]]]:
        """Each frame, what was published of it, and what the tracker said of it. Raises StreamdeidError."""
        source = open_source(self._video, self._settings)
        info = source.info
        with contextlib.closing(default_detector(self._settings)) as detect:
            size = (info.width, info.height)
            stream = assemble(self._settings, self._models, detect, key=self._key, size=size, rate=info.average_rate)
            step: Step[None] = stream.step()
            running = filtered(islice(source, self._most), step, lookahead_frames(self._settings, info))
            while (one := self._next(running)) is not None:
                yield one.pending.frame, one.frame, one.pending.tracks
            self.breaks = _worded(getattr(stream.inner, "breaks", Counter()))
            self.causes = _worded(getattr(stream.inner, "causes", Counter()))

    def _next(self, running: Iterator[_Published]) -> _Published | None:
        start = time.process_time()
        published = next(running, None)
        self.cpu += time.process_time() - start
        return published


def shown(published: DeidentifiedFrame, tracks: Sequence[Track], model: AppearanceModel) -> Shown:
    """What was shown in a frame with these tracks."""
    redactions = [Place(one.box, level_of(one), one.person) for one in published.redactions]
    turns = []
    for face in (track.face for track in tracks):
        if face is not None and face.landmarks is not None and face.forehead is not None:
            points = np.concatenate([face.landmarks, face.forehead])
            (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
            corners = float(x0), float(y0), float(x1), float(y1)
            turns.append((corners, abs(math.degrees(pose_of(points, model).yaw))))
    return Shown(published.index, redactions, turns)


def _worded(counts: Mapping[Any, int]) -> Counter[str]:
    return Counter({str(getattr(cause, "value", cause)): count for cause, count in counts.items()})
