"""Copies planes into PyAV pictures, and gives the planes of a picture as arrays.

This module does not import OpenCV, which takes a tenth of a second and 30 MB: the encoder process of a live output
uses this module.
"""

from __future__ import annotations

from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.frames import Planes

ONE_THREAD: dict[str, Any] = {"threads": 1} if int(av.__version__.split(".")[0]) >= 17 else {}
"""Arguments of `reformat` for one thread. PyAV 17 to 18 lets swscale split small pictures over threads, and sometimes a
row is then wrong (measured: 24 of 1200 pictures of 33x21 to gray10le; none with one thread)."""


def plane_view(picture: av.VideoFrame, index: int) -> NDArray[np.uint8]:
    """A plane of an 8-bit planar picture, uint8 (h, w), in the picture's own memory."""
    plane = picture.planes[index]
    rows = np.frombuffer(plane, np.uint8)[: plane.height * plane.line_size]  # type: ignore[call-overload]
    view: NDArray[np.uint8] = rows.reshape(plane.height, plane.line_size)[:, : plane.width]
    return view


def in_planes(picture: av.VideoFrame, pix_fmt: str) -> av.VideoFrame:
    """The same yuv420p picture in the planes that an encoder takes, or the picture itself where it has them."""
    return picture if pix_fmt == "yuv420p" else picture.reformat(format=pix_fmt, **ONE_THREAD)


def picture_of(planes: Planes, width: int, height: int) -> av.VideoFrame:
    """A new yuv420p picture of width x height; the last column and row are repeated where the planes are smaller."""
    picture = av.VideoFrame(width, height, "yuv420p")
    for index, plane in enumerate((planes.y, planes.u, planes.v)):
        view = plane_view(picture, index)
        rows, columns = plane.shape
        view[:rows, :columns] = plane
        view[:rows, columns:] = plane[:, -1:]
        view[rows:] = view[rows - 1 : rows]
    return picture
