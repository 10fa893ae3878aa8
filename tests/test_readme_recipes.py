"""The README's recipes do what they say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamdeid.colour import planes_from_rgb
from streamdeid.frames import Frame
from tests.tiny_onnx import one_box_network

README = Path(__file__).parent.parent / "README.md"


def test_another_detector_plugs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipes = [part.split("```")[0] for part in README.read_text(encoding="utf-8").split("```python\n")[1:]]
    recipe = next(recipe for recipe in recipes if "ONNX" in recipe)
    code = recipe.split("with Filter(")[0]  # the network here knows no face: nothing to filter
    (tmp_path / "faces.onnx").write_bytes(one_box_network((0.25, 0.5, 0.5, 0.75, 0.9), 320))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), names)
    picture = Frame(planes_from_rgb(np.full((240, 320, 3), 128, np.uint8)), Fraction(0), 0)
    faces = names["detect"](picture)
    assert [face.box for face in faces] == [pytest.approx((80, 120, 160, 180))]
    assert faces[0].score == pytest.approx(0.9)
    names["detect"].close()
