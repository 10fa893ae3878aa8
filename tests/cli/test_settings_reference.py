"""One table of settings: docs, command line and cameras file tell the same."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from streamdeid.cli import filter as filter_command
from streamdeid.cli.settings_reference import settings_reference
from streamdeid.core.settings_table import check, given, setting, table
from streamdeid.errors import SettingsError
from streamdeid.service.camera import FILTER, LIVE
from streamdeid.settings import Settings
from streamdeid.video.live.settings import LiveSettings

ROOT = Path(__file__).parents[2]


def test_the_reference_in_the_docs_is_the_programs() -> None:
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert text == settings_reference(), "python -m streamdeid.cli.settings_reference > docs/settings.md"


@pytest.mark.parametrize("kind", [Settings, LiveSettings])
def test_every_setting_has_an_option_and_stands_in_the_cameras_file_if_it_means_something_there(kind: Any) -> None:
    parser = argparse.ArgumentParser()
    filter_command.add_arguments(parser)
    nothing = parser.parse_args(["in.mp4"])
    assert given(nothing, kind) == {}
    options = {option for action in parser._actions for option in action.option_strings}
    for name, one in table(kind).items():
        assert one.flag in options
        assert (name in FILTER or name in LIVE) is one.camera
        assert one.text and not one.text.endswith(".")


def test_what_is_given_on_the_command_line_arrives() -> None:
    parser = argparse.ArgumentParser()
    filter_command.add_arguments(parser)
    words = [
        "in.mp4",
        "--preserve",
        "none",
        "--no-audio",
        "--region",
        "1,2,3,4",
        "--region",
        "0,0,5%,5%",
        "--crf",
        "20",
    ]
    found = Settings(**given(parser.parse_args([*words, "--key-file", "k", "--min-face", "40"]), Settings))
    assert found.preserve == () and not found.audio and found.reentry and found.crf == 20
    assert [str(region) for region in found.regions] == ["1,2,3,4", "0,0,5%,5%"]
    assert found.key_file == Path("k") and found.min_face == 40.0


@dataclasses.dataclass(frozen=True)
class _Some:
    share: float = setting(0.5, "a share", "g", least=0.0, most=1.0, above=True)
    way: str = setting("a", "a way", "g", choices=("a", "b"))
    count: int | None = setting(None, "a count", "g", least=2)


def test_checks_are_those_of_the_table() -> None:
    check(_Some())
    check(_Some(1.0, "b", 2))
    for wrong, line in (
        ({"share": 0.0}, "share must be above 0 and at most 1, not 0"),
        ({"share": float("nan")}, "share must be above 0 and at most 1, not nan"),
        ({"way": "c"}, "unknown way 'c'; choose one of a, b"),
        ({"count": 1}, "count must be at least 2, not 1"),
    ):
        with pytest.raises(SettingsError) as caught:
            check(_Some(**wrong))  # type: ignore[arg-type]
        assert str(caught.value) == line
