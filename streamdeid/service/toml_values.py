"""Strict checks of values in a TOML file: a bool is not a number; for a wrong name a similar name is suggested."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, cast

from streamdeid.core.settings_table import Setting, of_list
from streamdeid.errors import SettingsError

Table = Mapping[str, object]
_LARGEST = 2**31 - 1
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PASSWORD = re.compile(
    r"://[^/\s]*:[^\s]+@|[?&;][\w.-]*(?:pass|pwd|token|secret|key|auth|sig)[\w.-]*=[^&;\s]", re.IGNORECASE
)
_NOT_DOTS = re.compile(
    r'''"""(?:[^"\\]|\\.|"{1,2}(?!"))*(?:"{3,5})?'''
    r"""|'{3}(?:[^']|'{1,2}(?!'))*(?:'{3,5})?"""
    r"""|"(?:[^"\\\n]|\\[^\n])*"?|'[^'\n]*'?|#[^\n]*|[\w \t-]+""",
    re.DOTALL,
)
"""Matches texts, comments, words and blanks of TOML. A text without an end ends with its line or the file, as in the
parser, so no part of the file is read twice."""
_DOTS = re.compile(r"\.+")


def most_parts(document: str) -> int:
    """Number of parts of the longest dotted key of a TOML document before parsing; it is never too small."""
    return 1 + max(map(len, _DOTS.findall(_NOT_DOTS.sub("", document))), default=0)


def text(name: str, value: object) -> str:
    """A text that is not empty and has no control characters. Raises SettingsError, like all functions of this kind."""
    if not isinstance(value, str):
        raise SettingsError(f"{name} must be a text in quotes, not {_kind(value)}")
    if not value.strip() or not value.isprintable():
        raise SettingsError(f"{name} must be a text of printable characters that is not empty")
    return value


def whole(name: str, value: object) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise SettingsError(f"{name} must be a whole number, not {_kind(value)}")
    if abs(value) > _LARGEST:
        raise SettingsError(f"{name} is far too large")
    return value


def number(name: str, value: object) -> float:
    """A number, whole or not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SettingsError(f"{name} must be a number, not {_kind(value)}")
    if abs(value) > _LARGEST:
        raise SettingsError(f"{name} is far too large")
    return float(value)


def truth(name: str, value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise SettingsError(f"{name} must be true or false, not {_kind(value)}")
    return value


def path(name: str, value: object) -> Path:
    """A path."""
    return Path(text(name, value))


def texts(name: str, value: object) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list):
        raise SettingsError(f"{name} must be a list of texts in brackets, not {_kind(value)}")
    return tuple(text(f"{name}, item {number},", each) for number, each in enumerate(value, 1))


def value(setting: Setting, given: object) -> Any:
    """The checked value of a setting, by the kind in the setting's table."""
    if setting.many:
        return of_list(setting, texts(setting.name, given))
    return _READERS[setting.kind](setting.name, given)


def table(name: str, value: object) -> Table:
    """A table."""
    if not isinstance(value, dict):
        raise SettingsError(f"{name} must be a table, not {_kind(value)}")
    return cast(Table, value)


_READERS: Mapping[type, Callable[[str, object], Any]] = {bool: truth, int: whole, float: number, str: text, Path: path}


def check_names(given: Table, known: Collection[str]) -> None:
    """Raise SettingsError for the first unknown name, with the most similar known name."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name.replace("-", "_"), known, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(known))}"
            raise SettingsError(f"unknown setting {name!r}{hint}")


def filled_in(name: str, value: str, environment: Mapping[str, str]) -> tuple[str, set[str]]:
    """The text with each `${NAME}` replaced from the environment, and these names.

    Raises SettingsError for a variable that is not set or not written properly. Values are inserted unchanged: the user
    has to percent-encode a password with special characters.
    """
    names = set(_VARIABLE.findall(value))
    for each in sorted(names):
        if each not in environment:
            raise SettingsError(f"{name} needs the environment variable {each}, which is not set")
    filled = _VARIABLE.sub(lambda match: environment[match[1]], value)
    if "${" in _VARIABLE.sub("", value):
        raise SettingsError(f"{name}: a variable is written ${{NAME}}, in letters, digits and _")
    return text(name, filled), names


def holds_password(value: str) -> bool:
    """Whether an address in the file holds a password or another secret directly, not by `${NAME}`."""
    return _PASSWORD.search(_VARIABLE.sub("", value)) is not None


def _kind(value: object) -> str:
    kinds = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or time")
