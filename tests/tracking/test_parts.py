"""Parts and ghosts: second detections of a face are nobody, and nobody else is taken for one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamdeid.core.faces import Face
from streamdeid.tracking.parts import without_parts

OUTLINE = np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0, 2 * np.pi, 68, endpoint=False)])


def face(x: float, y: float, side: float, marked: bool = True, evidence: float = 0.9) -> Face:
    """A face in a square box about (x, y), whose landmarks lie on the circle in it."""
    half = side / 2
    points = OUTLINE * half + [x, y] if marked else None
    box = (x - half, y - half, x + half, y + half)
    return Face(
        box, 0.8, points, np.tile([float(x), float(y)], (13, 1)) if marked else None, evidence=evidence, presence=0.9
    )


def kept(*faces: Face) -> list[int]:
    return without_parts(faces, np.array([one.box for one in faces]))


HEAD = face(200, 200, 100)


@pytest.mark.parametrize(
    ("other", "rows"),
    [
        (face(200, 220, 30, marked=False), [0]),  # the mouth
        (face(240, 200, 30, marked=False), [0]),  # an ear, that sticks out a little
        (face(262, 200, 30, marked=False), [0, 1]),  # somebody behind, half hidden
        (face(200, 220, 30, evidence=0.4), [0]),  # a mouth on which the landmarker saw a face
        (face(200, 220, 30, evidence=0.95), [0, 1]),  # surer than the face: perhaps it is a child before it
        (face(204, 200, 90, marked=False), [0]),  # the same face, found again
        (face(205, 190, 170, marked=False), [0]),  # the whole head with its hair
        (face(205, 190, 170), [1]),  # with landmarks, and as sure: the other one is its part
        (face(205, 190, 170, evidence=0.7), [0, 1]),  # less sure: it is not known which of them is right
        (face(205, 190, 210, marked=False), [0, 1]),  # four times the area is somebody else
        (face(250, 200, 120, marked=False), [0, 1]),  # beside it
    ],
)
def test_a_second_detection(other: Face, rows: list[int]) -> None:
    assert kept(HEAD, other) == rows
    assert kept(other, HEAD) == sorted(1 - row for row in rows)


def test_what_is_no_sure_face_has_no_parts() -> None:
    mouth = face(200, 220, 30, marked=False)
    assert kept(replace(HEAD, evidence=0.45), mouth) == [0, 1]
    assert kept(replace(HEAD, landmarks=None, forehead=None), mouth) == [0, 1]


def test_parts_have_no_parts_and_people_apart_keep_their_own() -> None:
    heads = [face(200, 200, 100), face(500, 200, 100)]
    parts = [face(x, 220, 30, marked=False) for x in (200, 500)]
    assert kept(*heads, *parts) == [0, 1]
    assert kept(*heads) == [0, 1]


@pytest.mark.parametrize(
    ("other", "gone"),
    [
        (face(200, 162, 60, marked=False), True),  # a fringe, that sticks out over the forehead by a third
        (face(200, 150, 60), False),  # the landmarker saw a face in it: it may be a child's
        (face(200, 141.5, 20, marked=False), False),  # as much of it lies within, but its middle does not
        (replace(face(200, 143, 60, marked=False), box=(125.0, 123.5, 275.0, 162.5)), False),  # a band behind the head
        (face(250, 200, 60, marked=False), False),  # somebody behind, of whom one half is seen beside the head
        (face(245, 200, 76, marked=False), False),
        (face(200, 145, 76, marked=False), False),  # and above it
    ],
)
def test_what_has_no_landmarks_is_a_part_when_its_middle_lies_on_the_face(other: Face, gone: bool) -> None:
    assert kept(HEAD, other) == ([0] if gone else [0, 1])
    assert kept(other, HEAD) == ([1] if gone else [0, 1])
