"""One table of settings: each is declared once, and checked, offered, read and documented from there.

A class of settings is a frozen dataclass whose fields are made by `setting`. From it come the checks (`check`), the
options of the command line (`add_options`, `given`), the settings that the cameras file may hold (`service.camera`),
and the reference in docs/settings.md (`reference`).
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from streamdeid.errors import SettingsError

_KEY = "setting"


@dataclass(frozen=True)
class Setting:
    """The declaration of one setting."""

    name: str
    default: Any
    kind: type
    """bool, int, float, str or Path; for a tuple the type of its members, where they are one of these."""
    many: bool
    """Whether the value is a tuple."""
    text: str
    group: str
    """The group of options to which it belongs; each has a heading."""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: bool = False
    """Whether the least value itself is refused."""
    unit: str = ""
    camera: bool = True
    """Whether the setting has a meaning in the cameras file."""
    option: str | None = None
    """Name on the command line, where it differs from `name`."""
    shown: str | None = None
    """Text that is shown for the default, where the value itself does not explain it."""
    commas: bool = False
    """Whether the command line takes a list in one word, with commas; otherwise the option is repeated."""
    read: Callable[[Sequence[str]], Any] | None = None
    """Makes the value from a list of texts, where it is more than a tuple of them."""

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        name = (self.option or self.name).replace("_", "-")
        return f"--no-{name}" if self.kind is bool and self.default else f"--{name}"

    @property
    def range(self) -> str:
        """The values that are allowed, in words; empty where any value is allowed."""
        unit = f" {self.unit}" if self.unit else ""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.least is not None and self.most is not None:
            if self.above:
                return f"above {self.least:g} and at most {self.most:g}{unit}"
            return f"from {self.least:g} to {self.most:g}{unit}"
        return f"at least {self.least:g}{unit}" if self.least is not None else ""

    @property
    def usual(self) -> str:
        """The default in words."""
        if self.shown is not None:
            return self.shown
        if isinstance(self.default, bool):
            return "yes" if self.default else "no"
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)


def setting(default: Any, text: str, group: str, **said: Any) -> Any:
    """A field of a class of settings; said: the other fields of `Setting`. text: one sentence for help and docs."""
    return dataclasses.field(default=default, metadata={_KEY: {"text": text, "group": group, **said}})


@functools.cache
def table(kind: Any) -> Mapping[str, Setting]:
    """The settings of a class by name, in the order of its fields."""
    hints = get_type_hints(kind)
    rows = {}
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        if isinstance(hint, UnionType) or NoneType in get_args(hint):
            (hint,) = (each for each in get_args(hint) if each is not NoneType)
        many = get_origin(hint) is tuple
        rows[field.name] = Setting(
            field.name, field.default, get_args(hint)[0] if many else hint, many, **field.metadata[_KEY]
        )
    return rows


def check(settings: Any) -> None:
    """Raise SettingsError, one line, for the first value that its setting does not allow."""
    kind: Any = type(settings)
    for name, one in table(kind).items():
        value = getattr(settings, name)
        if value is None or one.many:
            continue
        called = name.replace("_", "-")
        if one.choices and value not in one.choices:
            raise SettingsError(f"unknown {called} {value!r}; choose {one.range}")
        if one.least is None:
            continue
        most = math.inf if one.most is None else one.most
        if not (math.isfinite(value) and one.least <= value <= most) or (one.above and value == one.least):
            raise SettingsError(f"{called} must be {one.range}, not {value:g}")


def add_options(parser: argparse.ArgumentParser, kinds: Iterable[type], headings: Mapping[str, str]) -> None:
    """Declare an option for each setting of some classes. An option that is not given is None (`given`).

    headings: by group, the heading of its options; its order is the order of the groups in the help.
    """
    groups = {name: parser.add_argument_group(heading) for name, heading in headings.items()}
    for one in (one for kind in kinds for one in table(kind).values()):
        where = groups[one.group]
        if one.kind is bool and not one.many:
            where.add_argument(
                one.flag, dest=one.name, action="store_false" if one.default else "store_true", default=None,
                help=_escaped(one.text),
            )  # fmt: skip
            continue
        limits = f", {one.range}" if one.range else ""
        where.add_argument(
            one.flag, dest=one.name, metavar=one.metavar or one.name.upper(), default=None,
            type=str if one.many else one.kind, action="append" if one.many and not one.commas else "store",
            help=_escaped(f"{one.text}{limits} ({one.usual})"),
        )  # fmt: skip


def given(arguments: argparse.Namespace, kind: type) -> dict[str, Any]:
    """The values that were given on the command line, by name. Raises SettingsError for a list that is not allowed."""
    values = {}
    for one in table(kind).values():
        value = getattr(arguments, one.name)
        if value is None:
            continue
        if one.many:
            value = of_list(one, value.split(",") if one.commas else value)
        values[one.name] = value
    return values


def of_list(one: Setting, texts: Sequence[str]) -> Any:
    """The value of a setting that is a tuple, from texts."""
    if one.read is not None:
        return one.read(texts)
    return tuple(one.kind(each) for each in texts)


def reference(sections: Iterable[tuple[str, type]]) -> str:
    """Markdown tables of classes of settings under their headings."""
    lines = []
    for heading, kind in sections:
        lines += [
            f"## {heading}",
            "",
            "| setting | option | default | values | what the option does |",
            "|---|---|---|---|---|",
        ]
        for one in table(kind).values():
            values = one.range or {bool: "yes or no", int: "whole number", float: "number"}.get(one.kind, "")
            if one.many:
                values = "a list"
            if one.kind is Path and not one.many:
                values = "a path"
            where = "" if one.camera else " (command line only)"
            lines.append(f"| `{one.name}` | `{one.flag}` | {one.usual} | {values} | {one.text}{where} |")
        lines.append("")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
