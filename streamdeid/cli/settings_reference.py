"""The reference of all settings: `python -m streamdeid.cli.settings_reference > docs/settings.md`."""

from __future__ import annotations

from streamdeid.core.settings_table import reference
from streamdeid.settings import Settings
from streamdeid.video.live.settings import LiveSettings

_HEAD = """\
# Settings

Made from the program's own table by `python -m streamdeid.cli.settings_reference`. A setting is a field of
`streamdeid.Settings`, an option of `streamdeid filter`, and a name in the cameras file of `streamdeid serve`, where not
said otherwise. What is out of range is refused with one line and exit code 2.
"""


def settings_reference() -> str:
    """The text of docs/settings.md."""
    return _HEAD + "\n" + reference([("Filter", Settings), ("Live streams", LiveSettings)])


if __name__ == "__main__":
    print(settings_reference(), end="")
