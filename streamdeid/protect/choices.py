"""What the filter asks of whoever chooses surrogates: `surrogates.Surrogates`, or an experiment's own."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from streamdeid.core.arrays import Points


class Chosen(Protocol):
    """What a choice must tell: `surrogates.Surrogate` does."""

    @property
    def vector(self) -> Points: ...

    @property
    def beard(self) -> bool: ...


class Choice(Protocol):
    """Which vector is published for a person of identity y (d,): `surrogates.Surrogates`, or an experiment's own.

    Raises FailedClosed when there is none to publish.
    """

    def surrogate(self, person: int, y: Points, /) -> Chosen: ...


@runtime_checkable
class ForgettingChoice(Choice, Protocol):
    """A choice that remembers people until it is told that they will not come back."""

    def forget(self, person: int, /) -> None: ...


@runtime_checkable
class ProvisionalChoice(Choice, Protocol):
    """A choice that has surrogates for tracklets of which nothing is known; others leave those without a face."""

    def provisional(self, number: int, /) -> Chosen: ...

    def adopt(self, number: int, person: int, y: Points, /) -> Chosen:
        """The surrogate of a person of identity y (d,) whom a tracklet with a provisional one turned out to show."""
        ...

    def release(self, number: int, /) -> None: ...
