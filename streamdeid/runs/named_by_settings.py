"""Lists the files that settings name and those that a run uses, for `core.named_files` to compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from streamdeid.core.named_files import (
    ANALYSIS,
    EDITS,
    INPUT,
    KEY,
    LOCK,
    MODELS,
    OUTPUT,
    RECOGNISER,
    REGISTER,
    WHITELIST,
    Named,
    lock_of,
)
from streamdeid.core.shipped_models import shipped
from streamdeid.settings import Settings
from streamdeid.surrogates.models import GALLERY, HASHES, MODEL


def files_of_settings(settings: Settings) -> Iterator[Named]:
    """The files that settings name; where they name no models, those that come with the program."""
    if settings.key_file is not None:
        yield Named(KEY, settings.key_file)
    if settings.register is not None:
        yield Named(REGISTER, settings.register)
        yield Named(LOCK, lock_of(settings.register))
    for picture in settings.whitelist:
        yield Named(WHITELIST, picture)
    if settings.whitelist_recogniser.endswith(".onnx"):
        yield Named(RECOGNISER, Path(settings.whitelist_recogniser))
    yield from files_of_models(settings.models)


def files_of_models(directory: Path | None) -> Iterator[Named]:
    """The files of a directory of models; None: of the models that come with the program."""
    for name in (MODEL, GALLERY, HASHES):
        yield Named(MODELS, (shipped() if directory is None else directory) / name)


def files_of_run(
    settings: Settings,
    jobs: Iterable[tuple[Path | None, Path | None]],
    analysis: Path | None = None,
    edits: Path | None = None,
) -> Iterator[Named]:
    """The files that a run over recordings uses, except those that only a command line names.

    jobs: inputs and outputs; None for one that is no file of this machine.
    """
    yield from files_of_settings(settings)
    for input, output in jobs:
        if input is not None:
            yield Named(INPUT, input)
        if output is not None:
            yield Named(OUTPUT, output)
    if analysis is not None:
        yield Named(ANALYSIS, analysis)
    if edits is not None:
        yield Named(EDITS, edits)
        yield Named(LOCK, lock_of(edits))
