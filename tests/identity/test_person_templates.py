"""What people are recognised by: means of a recogniser's vectors, or the fused vector where there is no recogniser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Points
from streamdeid.identity.person_templates import FusedTemplates, RecognisedTemplates, Templates
from streamdeid.identity.register import FUSED
from streamdeid.identity.upper_face import UpperFace
from tests import drawn_faces

PICTURE = np.zeros((4, 4, 3), np.uint8)
POINTS = np.zeros((81, 2))
Y = np.zeros(3)


class Vectors:
    """`TrackletVectors` that tell what they were given to tell."""

    def __init__(self) -> None:
        self.told: dict[int, dict[int, list[NDArray[np.float64]]]] = {}
        """By frame, then by tracklet."""
        self.late: dict[int, list[NDArray[np.float64]]] = {}
        """By tracklet: what is told only when it is over."""
        self.asked: list[tuple[int, int]] = []
        self.forgot: list[int] = []
        self.closed = 0

    def choose(self, good: Sequence[int]) -> list[int]:
        return [number for number in good if number != 2]

    def ask(self, tracklet: int, frame: int, picture: NDArray[np.uint8], points: Points) -> None:
        self.asked.append((tracklet, frame))

    def collect(self, frame: int) -> dict[int, list[NDArray[np.float64]]]:
        return self.told.pop(frame, {})

    def forget(self, tracklets: Iterable[int]) -> dict[int, list[NDArray[np.float64]]]:
        ended = list(tracklets)
        self.forgot += ended
        return {number: self.late.pop(number) for number in ended if number in self.late}

    def close(self) -> None:
        self.closed += 1


def recognised() -> tuple[Vectors, RecognisedTemplates]:
    vectors = Vectors()
    return vectors, RecognisedTemplates(vectors)  # type: ignore[arg-type]


def vector(*values: float) -> NDArray[np.float64]:
    return np.array(values)


def test_two_vectors_make_a_template_and_it_is_their_mean() -> None:
    vectors, templates = recognised()
    vectors.told = {4: {1: [vector(1, 0)]}, 6: {1: [vector(2, 3)], 2: [vector(9, 9)]}, 7: {1: [vector(3, 6)]}}
    for index in range(6):
        templates.next_frame(index)
        assert templates.template(1, Y, False) is None, index
    templates.next_frame(6)
    found = templates.template(1, Y, False)
    assert found is not None and found.tolist() == [1.5, 1.5]
    templates.next_frame(7)
    found = templates.template(1, Y, False)
    assert found is not None and found.tolist() == [2.0, 3.0]
    assert templates.template(2, Y, False) is None and templates.template(3, Y, False) is None
    vectors.told = {9: {1: [vector(2, 11)]}}
    templates.next_frame(9)
    found = templates.template(1, Y, False)
    assert found is not None and found.tolist() == [2.0, 5.0], "it goes on learning"
    assert found.dtype == np.float64


def test_at_the_end_one_vector_is_enough_and_those_under_way_are_waited_for() -> None:
    vectors, templates = recognised()
    vectors.told = {0: {1: [vector(1, 0)]}}
    vectors.late = {1: [vector(3, 2)], 2: [vector(7, 8)]}
    templates.next_frame(0)
    found = templates.template(1, Y, True)
    assert found is not None and found.tolist() == [2.0, 1.0]
    alone = templates.template(2, Y, True)
    assert alone is not None and alone.tolist() == [7.0, 8.0]
    assert templates.template(3, Y, True) is None
    assert vectors.forgot == [1, 2, 3]


def test_what_is_not_final_forgets_nothing() -> None:
    vectors, templates = recognised()
    vectors.late = {1: [vector(3, 2)] * 5}
    assert templates.template(1, Y, False) is None
    assert vectors.forgot == []


def test_a_forgotten_tracklet_has_no_template_any_more() -> None:
    vectors, templates = recognised()
    vectors.told = {0: {1: [vector(1, 0)] * 3, 2: [vector(0, 1)] * 3}}
    vectors.late = {1: [vector(1, 0)]}
    templates.next_frame(0)
    templates.forget(1)
    assert vectors.forgot == [1]
    assert templates.template(1, Y, False) is None and templates.template(1, Y, True) is None
    assert templates.template(2, Y, False) is not None


def test_faces_are_asked_about_in_the_present_frame_and_only_chosen_ones() -> None:
    vectors, templates = recognised()
    templates.next_frame(40)
    assert templates.choose([1, 2, 3]) == [1, 3]
    templates.show(3, PICTURE, POINTS)
    templates.next_frame(41)
    templates.show(1, PICTURE, POINTS)
    assert vectors.asked == [(3, 40), (1, 41)]
    templates.close()
    templates.close()
    assert vectors.closed == 2


def face(model: AppearanceModel, person: int, mouth: float = 0.05, **angles: float) -> tuple[Points, drawn_faces.Scene]:
    y = drawn_faces.some_identity(model, person, 1.0)
    shape, texture = model.decode(y)
    shape = drawn_faces.with_mouth(shape, mouth)
    return y, drawn_faces.scene(model, shape, texture, drawn_faces.pose_at(model, **angles))


def test_the_fused_template_is_of_both_views_in_one_scale(model: AppearanceModel) -> None:
    """The distance of two is the root of the mean of the squares of both distances, upper faces scaled."""
    templates: Templates = FusedTemplates(model)
    describe = UpperFace(model)
    seen = [face(model, person) for person in (3, 12)]
    found = []
    for number, (y, scene) in enumerate(seen, 1):
        templates.next_frame(number)
        assert templates.template(number, y, True) is None, "nothing was shown"
        templates.show(number, scene.rgb, scene.points)
        template = templates.template(number, y, False)
        assert template is not None
        found.append(template)
    uppers = np.linalg.norm(np.subtract(*(describe(scene.rgb, scene.points) for _, scene in seen)))
    faces = np.linalg.norm(seen[0][0] - seen[1][0])
    wanted = np.sqrt((faces**2 + (uppers * 5400 / 0.65) ** 2) / 2)
    assert np.linalg.norm(found[0] - found[1]) == pytest.approx(wanted, rel=1e-5)
    assert wanted > FUSED.reject > FUSED.accept
    templates.close()


def test_one_drawn_person_is_accepted_and_another_is_not(model: AppearanceModel) -> None:
    templates = FusedTemplates(model)
    pictures = [(1, 3, 0.05, 0.0), (2, 3, 0.3, 0.15), (3, 12, 0.05, 0.0)]
    found = []
    for number, person, mouth, yaw in pictures:
        y, scene = face(model, person, mouth, yaw=yaw)
        templates.show(number, scene.rgb, scene.points)
        template = templates.template(number, y, False)
        assert template is not None
        found.append(template)
    assert np.linalg.norm(found[0] - found[1]) < FUSED.accept < np.linalg.norm(found[0] - found[2])


def test_upper_faces_are_averaged_and_not_more_than_so_many_asked_for(model: AppearanceModel) -> None:
    templates = FusedTemplates(model)
    y, one = face(model, 3)
    _, other = face(model, 12)
    for count in range(24):
        assert list(templates.choose([1, 2])) == [1, 2]
        scene = other if count % 4 == 0 else one
        templates.show(1, scene.rgb, scene.points)
    assert list(templates.choose([1, 2])) == [2]
    parts = []
    for number, scene in ((8, one), (9, other)):
        templates.show(number, scene.rgb, scene.points)
        parts.append(templates.template(number, y, False))
    mixed = templates.template(1, y, False)
    assert mixed is not None and parts[0] is not None and parts[1] is not None
    np.testing.assert_allclose(mixed, 0.75 * parts[0] + 0.25 * parts[1], rtol=1e-6, atol=1e-3)
    templates.forget(1)
    assert templates.template(1, y, True) is None and list(templates.choose([1])) == [1]
    assert templates.template(8, y, True) is not None
    templates.forget(77)
