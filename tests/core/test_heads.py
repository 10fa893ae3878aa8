"""One head, one face: what lies on the head of a face that is known, and who stands beside it."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.core.heads import on_head, seconds

FACE = (100.0, 100.0, 150.0, 160.0)
"""From hairline to chin."""


def square(x: float, y: float, side: float) -> tuple[float, float, float, float]:
    return x - side / 2, y - side / 2, x + side / 2, y + side / 2


@pytest.mark.parametrize(
    ("x", "y", "side", "on"),
    [
        (125, 80, 40, True),  # a fringe
        (160, 120, 30, True),  # an ear
        (125, 172, 40, True),  # a collar
        (190, 130, 50, False),  # a neighbour, cheek to cheek
        (125, 220, 50, False),  # who stands in front
        (125, 75, 140, False),  # somebody much nearer to the camera, behind whose chin it is half hidden
        (125, 90, 140, True),  # a box that holds all of it: a head there would hide the face
        (125, 125, 140, True),  # a head and shoulders taken for a face, with this one in its middle
    ],
)
def test_hair_ear_and_collar_are_of_the_head_and_neighbours_are_not(x: float, y: float, side: float, on: bool) -> None:
    assert on_head(np.array([square(x, y, side)]), np.array(FACE))[0] == on


def test_a_second_sighting_of_a_head_goes_and_the_face_stays() -> None:
    boxes = np.array([square(125, 130, 55), square(125, 85, 40), square(300, 130, 55)])
    assert seconds(boxes, [FACE, None, None], [0.9, 0.95, 0.6], 0.5) == {1}


def test_who_has_points_of_the_own_stays_beside_another_face() -> None:
    child = square(150, 150, 40)
    boxes = np.array([square(125, 130, 55), child])
    assert seconds(boxes, [FACE, child], [0.9, 0.6], 0.5) == set()


def test_of_two_sightings_of_one_face_the_surer_stays() -> None:
    boxes = np.array([square(125, 130, 55), square(128, 132, 60)])
    assert seconds(boxes, [FACE, square(128, 131, 58)], [0.7, 0.9], 0.5) == {0}


def test_a_face_that_nobody_is_sure_of_has_no_head() -> None:
    boxes = np.array([square(125, 130, 55), square(125, 85, 40)])
    assert seconds(boxes, [FACE, None], [0.4, 0.4], 0.5) == set()


def test_nobody_at_all() -> None:
    assert seconds(np.zeros((0, 4)), [], [], 0.5) == set()


def test_points_in_the_hair_above_a_face_with_a_mesh_are_nobody_and_beside_it_are_somebody() -> None:
    above, beside = square(130, 85, 50), square(165, 125, 48)
    boxes = np.array([square(125, 130, 55), above, beside])
    assert seconds(boxes, [FACE, above, beside], [1.9, 0.7, 0.7], 0.5) == {1}
    assert seconds(boxes, [FACE, above, beside], [0.9, 0.7, 0.7], 0.5) == set()  # nobody is surer


def test_what_lies_otherwise_on_a_surer_head_is_that_head_whatever_points_it_has() -> None:
    aside = square(140, 100, 30)
    boxes = np.array([FACE, aside])
    assert seconds(boxes, [FACE, aside], [0.9, 0.7], 0.5, [0, 0]) == set()
    assert seconds(boxes, [FACE, aside], [0.9, 0.7], 0.5, [0, 1]) == {1}
    far = square(400, 100, 30)
    assert seconds(np.array([FACE, far]), [FACE, far], [0.9, 0.7], 0.5, [0, 1]) == set()
