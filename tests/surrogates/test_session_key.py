"""The session key and the numbers that follow from it."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import numpy as np
import pytest

from streamdeid.errors import SettingsError
from streamdeid.surrogates.key import generator, new_key, read_key_file

KEY = bytes(range(32))


def test_the_generator_is_the_documented_function() -> None:
    message = b"streamdeid/1\0surrogate \0" + (7).to_bytes(8, "big") + (3).to_bytes(8, "big")
    seed = int.from_bytes(hmac.new(KEY, message, hashlib.sha256).digest(), "big")
    expected = np.random.Generator(np.random.PCG64(seed)).random(5)
    assert np.array_equal(generator(KEY, "surrogate ", 7, 3).random(5), expected)


def test_every_part_of_the_input_matters() -> None:
    draws = [
        generator(key, purpose, person, attempt).integers(2**63)
        for key in (KEY, KEY[::-1])
        for purpose in ("a", "b")
        for person in (0, 1, 256)
        for attempt in (0, 1, 256)
    ]
    assert len(set(draws)) == len(draws)


def test_fresh_keys_are_long_and_differ() -> None:
    assert len(new_key()) == 32
    assert new_key() != new_key()


def test_a_key_file_is_taken_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"sixteen bytes!!\n")
    assert read_key_file(tmp_path / "key") == b"sixteen bytes!!\n"


@pytest.mark.parametrize("content", [b"", b"fifteen bytes!!", b"x" * 65537])
def test_unusable_key_files_are_refused_without_showing_them(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        read_key_file(tmp_path / "key")
    assert "fifteen" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_key_file_is_a_settings_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read key file"):
        read_key_file(tmp_path / "none")
