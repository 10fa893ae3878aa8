"""Limits visitors' connections: their number, the time without activity, and their effect on the log.

uvicorn waits without limit for the rest of a request, and for a client that reads nothing. Each such connection holds a
file descriptor, and the service needs descriptors to start camera processes. No token is needed to open a connection.
uvicorn's options do not help (0.54): `limit_concurrency` answers 503 to a request that has come as a whole, and
`timeout_keep_alive` begins after the first answer. When the body of a request that is or was being answered is not
HTTP, uvicorn sends "400" in addition to the answer, and h11 ends in tracebacks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def bounded(most: int, patience: float) -> Callable[..., H11Protocol]:
    """The factory from which uvicorn makes the protocol of each connection, with limits.

    Where more than `most` connections are open, one is cut off: of those without a request being answered the one that
    has waited longest; where all requests are being answered, the newest. patience: seconds in which a client must send
    a whole request, or take a piece of its answer; otherwise it is cut off within twice this time.
    """
    since: dict[H11Protocol, None] = {}
    """All connections, in the order in which they began to wait: when they were opened, or were answered last."""

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
    """Whether no request of this connection is being answered."""
    return one.cycle is None or one.cycle.response_complete


def _break_off(one: H11Protocol) -> None:
    """End a connection that sends data that are not HTTP, after or during an answer.

    An answer that needs no more of the request is still sent; an answer that waits for the body is told that the
    visitor is gone."""
    if one.cycle.response_complete or one.cycle.more_body:
        one.cycle.disconnected = True
        one.cycle.message_event.set()
        one.transport.close()
    else:
        one.cycle.keep_alive = False


def _waits_for(one: H11Protocol) -> tuple[object, int] | None:
    """A value that stays equal while the visitor, who has to act next, does nothing; None: the service has to act."""
    unread = one.transport.get_write_buffer_size()
    if _awaits_request(one) or one.flow.write_paused or one.transport.is_closing():
        return one.cycle, unread
    return None
