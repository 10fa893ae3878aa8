"""The order of a camera's process on another machine: the camera, the key, and data that the machine may lack.

Settings, key, models and pictures are sent as `runs.shipped` packs them, through Ray's object store and then a pipe; a
machine with other versions or models refuses them. Cameras that depend on one particular machine are refused here.
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
    """Raise SettingsError for a camera that can run on one particular machine only."""
    if camera.settings.register is not None:
        raise SettingsError(f"camera {camera.name}: a register is a file of one machine, and means nothing with --ray")
    if is_device(camera.source):
        raise SettingsError(f"camera {camera.name}: {camera.source} is a device of one machine, and --ray has many")


def placed_order(camera: Camera, key: bytes | None) -> bytes:
    """The whole order, with passwords and the key. Raises SettingsError for files that cannot be read or are too large.

    key: the key that the service keeps for cameras that share it; None: the key of the key file is sent, if any.
    """
    sent = pickle.dumps(packed(camera.settings))
    return order_line(camera, key, len(sent)) + sent


@contextlib.contextmanager
def unpacked_order(order: Order, sent: bytes) -> Iterator[tuple[Camera, bytes | None]]:
    """Give the camera and its key on this machine; files that were sent exist until the end of the block.

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
