"""What the detector remembers of a place: when to look again, when to search, when to give up."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.core.faces import Keypoints
from streamdeid.detection.candidates import Candidate
from streamdeid.detection.matching import remembered
from streamdeid.detection.places import Place
from streamdeid.detection.region import LandmarkRegion
from tests.detection.meshes import mesh_in


def sighting(score: float, side: float = 60.0, x: float = 100.0) -> Candidate:
    """The detector sees a square at the place."""
    return Candidate((x, 100.0, x + side, 100.0 + side), np.zeros((6, 2)), score, 3, False)


def place(score: float = 0.6, side: float = 60.0, x: float = 100.0) -> Place:
    """A place seen for the first time."""
    first = sighting(score, side, x)
    new = Place(first.box, score, first.tile)
    new.sighted(first)
    return new


def test_a_new_place_is_looked_at_and_a_settled_face_is_not() -> None:
    one = place(0.9)
    assert one.look_due()
    one.looked(0.9)
    one.region = LandmarkRegion((130.0, 130.0), 90.0, 0.0)
    for _ in range(100):
        one.next_frame()
        one.sighted(sighting(0.9))
        assert not one.look_due()


def test_a_doubtful_place_is_looked_at_again_at_first_often_then_seldom() -> None:
    one, looks = place(0.5), []
    for frame in range(60):
        if one.look_due():
            looks.append(frame)
            one.looked(0.5)
        one.next_frame()
        one.sighted(sighting(0.5))
    assert np.diff(looks).tolist()[:3] == [3, 3, 3]
    assert set(np.diff(looks).tolist()[3:]) == {12}


def test_a_rising_score_is_looked_at_at_once() -> None:
    one = place(0.4)
    one.looked(0.1)
    one.next_frame()
    one.sighted(sighting(0.6))
    assert one.look_due()


def test_evidence_is_a_mean_over_looks_and_one_lucky_look_is_soon_outvoted() -> None:
    one = place(0.6)
    one.looked(0.6)
    assert one.evidence == pytest.approx(0.6)
    for _ in range(8):
        one.sighted(sighting(0.4))
        one.looked(0.1)
    assert one.evidence < 0.3
    assert not one.possible


@pytest.mark.parametrize("side", [20.0, 60.0])
def test_what_is_no_face_is_not_told_nor_searched_for_however_small(side: float) -> None:
    one = place(0.5, side=side)
    one.looked(0.2)
    assert not one.possible
    assert not one.wanted


def test_a_lost_face_is_searched_for_in_each_frame_for_a_while() -> None:
    one = place(0.8)
    one.looked(0.8)
    wanted = []
    for _ in range(20):
        one.next_frame()
        wanted.append(one.wanted)
    assert wanted == [True] * 8 + [False] * 12


def test_a_face_that_its_landmarks_follow_needs_no_detector() -> None:
    one = place(0.8)
    one.looked(0.8)
    one.region = LandmarkRegion((130.0, 130.0), 90.0, 0.0)
    assert not one.wanted
    for _ in range(9):
        one.next_frame()
    assert not one.wanted
    one.next_frame()
    assert one.wanted  # to be checked
    one.sighted(sighting(0.9))
    assert not one.wanted


def test_over_a_far_step_the_detector_checks_landmarks_at_once() -> None:
    one = place(0.8)
    one.region = LandmarkRegion((130.0, 130.0), 90.0, 0.0)
    one.next_frame(far=True)
    assert one.wanted
    one.sighted(sighting(0.9))
    one.next_frame()
    assert not one.wanted


@pytest.mark.parametrize("far", [False, True])
def test_landmarks_that_slid_over_a_far_step_are_not_trusted_for_points_of_before(far: bool) -> None:
    """Into the hair of a man who nods: the detector sees his face half a face further down."""
    one, mesh = place(0.8, side=60.0), mesh_in((105.0, 105.0, 155.0, 155.0))
    one.looked(0.8)
    region = LandmarkRegion((130.0, 130.0), 90.0, 0.0)
    one.meshed(mesh, 0.99, region)
    ends = mesh[:, :2]
    there = np.array([(ends[33] + ends[133]) / 2, (ends[263] + ends[362]) / 2, ends[1], ends[61], ends[291]])
    one.keyed(Keypoints((105.0, 105.0, 155.0, 155.0), there, 0.9))
    assert one.trusted and not one.slid
    one.next_frame(far)
    one.meshed(mesh, 0.99, region)
    assert one.trusted and not one.slid, "the detector sees the face there as before"
    one.sighted(Candidate((100.0, 130.0, 160.0, 190.0), np.zeros((6, 2)), 0.8, 3, False))
    assert one.trusted != far and one.slid == far and one.keys_due() == far
    one.keyed(Keypoints((105.0, 105.0, 155.0, 155.0), there, 0.9))
    assert one.trusted, "points of this frame are believed"


def test_a_lost_face_is_searched_for_by_the_second_network_at_once_and_then_seldom() -> None:
    one = place(0.9)
    one.looked(0.9)
    asked = []
    for frame in range(1, 12):
        one.next_frame()
        if one.lost:
            asked.append(frame)
    assert asked == [1, 2, 5, 8]
    one.followed(Keypoints((101.0, 100.0, 161.0, 160.0), np.full((5, 2), 130.0), 0.7))
    one.next_frame()
    assert one.lost  # found: asked again in the very next frame


def test_what_may_be_no_face_is_not_searched_for_by_the_second_network() -> None:
    one = place(0.4)
    one.least = 0.5
    one.looked(0.4)
    one.next_frame()
    assert not one.lost


def sightings_with_landmarks_due(one: Place, count: int) -> list[int]:
    """At which of the next sightings landmarks are asked for, the model never seeing any."""
    due = []
    for sighted in range(1, count + 1):
        one.next_frame()
        one.sighted(sighting(0.8))
        if one.landmarks_due():
            due.append(sighted)
    return due


def test_who_gets_no_landmarks_is_asked_for_them_thrice_and_then_every_fourth_time() -> None:
    one = place(0.8)
    one.looked(0.6)
    assert sightings_with_landmarks_due(one, 16) == [1, 2, 3, 4, 8, 12, 16]


def test_who_had_landmarks_or_turns_to_the_camera_is_asked_for_them_at_once() -> None:
    one = place(0.8)
    one.looked(0.5)
    sightings_with_landmarks_due(one, 9)
    one.meshed(np.zeros((478, 3)), 0.9, LandmarkRegion((130.0, 130.0), 90.0, 0.0))
    one.region = None
    assert sightings_with_landmarks_due(one, 5) == [1, 2, 3, 4]
    one.looked(0.9)
    assert sightings_with_landmarks_due(one, 5) == [1, 2, 3, 4]


def test_what_is_hardly_a_face_is_not_asked_for_landmarks() -> None:
    one = place(0.4)
    one.least = 0.5
    one.looked(0.35)
    assert not one.landmarks_due()


def test_the_detectors_box_moves_along_with_the_landmarks() -> None:
    one = place(0.9)
    one.anchored(np.array([[110.0, 110], [150, 150]]))
    one.moved(np.array([[210.0, 110], [290, 190]]))  # 100 to the right of it, and twice as large
    assert one.box == pytest.approx((190, 90, 310, 210))
    assert one.missed == 0


def test_landmarks_that_the_detector_never_confirms_are_given_up_and_a_sighting_starts_anew() -> None:
    one = place(0.9)
    assert [one.doubted() for _ in range(15)] == [False] * 15
    one.sighted(sighting(0.9))
    assert [one.doubted() for _ in range(16)] == [False] * 15 + [True]


def test_what_comes_back_to_a_place_after_a_while_is_judged_anew() -> None:
    one = place(0.5)
    for _ in range(5):
        one.looked(0.0)
    for _ in range(10):
        one.next_frame()
    one.sighted(sighting(0.5))
    assert one.look_due()
    one.looked(0.9)
    assert one.evidence == pytest.approx(0.9)


def test_old_places_are_forgotten() -> None:
    one = place()
    for _ in range(51):
        assert remembered([one]) == [one]
        one.next_frame()
    assert remembered([one]) == []


def five(x: float, y: float, side: float, score: float = 0.8) -> Keypoints:
    """A face from hairline to chin as points show it, a square about its middle."""
    half = side / 2
    points = np.array([[-0.2, -0.15], [0.2, -0.15], [0, 0.05], [-0.15, 0.25], [0.15, 0.25]]) * side + (x, y)
    return Keypoints((x - half, y - half, x + half, y + half), points, score)


def test_points_tell_how_large_the_face_is_in_a_generous_box_and_go_along_with_it() -> None:
    one = place(0.8, side=100.0)
    one.sighted(sighting(0.8, 100.0))  # its middle is that of the points below
    one.looked(0.8)
    one.keyed(five(150.0, 150.0, 50.0))
    assert one.box[2] - one.box[0] == pytest.approx(50.0)
    one.next_frame()
    one.sighted(sighting(0.8, 110.0, x=105.0))  # the detector's box is a tenth larger, and 10 to the right
    found = one.keypoints
    assert found is not None
    assert found.box[2] - found.box[0] == pytest.approx(55.0)
    assert (found.box[0] + found.box[2]) / 2 == pytest.approx(160.0)
    assert one.box[2] - one.box[0] == pytest.approx(55.0)


@pytest.mark.parametrize(("size", "trusted"), [(1.0, True), (0.85, True), (0.6, False)])
def test_a_mesh_that_points_agree_with_is_trusted_if_it_is_as_large_as_their_face(size: float, trusted: bool) -> None:
    """A mesh of half its size on the eyes and the nose of a face lies near enough to five points."""
    one = place(0.8, side=80.0)
    one.sighted(sighting(0.8, 80.0))
    mesh = mesh_in((140 - 25 * size, 140 - 25 * size, 140 + 25 * size, 140 + 25 * size))
    one.meshed(mesh, 0.99, LandmarkRegion((140.0, 140.0), 60.0, 0.0))
    ends = mesh[:, :2]
    near = np.array([(ends[33] + ends[133]) / 2, (ends[263] + ends[362]) / 2, ends[1], ends[61], ends[291]])
    one.keyed(Keypoints((115.0, 115.0, 165.0, 165.0), near + 3.0, 0.9))
    assert one.trusted == trusted


def test_points_go_along_with_the_mesh_however_the_detectors_box_jumps() -> None:
    one = place(0.9, side=40.0)
    mesh = mesh_in((105.0, 102.0, 135.0, 138.0))
    here = LandmarkRegion((120.0, 120.0), 60.0, 0.0)
    one.keyed(Keypoints((104.0, 100.0, 136.0, 140.0), np.full((5, 2), 120.0), 0.9))
    one.meshed(mesh, 0.99, here)
    one.next_frame()
    one.meshed(mesh + np.array((2.0, 1.0, 0.0)), 0.99, here)
    one.sighted(sighting(0.4, side=90.0, x=60.0))  # the same face, by another scale
    assert one.keypoints is not None
    np.testing.assert_allclose(one.keypoints.box, (106.0, 101.0, 138.0, 141.0), atol=1e-6)
    np.testing.assert_allclose(one.keypoints.points, np.tile((122.0, 121.0), (5, 1)))
    one.next_frame()  # without a mesh there is only the detector's box
    one.sighted(sighting(0.4, side=90.0, x=160.0))
    assert one.keypoints is not None and one.keypoints.box[0] > 150


def test_points_do_not_shrink_with_a_mesh_that_collapses() -> None:
    one = place(0.9, side=50.0)
    mesh = mesh_in((105.0, 105.0, 145.0, 145.0))
    one.keyed(Keypoints((103.0, 103.0, 147.0, 147.0), np.full((5, 2), 125.0), 0.9))
    one.meshed(mesh, 0.5, LandmarkRegion((125.0, 125.0), 60.0, 0.0))
    one.next_frame()
    one.meshed((mesh - 125) * 0.3 + 125, 0.5, LandmarkRegion((125.0, 125.0), 60.0, 0.0))
    one.sighted(sighting(0.9, side=50.0))
    assert one.keypoints is not None and one.keypoints.box == (103.0, 103.0, 147.0, 147.0)


def test_points_beside_a_neighbours_mesh_go_along_with_the_detectors_box() -> None:
    one = place(0.9, side=40.0)
    mesh = mesh_in((205.0, 102.0, 235.0, 138.0))
    one.keyed(Keypoints((104.0, 100.0, 136.0, 140.0), np.full((5, 2), 120.0), 0.9))
    one.meshed(mesh, 0.5, LandmarkRegion((220.0, 120.0), 60.0, 0.0))
    one.next_frame()
    one.meshed(mesh + np.array((20.0, 0.0, 0.0)), 0.5, LandmarkRegion((240.0, 120.0), 60.0, 0.0))
    one.sighted(sighting(0.4, side=40.0, x=103.0))
    assert one.keypoints is not None
    np.testing.assert_allclose(one.keypoints.box, (107.0, 100.0, 139.0, 140.0), atol=1e-6)


def test_points_are_asked_for_again_when_they_have_aged_and_at_last_told_no_more() -> None:
    one = place(0.8)
    one.sighted(sighting(0.8))
    one.looked(0.8)
    one.keyed(five(130.0, 130.0, 50.0))
    due = []
    for frame in range(1, 12):
        one.next_frame()
        one.sighted(sighting(0.8))
        if one.keys_due():
            due.append(frame)
    assert due[0] == 3
    assert one.keypoints is None


def test_doubtful_points_tell_nothing() -> None:
    one = place(0.8)
    one.sighted(sighting(0.8))
    one.keyed(five(130.0, 130.0, 50.0, score=0.4))
    assert one.keypoints is None
    assert one.box == one.raw


def test_a_third_network_that_sees_no_face_takes_belief_away_and_a_sure_one_gives_it() -> None:
    one = place(0.6)
    one.evidence = 0.6
    assert one.believed == 0.6
    one.opined(0.5)
    assert one.believed == 0.6  # one alone takes nothing away
    one.opined(0.5)
    assert one.believed < 0.45
    one.opined(None)  # it cannot say: what it said before holds
    assert one.believed < 0.45
    for _ in range(4):
        one.opined(2.0)
    assert one.believed > 0.7


def test_the_most_that_the_third_network_said_in_a_frame_is_told() -> None:
    """In a dissolve the survey saw a face, and the close look of the same frame none."""
    one = place(0.8)
    one.sighted(sighting(0.8))
    for said, told in ((1.5, 1.5), (0.2, 1.5), (None, 1.5), (2.0, 2.0)):
        one.opined(said)
        assert one.surveyed == told
    one.next_frame()
    assert one.surveyed is None


def test_a_sure_third_network_makes_up_for_two_that_hardly_see_a_face() -> None:
    one = place(0.3)
    one.evidence = 0.25
    assert not one.possible
    one.opined(1.9)
    assert one.possible and one.believed > 0.6


def test_close_looks_are_frequent_at_first_and_end_when_all_are_sure() -> None:
    for opinion, expected in ((2.0, [0, 2, 4, 6]), (0.2, [0, 2, 4, 6, 18, 30])):
        one = place(0.8)
        one.evidence, due = 0.7, []
        for frame in range(36):
            one.next_frame()
            one.sighted(sighting(0.8))
            if one.close_look_due():
                due.append(frame)
                one.looked_closely(opinion)
        assert due == expected, opinion


def test_nobody_looks_closely_where_nothing_is_seen() -> None:
    one = place(0.8)
    one.evidence = 0.7
    one.next_frame()
    assert not one.close_look_due()
    one.sighted(sighting(0.8))
    one.evidence = 0.1
    assert not one.close_look_due()


def test_points_beside_the_middle_of_the_detectors_box_do_not_take_the_redaction_along() -> None:
    one = place(0.8)
    one.sighted(sighting(0.8))
    one.keyed(five(150.0, 130.0, 50.0))
    assert one.box == pytest.approx((105.0, 105.0 + 0.03 * 50 - 1.5, 175.0, 156.5), abs=2)


def test_a_doubtful_head_is_tried_in_other_turns_once_and_again_where_the_third_network_denies_it() -> None:
    one = place(0.5)
    due = []
    for _ in range(3):
        one.next_frame()
        one.looked(0.55)
        due.append(one.turns_due())
    for _ in range(5):
        one.next_frame()
        one.looked_closely(0.5)
        due.append(one.turns_due())
    assert due == [True, False, False, True, False, False, True, False]
    sure = place(0.9)
    sure.looked(0.9)
    assert not sure.turns_due()


def test_a_head_that_the_third_network_denies_is_tried_in_other_turns_and_begins_anew() -> None:
    one = place(0.9)
    one.looked(0.9)
    one.looked_closely(0.3)
    assert one.turns_due()
    one.turned(Keypoints((101.0, 100.0, 161.0, 160.0), np.full((5, 2), 130.0), 0.8), 1, 7)
    assert one.turn == 1 and one.evidence == pytest.approx((one.score + 0.8) / 2) and one.keypoints is not None
    one.looked_closely(2.0)
    assert not one.turns_due()
