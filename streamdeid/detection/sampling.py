"""Samples a square of a picture, as float32, for a network, exactly as mediapipe's graphs do.

The networks react to every detail of the sampling: where two rows are averaged, rounding 8 bits up or not moves the
detector's box by 0.4 % of its width and its score by .005. So the sampling equals that of the graphs to the bit:
OpenCV's `warpPerspective`, bilinear, in 32nds of a pixel, its results rounded to 8 bits. It maps corners to corners
and takes them for the middles of pixels: value (i, j) of the input is the picture at the square's corner plus i and j
steps. The functions here do not average pixels: a caller that has a picture much larger than the input has to average
it before (`colour.rectangle_to_rgb`).
"""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.kernel_cache import kernel
from streamdeid.detection.region import LandmarkRegion


@kernel
def letterboxed(rgb: NDArray[np.uint8], out: NDArray[np.float32]) -> tuple[float, float, float]:
    """A whole RGB picture (h, w, 3) in the middle of a square input (side, side, 3), -1 to 1, black around it.

    Takes a quarter of OpenCV's time where no pixels are mixed: for a picture of the input's size or of twice that size.
    Returns the picture's pixels in a step of the input, and the place of the input's corner in the picture, x and y.
    Twin: tests/network_twins.py.
    """
    height, width = rgb.shape[:2]
    side = out.shape[0]
    longer = max(height, width)
    step, x0, y0 = longer / side, (width - longer) / 2, (height - longer) / 2
    scale, one = np.float32(2 / 255), np.float32(1)
    for j in range(side):
        y = int(np.rint(32 * (y0 + j * step)))
        top, down = y >> 5, y & 31
        for i in range(side):
            x = int(np.rint(32 * (x0 + i * step)))
            left, right = x >> 5, x & 31
            if left < -1 or top < -1 or left >= width or top >= height:
                out[j, i, 0] = out[j, i, 1] = out[j, i, 2] = -one
            elif right == 0 and down == 0 and left >= 0 and top >= 0:
                for c in range(3):
                    out[j, i, c] = np.float32(rgb[top, left, c]) * scale - one
            else:
                for c in range(3):
                    total = 512
                    for v in range(2):
                        if 0 <= top + v < height:
                            for u in range(2):
                                if 0 <= left + u < width:
                                    share = (right if u else 32 - right) * (down if v else 32 - down)
                                    total += share * rgb[top + v, left + u, c]
                    out[j, i, c] = np.float32(total >> 10) * scale - one
    return step, x0, y0


def rotated(rgb: NDArray[np.uint8], region: LandmarkRegion, out: NDArray[np.float32]) -> None:
    """Write a region of an RGB picture (h, w, 3), its border repeated, to an input `out` (side, side, 3), 0 to 1."""
    side = out.shape[0]
    corners = cv2.boxPoints((region.centre, (region.side, region.side), math.degrees(region.angle)))
    into = np.array([[0, side], [0, 0], [side, 0], [side, side]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners.astype(np.float32), into)
    seen = cv2.warpPerspective(rgb, matrix, (side, side), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    np.multiply(seen, np.float32(1 / 255), out=out)
