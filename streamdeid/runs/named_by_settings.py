"""The files that the settings of a filter name, and those of a whole run, as `core.named_files` compares them."""

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
    """What settings name, models that come with the program among it."""
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
    """The files of a directory of models; None: of those that come with the program."""
    for name in (MODEL, GALLERY, HASHES):
        yield Named(MODELS, (shipped() if directory is None else directory) / name)


def files_of_run(
    settings: Settings,
    jobs: Iterable[tuple[Path | None, Path | None]],
    analysis: Path | None = None,
    edits: Path | None = None,
) -> Iterator[Named]:
    """What a run over recordings uses, but for what only a command line names.

    jobs: input and output, None for one that is no file of this machine.
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
