"""Visitors' connections: so many at a time, none that only sits there, and none that writes the log.

uvicorn waits for ever for the rest of a request, and for a client that reads nothing; each such connection holds a
file descriptor, and the service needs those to start camera processes. No token is needed to open a connection.
Its options do not help (0.54): `limit_concurrency` answers 503 to a request that came whole, and `timeout_keep_alive`
begins after the first answer. A body that is no HTTP, of a request that is being answered or was, ends in tracebacks of
h11's: uvicorn then sends "400" where there was, or will be, an answer already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def bounded(most: int, patience: float) -> Callable[..., H11Protocol]:
    """What uvicorn makes for each connection. Where more than `most` are open, one is cut off: of those from which a
    request is awaited the one that waits longest; where all are being answered, the newest.

    patience: seconds in which a client must have sent a whole request, or taken a piece of what is sent to it; it is
    cut off within twice as long.
    """
    since: dict[H11Protocol, None] = {}
    """All connections, in the order in which they began to wait: when they came, or were answered last."""

    def protocol(**given: Any) -> H11Protocol:
        one = H11Protocol(**given)
        made, lost, answered, malformed = (
            one.connection_made, one.connection_lost, one.on_response_complete, one.send_400_response
        )  # fmt: skip

        def begun(transport: asyncio.Transport) -> None:
            made(transport)
            since[one] = None
            asyncio.get_running_loop().call_later(patience, look, _waits_for(one))
            living = [each for each in since if not each.transport.is_closing()]
            if len(living) > most:
                next((each for each in living[:-1] if _awaits_request(each)), one).transport.abort()

        def ended(exc: Exception | None) -> None:
            since.pop(one, None)
            lost(exc)

        def complete() -> None:
            if one in since:
                del since[one]
                since[one] = None
            answered()

        def refuse(msg: str) -> None:
            if one.conn.our_state is h11.IDLE:
                malformed(msg)
            else:
                _break_off(one)

        def look(before: tuple[object, int] | None) -> None:
            if one not in since:
                return
            now = _waits_for(one)
            if now is not None and now == before:
                one.transport.abort()
            else:
                asyncio.get_running_loop().call_later(patience, look, now)

        one.connection_made = begun  # type: ignore[method-assign]
        one.connection_lost = ended  # type: ignore[method-assign]
        one.on_response_complete = complete  # type: ignore[method-assign]
        one.send_400_response = refuse  # type: ignore[method-assign]
        return one

    return protocol


def _awaits_request(one: H11Protocol) -> bool:
    """Whether nothing of it is being answered."""
    return one.cycle is None or one.cycle.response_complete


def _break_off(one: H11Protocol) -> None:
    """What it sends is no HTTP, and it was answered, or is being. An answer that waits for nothing more of the request
    is still sent; one that waits for the body is told that the visitor is gone."""
    if one.cycle.response_complete or one.cycle.more_body:
        one.cycle.disconnected = True
        one.cycle.message_event.set()
        one.transport.close()
    else:
        one.cycle.keep_alive = False


def _waits_for(one: H11Protocol) -> tuple[object, int] | None:
    """What the visitor is to do next, equal for as long as it does nothing; None: it is the service's turn."""
    unread = one.transport.get_write_buffer_size()
    if _awaits_request(one) or one.flow.write_paused or one.transport.is_closing():
        return one.cycle, unread
    return None
