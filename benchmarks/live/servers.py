"""The servers of the live benchmarks: GStreamer's (`tests/rtsp.py`), and a network that can be cut."""

from __future__ import annotations

import os
import shutil
import subprocess

from tests.rtsp import GstServer, gst_missing

__all__ = ["GstServer", "Namespace", "gst_missing", "namespaces_missing"]


def namespaces_missing() -> str | None:
    """Why there can be no network namespaces here; None: there can."""
    if os.geteuid():
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need iproute2"
    try:
        with Namespace("probe"):
            return None
    except RuntimeError as error:
        return str(error)


class Namespace:
    """A network namespace joined to this one by two virtual cards. Use it in a `with` statement.

    Raises RuntimeError when it cannot be made. What was made is taken away at the end.
    """

    def __init__(self, word: str = "cam") -> None:
        number = os.getpid()
        self.name = f"streamdeid-{word}-{number}"
        self._card, self._peer = f"sd{word[:1]}{number}", f"sp{word[:1]}{number}"
        net = f"10.{200 + number % 50}.{number // 50 % 250}"
        self.address, self._own = f"{net}.2", f"{net}.1"
        """Of whatever runs in there."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """Command that starts another one in there."""
        return ("ip", "netns", "exec", self.name)

    def __enter__(self) -> Namespace:
        try:
            _ip("netns", "add", self.name)
            _ip("link", "add", self._card, "type", "veth", "peer", "name", self._peer, "netns", self.name)
            _ip("addr", "add", f"{self._own}/24", "dev", self._card)
            _ip("link", "set", self._card, "up")
            _ip("-n", self.name, "addr", "add", f"{self.address}/24", "dev", self._peer)
            _ip("-n", self.name, "link", "set", self._peer, "up")
            _ip("-n", self.name, "link", "set", "lo", "up")
        except RuntimeError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for words in (("link", "del", self._card), ("netns", "del", self.name)):
            subprocess.run(["ip", *words], capture_output=True, check=False)  # whatever of it there is

    def cut(self) -> None:
        """Nothing gets through any more, and nobody is told."""
        _ip("-n", self.name, "link", "set", self._peer, "down")

    def join(self) -> None:
        """Everything gets through again."""
        _ip("-n", self.name, "link", "set", self._peer, "up")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr.strip()}")
