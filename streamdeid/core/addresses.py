"""Addresses of cameras and servers, and how to show them without their passwords.

A URL may carry a user and a password (`rtsp://user:password@host/path`) or a secret in its query (`?token=...`).
Whatever is shown, logged or raised goes through `shown` or `scrubbed`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from streamdeid.errors import SettingsError

READABLE = ("rtsp", "rtsps", "http", "https", "udp", "rtp", "tcp", "rtmp")
"""Protocols of cameras."""
PUBLISHABLE = ("rtsp", "rtsps")
"""Protocols of servers that a filtered stream is published to."""
HIDDEN = "***"
# `pathlib` makes rtsp:/ of rtsp://, JSON may make rtsp:\/\/ of it, and a query %3A%2F%2F.
_HEAD = re.compile(r"(?:[a-z][a-z0-9+.-]{1,30}:\\?/|:\\?/\\?/|%3a%2f%2f)(?:\\?/)*", re.IGNORECASE)
_NEXT = re.compile(r"[\r\n]|[\s\"'<>,;|=(\[{](?=(?:rtsps?|https?|udp|rtp|tcp|srt|rtmps?)://)", re.IGNORECASE)
# Some cameras have user and password in the path: /user=admin_password=secret_channel=1.
_SECRET = re.compile(
    r"[?&;/#,][\w.-]{0,60}(?:pass|pwd|pswd|psw|token|secret|key|auth|sig|usr|user|credential|session)[\w.-]{0,60}="
    r"(?P<hidden>[^&;\s\"'<>]+)",
    re.IGNORECASE,
)


def is_address(text: str) -> bool:
    """Whether this is a URL, not a path."""
    return "://" in text


def is_device(text: str) -> bool:
    """Whether this is a V4L2 device of Linux, as in `/dev/video0`."""
    return re.fullmatch(r"/dev/video\d+|/dev/v4l/\S+", text) is not None


def is_unknown_host(address: str) -> bool:
    """Whether the host's name cannot be resolved, which is tried here; FFmpeg calls that an input/output error."""
    try:
        socket.getaddrinfo(urlsplit(address).hostname, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return True
    return False


def shown(address: str) -> str:
    """The address without user, password and secrets of its query, as a log may hold it."""
    return scrubbed(address)


def scrubbed(text: str) -> str:
    """Any text with users, passwords and secret parameters of all addresses in it hidden.

    It hides too much rather than too little: nobody can tell whether an @ later in the line belongs to a password that
    was pasted with spaces and slashes in it.
    """
    out, end = [], 0
    secrets = [match.span("hidden") for match in _SECRET.finditer(text)]
    for begin, stop in _merged([*_credentials(text), *secrets]):
        out += [text[end:begin], HIDDEN]
        end = stop
    return "".join([*out, text[end:]])


def _credentials(text: str) -> Iterator[tuple[int, int]]:
    """Spans of user and password: from :// to the last @ of the line, or before the next address.

    A pasted password may hold any character."""
    ends = [match.end() for match in _NEXT.finditer(text)]
    for begin, end in zip([0, *ends], [*ends, len(text)], strict=True):
        if head := _HEAD.search(text, begin, end):
            last = max(text.rfind("@", head.end(), end), text.rfind("%40", head.end(), end))
            if last >= 0:
                yield head.end(), last


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged


def checked_source(address: str) -> str:
    """The address of a camera. Raises SettingsError, without a password, for a text that cannot be one."""
    return _checked(address, READABLE, "a camera")


def checked_target(address: str) -> str:
    """The address to publish to. Raises SettingsError, without a password, for a text that cannot be one."""
    return _checked(address, PUBLISHABLE, "an output")


def _checked(address: str, schemes: tuple[str, ...], what: str) -> str:
    if any(not character.isprintable() for character in address):  # `urlsplit` drops them, servers may obey them
        raise SettingsError(f"{shown(ascii(address))} is no address of {what}: it holds control characters")
    parts = _split(address)
    if parts is None or not parts.hostname or parts.scheme.lower() not in schemes:
        # The address comes last: `scrubbed` takes all text up to the last @ for a part of the password.
        hint = "; in a password %40 %3A %2F %3F %23 stand for @ : / ? #" if "@" in address else ""
        names = ", ".join(schemes)
        raise SettingsError(
            f"no address of {what}, which begins with a protocol ({names}) and names a host{hint}: {shown(address)}"
        )
    return address


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises for a port that is not a number
    except ValueError:
        return None
    return parts
