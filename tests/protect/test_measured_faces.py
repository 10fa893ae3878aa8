"""Who is who in the filter: doubts, what is learned of whom, what is told whom, and what is forgotten."""

from __future__ import annotations

import threading
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Picture, Points
from streamdeid.identity.looks import Break, BreakCause, Looks
from streamdeid.identity.person_recogniser import PersonRecogniser
from streamdeid.identity.person_templates import FusedTemplates, RecognisedTemplates
from streamdeid.identity.tracklet_vectors import TrackletVectors
from streamdeid.protect import measured_faces
from streamdeid.protect.levels import Cause, Steps
from tests import drawn_faces
from tests.filmed import OWN, SOFT, Drawn, Filmed, Judged, astray, bared, drawer, levels, lost, track


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Drawn:
    return drawer(model)


def test_frames_in_doubt_teach_nothing(fitting: FitModel, drawn: Drawn) -> None:
    """Who was never seen without doubt has no person, however long; afterwards the first frame is enough."""
    one = drawn()
    filmed = Filmed(fitting, judge=Judged())
    filmed.show(one.planes, track(one.face, ambiguous=True), times=30)
    assert not filmed.filter.vectors()
    followed = filmed.filter._faces.of(1)
    assert followed is not None and not (followed.known.ready or followed.rest.ready or followed.weak)
    assert levels(filmed.show(one.planes, track(one.face))) == {1: OWN}


def test_who_was_never_seen_without_something_before_the_face_is_somebody_new_all_the_same(
    fitting: FitModel, drawn: Drawn
) -> None:
    """It was no sure face before the cup came, and no frame is good to know anybody by."""
    one = drawn(centre=(300.0, 165.0))
    face = astray(one.face)
    filmed = Filmed(fitting)
    named: list[Points] = []
    filmed.filter._faces.check._named = lambda person, y: named.append(y)
    filmed.show(one.planes, track(replace(face, presence=0.3)), times=14)
    planes = one.planes.copy()
    low = int(one.points[:, 1].mean()) & ~1
    planes.y[low:], planes.u[low // 2 :], planes.v[low // 2 :] = 120, 150, 105
    filmed.show(planes, track(face), times=12)
    assert len(named) == 1 and np.isfinite(named[0]).all()


def test_a_doubt_that_is_found_groundless_is_undone_in_frames_that_still_wait(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    judged = Judged()
    filmed = Filmed(fitting, judge=judged)
    shown = [track(one.face, ambiguous=index in (4, 5, 6)) for index in range(9)]
    frames = []
    for index, each in enumerate(shown):
        judged.groundless = {1: [3, 4, 6], 2: [5], 9: [5]} if index == 8 else {}
        frames.append(filmed.observe(one.planes, each))
        if index == 4:  # these are out
            published = [filmed.publish(*done) for done in zip(frames, [[t] for t in shown], strict=False)]
            assert [levels(done)[1] for done in published] == [OWN] * 4 + [SOFT]
    late = [filmed.publish(frame, [each]) for frame, each in zip(frames[5:], shown[5:], strict=True)]
    assert [levels(done)[1] for done in late] == [SOFT, OWN, OWN, OWN]
    assert [done.redactions[0].person for done in late] == [0, 1, 1, 1]


def test_frames_that_lead_to_a_new_tracklet_go_over_to_it_while_they_wait(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    judged = Judged()
    filmed = Filmed(fitting, judge=judged)
    shown = [track(one.face, ambiguous=index in (10, 11, 12)) for index in range(30)]
    frames = []
    for index, each in enumerate(shown):
        if index == 12:
            judged.broken, judged.leading = {1: Break(BreakCause.CHANGED, likely=False)}, {1: [11]}
        judged.groundless = {1: [11, 12]} if index == 13 else {}
        frames.append(filmed.observe(one.planes, each))
    assert [frame.seen[1].tracklet for frame in frames[8:15]] == [1, 1, 1, 2, 2, 2, 2]
    done = [filmed.publish(frame, [each]) for frame, each in zip(frames, shown, strict=True)]
    assert [levels(each)[1] for each in done[8:15]] == [OWN, OWN, SOFT, OWN, OWN, OWN, OWN]


def test_looks_are_told_of_faces_large_enough_to_look_like_anything(fitting: FitModel, drawn: Drawn) -> None:
    judged = Judged()
    filmed = Filmed(fitting, judge=judged)
    small = drawn(3, 21.0, (60.0, 60.0))
    large = drawn(12, 30.0, (200.0, 165.0), small)
    bare = replace(large.face, landmarks=None, forehead=None, iris=None)
    filmed.show(large.planes, track(small.face, 1), track(large.face, 2), track(bare, 3), lost(bare.box, 4))
    assert judged.looks.keys() == {2}
    assert float(judged.looks[2] @ judged.looks[2]) == pytest.approx(1.0, abs=1e-5)


def test_who_is_never_good_to_know_is_estimated_from_the_weak_frames(fitting: FitModel, drawn: Drawn) -> None:
    """The surrogate is far from whom it is for, so even a poor estimate is better than none."""
    model = fitting.model
    for person, other in ((3, 12), (12, 3)):
        one = drawn(person, centre=(300.0, 165.0))
        filmed = Filmed(fitting)
        named: list[Points] = []
        filmed.filter._faces.check._named = lambda number, y, named=named: named.append(y)  # type: ignore[misc]
        filmed.show(one.planes, track(astray(one.face)), times=12)
        (y,) = named
        own, stranger = (np.linalg.norm(y - drawn_faces.some_identity(model, each)) for each in (person, other))
        assert own < 0.6 * stranger


def test_what_the_recogniser_finds_becomes_the_template(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    recogniser = PersonRecogniser(lambda picture, points: picture[:2, :2].copy(), lambda cut: np.ones(4), 0.3, 0.4, 0.0)
    templates = RecognisedTemplates(TrackletVectors(recogniser, 25))
    filmed = Filmed(fitting, templates=templates)
    filmed.show(one.planes, track(one.face), times=12)
    found = templates.template(1, np.zeros(2), False)
    assert found is not None and found.tolist() == [1.0] * 4
    filmed.filter.close()


def test_only_good_frames_are_shown_to_what_people_are_recognised_by(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn(centre=(300.0, 165.0))
    filmed = Filmed(fitting)
    templates = filmed.filter._faces.templates
    assert isinstance(templates, FusedTemplates)
    filmed.show(one.planes, track(astray(one.face)), times=4)
    filmed.show(one.planes, track(replace(one.face, evidence=0.3)), times=4)
    assert not templates._uppers
    filmed.show(one.planes, track(one.face), times=2)
    assert [len(shown) for shown in templates._uppers.values()] == [2]


def test_looks_clear_the_doubt_of_a_face_that_goes_on(fitting: FitModel, drawn: Drawn) -> None:
    """With the judge that is used; without it every doubt counts."""
    one = drawn()
    for judge, level in ((Looks(), OWN), (None, SOFT)):
        filmed = Filmed(fitting, judge=judge)
        filmed.show(one.planes, track(one.face), times=5)
        assert levels(filmed.show(one.planes, track(one.face, ambiguous=True))) == {1: level}


def test_somebody_else_in_the_place_of_a_face_never_gets_its_surrogate(fitting: FitModel, drawn: Drawn) -> None:
    """A cut that nobody noticed, on the same track: looks notice it, and the stranger is somebody else."""
    one, other = drawn(3, marks=22.0), drawn(12, marks=22.0)
    filmed = Filmed(fitting, judge=Looks())
    filmed.show(one.planes, track(one.face), times=15)
    done = [filmed.show(other.planes, track(other.face)).redactions[0] for _ in range(30)]
    assert not any(redaction.person == 1 for redaction in done)
    assert {(redaction.level, redaction.person) for redaction in done[:5]} == {(SOFT, 0)}
    assert (done[-1].level, done[-1].person) == (OWN, 2)
    assert filmed.filter.breaks == {BreakCause.CHANGED.value: 1}


@pytest.mark.parametrize("unsure", [{"evidence": 0.3}, {"presence": 0.3}])
def test_a_hand_never_gets_a_person_however_long_it_is_seen(
    fitting: FitModel, drawn: Drawn, unsure: dict[str, float]
) -> None:
    one = drawn()
    hand = replace(one.face, **unsure)
    filmed = Filmed(fitting)
    for _ in range(40):
        done = filmed.show(one.planes, track(hand))
        assert [(redaction.level, redaction.person) for redaction in done.redactions] == [(SOFT, 0)]
    assert not filmed.filter.vectors()
    assert filmed.causes == {Cause.NOBODY: 40}
    assert levels(filmed.show(one.planes, track(one.face))) == {1: OWN}, "the same, surely a face"


def test_only_what_nothing_speaks_against_is_allowed(fitting: FitModel, drawn: Drawn) -> None:
    """The whitelist asks for that before it shows anybody as he is."""
    one = drawn(centre=(300.0, 165.0))
    filmed = Filmed(fitting, judge=Judged())
    wanted = [
        (track(one.face), True),
        (track(one.face, ambiguous=True), False),
        (track(astray(one.face)), False),
        (lost(one.face.box), False),
        (track(replace(one.face, landmarks=None, forehead=None, iris=None)), False),
    ]
    for shown, allowed in wanted:
        frame = filmed.observe(one.planes, shown)
        assert filmed.filter.allows(frame, shown) is allowed
        assert not filmed.filter.allows(frame, replace(shown, number=2)), "a track that was not there"
        filmed.publish(frame, [shown])


def test_closing_ends_the_recognisers_thread(fitting: FitModel, drawn: Drawn) -> None:
    def threads() -> list[str]:
        return [each.name for each in threading.enumerate() if each.name.startswith("recogniser")]

    before = len(threads())
    one = drawn()
    recogniser = PersonRecogniser(lambda picture, points: picture[:2, :2].copy(), lambda cut: np.ones(4), 0.3, 0.4, 0.0)
    filmed = Filmed(fitting, templates=RecognisedTemplates(TrackletVectors(recogniser, 25)))
    filmed.show(one.planes, track(one.face), times=6)
    assert len(threads()) == before + 1
    for _ in range(2):
        filmed.filter.close()
        assert len(threads()) == before


def test_closing_does_no_harm_when_the_recogniser_fails(fitting: FitModel, drawn: Drawn) -> None:
    """What was asked last is waited for only when the part is over."""

    def fail(cut: Picture) -> NDArray[np.float64]:
        calls.append(len(calls))
        if len(calls) > 1:
            raise RuntimeError
        return np.ones(4)

    calls: list[int] = []
    one = drawn()
    recogniser = PersonRecogniser(lambda picture, points: picture[:2, :2].copy(), fail, 0.3, 0.4, 0.0)
    filmed = Filmed(fitting, templates=RecognisedTemplates(TrackletVectors(recogniser, 25)))
    done = filmed.show(one.planes, track(one.face), times=5)
    assert levels(done) == {1: OWN}
    filmed.filter.close()
    assert calls == [0, 1]


def test_who_comes_and_goes_leaves_nothing_behind(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    filmed = Filmed(fitting, judge=Looks())
    templates = filmed.filter._faces.templates
    assert isinstance(templates, FusedTemplates)
    for number in range(1, 7):
        filmed.show(one.planes, track(one.face, number), times=2)
        filmed.show(one.planes, lost(one.face.box, number))
        kept = filmed.filter._faces._followed, filmed.filter._soft._memories, templates._uppers
        assert max(map(len, kept)) <= 2
    filmed.show(one.planes, times=2)
    kept = filmed.filter._faces._followed, filmed.filter._soft._memories, templates._uppers
    assert not any(kept)


def test_what_is_found_when_a_frame_is_looked_at_again_tells_a_pose_before_that_frame_is_decided(
    fitting: FitModel, drawn: Drawn
) -> None:
    """Each frame once, and only where it was looked at: the detector's own faces were read before."""
    one = drawn(width=40.0)
    found = track(replace(bared(one), again=True))
    filmed = Filmed(fitting)
    frames = [filmed.observe(one.planes, lost(one.face.box)) for _ in range(6)]
    assert all(frame.seen[1].posed is None for frame in frames)
    for frame in frames[:5]:
        frame.covered = [found]
    filmed.publish(frames[0], [found])
    told = [frame.seen[1].posed for frame in frames]
    assert [view is not None for view in told] == [True] * 5 + [False]
    assert [view is not None and view.agreed for view in told] == [False, False, True, True, True, False]
    filmed.publish(frames[1], [found])
    assert [frame.seen[1].posed for frame in frames] == told
    frames[5].covered = [lost(one.face.box)]
    filmed.publish(frames[2], [found])
    assert frames[5].seen[1].posed is None


@pytest.mark.parametrize(
    ("after", "tracklet", "expected"),
    [(0.16, 7, Cause.UNSTEADY), (0.2, 7, Cause.UNSTEADY), (0.24, 7, None), (0.16, 8, None)],
)
def test_a_face_is_posed_where_its_landmarks_jump_within_a_fifth_of_a_second(
    monkeypatch: pytest.MonkeyPatch, after: float, tracklet: int, expected: Cause | None
) -> None:
    monkeypatch.setattr("streamdeid.protect.measured_faces.as_rendered", lambda found, _: found)
    good, jumps = {Cause.TURNED: 0.3, Cause.UNSTEADY: 0.1}, {Cause.TURNED: 0.3, Cause.UNSTEADY: 1.2}

    def later(time: float, severities: dict[Cause, float]) -> Any:
        measured = SimpleNamespace(severities=severities, seen=None)
        seen = {1: SimpleNamespace(tracklet=tracklet, measured=measured)}
        then = Fraction(2) + Fraction(time).limit_denominator(100)
        return SimpleNamespace(frame=SimpleNamespace(time=then), seen=seen)

    followed, found = SimpleNamespace(steps=Steps()), SimpleNamespace(severities=good, seen=None)
    waiting = [later(0.04, good), later(0.08, good), later(0.12, good), later(0.14, good), later(after, jumps)]
    assert followed.steps(good) is None
    cause = measured_faces.against_own(cast(Any, followed), cast(Any, found), Fraction(2), waiting, 1, 7)
    assert cause is expected
