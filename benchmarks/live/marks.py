"""Whether anything of a watermarked face is in what was published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import cv2
import numpy as np

from benchmarks.live.clip import LiveClip
from benchmarks.watermark import Watermark
from streamdeid.core.arrays import Plane

_CALIBRATION = 40
"""Pictures of a clip that are looked at for what an unfiltered face reaches."""


@dataclass(frozen=True)
class Search:
    """What a search for watermarks found."""

    pictures: int
    strongest: float
    """Highest correlation with a watermark in any picture."""
    found: tuple[int, ...]
    """Numbers of the pictures in which a watermark counts as found."""
    unfiltered: float
    """Lowest correlation in the pictures of the camera."""
    chance: float
    """Highest correlation there of patterns that nobody wears."""

    @property
    def threshold(self) -> float:
        """The correlation from which a watermark counts as found."""
        return threshold(self.unfiltered, self.chance)


def threshold(found: float, chance: float) -> float:
    """A third of the way up from chance, as in `faults`."""
    return chance + (found - chance) / 3


def search(path: Path, clips: Sequence[LiveClip], keep: Path | None = None) -> Search:
    """Look at every picture of a bare H.264 stream for the watermarks of the clips of its size; keep: for evidence.

    A picture of a size that no clip has is looked through for all of them.
    """
    unfiltered, chance = zip(*(calibrate(clip) for clip in clips), strict=True)
    lowest, highest = min(unfiltered), max(chance)
    strongest, found, number = 0.0, [], -1
    for number, luma in enumerate(pictures(path)):
        own = [clip for clip in clips if clip.size == luma.shape[::-1]] or clips
        score = max(clip.strongest(luma) for clip in own)
        strongest = max(strongest, score)
        if score >= threshold(lowest, highest):
            found.append(number)
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                cv2.imwrite(str(keep / f"{number}.png"), luma)
    return Search(number + 1, strongest, tuple(found), lowest, highest)


def calibrate(clip: LiveClip) -> tuple[float, float]:
    """Lowest correlation of the watermarks in pictures of the clip, and highest of patterns that nobody wears."""
    others = [Watermark.of((977, n), *mark.pattern.shape[::-1]) for n, mark in enumerate(clip.watermarks)]
    lowest, highest = 1.0, 0.0
    for number, luma in enumerate(pictures(clip.path)):
        if number % max(1, clip.frames // _CALIBRATION) == 0:
            lowest = min(lowest, min(mark.strongest(luma) for mark in clip.watermarks))
            highest = max(highest, max(mark.strongest(luma) for mark in others))
    return lowest, highest


def pictures(path: Path) -> Iterator[Plane]:
    """Luma planes, uint8 (h, w), of all pictures of a file that can be decoded, of whatever size."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        for packet in container.demux(stream):
            try:
                decoded = packet.decode()
            except av.FFmpegError:
                continue  # a picture cut short by the death of the server
            for picture in decoded:
                yield np.ascontiguousarray(picture.to_ndarray()[: picture.height, : picture.width])
