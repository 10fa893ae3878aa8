"""What could steer a terminal is shown and not obeyed, and nothing prints past that."""

from __future__ import annotations

import ast
import io
import json
import os
from pathlib import Path

import pytest

from streamdeid.cli.progress import _display
from streamdeid.core.shown_text import json_bytes, plain, say

PACKAGE = Path(__file__).parents[2] / "streamdeid"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größer 5 × ± … 日本", "größer 5 × ± … 日本"),
        ("no\nsuch\x1b[31m.mp4", "no\\nsuch\\x1b[31m.mp4"),
        ("a\r\x9b2J\x00\x07", "a\\r\\x9b2J\\x00\\x07"),
        ("gpj.\u202e4pm", "gpj.\\u202e4pm"),
        (os.fsdecode(b"b\xff.mp4"), "b\\udcff.mp4"),
    ],
)
def test_a_text_is_plain(text: str, shown: str) -> None:
    assert plain(text) == shown and plain(shown) == shown
    to = io.StringIO()
    say(text, to=to, before="\r\033[K")
    assert to.getvalue() == f"\r\033[K{shown}\n"


def test_lines_of_ours_stay_lines() -> None:
    assert plain("one\n\ttwo\x1b", keep="\n\t") == "one\n\ttwo\\x1b"


def test_a_name_that_is_no_utf_8_comes_back_from_json() -> None:
    name = os.fsdecode(b"b\xff \xc3\xbc.mp4")
    data = json_bytes(json.dumps({"name": name}, ensure_ascii=False))
    assert json.loads(data)["name"] == name and "ü".encode() in data


def test_nothing_prints_past_it() -> None:
    """`print` is called in one file only; every other says what it has to say through `say`."""
    users = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
        if any(isinstance(one.func, ast.Name) and one.func.id == "print" for one in calls):
            users.add(str(path.relative_to(PACKAGE)))
    assert users == {"core/shown_text.py"}


def test_the_bar_takes_no_name_for_a_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = _display(False).columns
    assert [one.markup for one in columns] == [False]  # type: ignore[union-attr]
