"""The person or tracklet to whom a new face belongs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Whose:
    """A person, or a tracklet whose person is not known, or not clear."""

    number: int
    """Number of the person, or of the tracklet, from 1."""
    provisional: bool = False
    """Whether `number` is that of a tracklet."""
