"""What is shown where a face cannot be drawn after all, or was never seen without something before it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame
from streamdeid.identity.register import PersonRegister, new_persons
from streamdeid.lab.published_pictures import TrackRegister
from streamdeid.observe.observation import Observation
from streamdeid.observe.opening import Opening
from streamdeid.protect import measured_faces, posed_faces, replace_faces
from streamdeid.protect.levels import Level
from streamdeid.protect.plan import at_once
from streamdeid.protect.replace_faces import ReplaceFaces
from tests.drawn_faces import pose_at, scene, some_identity


class _MeanFace:
    """Gives everybody the mean face."""

    def __init__(self, length: int) -> None:
        self.vector, self.beard = np.zeros(length), True

    def surrogate(self, person: int, y: Points) -> _MeanFace:
        return self


@pytest.mark.parametrize(("strict", "level"), [(False, Level.SOFT), (True, Level.SOLID)])
@pytest.mark.parametrize(("drawing", "width"), [("render_surrogate", 120.0), ("render_posed_face", 9.0)])
def test_what_cannot_be_drawn_is_hidden_as_asked(
    model: AppearanceModel,
    fitting: FitModel,
    monkeypatch: pytest.MonkeyPatch,
    drawing: str,
    width: float,
    strict: bool,
    level: Level,
) -> None:
    asked: list[bool] = []

    def undrawable(*given: object, **named: object) -> None:
        asked.append(True)

    monkeypatch.setattr(replace_faces if drawing == "render_surrogate" else posed_faces, drawing, undrawable)
    drawn = scene(model, *model.decode(some_identity(model, 3)), pose_at(model, width))
    filter = ReplaceFaces(fitting, _MeanFace(len(model.variances)), TrackRegister({1}), strict=strict)
    filter._choose(1, np.zeros(len(model.variances)))
    frame, tracks = Frame(drawn.planes, Fraction(0), 0), [Track(1, drawn.face.box, drawn.face, 0, False)]
    for _ in range(3):  # a face is posed when it was seen three times
        done = at_once(filter, frame, tracks)
    assert [redaction.level for redaction in done.redactions] == [level.label]
    assert asked


def test_somebody_seen_with_something_before_the_face_only_is_still_somebody(
    model: AppearanceModel, fitting: FitModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = np.zeros(fitting.table.size[::-1], np.float32)
    opening = Opening(closed, np.zeros(len(fitting.table.rows), np.bool_), False, 0.0)

    class _AlwaysSomething:
        def __init__(self, fitting: FitModel, mean: object) -> None: ...

        def __call__(self, seen: Observation, doubt: bool) -> Opening:
            return opening

    monkeypatch.setattr(measured_faces, "OccluderMask", _AlwaysSomething)
    drawn = scene(model, *model.decode(some_identity(model, 3)), pose_at(model, 23.0))  # too small to be good
    filter = ReplaceFaces(fitting, _MeanFace(len(model.variances)), PersonRegister(new_persons(reentry=True)))
    for index in range(16):
        frame, tracks = (
            Frame(drawn.planes, Fraction(index, 30), index),
            [Track(1, drawn.face.box, drawn.face, 0, False)],
        )
        done = at_once(filter, frame, tracks)
    assert done.redactions[0].person == 1
