"""`streamdeid serve`: filter the cameras of a file until the service is stopped."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

from streamdeid.core.shown_text import say as say_plainly
from streamdeid.errors import ExitCode, SettingsError
from streamdeid.service.cameras_file import read_cameras
from streamdeid.service.running import RunningPlace
from streamdeid.service.supervisor import Supervisor, say
from streamdeid.surrogates.models import load_models

DESCRIPTION = """\
Filter the cameras of a TOML file, each in a process of its own that is started again when it dies or stalls.

  [http]                                    # optional
  listen = "127.0.0.1:8090"                 # or "off"; any other interface needs a token_file
  [defaults]                                # optional: settings for all cameras
  key = "house"                             # cameras that name the same key draw from the same faces
  [[camera]]
  name = "door"
  source = "rtsp://${DOOR_LOGIN}@192.168.1.20/stream1"      # ${NAME}: from the environment
  output = "rtsp://127.0.0.1:8554/door"     # or NAME.m3u8, or a video file

Settings are those of `streamdeid filter`, with _ for -. SIGHUP reads the file again, SIGTERM ends within 5 s. Under
http://127.0.0.1:8090/ are the filtered pictures, /healthz, /readyz and /metrics. With --ray the cameras run on the
machines of a Ray cluster and move when one dies (docs/cluster.md). Exit codes: 2 wrong settings, 4 the service broke,
130 and 143 stopped by Ctrl-C or SIGTERM."""

_LEAVE = 6.0
"""Seconds for cameras on other machines to report that they have ended, besides the time that the service takes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the cameras, as above")
    parser.add_argument("--check", action="store_true", help="check the file and do nothing")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="run the cameras on the machines of a Ray cluster: HOST:PORT of its head, or auto (extra `cluster`)",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Run the command until a signal. Raises SettingsError and FailedClosed."""
    if arguments.check:
        file = read_cameras(arguments.file)
        if arguments.ray is not None:
            from streamdeid.service.placed_order import check_placeable

            for camera in file.cameras:
                check_placeable(camera)
        for line in file.warnings:
            say(line)
        for camera in file.cameras:
            donors = len(load_models(camera.settings.models).gallery.identities)
            try:
                camera.settings.check_gallery(donors)
            except SettingsError as error:
                raise SettingsError(f"{arguments.file}: camera {camera.name}: {error}") from None
        say_plainly(f"{arguments.file}: {', '.join(camera.name for camera in file.cameras)}")
        return ExitCode.DONE

    if arguments.ray is None:
        return _served(arguments.file, None)
    with _placed(arguments.ray) as place:
        return _served(arguments.file, place)


def _served(file: Path, place: RunningPlace | None) -> ExitCode:
    async def supervise() -> int:
        return await Supervisor(file, place=place).run()

    return ExitCode(128 + asyncio.run(supervise()))


@contextlib.contextmanager
def _placed(address: str) -> Iterator[RunningPlace]:
    """Connect to the machines of a cluster, on which cameras run. Raises SettingsError."""
    from streamdeid.runs.cluster import connected  # the only part that needs Ray
    from streamdeid.service.placed_child import ClusterPlace
    from streamdeid.service.ray_relays import RayRelay

    with connected(address) as ray:
        place = ClusterPlace(lambda: RayRelay(ray))
        try:
            yield place
        finally:
            place.close(_LEAVE)
