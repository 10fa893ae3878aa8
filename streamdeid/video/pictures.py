"""Converts PyAV pictures to `Planes`: pixel formats, colours and display orientation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import av
import cv2
import numpy as np
from av.sidedata.sidedata import SideDataContainer, Type

from streamdeid.core.arrays import Plane
from streamdeid.core.frames import Colour, Planes
from streamdeid.video.picture_memory import ONE_THREAD, plane_view

_BT709_TAG = 1
_UNSPECIFIED_TAG = 2
_FULL_RANGE_TAG = 2
_SWS_ITU601 = 5
_NEUTRAL_CHROMA = 128

_COUNTER_CLOCKWISE = {
    90: cv2.ROTATE_90_COUNTERCLOCKWISE,
    180: cv2.ROTATE_180,
    270: cv2.ROTATE_90_CLOCKWISE,
}


@dataclass(frozen=True)
class Orientation:
    """How a player turns the coded picture before it shows it: first the rotation, then the mirror."""

    rotation: int = 0
    """0, 90, 180 or 270 degrees counter-clockwise."""
    mirrored: bool = False
    """True when left and right are swapped after the rotation (selfie cameras)."""

    @property
    def swaps_sides(self) -> bool:
        """True when the upright picture is as wide as the coded one is high."""
        return self.rotation in (90, 270)


def orientation_of(picture: av.VideoFrame) -> Orientation:
    """Display orientation of a decoded picture, from its display matrix, rounded to the nearest right angle."""
    # Not `picture.side_data`: it and the picture refer to each other, so each picture would stay in memory until
    # Python's garbage collector runs: hundreds of megabytes of 1080p.
    matrix = SideDataContainer(picture).get(Type.DISPLAYMATRIX)  # type: ignore[call-arg]
    if matrix is None:
        return Orientation()
    a, b, _, c, d = (int(number) for number in np.frombuffer(bytes(matrix), np.int32)[:5])
    # `VideoFrame.rotation` calls a plain left-right mirror "180 degrees"; that would turn people upside down and
    # hide them from the detector. The determinant tells the two apart.
    mirrored = a * d - b * c < 0
    angle = math.degrees(math.atan2(-b, -a if mirrored else a))
    return Orientation(round(angle / 90) % 4 * 90, mirrored)


def turn_upright(planes: Planes, orientation: Orientation) -> Planes:
    """The coded picture turned as a player shows it; in new memory unless there is nothing to turn."""
    if orientation == Orientation():
        return planes
    return _each(planes, lambda plane: _mirror(_rotate(plane, orientation.rotation), orientation.mirrored))


def turn_back(planes: Planes, orientation: Orientation) -> Planes:
    """Inverse of `turn_upright`."""
    if orientation == Orientation():
        return planes
    back = -orientation.rotation % 360
    return _each(planes, lambda plane: _rotate(_mirror(plane, orientation.mirrored), back))


def _each(planes: Planes, change: Callable[[Plane], Plane]) -> Planes:
    return Planes(change(planes.y), change(planes.u), change(planes.v), planes.colour)


def _rotate(plane: Plane, degrees: int) -> Plane:
    if degrees == 0:
        return plane
    return np.ascontiguousarray(cv2.rotate(plane, _COUNTER_CLOCKWISE[degrees]), np.uint8)


def _mirror(plane: Plane, mirrored: bool) -> Plane:
    return np.ascontiguousarray(plane[:, ::-1]) if mirrored else plane


def colour_of(picture: av.VideoFrame, matrix_tag: int, range_tag: int) -> Colour:
    """Matrix and range of the YUV values of `planes_of(picture)`, from the stream's tags (ITU-T H.273 numbers)."""
    name = picture.format.name
    if is_rgb(picture):
        return Colour("bt601", False)
    wide = matrix_tag == _BT709_TAG or (matrix_tag == _UNSPECIFIED_TAG and picture.height >= 720)
    # There is no BT.2020 matrix here; BT.709 is the nearer of the two.
    wide = wide or matrix_tag in (9, 10)
    return Colour("bt709" if wide else "bt601", range_tag == _FULL_RANGE_TAG or name.startswith("yuvj"))


def is_rgb(picture: av.VideoFrame) -> bool:
    """True when the picture is stored as red, green and blue; `planes_of` converts it to BT.601 limited range."""
    return picture.format.is_rgb or picture.format.name.startswith(("pal", "mono"))


def planes_of(picture: av.VideoFrame, colour: Colour) -> Planes:
    """Copy a decoded picture of any pixel format to 8-bit 4:2:0 planes in coded orientation, owning their memory.

    Decoded pictures are the decoder's own reference pictures: writing into them would damage later frames.
    Raises ValueError when PyAV cannot convert the pixel format.
    """
    name = picture.format.name
    if name.startswith(("gray", "ya")):
        # swscale treats grey as full range whatever the tags say, so it is only used to change the bit depth.
        y = _copied(picture if name == "gray" else picture.reformat(format="gray", **ONE_THREAD), 0)
        chroma = np.full(((y.shape[0] + 1) // 2, (y.shape[1] + 1) // 2), _NEUTRAL_CHROMA, np.uint8)
        return Planes(y, chroma, chroma.copy(), colour)
    if is_rgb(picture):
        picture = picture.reformat(
            format="yuv420p", src_colorspace=_SWS_ITU601, dst_colorspace=_SWS_ITU601, **ONE_THREAD
        )
    elif name not in ("yuv420p", "yuvj420p"):
        # A full-range source needs the full-range format name; otherwise swscale compresses it to 16-235.
        picture = picture.reformat(format="yuvj420p" if name.startswith("yuvj") else "yuv420p", **ONE_THREAD)
    return Planes(_copied(picture, 0), _copied(picture, 1), _copied(picture, 2), colour)


def _copied(picture: av.VideoFrame, index: int) -> Plane:
    return plane_view(picture, index).copy()
