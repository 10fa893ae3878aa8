"""Sends messages to systemd as datagrams to the socket that `NOTIFY_SOCKET` names; without it nothing is sent.

Sources: sd_notify(3) and sd_watchdog_enabled(3), section "Standalone Implementations".
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping

VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
"""Environment variables that systemd sets for this process; the processes that it starts must not get them."""


class Notify:
    """Tells systemd the state of the service. environment: the variables, of which one names systemd's socket."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.interval = _interval(environment) if self._address else None
        """Seconds between `alive` messages, half of the time that systemd allows; None: systemd wants no messages."""

    def ready(self, status: str = "") -> None:
        """Say that the service has started, or has reloaded its file."""
        self._send("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        """Send a line for `systemctl status`."""
        self._send(f"STATUS={status}")

    def reloading(self) -> None:
        """Say that the file is being read again; `ready` has to follow."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def alive(self) -> None:
        """Say that the loop that supervises the cameras runs."""
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Say that the service is ending."""
        self._send("STOPPING=1")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        text = "\n".join(line.replace("\n", " ") for line in lines)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sending:
            sending.setblocking(False)  # a systemd that does not read must not delay the cameras
            try:
                sending.connect(self._address)
                sending.send(text.encode())
            except OSError:
                return


def _interval(environment: Mapping[str, str]) -> float | None:
    """Half of the watchdog's time in seconds; None when there is no watchdog for this process."""
    allowed, meant = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    if not allowed.isdigit() or int(allowed) == 0 or (meant and meant != str(os.getpid())):
        return None
    return int(allowed) / 2e6
