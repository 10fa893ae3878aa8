"""A second look at faces that the picture's border cuts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from streamdeid.core.frames import Planes
from streamdeid.core.shipped_models import YUNET, network
from streamdeid.detection.networks import Networks
from streamdeid.detection.second_look import SecondLook
from streamdeid.detection.yunet import YuNet
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people


@pytest.mark.parametrize("lost", [Fraction(1, 5), Fraction(3, 10)])
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_points_of_a_face_that_the_border_cuts_are_its_own(side: str, lost: Fraction) -> None:
    """With what is inside mirrored outside, a part of a face and its mirror image were one, about the border."""
    models = load_models(None)
    drawn = next(iter(synthetic_people(models.fitting, models.gallery, people=1, size=(1280, 720))))
    planes, (x0, y0, x1, y1) = drawn.frame.planes, drawn.truths[0].box
    look = SecondLook(Networks(), YuNet(network(YUNET)), glances=False)
    whole = look.keypoints(planes, (x0, y0, x1, y1))
    wide = x1 - x0
    first, last = 0, planes.size[0]
    if side == "left":
        first = int(x0 + lost * wide) & ~1
    else:
        last = int(x1 - lost * wide) & ~1
    halves = slice(first // 2, last // 2)
    cut = Planes(planes.y[:, first:last].copy(), planes.u[:, halves].copy(), planes.v[:, halves].copy())
    seen = look.keypoints(cut, (x0 - first, y0, x1 - first, y1))
    look.close()
    assert whole is not None and seen is not None and seen.score > 0.5
    away = np.linalg.norm(seen.points + np.array([first, 0]) - whole.points, axis=1)
    assert away.mean() < 0.16 * wide
