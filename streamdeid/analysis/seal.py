"""The seal of an analysis file: by it the holder of the run's key can tell whether anything in the file was changed.

The seal is an HMAC-SHA256 over the header and the chunks as they stand in the file, the index unpacked, and the end
without the seal. The CRCs of a file detect damage; they do not stop an attacker, who can write new ones.
"""

from __future__ import annotations

import hmac
from dataclasses import replace

from streamdeid.analysis import layout

_PURPOSE = b"streamdeid seal of an analysis"


class Seal:
    """Computes the seal from the bytes of a file, given in order while they are written or read."""

    def __init__(self, key: bytes) -> None:
        """key: the secret of the run. The sealing key is derived from it and reveals nothing about it."""
        self._mac = hmac.new(hmac.digest(key, _PURPOSE, "sha256"), digestmod="sha256")

    def add(self, data: bytes) -> None:
        """Add the next bytes of the header and the chunks."""
        self._mac.update(data)

    def over(self, end: layout.End, index: bytes) -> str:
        """The seal, 64 hexadecimal digits. end: its seal field is ignored. index: unpacked."""
        text = layout.end_text(replace(end, end=replace(end.end, seal="")))
        whole = self._mac.copy()
        for part in (index, text):
            whole.update(len(part).to_bytes(8, "little") + part)
        return whole.hexdigest()
