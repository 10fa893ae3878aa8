"""What a camera's process on another machine is told: the camera, the key, and what that machine may lack.

Settings, key, models and pictures go as `runs.shipped` packs them, through Ray's object store and then a pipe; a
machine with other versions or models refuses them. What a camera has that belongs to one machine is refused here.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from streamdeid.core.addresses import is_device
from streamdeid.errors import SettingsError
from streamdeid.runs.scratch import scratch
from streamdeid.runs.shipped import packed, unpack
from streamdeid.service.camera import Camera
from streamdeid.service.pipe_messages import Order, order_line


def check_placeable(camera: Camera) -> None:
    """Raise SettingsError for a camera that only one machine can have."""
    if camera.settings.register is not None:
        raise SettingsError(f"camera {camera.name}: a register is a file of one machine, and means nothing with --ray")
    if is_device(camera.source):
        raise SettingsError(f"camera {camera.name}: {camera.source} is a device of one machine, and --ray has many")


def placed_order(camera: Camera, key: bytes | None) -> bytes:
    """All that the process is told. It holds passwords and the key. Raises SettingsError for what cannot be read.

    key: the one that the service keeps for cameras that share it; without, the key file's is sent, if there is one.
    """
    sent = pickle.dumps(packed(camera.settings))
    return order_line(camera, key, len(sent)) + sent


@contextlib.contextmanager
def unpacked_order(order: Order, sent: bytes) -> Iterator[tuple[Camera, bytes | None]]:
    """The camera and its key on this machine; files that came along are there until the end of the block.

    Raises SettingsError on a machine whose versions or models differ, and OutputError when nothing can be written.
    """
    with contextlib.ExitStack() as safe:
        camera, key = order.camera, order.key
        if sent:
            shipped = pickle.loads(sent)
            place = safe.enter_context(scratch()) if shipped.files else Path()
            camera = replace(camera, settings=unpack(shipped, place))
            key = shipped.key if key is None else key
        yield camera, key
