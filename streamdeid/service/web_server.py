"""The HTTP server in the service's own loop: uvicorn, without its own handling of signals and without an access log."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket

import uvicorn

from streamdeid.service.app import Overview, app_of
from streamdeid.service.http_settings import HttpSettings

_MOST_CONNECTIONS = 128


class WebServer:
    """Listens from the start; `run` serves until `stop`. Raises SettingsError when it cannot listen."""

    def __init__(self, http: HttpSettings, overview: Overview) -> None:
        self._socket: socket.socket = http.opened()
        self._over = asyncio.Event()
        config = uvicorn.Config(
            app_of(overview, http, self._over),
            http="h11",
            ws="none",
            loop="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # visitors do not write the log
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

    async def started(self) -> None:
        """Wait until it answers."""
        while not self._server.started and not self._server.should_exit:
            await asyncio.sleep(0.01)

    def stop(self) -> None:
        """Let `run` end: pictures that are being sent break off."""
        self._over.set()
        self._server.should_exit = True
