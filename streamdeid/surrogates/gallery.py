"""The gallery: identity vectors of the reference donors, with labels; no pictures.

The file carries the hash of the appearance model whose parameters the vectors are. Another model would decode them into
other faces, so `require_model` refuses to mix them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Vectors
from streamdeid.core.arrays_file import read_arrays, write_arrays
from streamdeid.errors import ModelError

Labels = NDArray[np.str_]

UNKNOWN_AGE = -1
_KEYS = {"identities", "gender", "age", "ethnicity", "model_sha256"}
_RULE = ("names", "weights", "offsets", "seen")
_RULE_KEYS = {f"gender_{name}" for name in _RULE}


@dataclass(frozen=True)
class GenderRule:
    """A linear rule for gender (`gender_rule`): c classes of d-dimensional identities, learnt from the n donors."""

    names: Labels
    """Text (c,), in order of the alphabet, at least two."""
    weights: Vectors
    """float64 (c, d); with `offsets` the log odds of the classes, up to what they have in common."""
    offsets: Vectors
    """float64 (c,)."""
    seen: Vectors
    """float64 (n, c + 1): shares of the donor's photographs that a rule which had not seen the donor put into each
    class, or, as the last column, into neither."""


@dataclass(frozen=True)
class Gallery:
    """The donors; row i of every array is the same person."""

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
    gender_rule: GenderRule | None = None
    """None where the donors do not state two genders."""

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
        gender_rule=_rule_of(arrays),
    )


def _rule_of(arrays: dict[str, NDArray[Any]]) -> GenderRule | None:
    return GenderRule(**{name: arrays[f"gender_{name}"] for name in _RULE}) if "gender_names" in arrays else None


def _arrays(gallery: Gallery) -> dict[str, NDArray[Any]]:
    rule = gallery.gender_rule
    learnt = {} if rule is None else {f"gender_{name}": getattr(rule, name) for name in _RULE}
    return learnt | {
        "identities": gallery.identities,
        "gender": gallery.gender,
        "age": gallery.age,
        "ethnicity": gallery.ethnicity,
        "model_sha256": np.array(gallery.model_sha256),
    }


def _problem(arrays: dict[str, NDArray[Any]]) -> str:
    """What is wrong with the arrays of a gallery, or an empty text."""
    if set(arrays) not in (_KEYS, _KEYS | _RULE_KEYS):
        return f"arrays are {', '.join(sorted(arrays))}, not {', '.join(sorted(_KEYS | _RULE_KEYS))}"
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
    return _rule_problem(arrays) if "gender_names" in arrays else ""


def _rule_problem(arrays: dict[str, NDArray[Any]]) -> str:
    names, (donors, dimensions) = arrays["gender_names"], arrays["identities"].shape
    if names.dtype.kind != "U" or names.ndim != 1 or len(names) < 2:
        return "gender_names are no list of classes"
    classes = len(names)
    shapes = {"weights": (classes, dimensions), "offsets": (classes,), "seen": (donors, classes + 1)}
    for name, shape in shapes.items():
        array = arrays[f"gender_{name}"]
        if array.dtype != np.float64 or array.shape != shape:
            return f"gender_{name} are {array.dtype} {array.shape}, not float64 {shape}"
    if set(names.tolist()) - set(arrays["gender"].tolist()):
        return "gender_names are no classes of the donors"
    return ""
