"""streamdeid: a privacy filter for video.

Every face is replaced by a synthetic one that speaks, blinks and turns like the original and belongs to nobody::

    import numpy as np
    from streamdeid import Filter

    with Filter() as filter:
        picture = np.full((360, 640, 3), 200, np.uint8)  # BGR, as OpenCV reads it
        safe = filter(picture)

Any detector plugs in as a function from a picture to boxes, here one that knows the place beforehand::

    from streamdeid import Filter, PluggedIn

    def faces(image):  # uint8 (height, width, 3), RGB
        return [(100, 80, 180, 180)]  # x0, y0, x1, y1 in pixels, and a score if there is one

    with Filter(detect=PluggedIn(faces), self_test=False) as filter:
        safe = filter(picture)

Importing this package is cheap: what is named here is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamdeid.detection.plugged_in import PluggedIn
    from streamdeid.errors import FailedClosed, StreamdeidError
    from streamdeid.faces import Face
    from streamdeid.frames import Frame
    from streamdeid.library import Filter
    from streamdeid.settings import Settings

__all__ = ["Face", "FailedClosed", "Filter", "Frame", "PluggedIn", "Settings", "StreamdeidError"]

_HOMES = {
    "Face": "faces",
    "FailedClosed": "errors",
    "Filter": "library",
    "Frame": "frames",
    "PluggedIn": "detection.plugged_in",
    "Settings": "settings",
    "StreamdeidError": "errors",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
