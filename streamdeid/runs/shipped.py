"""Packs what another machine needs of a run besides a recording: settings, key, models and pictures, sent once.

The models that come with streamdeid are not sent: every machine has them, and their hashes say whether they are the
same. The `repr` of the value shows neither the key nor a picture.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from streamdeid.core.atomic_file import reason_of
from streamdeid.core.shipped_models import shipped
from streamdeid.errors import OutputError, SettingsError
from streamdeid.report.redaction_report import versions
from streamdeid.runs.session import secret, session_without_register
from streamdeid.settings import Settings
from streamdeid.surrogates.models import GALLERY, HASHES, MODEL, read_hashes

_MODELS, _PICTURES = "models", "whitelist"
_MOST_BYTES = 1 << 30


class UnfitError(SettingsError):
    """This machine would not give the same results as the one that the run was started on."""


@dataclass(frozen=True)
class Shipped:
    """Settings, and the contents of the files that they name."""

    settings: Settings
    key: bytes | None = field(repr=False)
    files: Mapping[str, bytes] = field(repr=False)
    """Contents by path in a directory of the receiver."""
    hashes: Mapping[str, str]
    """Hashes of the models, by file name."""
    versions: Mapping[str, str]


def ship(settings: Settings) -> Shipped:
    """Read all that is to be sent. Raises SettingsError and ModelError for settings or models that no run could use."""
    session_without_register(settings)
    return packed(settings)


def packed(settings: Settings) -> Shipped:
    """The same without checking the models, which the receiver does. Raises SettingsError for unreadable files."""
    own = settings.models or shipped()
    hashes = {name: read_hashes(own)[name] for name in (MODEL, GALLERY)}
    files: dict[str, bytes] = {}
    if settings.models is not None and hashes != _shipped_hashes():
        for name in (MODEL, GALLERY, HASHES):
            files[f"{_MODELS}/{name}"] = _content(own / name)
    for number, picture in enumerate(settings.whitelist):
        files[_picture(number, picture)] = _content(picture)
    if settings.whitelist_recogniser.endswith(".onnx"):
        files["recogniser.onnx"] = _content(Path(settings.whitelist_recogniser))
    return Shipped(settings, secret(settings), files, hashes, versions())


def unpack(sent: Shipped, place: Path) -> Settings:
    """Write the files into a directory, and return settings that name them there. The key is written to no file.

    Raises UnfitError when this machine has other models or libraries, OutputError when nothing can be written.
    """
    for name, version in versions().items():
        if sent.versions.get(name) != version:
            raise UnfitError(
                f"{platform.node()} has {name} {version}, and the run was started with "
                f"{sent.versions.get(name, 'none')}: results would differ"
            )
    own_models = f"{_MODELS}/{MODEL}" in sent.files
    if not own_models and _shipped_hashes() != dict(sent.hashes):
        raise UnfitError(f"the models of {platform.node()} are not those of the run: results would differ")
    try:
        for name, content in sent.files.items():
            (place / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            (place / name).write_bytes(content)
    except OSError as error:
        raise OutputError(f"{place} cannot be written: {reason_of(error)}") from error
    settings = sent.settings
    recogniser = settings.whitelist_recogniser
    return replace(
        settings,
        models=place / _MODELS if own_models else None,
        whitelist=tuple(place / _picture(number, one) for number, one in enumerate(settings.whitelist)),
        whitelist_recogniser=str(place / "recogniser.onnx") if recogniser.endswith(".onnx") else recogniser,
    )


def _picture(number: int, picture: Path) -> str:
    return f"{_PICTURES}/{number}/{picture.name}"


def _shipped_hashes() -> dict[str, str]:
    known = read_hashes(shipped())
    return {name: known[name] for name in (MODEL, GALLERY)}


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise SettingsError(f"{path} is too large to be sent to other machines")
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {reason_of(error)}") from error
