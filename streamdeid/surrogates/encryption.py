"""Encrypted files: nobody without the key can read one, or change it unnoticed.

The cipher is AES-256-GCM (NIST SP 800-38D). Each writing has a key of its own, which HKDF-SHA256 (RFC 5869) derives
from the user's key, a fresh salt and the purpose. So no key is ever used with a nonce twice, and what one file tells is
of no use for another. Sixteen bytes that are derived along with it tell a holder of a key whether it is the right one.

    magic  version  salt  nonce  check | ciphertext with tag
       20        1    32     12     16

What stands before the ciphertext is authenticated with it. The library `cryptography` is imported here only (extra
`register`).
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamdeid.errors import SettingsError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEY, _SALT, _NONCE, _CHECK, _TAG = 32, 32, 12, 16, 16


class NotDecryptedError(ValueError):
    """Why a file cannot be decrypted, in words that follow its name."""


class OtherKeyError(NotDecryptedError):
    """The file was written with another key."""


@dataclass(frozen=True)
class Kind:
    """A kind of encrypted file."""

    magic: bytes
    """20 bytes."""
    version: int
    """0 to 255."""
    purpose: bytes
    """The purpose that keys are derived for: the keys of one kind of file open no other kind."""
    called: str
    """The name of the kind in words for the user, as in "a register of streamdeid"."""

    @property
    def _start(self) -> bytes:
        return self.magic + bytes([self.version])

    @property
    def overhead(self) -> int:
        """Number of bytes by which a file is larger than its content."""
        return len(self._start) + _SALT + _NONCE + _CHECK + _TAG

    def encrypted(self, key: bytes, plain: bytes) -> bytes:
        """The bytes of a file with this content. Raises SettingsError where `cryptography` is not installed."""
        salt, nonce = secrets.token_bytes(_SALT), secrets.token_bytes(_NONCE)
        own, check = self._derived(key, salt)
        head = self._start + salt + nonce + check
        sealed: bytes = _aes(own).encrypt(nonce, plain, head)
        return head + sealed

    def decrypted(self, key: bytes, data: bytes) -> bytes:
        """The content of a file. Raises NotDecryptedError, and SettingsError where `cryptography` is not installed."""
        from_start = len(self._start)
        if data[: len(self.magic)] != self.magic:
            raise NotDecryptedError(f"is not {self.called}")
        if data[:from_start] != self._start:
            version = data[from_start - 1] if len(data) >= from_start else "unknown"
            raise NotDecryptedError(
                f"was written by another version of streamdeid (format {version}, not {self.version})"
            )
        if len(data) < self.overhead:
            raise NotDecryptedError("is cut off")
        salt = data[from_start : from_start + _SALT]
        nonce = data[from_start + _SALT : from_start + _SALT + _NONCE]
        told = data[from_start + _SALT + _NONCE : self.overhead - _TAG]
        own, check = self._derived(key, salt)
        if not hmac.compare_digest(told, check):
            raise OtherKeyError("was written with another key, or damaged")
        head, sealed = data[: self.overhead - _TAG], data[self.overhead - _TAG :]
        plain = _opened(own, nonce, sealed, head)
        if plain is None:
            raise NotDecryptedError("was damaged or changed since it was written")
        return plain

    def _derived(self, key: bytes, salt: bytes) -> tuple[bytes, bytes]:
        """The key of a file, and the bytes by which the right key is recognised."""
        try:
            from cryptography.hazmat.primitives.hashes import SHA256
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF
        except ImportError as error:
            raise SettingsError(
                f"{self.called} needs the library cryptography: install streamdeid[register]"
            ) from error
        both = HKDF(SHA256(), _KEY + _CHECK, salt, b"streamdeid/1\0" + self.purpose).derive(key)
        return both[:_KEY], both[_KEY:]


def _aes(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _opened(key: bytes, nonce: bytes, sealed: bytes, head: bytes) -> bytes | None:
    """The decrypted content; None where anything of it was changed."""
    from cryptography.exceptions import InvalidTag

    try:
        plain: bytes = _aes(key).decrypt(nonce, sealed, head)
    except InvalidTag:
        return None
    return plain
