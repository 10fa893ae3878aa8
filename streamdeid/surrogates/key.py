"""The secret key of a session, and the random numbers that are derived from it.

Pseudo-random function: HMAC-SHA256 under the key of ``streamdeid/1 NUL purpose NUL person attempt`` (person and attempt
as 8 bytes, big endian). The 256-bit result seeds a `numpy.random.Generator` (PCG64 behind a SeedSequence). The same key
gives the same numbers with the same numpy; without the key no sample tells anything about another.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

import numpy as np

from streamdeid.core.system_reason import system_reason
from streamdeid.errors import SettingsError

KEY_BYTES = 32
LEAST_KEY_BYTES = 16
MOST_KEY_BYTES = 65536


def new_key() -> bytes:
    """Fresh random bytes from the operating system, for a session whose surrogates nobody can sample again."""
    return secrets.token_bytes(KEY_BYTES)


def check_key(key: bytes) -> bytes:
    """The key itself, or SettingsError when it is too short to be a secret."""
    if len(key) < LEAST_KEY_BYTES:
        raise SettingsError(f"a key needs at least {LEAST_KEY_BYTES} bytes, this one has {len(key)}")
    return key


def read_key_file(path: Path) -> bytes:
    """The bytes of a key file, line ends included. Raises SettingsError; its message never shows the key."""
    try:
        with path.open("rb") as file:
            # A bound, so that a device such as /dev/zero does not fill the memory.
            key = file.read(MOST_KEY_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"cannot read key file {path}: {system_reason(error, as_told=True)}") from error
    if len(key) > MOST_KEY_BYTES:
        raise SettingsError(f"key file {path} is larger than {MOST_KEY_BYTES} bytes")
    return check_key(key)


def read_by_everybody(path: Path) -> bool:
    """Whether everybody on the machine may read a file, as far as its own rights tell; False where there is no such
    file."""
    if os.name != "posix":
        return False
    try:
        return bool(path.stat().st_mode & stat.S_IROTH)
    except OSError:
        return False


def warning_of(path: Path) -> str | None:
    """The warning for a user who names a key file that everybody may read; None for any other file."""
    if not read_by_everybody(path):
        return None
    return f"key file {path} can be read by everybody, who can make its faces again with it (chmod o-r)"


def generator(key: bytes, purpose: str, person: int = 0, attempt: int = 0) -> np.random.Generator:
    """Random numbers that depend on key, purpose, person number (≥ 0) and attempt (≥ 0), and on nothing else."""
    message = b"streamdeid/1\0" + purpose.encode() + b"\0" + person.to_bytes(8, "big") + attempt.to_bytes(8, "big")
    digest = hmac.new(key, message, hashlib.sha256).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
