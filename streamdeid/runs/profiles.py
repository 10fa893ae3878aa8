"""Profiles: settings that belong together, under one name. Settings given beside a profile override it.

A profile lowers only settings for which a saving was measured, and no setting by which faces are found or redacted
(docs/benchmarks.md, "An edge box").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from streamdeid.errors import SettingsError
from streamdeid.settings import Settings


@dataclass(frozen=True)
class Profile:
    """Values that replace the defaults, by name of setting."""

    text: str
    """What the profile is for, in a line for help and reference."""
    settings: Mapping[str, Any]
    """Values for `Settings`."""
    live: Mapping[str, Any]
    """Values for `video.live.settings.LiveSettings`; they have no effect on recordings."""


EDGE = "edge"
PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        EDGE: Profile(
            "one core and 512 MiB for one camera: 480 lines and 15 frames a second of whatever it sends, and the "
            "quickest encoder (a fifth to two fifths more data; recordings take that alone, and two to three times "
            "the data)",
            MappingProxyType({"preset": "ultrafast"}),
            MappingProxyType({"most_rate": 15.0, "most_lines": 480}),
        ),
    }
)
"""All profiles by name, for `--profile` and for `profile` in the cameras file."""


def profile_of(name: str | None) -> Profile:
    """The profile of a name; for None one that sets nothing. Raises SettingsError."""
    if name is None:
        return Profile("the defaults", {}, {})
    if name not in PROFILES:
        raise SettingsError(f"unknown profile {name!r}; choose one of {', '.join(PROFILES)}")
    return PROFILES[name]


def profile_settings(name: str, **chosen: Any) -> Settings:
    """`Settings` of a profile; the settings in `chosen` override it. Raises SettingsError."""
    return Settings(**{**profile_of(name).settings, **chosen})


def profile_reference() -> str:
    """The Markdown table of all profiles."""
    lines = ["| profile | for | settings |", "|---|---|---|"]
    for name, one in PROFILES.items():
        values = ", ".join(f"`{key}` {_shown(value)}" for key, value in {**one.settings, **one.live}.items())
        lines.append(f"| `{name}` | {one.text} | {values} |")
    return "\n".join(lines)


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
