"""The HTTP server in the service's own loop: uvicorn, without its own handling of signals and without an access log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from streamdeid.service.connections import bounded
from streamdeid.service.http_settings import HttpSettings

MOST_CONNECTIONS = 128
PATIENCE = 10.0
"""Seconds for a request to arrive, and for a client to take what is sent."""
_GRACE = 0.5
"""Seconds that visitors have at the end; uvicorn counts in whole ones."""


class WebServer:
    """Listens from the start; `run` serves until `stop`. Raises SettingsError when it cannot listen."""

    def __init__(self, http: HttpSettings, app_of: Callable[[asyncio.Event], ASGIApp]) -> None:
        """app_of: makes the application, given what is set when the server ends, so that streams end."""
        self._socket: socket.socket = http.opened()
        self._over = asyncio.Event()
        config = uvicorn.Config(
            app_of(self._over),
            http=bounded(MOST_CONNECTIONS, PATIENCE),  # type: ignore[arg-type]
            ws="none",
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # clients do not write the log
        self._server = uvicorn.Server(config)
        # The service has signals of its own; uvicorn would take them and raise them again at its end.
        self._server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
        host, port = self._socket.getsockname()[:2]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        """Where it is."""

    async def run(self) -> None:
        """Serve until `stop`."""
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self._socket.close()

    async def started(self, run: asyncio.Task[None]) -> None:
        """Wait until it answers, or `run` has ended instead."""
        while not (self._server.started or self._server.should_exit or run.done()):
            await asyncio.sleep(0.01)

    def stop(self) -> None:
        """Let `run` end: pictures that are being sent break off, and clients that read nothing are cut off."""
        self._over.set()
        self._server.should_exit = True
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what breaks off now is no news
        asyncio.get_running_loop().call_later(_GRACE, self._cut_off)

    def _cut_off(self) -> None:
        for one in list(self._server.server_state.connections):
            if isinstance(one, H11Protocol):
                one.transport.abort()
