"""The README's recipes do what they say."""

from __future__ import annotations

import pydoc
import re
import textwrap
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streamdeid
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Frame
from tests.tiny_onnx import one_box_network

ROOT = Path(__file__).parents[2]
README, LIBRARY = ROOT / "README.md", ROOT / "docs" / "library.md"


def test_another_detector_plugs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipes = [part.split("```")[0] for part in LIBRARY.read_text(encoding="utf-8").split("```python\n")[1:]]
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


def _blocks(text: str, mark: str) -> list[str]:
    """The indented code after each line of a docstring that ends with `::`."""
    return [textwrap.dedent(re.split(r"\n(?=\S)", part)[0]) for part in text.split("::\n")[1:] if mark in part]


def test_the_five_lines_of_the_readme() -> None:
    recipes = [part.split("```")[0] for part in README.read_text(encoding="utf-8").split("```python\n")[1:]]
    recipe = next(recipe for recipe in recipes if "with Filter() as" in recipe)
    assert len(recipe.splitlines()) <= 5
    frame = np.full((120, 160, 3), 90, np.uint8)
    names: dict[str, Any] = {"frame": frame}
    exec(compile(recipe, "README.md", "exec"), names)
    assert np.array_equal(names["filtered"], frame) and names["filtered"] is not frame  # there is no face in it


def test_what_help_shows_runs() -> None:
    first, plugged, camera = _blocks(streamdeid.__doc__ or "", "Filter(")
    names: dict[str, Any] = {}
    for block in (first, plugged):
        assert len(block.strip().splitlines()) <= 8
        exec(compile(block, "streamdeid.__doc__", "exec"), names)
    changed = (names["safe"] != names["picture"]).any(axis=2)
    assert changed.any() and not changed[:10].any() and not changed[:, 300:].any()  # the place that was named
    assert (names["picture"] == 200).all() and names["safe"].shape == names["picture"].shape
    assert "streamdeid.warm_up()" in camera
    exec(compile(camera.replace("streamdeid.warm_up()", ""), "streamdeid.__doc__", "exec"), names)
    empty = np.full((120, 160, 3), 90, np.uint8)
    given = [(0.0, empty), (0.04, empty), (0.08, empty.astype(np.uint8))]
    assert len(list(names["safe_pictures"](given))) == 3
    broken = [(0.0, empty), (0.04, empty[:60])]  # a ValueError is a mistake of the program, and is not swallowed
    with pytest.raises(ValueError):
        list(names["safe_pictures"](broken))


def test_help_names_what_is_exported() -> None:
    page = pydoc.render_doc(streamdeid)
    for topic in ("Sizes.", "Threads.", "Errors.", "Closing.", "Start.", "Cost."):
        assert topic in page
    for name in streamdeid.__all__:
        assert getattr(streamdeid, name).__doc__, name
        assert getattr(streamdeid, name) is getattr(streamdeid, name)
