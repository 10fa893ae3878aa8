"""Visitors' connections: so many at a time, and none that only sits there.

uvicorn waits for ever for the rest of a request, and for a visitor that reads nothing; each such connection holds a
file descriptor, and the service needs those to start camera processes. No token is needed to open a connection.
Its options do not help (0.54): `limit_concurrency` answers 503 to a request that came whole, and `timeout_keep_alive`
begins after the first answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


def bounded(most: int, patience: float) -> Callable[..., H11Protocol]:
    """What uvicorn makes for each connection. Of more than `most` at a time the newest are cut off.

    patience: seconds in which a visitor must have sent a whole request, or taken a piece of what is sent to it; it is
    cut off within twice as long.
    """

    def protocol(**given: Any) -> H11Protocol:
        one = H11Protocol(**given)
        made = one.connection_made

        def begun(transport: asyncio.Transport) -> None:
            made(transport)
            if len(one.connections) > most:
                transport.abort()
            else:
                asyncio.get_running_loop().call_later(patience, look, _waits_for(one))

        def look(before: tuple[object, int] | None) -> None:
            if one not in one.connections:
                return
            now = _waits_for(one)
            if now is not None and now == before:
                one.transport.abort()
            else:
                asyncio.get_running_loop().call_later(patience, look, now)

        one.connection_made = begun  # type: ignore[method-assign]
        return one

    return protocol


def _waits_for(one: H11Protocol) -> tuple[object, int] | None:
    """What the visitor is to do next, equal for as long as it does nothing; None: it is the service's turn."""
    unread = one.transport.get_write_buffer_size()
    if one.cycle is None or one.cycle.response_complete or one.flow.write_paused or one.transport.is_closing():
        return one.cycle, unread
    return None
