"""Runs mediapipe's networks by LiteRT where its wheel exists, otherwise in mediapipe's own graphs.

`onnx_network` does so for the two other networks. Both ways give the same numbers (detector to a millionth, meshes to a
ten-thousandth of the face's width). LiteRT does it at about two thirds of the cost and without importing mediapipe.
mediapipe is no dependency, since it keeps Python at 3.12 and NumPy at 1.26. Users of a machine without a LiteRT wheel
(an Intel Mac) may install release 0.10.18.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import os
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamdeid.detection.detection_network import DetectionNetwork
from streamdeid.detection.landmark_network import LandmarkNetwork
from streamdeid.detection.litert import Unusable
from streamdeid.detection.mediapipe_graphs import DetectionGraph, LandmarkGraph
from streamdeid.detection.region import LandmarkRegion
from streamdeid.errors import SettingsError

CHOICE = "STREAMDEID_NETWORKS"
"""Environment variable: "litert" or "graphs" forces that way; with "graphs" nothing runs in LiteRT."""
_RELEASE = "0.10.18"
"""The release of mediapipe whose graphs this file's neighbours know."""
_log = logging.getLogger(__name__)

_Made = TypeVar("_Made")
Found = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


class Detects(Protocol):
    """The full-range detector at a fixed threshold."""

    def __call__(self, rgb: NDArray[np.uint8], /) -> Found:
        """Boxes (n, 4), keypoints (n, 6, 2) and scores (n,) in an RGB picture, uint8 (h, w, 3), in its pixels."""
        ...

    def close(self) -> None:
        """Stop it."""
        ...


class FindsMesh(Protocol):
    """The attention mesh."""

    def __call__(self, rgb: NDArray[np.uint8], region: LandmarkRegion, /) -> tuple[NDArray[np.float64] | None, float]:
        """Mesh (478, 3) of the face in a region of an RGB picture, uint8 (h, w, 3), in its pixels, and presence."""
        ...

    def close(self) -> None:
        """Stop it."""
        ...


class Networks:
    """Makes the networks of one detector; several users share one network. Not for several threads at once."""

    def __init__(self) -> None:
        """Raises SettingsError where the environment variable `CHOICE` has an unknown value."""
        self._choice = os.environ.get(CHOICE, "")
        if self._choice not in ("", "graphs", "litert"):
            raise SettingsError(f"{CHOICE} is {self._choice!r}, not 'litert' or 'graphs'")
        self._detection: DetectionNetwork | None = None
        self._reason = f"{CHOICE} is 'graphs'"
        """Why LiteRT does not run."""

    def detector(self, threshold: float) -> Detects:
        """The detector, which reports everything with a score of `threshold`, 0 to 1, or more.

        Raises SettingsError where LiteRT is forced and cannot run, or neither way can; ModelError for a changed model.
        """
        self._detection = self._detection or self._by_litert(DetectionNetwork)
        if self._detection is not None:
            return _Thresholded(self._detection, threshold)
        return self._by_graphs(lambda: DetectionGraph(threshold))

    def mesh(self, least: float) -> FindsMesh:
        """The landmark model; below the presence `least` it need not give a mesh. Raises as `detector` does."""
        return self._by_litert(lambda: LandmarkNetwork(least)) or self._by_graphs(LandmarkGraph)

    def _by_litert(self, make: Callable[[], _Made]) -> _Made | None:
        """The network that `make` makes for LiteRT; None where LiteRT is not wanted or does not work."""
        if self._choice == "graphs":
            return None
        try:
            return make()
        except Unusable as error:
            if self._choice:
                raise SettingsError(f"{CHOICE} is 'litert', but {error}") from error
            self._reason = str(error)
            return None

    def _by_graphs(self, make: Callable[[], _Made]) -> _Made:
        """The graph that `make` makes in mediapipe. Raises SettingsError where mediapipe is not installed."""
        try:
            made = make()
        except ImportError as error:
            raise SettingsError(
                f"{self._reason}, and mediapipe {_RELEASE} is not installed, or does not load"
            ) from error
        if self._choice != "graphs":
            say_once(f"{self._reason}; mediapipe's graphs run instead, at about one and a half times the cost")
        return made


def by_litert_at_all() -> bool:
    """Whether LiteRT is installed here."""
    return importlib.util.find_spec("ai_edge_litert") is not None


@functools.cache
def say_once(line: str) -> None:
    """Log a warning once in a process, however many networks there are."""
    _log.warning("%s", line)


class _Thresholded:
    """A shared detector at the threshold of one of its users."""

    def __init__(self, network: DetectionNetwork, threshold: float) -> None:
        self._network, self._threshold = network, threshold

    def __call__(self, rgb: NDArray[np.uint8], /) -> Found:
        return self._network(rgb, self._threshold)

    def close(self) -> None:
        """Do nothing: the network is freed with its last user."""
