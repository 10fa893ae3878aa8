"""Writes synthetic pictures as a clip, for the demo. A camera's frames are written by `FileSink` only."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av

from streamdeid.core.atomic_file import put_in_place, reserve
from streamdeid.core.frames import Planes
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import OutputError
from streamdeid.video.picture_memory import picture_of


def write_drawn_clip(path: Path, pictures: Iterable[Planes], rate: int) -> None:
    """Encode synthetic pictures, `rate` per second, as an MP4 file; a whole file replaces an existing one.

    Width and height of the pictures must be even. Raises OutputError; then no part of the file remains.
    """
    growing = reserve(path)
    try:
        with av.open(f"file:{growing.place}", mode="w", format="mp4") as output:
            stream: av.VideoStream | None = None
            for index, planes in enumerate(pictures):
                if stream is None:
                    stream = output.add_stream("libx264", rate=rate, options={"crf": "17", "preset": "veryfast"})
                    stream.width, stream.height = planes.size
                    stream.pix_fmt = "yuv420p"
                picture = picture_of(planes, *planes.size)
                picture.pts, picture.time_base = index, Fraction(1, rate)
                output.mux(stream.encode(picture))
            if stream is not None:
                output.mux(stream.encode(None))
        put_in_place(growing, path, overwrite=True)
    except (av.FFmpegError, OSError) as error:
        raise OutputError(f"{path} cannot be written: {system_reason(error)}") from error
    finally:
        growing.discard()
        growing.let_go()
