"""Reads a camera for days in a thread: reconnects when it is lost, corrects its times, keeps the newest two frames.

The reader thread may hang in FFmpeg in spite of all deadlines (a name server, a bug). Then it is abandoned and a new
one starts. Each reader has a ticket of its own, and pictures delivered under an old ticket are ignored.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from fractions import Fraction

from streamdeid.core.addresses import is_address, is_device, shown
from streamdeid.core.frames import MOST_PIXELS
from streamdeid.core.square_pixels import frame_of
from streamdeid.core.status import Arrival, SourceState
from streamdeid.errors import InputError
from streamdeid.video.live.backoff import Backoff
from streamdeid.video.live.camera import CameraConnection, ConnectionLost, DecodedPicture
from streamdeid.video.live.clock import LiveClock
from streamdeid.video.live.fewer import Fewer, smaller
from streamdeid.video.live.pace import Pace
from streamdeid.video.pixel_aspect import squared_by
from streamdeid.video.queue import BoundedQueue

_QUEUE = 2
_ABANDON = 4
"""A reader without a sign of life is abandoned after this many times the longer of the two deadlines."""
_MOST_HUNG = 8
"""Most readers that may hang beside the working one: each keeps a thread and its memory until it returns."""
_HOPELESS = 120.0
"""Seconds that the last reader may hang when `_MOST_HUNG` others hang; a missing name server takes a minute."""
_LOOK = 0.5
"""Seconds between checks of the reader while a frame is awaited."""
_LEAVE = 1.0
"""Seconds for which `close` waits for the reader."""


@dataclass(frozen=True)
class _Waiting:
    picture: DecodedPicture
    time: Fraction
    index: int
    connection: int
    rate: float


@dataclass(frozen=True)
class Handed:
    """Which pictures of a camera are handed out, and how."""

    most_rate: float | None = None
    """Most pictures per second; None: all pictures."""
    most_lines: int | None = None
    """Most pixels of the pictures' shorter side; larger pictures are made smaller. None: unchanged."""
    pixel_aspect: Fraction | None = None
    """Width of an upright pixel by its height; None: as the stream states it."""
    most_pixels: float = MOST_PIXELS
    """Million pixels that a picture may have before it is made smaller; a camera with larger pictures is lost."""


_ALL = Handed()


class _Ticket:
    """The state of one reader thread: its last sign of life (`beat`), and whether it must stop."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.beat = time.monotonic()
        self.thread: threading.Thread | None = None


class LiveSource:
    """Gives frames of a camera, a device or a replayed file, without end.

    address: a URL of `addresses.READABLE`, a V4L2 device, or with `realtime` a file, which is replayed by its own time
    stamps, once or (`loop`) again and again. transport: `tcp` or `udp`, for RTSP. Timeouts are in seconds.
    keep_trying: whether a camera that cannot be opened at the start is tried again; later it is tried in any case.
    handed: which of the pictures are handed out, and how.

    Raises InputError from `take`, one line without a password. Call `close` in the end.
    """

    def __init__(
        self,
        address: str,
        *,
        transport: str = "tcp",
        open_timeout: float = 3.0,
        read_timeout: float = 3.0,
        keep_trying: bool = False,
        realtime: bool = False,
        loop: bool = False,
        handed: Handed = _ALL,
    ) -> None:
        self._address, self._transport = address, transport
        self._open_timeout, self._read_timeout = open_timeout, read_timeout
        self._keep_trying = keep_trying
        self._file = realtime and not is_address(address) and not is_device(address)
        self._loop = loop
        self._handed, self._fewer = handed, Fewer(handed.most_rate)
        self._queue: BoundedQueue[_Waiting] = BoundedQueue(_QUEUE)
        self._clock = LiveClock()
        self._backoff = Backoff()
        self._lock = threading.Lock()
        self._state = SourceState(reason="being opened")
        self._error: InputError | None = None
        self._finished = False
        self._closed = False
        self._codec: str | None = None
        """The codec of the last connection."""
        self._ticket: _Ticket | None = None
        self._hung: list[_Ticket] = []
        """Tickets of the abandoned readers that still hang."""

    def start(self) -> None:
        """Start the reader thread."""
        with self._lock:
            if self._ticket is None and not self._closed:
                self._begin()

    @property
    def ended(self) -> bool:
        """Whether a replayed file is at its end and all its frames were taken."""
        return self._finished and not len(self._queue)

    def take(self, timeout: float) -> Arrival | None:
        """The oldest of at most two waiting frames; None when none comes within `timeout` seconds or after the end.

        Raises InputError when the source has failed for good.
        """
        end = time.monotonic() + timeout
        while True:
            self._look_after_reader()
            left = end - time.monotonic()
            waiting = self._queue.take(max(0.0, min(left, _LOOK)))
            if waiting is not None:
                try:
                    return _arrival(waiting, self._handed)
                except Exception:  # one picture cannot be converted; the next one may be undamaged
                    with self._lock:
                        self._state = replace(self._state, damaged=self._state.damaged + 1)
                    continue
            if self._error is not None:
                raise self._error
            if self._finished or self._closed or left <= _LOOK:
                return None

    def state(self) -> SourceState:
        """The present state of the source."""
        with self._lock:
            return replace(self._state, dropped=self._queue.dropped, queue=len(self._queue))

    def close(self) -> None:
        """Stop reading. Returns within about a second; a reader that waits for a dead camera ends later."""
        with self._lock:
            self._closed = True
            ticket, self._ticket = self._ticket, None
            self._state = replace(self._state, connected=False, reason="closed")
        self._queue.close(discard=True)
        if ticket is not None and ticket.thread is not None:
            ticket.stop.set()
            ticket.thread.join(_LEAVE)

    # -- the reader thread ---------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        ticket = self._ticket = _Ticket()
        ticket.thread = threading.Thread(target=self._run, args=(ticket,), name="live-source", daemon=True)
        ticket.thread.start()

    def _look_after_reader(self) -> None:
        with self._lock:
            ticket = self._ticket
            if ticket is None or self._finished or self._error:
                return
            silent = time.monotonic() - ticket.beat
            if silent <= _ABANDON * max(self._open_timeout, self._read_timeout):
                return
            self._hung = [one for one in self._hung if one.thread is not None and one.thread.is_alive()]
            if len(self._hung) < _MOST_HUNG:
                self._state = replace(self._state, connected=False, reason="reading hung and was begun anew")
                ticket.stop.set()
                self._hung.append(ticket)
                self._begin()
            elif silent > _HOPELESS:
                self._error = InputError(f"{shown(self._address)} cannot be read: {_MOST_HUNG + 1} readers hang")

    def _run(self, ticket: _Ticket) -> None:
        while not ticket.stop.is_set():
            begun = time.monotonic()
            pictures_since: list[float] = []
            try:
                self._connect(ticket, pictures_since)
                return  # told to stop
            except ConnectionLost as lost:
                reason = lost
            except Exception as error:  # a dying thread would write address and password to stderr
                reason = ConnectionLost(f"an unexpected {type(error).__name__}")
            now = time.monotonic()
            pause = self._backoff.after(
                now - begun,
                pictures=now - pictures_since[0] if pictures_since else 0.0,
                refused=reason.refused,
            )
            if self._lost(ticket, reason) or (not self._file and _rest(ticket, pause)):
                return

    def _connect(self, ticket: _Ticket, pictures_since: list[float]) -> None:
        """Open the camera and read it until the ticket says stop. Raises ConnectionLost when the camera is lost."""
        ticket.beat = time.monotonic()
        deadlines = self._open_timeout, self._read_timeout
        camera = CameraConnection(
            self._address,
            self._transport,
            *deadlines,
            file=self._file,
            codec=self._codec,
            most_pixels=self._handed.most_pixels,
        )
        self._codec = camera.codec
        try:
            rate, pace, damaged = camera.rate, Pace() if self._file else None, 0
            while not ticket.stop.is_set():
                ticket.beat = time.monotonic()
                for picture in camera.read():
                    self._check_aspect(picture)
                    if pace is not None:
                        if _rest(ticket, pace.wait(picture.stamp, 1 / rate)):
                            return
                        picture = replace(picture, arrived=time.monotonic())
                    if not pictures_since and self._connected(ticket):
                        pictures_since.append(time.monotonic())
                    self._deliver(ticket, picture, rate)
                if camera.damaged != damaged:
                    self._note_damage(ticket, camera.damaged - damaged)
                    damaged = camera.damaged
        finally:
            ticket.beat = time.monotonic()
            camera.close()

    def _check_aspect(self, picture: DecodedPicture) -> None:
        """Raise ConnectionLost for an impossible pixel aspect: the true shape of faces is then not known."""
        try:
            squared_by(picture.aspect, self._handed.pixel_aspect)
        except ValueError as error:
            raise ConnectionLost(f"it {error}") from None

    def _connected(self, ticket: _Ticket) -> bool:
        with self._lock:
            if self._ticket is ticket:
                self._state = replace(self._state, connected=True, reason=None, connections=self._state.connections + 1)
                self._clock.begin_anew()
        return True

    def _deliver(self, ticket: _Ticket, picture: DecodedPicture, rate: float) -> None:
        with self._lock:
            if self._ticket is not ticket:
                return
            stamp = self._clock.time(picture.stamp, picture.arrived)
            taken, told = self._fewer.take(stamp, rate), min(rate, self._handed.most_rate or rate)
            if taken:
                self._queue.put_newest(_Waiting(picture, stamp, self._state.frames, self._state.connections, told))
            spared = self._state.spared + (not taken)
            self._state = replace(self._state, frames=self._state.frames + 1, spared=spared)

    def _note_damage(self, ticket: _Ticket, places: int) -> None:
        with self._lock:
            if self._ticket is ticket:
                self._state = replace(self._state, damaged=self._state.damaged + places)

    def _lost(self, ticket: _Ticket, lost: ConnectionLost) -> bool:
        """Record that the connection is lost; True when the reader must not connect again."""
        with self._lock:
            if self._ticket is not ticket:
                return True
            self._state = replace(self._state, connected=False, reason=str(lost))
            if self._file:
                if lost.ended and self._state.connections and self._loop:
                    return False
                if lost.ended and self._state.connections:
                    self._finished = True
                else:
                    reason = "not one picture of it can be decoded" if lost.ended else str(lost)
                    self._error = InputError(f"{self._address} cannot be read: {reason}")
            elif not self._state.connections and not self._keep_trying:
                self._error = InputError(f"{shown(self._address)} cannot be read: {lost}")
            else:
                return False
        self._queue.close(discard=False)
        return True


def _rest(ticket: _Ticket, seconds: float) -> bool:
    """Wait for some seconds and give signs of life; True when the reader has to stop."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        ticket.beat = time.monotonic()
        if ticket.stop.wait(min(left, _LOOK)):
            return True
    return ticket.stop.is_set()


def _arrival(waiting: _Waiting, handed: Handed) -> Arrival:
    said = waiting.picture.upright_aspect()
    squared = squared_by(said, handed.pixel_aspect)
    planes = smaller(waiting.picture.planes(), handed.most_lines, squared)
    frame = frame_of(planes, waiting.time, waiting.index, said, squared)
    return Arrival(frame, waiting.picture.arrived, waiting.connection, waiting.rate)
