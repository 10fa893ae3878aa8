"""Fixtures shared by the suite: the shipped models, loaded once per session."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: more threads only get in each other's way here

import cv2
import pytest

from streamdeid.aam.appearance_model import AppearanceModel, load_model
from streamdeid.aam.fit import FitModel
from streamdeid.render.light import LightFrame
from streamdeid.surrogates.gallery import Gallery, load_gallery

cv2.setNumThreads(1)
MODELS = Path(__file__).parent.parent / "models"


@pytest.fixture(scope="session")
def model() -> AppearanceModel:
    """The appearance model that ships."""
    return load_model(MODELS / "aam.npz")


@pytest.fixture(scope="session")
def gallery() -> Gallery:
    """The gallery that ships."""
    return load_gallery(MODELS / "gallery.npz")


@pytest.fixture(scope="session")
def fitting(model: AppearanceModel) -> FitModel:
    """What the fit's steps need of the model."""
    return FitModel.of(model)


@pytest.fixture(scope="session")
def light(fitting: FitModel) -> LightFrame:
    """The small frame of light."""
    return LightFrame.of(fitting)
