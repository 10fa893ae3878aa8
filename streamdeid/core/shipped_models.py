"""The directory of the models that come with streamdeid, and its networks, which are checked when they are read.

This is in `core`, since several rooms read them: `surrogates` reads the program's own models, `detection` the
networks of others (models/NETWORKS.md).
"""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

from streamdeid.core.system_reason import system_reason
from streamdeid.errors import ModelError

DETECTION = "face_detection_full_range_sparse.tflite"
LANDMARKS = "face_landmark_with_attention.tflite"
CENTERFACE = "centerface.onnx"
YUNET = "yunet.onnx"
_SHA256 = {
    DETECTION: "2c3728e6da56f21e21a320433396fb06d40d9088f2247c05e5635a688d45dfe1",
    LANDMARKS: "e06a804e0144f9929eda782122916b35d60c697c3c9344013ca2bbe76a6ce2b4",
    CENTERFACE: "09189deaaf8646c5c51a68447e3c744ea1e211798155d4728c20507b9f5aefbc",
    YUNET: "0b400fe6c8987650896f27008090d26a317530c94b4ee3239d7d83fe88b697e9",
}
"""SHA-256 of the files, as in models/NETWORKS.md."""


def shipped() -> Path:
    """Directory of the models that come with streamdeid: inside the wheel, or beside the package in the repository."""
    package = Path(str(resources.files("streamdeid")))
    inside = package / "models"
    return inside if inside.is_dir() else package.parent / "models"


def network(name: str) -> bytes:
    """The content of `DETECTION`, `LANDMARKS`, `CENTERFACE` or `YUNET`.

    Raises ModelError for a file that is missing or has another content.
    """
    path = shipped() / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {system_reason(error)}") from error
    if hashlib.sha256(content).hexdigest() != _SHA256[name]:
        raise ModelError(f"{path} has been changed: it is not the network that came with streamdeid")
    return content
