"""Encrypted files: the right key opens them, no other does, and no bit can be changed."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.errors import SettingsError
from streamdeid.surrogates.encryption import Kind, NotDecryptedError, OtherKeyError

pytest.importorskip("cryptography", reason="the extra `register` is not installed")

KEY = b"a key for the tests alone"
KIND = Kind(b"m" * 20, 3, b"tests", "a file of the tests")


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_the_key_opens_what_it_closed(plain: bytes) -> None:
    data = KIND.encrypted(KEY, plain)
    assert KIND.decrypted(KEY, data) == plain
    assert len(data) == len(plain) + KIND.overhead


def test_the_same_twice_looks_like_two() -> None:
    one, other = (KIND.encrypted(KEY, b"nobody" * 20) for _ in range(2))
    assert one[21:] != other[21:] and b"nobody" not in one
    same = sum(a == b for a, b in zip(one[21:], other[21:], strict=True))
    assert same < 20  # of 196 bytes; by chance one


@given(st.integers(0, 10**6), st.integers(1, 255))
@settings(max_examples=200, deadline=None)
def test_no_byte_can_be_changed(place: int, by: int) -> None:
    data = bytearray(KIND.encrypted(KEY, b"somebody"))
    data[place % len(data)] ^= by
    with pytest.raises(NotDecryptedError):
        KIND.decrypted(KEY, bytes(data))


def test_every_beginning_of_a_file_is_refused() -> None:
    data = KIND.encrypted(KEY, b"somebody")
    for length in range(len(data)):
        with pytest.raises(NotDecryptedError):
            KIND.decrypted(KEY, data[:length])


def test_another_key_purpose_or_version_opens_nothing() -> None:
    data = KIND.encrypted(KEY, b"somebody")
    with pytest.raises(OtherKeyError, match="another key"):
        KIND.decrypted(KEY + b"!", data)
    with pytest.raises(OtherKeyError):
        Kind(KIND.magic, KIND.version, b"others", KIND.called).decrypted(KEY, data)
    with pytest.raises(NotDecryptedError, match=r"another version of streamdeid \(format 3, not 4\)"):
        Kind(KIND.magic, 4, KIND.purpose, KIND.called).decrypted(KEY, data)
    with pytest.raises(NotDecryptedError, match="is not a file of the tests"):
        KIND.decrypted(KEY, b"something else altogether, and long enough for a file" * 3)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SettingsError, match=r"streamdeid\[register\]"):
        KIND.encrypted(KEY, b"")
