"""Prints the reference of all settings: `python -m streamdeid.cli.settings_reference > docs/settings.md`."""

from __future__ import annotations

from streamdeid.core.settings_table import reference
from streamdeid.core.shown_text import say
from streamdeid.runs.profiles import profile_reference
from streamdeid.settings import Settings
from streamdeid.video.live.settings import LiveSettings

_HEAD = """\
# Settings

Made from the program's own table by `python -m streamdeid.cli.settings_reference`. A setting is a field of
`streamdeid.Settings`, an option of `streamdeid filter`, and a name in the cameras file of `streamdeid serve`, where not
said otherwise. What is out of range is refused with one line and exit code 2.
"""

_PROFILES = """\
## Profiles

`--profile NAME`, `profile = "NAME"` in the cameras file (for a camera, or under `[defaults]`) and
`streamdeid.profile_settings("NAME")` stand for these values instead of the defaults. What is given beside it wins.
"""


def settings_reference() -> str:
    """The text of docs/settings.md."""
    tables = reference([("Filter", Settings), ("Live streams", LiveSettings)])
    return f"{_HEAD}\n{tables}\n{_PROFILES}\n{profile_reference()}\n"


if __name__ == "__main__":
    say(settings_reference(), end="", keep="\n")
