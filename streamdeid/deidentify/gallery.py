"""The gallery: identity vectors of the reference donors, with labels; no pictures.

The file carries the hash of the appearance model whose parameters the vectors are; another model would decode them
into other faces, so `require_model` refuses to mix them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.arrays_file import read_arrays, write_arrays
from streamdeid.errors import ModelError

Vectors = NDArray[np.float64]
Labels = NDArray[np.str_]

UNKNOWN_AGE = -1
_KEYS = {"identities", "gender", "age", "ethnicity", "model_sha256"}


@dataclass(frozen=True)
class Gallery:
    """Donors; row i of every array is the same person."""

    identities: Vectors
    """Neutral parameter vectors in weighted units, float64 (n, d); the brightness component is 0."""
    gender: Labels
    """Text (n,); empty = not stated."""
    age: NDArray[np.int64]
    """Years (n,); `UNKNOWN_AGE` = not stated."""
    ethnicity: Labels
    """Text (n,), in the words of the data set; empty = not stated."""
    model_sha256: str
    """Content hash of the appearance model, 64 hex digits."""
    sha256: str = ""
    """Content hash of the gallery's file; empty before it was written."""

    def require_model(self, model_sha256: str) -> None:
        """Raise ModelError unless the gallery belongs to this appearance model."""
        if model_sha256 != self.model_sha256:
            raise ModelError(f"gallery belongs to model {self.model_sha256[:12]}…, not to {model_sha256[:12]}…")


def save_gallery(path: Path, gallery: Gallery) -> str:
    """Write a gallery, the same bytes for the same content; return its SHA-256. Raises OutputError, ValueError."""
    problem = _problem(_arrays(gallery))
    if problem:
        raise ValueError(f"gallery: {problem}")
    return write_arrays(path, _arrays(gallery))


def load_gallery(path: Path) -> Gallery:
    """Read and check a gallery. Raises ModelError, one line, for anything `save_gallery` cannot have written."""
    arrays, sha256 = read_arrays(path)
    problem = _problem(arrays)
    if problem:
        raise ModelError(f"gallery {path}: {problem}")
    return Gallery(
        identities=arrays["identities"],
        gender=arrays["gender"],
        age=arrays["age"],
        ethnicity=arrays["ethnicity"],
        model_sha256=str(arrays["model_sha256"]),
        sha256=sha256,
    )


def _arrays(gallery: Gallery) -> dict[str, NDArray[Any]]:
    return {
        "identities": gallery.identities,
        "gender": gallery.gender,
        "age": gallery.age,
        "ethnicity": gallery.ethnicity,
        "model_sha256": np.array(gallery.model_sha256),
    }


def _problem(arrays: dict[str, NDArray[Any]]) -> str:
    """What is wrong with the arrays of a gallery, or an empty text."""
    if set(arrays) != _KEYS:
        return f"arrays are {', '.join(sorted(arrays))}, not {', '.join(sorted(_KEYS))}"
    identities = arrays["identities"]
    if identities.dtype != np.float64 or identities.ndim != 2 or 0 in identities.shape:
        return f"identities are {identities.dtype} {identities.shape}, not float64 (n, d)"
    for name, kind in (("gender", "U"), ("age", "i"), ("ethnicity", "U")):
        if arrays[name].dtype.kind != kind or arrays[name].shape != identities.shape[:1]:
            return f"{name} is {arrays[name].dtype} {arrays[name].shape}, not one label per donor"
    if arrays["age"].dtype != np.int64:
        return f"age is {arrays['age'].dtype}, not int64"
    model = arrays["model_sha256"]
    text = str(model)
    if model.dtype.kind != "U" or model.shape != () or len(text) != 64 or set(text) - set("0123456789abcdef"):
        return "model_sha256 is not a SHA-256 in hex"
    return ""
