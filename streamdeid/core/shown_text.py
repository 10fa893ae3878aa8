"""Text for a terminal or a log: what could steer the one, or forge a line of the other, is shown and not obeyed.

Names of files are bytes that somebody else may have chosen: line breaks, escape sequences, marks that turn the
direction of writing, bytes that are no UTF-8.
"""

from __future__ import annotations

import json
import sys
from typing import TextIO


def plain(text: str, *, keep: str = "") -> str:
    """The text with everything that is not printable as Python writes it: `\\n`, `\\x1b`, `\\u202e`, `\\udcff`.

    keep: characters that stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else _written(one) for one in text)


def _written(character: str) -> str:
    return repr(character)[1:-1]


def say(text: str, *, to: TextIO | None = None, before: str = "", end: str = "\n", keep: str = "") -> None:
    """Print a text, made `plain`; the only place that prints. Raises OSError where nobody reads.

    to: standard output where it is None. before: what is to steer the terminal. keep: as for `plain`.
    """
    print(f"{before}{plain(text, keep=keep)}", end=end, file=sys.stdout if to is None else to, flush=True)


def say_json(value: object) -> None:
    """Print a value as one line of JSON, in ASCII: no terminal and no name of a file can spoil it."""
    print(json.dumps(value), flush=True)


def json_bytes(text: str) -> bytes:
    """JSON as UTF-8; a name that is no UTF-8 has the escapes by which JSON, and Python's file names, know it."""
    return text.encode("utf-8", "backslashreplace")
