"""The rule of who is who, against a slow twin that is written as the rule is told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Set

from hypothesis import example, given
from hypothesis import strategies as st

from streamdeid.identity.claims import Claim, accepted, settled, torn

DISTANCES = st.sampled_from([0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
TABLES = st.dictionaries(st.tuples(st.integers(1, 4), st.integers(1, 5)), DISTANCES, max_size=14)
BESIDE = st.sets(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=6)


def twin(
    apart: dict[tuple[int, int], float], together: set[tuple[int, int]], accept: float, margin: float
) -> dict[int, int]:
    """Takes one claim after another, the nearest that is left, and looks everything up in the whole table."""
    found: dict[int, int] = {}
    out: set[int] = set()
    left = [(distance, pair) for pair, distance in apart.items() if distance <= accept]
    while left:
        nearest = min(left)
        left.remove(nearest)
        distance, (tracklet, person) = nearest
        if tracklet in found or tracklet in out or person in found.values():
            continue
        for other in range(1, 6):
            beside = (person, other) in together or (other, person) in together
            rival = apart.get((tracklet, other), math.inf)
            if beside and other not in found.values() and rival - distance <= margin:
                out.add(tracklet)
        if tracklet not in out:
            found[tracklet] = person
    return found


@given(TABLES, BESIDE, st.sampled_from([1.0, 2.5]), st.sampled_from([0.0, 0.5, 1.0]))
@example({(1, 1): 1.0, (1, 2): 1.5, (2, 2): 2.0}, {(1, 2)}, 2.5, 1.0)  # torn, so that the second one is free
def test_claims_are_settled_as_told(
    apart: dict[tuple[int, int], float], together: set[tuple[int, int]], accept: float, margin: float
) -> None:
    together = {pair for pair in together if pair[0] != pair[1]}
    claims = [Claim(distance, *pair) for pair, distance in apart.items() if accepted(distance, 0.0, accept)]

    def rivals(claim: Claim, taken: Set[int]) -> Iterable[float]:
        for one, other in together | {(other, one) for one, other in together}:
            if one == claim.person and other not in taken:
                yield apart.get((claim.tracklet, other), math.inf)

    found = settled(claims, rivals, margin)
    assert found == twin(apart, together, accept, margin)
    assert found == settled(reversed(claims), rivals, margin), "the order in which claims are told says nothing"
    assert len(set(found.values())) == len(found), "a person goes to one tracklet"


def test_a_torn_tracklet_gets_nobody() -> None:
    """Not even somebody farther away who has no rivals: a split costs less than a merge."""
    claims = [Claim(1.0, 7, 1), Claim(2.0, 7, 2)]
    assert settled(claims, lambda claim, _: [1.2] if claim.person == 1 else [], 0.5) == {}
    assert settled(claims, lambda claim, _: [], 0.5) == {7: 1}


def test_limits_are_part_of_the_rule() -> None:
    assert accepted(2.0, 1.0, 3.0) and not accepted(2.0, 1.1, 3.0)
    assert torn(1.0, [1.5], 0.5) and not torn(1.0, [1.6], 0.5) and not torn(1.0, [], 0.5)
    assert not accepted(math.nan, 0.0, 3.0), "what was not measured is nobody's"
