"""No file is two things to a command: the table knows every command, and the check every way to name one file twice."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from streamdeid.cli import main as command_line
from streamdeid.core.named_files import (
    ANALYSIS,
    COMMANDS,
    INPUT,
    KEY,
    OUTPUT,
    REGISTER,
    REPORT,
    Named,
    check_named,
    lock_of,
)
from streamdeid.errors import SettingsError

_PATHS = {
    "filter": {"analysis", "edits", "report", "key_file", "register", "models"},
    "serve": {"file"},
    "register": {"key_file"},
    "review": {"recording", "analysis", "output", "edits", "key_file"},
    "demo": {"out"},
    "compare": {"original", "result", "sheet"},
    "train": {"images", "out", "space_of", "rule_for"},
    "evaluate": {"faces", "out", "videos", "people", "recogniser", "models"},
    "audit": {"report", "files"},
    "warmup": {"cache"},
}
"""Options of each command that name a file or a folder: each stands in what the command hands to the check."""


def _itself(path: Path) -> Path:
    return path


def _roundabout(path: Path) -> Path:
    (path.parent / "folder").mkdir()
    return path.parent / "folder" / ".." / path.name


def _linked(path: Path) -> Path:
    link = path.parent / "link"
    link.symlink_to(path.name)
    return link


def _linked_folder(path: Path) -> Path:
    (path.parent / "there").symlink_to(path.parent)
    return path.parent / "there" / path.name


def _hard_linked(path: Path) -> Path:
    link = path.parent / "hard"
    os.link(path, link)
    return link


SAME = (_itself, _roundabout, _linked, _linked_folder)


def _pairs() -> list[tuple[str, str, str]]:
    """Of each command: what it writes, and everything else."""
    return [
        (command, written, other)
        for command, uses in COMMANDS.items()
        for written in uses.writes
        for other in (*uses.reads, *uses.writes)
        if other != written
    ]


def test_the_table_has_every_command() -> None:
    assert COMMANDS.keys() == command_line._COMMANDS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_that_names_a_file_is_known(command: str) -> None:
    """Who adds one is told here to hand it to the check, and to give it a role."""
    (found,) = (
        one.choices[command] for one in command_line._parser([command])._actions if isinstance(one.choices, dict)
    )
    parsers = [found]
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            parsers += action.choices.values()
    paths = {one.dest for parser in parsers for one in parser._actions if one.type is Path}
    assert paths == _PATHS[command]


@pytest.mark.parametrize("there", [True, False], ids=["there", "not there yet"])
@pytest.mark.parametrize("same", SAME)
def test_one_file_is_not_two_things(same: Callable[[Path], Path], there: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    if there:
        path.write_bytes(b"kept")
    again = same(path)
    pairs = _pairs()
    assert len(pairs) > 100
    for command, written, other in pairs:
        for one, two in ((path, again), (again, path)):
            with pytest.raises(SettingsError, match="itself; choose another"):
                check_named(command, [Named(written, one), Named(other, two)])
    assert path.exists() == there


def test_hard_links_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"kept")
    with pytest.raises(SettingsError, match="hard is the input itself; choose another report"):
        check_named("filter", [Named(INPUT, path), Named(REPORT, _hard_linked(path))])


def test_results_of_two_recordings_need_two_names(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be the output of both"):
        check_named("filter", [Named(OUTPUT, tmp_path / "a"), Named(OUTPUT, _roundabout(tmp_path / "a"))])


def test_what_goes_together_is_not_refused(tmp_path: Path) -> None:
    """Recordings may share a key, cameras a register; a lock lies beside its file; two inputs may be one."""
    paths = {name: tmp_path / name for name in ("in", "out", "key", "people", "report", "analysis")}
    shared = [Named(KEY, paths["key"]), Named(REGISTER, paths["people"])]
    names = [Named(INPUT, paths["in"]), Named(INPUT, paths["in"]), Named(OUTPUT, paths["out"])]
    names += [Named(REPORT, paths["report"]), Named(ANALYSIS, paths["analysis"])]
    check_named("filter", [*names, *shared, *shared])
    assert lock_of(paths["people"]) not in paths.values()
    (tmp_path / "loop").symlink_to("loop")
    check_named("filter", [Named(INPUT, paths["in"]), Named(OUTPUT, tmp_path / "loop")])


def test_a_role_that_the_table_does_not_know_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="audit is not said to use a register"):
        check_named("audit", [Named(REGISTER, tmp_path / "a")])
