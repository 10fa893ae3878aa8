"""Surrogates of tracklets of nobody known: blind to y, apart, kept or given back, and the same in every run."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.errors import FailedClosed
from streamdeid.k_same.clusters import pairwise
from streamdeid.surrogates.attributes import EITHER, rule_for
from streamdeid.surrogates.certificate import DONOR_MARGIN
from streamdeid.surrogates.choice import KEPT, METHODS, PROVISIONAL, Surrogate, Surrogates, SurrogateSettings
from tests import simulated_faces

KEY = b"a key for the tests alone"
GALLERY = simulated_faces.gallery(learnt=True)
DONORS = GALLERY.identities
PEOPLE = simulated_faces.faces(40, seed=77)


def session(
    *preserve: str, key: bytes = KEY, method: str = METHODS[0], size: int = 1024, attempts: int = 1000
) -> Surrogates:
    settings = SurrogateSettings(method=method, preserve=preserve, bank_size=size, attempts=attempts)
    return Surrogates(GALLERY, simulated_faces.VARIANCES, settings, key)


def vectors(chosen: list[Surrogate]) -> NDArray[np.float64]:
    return np.stack([one.vector for one in chosen])


def test_a_provisional_surrogate_is_kept_whoever_it_turns_out_to_be() -> None:
    """Even by somebody who looks just like it: a test that was seen would tell of y."""
    for y in (PEOPLE[0], PEOPLE[1], None):
        surrogates = session()
        shown = surrogates.provisional(7)
        kept = surrogates.adopt(7, 1, shown.vector if y is None else y)
        assert kept is shown and surrogates.surrogate(1, PEOPLE[2]) is shown
        assert shown.certificate.untested == {DONOR_MARGIN} and not shown.certificate.failures
        assert surrogates.counts == {PROVISIONAL: 1, KEPT: 1}
    assert not session().surrogate(1, PEOPLE[0]).certificate.untested


def test_it_is_what_key_and_number_say() -> None:
    one, other, third = session(), session(), session(key=b"another key for the tests")
    shown = vectors([one.provisional(number) for number in (3, 5, 9)])
    assert np.array_equal(shown, vectors([other.provisional(number) for number in (3, 5, 9)]))
    assert one.provisional(5) is one.provisional(5)
    assert not np.isclose(shown, vectors([third.provisional(number) for number in (3, 5, 9)])).all(axis=1).any()
    assert not np.isclose(shown, vectors([session().surrogate(n, PEOPLE[n]) for n in (3, 5, 9)])).all(axis=1).any()


def test_all_who_are_there_at_a_time_are_apart() -> None:
    surrogates = session(size=4096)
    chosen: list[Surrogate] = []
    for number in range(1, 31):
        chosen.append(surrogates.provisional(number))
        if number % 3 == 0:
            chosen.append(surrogates.surrogate(number, PEOPLE[number]))
        if number % 5 == 0:
            surrogates.adopt(number, 100 + number)
    shown = vectors(chosen)
    apart = pairwise(shown, shown) + np.where(np.eye(len(shown)), np.inf, 0)
    assert apart.min() >= surrogates.limits.separation
    assert pairwise(shown, DONORS).min() >= surrogates.limits.donor_distance
    assert all(not one.certificate.failures for one in chosen)


def test_one_that_nobody_kept_is_not_shown_to_the_next_ones() -> None:
    """With so few candidates the next ones would get it soon."""
    surrogates = session(size=100)
    shown: list[bytes] = []
    for number in range(1, 13):  # an eighth of the bank
        shown.append(surrogates.provisional(number).vector.tobytes())
        surrogates.release(number)
    assert len(set(shown)) == 12
    assert len(surrogates._provisional.vectors) == 0 and not len(surrogates)
    surrogates.release(99)  # of which nothing is known


def test_who_is_known_keeps_the_old_face_and_the_provisional_one_is_nobodys() -> None:
    surrogates = session()
    old = surrogates.surrogate(1, PEOPLE[0])
    strange = surrogates.provisional(4)
    assert surrogates.adopt(4, 1, PEOPLE[0]) is old is not strange
    assert surrogates.counts[KEPT] == 0 and surrogates.provisional(4) is strange, "as long as it goes over"
    surrogates.release(4)
    assert surrogates.provisional(4) is not strange


def test_where_gender_is_kept_it_passes_for_both_and_is_of_one_class_for_everybody() -> None:
    rule = rule_for(GALLERY, "gender")
    for preserve in (("gender",), ("age", "gender")):
        surrogates = session(*preserve)
        chosen = [surrogates.provisional(number) for number in range(1, 9)]
        assert {one.preserved for one in chosen} == {EITHER} and not any(one.beard for one in chosen)
        assert rule.unsure(np.stack([one.vector for one in chosen])).all()
        assert surrogates.bank is None
    assert surrogates.surrogate(1, PEOPLE[0]).preserved != EITHER
    for preserve in ((), ("age",)):
        assert [session(*preserve).provisional(1).preserved, session(*preserve).provisional(1).beard] == ["", True]
    assert session("age").bank is None and session().bank is not None


def test_an_earlier_run_s_is_found_again_by_its_proposal() -> None:
    surrogates, later = session("gender"), session("gender")
    shown = [surrogates.provisional(number) for number in range(1, 21)]
    for one in reversed(shown):
        assert one.provisional is not None
        found = later.provisional_again(one.provisional, one.preserved, one.attempts - 1)
        assert np.array_equal(found.vector, one.vector) and later.provisional(one.provisional) is found
    kept = surrogates.adopt(3, 1)
    again = session("gender").again(1, kept.preserved, kept.attempts - 1, kept.provisional)
    assert np.array_equal(again.vector, kept.vector) and again.beard == kept.beard
    for wrong in ((5, "female", 0), (5, EITHER, -1)):
        with pytest.raises(FailedClosed):
            session("gender").provisional_again(*wrong)


@pytest.mark.parametrize("method", METHODS[1:])
def test_the_papers_maps_have_none(method: str) -> None:
    with pytest.raises(FailedClosed, match="nothing is known"):
        session(method=method).provisional(1)
    assert session(method=method).fixed_map is not None and session("gender", method=method).fixed_map is None


def test_when_none_is_free_there_is_none() -> None:
    surrogates = session(size=100, attempts=1)
    found = 0

    def all_of_them() -> None:
        nonlocal found
        for number in range(1, 100):
            surrogates.provisional(number)
            found = number

    with pytest.raises(FailedClosed, match="no surrogate is free"):
        all_of_them()
    assert found >= 3 and len(surrogates._provisional.vectors) == found
