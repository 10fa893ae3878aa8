"""How each face of a frame is protected, and that nothing of the original is left where no own face is shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.frames import Planes
from streamdeid.identity.looks import Looks
from streamdeid.protect.levels import Cause
from streamdeid.protect.plan import settled
from streamdeid.protect.soft_head import head_of
from tests import drawn_faces
from tests.filmed import (
    OWN,
    POSED,
    SIZE,
    SOFT,
    SOLID,
    Drawn,
    Filmed,
    astray,
    bared,
    detail,
    drawer,
    filled,
    grown,
    inside,
    keypoints,
    levels,
    lost,
    middle,
    same,
    track,
    two,
)


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Drawn:
    return drawer(model)


def test_alone_a_face_is_shown_by_its_own_face_from_the_first_frame(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    done = filmed.show(one.planes, track(one.face))
    assert [(redaction.level, redaction.person) for redaction in done.redactions] == [(OWN, 1)]
    x0, y0, x1, y1 = done.redactions[0].box
    assert x0 <= one.points[:, 0].min() and y0 <= one.points[:, 1].min()
    assert x1 >= one.points[:, 0].max() and y1 >= one.points[:, 1].max()
    assert (done.planes.y != one.planes.y)[middle(one)].mean() > 0.9
    assert len(filmed.filter.vectors()) == 1 and not filmed.causes


def test_a_known_face_with_something_before_it_keeps_the_own_face(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    planes = one.planes.copy()
    x0, y0, x1, y1 = (int(side) for side in one.face.box)
    low = y0 + (y1 - y0) * 2 // 3
    planes.y[low:y1, x0:x1] = 60
    planes.u[low // 2 : y1 // 2, x0 // 2 : x1 // 2] = 100
    frame = filmed.observe(planes, track(one.face))
    followed = filmed.filter._faces.of(1)
    assert followed is not None and (found := frame.seen[1].measured) is not None
    assert found.severities[Cause.OCCLUDED] > 1.2
    done = filmed.publish(frame, [track(one.face)])
    assert [(redaction.level, redaction.person) for redaction in done.redactions] == [(OWN, 1)]


def test_rendering_asks_nobody_who_it_is_or_what_he_looks_like_at_rest(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    frame = filmed.observe(one.planes, track(one.face))
    plans = settled(filmed.filter, [frame], [track(one.face)])
    again = filmed.filter.decide(frame, [track(one.face)])
    assert plans[0].neutral is again[0].neutral is not None
    for part in ("_faces", "_provisional", "_poses", "_surrogates", "decoded"):
        delattr(filmed.filter, part)
    assert levels(filmed.filter.render(frame, plans)) == {1: OWN}


@pytest.mark.parametrize("strict", [False, True])
def test_in_doubt_there_is_a_redaction_with_no_face_in_it(fitting: FitModel, drawn: Drawn, strict: bool) -> None:
    one = drawn()
    filmed = Filmed(fitting, strict=strict)
    own = filmed.show(one.planes, track(one.face), times=5)
    done = filmed.show(one.planes, track(one.face, ambiguous=True), times=7)  # by then the face has faded
    assert [(redaction.level, redaction.person) for redaction in done.redactions] == [(SOLID if strict else SOFT, 0)]
    assert filmed.causes == {Cause.DOUBT: 7}
    assert detail(own.planes, middle(one)) > 4 > 1.5 > detail(done.planes, middle(one))


def test_the_redaction_of_a_face_is_about_its_mesh(fitting: FitModel, drawn: Drawn) -> None:
    """It is turned with the head, and no larger than it, though the detector's box is generous."""
    one = drawn(roll=0.5)
    face = replace(one.face, box=grown(one.face.box, 1.3))
    done = Filmed(fitting).show(one.planes, track(face, ambiguous=True))
    assert done.redactions[0].box == pytest.approx(head_of(face.box, one.points, SIZE).box)
    assert levels(done) == {1: SOFT}
    corner = inside(head_of(face.box, None, SIZE), 0.95) & ~inside(head_of(face.box, one.points, SIZE), 1.4)
    assert corner.sum() > 200 and np.array_equal(done.planes.y[corner], one.planes.y[corner])


def test_who_gets_no_surrogate_is_redacted(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    filmed = Filmed(fitting, refused=True)
    done = filmed.show(one.planes, track(one.face), times=3)
    assert [(redaction.level, redaction.person) for redaction in done.redactions] == [(SOFT, 0)]
    assert filmed.causes == {Cause.NOBODY: 3} and not filmed.filter.vectors()
    assert detail(done.planes, middle(one)) < 1.5 < 4 < detail(one.planes, middle(one))


@pytest.mark.parametrize(("width", "level"), [(21.0, OWN), (9.0, POSED)])
def test_a_small_face_is_somebody_new_after_a_while_and_a_tiny_one_is_posed(
    fitting: FitModel, drawn: Drawn, width: float, level: str
) -> None:
    one = drawn(width=width)
    filmed = Filmed(fitting)
    shown = [filmed.show(one.planes, track(one.face)).redactions[0] for _ in range(13)]
    assert [(redaction.level, redaction.person) for redaction in shown] == [(SOFT, 0)] * 11 + [(level, 1)] * 2
    assert filmed.causes == {Cause.NOBODY: 11} | ({} if level == OWN else {Cause.SMALL: 2})


def test_a_face_whose_landmarks_are_astray_keeps_its_pose_and_is_redacted_then(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn(centre=(300.0, 165.0))
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=3)
    beside = astray(one.face)
    done = [filmed.show(one.planes, track(beside)) for _ in range(4)]
    assert [levels(one)[1] for one in done] == [POSED, POSED, POSED, SOFT]
    assert filmed.causes == {Cause.ASTRAY: 4}
    x0, _, x1, _ = done[-1].redactions[0].box
    assert x0 <= beside.box[0] and x1 >= beside.box[2], "all of the box is redacted: it may be right"
    shown = [levels(filmed.show(one.planes, track(one.face)))[1] for _ in range(5)]
    assert shown == [SOFT, SOFT, POSED, POSED, OWN], "three of five sightings agree, and it does not flicker"


def test_a_second_networks_points_say_whether_landmarks_are_astray_whatever_the_box(
    fitting: FitModel, drawn: Drawn
) -> None:
    one = drawn(centre=(300.0, 165.0))
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=3)
    generous = replace(astray(one.face), keypoints=keypoints(one))
    assert levels(filmed.show(one.planes, track(generous))) == {1: OWN}


def test_without_landmarks_a_known_person_is_posed_by_five_points_and_nothing_of_the_face_is_left(
    fitting: FitModel, drawn: Drawn
) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    bare = bared(one)
    done = filmed.show(one.planes, track(bare), times=7)  # by then the own face has faded
    assert [(redaction.level, redaction.person) for redaction in done.redactions] == [(POSED, 1)]
    assert filmed.causes == {Cause.NO_LANDMARKS: 7}
    noisy = filled(one.planes, drawn_faces.inside_hull(one.points, SIZE, -3.0))
    again = Filmed(fitting)
    again.show(one.planes, track(one.face), times=5)
    other = again.show(noisy, track(bare), times=7)
    where = drawn_faces.inside_hull(one.points, SIZE, -3.0)
    # What is left of the light is a level, slopes and a tint, as logs: in grey levels light skin would differ by more.
    # Take them off, and both are the same.
    apart = np.log(done.planes.y[where] + 8.0) - np.log(other.planes.y[where] + 8.0)
    rows, columns = np.nonzero(where)
    plane = np.column_stack([np.ones(len(rows)), rows, columns])
    left = apart - plane @ np.linalg.lstsq(plane, apart, rcond=None)[0]
    assert np.abs(apart).mean() < 0.12
    assert np.abs(left).mean() < 0.01
    assert np.corrcoef(noisy.y[where], other.planes.y[where])[0, 1] < 0.15


@pytest.mark.parametrize("shift", [40.0, -45.0])
def test_a_neighbours_points_are_not_believed(fitting: FitModel, drawn: Drawn, shift: float) -> None:
    one = drawn(width=60.0)
    filmed = Filmed(fitting)
    bare = bared(one)
    filmed.show(one.planes, track(one.face), times=5)
    assert levels(filmed.show(one.planes, track(bare))) == {1: POSED}
    away = replace(bare, keypoints=keypoints(one, shift))
    done = [filmed.show(one.planes, track(away)) for _ in range(5)]
    assert [levels(one)[1] for one in done] == [POSED, POSED, POSED, SOFT, SOFT], "the own pose is held, then none is"
    middle = (one.face.box[0] + one.face.box[2]) / 2
    assert all(abs((x0 + x1) / 2 - middle) < 10 for x0, _, x1, _ in (one.redactions[0].box for one in done[:3]))


def test_a_face_is_posed_only_after_both_networks_saw_it_three_times(fitting: FitModel, drawn: Drawn) -> None:
    """As on a sleeve: the detector is not sure of it but now and then."""
    one = drawn()
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    bare = bared(one)
    unsure = replace(bare, evidence=0.4)
    shown = [levels(filmed.show(one.planes, track(unsure)))[1] for _ in range(8)]
    assert shown[-1] == SOFT
    assert [levels(filmed.show(one.planes, track(bare)))[1] for _ in range(3)] == [SOFT, SOFT, POSED]


@pytest.mark.parametrize(("yaw", "level"), [(0.5, OWN), (0.9, OWN), (1.25, SOFT), (-1.25, SOFT)])
def test_turned_faces_are_shown_up_to_a_profile_and_then_not_at_all(
    fitting: FitModel, drawn: Drawn, yaw: float, level: str
) -> None:
    one, turned = drawn(), drawn(yaw=yaw)
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    done = filmed.show(turned.planes, track(turned.face))
    assert levels(done) == {1: level}
    assert done.redactions[0].person == (0 if level == SOFT else 1)
    assert filmed.causes == ({} if level == OWN else {Cause.TURNED: 1})


def test_a_posed_face_takes_the_tone_of_the_skin_but_a_strict_one_nothing_at_all(
    fitting: FitModel, drawn: Drawn
) -> None:
    """The pixels of the whole head are exchanged; pose and person stay."""
    one = drawn(width=9.5, centre=(300.0, 165.0))
    where = inside(head_of(one.face.box, one.points, SIZE), 0.99)
    dark = one.planes.copy()
    dark.y[where] = dark.y[where] // 3

    def shown(planes: Planes, strict: bool) -> Planes:
        filmed = Filmed(fitting, strict=strict)
        filmed.show(one.planes, track(one.face), times=14)
        done = filmed.show(planes, track(one.face), times=20)
        assert levels(done) == {1: POSED}
        return done.planes

    assert not same(shown(one.planes, False), shown(dark, False))
    assert same(shown(one.planes, True), shown(dark, True))
    assert same(shown(one.planes, True), shown(filled(one.planes, where), True))


def test_hair_is_known_by_landmarks_that_are_on_the_face_and_in_the_picture(fitting: FitModel, drawn: Drawn) -> None:
    for centre, width, known in (
        ((300.0, 165.0), 90.0, True),
        ((300.0, 165.0), 9.5, False),
        ((300.0, 52.0), 90.0, False),
    ):
        one, filmed = drawn(width=width, centre=centre), Filmed(fitting)
        filmed.show(one.planes, track(one.face), times=14)
        followed = filmed.filter._faces.of(1)
        assert followed is not None and (followed.hair.mean is not None) == known


def test_a_posed_face_has_hair_as_dark_as_is_known_but_a_strict_one_does_not(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn(width=9.5, centre=(300.0, 165.0))

    def shown(strict: bool, hair: float | None) -> Planes:
        filmed = Filmed(fitting, strict=strict)
        filmed.show(one.planes, track(one.face), times=14)
        followed = filmed.filter._faces.of(1)
        assert followed is not None
        followed.hair.mean = hair
        done = filmed.show(one.planes, track(one.face), times=6)
        assert levels(done) == {1: POSED}
        return done.planes

    assert not same(shown(False, None), shown(False, -1.5))
    assert same(shown(True, None), shown(True, -1.5))


def test_a_lost_face_keeps_what_is_known_of_its_tracklet(fitting: FitModel, drawn: Drawn) -> None:
    """So that a head that is posed for the first time while it is lost has its hair."""
    one, filmed = drawn(), Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    away = lost(one.face.box)
    (plan,) = filmed.plans(filmed.observe(one.planes, away), [away])
    assert plan.cause is Cause.LOST and plan.measured is None
    assert plan.followed is not None and plan.followed is filmed.filter._faces.of(1)


def test_two_people_have_faces_of_their_own_and_keep_them(fitting: FitModel, drawn: Drawn) -> None:
    """Side by side, in a doubt in which their tracks change places, and when they come back."""
    left, right = two(drawn)
    filmed = Filmed(fitting)
    shown = filmed.show(right.planes, track(left.face, 1), track(right.face, 2), times=15)
    person = {redaction.track: redaction.person for redaction in shown.redactions}
    assert set(person.values()) == {1, 2}
    vectors = filmed.filter.vectors()
    assert len(vectors) == 2 and np.linalg.norm(vectors[1] - vectors[2]) > 1000
    filmed.show(right.planes, track(right.face, 1, ambiguous=True), track(left.face, 2, ambiguous=True), times=3)
    swapped = filmed.show(right.planes, track(right.face, 1), track(left.face, 2), times=20)
    assert {redaction.track: redaction.person for redaction in swapped.redactions} == {1: person[2], 2: person[1]}
    filmed.show(right.planes, times=3)
    back = filmed.show(right.planes, track(right.face, 3), track(left.face, 4), times=20)
    assert {redaction.track: redaction.person for redaction in back.redactions} == {3: person[2], 4: person[1]}
    assert set(levels(back).values()) == {OWN} and len(filmed.filter.vectors()) == 2
    again = filmed.filter.vectors()
    assert all(np.array_equal(again[number], vectors[number]) for number in vectors)


def test_the_redaction_of_a_lost_face_is_bounded_and_holds_the_last_face(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    x0, y0, x1, y1 = one.face.box
    sides = x1 - x0, y1 - y0
    for times in (1.0, 1.6):
        filmed = Filmed(fitting)
        filmed.show(one.planes, track(one.face), times=3)
        done = filmed.show(one.planes, lost(grown(one.face.box, times), sides=sides))
        assert [(redaction.level, redaction.person) for redaction in done.redactions] == [(SOFT, 0)]
        (redaction,) = done.redactions
        assert (redaction.box[2] - redaction.box[0]) <= 2.2 * (x1 - x0)
        assert (redaction.box[3] - redaction.box[1]) <= 2.5 * (y1 - y0)
        other = Filmed(fitting)
        other.show(one.planes, track(one.face), times=3)
        noisy = filled(one.planes, drawn_faces.inside_hull(one.points, SIZE, -1.0))
        assert same(done.planes, other.show(noisy, lost(grown(one.face.box, times), sides=sides)).planes), (
            "all of the face"
        )
    assert filmed.causes == {Cause.LOST: 1}


def test_the_redaction_of_a_face_that_is_lost_elsewhere_is_of_this_frame_alone(fitting: FitModel, drawn: Drawn) -> None:
    """Neither the tone of the last place nor its surroundings belong there."""
    one = drawn()
    other = one.planes.copy()
    other.y[:] = other.y // 5
    results = []
    for before in (one.planes, other):
        filmed = Filmed(fitting)
        filmed.show(before, track(one.face, ambiguous=True), times=3)
        x0, y0, x1, y1 = one.face.box
        away = 0.8 * (x1 - x0) * (-1 if x0 + x1 > SIZE[0] else 1)
        results.append(filmed.show(one.planes, lost((x0 + away, y0, x1 + away, y1))).planes)
    assert same(*results)


def test_a_lost_face_that_was_never_seen_is_covered_where_it_may_be(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    done = Filmed(fitting).show(one.planes, lost(one.face.box))
    noisy = filled(one.planes, drawn_faces.inside_hull(one.points, SIZE))
    assert levels(done) == {1: SOFT}
    assert same(done.planes, Filmed(fitting).show(noisy, lost(one.face.box)).planes)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("state", ["ambiguous", "no landmarks", "lost", "turned"])
def test_nothing_of_the_original_is_left_in_a_redaction(
    fitting: FitModel, drawn: Drawn, strict: bool, state: str
) -> None:
    """Noise goes in, and no noise comes out; where no tone is taken, nothing at all."""
    one = drawn(yaw=1.25) if state == "turned" else drawn()
    bare = replace(one.face, landmarks=None, forehead=None, iris=None)
    shown = {
        "ambiguous": track(one.face, ambiguous=True),
        "no landmarks": track(bare),
        "lost": lost(one.face.box),
        "turned": track(one.face),
    }[state]
    points = None if state in ("lost", "no landmarks") else one.points
    where = inside(head_of(one.face.box, points, SIZE), 0.99)
    if strict:
        where &= drawn_faces.inside_hull(one.points, SIZE, -1.0)
    pictures = [one.planes, filled(one.planes, where, 1), filled(one.planes, where, 2)]
    done = [Filmed(fitting, strict=strict).show(planes, shown) for planes in pictures]
    assert {levels(each)[1] for each in done} == {SOLID if strict else SOFT}
    assert detail(pictures[1], where) > 8
    for each in done:
        assert detail(each.planes, where & inside(head_of(one.face.box, points, SIZE), 0.8)) < 1.5
    if strict or state == "lost":
        assert same(done[0].planes, done[1].planes) and same(done[1].planes, done[2].planes)
    if strict:
        assert np.unique(done[0].planes.y[where]).size == 1


@pytest.mark.parametrize("strict", [False, True])
def test_one_faces_pixels_change_nothing_in_anothers_redaction(fitting: FitModel, drawn: Drawn, strict: bool) -> None:
    """Two heads that touch, both in doubt: the rim of the one lies in the other."""
    left = drawn(3, 80.0, (180.0, 165.0))
    right = drawn(12, 80.0, (270.0, 165.0), left)
    heads = [head_of(each.face.box, each.points, SIZE) for each in (left, right)]
    own, others = inside(heads[0], 0.99) & ~inside(heads[1], heads[1].reach), inside(heads[1], 1.0)
    assert (inside(heads[0], heads[0].reach) & others).any()
    own &= drawn_faces.inside_hull(left.points, SIZE) | (not strict)
    tracks = track(left.face, 1, ambiguous=True), track(right.face, 2, ambiguous=True)
    for order in (tracks, tracks[::-1]):
        plain = Filmed(fitting, strict=strict).show(right.planes, *order).planes
        noisy = Filmed(fitting, strict=strict).show(filled(right.planes, own), *order).planes
        apart = others & ~inside(heads[0], heads[0].reach + 0.05)
        assert np.array_equal(plain.y[apart], noisy.y[apart])
        assert np.array_equal(plain.u[apart[::2, ::2]], noisy.u[apart[::2, ::2]])
        beside = ~inside(heads[0], heads[0].reach + 0.05)
        assert np.array_equal(plain.y[beside], noisy.y[beside])


def test_near_faces_are_drawn_over_far_ones_in_whatever_order_they_are_given(fitting: FitModel, drawn: Drawn) -> None:
    far = drawn(3, 60.0, (150.0, 150.0))
    near = drawn(12, 120.0, (225.0, 170.0), far)
    tracks = track(far.face, 1), track(near.face, 2)
    results = []
    for order in (tracks, tracks[::-1]):
        filmed = Filmed(fitting)
        filmed.show(near.planes, *tracks, times=15)
        done = filmed.show(near.planes, *order)
        assert [(redaction.track, redaction.level) for redaction in done.redactions] == [(1, OWN), (2, OWN)]
        results.append(done.planes)
    assert same(*results)


def test_a_redaction_hides_no_face_that_is_drawn(fitting: FitModel, drawn: Drawn) -> None:
    """A large head in doubt beside a small known one: it comes first, whatever the sizes."""
    far = drawn(3, 60.0, (150.0, 150.0))
    near = drawn(12, 120.0, (225.0, 170.0), far)
    filmed = Filmed(fitting)
    filmed.show(near.planes, track(far.face, 1), track(near.face, 2), times=15)
    done = filmed.show(near.planes, track(near.face, 2, ambiguous=True), track(far.face, 1))
    assert levels(done) == {1: OWN, 2: SOFT}
    touched = drawn_faces.inside_hull(far.points, SIZE, 4.0) & inside(head_of(near.face.box, near.points, SIZE), 1.0)
    assert touched.sum() > 20, "the head reaches into the face"
    alone = Filmed(fitting)
    alone.show(near.planes, track(far.face, 1), track(near.face, 2), times=15)
    beside = alone.show(near.planes, track(far.face, 1))
    assert detail(done.planes, drawn_faces.inside_hull(far.points, SIZE, 4.0)) > 0.7 * detail(
        beside.planes, drawn_faces.inside_hull(far.points, SIZE, 4.0)
    )


def test_where_no_soft_redaction_can_be_computed_a_solid_one_covers_the_face(
    fitting: FitModel, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*given: Any, **named: Any) -> None:
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr("streamdeid.protect.soft_redactions.soft_redaction", none)
    one = drawn()
    done = Filmed(fitting).show(one.planes, track(one.face, ambiguous=True))
    assert np.unique(done.planes.y[middle(one)]).size == 1


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("singular"), ZeroDivisionError(), cv2.error("empty")])
def test_a_face_that_cannot_be_drawn_is_redacted_and_the_run_goes_on(
    fitting: FitModel, drawn: Drawn, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def none(*given: Any, **named: Any) -> None:
        raise error

    one = drawn()
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=3)
    before = Counter(filmed.levels)
    monkeypatch.setattr("streamdeid.protect.replace_faces.render_surrogate", none)
    monkeypatch.setattr("streamdeid.protect.posed_faces.render_posed_face", none)
    done = filmed.show(one.planes, track(one.face))
    assert [(redaction.level, redaction.person) for redaction in done.redactions] == [(SOFT, 0)]
    assert filmed.levels - before == Counter({SOFT: 1})
    assert (done.planes.y != one.planes.y)[middle(one)].mean() > 0.9
    monkeypatch.setattr("streamdeid.protect.measured_faces.as_rendered", lambda *_: {Cause.SMALL: 9.0})
    done = filmed.show(one.planes, track(one.face), times=9)
    assert [redaction.level for redaction in done.redactions] == [SOFT]
    assert (done.planes.y != one.planes.y)[middle(one)].mean() > 0.9


def test_nothing_is_written_into_the_frame_and_the_same_frames_give_the_same_pixels(
    fitting: FitModel, drawn: Drawn
) -> None:
    left, right = two(drawn)
    before = right.planes.copy()
    results = []
    for _ in range(2):
        filmed = Filmed(fitting, judge=Looks())
        filmed.show(right.planes, track(left.face, 1), track(right.face, 2), times=8)
        results.append(filmed.show(right.planes, track(left.face, 1), track(right.face, 2, ambiguous=True)).planes)
    assert same(*results) and same(before, right.planes)
    assert filmed.levels.total() == 18


def test_a_posed_face_is_held_for_a_few_frames_without_points(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    filmed.show(one.planes, track(bared(one)))
    without = replace(bared(one), keypoints=None)
    assert [levels(filmed.show(one.planes, track(without)))[1] for _ in range(5)] == [POSED, POSED, POSED, SOFT, SOFT]


def test_a_posed_face_goes_along_between_two_sights_and_for_three_frames_after_the_last_one(
    fitting: FitModel, drawn: Drawn
) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    gap = [track(bared(one)), lost(one.face.box), lost(one.face.box), track(bared(one)), *[lost(one.face.box)] * 5]
    shown = filmed.ahead(one.planes, gap)
    assert [levels(done)[1] for done in shown] == [*[POSED] * 7, SOFT, SOFT]
