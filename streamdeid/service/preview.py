"""Makes JPEG pictures for viewers, only from frames that may leave the program."""

from __future__ import annotations

import cv2

from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import DeidentifiedFrame, Planes
from streamdeid.core.square_pixels import possible, resized, square_size
from streamdeid.errors import FailedClosed

PREVIEW_WIDTH = 640
MOST_AGE = 2.0
"""Seconds after which a picture is too old to be shown as the present one. The page uses the same limit."""
PREVIEW_QUALITY = 75
SNAPSHOT_QUALITY = 95


def jpeg(frame: DeidentifiedFrame, widest: int | None = None, quality: int = SNAPSHOT_QUALITY) -> bytes:
    """The frame with square pixels as a JPEG file, no wider than `widest` pixels. Raises FailedClosed for a raw one."""
    if not isinstance(frame, DeidentifiedFrame):
        raise FailedClosed("a frame that was not filtered was to be shown")
    aspect = frame.aspect
    known = aspect is not None and possible(aspect)
    shown = resized(frame.planes, square_size(frame.planes.size, aspect)) if aspect and known else frame.planes
    return planes_as_jpeg(shown, widest, quality)


def planes_as_jpeg(planes: Planes, widest: int | None = None, quality: int = SNAPSHOT_QUALITY) -> bytes:
    """A picture as a JPEG file. The caller is responsible for what the picture shows. Raises FailedClosed."""
    width, height = planes.size
    scale = 1.0 if widest is None else min(1.0, widest / width)
    rgb = rectangle_to_rgb(planes, 0, 0, width, height, scale)
    done, data = cv2.imencode(".jpg", rgb[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise FailedClosed("a picture could not be encoded")
    return data.tobytes()
