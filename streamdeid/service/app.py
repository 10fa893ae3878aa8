"""The web pages of the service: health, metrics, the cameras' states, and pictures made from filtered frames."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from fractions import Fraction
from typing import Protocol

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from streamdeid.protect.placeholders import placeholder
from streamdeid.service.access import guarded
from streamdeid.service.camera_report import CameraReport
from streamdeid.service.http_settings import HttpSettings
from streamdeid.service.metrics import metrics_text
from streamdeid.service.preview import MOST_AGE, jpeg
from streamdeid.service.shipped_pages import shipped_pages

MOST_VIEWERS = 8
"""Most streams of one camera that are sent at the same time."""
_PATIENCE = 3.0
"""Seconds to wait for a picture."""
_BOUNDARY = "streamdeid-picture"
_FILES = {"/": "index.html"} | {f"/{name}": name for name in ("page.css", "page.js", "token.js")}


class Viewed(Protocol):
    """A camera, like `supervised_camera.SupervisedCamera`; its pictures are bytes made from filtered frames."""

    def report(self) -> CameraReport: ...

    async def preview(self, after: int, timeout: float) -> tuple[int, bytes] | None: ...

    async def snapshot(self, timeout: float) -> bytes | None: ...


class Overview(Protocol):
    """The service, like `supervisor.Supervisor`."""

    @property
    def cameras(self) -> Mapping[str, Viewed]: ...

    begun: float
    reloads: dict[str, int]


def app_of(overview: Overview, http: HttpSettings, over: asyncio.Event) -> ASGIApp:
    """The web application of the service. over: set when the service ends, so that streams end."""
    viewers: Counter[str] = Counter()

    def reports() -> list[CameraReport]:
        return [camera.report() for camera in overview.cameras.values()]

    async def healthz(request: Request) -> Response:
        states = {report.name: {"state": report.state, "reason": report.reason} for report in reports()}
        degraded = [name for name, state in states.items() if state["state"] not in ("live", "ended")]
        return JSONResponse(
            {"status": "degraded" if degraded else "ok", "degraded": degraded, "cameras": states},
        )

    async def readyz(request: Request) -> Response:
        waiting = {report.name: report.reason or report.state for report in reports() if not report.ready}
        return JSONResponse({"ready": not waiting, "not_ready": waiting}, 503 if waiting else 200)

    async def metrics(request: Request) -> Response:
        text = metrics_text(reports(), overview.begun, overview.reloads)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    async def cameras(request: Request) -> Response:
        return JSONResponse({"cameras": [report.as_json() for report in reports()]})

    async def nothing(request: Request) -> Response:
        return Response(status_code=204)

    async def preview(request: Request) -> Response:
        camera = overview.cameras.get(request.path_params["name"])
        if camera is None:
            return _none_such()
        picture = await camera.preview(0, _PATIENCE)
        if picture is None:
            return _no_picture()
        return Response(picture[1], media_type="image/jpeg")

    async def snapshot(request: Request) -> Response:
        name = request.path_params["name"]
        camera = overview.cameras.get(name)
        if camera is None:
            return _none_such()
        picture = await camera.snapshot(_PATIENCE)
        if picture is None:
            return _no_picture()
        saved = {"Content-Disposition": f'attachment; filename="{name}.jpg"'}
        return Response(picture, media_type="image/jpeg", headers=saved)

    async def stream(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in overview.cameras:
            return _none_such()
        if viewers[name] >= MOST_VIEWERS:
            return PlainTextResponse(f"{MOST_VIEWERS} already look at this camera\n", 503, {"Retry-After": "5"})
        if request.method == "HEAD":
            return Response(media_type=f"multipart/x-mixed-replace; boundary={_BOUNDARY}")
        return StreamingResponse(pictures(name), media_type=f"multipart/x-mixed-replace; boundary={_BOUNDARY}")

    async def pictures(name: str) -> AsyncIterator[bytes]:
        if viewers[name] >= MOST_VIEWERS:
            return  # several requests came at the same moment
        viewers[name] += 1
        try:
            shown, blank, seen = 0, False, overview.cameras.get(name)
            yield f"--{_BOUNDARY}\r\n".encode()
            while not over.is_set() and (camera := overview.cameras.get(name)) is not None:
                if camera is not seen:  # the camera's settings changed, and its pictures are counted from 1 again
                    shown, seen = 0, camera
                picture = await camera.preview(shown, MOST_AGE)
                if picture is not None:
                    shown, blank = picture[0], False
                    yield _part(picture[1])
                elif not blank:  # otherwise a browser continues to show the last picture
                    blank = True
                    yield _part(_placeholder())
                else:
                    await asyncio.sleep(0.25)
            yield _part(_placeholder())
        finally:
            viewers[name] -= 1

    routes = [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
        Route("/api/cameras", cameras),
        Route("/cameras/{name}/preview.jpg", preview),
        Route("/cameras/{name}/stream.mjpeg", stream),
        Route("/cameras/{name}/snapshot.jpg", snapshot, methods=["GET", "POST"]),
        Route("/favicon.ico", nothing),
        *shipped_pages("streamdeid.service", "preview_page", _FILES),
    ]
    app = Starlette(routes=routes)
    app.router.redirect_slashes = False  # a redirection would name http:// behind a proxy that speaks TLS
    return guarded(app, http, {*_FILES, "/favicon.ico"})


def _part(data: bytes) -> bytes:
    """A picture of a stream with the boundary behind it, because browsers show a picture only when it is complete."""
    head = f"Content-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data + f"\r\n--{_BOUNDARY}\r\n".encode()


@functools.cache
def _placeholder() -> bytes:
    return jpeg(placeholder((640, 480), "NO PICTURE", ["of this camera now"], Fraction(0), 0))


def _none_such() -> Response:
    return PlainTextResponse("there is no such camera\n", 404)


def _no_picture() -> Response:
    return PlainTextResponse("there is no picture now\n", 503, {"Retry-After": "1"})
