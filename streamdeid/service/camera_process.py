"""The process of one camera, started by the service only (`relay.COMMAND`).

The process gets its order as the first line of standard input (`pipe_messages`), so that no password is in its
arguments or its environment. Later lines ask for pictures. The process ends at the end of the input, and on another
machine also when its lease is over (`lease`). It writes its status twice a second to standard output, to which nothing
else can write.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import BinaryIO

from streamdeid.core.addresses import scrubbed
from streamdeid.core.process_usage import be_frugal
from streamdeid.core.shown_text import say
from streamdeid.core.status import LiveStatus
from streamdeid.errors import ExitCode, FailedClosed, StreamdeidError
from streamdeid.runs.live import LiveFilter
from streamdeid.runs.live_parts import open_live
from streamdeid.runs.turns import service_turns
from streamdeid.service.camera import Camera
from streamdeid.service.lease import ENDING, UNTIL
from streamdeid.service.pipe_messages import LONGEST_LINE, picture_head, read_order
from streamdeid.service.placed_order import unpacked_order
from streamdeid.service.preview import PREVIEW_QUALITY, PREVIEW_WIDTH, jpeg
from streamdeid.service.status_reporter import status_line
from streamdeid.service.wanted_pictures import PREVIEW, WantedPictures

EVERY = 0.5
"""Seconds between status lines."""
_BEFORE, _AT_ONCE = 0.25, 0.001
"""Seconds before the system's alarm at which a thread ends the process, and seconds of the shortest alarm."""
_LAST = 8.0
"""Seconds after the end of the input (the service is gone) after which a process that hangs is ended by force."""


class StatusReporter:
    """Sends the service the status of a filter and the pictures it asked for, from a thread of its own."""

    def __init__(self, pipe: BinaryIO, wanted: WantedPictures, stop: threading.Event) -> None:
        self._pipe, self._wanted, self._stop = pipe, wanted, stop
        self._filter: LiveFilter | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="status reporter", daemon=True)
        self._thread.start()

    def begin(self, live_filter: LiveFilter) -> None:
        """Report the status and the pictures of this filter from now on."""
        live_filter.watch = self._wanted.offer
        self._filter = live_filter

    def close(self) -> None:
        """Send the last status and end the thread."""
        self._over.set()
        self._thread.join(timeout=2)

    def _run(self) -> None:
        # When the pipe has no reader, the service is gone.
        with contextlib.suppress(BrokenPipeError):
            due = time.monotonic()
            while not self._over.is_set():
                self._picture(max(0.0, min(due - time.monotonic(), EVERY)))
                if time.monotonic() >= due:
                    self._write(status_line(self._status()))
                    due = time.monotonic() + EVERY
            self._write(status_line(self._status()))
            return
        self._stop.set()

    def _picture(self, timeout: float) -> None:
        wish = self._wanted.take(timeout)
        if wish is None:
            return
        kind, frame = wish
        data = jpeg(frame, PREVIEW_WIDTH, PREVIEW_QUALITY) if kind == PREVIEW else jpeg(frame)
        self._write(picture_head(kind, len(data)) + data)

    def _status(self) -> LiveStatus:
        return LiveStatus() if self._filter is None else self._filter.status()

    def _write(self, data: bytes) -> None:
        self._pipe.write(data)
        self._pipe.flush()


def main() -> int:
    """Filter the camera that the first line of standard input describes, until told to stop; return the exit code.

    0: a replayed file is at its end, or the service closed the input; 143: SIGTERM; 4: the lease was over; other codes
    are those of `streamdeid.errors`.
    """
    warnings.simplefilter("ignore")
    be_frugal()
    stop = threading.Event()
    signals: list[int] = []

    def stopped(number: int, _frame: object) -> None:
        signals.append(number)
        stop.set()

    signal.signal(signal.SIGTERM, stopped)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the service, which ends its cameras in order
    name = "camera"
    try:
        with _own_output() as pipe:
            # Unbuffered: Python aborts at the end of the program while a thread waits in a buffered input.
            given = io.FileIO(0, closefd=False)
            order = read_order(given.readline(LONGEST_LINE))
            name = order.camera.name
            with unpacked_order(order, _exactly(given, order.sent)) as (camera, key):
                _run(camera, key, given, pipe, stop)
    except Exception as error:
        say(f"streamdeid: {name}: {_line(error)}", to=sys.stderr)
        return int(error.exit_code if isinstance(error, StreamdeidError) else ExitCode.FAILED_CLOSED)
    return int(ExitCode.TERMINATED if signals else ExitCode.DONE)


def _run(camera: Camera, key: bytes | None, given: io.FileIO, pipe: BinaryIO, stop: threading.Event) -> None:
    """Filter until `stop` is set or a replayed file is at its end. Raises StreamdeidError."""
    wanted, lease = WantedPictures(), _Lease(stop)
    threading.Thread(target=_listen, args=(given, wanted, lease, stop), name="listener", daemon=True).start()
    with (
        contextlib.closing(StatusReporter(pipe, wanted, stop)) as reporter,
        service_turns() as turns,
        open_live(camera.source, camera.output, camera.settings, camera.live, key=key, turns=turns) as live_filter,
    ):
        reporter.begin(live_filter)
        live_filter.run(stop)
    if lease.over:  # otherwise this would look like a file at its end, which is not started again
        raise FailedClosed("the service could not be reached, or had no time for it")


def _listen(given: io.FileIO, wanted: WantedPictures, lease: _Lease, stop: threading.Event) -> None:
    """Read wishes and lease times from standard input; at its end the service is gone, and this process ends."""
    with contextlib.suppress(OSError, ValueError):
        while line := given.readline(64):
            words = line.decode("ascii", "replace").split()
            if len(words) == 2 and words[0] == UNTIL:
                lease.renew(float(words[1]))
            else:
                wanted.ask(" ".join(words))
    stop.set()
    time.sleep(_LAST)
    os._exit(ExitCode.FAILED_CLOSED)


class _Lease:
    """Ends this process when its lease is not renewed, even if the relay that started it hangs.

    Before the first renewal the lease has no effect. A Python thread ends the process in order, if this thread gets to
    run: a library that holds Python's lock for long, or an overloaded machine, may prevent that. So the operating
    system has an alarm, too, for which no thread of this process has to run.
    """

    def __init__(self, stop: threading.Event) -> None:
        self._stop, self._until = stop, 0.0
        self.over = False
        self._thread: threading.Thread | None = None

    def renew(self, until: float) -> None:
        """Let the process run until this time of `time.monotonic`."""
        self._until = max(self._until, until)
        if hasattr(signal, "setitimer"):  # SIGALRM has no handler, so it kills the process
            signal.setitimer(signal.ITIMER_REAL, max(self._until - time.monotonic() + ENDING, _AT_ONCE))
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="lease", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        while (left := self._until - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))
        self.over = True
        self._stop.set()
        time.sleep(max(0.0, self._until + ENDING - _BEFORE - time.monotonic()))
        os._exit(ExitCode.FAILED_CLOSED)


def _exactly(given: io.FileIO, length: int) -> bytes:
    """Read exactly `length` bytes of the input. Raises FailedClosed when the input ends before."""
    found = bytearray()
    while len(found) < length:
        chunk = given.read(min(length - len(found), 1 << 20))
        if not chunk:
            raise FailedClosed("its order was cut off")
        found += chunk
    return bytes(found)


@contextlib.contextmanager
def _own_output() -> Iterator[BinaryIO]:
    """Give standard output for the messages only: the output of libraries goes to stderr."""
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)
        # At the end it is no error that the reader is gone.
        try:
            yield pipe
        finally:
            with contextlib.suppress(BrokenPipeError):
                pipe.flush()


def _line(error: Exception) -> str:
    """The text of an error in one line without a password."""
    text = " ".join(str(error).split())
    if isinstance(error, StreamdeidError):
        return scrubbed(text) or type(error).__name__
    # A library's error may quote parts of an address, so only its type is shown.
    return f"failed closed on an unexpected error ({type(error).__name__})"
