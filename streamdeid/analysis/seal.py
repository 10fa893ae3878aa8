"""The seal of an analysis file: who has the key that it was made with can tell whether anything of it was changed.

HMAC-SHA256 over header and chunks as they stand in the file, the index unpacked, and the end without the seal. The
CRCs of a file find damage; they are no help against somebody who writes new ones.
"""

from __future__ import annotations

import hmac
from dataclasses import replace

from streamdeid.analysis import layout

_PURPOSE = b"streamdeid seal of an analysis"


class Seal:
    """Takes the bytes of a file in order, while they are written or read."""

    def __init__(self, key: bytes) -> None:
        """key: the secret of the run; what seals is made of it, and says nothing about it."""
        self._mac = hmac.new(hmac.digest(key, _PURPOSE, "sha256"), digestmod="sha256")

    def add(self, data: bytes) -> None:
        """The next bytes of header and chunks."""
        self._mac.update(data)

    def over(self, end: layout.End, index: bytes) -> str:
        """The seal, 64 hexadecimal digits. end: its own seal does not matter. index: unpacked."""
        text = layout.end_text(replace(end, end=replace(end.end, seal="")))
        whole = self._mac.copy()
        for part in (index, text):
            whole.update(len(part).to_bytes(8, "little") + part)
        return whole.hexdigest()
