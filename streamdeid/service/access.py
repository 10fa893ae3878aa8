"""Decides who may see the pages: without a token, callers by this machine's own name; else callers with the token.

The token comes with each request, in a header that only a program or this page's own script sets
(`preview_page/token.js`). Data that a browser sends by itself give no access: a cookie is sent to every port of a host,
and another user may listen on another port of this machine. A token in an address is refused, too, because addresses
are kept in histories and in proxies' logs; the part of an address behind "#" is not sent. Pages, styles and scripts
that come with the package need no token, because they ask the user for it.

A program that can send only a name and a password (Home Assistant's generic camera) may send the token as the password,
for viewing only. The service never asks for a password: a browser would keep it, and send it without being asked.

A page of another site may reach this machine by a name of its own (DNS rebinding). Its requests have the wrong name.
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
"""Headers of every answer: load nothing from other sites, show in no frame of another page, keep nothing."""


def guarded(app: ASGIApp, http: HttpSettings, shipped: Collection[str]) -> ASGIApp:
    """The application behind the access check, with security headers on each answer.

    shipped: paths of files that come with the package and hold no secrets; they need no token.
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
    """The answer to a request that is refused; None for all other requests. shipped: as in `guarded`."""
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
    """The token in the Authorization header, or None: a bearer's token, or for viewing a password."""
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic" and request.method in ("GET", "HEAD") and not http.own_pages_only:
        with contextlib.suppress(ValueError):  # not base64, not ASCII, or not text
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
    return None


def _name(request: Request) -> str:
    """The host name that the request was sent to, without the port."""
    name = request.headers.get("host", "").lower()
    return name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name


def _from_own_page(request: Request) -> bool:
    """Whether the request comes from a page of this host and port, or from no page."""
    origin = request.headers.get("origin")
    return origin is None or origin.lower() == f"http://{request.headers.get('host', '').lower()}"


def _stranger(http: HttpSettings) -> Response:
    where = "open the address that was printed" if http.own_pages_only else "send Authorization: Bearer"
    return PlainTextResponse(f"a token is needed: {where}\n", 401, {"WWW-Authenticate": 'Bearer realm="streamdeid"'})


def _same(given: str, right: str) -> bool:
    """Whether two tokens are equal, compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())
