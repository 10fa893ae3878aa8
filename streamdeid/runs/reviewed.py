"""How an analysis and its edits change the parts of a stream when a recording is filtered again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streamdeid.core.protocols import Detector
from streamdeid.protect.choices import Choice
from streamdeid.protect.edited import FacesOfPersons
from streamdeid.protect.plan import Deidentifier
from streamdeid.surrogates.choice import Surrogates


def _as_it_is(faces: FacesOfPersons | None, inner: Deidentifier) -> Deidentifier:
    return inner


def _chosen_now(surrogates: Surrogates) -> Choice:
    return surrogates


@dataclass(frozen=True)
class Reviewed:
    """Functions that `parts.assemble` applies to the parts of a stream."""

    found: Callable[[Detector], Detector]
    """Gives the detector that the stream uses, from the one that it has."""
    edited: Callable[[FacesOfPersons | None, Deidentifier], Deidentifier] = _as_it_is
    """Gives the de-identifier of the stream, from what replaces the faces (None for a mask), and from the de-identifier
    with whitelist and regions around it."""
    choice: Callable[[Surrogates], Choice] = _chosen_now
    """Gives what chooses surrogates, from the surrogates of the stream."""
