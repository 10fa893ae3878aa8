"""Serves pages, styles and scripts that come with the package; they are read once and not changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def shipped_pages(package: str, folder: str, files: Mapping[str, str]) -> list[Route]:
    """A route for each file. package, folder: the place of the files. files: file names by the paths of their pages."""
    place = resources.files(package) / folder
    return [
        Route(path, _answer((place / name).read_bytes(), _KINDS[name.rpartition(".")[2]]))
        for path, name in files.items()
    ]


def _answer(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return Response(content, media_type=kind)

    return answer
