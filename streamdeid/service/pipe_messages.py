"""What a camera's process tells the service over a pipe: lines of JSON, some with the bytes of a picture behind them.

`{"status": {...}}` or `{"picture": "preview", "length": 12345}` and then as many bytes of JPEG. The service asks with
the lines `preview` and `snapshot`; the first line it sends is the camera's table and key. On another machine the line
says how many bytes follow it with what that machine lacks, and the line `until 123.4` comes again and again
(`lease`).
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
"""Bytes of models and pictures for another machine."""
_JPEG = b"\xff\xd8\xff"


class Reader(Protocol):
    """What `asyncio.StreamReader` can do."""

    async def readline(self) -> bytes: ...

    async def readexactly(self, n: int, /) -> bytes: ...


@dataclass(frozen=True)
class PipePicture:
    """A JPEG file made from a filtered frame."""

    kind: str
    data: bytes


class Order(NamedTuple):
    """What a camera's process is told to do."""

    camera: Camera
    key: bytes | None
    sent: int
    """Bytes behind the line: what this machine may lack (`placed_order`); 0: it is the service's."""

    def __repr__(self) -> str:
        """Without the key."""
        return f"Order({self.camera.name})"


def order_line(camera: Camera, key: bytes | None, sent: int = 0) -> bytes:
    """The first line that a camera's process gets. It holds passwords and the key: for a pipe only."""
    order = {"camera": dict(camera.table), "key": None if key is None else key.hex(), "sent": sent}
    return json.dumps(order).encode() + b"\n"


def read_order(line: bytes) -> Order:
    """What such a line says. Raises SettingsError."""
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
    """The next message, None at the end. Raises ValueError for anything that is none."""
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
