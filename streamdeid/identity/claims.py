"""The one rule of who is who: which known person a tracklet shows, when several of either may be meant.

A tracklet claims a person whose template is near enough. The nearest claims come first; a person goes to one tracklet,
and a tracklet to one person. A claim is torn, and its tracklet is nobody's, when somebody who was seen together with
the person meant, and who is therefore somebody else, is nearly as near: mistakes are not symmetric, for a split costs
a change of the synthetic face, and a merge gives two people one.

`settled` tells who is a known person (`persons`) and who is nobody yet (`torn`); a tracklet in neither is like none of
those known, or others got them, and its caller makes a new person of it once it is known well enough.

The callers differ in what they know: `reentry` of the frames so far, `registered` of a register and one person,
`whole_recording` and `runs.segments.registered_faces` of a whole recording. The rule is the same, and stands only here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Claim:
    """A tracklet that may show a person. Claims are ordered by distance; where it is the same, by number."""

    distance: float
    """Of the tracklet's template from the person's, units of the identity space."""
    tracklet: int
    person: int


@dataclass(frozen=True)
class Settled:
    """What became of claims."""

    persons: dict[int, int]
    """By tracklet. One without a person claimed nobody, was torn, or was farther from those whom it claimed than others
    who got them."""
    torn: frozenset[int]
    """Tracklets that could as well be two people."""


def accepted(distance: float, scatter: float, accept: float) -> bool:
    """Whether a tracklet is near enough to claim a person.

    distance: of the two templates. scatter: how far either may be from where it was measured, together; 0 where that
    is not known. accept: the largest distance that is taken for one person; all in units of the identity space.
    """
    return distance + scatter <= accept


def torn(distance: float, rivals: Iterable[float], margin: float) -> bool:
    """Whether a claim may as well be somebody else's.

    distance: of the claim. rivals: distances of those who are surely others than the one meant. margin: by how much
    farther away than the claim all of them have to be.
    """
    return min(rivals, default=math.inf) - distance <= margin


def settled(claims: Iterable[Claim], rivals: Callable[[Claim, Set[int]], Iterable[float]], margin: float) -> Settled:
    """Give each tracklet at most one person, and each person at most one tracklet, the nearest first.

    claims: in any order. rivals: from a claim and the persons who are given away by then to the distances of its rivals
    (`torn`): those seen together with the person, and not given away.
    """
    persons: dict[int, int] = {}
    given: set[int] = set()
    doubtful: set[int] = set()
    for claim in sorted(claims):
        if claim.tracklet in persons or claim.tracklet in doubtful or claim.person in given:
            continue
        if torn(claim.distance, rivals(claim, given), margin):
            doubtful.add(claim.tracklet)
            continue
        persons[claim.tracklet] = claim.person
        given.add(claim.person)
    return Settled(persons, frozenset(doubtful))
