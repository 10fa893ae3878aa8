"""Messages between a camera's process and the service over pipes: lines of JSON, or such a line and a picture's bytes.

The process sends `{"status": {...}}`, or `{"picture": "preview", "length": 12345}` and then as many bytes of JPEG. The
service asks for pictures with the lines `preview` and `snapshot`; its first line holds the camera's table and key. For
a process on another machine that line also gives the number of bytes that follow it, with data that the machine may
lack, and the line `until 123.4` is sent repeatedly (`lease`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from streamdeid.core.status import LiveStatus
from streamdeid.errors import SettingsError
from streamdeid.service.camera import Camera, read_camera
from streamdeid.service.status_reporter import read_status
from streamdeid.service.wanted_pictures import KINDS

LONGEST_LINE = 1 << 20
MOST_PICTURE = 64 << 20
MOST_SENT = 4 << 30
"""Most bytes of models and pictures that are sent to another machine."""
_JPEG = b"\xff\xd8\xff"


class Reader(Protocol):
    """The methods of `asyncio.StreamReader` that are used here."""

    async def readline(self) -> bytes: ...

    async def readexactly(self, n: int, /) -> bytes: ...


@dataclass(frozen=True)
class PipePicture:
    """A JPEG file made from a filtered frame."""

    kind: str
    data: bytes


class Order(NamedTuple):
    """The order of a camera's process: the camera, its key, and the length of the data that follow."""

    camera: Camera
    key: bytes | None
    sent: int
    """Number of bytes behind the line, with data that this machine may lack (`placed_order`); 0 on the service's."""

    def __repr__(self) -> str:
        """The order as text, without the key."""
        return f"Order({self.camera.name})"


def order_line(camera: Camera, key: bytes | None, sent: int = 0) -> bytes:
    """The first line that a camera's process gets. It holds passwords and the key, so it may go through a pipe only."""
    order = {"camera": dict(camera.table), "key": None if key is None else key.hex(), "sent": sent}
    return json.dumps(order).encode() + b"\n"


def read_order(line: bytes) -> Order:
    """Read the order in a line that `order_line` made. Raises SettingsError."""
    try:
        order = json.loads(line)
        table, key, sent = order["camera"], order["key"], order["sent"]
        secret = None if key is None else bytes.fromhex(key)
        if not isinstance(sent, int) or not 0 <= sent <= MOST_SENT:
            raise ValueError("no length")
    except (ValueError, KeyError, TypeError):
        raise SettingsError("the camera process is started by streamdeid serve only") from None
    return Order(read_camera(table), secret, sent)


def picture_head(kind: str, length: int) -> bytes:
    """The line before the bytes of a picture."""
    return json.dumps({"picture": kind, "length": length}).encode() + b"\n"


async def read_message(reader: Reader) -> LiveStatus | PipePicture | None:
    """Read the next message; None at the end. Raises ValueError for data that are not a message."""
    line = await reader.readline()
    if not line:
        return None
    table = json.loads(line)
    if not isinstance(table, dict):
        raise ValueError("no message")
    if table.keys() == {"status"}:
        return read_status(table["status"])
    kind, length = table.get("picture"), table.get("length")
    if kind not in KINDS or not isinstance(length, int) or not len(_JPEG) <= length <= MOST_PICTURE:
        raise ValueError("no picture")
    data = await reader.readexactly(length)
    if not data.startswith(_JPEG):
        raise ValueError("no JPEG")
    return PipePicture(kind, data)
