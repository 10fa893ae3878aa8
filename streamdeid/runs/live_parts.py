"""Builds a live run from settings: the camera, the parts of the filter and the output."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from fractions import Fraction

from streamdeid.core.addresses import checked_source, checked_target, is_address
from streamdeid.core.process_usage import give_back_memory
from streamdeid.core.protocols import Detector
from streamdeid.detection.deadline import TimedDetector
from streamdeid.errors import FailedClosed
from streamdeid.runs.live import LiveFilter
from streamdeid.runs.parts import assemble, default_detector, in_time, whitelisted
from streamdeid.runs.proof import Proof
from streamdeid.runs.session import open_session
from streamdeid.runs.stream import Stream
from streamdeid.runs.turns import InTurn, at_once
from streamdeid.settings import Settings
from streamdeid.video.live.settings import LiveSettings
from streamdeid.video.live.sink import LiveSink
from streamdeid.video.live.source import Handed, LiveSource

_MOST_HUNG = 3
"""How many detectors may hang beside the one at work: each keeps a thread and its memory until it returns."""
_ANY_SIZE = (320, 240)


def open_live(
    address: str,
    output: str,
    settings: Settings,
    live: LiveSettings,
    *,
    key: bytes | None = None,
    turns: InTurn = at_once,
) -> LiveFilter:
    """A filter from a camera (or a replayed file) to an output, not yet running; always close it.

    address: an URL, a V4L2 device, or with `live.realtime` a file. output: an `rtsp://` URL, `-`, an `.m3u8` playlist
    or a video file. key: the session's key; None: the key file's, or fresh random bytes.
    turns: as for `LiveFilter`.
    Raises SettingsError and ModelError, and OutputError for an output that can never be written.
    """
    settings.check_lines(live.most_lines)
    if is_address(address):
        checked_source(address)
    if is_address(output):
        checked_target(output)
    parts = StreamParts(settings, key)
    with contextlib.ExitStack() as safe:
        safe.callback(parts.close)
        parts.warm_up()
        source = LiveSource(
            address,
            transport=live.transport,
            open_timeout=live.open_timeout,
            read_timeout=live.read_timeout,
            keep_trying=live.keep_trying,
            realtime=live.realtime,
            loop=live.loop,
            handed=Handed(live.most_rate, live.most_lines, settings.given_aspect, settings.most_pixels),
        )
        sink = LiveSink(
            output,
            codec=settings.codec,
            crf=settings.crf,
            preset=settings.preset,
            key_interval=live.key_interval,
            transport=live.publish_transport,
            open_timeout=live.open_timeout,
            send_timeout=live.send_timeout,
            keep_trying=live.keep_trying,
            rotate=live.rotate,
            keep_files=live.keep_files,
            stdout_format=live.stdout_format,
            overwrite=settings.overwrite,
        )
        live_filter = LiveFilter(
            source,
            sink,
            parts,
            close_parts=parts.close,
            lookahead=settings.lookahead,
            repeat=live.repeat,
            early=live.keep_trying and is_address(output),
            usage=sink.child_usage,
            turns=turns,
        )
        safe.pop_all()
    return live_filter


class StreamParts:
    """Builds the parts of a stream, and again after each loss or doubt, with the same models, key and detector.

    The self-test has a picture and a tracker of its own, whatever those of the stream are. It runs before the first
    parts are built, after each doubt, with each new detector, and when the last self-test is a minute old.

    detector: makes a detector and the function that ends it; called again when the last detector hung. tested: as for
    `parts.assemble`.
    Raises SettingsError and ModelError for what would fail at the first frame.
    """

    def __init__(
        self,
        settings: Settings,
        key: bytes | None = None,
        detector: Callable[[], tuple[Detector, Callable[[], None] | None]] | None = None,
        *,
        tested: bool = True,
    ) -> None:
        self._session, self._tested = open_session(settings, key), tested
        self._known = whitelisted(settings, self._session.models)
        self._new = detector if detector is not None else self._default
        self._hung: list[TimedDetector] = []
        self._detect: TimedDetector | None = in_time(*self._made())
        self._proof = Proof()
        self._stream: Stream | None = None

    def __call__(
        self, size: tuple[int, int], rate: Fraction, earlier: Stream | None, *, doubted: bool = True
    ) -> Stream:
        """The parts for pictures of a size (width, height). doubted: whether anything failed since parts were last
        built. Raises SettingsError and FailedClosed."""
        if self._detect is None:
            raise FailedClosed("the filter is closed")
        if doubted:
            self._proof.doubt()
        if self._detect.hung:
            self._detect.close()
            self._hung = [one for one in self._hung if not one.ended]
            if len(self._hung) >= _MOST_HUNG:
                raise FailedClosed(f"{len(self._hung) + 1} detectors hang")
            self._hung.append(self._detect)
            self._detect = in_time(*self._made())
        due = self._tested and not self._proof.stands(self._detect)
        if due:
            self._proof.doubt()
        stream = assemble(
            self._session,
            self._detect,
            size=size,
            rate=rate,
            tested=due,
            known=self._known,
            people=None if earlier is None else earlier.handed_on(),
            live=True,
        )
        if due:
            self._proof.passed(self._detect)
        if earlier is None and stream.people.surrogates is not None:
            stream.people.surrogates.sample_ahead()
        if earlier is not None and (due or not self._tested):  # not each time: this call goes through all of the memory
            give_back_memory()
        self._stream = stream
        return stream

    def warm_up(self) -> None:
        """Load and compile everything, and run the self-test, so that no frame of the camera has to wait for it.

        Raises FailedClosed when the self-test fails.
        """
        if self._tested:
            self(_ANY_SIZE, Fraction(25), None)

    def close(self) -> None:
        """End the detector and the last parts of the stream."""
        if self._detect is not None:
            self._detect.close()
        if self._stream is not None:
            self._stream.end()
        self._detect = None

    def _made(self) -> tuple[Detector, Settings, Callable[[], None] | None]:
        detect, stop = self._new()
        return detect, self._session.settings, stop

    def _default(self) -> tuple[Detector, Callable[[], None]]:
        detect = default_detector(self._session.settings, live=True)
        return detect, detect.close
