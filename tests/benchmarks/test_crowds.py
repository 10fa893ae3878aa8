"""Crowds: nobody is ever shown with another's surrogate, and the stored table of the benchmark `crowds` stays true."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.people import crowd_runs, crowds, identity_metrics
from benchmarks.people.identity_metrics import Sighting
from streamdeid.aam.fit import FitModel
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.identity.identity_check import Estimate, IdentityCheck
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import Models

FACE = Face((0, 0, 50, 50), 0.9)
QUICK = list(crowds.groups(quick=True))


@pytest.mark.parametrize("group", QUICK, ids=[" ".join(map(str, group[:4])) for group in QUICK])
def test_no_row_of_the_table_got_worse(group: Any, fitting: FitModel, gallery: Gallery) -> None:
    """The stored table gates: what is worse than it says is a regression, and nobody is ever handed over."""
    now = crowds.row(True, *group, Models(fitting, gallery))
    wanted = ("quick", *group[:4])
    (stored,) = [row for row in crowds.stored() if (row.runs, row.level, row.kind, row.rate, row.lookahead) == wanted]
    assert now.faces == stored.faces
    assert now.handovers == stored.handovers == 0
    assert now.switches <= stored.switches
    assert now.surplus <= stored.surplus
    assert now.idf1 >= stored.idf1 - 0.005
    assert now.shown >= stored.shown - 0.005


def test_the_stored_table_meets_the_bar() -> None:
    rows = [row for row in crowds.stored() if row.runs == "full"]
    assert {row.kind for row in rows} == {"crossing", "leaving", "bars"}
    assert {row.level for row in rows} == {"simulated", "drawn"}
    assert all(row.handovers == 0 for row in rows)
    people = 5
    assert all(row.surplus <= 0.2 * people * row.clips for row in rows), "more than 1.2 surrogates for a person"


def test_without_the_check_people_are_handed_over(gallery: Gallery, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: a person for each track, as long as it lasts."""
    run = crowd_runs.Run("crossing", 15, 90.0, 1.0, 1, 6.0)
    for judged in (True, False):
        assert crowd_runs.simulated(run, gallery.identities, judged).handovers == 0
    monkeypatch.setattr(IdentityCheck, "_breaks", lambda *_: False)
    assert crowd_runs.simulated(run, gallery.identities, judged=False).handovers > 20


def test_looks_show_more_people(gallery: Gallery) -> None:
    """The other control: every doubt counts."""
    run = crowd_runs.Run("crossing", 15, 90.0, 1.0, 1, 6.0)
    with_looks, without = (crowd_runs.simulated(run, gallery.identities, judged) for judged in (True, False))
    assert with_looks.shown > 1.3 * without.shown


sightings = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 3), st.one_of(st.none(), st.sampled_from("abcd"))), max_size=16
).map(lambda listed: [Sighting(*each) for each in sorted({(f, p): (f, p, s) for f, p, s in listed}.values(), key=str)])


@given(sightings)
@settings(max_examples=100, deadline=None)
def test_the_counts_are_those_of_a_literal_twin(listed: list[Sighting]) -> None:
    counts = identity_metrics.identities(listed)
    people = sorted({s.person for s in listed})
    names = [*"abcd", *(None for _ in people)]
    best = max(
        sum(s.shown is not None and dict(zip(people, chosen, strict=True))[s.person] == s.shown for s in listed)
        for chosen in set(itertools.permutations(names, len(people)))
    )
    switches = 0
    for person in people:
        own = [s.shown for s in listed if s.person == person and s.shown is not None]
        switches += sum(a != b for a, b in itertools.pairwise(own))
    handovers = sum(
        s.shown is not None and any(o.shown == s.shown and o.person != s.person and o.frame <= s.frame for o in listed)
        for s in listed
    )
    shown = [s for s in listed if s.shown is not None]
    surplus = len({(s.person, s.shown) for s in shown}) - len({s.person for s in shown})
    assert (counts.faces, counts.shown) == (len(listed), len(shown))
    assert (counts.switches, counts.handovers, counts.surplus) == (switches, handovers, surplus)
    assert counts.true_positives == best
    assert counts.idf1 == (2 * best / (len(listed) + len(shown)) if listed else 1.0)


class Known:
    """A register that recognises nobody before it is told to."""

    def __init__(self) -> None:
        self.people: dict[int, int] = {}
        self.answer: int | None = None
        self.asked: list[tuple[int, int]] = []

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        self.tracks = [(track.number, track.ambiguous) for track in tracks]

    def person_of(self, track: int) -> int | None:
        return self.people.get(track)

    def commit(self, track: int, identity: np.ndarray[Any, Any], frames: int) -> int | None:
        self.asked.append((track, frames))
        if self.answer is not None:
            self.people.setdefault(track, self.answer)
        return self.people.get(track)


def frame_at(index: int) -> Frame:
    blank = np.zeros((2, 2), np.uint8)
    return Frame(Planes(blank, blank[:1, :1], blank[:1, :1]), Fraction(index, 25), index)


def played(check: IdentityCheck, states: str, start: int = 0) -> list[int]:
    """Show track 1 as seen (`.`), ambiguous (`?`) or lost (`-`), frame by frame; its tracklets."""
    tracklets = []
    missed = 0
    for index, state in enumerate(states, start):
        missed = missed + 1 if state == "-" else 0
        track = Track(1, FACE.box, None if missed else FACE, missed, state == "?")
        (tracklet,) = check.update(frame_at(index), [track])
        if tracklet.face is not None and not tracklet.ambiguous:
            check.saw(tracklet.number)
        check.settle()
        tracklets.append(tracklet.number)
    return tracklets


def fresh(register: Known) -> IdentityCheck:
    return IdentityCheck(register, lambda tracklet, final: Estimate(np.zeros(2), np.zeros(2)), lambda person, y: None)


@pytest.mark.parametrize(
    ("states", "tracklets"),
    [
        ("......", "111111"),
        ("..??..", "112222"),
        ("?.....", "111111"),
        ("..?.?.", "112233"),
        ("..--..", "111111"),
        ("." + "-" * 5 + "..", "1" * 8),
        ("." + "-" * 6 + "..", "1" * 7 + "22"),
    ],
)
def test_a_tracklet_begins_with_every_doubt_and_after_a_longer_loss(states: str, tracklets: str) -> None:
    register = Known()
    assert "".join(map(str, played(fresh(register), states))) == tracklets


def test_a_tracklet_is_shown_as_soon_as_it_is_known_also_where_it_was_observed_before() -> None:
    register = Known()
    register.answer = 7
    check = fresh(register)
    (first,) = set(played(check, "." * 13))
    assert check.settle_last(first) == 7
    register.answer = None
    second = played(check, "?....", 13)[-1]
    assert check.settle_last(first) == 7  # observed before the doubt
    assert check.settle_last(second) is None
    register.answer = 8
    assert check.settle_last(second) == 8
    assert check.settle_last(first) == 7


def test_a_short_tracklet_names_nobody() -> None:
    """What a frame or two of somebody half hidden tells is no template."""
    register = Known()
    played(fresh(register), "....?....?")
    assert register.asked == []
    played(fresh(register), ".....?....?")
    assert register.asked == [(1, 5)]
