"""The benchmark of registers counts who kept a face, and who wore another's."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.people.register import Faces
from benchmarks.people.register_clips import Recording
from benchmarks.people.register_run import Sighted


def seen(faces: int = 10, **shown: dict[str, int]) -> Sighted:
    templates = [(name, np.array([float(len(name)), 0.0])) for name in shown]
    return Sighted(5, faces, {name: Counter(counts) for name, counts in shown.items()}, templates, 0.5, {})


def test_kept_is_the_face_of_the_first_recording() -> None:
    faces = Faces()
    runs = [seen(anna={"a": 5}, bo={"b": 4, "x": 1}), seen(anna={"a": 3, "y": 2}, bo={"z": 5}), seen(bo={"b": 2})]
    for one in runs:
        faces.add(one)
    row = faces.row("three", runs)
    assert (row["people"], row["faces"], row["own face"], row["kept"]) == (2, 30, 22 / 30, "2 of 3")
    assert row["first face"] == 5 / 12 and row["faces a person"] == 5 / 2
    assert (row["mixed up"], row["times"]) == (0, 0)
    assert row["apart, one person (median, farthest)"] == "0.000, 0.000" and row["apart, two (nearest)"] == "2.000"
    assert row["CPU ms per frame"] == 100.0


def test_who_wears_a_face_that_was_anothers_is_mixed_up() -> None:
    faces = Faces()
    for one in (seen(anna={"a": 5}), seen(bo={"b": 3, "a": 2}), seen(anna={"b": 1, "a": 4})):
        faces.add(one)
    assert faces.mixed == {"anna", "bo"} and faces.wrong == 3
    assert faces.kept == [True]


def test_who_is_where_in_a_recording() -> None:
    two = Recording(Path("x"), (("anna", "bo"), ("carl",)))
    assert [two.person(0, share) for share in (0.2, 0.7)] == ["anna", "bo"]
    assert two.person(49, 0.2) == "anna" and two.person(50, 0.2) is None and two.person(60, 0.2) == "carl"
    assert two.person(60, 0.7) is None and two.people == {"anna", "bo", "carl"}
    assert Recording(Path("x"), (("anna", "anna"),)).person(999, 0.9) == "anna"
