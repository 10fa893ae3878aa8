"""Runs mediapipe's networks without mediapipe, in LiteRT, from the model files that come with streamdeid.

It also runs others (`onnx_network`). A graph costs at least half as much again as the network in it: protobufs, copies,
a scheduler (detector 2.8 ms a call against 2.0, landmarks 2.2 against 1.3). So the networks are run directly, and this
project's code does what the graphs do around them (`detection_network`, `landmark_network`). The model files are the
ones that the graphs load, from mediapipe's wheel (models/NETWORKS.md). Nothing is written to disk, so no cache can be
damaged. LiteRT has no wheel for some machines, such as Intel Macs: there `networks` takes the graphs, if mediapipe is
installed.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.detection.quiet_libraries import quiet


class Unusable(Exception):
    """LiteRT is not installed, or does not know a model; the message says which."""


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
        """The outputs for the given inputs, both in the model's order and without the leading axis of length 1."""
        for index, value in zip(self._inputs, inputs, strict=True):
            self._interpreter.set_tensor(index, value[None])
        self._interpreter.invoke()
        return [self._interpreter.get_tensor(index)[0] for index in self._outputs]
