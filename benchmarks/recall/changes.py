"""What `recall --made` does to one picture, and where a box of it is then: the variants that know nothing of time."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.leaks.run import Corners
from streamdeid.core.arrays import Plane
from streamdeid.core.frames import Planes

TURNED, UPSIDE_DOWN, TILTED, FISHEYE, GREY, DIM, DARK, SOFT, HALF, NARROW, MIRRORED, WALL = (
    "turned", "upside_down", "tilted", "fisheye", "grey", "dim", "dark", "soft", "half", "narrow", "mirrored", "wall",
)  # fmt: skip
"""A quarter turn clockwise, of the pixels, and half a turn, as by a camera that hangs from a ceiling; 30 degrees
anticlockwise; a barrel distortion; a camera by infrared light; half the grey levels, with a sensor's noise; a dark
picture, as of people before a bright door; half the detail; half the size; half the width, as by a recorder that keeps
half of each line and does not say so; left and right exchanged, which shows how much was tuned to these very pixels;
the clip side by side and row by row until the picture is about 1,920 pixels wide, so that the same heads are small in a
large one."""
_LIGHT, _LUMA_NOISE, _CHROMA_NOISE = 0.5, 4.0, 2.5
"""Share of the grey levels, and of the colour, that `dim` leaves, and its noise: standard deviations in grey levels."""
_TILT = 30.0
"""Degrees by which `tilted` turns pictures anticlockwise."""
_GAMMA, _BRIGHTEST, _COLOUR = 2.2, 0.6, 0.6
"""Of `dark`: exponent of the levels, their share and that of the colour that are left."""
_WIDE = 1920
"""Longer side that `wall` comes near to, pixels."""
BARREL = -0.3
"""Of a picture's corner: it comes as much nearer to the middle. Below -1/3 the picture would fold."""

Size = tuple[int, int]


def wall(planes: Planes) -> Planes:
    """A picture repeated in columns and as many rows; an odd row or column at its end is lost."""
    times = copies_along(planes.size)
    width, height = (side & ~1 for side in planes.size)
    y = np.tile(planes.y[:height, :width], (times, times))
    u, v = (np.tile(plane[: height // 2, : width // 2], (times, times)) for plane in (planes.u, planes.v))
    return Planes(y, u, v, planes.colour)


def copies_along(size: Size) -> int:
    """How many copies of a picture of a size stand in a row, and in a column, of `wall`."""
    return max(1, round(_WIDE / max(size)))


def turned(planes: Planes) -> Planes:
    """A picture turned clockwise by a quarter."""
    y, u, v = (np.ascontiguousarray(np.rot90(plane, -1)) for plane in (planes.y, planes.u, planes.v))
    return Planes(y, u, v, planes.colour)


def turned_box(corners: Corners, size: Size) -> Corners:
    """A box of a picture of a size in that picture turned."""
    x0, y0, x1, y1 = corners
    return size[1] - y1, x0, size[1] - y0, x1


def upside_down(planes: Planes) -> Planes:
    """A picture after half a turn."""
    return turned(turned(planes))


def upside_down_box(corners: Corners, size: Size) -> Corners:
    """A box of a picture of a size in that picture after half a turn."""
    return turned_box(turned_box(corners, size), size[::-1])


def tilted(planes: Planes, degrees: float = _TILT) -> Planes:
    """A picture turned anticlockwise, whole; black around it."""
    y = _tilted(planes.y, planes.size, degrees, 1, _black(planes))
    u, v = (_tilted(plane, planes.size, degrees, 2, 128) for plane in (planes.u, planes.v))
    return Planes(y, u, v, planes.colour)


def _tilted(plane: Plane, size: Size, degrees: float, times: int, fill: int) -> Plane:
    """One plane, `times` as coarse as a picture of a size."""
    turn, sides = _turn(size, degrees)
    move = turn[:, 2] / times + turn[:, :2] @ np.full(2, 0.5) - 0.5  # pixels have their middle at a half
    matrix, (width, height) = np.column_stack([turn[:, :2], move]), (side // times for side in sides)
    return np.asarray(cv2.warpAffine(plane, matrix, (width, height), borderValue=(fill,)), np.uint8)


def _turn(size: Size, degrees: float = _TILT) -> tuple[NDArray[np.float64], Size]:
    """Places of a picture of a size in it when it is tilted, (2, 3), and that one's size, even."""
    turn = cv2.getRotationMatrix2D((size[0] / 2, size[1] / 2), degrees, 1.0)
    wide, high = (int(side) & ~1 for side in np.abs(turn[:, :2]) @ np.array(size))
    turn[:, 2] += (np.array([wide, high]) - size) / 2
    return turn, (wide, high)


def tilted_box(corners: Corners, size: Size) -> Corners:
    """The square of the mean side of a box of a picture of a size, about where its middle lies in it when tilted."""
    turn, _ = _turn(size)
    x, y = turn @ np.array([(corners[0] + corners[2]) / 2, (corners[1] + corners[3]) / 2, 1.0])
    half = (corners[2] - corners[0] + corners[3] - corners[1]) / 4
    return float(x) - half, float(y) - half, float(x) + half, float(y) + half


def dark(planes: Planes) -> Planes:
    """A dark picture, whose lower levels lie close to one another."""
    low = _black(planes)
    high = 255 if planes.colour.full_range else 235
    y = low + (high - low) * _BRIGHTEST * np.clip((planes.y - float(low)) / (high - low), 0, 1) ** _GAMMA
    u, v = (128 + _COLOUR * (plane - 128.0) for plane in (planes.u, planes.v))
    return Planes(*(np.asarray(np.rint(plane), np.uint8) for plane in (y, u, v)), planes.colour)


def narrow(planes: Planes) -> Planes:
    """A picture half as wide, with even sides."""
    return _smaller(planes, _narrow_of(planes.size))


def narrow_box(corners: Corners, size: Size) -> Corners:
    """A box of a picture of a size in that picture half as wide."""
    return _smaller_box(corners, size, _narrow_of(size))


def bent(planes: Planes) -> Planes:
    """A picture as a dome camera would show it, as large as fits; black around it."""
    y, u, v = (_bent(plane, fill) for plane, fill in ((planes.y, _black(planes)), (planes.u, 128), (planes.v, 128)))
    return Planes(y, u, v, planes.colour)


def bent_box(corners: Corners, size: Size) -> Corners:
    """The box around where a box of a picture of a size lies in that picture bent."""
    x0, x1 = np.clip(corners[0::2], 0, size[0])
    y0, y1 = np.clip(corners[1::2], 0, size[1])
    x, y = np.linspace(x0, x1, 17), np.linspace(y0, y1, 17)
    edges = [(x, np.full(17, y0)), (x, np.full(17, y1)), (np.full(17, x0), y), (np.full(17, x1), y)]
    middle, reach = np.array(size) / 2, math.hypot(*size) / 2
    points = (np.concatenate([np.stack(edge, axis=-1) for edge in edges]) - middle) / reach
    far = np.sum(points**2, axis=-1, keepdims=True)
    points = points * (1 + BARREL * far) * _zoom(size) * reach + middle
    (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
    return float(left), float(top), float(right), float(bottom)


def grey(planes: Planes) -> Planes:
    """A picture without colour."""
    return Planes(planes.y, np.full_like(planes.u, 128), np.full_like(planes.v, 128), planes.colour)


def dim(planes: Planes) -> Planes:
    """A picture with half the grey levels, and noise: another one in each frame, the same in each run."""
    random = np.random.default_rng(zlib.crc32(planes.y.tobytes()))
    kinds = (planes.y, _black(planes), _LUMA_NOISE), (planes.u, 128, _CHROMA_NOISE), (planes.v, 128, _CHROMA_NOISE)
    y, u, v = (
        np.clip(zero + _LIGHT * (plane.astype(np.float64) - zero) + random.normal(0, noise, plane.shape), 0, 255)
        for plane, zero, noise in kinds
    )
    return Planes(*(np.asarray(np.rint(plane), np.uint8) for plane in (y, u, v)), planes.colour)


def soft(planes: Planes) -> Planes:
    """A picture from a camera of half the resolution, enlarged."""
    y, u, v = (_softened(plane) for plane in (planes.y, planes.u, planes.v))
    return Planes(y, u, v, planes.colour)


def _softened(plane: Plane) -> Plane:
    height, width = plane.shape
    coarse = _reduced(plane, (max(1, width // 2), max(1, height // 2)))
    return np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def half(planes: Planes) -> Planes:
    """A picture half as large, with even sides."""
    return _smaller(planes, _half_of(planes.size))


def half_box(corners: Corners, size: Size) -> Corners:
    """A box of a picture of a size in that picture half as large."""
    return _smaller_box(corners, size, _half_of(size))


def mirrored(planes: Planes) -> Planes:
    """A picture with left and right exchanged."""
    y, u, v = (np.ascontiguousarray(plane[:, ::-1]) for plane in (planes.y, planes.u, planes.v))
    return Planes(y, u, v, planes.colour)


def mirrored_box(corners: Corners, size: Size) -> Corners:
    """A box of a picture of a size in that picture mirrored."""
    x0, y0, x1, y1 = corners
    return size[0] - x1, y0, size[0] - x0, y1


def _black(planes: Planes) -> int:
    """The luma of black."""
    return 0 if planes.colour.full_range else 16


def _smaller(planes: Planes, size: Size) -> Planes:
    """A picture reduced to a size with even sides."""
    u, v = (_reduced(plane, (size[0] // 2, size[1] // 2)) for plane in (planes.u, planes.v))
    return Planes(_reduced(planes.y, size), u, v, planes.colour)


def _smaller_box(corners: Corners, old: Size, new: Size) -> Corners:
    """A box of a picture of the old size in that picture reduced to the new one."""
    across, down = new[0] / old[0], new[1] / old[1]
    x0, y0, x1, y1 = corners
    return x0 * across, y0 * down, x1 * across, y1 * down


def _reduced(plane: Plane, size: Size) -> Plane:
    return np.asarray(cv2.resize(plane, size, interpolation=cv2.INTER_AREA), np.uint8)


def _half_of(size: Size) -> Size:
    return size[0] // 4 * 2, size[1] // 4 * 2


def _narrow_of(size: Size) -> Size:
    return size[0] // 4 * 2, size[1] & ~1


def _zoom(size: Size) -> float:
    """How much a bent picture is enlarged so that the middles of its longer sides' edges stay where they are."""
    shorter = min(size) / math.hypot(*size)
    return 1 / (1 + BARREL * shorter**2)


def _bent(plane: Plane, fill: int) -> Plane:
    across, down = _sources((plane.shape[1], plane.shape[0]))
    picture = cv2.remap(plane, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=fill)
    return np.asarray(picture, np.uint8)


@functools.cache
def _sources(size: Size) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Where each pixel of a bent plane comes from: the inverse of the distortion, by a table of radii."""
    width, height = size
    reach = math.hypot(width, height) / 2
    x, y = np.meshgrid((np.arange(width) + 0.5 - width / 2) / reach, (np.arange(height) + 0.5 - height / 2) / reach)
    radii = np.linspace(0, 1, 4097)
    far = np.hypot(x, y)
    source = np.interp(far / _zoom(size), radii * (1 + BARREL * radii**2), radii, right=2.0)
    times = source / np.maximum(far, 1e-9)
    across, down = x * times * reach + width / 2 - 0.5, y * times * reach + height / 2 - 0.5
    return across.astype(np.float32), down.astype(np.float32)


CHANGES: dict[str, Callable[[Planes], Planes]] = {
    TURNED: turned, UPSIDE_DOWN: upside_down, TILTED: tilted, FISHEYE: bent, GREY: grey, DIM: dim, DARK: dark,
    SOFT: soft, HALF: half, NARROW: narrow, MIRRORED: mirrored, WALL: wall,
}  # fmt: skip
MOVES: dict[str, Callable[[Corners, Size], Corners]] = {
    TURNED: turned_box, UPSIDE_DOWN: upside_down_box, TILTED: tilted_box, FISHEYE: bent_box, HALF: half_box,
    NARROW: narrow_box, MIRRORED: mirrored_box,
}  # fmt: skip
