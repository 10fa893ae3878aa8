"""Sends de-identified frames to a live output: an RTSP server, standard output, an HLS directory or rotating files.

`LiveSink` never lets its caller wait: a thread feeds a process that encodes and sends. The thread drops filtered frames
when the receiver is slow, and it kills the process and starts a new one when the receiver hangs or is lost.
"""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path

from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.core.status import SinkState
from streamdeid.errors import FailedClosed
from streamdeid.video.live.encoder.pipe import EncoderOpening
from streamdeid.video.live.files import FileNames, Playlist
from streamdeid.video.live.outputs import fitted_options, live_encoder_options, output_for
from streamdeid.video.live.send_queue import SendQueue, Waiting
from streamdeid.video.live.writer import LiveWriter, WriterPlan

_CLOSE_TIMEOUT, _KILL_TIMEOUT = 3.0, 1.5
_USUAL_RATE, _HIGHEST_RATE = 25.0, 240.0


class LiveSink:
    """Encodes and sends de-identified frames as they come, for days.

    Output: `rtsp://...` or `rtsps://...` publishes to a server; `-` is standard output; `NAME.m3u8` is an HLS playlist
    with its segments beside it; any other name is an .mkv, .ts or .mp4 file that is playable at any time. A new file
    begins every `rotate` seconds, and the newest `keep_files` files are kept. Pictures of another size, colour or pixel
    aspect begin a new file or stream; standard output keeps its first size, and pictures of another size or colour are
    scaled for it, with black bars.

    Raises SettingsError for an impossible output or one that would overwrite a file, and OutputError for a missing
    directory.
    """

    def __init__(
        self,
        output: str,
        *,
        codec: str | None = None,
        crf: int | None = None,
        preset: str = "veryfast",
        key_interval: float = 2.0,
        transport: str = "tcp",
        open_timeout: float = 3.0,
        send_timeout: float = 3.0,
        keep_trying: bool = False,
        rotate: float | None = None,
        keep_files: int | None = None,
        stdout_format: str = "mpegts",
        overwrite: bool = False,
    ) -> None:
        """Times are in seconds. keep_trying: a first opening that fails is tried again, too. codec None: libx264."""
        self._codec = codec or "libx264"
        self._codec_options, self._crf = live_encoder_options(self._codec, crf, preset), crf
        self._output = output_for(output, transport=transport, stdout_format=stdout_format, key_interval=key_interval)
        self._key_interval, self._send_timeout = key_interval, send_timeout
        self._playlist: Playlist | None = None
        self._files: FileNames | None = None
        self._file: Path | None = None
        if self._output.kind == "hls":
            self._playlist = Playlist(self._output.target, overwrite=overwrite)
        elif self._output.kind == "files":
            self._files = FileNames(
                self._output.target, rotating=rotate is not None, keep=keep_files, overwrite=overwrite
            )
        plan = WriterPlan(
            self._output.name,
            stdout=self._output.kind == "stdout",
            endless=keep_trying,
            open_timeout=open_timeout,
            send_timeout=send_timeout,
            rotate=rotate if self._files is not None else None,
            opening=self._opening,
            opened=self._opened,
        )
        self._queue = SendQueue()
        self._writer = LiveWriter(self._queue, plan)
        self._thread = threading.Thread(target=self._writer.run, name="live sink", daemon=True)
        self._thread.start()

    def write(self, frame: DeidentifiedFrame, rate: float, arrived: float | None = None) -> None:
        """Hand over a frame and return at once; its planes must not be changed afterwards.

        rate: frames per second, a hint. arrived: `time.monotonic` when its data arrived, for `take_latencies`.
        Raises FailedClosed for a raw frame, and OutputError when the output has failed for good.
        """
        if not isinstance(frame, DeidentifiedFrame):
            raise FailedClosed(f"a {type(frame).__name__} was about to be sent; only de-identified frames may")
        known = math.isfinite(rate) and 0 < rate <= _HIGHEST_RATE
        self._queue.put(Waiting(frame, rate if known else _USUAL_RATE, arrived))

    def take_latencies(self) -> list[float]:
        """Seconds from `arrived` to the end of sending, of the frames sent since the last call."""
        return self._queue.latencies()

    def state(self) -> SinkState:
        """The present state of the output. Any thread may call this."""
        return self._queue.state()

    def child_usage(self) -> tuple[float, int]:
        """CPU seconds of the encoder processes so far, and resident bytes of the one that runs; zeros without /proc."""
        return self._writer.processes.usage()

    @property
    def child_pid(self) -> int | None:
        """The process number of the encoder process that runs; None when none runs."""
        child = self._writer.processes.current
        return None if child is None else child.pid

    def close(self) -> None:
        """Send the waiting frames and finish the output within 3 s; after that the process is killed.

        It may be called again. Raises OutputError if the output has failed for good and no `write` has raised it.
        """
        self._queue.close(time.monotonic() + _CLOSE_TIMEOUT)
        self._thread.join(_CLOSE_TIMEOUT + _KILL_TIMEOUT)  # a file system may hang
        if self._playlist is not None and self._writer.ended_well:
            self._playlist.end()
            self._playlist = None
        self._queue.raise_unseen()

    def _opening(self, item: Waiting) -> EncoderOpening:
        options = dict(self._output.options)
        target = self._output.target
        if self._playlist is not None:
            target = str(self._playlist.path)
            for name, value in self._playlist.options().items():
                options[name] = f"{options[name]}+{value}" if name in options else value
        elif self._files is not None:
            self._file = self._files.following()
            target = str(self._file)
        elif self._output.kind == "stdout":
            target = "pipe:1"
        planes = item.frame.planes
        return EncoderOpening(
            target,
            self._output.muxer,
            options,
            self._codec,
            fitted_options(self._codec, self._codec_options, self._crf, planes.size, item.rate, self._key_interval),
            width=planes.size[0],
            height=planes.size[1],
            matrix=planes.colour.matrix,
            full_range=planes.colour.full_range,
            rate=item.rate,
            key_interval=self._key_interval,
            timeout=self._send_timeout,
            aspect="" if item.frame.aspect is None else str(item.frame.aspect),
        )

    def _opened(self) -> Path | None:
        if self._files is not None and self._file is not None:
            self._files.opened(self._file)
        return self._file
