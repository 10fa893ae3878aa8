#!/usr/bin/python3
"""An RTSP server of GStreamer for tests; run by Debian's own Python, which has `gi`. Started by `tests/rtsp.py`.

Standard input carries one line of JSON with the settings (so that no password is in the command line); when it ends,
so does the server. Prints `ready PORT`. Mounts:

/cam    H.264 or H.265 of an MP4 file, played for ever at its own pace as a live camera would send it: time stamps that
        only rise, and the picture that is due by the clock (frame 0 was due at `epoch`, CLOCK_MONOTONIC, if that is
        given), so a camera that was away comes back at another place. Shared by its readers.
/live   a moving ball, encoded here. Shared.
/sound  sound without a picture.
/rec    takes what is published with ANNOUNCE and RECORD (H.264), optionally into a file as a bare stream.
/out    what is published, live, from the last key frame on; not there before something is published.
"""

from __future__ import annotations

import json
import sys
import threading
import time

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstApp, GstRtspServer  # noqa: E402, F401  (GstApp gives appsrc its methods)

SECOND = Gst.SECOND
BEHIND = 0.5
"""Seconds after which a camera that could not send leaves out what it should have sent."""


def read_stream(path: str, codec: str) -> tuple[list[tuple[bytes, int, bool]], float]:
    """Access units of a file as (bytes, ns from decoding to showing, whether it is a key frame), and their rate."""
    pipeline = Gst.parse_launch(
        f"filesrc name=file ! qtdemux ! {codec}parse config-interval=-1 ! "
        f"video/x-{codec},stream-format=byte-stream,alignment=au ! appsink name=end sync=false"
    )
    pipeline.get_by_name("file").set_property("location", path)
    end, units = pipeline.get_by_name("end"), []
    rate = 25.0
    pipeline.set_state(Gst.State.PLAYING)
    while (sample := end.emit("try-pull-sample", 10 * SECOND)) is not None:
        buffer = sample.get_buffer()
        found, above, below = sample.get_caps().get_structure(0).get_fraction("framerate")
        rate = above / below if found and above else rate
        known = buffer.pts != Gst.CLOCK_TIME_NONE and buffer.dts != Gst.CLOCK_TIME_NONE
        ahead = max(0, buffer.pts - buffer.dts) if known else 0
        units.append(
            (buffer.extract_dup(0, buffer.get_size()), ahead, not buffer.has_flags(Gst.BufferFlags.DELTA_UNIT))
        )
    pipeline.set_state(Gst.State.NULL)
    if not units:
        raise SystemExit(f"{path} holds no {codec}")
    return units, rate


def buffer_of(data: bytes, pts: int, dts: int) -> Gst.Buffer:
    """A buffer with its running times in nanoseconds."""
    buffer = Gst.Buffer.new_wrapped(data)
    buffer.pts, buffer.dts = pts, dts
    return buffer


def play(source, units: list[tuple[bytes, int, bool]], rate: float, epoch: float, gone: threading.Event) -> None:
    """Hand the access units that are due to an appsrc until it is gone. Runs in a thread of its own."""
    number = int((time.monotonic() - epoch) * rate) + 1
    waiting_for_key = True
    origin = None
    while not gone.wait(max(0.0, epoch + number / rate - time.monotonic())):
        if time.monotonic() - epoch - number / rate > BEHIND:
            number, waiting_for_key = int((time.monotonic() - epoch) * rate), True
        data, ahead, key = units[number % len(units)]
        if key or not waiting_for_key:
            waiting_for_key = False
            now = source.get_current_running_time()
            if now != Gst.CLOCK_TIME_NONE:
                if origin is None:
                    origin = now - int(number / rate * SECOND)
                dts = origin + int(number / rate * SECOND)
                if source.emit("push-buffer", buffer_of(data, dts + ahead, dts)) != Gst.FlowReturn.OK:
                    return
        number += 1


class Relay:
    """What is published, handed on to all who read it. Only the newest publisher counts."""

    def __init__(self, mounts, recording: str | None) -> None:
        self._mounts = mounts
        self._lock = threading.Lock()
        self._readers: list[object] = []
        self._since_key: list[bytes] = []
        self._publisher: object | None = None
        self._file = open(recording, "ab", buffering=0) if recording else None  # noqa: SIM115
        self._factory = factory_of(
            "appsrc name=src is-live=true format=time caps=video/x-h264,stream-format=byte-stream,alignment=au "
            "! h264parse config-interval=-1 ! rtph264pay name=pay0 pt=96"
        )
        self._factory.connect("media-configure", self._read)

    def publish(self, factory, media) -> None:
        """A publisher has come."""
        sink = media.get_element().get_by_name("sink")
        sink.connect("new-sample", self._take, media)
        media.connect("unprepared", self._published)
        with self._lock:
            self._publisher, self._since_key = media, []
            self._mounts.remove_factory("/out")  # until there is a picture: who asks must not wait for one

    def _published(self, media) -> None:
        with self._lock:
            if self._publisher is media:
                self._publisher, self._since_key = None, []
                self._mounts.remove_factory("/out")

    def _take(self, sink, media):
        buffer = sink.emit("pull-sample").get_buffer()
        data = buffer.extract_dup(0, buffer.get_size())
        key = not buffer.has_flags(Gst.BufferFlags.DELTA_UNIT)
        with self._lock:
            if self._publisher is not media:
                return Gst.FlowReturn.OK
            if self._file is not None:
                self._file.write(data)
            if key:
                if not self._since_key:
                    self._mounts.add_factory("/out", self._factory)
                self._since_key = [data]
            elif self._since_key:
                self._since_key.append(data)
            for reader in self._readers:
                now = reader.get_current_running_time()
                if now != Gst.CLOCK_TIME_NONE:
                    reader.emit("push-buffer", buffer_of(data, now, now))
        return Gst.FlowReturn.OK

    def _read(self, factory, media) -> None:
        source = media.get_element().get_by_name("src")
        with self._lock:
            for number, data in enumerate(self._since_key):
                source.emit("push-buffer", buffer_of(data, number * SECOND // 1000, number * SECOND // 1000))
            self._readers.append(source)
        media.connect("unprepared", lambda media: self._forget(source))

    def _forget(self, source) -> None:
        with self._lock:
            self._readers = [reader for reader in self._readers if reader is not source]


def factory_of(launch: str):
    """A mount that all its readers share."""
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(f"( {launch} )")
    factory.set_shared(True)
    return factory


def camera(path: str, codec: str, epoch: float):
    """The mount that plays a file as a camera would."""
    units, rate = read_stream(path, codec)
    factory = factory_of(
        f"appsrc name=src is-live=true format=time caps=video/x-{codec},stream-format=byte-stream,alignment=au "
        f"! {codec}parse config-interval=-1 ! rtp{codec}pay name=pay0 pt=96"
    )

    def configure(factory, media) -> None:
        gone = threading.Event()
        media.connect("unprepared", lambda media: gone.set())
        source = media.get_element().get_by_name("src")
        threading.Thread(target=play, args=(source, units, rate, epoch, gone), daemon=True).start()

    factory.connect("media-configure", configure)
    return factory


def protect(server, factories: list, user: str, password: str) -> None:
    """Let in only who knows user and password."""
    auth = GstRtspServer.RTSPAuth()
    token = GstRtspServer.RTSPToken()
    token.set_string("media.factory.role", "user")
    auth.add_basic(GstRtspServer.RTSPAuth.make_basic(user, password), token)
    server.set_auth(auth)
    for factory in factories:
        permissions = GstRtspServer.RTSPPermissions()
        for what in ("media.factory.access", "media.factory.construct"):
            permissions.add_permission_for_role("user", what, True)
        factory.set_permissions(permissions)


def main() -> None:
    """Serve until standard input ends."""
    given = json.loads(sys.stdin.readline())
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address(given["address"])
    server.set_service(str(given["port"]))
    server.get_thread_pool().set_max_threads(-1)  # one for each client: none waits for what another one has to send
    mounts = server.get_mount_points()
    factories = {
        "/live": factory_of(
            "videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=240,framerate=25/1 "
            "! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! rtph264pay name=pay0 pt=96"
        ),
        "/sound": factory_of("audiotestsrc is-live=true ! audio/x-raw,rate=8000 ! alawenc ! rtppcmapay name=pay0 pt=8"),
    }
    if given["cam"]:
        factories["/cam"] = camera(given["cam"], given["codec"], given["epoch"] or time.monotonic())
    relay = Relay(mounts, given["record"])
    record = GstRtspServer.RTSPMediaFactory()
    record.set_transport_mode(GstRtspServer.RTSPTransportMode.RECORD)
    record.set_latency(0)
    record.set_launch(
        "( rtph264depay name=depay0 ! h264parse config-interval=-1 "
        "! video/x-h264,stream-format=byte-stream,alignment=au ! appsink name=sink sync=false emit-signals=true )"
    )
    record.connect("media-configure", relay.publish)
    factories["/rec"] = record
    for mount, factory in factories.items():
        mounts.add_factory(mount, factory)
    if given["user"]:
        protect(server, [*factories.values(), relay._factory], given["user"], given["password"])
    if not server.attach(None):
        raise SystemExit("the port is taken")
    print(f"ready {server.get_bound_port()}", flush=True)
    loop = GLib.MainLoop()
    threading.Thread(target=lambda: (sys.stdin.read(), loop.quit()), daemon=True).start()
    loop.run()


if __name__ == "__main__":
    main()
