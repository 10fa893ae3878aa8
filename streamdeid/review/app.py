"""The web application of the desk: pictures, the state, and edits. `service.access` decides who may use it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from streamdeid.core.shown_text import plain
from streamdeid.errors import FailedClosed, InputError, OutputError, SettingsError
from streamdeid.review.desk import Desk
from streamdeid.review.edit_requests import edit_of, keys_of, whole
from streamdeid.review.following import Following, ReducedPictures, follow
from streamdeid.review.pictures import Pictures
from streamdeid.service.access import guarded
from streamdeid.service.http_settings import HttpSettings
from streamdeid.service.shipped_pages import shipped_pages

_FILES = {"/": "index.html"} | {
    f"/{name}": name
    for name in ("desk.css", "desk.js", "stage.js", "timeline.js", "lists.js", "dialogs.js", "asking.js")
}
_SHARED = {"/token.js": "token.js"}
"""Files of the preview page that the desk's page uses, too."""
_LARGEST = 16 << 20
"""Most bytes of a request: a place drawn over an hour has 100,000 boxes."""
_MOST_PLACES = 500
"""Most frames whose places are given in one answer."""

Answer = Callable[[Request], Awaitable[Response]]


@dataclass
class Open:
    """An opened recording: its pictures and the state of the desk."""

    pictures: Pictures
    desk: Desk


@dataclass
class DeskOpening:
    """A desk that is being opened: `open` is set when all files are read, `failed` when they cannot be read."""

    open: Open | None = None
    failed: str = ""


class DeskPages:
    """The application's answers. Edits are made one at a time in the event loop, pictures in threads."""

    def __init__(self, opening: DeskOpening, finish: Callable[[], None]) -> None:
        """finish: called to end the server."""
        self._opening, self._finish = opening, finish
        self._threads = ThreadPoolExecutor(2, "pictures")
        self._follow_thread = ThreadPoolExecutor(1, "follow")
        self._following = Following(done=True)
        self._thumbnails: dict[tuple[int, int], bytes] = {}

    def app(self, http: HttpSettings) -> ASGIApp:
        """The application, with access checks."""
        posts: Mapping[str, Callable[[Desk, Any], str]] = {
            "/edit": self._edit,
            "/undo": lambda desk, asked: f"Undone: {desk.undo()}.",
            "/redo": lambda desk, asked: f"Done again: {desk.redo()}.",
            "/looked": self._looked,
        }
        routes = [
            Route("/state", self._state),
            Route("/places", self._places),
            Route("/frame/{number}.jpg", self._picture(self._published)),
            Route("/original/{number}.jpg", self._picture(self._original)),
            Route("/snapshot/{number}.jpg", self._picture(self._snapshot)),
            Route("/person/{number}.jpg", self._picture(self._thumbnail)),
            *(Route(path, self._changing(what), methods=["POST"]) for path, what in posts.items()),
            Route("/follow", self._follow, methods=["POST"]),
            Route("/follow", self._followed),
            Route("/follow/stop", self._stop_following, methods=["POST"]),
            Route("/closed", self._closed, methods=["POST"]),
            Route("/finish", self._finished, methods=["POST"]),
            Route("/favicon.ico", _nothing),
            *shipped_pages("streamdeid.review", "page", _FILES),
            *shipped_pages("streamdeid.service", "preview_page", _SHARED),
        ]
        app = Starlette(routes=routes)
        app.router.redirect_slashes = False
        return guarded(app, http, {*_FILES, *_SHARED, "/favicon.ico"})

    def close(self) -> None:
        """Stop the threads."""
        self._following.stop.set()
        self._threads.shutdown(cancel_futures=True)
        self._follow_thread.shutdown(cancel_futures=True)

    # State and edits

    async def _state(self, request: Request) -> Response:
        if self._opening.open is None:
            return JSONResponse({"opening": True, "failed": self._opening.failed})
        return JSONResponse(self._opening.open.desk.state())

    async def _places(self, request: Request) -> Response:
        opened = self._opening.open
        try:
            first = whole(_number(request.query_params.get("first")))
            count = whole(_number(request.query_params.get("count")), 1)
        except SettingsError as error:
            return PlainTextResponse(f"{error}\n", 400)
        if opened is None:
            return _not_yet()
        return JSONResponse(
            {
                "first": first,
                "version": opened.desk.version,
                "frames": opened.desk.places_of(first, min(count, _MOST_PLACES)),
            }
        )

    def _changing(self, what: Callable[[Desk, Any], str]) -> Answer:
        """An answer that changes the edits and returns the new state."""

        async def answer(request: Request) -> Response:
            if self._opening.open is None:
                return _not_yet()
            desk = self._opening.open.desk
            try:
                said = what(desk, await _json(request))
            except SettingsError as error:
                return JSONResponse({"wrong": str(error)}, 422)
            except OutputError as error:
                return JSONResponse({"wrong": plain(f"nothing was changed: {error}")}, 507)
            return JSONResponse({"said": said, "state": desk.state()})

        return answer

    @staticmethod
    def _edit(desk: Desk, asked: Any) -> str:
        desk.make(edit_of(asked), confirmed="confirmed" not in asked or asked["confirmed"] is True)
        return f"{desk.state()['undo']}."

    @staticmethod
    def _looked(desk: Desk, asked: Any) -> str:
        if not isinstance(asked, dict) or set(asked) != {"id", "looked"} or not isinstance(asked["looked"], bool):
            raise SettingsError("a doubt is noted by its id, and whether it was looked at")
        if not isinstance(asked["id"], str):
            raise SettingsError("there is no such doubt")
        desk.look(asked["id"], asked["looked"])
        return "Looked at." if asked["looked"] else "Not looked at."

    # Pictures

    def _picture(self, made: Callable[[Open, int], Callable[[], bytes] | None]) -> Answer:
        """An answer with a picture that is made in a thread. made: called with the number of a frame or a person, or -1
        for a bad number; returns None if there is no such picture."""

        async def answer(request: Request) -> Response:
            if self._opening.open is None:
                return _not_yet()
            number = _number(request.path_params["number"])
            make = made(self._opening.open, number)
            if make is None:
                return PlainTextResponse("there is no such picture\n", 404)
            try:
                data = await asyncio.get_running_loop().run_in_executor(self._threads, make)
            except (InputError, FailedClosed) as error:
                return PlainTextResponse(f"{plain(str(error))}\n", 503)
            saved = {}
            if request.scope["path"].startswith("/snapshot/"):
                saved = {"Content-Disposition": f'attachment; filename="frame-{number}.jpg"'}
            return Response(data, media_type="image/jpeg", headers=saved)

        return answer

    @staticmethod
    def _published(opened: Open, frame: int) -> Callable[[], bytes] | None:
        desk = opened.desk
        known = 0 <= frame < len(desk.recorded.times)
        return partial(opened.pictures.published, frame, desk.recorded, *desk.at(frame)) if known else None

    @staticmethod
    def _snapshot(opened: Open, frame: int) -> Callable[[], bytes] | None:
        desk = opened.desk
        known = 0 <= frame < len(desk.recorded.times)
        return partial(opened.pictures.snapshot, frame, desk.recorded, *desk.at(frame)) if known else None

    @staticmethod
    def _original(opened: Open, frame: int) -> Callable[[], bytes] | None:
        return partial(opened.pictures.original, frame) if 0 <= frame < len(opened.desk.recorded.times) else None

    def _thumbnail(self, opened: Open, person: int) -> Callable[[], bytes] | None:
        found = opened.desk.thumbnail_of(person)
        if found is None:
            return None
        frame, box = found
        key = frame, hash(box)

        def make() -> bytes:
            if key not in self._thumbnails:
                self._thumbnails[key] = opened.pictures.thumbnail(frame, box)
            return self._thumbnails[key]

        return make

    # Following a box

    async def _follow(self, request: Request) -> Response:
        opened = self._opening.open
        if opened is None:
            return _not_yet()
        recorded = opened.desk.recorded
        try:
            asked = await _json(request)
            if not isinstance(asked, dict) or set(asked) != {"keys"}:
                raise SettingsError("following needs key frames and nothing else")
            keys = keys_of(asked["keys"])
            if max(keys) >= len(recorded.times):
                raise SettingsError("a key frame is beyond the recording")
            scene = recorded.scene_of(min(keys))
            if recorded.scene_of(max(keys)) != scene:
                raise SettingsError("a cut lies between the key frames: draw a box for each scene")
        except SettingsError as error:
            return JSONResponse({"wrong": str(error)}, 422)
        self._following.stop.set()
        self._following = following = Following()
        run = partial(_followed_to_the_end, keys, scene, opened.pictures, following)
        self._follow_thread.submit(run)
        return JSONResponse({"following": True})

    async def _followed(self, request: Request) -> Response:
        following = self._following
        done = following.done
        boxes = dict(sorted(following.boxes.copy().items()))
        frames = list(boxes)
        first = frames[0] if frames else 0
        whole_row = frames == list(range(first, first + len(frames)))
        told: dict[str, Any] = {"done": done, "first": first, "count": len(frames), "ends": following.ends}
        if done and whole_row:
            told["boxes"] = list(boxes.values())
        return JSONResponse(told)

    async def _stop_following(self, request: Request) -> Response:
        self._following.stop.set()
        return await _nothing(request)

    # The end

    async def _closed(self, request: Request) -> Response:
        """Handle the closing of the page: drop all pictures of the recording from memory."""
        self._following.stop.set()
        if self._opening.open is not None:
            pictures = self._opening.open.pictures
            await asyncio.get_running_loop().run_in_executor(self._threads, pictures.forget_recording)
        return await _nothing(request)

    async def _finished(self, request: Request) -> Response:
        await self._closed(request)
        asyncio.get_running_loop().call_later(0.2, self._finish)
        return JSONResponse({"said": "The desk is closed."})


def _followed_to_the_end(keys: Any, scene: tuple[int, int], pictures: Pictures, following: Following) -> None:
    """Follow a box to its end; a recording that cannot be decoded ends it, too."""
    try:
        with pictures.to_follow() as recording:
            follow(keys, scene, ReducedPictures(lambda frame: recording.frame(frame).y), following)
    except InputError:
        following.ends = {"before": "damage", "after": "damage"}
    finally:
        following.done = True


async def _json(request: Request) -> Any:
    """Read the body as JSON, None if it is empty. Raises SettingsError."""
    data = b""
    try:
        async for piece in request.stream():
            data += piece
            if len(data) > _LARGEST:
                raise SettingsError("that is too much")
    except ClientDisconnect:
        raise SettingsError("the request broke off") from None
    if not data:
        return None
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise SettingsError("an edit is JSON")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise SettingsError("an edit is JSON") from None


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else -1


def _not_yet() -> Response:
    return PlainTextResponse("the recording is still being opened\n", 503, {"Retry-After": "1"})


async def _nothing(request: Request) -> Response:
    return Response(status_code=204)
