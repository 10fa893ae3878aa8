"""What an analysis keeps of a frame names the face of each track, also one that the detector found twice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from streamdeid.core.faces import Face, Track
from streamdeid.runs.analysed import found_as_tracked
from streamdeid.tracking.tracker import FaceTracker

POINTS = np.stack(np.meshgrid(np.linspace(120, 180, 17), np.linspace(120, 190, 4)), axis=-1).reshape(68, 2)


def face(box: tuple[float, float, float, float], evidence: float, presence: float, points: bool) -> Face:
    landmarks = POINTS.copy() if points else None
    return Face(box, 0.9, landmarks, np.zeros((13, 2)) if points else None, presence=presence, evidence=evidence)


def test_a_face_that_was_found_twice_keeps_its_landmarks() -> None:
    """As on a face that fills the picture: a small box with the better landmarks, a large one with more evidence."""
    better, surer = face((110, 110, 190, 200), 0.7, 0.95, True), face((100, 100, 200, 210), 0.9, 0.8, True)
    alone = face((400, 110, 480, 200), 0.8, 0.9, False)
    (joined, other) = FaceTracker(size=(640, 480)).update([surer, better, alone], Fraction(0))
    assert joined.face is not None and joined.face not in (surer, better)  # an object that the detector did not give
    found, number = found_as_tracked([surer, better, alone], [joined, other])
    kept = found[number[id(joined.face)]]
    assert kept.landmarks is better.landmarks and kept.evidence == surer.evidence
    assert found[number[id(other.face)]] is alone
    assert len(found) == 3 and found[0] is surer
    again = FaceTracker(size=(640, 480)).update(found, Fraction(0))[0]
    assert again.face == joined.face  # filtered again from what was kept, it is the same


def test_a_face_that_nobody_found_has_no_place() -> None:
    found = [face((100, 100, 200, 210), 0.9, 0.8, True)]
    stranger = replace(found[0], box=(0.0, 0.0, 10.0, 10.0), landmarks=POINTS.copy())
    tracks = [Track(1, stranger.box, stranger, 0, False)]
    assert id(stranger) not in found_as_tracked(found, tracks)[1]
    assert found_as_tracked(found, [replace(tracks[0], face=None)])[0] == found
