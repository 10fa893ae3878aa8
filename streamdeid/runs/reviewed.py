"""What an analysis and its edits have to say in the stream of a recording that is filtered again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streamdeid.core.protocols import Detector
from streamdeid.protect.choices import Choice
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.plan import Deidentifier
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.surrogates.choice import Surrogates


def _as_it_is(method: ReplaceFaces | MaskFaces, inner: Deidentifier) -> Deidentifier:
    return inner


def _chosen_now(surrogates: Surrogates) -> Choice:
    return surrogates


@dataclass(frozen=True)
class Reviewed:
    """Laid around the parts of a stream while they are put together (`parts.assemble`)."""

    found: Callable[[Detector], Detector]
    """What the stream asks for faces, instead of the detector."""
    edited: Callable[[ReplaceFaces | MaskFaces, Deidentifier], Deidentifier] = _as_it_is
    """What protects faces, instead of the method with whitelist and regions around it."""
    choice: Callable[[Surrogates], Choice] = _chosen_now
    """Where surrogates come from."""
