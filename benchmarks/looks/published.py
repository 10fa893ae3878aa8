"""A clip through the filter in this process, as on a file, look-ahead included, without encoding."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from streamdeid.runs.parts import assemble, lookahead_frames, open_source, timed_detector
from streamdeid.runs.session import open_session
from streamdeid.runs.step import Done, Step, filtered
from streamdeid.settings import Settings


def published(path: Path, frames: int | None) -> Iterator[Done[None]]:
    """The first `frames` frames of a clip (None: all), as they would be published, with their plans. Raises
    StreamdeidError."""
    settings = Settings()
    source = open_source(path, settings)
    info = source.info
    with contextlib.closing(timed_detector(settings)) as detect:
        stream = assemble(
            open_session(settings), detect, size=(info.width, info.height), rate=info.average_rate, tested=False
        )
        step: Step[None] = stream.step()
        yield from filtered(islice(source, frames), step, lookahead_frames(settings, info))
