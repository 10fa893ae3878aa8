"""Finds and reads the models, and checks that they are the ones that were trained.

`SHA256` lies beside the models and names the content hash of each (`arrays_file`), as the model card does. It reveals a
file that was changed, exchanged or mixed with those of another training. It is no signature: a person who can write all
the files can write a new `SHA256` too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from streamdeid.aam.appearance_model import load_model
from streamdeid.aam.fit import FitModel
from streamdeid.core.shipped_models import shipped
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import ModelError, OutputError
from streamdeid.surrogates.gallery import Gallery, load_gallery

MODEL, GALLERY, HASHES = "aam.npz", "gallery.npz", "SHA256"

_LINE = re.compile(r"([0-9a-f]{64})  ([a-z]+\.npz)")
_HEADING = "# content hashes (streamdeid/core/arrays_file.py), not hashes of the files"


@dataclass(frozen=True)
class Models:
    """The appearance model, made ready for fitting, and the gallery that belongs to it."""

    fitting: FitModel
    gallery: Gallery


def load_models(directory: Path | None = None) -> Models:
    """Read and check the models of a directory, or the shipped ones.

    Models that are in use here are not read again as long as their files stay the same: parallel streams share them,
    and what is derived from them. Raises ModelError, one line, when a model is missing or damaged, differs from
    `SHA256`, or belongs to another model.
    """
    place = shipped() if directory is None else directory
    if not place.is_dir():
        raise ModelError(f"there is no directory of models at {place}")
    state = _state(place)
    known = _IN_USE.get(state) if state else None
    if known is None:
        known = _read(place)
        if state and state == _state(place):
            _IN_USE[state] = known
    return known


_IN_USE: WeakValueDictionary[tuple[object, ...], Models] = WeakValueDictionary()
"""Models that are in use, by the state of their files."""


def _state(place: Path) -> tuple[object, ...]:
    """The state by which unchanged files are told from changed ones; empty where a file is missing."""
    try:
        stats = [(place / name).stat() for name in (MODEL, GALLERY, HASHES)]
    except OSError:
        return ()
    files = [(one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in stats]
    return place.resolve(), *files


def _read(place: Path) -> Models:
    expected = read_hashes(place)
    model = load_model(place / MODEL)
    _check(place / MODEL, model.sha256, expected)
    gallery = load_gallery(place / GALLERY)
    _check(place / GALLERY, gallery.sha256, expected)
    gallery.require_model(model.sha256)
    return Models(FitModel.of(model), gallery)


def read_hashes(directory: Path) -> dict[str, str]:
    """Content hashes by file name. Raises ModelError when there is no `SHA256` or it cannot be understood."""
    path = directory / HASHES
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}, which names the hashes of the models") from error
    found = [_LINE.fullmatch(line) for line in lines if line and not line.startswith("#")]
    if not found or not all(found):
        raise ModelError(f"{path} does not name the hashes of the models")
    return {match[2]: match[1] for match in found if match}


def write_hashes(directory: Path, hashes: Mapping[str, str]) -> None:
    """Write `SHA256` for content hashes by file name. Raises OutputError."""
    lines = [_HEADING, *(f"{sha256}  {name}" for name, sha256 in sorted(hashes.items()))]
    try:
        (directory / HASHES).write_text("\n".join(lines) + "\n", encoding="ascii")
    except OSError as error:
        raise OutputError(f"cannot write {directory / HASHES}: {system_reason(error, as_told=True)}") from error


def _check(path: Path, sha256: str, expected: Mapping[str, str]) -> None:
    if expected.get(path.name) != sha256:
        raise ModelError(f"{path} has been changed: its hash is not the one in {HASHES}")
