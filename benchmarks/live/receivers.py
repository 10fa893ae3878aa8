"""Who reads a stream in the live benchmarks, notes when which time code came, and opens it again when it is lost."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import av
import numpy as np

from benchmarks.live.clip import LiveClip, read_code
from streamdeid.core.arrays import Plane

_OPTIONS = {
    "rtsp_transport": "tcp",
    "timeout": "3000000",
    "fflags": "nobuffer",
    "flags": "low_delay",
    "probesize": "20000",
    "analyzeduration": "200000",
}
_PATIENCE = (3.0, 3.0)
"""Seconds for opening and for each read: PyAV needs both these and the option, which is in microseconds."""
_ABOUT = 6
"""Grey levels that are about the same brightness."""
_PAUSE = 0.1
"""Seconds between attempts to open."""


@dataclass(frozen=True)
class Seen:
    """A picture that came."""

    at: float
    """`time.monotonic` when it was decoded."""
    code: int | None
    """Its time code; None: it has none."""
    size: tuple[int, int]
    plain: float
    """Share of the pixels that have about the commonest brightness; of pictures without a time code, else 0."""
    connection: int
    """Which opening of the stream it came by, from 1."""


def numbered(seen: Iterable[Seen], clip: LiveClip, epoch: float) -> dict[int, float]:
    """Frame numbers since `epoch`, when frame 0 was due, and when each came first. Other pictures are left out.

    A clip begins anew after its last frame, so what came is taken for the newest picture of its code that can have been
    sent: nothing may be later than the length of the clip, less a second.
    """
    period = clip.frames / clip.rate
    first: dict[int, float] = {}
    for one in seen:
        if one.code is not None:
            lap = math.floor((one.at - epoch - one.code / clip.rate + 1.0) / period)
            first.setdefault(lap * clip.frames + one.code, one.at)
    return first


class Receiver:
    """A plain reader of an RTSP stream in a thread of its own. Use it in a `with` statement.

    picture: called with the luma plane, uint8 (h, w), of each picture, in that thread.
    """

    def __init__(self, url: str, picture: Callable[[Seen, Plane], None] | None = None) -> None:
        self._url, self._picture = url, picture
        self._seen: list[Seen] = []
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._connections = 0
        self._thread = threading.Thread(target=self._run, name="receiver", daemon=True)

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(2 * sum(_PATIENCE))

    def seen(self, since: float = 0.0) -> list[Seen]:
        """All pictures that came since a time, oldest first."""
        with self._changed:
            return [one for one in self._seen if one.at >= since]

    def wait(self, wanted: Callable[[Seen], bool], timeout: float, since: float = 0.0) -> Seen | None:
        """The first picture since a time that is wanted; waits for it, None after the timeout in seconds."""
        end = time.monotonic() + timeout
        place = 0
        with self._changed:
            while True:
                for one in self._seen[place:]:
                    if one.at >= since and wanted(one):
                        return one
                place = len(self._seen)
                if not self._changed.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    return None

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                with av.open(self._url, options=_OPTIONS, timeout=_PATIENCE) as container:
                    self._connections += 1
                    self._read(container)
            except (av.FFmpegError, OSError, IndexError):
                pass  # whatever it was: try again
            self._over.wait(_PAUSE)

    def _read(self, container: av.container.InputContainer) -> None:
        stream = container.streams.video[0]
        stream.thread_type, stream.thread_count = "SLICE", 1  # threads over frames would hold pictures back
        for frame in container.decode(stream):
            now = time.monotonic()
            luma = frame.to_ndarray()[: frame.height, : frame.width]
            code = read_code(luma)
            plain = _plain(luma) if code is None else 0.0
            one = Seen(now, code, (frame.width, frame.height), plain, self._connections)
            with self._changed:
                self._seen.append(one)
                self._changed.notify_all()
            if self._picture is not None:
                self._picture(one, luma)
            if self._over.is_set():
                return


def _plain(luma: Plane) -> float:
    counts = np.bincount(luma.reshape(-1), minlength=256)
    return float(np.convolve(counts, np.ones(2 * _ABOUT + 1), "same").max() / luma.size)
