"""A real RTSP server on loopback for tests and benchmarks: GStreamer's, as Debian has it (`gst_rtsp_server.py`)."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO
from urllib.parse import quote

PYTHON = "/usr/bin/python3"
PROGRAM = Path(__file__).with_name("gst_rtsp_server.py")
PACKAGES = (
    "python3-gi gir1.2-gst-rtsp-server-1.0 gir1.2-gst-plugins-base-1.0 gstreamer1.0-plugins-base "
    "gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-plugins-ugly"
)
_ELEMENTS = (
    "appsrc appsink videotestsrc audiotestsrc qtdemux rtph264pay rtph264depay rtph265pay rtppcmapay alawenc h264parse "
    "h265parse x264enc rtpbin"
)
_PROBE = f"""
import gi
for name in ("Gst", "GstApp", "GstRtspServer"):
    gi.require_version(name, "1.0")
from gi.repository import Gst, GstApp, GstRtspServer
Gst.init(None)
print(" ".join(name for name in "{_ELEMENTS}".split() if Gst.ElementFactory.find(name) is None))
"""
_START = 20.0
"""Seconds that a server may take to start."""


@lru_cache(maxsize=1)
def gst_missing() -> str | None:
    """What GStreamer's RTSP server lacks here, in words for `pytest.skip`; None: nothing."""
    if not Path(PYTHON).exists():
        return f"GStreamer's RTSP server needs {PYTHON} ({PACKAGES})"
    done = subprocess.run([PYTHON, "-c", _PROBE], capture_output=True, text=True, check=False, env=_environment())
    if done.returncode:
        return f"GStreamer's RTSP server is not installed ({PACKAGES})"
    return f"GStreamer lacks {done.stdout.strip()} ({PACKAGES})" if done.stdout.strip() else None


def _environment() -> dict[str, str]:
    """Of this process, without what would send Debian's Python to another one's packages."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


@dataclass
class GstServer:
    """The server as a child process in a process group of its own. Use it in a `with` statement.

    In a test, call `pytest.skip(gst_missing())` first where that is not None. Raises RuntimeError when it does not
    start. What is mounted: see `gst_rtsp_server.py`.
    """

    cam: Path | None = None
    """MP4 file for /cam; None: there is no such mount."""
    codec: str = "h264"
    """Of that file: h264 or h265."""
    epoch: float | None = None
    """`time.monotonic` at which the first frame of it was due; None: when the server starts."""
    record: Path | None = None
    """File that gets everything published to /rec, a bare H.264 stream."""
    user: str = ""
    """Who may read and publish; empty: everybody."""
    password: str = ""
    address: str = "127.0.0.1"
    port: int = 0
    """0: the kernel chooses, once; a restart has the same one."""
    prefix: tuple[str, ...] = ()
    """Command to start it with, as in `ip netns exec NAME`."""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _complaints: IO[bytes] | None = field(default=None, repr=False)

    def __enter__(self) -> GstServer:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """Of the running server."""
        assert self._process is not None, "the server does not run"
        return self._process.pid

    def url(self, mount: str = "/cam", user: str | None = None, password: str | None = None) -> str:
        """The address of a mount, with user and password where it needs them or others are given."""
        user, password = self.user if user is None else user, self.password if password is None else password
        login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
        return f"rtsp://{login}{self.address}:{self.port}{mount}"

    def start(self) -> None:
        """Start it and wait until it is ready."""
        assert self._process is None, "the server runs"
        settings = {
            "cam": None if self.cam is None else str(self.cam),
            "codec": self.codec,
            "epoch": self.epoch,
            "record": None if self.record is None else str(self.record),
            "user": self.user,
            "password": self.password,
            "address": self.address,
            "port": self.port,
        }
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [*self.prefix, PYTHON, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            start_new_session=True,
            env=_environment(),
        )
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(settings).encode() + b"\n")
            self._process.stdin.flush()
            self.port = int(self._line().split()[1])
        except (OSError, IndexError, ValueError) as error:
            self._complaints.seek(0)
            words = self._complaints.read().decode(errors="replace").strip()
            self.kill()
            raise RuntimeError(f"the RTSP server did not start: {words or error}") from None

    def _line(self) -> bytes:
        """The first line that it prints, or what there is of it."""
        assert self._process is not None and self._process.stdout is not None
        text, end = b"", time.monotonic() + _START
        while not text.endswith(b"\n") and time.monotonic() < end:
            if select.select([self._process.stdout], [], [], 0.1)[0]:
                part = os.read(self._process.stdout.fileno(), 100)
                if not part:
                    break
                text += part
        return text

    def kill(self) -> None:
        """SIGKILL to its whole group, if it runs: connections break as with a power cut of the process."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)  # not yet waited for, so the number is still its own
            process.wait()
            for pipe in (process.stdin, process.stdout, self._complaints):
                assert pipe is not None
                pipe.close()

    def stop(self) -> None:
        """SIGSTOP: connections stay open and nothing moves."""
        os.killpg(self.pid, signal.SIGSTOP)

    def cont(self) -> None:
        """SIGCONT."""
        os.killpg(self.pid, signal.SIGCONT)

    def restart(self, cam: Path | None = None, codec: str | None = None) -> None:
        """Kill it if it runs and start it again on the same port; with another file for /cam where one is given."""
        self.kill()
        self.cam, self.codec = cam or self.cam, codec or self.codec
        self.start()
