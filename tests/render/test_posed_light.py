"""The light on a posed face is held slow, but follows what two readings in a row tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame
from streamdeid.render.posed_light import PosedLight
from streamdeid.render.posed_region import face_ellipse
from tests.drawn_faces import scene, some_identity

POSE = KeypointPose(160.0, 165.0, 60.0, 0.0, 0.0, 0.0)
ELLIPSE = face_ellipse((160.0 - 29, 165.0 - 36, 160.0 + 29, 165.0 + 36))
EVERY = 3
"""Frames from one reading to the next."""


@pytest.fixture(scope="module")
def levels(model: AppearanceModel, fitting: FitModel, frame: PosedFrame):  # type: ignore[no-untyped-def]
    """The levels after readings of one head under lamps of some strengths, one reading each."""
    face = NewFace.of(some_identity(model, 8), fitting)
    shape, texture = model.decode(some_identity(model, 3))
    view = POSE.head_pose(frame.outline.head)

    def after(lamps: Sequence[float]) -> Points:
        seen, told = PosedLight(frames=EVERY - 1), []
        for lamp in lamps:
            planes = scene(model, shape, np.clip(lamp * texture, 0, 255), view).planes
            for _ in range(EVERY):
                seen.read(planes, view, ELLIPSE, frame.skin, face)
            assert seen.numbers is not None
            told.append(float(seen.numbers[0]))
        return np.array(told)

    return after


def test_first_readings_count_alike(levels) -> None:  # type: ignore[no-untyped-def]
    bright, dim = levels([1.0])[0], levels([0.85])[0]
    assert bright - dim > 0.1
    assert levels([1.0, 0.85])[1] == pytest.approx((bright + dim) / 2, abs=0.01)


def test_one_reading_of_another_light_moves_little(levels) -> None:  # type: ignore[no-untyped-def]
    """Somebody dark before the face for one reading, and back: a fourth of the way, no more."""
    told = levels([1.0] * 6 + [0.4, 1.0, 1.0])
    step = told[5] - levels([0.4])[0]
    assert step > 0.6
    assert told[5] - told[6] == pytest.approx(step / 4, abs=0.02)
    assert told[5] - told[7] < told[5] - told[6]


@pytest.mark.parametrize("lamps", [(1.0, 0.4), (0.4, 1.0)])
def test_two_readings_of_another_light_are_followed(levels, lamps: tuple[float, float]) -> None:  # type: ignore[no-untyped-def]
    before, after = lamps
    told, wanted = levels([before] * 6 + [after] * 3), levels([after])[0]
    assert abs(told[5] - wanted) > 0.6
    assert abs(told[7] - wanted) < 0.26, "of the second of two, a fifth behind the nearer one"
    assert abs(told[8] - wanted) <= abs(told[7] - wanted)
