"""What a redaction hides does not come back through the face that is drawn beside it, or into which it reaches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.lab.published_pictures import TrackRegister
from streamdeid.protect.levels import Level
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import settled
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.protect.soft_head import head_of
from tests.drawn_faces import Scene, pose_at, scene, some_identity, with_mouth


class _MeanFace:
    """Gives everybody the mean face."""

    def __init__(self, length: int) -> None:
        self.vector, self.beard = np.zeros(length), True

    def surrogate(self, person: int, y: Points) -> _MeanFace:
        return self


def _published(fitting: FitModel, drawn: Scene, tracks: list[Track], planes: Planes) -> Planes:
    """The drawn face observed as it is, and then published from a picture that differs where a neighbour is."""
    filter = ReplaceFaces(fitting, _MeanFace(len(fitting.model.variances)), TrackRegister(set()))
    pending = PendingFrame(Frame(drawn.planes, Fraction(0), 0), tracks, None)
    filter.observe(pending, [pending])
    filter.settle([pending])
    pending.frame = Frame(planes, Fraction(0), 0)
    done = filter.render(pending, settled(filter, [pending], tracks))
    assert Level.OWN_FACE.label in [redaction.level for redaction in done.redactions]
    return done.planes


@pytest.mark.parametrize("aside", [(0.9, 0.0), (0.5, 0.4), (0.1, 0.7)])
def test_nothing_of_a_redacted_neighbour_passes_into_an_own_face(
    model: AppearanceModel, fitting: FitModel, aside: tuple[float, float]
) -> None:
    shape, texture = model.decode(some_identity(model, 3))
    drawn = scene(model, with_mouth(shape, 0.5), texture, pose_at(model, 120.0, (120.0, 150.0)))
    face = drawn.face
    shift = np.tile(np.multiply(aside, (face.width, face.height)), 2)
    x0, y0, x1, y1 = (float(side) for side in face.box + shift)
    tracks = [Track(1, face.box, face, 0, False), Track(2, (x0, y0, x1, y1), None, 1, False)]
    rows, columns = np.indices(drawn.planes.y.shape)
    head = head_of((x0, y0, x1, y1), None, drawn.planes.size)
    inside = head.radii(columns.ravel().astype(float), rows.ravel().astype(float)).reshape(rows.shape) < 0.97
    other = drawn.planes.copy()
    other.y[inside] ^= 64
    one, two = (_published(fitting, drawn, tracks, planes) for planes in (drawn.planes, other))
    assert inside.any()
    np.testing.assert_array_equal(one.y, two.y)
    np.testing.assert_array_equal(one.u, two.u)
