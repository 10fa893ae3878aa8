"""The one rule of who is who: which known person a tracklet shows, when several tracklets or persons may match.

A tracklet claims a person whose template is near enough. The nearest claims come first; a person goes to one tracklet,
and a tracklet to one person. A claim is torn when a rival is nearly as near: somebody who was seen together with the
claimed person, and is therefore somebody else. The tracklet of a torn claim gets no person, because the two mistakes
are not alike: a split changes the synthetic face of one person, a merge gives two people the same face.

`settled` returns the tracklets with a known person. Any other tracklet claimed nobody, or its claim was torn, or
nearer tracklets got the persons that it claimed. The caller makes a new person of it once it is known well enough.

The callers differ in what they know: `reentry` knows the frames so far, `registered` a register and one person, and
`runs.segments.registered_faces` a register and a whole recording. `whole_recording` joins tracklets into groups and
does without `settled`. When a claim is accepted or torn is the same for all, and stands only here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Claim:
    """A tracklet that may show a person. Claims are ordered by distance; where it is the same, by number."""

    distance: float
    """Between the templates of the tracklet and the person, units of the identity space."""
    tracklet: int
    person: int


def accepted(distance: float, scatter: float, accept: float) -> bool:
    """Whether a tracklet is near enough to claim a person.

    distance: between the two templates. scatter: joint uncertainty of both; 0 where it is not known. accept: the
    largest distance at which both count as one person. All are in units of the identity space.
    """
    return distance + scatter <= accept


def torn(distance: float, rivals: Iterable[float], margin: float) -> bool:
    """Whether a claim may equally well belong to another person.

    distance: of the claim. rivals: distances of people who are surely not the claimed person. margin: by how much
    farther away than the claim all rivals have to be.
    """
    return min(rivals, default=math.inf) - distance <= margin


def settled(
    claims: Iterable[Claim], rivals: Callable[[Claim, Set[int]], Iterable[float]], margin: float
) -> dict[int, int]:
    """Persons by tracklet: each tracklet gets at most one person, and each person one tracklet, the nearest first.

    claims: in any order. rivals: a function from a claim and the persons given away so far to the distances of the
    claim's rivals (`torn`): people who were seen together with the person, and are not given away.
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
    return persons
