"""`mutations` changes one place at a time, in code and nowhere else, and takes it back."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.faults import mutations
from benchmarks.faults.mutations import Mutation, drawn

SOURCE = '''"""A < B, and 2.5."""

LIMIT: float = 2.5
"""At most 2.5 of 3."""


def inside(a: float, b: int = 3) -> bool:
    """not this: 1.5 + 2"""
    name = f"{a + 1.5} é"
    if not (a < LIMIT and b > 0) or [1] + [2] == []:
        return a + 0.5 == b
    return name != "é"
'''


def test_code_is_changed_and_words_are_not() -> None:
    found = {(one.old, one.new) for one in mutations.mutations(SOURCE, "x.py")}
    assert found == {
        ("2.5", "3.75"),
        ("a < LIMIT", "a >= LIMIT"),
        ("b > 0", "b <= 0"),
        ("a < LIMIT and b > 0", "(a < LIMIT) or (b > 0)"),
        ("not (a < LIMIT and b > 0)", "bool(a < LIMIT and b > 0)"),
        ("not (a < LIMIT and b > 0) or [1] + [2] == []", "(not (a < LIMIT and b > 0)) and ([1] + [2] == [])"),
        ("[1] + [2] == []", "[1] + [2] != []"),
        ("a + 0.5", "a - 0.5"),
        ("0.5", "0.75"),
        ("a + 0.5 == b", "a + 0.5 != b"),
        ('name != "é"', 'name == "é"'),
    }


def test_each_is_applied_in_its_place_and_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(SOURCE, encoding="utf-8")
    for one in mutations.mutations(SOURCE, "x.py"):
        one.apply(tmp_path)
        text = path.read_text(encoding="utf-8")
        ast.parse(text)
        assert text != SOURCE and one.new in text.splitlines()[one.line - 1]
        one.undo(tmp_path)
        assert path.read_text(encoding="utf-8") == SOURCE


def test_as_many_are_drawn_of_each_room_and_the_same_for_a_seed() -> None:
    rooms = ["protect", "identity", "k_same"]
    found = drawn(mutations.ROOT, rooms, 8, 3)
    assert [sum(one.path.startswith(f"streamdeid/{room}/") for one in found) for room in rooms] == [3, 3, 2]
    assert found == drawn(mutations.ROOT, rooms, 8, 3) != drawn(mutations.ROOT, rooms, 8, 4)
    with pytest.raises(ValueError, match="no room"):
        drawn(mutations.ROOT, ["attic"], 1, 0)


def test_the_first_tests_that_fail_are_told_and_the_file_is_as_before(tmp_path: Path) -> None:
    """In a program of one function with one test."""
    room, tests = tmp_path / "streamdeid" / "room", tmp_path / "tests" / "room"
    for folder in (room, tests, tmp_path / "tests" / "runs"):
        folder.mkdir(parents=True)
    source = "def large(x):\n    return x > 2.0\n\n\ndef small(x):\n    return x < 1.5\n"
    (room / "a.py").write_text(source)
    (tests / "test_a.py").write_text(
        "import sys\nsys.path.insert(0, 'streamdeid/room')\nfrom a import large\n\n\n"
        "def test_large():\n    assert large(9) and not large(1)\n"
    )
    for name in mutations._SECOND:
        (tmp_path / name).write_text("def test_nothing():\n    pass\n")
    told = {one.old: mutations.noticed(tmp_path, one, 1) for one in _all(source)}
    assert told == {"x > 2.0": "tests/room/test_a.py::test_large", "2.0": "", "x < 1.5": "", "1.5": ""}
    assert (room / "a.py").read_text() == source


def _all(source: str) -> list[Mutation]:
    return list(mutations.mutations(source, "streamdeid/room/a.py"))
