"""mediapipe's own networks without mediapipe: run by LiteRT, from the model files inside mediapipe's wheel.

A graph costs half as much again as the network in it, or more: protobufs, copies, a scheduler (detector 2.8 ms a call
against 2.0, landmarks 2.2 against 1.3). So the networks are run directly, and what the graphs do around them is ours
(`detection_network`, `landmark_network`). The model files are those that the graphs would load; their hashes are known,
since the release is pinned. Nothing is written anywhere, so there is no cache to be damaged. LiteRT's wheel exists for
fewer machines than mediapipe's: where it is missing, `networks` takes the graphs.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.detection.quiet_libraries import quiet

DETECTION = "face_detection/face_detection_full_range_sparse.tflite"
LANDMARKS = "face_landmark/face_landmark_with_attention.tflite"
_SHA256 = {
    DETECTION: "2c3728e6da56f21e21a320433396fb06d40d9088f2247c05e5635a688d45dfe1",
    LANDMARKS: "e06a804e0144f9929eda782122916b35d60c697c3c9344013ca2bbe76a6ce2b4",
}
"""Of mediapipe 0.10.18."""


class Unusable(Exception):
    """LiteRT, or a model as it is expected, is not here; the message says what is missing."""


def model_file(name: str) -> bytes:
    """The bytes of a model in mediapipe's wheel, found without importing mediapipe. Raises Unusable."""
    found = importlib.util.find_spec("mediapipe")
    if found is None or found.origin is None:
        raise Unusable("mediapipe is not installed")
    try:
        content = (Path(found.origin).parent / "modules" / name).read_bytes()
    except OSError as error:
        raise Unusable(f"mediapipe's {name} cannot be read") from error
    if hashlib.sha256(content).hexdigest() != _SHA256[name]:
        raise Unusable(f"mediapipe's {name} is not the one of release 0.10.18")
    return content


class Network:
    """One TFLite model, run on one thread. Not for several threads at once."""

    def __init__(self, content: bytes) -> None:
        """Raises Unusable where LiteRT is missing or does not know the model."""
        try:
            # Not imported with this file: it need not be installed, and its import takes 0.15 s.
            library: Any = importlib.import_module("ai_edge_litert.interpreter")
        except ImportError as error:
            raise Unusable("ai-edge-litert is not installed, or does not load") from error
        try:
            with quiet():
                self._interpreter: Any = library.Interpreter(model_content=content, num_threads=1)
                self._interpreter.allocate_tensors()
                self._interpreter.invoke()  # weights are packed when the network first runs
        except (ValueError, RuntimeError) as error:
            raise Unusable("LiteRT does not take the model") from error
        self._inputs = [detail["index"] for detail in self._interpreter.get_input_details()]
        self._outputs = [detail["index"] for detail in self._interpreter.get_output_details()]

    def __call__(self, *inputs: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """The outputs for some inputs, both in the model's order and without its leading axis of 1."""
        for index, value in zip(self._inputs, inputs, strict=True):
            self._interpreter.set_tensor(index, value[None])
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(index)[0] for index in self._outputs]
