"""What several benchmarks do with clips: read them in step, encode them again, print a table."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import av

from streamdeid.core.frames import Frame
from streamdeid.video.files.source import FileSource
from streamdeid.video.formats import ENCODERS, encoder_options, encoder_threads
from streamdeid.video.picture_memory import picture_of

CODEC, PRESET = "libx264", "veryfast"
"""What the filter writes by default."""
VIDEOS = {".mp4", ".mpg", ".mpeg", ".mkv", ".mov", ".webm", ".avi", ".m4v", ".ts"}
"""Extensions of the clips in a directory."""
KEY = bytes(range(32))
"""Of runs that are to draw the same new faces, and give the same figures, each time."""


def clips_with_faces(directory: Path, only: Sequence[str]) -> list[Path]:
    """The clips of a directory that have a table of faces beside them; only: their stems, empty for all.

    Raises ValueError for names that are not there, and when there is no clip at all."""
    videos = sorted(path for path in directory.iterdir() if path.suffix.lower() in VIDEOS)
    videos = [path for path in videos if path.with_name(f"{path.stem}.faces.csv").is_file()]
    unknown = set(only) - {path.stem for path in videos}
    if unknown:
        raise ValueError(f"there is no {min(unknown)} with a table of faces")
    videos = [path for path in videos if not only or path.stem in only]
    if not videos:
        raise ValueError(f"{directory} holds no video with its table of faces")
    return videos


def in_step(*paths: Path) -> Iterator[tuple[Frame, ...]]:
    """The frames of several clips side by side. Raises ValueError when one is shorter than another."""
    try:
        yield from zip(*(FileSource(path) for path in paths), strict=True)
    except ValueError as error:
        raise ValueError(f"not the same number of frames: {', '.join(map(str, paths))}") from error


def encode(
    frames: Iterable[Frame], path: Path, rate: Any, crf: int | None = None, other: Mapping[str, str] | None = None
) -> int:
    """Encode frames as the filter does by default (crf None: its quality), at a constant rate; how many there were.
    other: options of the encoder that are to be other ones."""
    count = 0
    with av.open(str(path), "w", format="mp4") as output:
        stream = None
        for frame in frames:
            width, height = (side + side % 2 for side in frame.planes.size)
            if stream is None:
                options = {**encoder_options(CODEC, crf, PRESET, b_frames=True), **(other or {})}
                stream = output.add_stream("libx264", rate=rate, options=options)
                stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                stream.codec_context.thread_count = encoder_threads(CODEC, PRESET)
            picture = picture_of(frame.planes, width, height)
            picture.pts, picture.time_base = count, 1 / rate
            output.mux(stream.encode(picture))
            count += 1
        if stream is not None:
            output.mux(stream.encode(None))
    return count


@contextlib.contextmanager
def encoded_again(path: Path, crf: int | None = None) -> Iterator[Path]:
    """The clip merely decoded and encoded with the filter's default settings: the control of any comparison."""
    source = FileSource(path)
    with tempfile.TemporaryDirectory() as directory:
        again = Path(directory) / "again.mp4"
        encode(source, again, source.info.average_rate, crf)
        yield again


def default_crf() -> int:
    """The filter's default quality."""
    crf = ENCODERS[CODEC].crf
    assert crf is not None
    return crf


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers that are not whole get three significant digits."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return "-" if value is None else str(value)


def as_json(report: object) -> str:
    """The report as JSON; what is not a number becomes null."""
    return json.dumps(_plain(report), indent=1)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and value != value else value
