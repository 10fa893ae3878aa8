"""`streamdeid filter` for live streams: it filters a camera, or a replayed file, until it is stopped."""

from __future__ import annotations

import argparse
import contextlib
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TextIO

from streamdeid.cli.error_text import Stopped, UsageError
from streamdeid.cli.file_runs import warn_of_key
from streamdeid.cli.live_options import live_settings_of, refuse_idle_options
from streamdeid.cli.live_signals import heeded
from streamdeid.core.addresses import is_address, is_device, scrubbed, shown
from streamdeid.core.named_files import check_named
from streamdeid.core.shown_text import say, say_json
from streamdeid.core.status import LiveStatus
from streamdeid.errors import ExitCode, FailedClosed
from streamdeid.runs.live import LiveFilter
from streamdeid.runs.live_parts import open_live
from streamdeid.runs.named_by_settings import files_of_run
from streamdeid.settings import Settings
from streamdeid.video.live.files import deletes

_EVERY = 1.0
"""Seconds between two reports of the state."""
_STARTING = 4.0
"""Seconds of a start in which the state "starting" is not reported."""
_CLEARED = "\r\033[K"
"""Control characters that clear a terminal's line."""


def is_live(arguments: argparse.Namespace) -> bool:
    """Whether the command line asks for a live run. Raises UsageError if only its output is a stream."""
    words = [*arguments.arguments, *([] if arguments.output is None else [arguments.output])]
    if arguments.realtime or is_address(words[0]) or is_device(words[0]):
        return True
    if len(words) > 1 and (words[-1] == "-" or is_address(words[-1]) or words[-1].lower().endswith(".m3u8")):
        raise UsageError("a file becomes a stream with --realtime, which replays it at its own pace")
    return False


def run_live(arguments: argparse.Namespace, settings: Settings) -> ExitCode:
    """Filter until a signal comes or a replayed file ends. Raises StreamdeidError."""
    live = live_settings_of(arguments)
    words = list(arguments.arguments)
    output = words.pop() if len(words) == 2 and arguments.output is None else arguments.output
    if len(words) != 1 or output is None:
        raise UsageError(
            "a live stream needs one INPUT and one OUTPUT (an rtsp:// address, -, an .m3u8 or a video file)"
        )
    address = words[0]
    if live.realtime and (is_address(address) or is_device(address)):
        raise UsageError("--realtime is for files; a camera has its own pace")
    refuse_idle_options(arguments, address, output)
    if output == "-" and arguments.json:
        raise UsageError("--json needs standard output, which carries the video")
    check_named("filter", files_of_run(settings, [(_file(address), _file(output))]))
    source = _file(address)
    if source is not None and deletes(output, source, keeps=live.keep_files is not None, overwrite=settings.overwrite):
        raise UsageError(f"{source} has such a name as an earlier file of {output}, and would be deleted as one")
    begun = time.monotonic()
    live_filter = open_live(address, output, settings, live)
    warn_of_key(settings)
    try:
        with live_filter, _told(live_filter, arguments), heeded() as flag:
            live_filter.run(flag.stop)
    except (Stopped, KeyboardInterrupt) as stopped:
        number = stopped.signal if isinstance(stopped, Stopped) else 2
        return _ended(live_filter, arguments, output, begun, ExitCode(128 + number))
    code = _ended(live_filter, arguments, output, begun, ExitCode(0 if flag.number is None else 128 + flag.number))
    if code == ExitCode.DONE:
        _check_filtered(live_filter.status(), output)
    return code


def _file(word: str) -> Path | None:
    """The file that a word of the command line stands for; None for an address, a device and standard output."""
    return None if is_address(word) or is_device(word) or word == "-" else Path(word)


def _check_filtered(status: LiveStatus, output: str) -> None:
    """Raise FailedClosed if no frame of a replayed file was filtered."""
    if not status.filtered:
        raise FailedClosed(
            f"not one frame of the recording is in {shown(output)}: {status.source.dropped} came too fast for this "
            f"machine and were left out, {status.withheld} were withheld; without --realtime none is left out"
        )


def _ended(
    live_filter: LiveFilter, arguments: argparse.Namespace, output: str, begun: float, code: ExitCode
) -> ExitCode:
    status = live_filter.status()
    if arguments.json:
        if _takes(sys.stdout):
            say_json(asdict(status))
    elif not arguments.quiet and _takes(sys.stderr):
        spared = f", {status.source.spared} more than wanted" if status.source.spared else ""
        lost = f"{spared}, {status.source.dropped} left out before the filter (never shown), {status.withheld} withheld"
        seconds = time.monotonic() - begun
        line = f"{shown(output)}: {status.filtered} frames in {seconds:.0f} s{lost}; {_faces(status)}"
        say(f"streamdeid: {line}", to=sys.stderr)
    return code


@contextlib.contextmanager
def _told(live_filter: LiveFilter, arguments: argparse.Namespace) -> Iterator[None]:
    """Report the status about once a second from a thread, for as long as the block lasts."""
    over, tell = threading.Event(), _status_reporter(arguments)

    def watch() -> None:
        with contextlib.suppress(BrokenPipeError):  # nobody reads it any more; the filter goes on
            while not over.wait(_EVERY):
                if _takes(sys.stdout if arguments.json else sys.stderr):
                    tell(live_filter.status())

    thread = threading.Thread(target=watch, name="status", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_EVERY)


def _status_reporter(arguments: argparse.Namespace) -> Callable[[LiveStatus], None]:
    """The function that reports the state: as JSON, as a line that is overwritten, or as one line for each change."""
    if arguments.json:
        return lambda status: say_json(asdict(status))
    if arguments.quiet:
        return lambda status: None
    terminal, begun = sys.stderr.isatty(), time.monotonic()
    last: list[str] = []

    def tell(status: LiveStatus) -> None:
        now = scrubbed(f"{status.state}{': ' + status.reason if status.reason else ''}")
        soon = status.state == "starting" and time.monotonic() - begun < _STARTING  # this is normal
        if [now] != last and not soon:
            last[:] = [now]
            line = f"{datetime.now(timezone.utc):%H:%M:%S} {now}"
            say(line if terminal else f"streamdeid: {line}", to=sys.stderr, before=_CLEARED if terminal else "")
        if terminal:
            line = (
                f"{status.rate:.1f} per s, {status.filtered} frames, {_faces(status)}, {status.source.dropped} dropped"
            )
            say(line, to=sys.stderr, before=_CLEARED, end="")

    return tell


def _takes(stream: TextIO) -> bool:
    """Whether a line can be written at once: a reader that has stopped reading must not delay the end."""
    try:
        return bool(select.select([], [stream], [], 0)[1])
    except (OSError, ValueError):  # `select` does not work on this stream
        return True


def _faces(status: LiveStatus) -> str:
    covered = ", ".join(f"{count} {level}" for level, count in status.faces.items())
    return f"covers: {covered}" if covered else "no faces"
