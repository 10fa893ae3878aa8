"""Fixtures shared by the suite: the shipped models, loaded once per session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: more threads only get in each other's way here

import cv2
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.render.light import LightFrame
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import Models, load_models

cv2.setNumThreads(1)
MODELS = Path(__file__).parent.parent / "models"


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before workers begin, all kernels are compiled once: else each of them, and what they start, would compile."""
    fresh = not list(MODELS.parent.glob("streamdeid/*/__pycache__/*.kernel"))
    if session.config.getoption("numprocesses", None) or (fresh and not hasattr(session.config, "workerinput")):
        program = "from streamdeid.runs.compiled_beside import compile_listed; compile_listed()"
        subprocess.run([sys.executable, "-c", program], cwd=MODELS.parent, check=True)


@pytest.fixture(scope="session", autouse=True)
def shipped_models() -> Models:
    """The models that ship. Held for the session, so that no run that a test starts here reads them again."""
    return load_models(MODELS)


@pytest.fixture(scope="session")
def model(shipped_models: Models) -> AppearanceModel:
    """The appearance model that ships."""
    return shipped_models.fitting.model


@pytest.fixture(scope="session")
def gallery(shipped_models: Models) -> Gallery:
    """The gallery that ships."""
    return shipped_models.gallery


@pytest.fixture(scope="session")
def fitting(shipped_models: Models) -> FitModel:
    """What the fit's steps need of the model."""
    return shipped_models.fitting


@pytest.fixture(scope="session")
def light(fitting: FitModel) -> LightFrame:
    """The small frame of light."""
    return LightFrame.of(fitting)
