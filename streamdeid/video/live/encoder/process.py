"""The process that encodes and sends a live output; `child` starts it.

It is a process of its own because FFmpeg's RTSP muxer can hang where nothing can interrupt it; `LiveSink` then kills
the process. Commands come over standard input, replies go to the handle that the argument names, and the media go to
standard output when that is the output. The process imports as little as possible, because viewers have no picture
while it starts. It ignores the signals of a terminal, because its parent ends it in order. It ends when the parent has
gone, even when the muxer hangs.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import stat
import sys
import threading
from fractions import Fraction

import av

from streamdeid.core.frames import Colour
from streamdeid.video.hardware import HARDWARE, not_opened, planes_of
from streamdeid.video.live.encoder.failures import NoDevice, reason_of
from streamdeid.video.live.encoder.pictures import encoder_picture
from streamdeid.video.live.encoder.pipe import (
    CLOCK,
    ENDED,
    FAILED,
    OPENED,
    READY,
    TAKEN,
    EncoderOpening,
    SentFrame,
    commands,
    reply,
)
from streamdeid.video.picture_memory import in_planes

_GRACE = 2.5
"""Seconds to finish the output after the parent has gone."""
_PARENT_CHECK = 1.0
_MOST_UNSENT = 64 * 1024
"""Most bytes that wait in the kernel for a server; more would be seconds of old pictures and hide that it hangs."""
_MATRIX_TAGS = {"bt601": 6, "bt709": 1}
"""Numbers of the matrices in ITU-T H.273."""
_PIXELS_PER_THREAD = 1280 * 720
_LEAST_STEP = CLOCK // 1000
"""A millisecond, in ticks: MKV and FLV count in milliseconds, and a copy must not have two frames at one time."""


class LiveEncoder:
    """An open output that encodes each picture and sends it at once. Raises av.FFmpegError, OSError and ValueError."""

    def __init__(self, opening: EncoderOpening) -> None:
        self._opening = opening
        self._start: int | None = None
        self._last: int | None = None
        self._next_key = 0
        self._output = av.open(
            opening.target, "w", format=opening.muxer, container_options=opening.muxer_options, buffer_size=65536
        )
        rate = Fraction(opening.rate).limit_denominator(1001)
        stream = self._output.add_stream(opening.codec, rate=rate, options=opening.codec_options)
        assert isinstance(stream, av.VideoStream)
        self._stream = stream
        self._colour = Colour(opening.matrix, opening.full_range)
        context = stream.codec_context
        self._width, self._height = opening.width + opening.width % 2, opening.height + opening.height % 2
        context.width, context.height, context.pix_fmt = self._width, self._height, planes_of(opening.codec)
        context.time_base = stream.time_base = Fraction(1, CLOCK)
        context.colorspace = _MATRIX_TAGS[opening.matrix]
        context.color_range = 2 if opening.full_range else 1
        if opening.aspect:
            context.sample_aspect_ratio = Fraction(opening.aspect)
        # Threads work on slices, so each thread costs quality; and the filter needs the cores.
        context.thread_count = 1 if self._width * self._height <= _PIXELS_PER_THREAD else 2
        if opening.codec in HARDWARE:
            try:
                context.open()
            except (av.FFmpegError, ValueError) as error:
                raise NoDevice(not_opened(opening.codec, self._width, self._height)) from error
        self._output.start_encoding()
        if opening.muxer == "rtsp":
            _keep_sockets_short(opening.timeout)

    def take(self, frame: SentFrame) -> None:
        """Encode and send one frame. Times count from the first frame; each is a millisecond after the last or more."""
        self._start = frame.time if self._start is None else self._start
        time = frame.time - self._start
        if self._last is not None:
            time = max(time, self._last + _LEAST_STEP)
        picture = encoder_picture(frame.planes, self._width, self._height, self._colour)
        picture.pts, picture.time_base = time, Fraction(1, CLOCK)
        if self._last is None or time >= self._next_key:
            picture.pict_type = av.video.frame.PictureType.I
            self._next_key = time + round(self._opening.key_interval * CLOCK)
        self._last = time
        self._mux(self._stream.encode(in_planes(picture, planes_of(self._opening.codec))))

    def end(self) -> None:
        """Flush and close the output."""
        self._mux(self._stream.encode(None))
        self._output.close()

    def _mux(self, packets: list[av.Packet[av.VideoStream]]) -> None:
        for packet in packets:
            if not packet.duration:
                packet.duration = max(1, round(CLOCK / self._opening.rate))
            self._output.mux_one(packet)


def serve(replies: int) -> None:
    """Carry out the parent's commands until it closes standard input. Raises OSError when the parent has gone.

    After a failure to open, the parent may ask again; after any other failure the process ends.
    """
    encoder: LiveEncoder | None = None
    opening: EncoderOpening | None = None
    reply(replies, READY)
    for command in commands(0):
        try:
            if isinstance(command, EncoderOpening):
                opening = command
                encoder = LiveEncoder(opening)
                reply(replies, OPENED)
            elif encoder is None:
                raise ValueError("nothing is open")
            elif isinstance(command, SentFrame):
                encoder.take(command)
                reply(replies, TAKEN, command.number)
            else:
                encoder.end()
                encoder = None
                reply(replies, ENDED)
        except Exception as error:  # noqa: PERF203 - in our own words: what FFmpeg says holds the password
            reply(replies, FAILED, 0, reason_of(error, opening))
            if encoder is not None:
                os._exit(1)  # closing a broken output could hang
    if encoder is not None:
        encoder.end()


def _keep_sockets_short(timeout: float) -> None:
    """Let the kernel detect a server that has gone: one that is silent, as over UDP, or one that takes no data."""
    milliseconds = round(timeout * 1000)
    for name in os.listdir("/dev/fd"):
        handle = int(name)
        try:
            if not stat.S_ISSOCK(os.fstat(handle).st_mode):
                continue
            with socket.socket(fileno=os.dup(handle)) as connection:
                if connection.type != socket.SOCK_STREAM or connection.family == socket.AF_UNIX:
                    continue
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                if sys.platform == "linux":
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MOST_UNSENT)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        except OSError:  # the handle of the listing itself
            continue


def _end_with_parent(parent: int) -> None:
    """Wait until the parent has gone and for `_GRACE` to finish the output; then end this process even if it hangs."""
    gone = select.poll()
    gone.register(0, 0)  # reports only that the other end was closed
    while not gone.poll(_PARENT_CHECK * 1000) and os.getppid() == parent:
        pass
    threading.Event().wait(_GRACE)
    os._exit(1)


def run() -> None:
    """Run the process; its one argument is the number of the handle for replies."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    code = 0
    try:
        serve(int(sys.argv[1]))
    except Exception:  # the parent has gone, or will see that this process has ended
        code = 1
    os._exit(code)
