"""The motion of a camera: there and back, one after another, for points and for boxes alike."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamdeid.core.camera_motion import CameraMotion

PLACES = np.array([[0.0, 0.0], [640.0, 0.0], [100.0, 300.0]])


@st.composite
def motions(draw: st.DrawFn) -> CameraMotion:
    scale, angle = draw(st.floats(0.5, 2.0)), draw(st.floats(-0.5, 0.5))
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return CameraMotion(turn, np.array([draw(st.floats(-99, 99)), draw(st.floats(-99, 99))]))


@given(motions(), motions())
def test_the_way_there_and_back_and_one_after_another(first: CameraMotion, second: CameraMotion) -> None:
    there = second(first(PLACES))
    both = second.after(first)
    np.testing.assert_allclose(both(PLACES), there, atol=1e-6)
    np.testing.assert_allclose(both.inverse()(there), PLACES, atol=1e-6)
    np.testing.assert_allclose(both.scale, first.scale * second.scale)
    np.testing.assert_allclose(both.angle, first.angle + second.angle, atol=1e-9)


@given(motions())
def test_a_box_goes_with_its_middle_and_stays_upright(motion: CameraMotion) -> None:
    x0, y0, x1, y1 = motion.box((100.0, 100.0, 140.0, 160.0))
    np.testing.assert_allclose([(x0 + x1) / 2, (y0 + y1) / 2], motion(np.array([120.0, 130.0])), atol=1e-9)
    np.testing.assert_allclose([x1 - x0, y1 - y0], [40 * motion.scale, 60 * motion.scale])
