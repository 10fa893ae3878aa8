"""Who may look: on this machine everybody who calls it by its name, elsewhere whoever knows the token.

A program that knows only a name and a password (Home Assistant's generic camera) may give the token as the password,
to look. It is not asked for that way: a browser would keep it, and send it along unasked.

A page of another site that reaches this machine by a name of its own (DNS rebinding) calls it by the wrong name. A
token in the address is swapped for a cookie at once, so that it does not stay in the address bar. The cookie holds a
hash of it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
from html import escape
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamdeid.service.http_settings import HttpSettings

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
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


def guarded(app: ASGIApp, http: HttpSettings) -> ASGIApp:
    """The application for those who may look, with security headers on each answer."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
            await send(message)

        refused = refusal(Request(scope), http)
        await (app if refused is None else refused)(scope, receive, with_headers)

    return checked


def refusal(request: Request, http: HttpSettings) -> Response | None:
    """The answer to somebody who may not look, or has to come again with a cookie; None for all others."""
    if request.headers.get("sec-fetch-site") in ("cross-site", "same-site") and request.method != "GET":
        return PlainTextResponse("this came from another site\n", 403)
    if request.headers.get("sec-fetch-site") == "cross-site" and request.headers.get("sec-fetch-mode") != "navigate":
        return PlainTextResponse("this came from another site\n", 403)
    if (http.token is None or http.own_pages_only) and _name(request) not in (*_LOCAL, http.host):
        return PlainTextResponse("this name is not served here\n", 421)
    if http.own_pages_only and not _from_own_page(request):
        return PlainTextResponse("this came from another site\n", 403)
    if http.token is None:
        return None
    given = request.query_params.get("token")
    if given is not None:
        if not _same(given, http.token):
            return _stranger()
        return _come_again(request, http)
    brought = _brought(request, http)
    if brought is not None and _same(brought, http.token):
        return None
    return None if _same(request.cookies.get(http.cookie, ""), _cookie(http.token)) else _stranger()


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


def _come_again(request: Request, http: HttpSettings) -> Response:
    rest = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "token"])
    # A path that begins with two slashes would lead to another host.
    place = "/" + request.url.path.lstrip("/\\") + (f"?{rest}" if rest else "")
    response: Response = RedirectResponse(place, 303)
    if http.own_pages_only:
        # From a page that another program opened, a browser would go on to the place without the strict cookie; it
        # goes there with it from a page of this host.
        response = HTMLResponse(f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(place)}">')
    response.set_cookie(http.cookie, _cookie(http.token or ""), httponly=True, samesite="strict", path="/")
    return response


def _stranger() -> Response:
    return PlainTextResponse(
        "a token is needed: add ?token=... to the address, or send Authorization: Bearer\n",
        401,
        {"WWW-Authenticate": 'Bearer realm="streamdeid"'},
    )


def _cookie(token: str) -> str:
    return hmac.new(token.encode(), b"streamdeid cookie", hashlib.sha256).hexdigest()


def _same(given: str, right: str) -> bool:
    """Compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())
