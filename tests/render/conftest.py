"""What tests of posed and turned faces share."""

from __future__ import annotations

import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame
from tests.drawn_faces import some_identity


@pytest.fixture(scope="module")
def frame(fitting: FitModel, light: LightFrame) -> PosedFrame:
    return PosedFrame.of(fitting, light)


@pytest.fixture(scope="module")
def face(model: AppearanceModel, fitting: FitModel) -> NewFace:
    return NewFace.of(some_identity(model, 8), fitting)
