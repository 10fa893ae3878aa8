"""The desk's server: it serves this machine only, with a new token each time, until Ctrl-C or "finish"."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Callable, Sequence

from streamdeid.core.shown_text import plain
from streamdeid.errors import StreamdeidError
from streamdeid.review.app import DeskOpening, DeskPages, Open
from streamdeid.service.http_settings import HttpSettings
from streamdeid.service.web_server import WebServer

_TOKEN_BYTES = 16


async def serve_desk(
    port: int,
    read: Callable[[], Open],
    ready: Callable[[str], None],
    signals: Sequence[int] = (signal.SIGTERM, signal.SIGINT),
) -> int:
    """Serve until the desk is finished; return 0, or the number of the signal that ended it.

    port: 0 for any free one. read: reads everything that the desk needs; called in a thread while the page is already
    served. ready: called with the address, token included. signals: those that end it; must be empty outside the main
    thread. Raises SettingsError when it cannot listen, and what `read` raises.
    """
    http = HttpSettings(port=port, token=secrets.token_hex(_TOKEN_BYTES), own_pages_only=True)
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(number: int) -> None:
        if not ended.done():
            ended.set_result(number)

    opening = DeskOpening()
    pages = DeskPages(opening, lambda: end(0))
    with contextlib.ExitStack() as safe:
        for number in signals:
            loop.add_signal_handler(number, end, number)
            safe.callback(loop.remove_signal_handler, number)
        server = WebServer(http, lambda over: pages.app(http))
        safe.callback(pages.close)
        web = asyncio.create_task(server.run())
        await server.started(web)
        ready(f"{server.address}#token={http.token}")  # no browser sends the part after "#" to a server
        reading = loop.run_in_executor(None, _opened, opening, read)
        try:
            await asyncio.wait((ended, reading), return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                reading.result()  # raises what reading raised
                await ended
        finally:
            server.stop()
            await web
            if opening.open is not None:
                opening.open.pictures.close()
    return ended.result()


def _opened(opening: DeskOpening, read: Callable[[], Open]) -> None:
    try:
        opening.open = read()
    except StreamdeidError as error:
        opening.failed = plain(str(error))
        raise
