"""The HTTP server in the service's own loop: uvicorn without its signal handling and without an access log."""

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
"""Seconds in which a request must arrive, and in which a client must read sent data."""
_GRACE = 0.5
"""Seconds before visitors are cut off at the end; uvicorn's own setting takes whole seconds only."""


class WebServer:
    """A server that listens from the start; `run` serves until `stop`. Raises SettingsError when it cannot listen."""

    def __init__(self, http: HttpSettings, app_of: Callable[[asyncio.Event], ASGIApp]) -> None:
        """app_of: makes the application; its argument is an event that is set at the end, so that streams end."""
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
        # The service handles the signals itself; uvicorn would take them and raise them again at its end.
        self._server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
        host, port = self._socket.getsockname()[:2]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
        """The URL of the server."""

    async def run(self) -> None:
        """Serve until `stop`."""
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self._socket.close()

    async def started(self, run: asyncio.Task[None]) -> None:
        """Wait until the server answers, or until `run` has ended."""
        while not (self._server.started or self._server.should_exit or run.done()):
            await asyncio.sleep(0.01)

    def stop(self) -> None:
        """Let `run` end: streams of pictures are ended, and clients that read nothing are cut off."""
        self._over.set()
        self._server.should_exit = True
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # connections that break now are no errors
        asyncio.get_running_loop().call_later(_GRACE, self._cut_off)

    def _cut_off(self) -> None:
        for one in list(self._server.server_state.connections):
            if isinstance(one, H11Protocol):
                one.transport.abort()
