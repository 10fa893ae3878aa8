"""A live sink's control of its encoder processes: start them, send without blocking, read replies, kill, wait."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import time
from collections import deque

from streamdeid.core.child_process import child_command, child_environment
from streamdeid.core.process_usage import usage_of
from streamdeid.video.live.encoder.pipe import Replies, Reply

_PIPE_BYTES = 1024 * 1024
"""The largest pipe that Linux gives an ordinary user, in bytes; larger frames are sent in pieces."""
_PIECE = 1024 * 1024
_TICK = 0.003


class EncoderChild:
    """One encoder process. Raises OSError when the process cannot be started; OutputError is never raised.

    Because of `start_new_session` the process does not get the signals of a terminal.
    """

    def __init__(self, *, media_on_stdout: bool) -> None:
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                child_command("streamdeid.video.live.encoder.process:run", str(writing)),
                stdin=subprocess.PIPE,
                stdout=None if media_on_stdout else subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # FFmpeg would write addresses there
                pass_fds=(writing,),
                start_new_session=True,
                bufsize=0,
                env=child_environment(),
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        assert self._process.stdin is not None
        self._stdin = self._process.stdin
        self.to_child = self._stdin.fileno()
        """The handle that commands are written to; poll it for writing while `sending`."""
        self.from_child = reading
        """The handle that replies are read from; poll it for reading."""
        os.set_blocking(self.to_child, False)
        os.set_blocking(reading, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):
                fcntl.fcntl(self.to_child, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._outgoing: deque[memoryview] = deque()
        self._replies = Replies()
        self.pid = self._process.pid
        self.gone = False
        """Whether the process has closed its end of the pipe, or was killed; then `reaped` has to be asked."""

    @property
    def sending(self) -> bool:
        """Whether data wait to be sent."""
        return bool(self._outgoing)

    def send(self, parts: list[memoryview]) -> None:
        """Queue a command and send as much as the pipe takes now."""
        self._outgoing.extend(parts)
        self.pump()

    def pump(self) -> None:
        """Send as much as the pipe takes now."""
        while self._outgoing and not self.gone:
            try:
                count = os.write(self.to_child, self._outgoing[0][:_PIECE])
            except BlockingIOError:
                return
            except OSError:  # the process died; its last replies still have to be read
                self._outgoing.clear()
                return
            rest = self._outgoing.popleft()[count:]
            if rest:
                self._outgoing.appendleft(rest)

    def replies(self) -> list[Reply]:
        """The replies that came since the last call; `gone` is set when no more can come."""
        found: list[Reply] = []
        while not self.gone:
            try:
                piece = os.read(self.from_child, 65536)
            except BlockingIOError:
                break
            self.gone = not piece
            found += self._replies.feed(piece)
        return found

    def kill(self) -> None:
        """Kill the process at once; `reaped` says when it has ended."""
        self._outgoing.clear()
        self.gone = True
        self._process.kill()

    def leave(self) -> None:
        """Close the pipe to the process, which asks it to end in order."""
        with contextlib.suppress(OSError):
            self._stdin.close()

    def reaped(self) -> bool:
        """Whether the process has ended; its handles are released then. Never blocks."""
        if self._process.poll() is None:
            return False
        if self.from_child >= 0:
            self.leave()
            os.close(self.from_child)
            self.from_child = -1
        return True

    def usage(self) -> tuple[float, int]:
        """CPU time in seconds and resident memory in bytes; zeros where /proc is not."""
        return usage_of(self.pid)


class EncoderProcesses:
    """The encoder process that runs, and the killed processes that have not ended yet."""

    def __init__(self, *, media_on_stdout: bool) -> None:
        self._media_on_stdout = media_on_stdout
        self.current: EncoderChild | None = None
        self._dying: list[EncoderChild] = []
        self._spent = 0.0

    def start(self) -> None:
        """Start the next process. Raises OSError."""
        self.current = EncoderChild(media_on_stdout=self._media_on_stdout)

    def discard(self) -> None:
        """Kill the process that runs."""
        child, self.current = self.current, None
        if child is not None:
            child.kill()
            self._spent += child.usage()[0]
            self._dying.append(child)

    def reap(self) -> bool:
        """Release the killed processes that have ended, and return whether some are left. Never blocks."""
        self._dying = [child for child in self._dying if not child.reaped()]
        return bool(self._dying)

    def usage(self) -> tuple[float, int]:
        """CPU seconds of all processes so far, and resident bytes of the one that runs. Any thread may call this."""
        child, spent = self.current, self._spent
        seconds, memory = (0.0, 0) if child is None else child.usage()
        return spent + seconds, memory

    def release(self, patience: float) -> None:
        """End all processes; `reap` says when they have ended. patience: seconds that the one that runs may take."""
        if (child := self.current) is not None:
            child.leave()
            limit, seconds = time.monotonic() + patience, child.usage()[0]
            while not child.reaped() and time.monotonic() < limit:
                time.sleep(_TICK)
                seconds = max(seconds, child.usage()[0])
            self.current, self._spent = None, self._spent + seconds
            child.kill()
            self._dying.append(child)
