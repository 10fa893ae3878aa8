"""Runs mediapipe's own detection and landmark graphs on streamdeid's regions of interest.

`mp.solutions` ignores its detection threshold in 0.10.18, picks its own regions and hides the presence score. So the
graphs are built here from the same calculators (docs/architecture.md 8.2). They take the models inside mediapipe's
wheel; nothing is downloaded. This file and its neighbours are the only ones that import mediapipe.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.detection.quiet_libraries import quiet
from streamdeid.detection.region import LandmarkRegion

_MATPLOTLIB = ("matplotlib", "matplotlib.pyplot")

_EXECUTOR = 'executor { type: "ApplicationThreadExecutor" }'
"""Makes a graph run in the calling thread: a seventh cheaper than to hand each picture to the graph's own thread."""

_DETECTION = """
input_stream: "image"
output_stream: "detections"
node {{
  calculator: "FaceDetectionFullRangeCpu"
  input_stream: "IMAGE:image"
  output_stream: "DETECTIONS:detections"
  node_options: {{
    [type.googleapis.com/mediapipe.FaceDetectionOptions] {{ min_score_thresh: {threshold} }}
  }}
}}
"""

_LANDMARKS = """
input_stream: "image"
input_stream: "roi"
input_side_packet: "with_attention"
output_stream: "landmarks"
output_stream: "facelandmarkcpu__face_presence_score"
node {
  calculator: "FaceLandmarkCpu"
  input_stream: "IMAGE:image"
  input_stream: "ROI:roi"
  input_side_packet: "WITH_ATTENTION:with_attention"
  output_stream: "LANDMARKS:landmarks"
}
"""

_BLANK = np.full((48, 64, 3), 128, np.uint8)
"""First picture of every graph: with it the models are loaded, and log that to stderr."""


def _solution_base() -> Any:
    """mediapipe's graph runner, imported without matplotlib (three quarters of its import time, never used here)."""
    os.environ.setdefault("GLOG_minloglevel", "2")  # mediapipe logs each graph start to stderr
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    absent = [name for name in _MATPLOTLIB if name not in sys.modules]
    for name in absent:
        sys.modules[name] = types.ModuleType(name)
    try:
        return importlib.import_module("mediapipe.python.solution_base")
    finally:
        for name in absent:
            del sys.modules[name]


class DetectionGraph:
    """Runs the full-range face detector (sparse BlazeFace) on one picture. Holds a running mediapipe graph."""

    def __init__(self, threshold: float) -> None:
        with quiet():
            base = _solution_base()
            from google.protobuf import text_format
            from mediapipe.framework import calculator_pb2

            text = _DETECTION.format(threshold=float(threshold))
            config = text_format.Parse(_EXECUTOR + text, calculator_pb2.CalculatorGraphConfig())
            self._graph: Any = base.SolutionBase(graph_config=config)
            self(_BLANK)

    def __call__(self, rgb: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Faces in an RGB picture, uint8 (h, w, 3).

        Returns boxes (n, 4) as x0, y0, x1, y1, keypoints (n, 6, 2) (eyes, nose, mouth, ears) and scores (n,), all
        coordinates in pixels of the given picture.
        """
        height, width = rgb.shape[:2]
        found = self._graph.process({"image": rgb}).detections or []
        boxes = np.zeros((len(found), 4))
        points = np.zeros((len(found), 6, 2))
        scores = np.zeros(len(found))
        for i, detection in enumerate(found):
            box = detection.location_data.relative_bounding_box
            boxes[i] = (
                box.xmin * width,
                box.ymin * height,
                (box.xmin + box.width) * width,
                (box.ymin + box.height) * height,
            )
            points[i] = [(p.x * width, p.y * height) for p in detection.location_data.relative_keypoints]
            scores[i] = detection.score[0]
        return boxes, points, scores

    def close(self) -> None:
        """Stop the graph."""
        self._graph.close()


class LandmarkGraph:
    """Runs the attention face mesh (478 points) on one region of one picture. Holds a running mediapipe graph."""

    def __init__(self, threshold: float = 0.0) -> None:
        with quiet():
            base = _solution_base()
            from google.protobuf import text_format
            from mediapipe.framework import calculator_pb2
            from mediapipe.framework.formats import rect_pb2

            self._rect = rect_pb2.NormalizedRect
            config = text_format.Parse(_EXECUTOR + _LANDMARKS, calculator_pb2.CalculatorGraphConfig())
            self._graph: Any = base.SolutionBase(
                graph_config=config,
                side_inputs={"with_attention": True},
                calculator_params={"facelandmarkcpu__ThresholdingCalculator.threshold": float(threshold)},
            )
            self(_BLANK, LandmarkRegion((32.0, 24.0), 48.0, 0.0))

    def __call__(self, rgb: NDArray[np.uint8], region: LandmarkRegion) -> tuple[NDArray[np.float64] | None, float]:
        """The mesh of the face in a region of an RGB picture, uint8 (h, w, 3).

        Returns points (478, 3) in pixels (x right, y down, z away from the camera), or None, and the presence score.
        """
        height, width = rgb.shape[:2]
        rect = self._rect(
            x_center=region.centre[0] / width,
            y_center=region.centre[1] / height,
            width=region.side / width,
            height=region.side / height,
            rotation=region.angle,
        )
        found = self._graph.process({"image": rgb, "roi": rect})
        presence = float(found.facelandmarkcpu__face_presence_score or 0.0)
        if found.landmarks is None:
            return None, presence
        points = np.array([(p.x, p.y, p.z) for p in found.landmarks.landmark], np.float64)
        return points * (width, height, width), presence

    def close(self) -> None:
        """Stop the graph."""
        self._graph.close()
