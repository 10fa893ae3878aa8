"""Who may look: on this machine everybody who calls it by its name, elsewhere whoever knows the token.

The token comes with each request, in a header that only a program or this page's own script sets
(`preview_page/token.js`). What a browser sends along by itself opens nothing: a cookie is sent to every port of a host,
and on another port of this machine another user may listen. Nor is a token taken in an address, which is kept in
histories and in proxies' logs; behind "#" it is sent to nobody. Pages, styles and scripts that come with the package
are for everybody: they are what asks for the token.

A program that knows only a name and a password (Home Assistant's generic camera) may give the token as the password,
to look. It is not asked for that way: a browser would keep it, and send it along unasked.

A page of another site that reaches this machine by a name of its own (DNS rebinding) calls it by the wrong name.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
from collections.abc import Collection

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamdeid.service.http_settings import HttpSettings

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
"""On every answer: nothing from elsewhere, nowhere framed, nothing kept."""


def guarded(app: ASGIApp, http: HttpSettings, shipped: Collection[str]) -> ASGIApp:
    """The application for those who may look, with security headers on each answer.

    shipped: paths of what comes with the package and tells nothing, for which no token is needed.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
            await send(message)

        refused = refusal(Request(scope), http, shipped)
        await (app if refused is None else refused)(scope, receive, with_headers)

    return checked


def refusal(request: Request, http: HttpSettings, shipped: Collection[str]) -> Response | None:
    """The answer to somebody who may not look; None for all others. shipped: as in `guarded`."""
    navigates = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    if request.headers.get("sec-fetch-site") in ("cross-site", "same-site") and not navigates:
        return PlainTextResponse("this came from another site\n", 403)
    if (http.token is None or http.own_pages_only) and _name(request) not in (*_LOCAL, http.host):
        return PlainTextResponse("this name is not served here\n", 421)
    if http.own_pages_only and not _from_own_page(request):
        return PlainTextResponse("this came from another site\n", 403)
    if http.token is None:
        return None
    if "token" in request.query_params:
        return PlainTextResponse("a token is not taken in an address: it would be kept in logs and histories\n", 400)
    brought = _brought(request, http)
    if brought is not None and _same(brought, http.token):
        return None
    looks = request.method in ("GET", "HEAD")
    return None if looks and request.scope["path"] in shipped else _stranger(http)


def _brought(request: Request, http: HttpSettings) -> str | None:
    """What the Authorization header has for a token, or None: a bearer's; a password, to look."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic" and request.method in ("GET", "HEAD") and not http.own_pages_only:
        with contextlib.suppress(ValueError):  # not base64, not ASCII, or not text
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
    return None


def _name(request: Request) -> str:
    """By which name it was called, without the port."""
    name = request.headers.get("host", "").lower()
    return name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name


def _from_own_page(request: Request) -> bool:
    """Whether a page that calls, where one does, came from this very host and port."""
    origin = request.headers.get("origin")
    return origin is None or origin.lower() == f"http://{request.headers.get('host', '').lower()}"


def _stranger(http: HttpSettings) -> Response:
    where = "open the address that was printed" if http.own_pages_only else "send Authorization: Bearer"
    return PlainTextResponse(f"a token is needed: {where}\n", 401, {"WWW-Authenticate": 'Bearer realm="streamdeid"'})


def _same(given: str, right: str) -> bool:
    """Compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())
