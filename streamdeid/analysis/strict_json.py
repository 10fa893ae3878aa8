"""Reads JSON that somebody else may have written: every key and every value is checked, unknown keys are refused.

A value that does not fit raises `Unfit`, whose text says where it stands. The readers put the file's name before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

_LARGEST = 1 << 53
"""Beyond this, JSON readers do not agree about the value of a whole number."""
_FRACTION = re.compile(r"(-?\d{1,19})/(\d{1,19})")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_Value = TypeVar("_Value")


class Unfit(Exception):
    """A value that does not fit; the text tells the user what is wrong, without the file's name."""


def parsed(data: bytes) -> object:
    """The value of JSON in UTF-8. Raises Unfit for bytes that are not JSON, repeat a key, or hold NaN or infinity."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_not_finite)
    except Unfit:
        raise
    except RecursionError as error:
        raise Unfit("it is nested too deeply") from error
    except ValueError as error:  # from the decoder, or from a number with thousands of digits
        raise Unfit("it is not JSON") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unfit("a key is there twice")
    return found


def _not_finite(text: str) -> None:
    raise Unfit(f"{text} is not a number")


class Fields:
    """A JSON object that must have exactly the expected keys."""

    def __init__(self, value: object, where: str, keys: Sequence[str]) -> None:
        """where: name of the object in messages. keys: exactly the keys that it must have. Raises Unfit."""
        if not isinstance(value, dict):
            raise Unfit(f"{where} is not an object")
        for key in value:
            if key not in keys:
                raise Unfit(f"{where} has an unknown key {shown(key)}")
        for key in keys:
            if key not in value:
                raise Unfit(f"{where} has no {key}")
        self._values: Mapping[str, object] = value
        self._where = where

    def __getitem__(self, key: str) -> object:
        return self._values[key]

    def text(self, key: str, most: int = 200) -> str:
        """A text of at most `most` printable characters."""
        value = self._values[key]
        if not isinstance(value, str) or len(value) > most or not value.isprintable():
            raise Unfit(f"{self._where}: {key} is not a text of at most {most} characters")
        return value

    def sha256(self, key: str, *, empty: bool = False) -> str:
        """64 hexadecimal digits; with `empty` also an empty text."""
        value = self._values[key]
        if empty and value == "":
            return ""
        if not isinstance(value, str) or not _SHA256.fullmatch(value):
            raise Unfit(f"{self._where}: {key} is not a SHA-256")
        return value

    def whole(self, key: str, least: int = 0, most: int = _LARGEST) -> int:
        """A whole number from `least` to `most`."""
        return whole(self._values[key], f"{self._where}: {key}", least, most)

    def fraction(self, key: str) -> Fraction:
        """An exact number, written "numerator/denominator"."""
        value = self._values[key]
        match = _FRACTION.fullmatch(value) if isinstance(value, str) else None
        if match is None or not int(match[2]):
            raise Unfit(f"{self._where}: {key} is not a fraction")
        return Fraction(int(match[1]), int(match[2]))

    def list_of(self, key: str, one: Callable[[object, str], _Value], most: int) -> tuple[_Value, ...]:
        """A list of at most `most` values. `one` reads each of them, given the value and where it stands."""
        value = self._values[key]
        if not isinstance(value, list) or len(value) > most:
            raise Unfit(f"{self._where}: {key} is not a list of at most {most:,}")
        return tuple(one(item, f"{self._where}: {key} {number}") for number, item in enumerate(value, 1))


def whole(value: object, where: str, least: int = 0, most: int = _LARGEST) -> int:
    """A whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Unfit(f"{where} is not a whole number from {least:,} to {most:,}")
    return value


def number(value: object, where: str, most: float) -> float:
    """A finite number from -most to most."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > most or value != value:
        raise Unfit(f"{where} is not a number from -{most:,} to {most:,}")
    return float(value)


def shown(text: str) -> str:
    """A foreign text as a message may show it: short and on one line."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
