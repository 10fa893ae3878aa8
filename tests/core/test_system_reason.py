"""What the operating system says of an error ends messages in one way, and no other file reads it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from streamdeid.core.atomic_file import reason_of
from streamdeid.core.system_reason import system_reason

PACKAGE = Path(__file__).parents[2] / "streamdeid"
REFUSED = PermissionError(errno.EACCES, "Permission denied", "/Films/A.mp4")


def test_the_description_is_given_and_not_the_name_of_the_file() -> None:
    assert system_reason(REFUSED) == "permission denied"
    assert system_reason(REFUSED, "Another Text") == "permission denied"
    assert system_reason(REFUSED, as_told=True) == "Permission denied"


@pytest.mark.parametrize("error", [OSError("No /Films here"), ValueError("No /Films here")])
def test_an_error_without_a_description_says_its_own_text_or_what_the_caller_says(error: Exception) -> None:
    assert system_reason(error) == "no /films here"
    assert system_reason(error, as_told=True) == "No /Films here"
    assert system_reason(error, "Nobody knows") == "nobody knows"
    assert system_reason(error, "Nobody knows", as_told=True) == "Nobody knows"


def test_an_empty_description_counts_as_none() -> None:
    assert system_reason(OSError(errno.EIO, ""), "no reason") == "no reason"


def test_an_odd_description_raises_nothing() -> None:
    assert system_reason(OSError(errno.EIO, 7)) == "7" and system_reason(OSError()) == ""


def test_the_encoder_s_own_text_is_not_shown_where_a_file_is_written() -> None:
    assert reason_of(REFUSED) == "permission denied"
    assert reason_of(ValueError("avcodec_open2(libx264)")) == "the encoder or the file system refused"


def test_nobody_else_reads_an_error_s_description() -> None:
    readers = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        if "strerror" in path.read_text(encoding="utf-8").replace("os.strerror(", ""):
            readers.add(str(path.relative_to(PACKAGE)))
    assert readers == {"core/system_reason.py"}
