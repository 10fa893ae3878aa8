"""Which candidate of the detector belongs to which place that is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Keypoints
from streamdeid.detection.candidates import Candidate
from streamdeid.detection.matching import matched, one_to_a_head, without_twins
from streamdeid.detection.places import Place
from streamdeid.detection.region import LandmarkRegion
from tests.detection.meshes import mesh_in


def seen(box: Box, score: float = 0.5) -> Candidate:
    return Candidate(box, np.zeros((6, 2)), score, 3, False)


def place(box: Box, face: Box | None = None) -> Place:
    """Where the detector saw a box, with a mesh that fills `face` in this frame."""
    one = Place(box, 0.9, 3)
    if face is not None:
        one.meshed(mesh_in(face), 0.99, LandmarkRegion(((face[0] + face[2]) / 2, (face[1] + face[3]) / 2), 60.0, 0.0))
    return one


def test_each_candidate_gets_the_nearest_place_and_each_place_one_candidate() -> None:
    places = [place((100.0, 100.0, 160.0, 160.0)), place((160.0, 100.0, 220.0, 160.0))]
    boxes = (155.0, 100.0, 215.0, 160.0), (104.0, 100.0, 164.0, 160.0), (500.0, 100.0, 560.0, 160.0)
    assert matched(places, [seen(box) for box in boxes]) == {0: 1, 1: 0}
    assert matched([], [seen(boxes[0])]) == {}
    assert matched(places, []) == {}


def test_what_is_seen_in_a_turned_picture_belongs_to_a_head_that_lies_so() -> None:
    one = place((100.0, 100.0, 160.0, 160.0))
    upright = seen((100.0, 100.0, 160.0, 160.0))
    aside = replace(upright, turn=1)
    assert matched([one], [aside]) == {} and matched([one], [aside, upright]) == {1: 0}
    one.turn = 1
    assert matched([one], [aside]) == {0: 0} and matched([one], [upright]) == {0: 0}


def test_two_people_close_together_do_not_take_each_others_boxes() -> None:
    """As in a frame of subway_cctv_three: boxes twice as large as the faces."""
    left = place((565.0, 79.0, 641.0, 154.0), face=(553.0, 101.0, 581.0, 134.0))
    right = place((551.0, 70.0, 622.0, 141.0), face=(602.0, 105.0, 640.0, 150.0))
    on_right, on_left = seen((576.0, 80.0, 648.0, 152.0)), seen((536.0, 80.0, 600.0, 144.0))
    assert matched([left, right], [on_right, on_left]) == {0: 1, 1: 0}
    assert matched([left], [on_right]) == {0: 0}  # nobody else is known whose it could be
    without = place(left.raw)
    assert matched([without, right], [on_right]) == {0: 0}  # what lies before no mesh may be anybody's


def test_two_places_followed_onto_one_face_are_one() -> None:
    near = (100.0, 100.0, 160.0, 160.0)
    one, other, far = place(near), place(near), place((400.0, 100.0, 460.0, 160.0))
    for each, evidence in ((one, 0.9), (other, 0.5), (far, 0.9)):
        each.looked(evidence)
    one.region, other.region = LandmarkRegion((130.0, 130.0), 90.0, 0.0), LandmarkRegion((134.0, 130.0), 92.0, 0.0)
    far.region = LandmarkRegion((430.0, 130.0), 90.0, 0.0)
    assert set(map(id, without_twins([other, one, far]))) == {id(one), id(far)}


def test_of_two_on_one_face_the_one_stays_whose_box_lies_on_it() -> None:
    """As in street_next: a box over a chest, its landmarks on the face above, was kept, since the networks thought a
    little more of it; a ball over the chest followed for thirty frames."""
    on_face = (80.0, 364.0, 92.0, 378.0)
    chest, face = place((68.0, 369.0, 106.0, 402.0), on_face), place((80.0, 364.0, 95.0, 378.0), on_face)
    chest.looked(0.52)
    face.looked(0.49)
    assert without_twins([chest, face]) == [face]


def test_a_mesh_beside_its_box_gets_the_box_of_the_same_head_that_it_lies_on() -> None:
    """As in the first frame of street_next: of a man in profile the detector saw the back of the head, too."""
    outline = (419.0, 233.0, 457.0, 276.0)
    man, second = place((374.0, 228.0, 435.0, 288.0), outline), place((392.0, 244.0, 449.0, 301.0))
    man.looked(0.9)
    man.keyed(Keypoints(outline, np.zeros((5, 2)), 0.9))
    second.looked(0.3)
    one_to_a_head([man, second])
    assert (man.second, second.second) == (False, True)
    assert man.raw == (392.0, 244.0, 449.0, 301.0) and second.raw == second.box == (374.0, 228.0, 435.0, 288.0)
    assert man.outline is not None
    man.moved(man.outline + 10.0)  # it follows the mesh from there
    assert man.raw == pytest.approx((402.0, 254.0, 459.0, 311.0))


def test_boxes_stay_where_the_mesh_lies_on_its_own_or_on_neither() -> None:
    outline = (419.0, 233.0, 457.0, 276.0)
    for own, other in (
        ((405.0, 225.0, 470.0, 285.0),) * 2,
        ((374.0, 228.0, 435.0, 288.0), (380.0, 230.0, 441.0, 290.0)),
    ):
        man, second = place(own, outline), place(other)
        man.looked(0.9)
        man.keyed(Keypoints(outline, np.zeros((5, 2)), 0.9))
        second.looked(0.3)
        one_to_a_head([man, second])
        assert second.second and (man.raw, second.raw) == (own, other)
