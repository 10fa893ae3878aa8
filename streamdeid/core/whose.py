"""Whose a new face is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Whose:
    """A person, or a tracklet of which it is not known, or not clear, who it shows."""

    number: int
    """From 1: of the person, or of the tracklet."""
    provisional: bool = False
    """Whether it is a tracklet's."""
