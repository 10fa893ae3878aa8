"""The interface by which the filter chooses surrogates: `surrogates.Surrogates` has it, or an experiment's own
class."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from streamdeid.core.arrays import Points


class Chosen(Protocol):
    """A chosen surrogate, as far as the filter uses it; `surrogates.Surrogate` is one."""

    @property
    def vector(self) -> Points: ...

    @property
    def beard(self) -> bool: ...


class Choice(Protocol):
    """Chooses the vector that is published for a person of identity y (d,).

    Raises FailedClosed when there is no vector to publish.
    """

    def surrogate(self, person: int, y: Points, /) -> Chosen: ...


@runtime_checkable
class ForgettingChoice(Choice, Protocol):
    """A choice that remembers each person until it is told that this person will not come back."""

    def forget(self, person: int, /) -> None: ...


@runtime_checkable
class ProvisionalChoice(Choice, Protocol):
    """A choice that also has surrogates for tracklets of which nothing is known; with others these show no face."""

    def provisional(self, number: int, /) -> Chosen: ...

    def adopt(self, number: int, person: int, y: Points, /) -> Chosen:
        """The surrogate of a person of identity y (d,), when it turned out that a tracklet with a provisional one shows
        this person."""
        ...

    def release(self, number: int, /) -> None: ...
