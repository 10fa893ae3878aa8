"""Text for a terminal or a log, in which characters that control a terminal or forge a line of a log are only shown.

Names of files are bytes that somebody else may have chosen: they may hold line breaks, escape sequences, marks that
change the direction of writing, or bytes that are not UTF-8.
"""

from __future__ import annotations

import json
import sys
from typing import TextIO


def plain(text: str, *, keep: str = "") -> str:
    """The text with characters that are not printable written as in Python: `\\n`, `\\x1b`, `\\u202e`, `\\udcff`.

    keep: characters that stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else _written(one) for one in text)


def _written(character: str) -> str:
    return repr(character)[1:-1]


def say(text: str, *, to: TextIO | None = None, before: str = "", end: str = "\n", keep: str = "") -> None:
    """Print a text, made `plain`; all printing of text goes through here. Raises OSError where nobody reads.

    to: standard output where it is None. before: characters that control the terminal. keep: as for `plain`.
    """
    print(f"{before}{plain(text, keep=keep)}", end=end, file=sys.stdout if to is None else to, flush=True)


def say_json(value: object) -> None:
    """Print a value as one line of JSON, in ASCII: no terminal and no name of a file can spoil it."""
    print(json.dumps(value), flush=True)


def json_bytes(text: str) -> bytes:
    """JSON as UTF-8; names that are not UTF-8 are written with the escapes of JSON and of Python's file names."""
    return text.encode("utf-8", "backslashreplace")
