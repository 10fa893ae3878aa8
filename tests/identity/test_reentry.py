"""Who came back, who is new, who is too close to call, and who must never be one person."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.core.faces import Face, Track
from streamdeid.errors import SettingsError
from streamdeid.identity.identity import Identity
from streamdeid.identity.reentry import Decision, Outcome, Persons

FACE = Face((0, 0, 50, 50), 0.9)


def persons(**changes: float | bool) -> Persons:
    return Persons(**{"accept": 1.0, "reject": 2.0, **changes})  # type: ignore[arg-type]


def showing(*numbers: int, lost: Sequence[int] = ()) -> list[Track]:
    seen = [Track(number, FACE.box, FACE, 0, False) for number in numbers]
    return seen + [Track(number, FACE.box, None, 1, False) for number in lost]


def in_doubt(*numbers: int) -> list[Track]:
    return [Track(number, FACE.box, FACE, 0, True) for number in numbers]


def who(*values: float, scatter: float = 0.0, frames: int = 1) -> Identity:
    return Identity(np.array(values), scatter, frames)


def left(known: Persons, *numbers: int) -> None:
    """Tracks 1, 2, ... at 0, 10, ... on the first axis come, are committed, and leave."""
    known.update(showing(*numbers), Fraction(0))
    known.commit({number: who(10.0 * place, 0) for place, number in enumerate(numbers)})
    known.update([], Fraction(1))


def test_the_first_is_person_one() -> None:
    known = persons()
    known.update(showing(7), Fraction(0))
    assert known.person_of(7) is None
    assert known.commit({7: who(0, 0)}) == {7: Decision(1, Outcome.NEW)}
    assert known.person_of(7) == 1


@pytest.mark.parametrize(
    ("distance", "scatter", "decision"),
    [
        (0.0, 0.0, Decision(1, Outcome.RETURNED)),
        (0.99, 0.0, Decision(1, Outcome.RETURNED)),
        (1.01, 0.0, Decision(2, Outcome.UNCERTAIN)),
        (1.99, 0.0, Decision(2, Outcome.UNCERTAIN)),
        (2.01, 0.0, Decision(2, Outcome.NEW)),
        (0.9, 0.2, Decision(2, Outcome.UNCERTAIN)),
        (2.1, 0.2, Decision(2, Outcome.UNCERTAIN)),
        (2.3, 0.2, Decision(2, Outcome.NEW)),
    ],
)
def test_the_zones_and_how_scatter_widens_the_middle(distance: float, scatter: float, decision: Decision) -> None:
    known = persons()
    left(known, 1)
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(distance, 0, scatter=scatter)}) == {2: decision}
    assert known.counts[decision.outcome] == (2 if decision.outcome is Outcome.NEW else 1)


def test_a_present_person_is_never_given_to_another_track() -> None:
    known = persons()
    known.update(showing(1, 2), Fraction(0))
    assert known.commit({1: who(0, 0)})[1].person == 1
    assert known.commit({2: who(0, 0)})[2].person == 2
    known.update(showing(1, 2, 3), Fraction(1))
    assert known.commit({3: who(0, 0)}) == {3: Decision(3, Outcome.NEW)}


def test_somebody_seen_together_with_the_newcomer_is_not_the_newcomer() -> None:
    """Track 2 started while track 1 was seen; that track 1 has ended since changes nothing."""
    known = persons()
    known.update(showing(1), Fraction(0))
    known.commit({1: who(0, 0)})
    known.update(showing(1, 2), Fraction(1))
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(0, 0)}) == {2: Decision(2, Outcome.NEW)}


def test_a_newcomer_waits_for_the_track_of_a_look_alike_to_end() -> None:
    known = persons()
    known.update(showing(1), Fraction(0))
    known.commit({1: who(0, 0)})
    known.update(showing(2, lost=[1]), Fraction(1))
    assert known.commit({2: who(0.1, 0)}) == {2: Decision(None, Outcome.WAITING)}
    assert known.person_of(2) is None
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(0.1, 0)}) == {2: Decision(1, Outcome.RETURNED)}


def test_if_the_look_alike_is_found_again_the_newcomer_is_new() -> None:
    known = persons()
    known.update(showing(1), Fraction(0))
    known.commit({1: who(0, 0)})
    known.update(showing(2, lost=[1]), Fraction(1))
    known.commit({2: who(0.1, 0)})
    known.update(showing(1, 2), Fraction(2))
    assert known.commit({2: who(0.1, 0)}) == {2: Decision(2, Outcome.NEW)}
    assert known.person_of(1) == 1


def test_of_two_who_claim_one_person_the_nearer_gets_it() -> None:
    known = persons()
    left(known, 1)
    known.update(showing(2, 3), Fraction(2))
    decisions = known.commit({2: who(0.8, 0), 3: who(0.3, 0)})
    assert decisions == {3: Decision(1, Outcome.RETURNED), 2: Decision(2, Outcome.UNCERTAIN)}


def test_the_loser_may_take_a_second_choice() -> None:
    known = persons(accept=6.0, reject=20.0)
    left(known, 1, 2)
    known.update(showing(3, 4), Fraction(2))
    decisions = known.commit({3: who(4.5, 0), 4: who(1, 0)})
    assert decisions == {4: Decision(1, Outcome.RETURNED), 3: Decision(2, Outcome.RETURNED)}


def test_a_decision_is_for_good() -> None:
    known = persons()
    left(known, 1, 2)
    known.update(showing(3), Fraction(2))
    assert known.commit({3: who(0, 0)}) == known.commit({3: who(10, 0)}) == {3: Decision(1, Outcome.RETURNED)}
    assert known.counts[Outcome.RETURNED] == 1
    known.update([], Fraction(3))
    assert known.person_of(3) == 1


@pytest.mark.parametrize(("seconds", "person"), [(599, 1), (602, 2)])
def test_templates_expire(seconds: int, person: int) -> None:
    known = persons()
    left(known, 1)
    known.update([], Fraction(seconds))
    assert known.remembered == (frozenset({1}) if person == 1 else frozenset())
    known.update(showing(2), Fraction(seconds))
    assert known.commit({2: who(0, 0)})[2].person == person


def test_templates_expire_though_the_clock_starts_over() -> None:
    known = persons()
    known.update([], Fraction(10**6))
    known.update(showing(1), Fraction(10**6))
    known.commit({1: who(0, 0)})
    known.update([], Fraction(0))
    known.update([], Fraction(601))
    assert known.remembered == frozenset()


def test_a_person_who_stays_is_not_forgotten() -> None:
    known = persons(ttl=1.0, limit=0)
    for second in range(5):
        known.update(showing(1), Fraction(second))
        known.commit({1: who(0, 0)})
    assert known.remembered == {1}


def test_the_longest_absent_is_forgotten_first() -> None:
    known = persons(limit=2)
    for number in (1, 2, 3):
        known.update(showing(number), Fraction(number))
        known.commit({number: who(10.0 * number, 0)})
    known.update([], Fraction(4))
    assert known.remembered == {2, 3}


def test_without_reentry_nothing_is_kept_of_those_who_left() -> None:
    known = persons(reentry=False)
    left(known, 1)
    assert known.remembered == frozenset()
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(0, 0)}) == {2: Decision(2, Outcome.NEW)}


def test_without_reentry_those_who_were_mixed_up_are_still_told_apart() -> None:
    """Tracks 3 and 4 take up 1 and 2 in a doubt; track 5 comes later, and may only be somebody new."""
    known = persons(reentry=False)
    known.update(showing(1, 2), Fraction(0))
    known.commit({1: who(0, 0), 2: who(10, 0)})
    known.update(in_doubt(3, 4), Fraction(1))
    known.update(showing(3, 4, 5), Fraction(2))
    assert known.remembered == {1, 2}
    assert known.commit({5: who(0, 0)}) == {5: Decision(3, Outcome.NEW)}
    assert known.commit({4: who(0, 0)}) == {4: Decision(1, Outcome.RETURNED)}
    assert known.commit({3: who(5, 0)}) == {3: Decision(4, Outcome.NEW)}
    known.update(showing(3, 4, 5), Fraction(3))
    assert known.remembered == {1, 3, 4}


def test_the_exchanged_get_their_own_persons_back() -> None:
    known = persons()
    known.update(showing(1, 2), Fraction(0))
    known.commit({1: who(0, 0), 2: who(10, 0)})
    known.update([*showing(2), *in_doubt(3)], Fraction(1))  # 2 is in doubt one frame later than 1
    known.update(in_doubt(3, 4), Fraction(2))
    known.update(showing(3, 4), Fraction(3))
    assert known.commit({3: who(10, 0)}) == {3: Decision(2, Outcome.RETURNED)}
    assert known.commit({4: who(0, 0)}) == {4: Decision(1, Outcome.RETURNED)}


def test_nobody_is_recognised_who_could_as_well_be_a_look_alike_seen_beside_him() -> None:
    known = persons(accept=4.0, reject=6.0, margin=1.0)
    known.update(showing(1, 2), Fraction(0))
    known.commit({1: who(0, 0), 2: who(7, 0)})
    known.update(in_doubt(3, 4), Fraction(1))
    known.update(showing(3, 4), Fraction(2))
    assert known.commit({3: who(3.2, 0)}) == {3: Decision(3, Outcome.UNCERTAIN)}
    assert known.commit({4: who(4.2, 0)}) == {4: Decision(2, Outcome.RETURNED)}


def test_two_who_were_never_seen_together_may_be_one() -> None:
    """Whose face changed too much to be recognised became somebody new; back again, either will do."""
    known = persons(accept=4.0, reject=6.0, margin=1.0)
    known.update(showing(1), Fraction(0))
    known.commit({1: who(0, 0)})
    known.update(in_doubt(2), Fraction(1))
    known.update(showing(2), Fraction(2))
    known.commit({2: who(5, 0)})
    known.update(in_doubt(3), Fraction(3))
    known.update(showing(3), Fraction(4))
    assert known.commit({3: who(2.7, 0)}) == {3: Decision(2, Outcome.RETURNED)}


@pytest.mark.parametrize("distance", [1.5, 9.0])
@pytest.mark.parametrize("doubted", [False, True])
def test_whom_nobody_is_recognised_on_is_not_somebody_new_at_once(distance: float, doubted: bool) -> None:
    """A laugh takes a face as far away as another person's."""
    known = persons(enough=5, patience=20)
    left(known, 1)
    known.update(in_doubt(2) if doubted else showing(2), Fraction(2))
    known.update(showing(2), Fraction(3))
    assert known.commit({2: who(0, 0, frames=4)}) == {2: Decision(None, Outcome.WAITING)}
    for frames in (5, 19):
        assert known.commit({2: who(distance, 0, frames=frames)}) == {2: Decision(None, Outcome.WAITING)}
    assert known.commit({2: who(distance, 0, frames=20)})[2].person == 2


def test_who_is_recognised_need_not_wait_that_long() -> None:
    known = persons(enough=5, patience=20)
    left(known, 1)
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(0, 0, frames=5)}) == {2: Decision(1, Outcome.RETURNED)}


def test_an_identity_that_is_not_finite_decides_nothing() -> None:
    known = persons()
    known.update(showing(1, 2), Fraction(0))
    decisions = known.commit({1: who(np.nan, 0), 2: who(0, 0, scatter=np.inf)})
    assert decisions == dict.fromkeys((1, 2), Decision(None, Outcome.REFUSED))
    assert known.commit({1: who(0, 0)})[1].person == 1
    known.refresh(1, who(np.inf, 0))
    known.update([], Fraction(1))
    known.update(showing(3), Fraction(2))
    assert known.commit({3: who(0, 0)})[3].person == 1


def test_misuse_raises_and_decides_nothing() -> None:
    known = persons()
    known.update(showing(1, 2), Fraction(0))
    known.commit({1: who(0, 0)})
    for wrong in ({2: who(0, 0), 9: who(0, 0)}, {2: who(0, 0, 0)}):
        with pytest.raises(ValueError):
            known.commit(wrong)
        assert known.person_of(2) is None
    settings_: list[dict[str, float]] = [
        {"accept": 0},
        {"accept": 2},
        {"reject": np.inf},
        {"ttl": -1},
        {"limit": -1},
        {"margin": -1},
        {"likelier": 0.99},
        {"likelier": np.nan},
    ]
    settings_ += [{"enough": 0}, {"enough": 3, "patience": 2}, {"margin": np.nan}]
    for bad in [*settings_, {"accept": np.nan}]:
        with pytest.raises(SettingsError):
            persons(**bad)


def test_refresh_moves_the_template_and_return_averages_by_frames() -> None:
    known = persons()
    known.update(showing(1), Fraction(0))
    known.commit({1: who(0, 0)})
    known.refresh(1, who(3, 0, frames=30))
    known.update([], Fraction(1))
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(3.9, 0, frames=10)})[2].person == 1
    known.update([], Fraction(3))
    known.update(showing(3, 4, 5), Fraction(4))
    # (30 x 3 + 10 x 3.9) / 40 = 3.225
    assert known.commit({5: who(5.3, 0)})[5].outcome is Outcome.NEW
    assert known.commit({4: who(4.3, 0)})[4].outcome is Outcome.UNCERTAIN
    assert known.commit({3: who(4.2, 0)})[3] == Decision(1, Outcome.RETURNED)


def test_a_template_is_a_copy() -> None:
    known = persons()
    running = np.zeros(2)
    known.update(showing(1), Fraction(0))
    known.commit({1: Identity(running)})
    running += 50
    known.update([], Fraction(1))
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(0, 0)})[2].person == 1


def test_biometric_vectors_stay_out_of_reprs() -> None:
    assert "1234.5" not in repr(who(1234.5, 0))


NOBODY = Identity(None)


@pytest.mark.parametrize(
    ("distance", "expected", "decision"),
    [
        (1.1, True, Decision(1, Outcome.RETURNED)),
        (1.1, False, Decision(3, Outcome.UNCERTAIN)),
        (1.3, True, Decision(3, Outcome.UNCERTAIN)),
    ],
)
def test_only_who_is_expected_may_be_farther_away(distance: float, expected: bool, decision: Decision) -> None:
    """Track 3 goes on with track 1 in a doubt, which is no nearer than what is accepted of others."""
    known = persons(likelier=1.2)
    known.update(showing(1, 2), Fraction(0))
    known.commit({1: who(0, 0), 2: who(10, 0)})
    known.update([*showing(2), *in_doubt(3)], Fraction(1))
    if expected:
        known.expect(3, 1)
    known.update(showing(2, 3), Fraction(2))
    assert known.commit({3: who(distance, 0)}) == {3: decision}


def test_who_is_expected_is_so_of_that_person_and_that_track_alone() -> None:
    def expecting(earlier: int) -> Persons:
        known = persons(likelier=1.2)
        known.update(showing(1, 2), Fraction(0))
        known.commit({1: who(0, 0), 2: who(10, 0)})
        known.update(in_doubt(3, 4), Fraction(1))
        known.expect(3, earlier)
        known.update(showing(3, 4), Fraction(2))
        return known

    assert expecting(2).commit({3: who(1.1, 0)})[3].outcome is Outcome.UNCERTAIN, "another person"
    assert expecting(1).commit({4: who(1.1, 0)})[4].outcome is Outcome.UNCERTAIN, "another track"
    assert expecting(1).commit({3: who(1.1, 0)})[3] == Decision(1, Outcome.RETURNED)
    assert expecting(9).commit({3: who(1.1, 0)})[3].outcome is Outcome.UNCERTAIN, "a track that nobody knows"


def test_what_was_expected_is_forgotten_with_the_track() -> None:
    known = persons(likelier=1.2)
    known.update(showing(1), Fraction(0))
    known.commit({1: who(0, 0)})
    known.update(in_doubt(2), Fraction(1))
    known.expect(2, 1)
    known.update([], Fraction(2))
    known.update(showing(2), Fraction(3))
    assert known.commit({2: who(1.1, 0)})[2].outcome is Outcome.UNCERTAIN


def test_who_is_expected_is_not_taken_for_a_look_alike_who_is_still_there() -> None:
    """Likelier is no licence: the margin to those who were seen beside the person counts all the same."""
    known = persons(accept=4.0, reject=6.0, margin=1.0, likelier=1.2)
    known.update(showing(1, 2), Fraction(0))
    known.commit({1: who(0, 0), 2: who(9, 0)})
    known.update(in_doubt(3, 4), Fraction(1))
    known.expect(3, 1)
    known.update(showing(3, 4), Fraction(2))
    assert known.commit({3: who(4.4, 0)})[3].outcome is Outcome.UNCERTAIN


def test_a_person_who_was_never_seen_is_nobody_until_a_vector_is_told() -> None:
    known = persons()
    known.update(showing(1), Fraction(0))
    assert known.commit_unseen(1) == 1
    assert known.counts[Outcome.UNSEEN] == 1
    known.update([], Fraction(1))
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(0, 0)}) == {2: Decision(2, Outcome.NEW)}
    known.update(showing(2), Fraction(3))
    assert known.remembered == {1, 2}


def test_once_a_vector_is_told_the_person_who_was_not_seen_is_known_again() -> None:
    known = persons()
    known.update(showing(1), Fraction(0))
    known.commit_unseen(1)
    known.refresh(1, who(5, 0))
    known.update([], Fraction(1))
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(5, 0)}) == {2: Decision(1, Outcome.RETURNED)}


def test_who_was_decided_keeps_the_person_though_nothing_more_is_seen() -> None:
    known = persons()
    left(known, 1)
    known.update(showing(2, 3), Fraction(2))
    known.commit({2: who(0, 0)})
    assert [known.commit_unseen(2), known.commit_unseen(3), known.commit_unseen(3)] == [1, 2, 2]
    assert known.counts[Outcome.UNSEEN] == 1
    known.update([], Fraction(3))
    known.update(showing(4), Fraction(4))
    assert known.commit({4: who(0, 0)}) == {4: Decision(1, Outcome.RETURNED)}, "the template is still there"


def test_a_track_that_is_not_there_is_no_unseen_person() -> None:
    known = persons()
    left(known, 1)
    for track in (1, 2):
        with pytest.raises(ValueError, match="not present"):
            known.commit_unseen(track)
    assert not known.counts[Outcome.UNSEEN]


def test_the_next_person_after_one_never_seen_has_a_number_of_his_own() -> None:
    known = persons()
    known.update(showing(1, 2, 3), Fraction(0))
    assert known.commit({1: who(0, 0)})[1].person == 1
    assert known.commit_unseen(2) == 2
    assert known.commit({3: who(90, 0)})[3].person == 3


def test_who_has_no_vector_waits_while_anybody_might_be_recognised() -> None:
    known = persons(enough=5, patience=12)
    left(known, 1)
    known.update(showing(2), Fraction(2))
    for frames in (1, 5, 12, 500):
        assert known.commit({2: Identity(None, frames=frames)}) == {2: Decision(None, Outcome.WAITING)}
    assert known.person_of(2) is None
    assert known.commit({2: who(0, 0, frames=5)}) == {2: Decision(1, Outcome.RETURNED)}


def test_without_a_vector_nobody_is_recognised_and_nobody_recognised_by_it() -> None:
    known = persons(enough=1)
    known.update(showing(1), Fraction(0))
    assert known.commit({1: NOBODY}) == {1: Decision(1, Outcome.NEW)}, "alone, there is nobody else to be"
    known.update([], Fraction(1))
    known.update(showing(2), Fraction(2))
    assert known.commit({2: NOBODY}) == {2: Decision(None, Outcome.WAITING)}
    assert known.commit({2: who(0, 0)}) == {2: Decision(2, Outcome.NEW)}


def test_a_vector_that_is_taken_away_again_does_not_wipe_out_the_template() -> None:
    known = persons()
    known.update(showing(1), Fraction(0))
    known.commit({1: who(0, 0)})
    known.refresh(1, NOBODY)
    known.update([], Fraction(1))
    known.update(showing(2), Fraction(2))
    assert known.commit({2: who(0, 0)}) == {2: Decision(1, Outcome.RETURNED)}


def test_a_face_in_doubt_is_nobody_seen() -> None:
    """Track 1 is in doubt while track 2 begins and stays: the person may have gone over to that one."""
    known = persons()
    known.update(showing(1), Fraction(0))
    known.commit({1: who(0, 0)})
    for second in (1, 2):
        known.update([*in_doubt(1), *showing(2)], Fraction(second))
    assert known.commit({2: who(0, 0)}) == {2: Decision(None, Outcome.WAITING)}
    known.update(showing(2), Fraction(3))
    assert known.commit({2: who(0, 0)}) == {2: Decision(1, Outcome.RETURNED)}


steps = st.lists(
    st.tuples(st.sets(st.integers(0, 5), max_size=4), st.sets(st.integers(0, 5), max_size=2), st.integers(0, 400)),
    min_size=1,
    max_size=12,
)


@given(steps, st.integers(0, 10**6))
@settings(max_examples=80, deadline=None)
def test_present_tracks_never_share_a_person(frames: list[tuple[set[int], set[int], int]], seed: int) -> None:
    """Random comings, goings and losses, with identities so alike that everybody is accepted as anybody."""
    rng = np.random.default_rng(seed)
    known = persons(accept=5.0, reject=6.0)
    numbers: dict[int, int] = {}
    fresh = 0
    decided: dict[int, int] = {}
    now = 0
    for seen, missed, seconds in frames:
        now += seconds
        numbers = {slot: numbers[slot] for slot in numbers if slot in seen | missed}
        for slot in sorted(seen - numbers.keys()):
            fresh += 1
            numbers[slot] = fresh
        coasting = [number for slot, number in numbers.items() if slot not in seen]
        known.update(showing(*(numbers[slot] for slot in seen), lost=coasting), Fraction(now))
        known.commit({numbers[slot]: Identity(rng.normal(0, 0.1, 3)) for slot in seen if rng.random() < 0.7})
        present = [person for person in map(known.person_of, numbers.values()) if person is not None]
        assert len(present) == len(set(present))
        assert all(known.person_of(track) == person for track, person in decided.items())
        decided |= {track: person for track in numbers.values() if (person := known.person_of(track)) is not None}
    assert set(decided.values()) <= set(range(1, fresh + 1))
