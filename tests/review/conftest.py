"""One drawn recording for all tests of the desk."""

from __future__ import annotations

import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.surrogates.gallery import Gallery
from tests.review.drawn_review import Review, drawn_review


@pytest.fixture(scope="session")
def review(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Review:
    """Two drawn people, 30 frames."""
    return drawn_review(tmp_path_factory.mktemp("review"), fitting, gallery)
