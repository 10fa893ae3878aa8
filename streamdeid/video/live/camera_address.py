"""Options with which FFmpeg opens a camera, and the meaning of its errors in plain words.

Protocols and formats are limited: playlists and descriptions (HLS, concat, SDP files) can name local files and other
hosts, and text demuxers would render any text as video (see `video.reading`).
"""

from __future__ import annotations

import errno
from dataclasses import dataclass

import av

from streamdeid.core.addresses import is_address, is_device, is_unknown_host

_STREAMS = (
    "mpegts,mpeg,mpegvideo,mpjpeg,mjpeg,jpeg_pipe,h264,hevc,m4v,obu,ivf,flv,live_flv,mov,mp4,m4a,3gp,3g2,mj2,"
    "matroska,webm,avi,asf,ogg,nut"
)
_PROTOCOLS = {
    "rtsp": "rtsp,rtp,srtp,udp,tcp,tls",
    "rtsps": "rtsps,rtsp,rtp,srtp,udp,tcp,tls",
    "rtp": "rtp,udp",
    "udp": "udp",
    "tcp": "tcp",
    "http": "http,tcp",
    "https": "https,http,tls,tcp",
    "rtmp": "rtmp,tcp",
}
_FORMATS = {"rtsp": "rtsp", "rtsps": "rtsp", "rtp": "rtp,sdp,mpegts"}
_DEVICE_FORMAT = "video4linux2,v4l2"
_ANALYSE = 1.5
"""Seconds of the stream that FFmpeg analyses before pictures come. These data are kept and decoded afterwards, so a key
frame in them is not lost (`fflags nobuffer` would discard them, and the next key frame would be awaited)."""
_REORDER = 0.1
"""Seconds for which FFmpeg waits for a missing RTP packet."""
_SOCKET_BUFFER = 4 << 20
"""Bytes of a socket's buffer; a key frame comes as one burst of datagrams."""


@dataclass(frozen=True)
class CameraOpening:
    """The arguments of `av.open` for an address."""

    name: str
    format: str | None
    options: dict[str, str]


def opening(
    address: str, transport: str, open_timeout: float, read_timeout: float, parsed: bool = True
) -> CameraOpening:
    """How to open a camera's URL or device. transport: `tcp` or `udp`, for RTSP. Timeouts are in seconds.

    parsed: False leaves out FFmpeg's parser, which delays each picture until the next one begins (`picture_ends`).
    """
    if is_device(address):
        return CameraOpening(address, _DEVICE_FORMAT, {"format_whitelist": _DEVICE_FORMAT})
    scheme = address.split("://", 1)[0].lower()
    deadline = str(round(max(open_timeout, read_timeout) * 1_000_000))
    options = {
        "protocol_whitelist": _PROTOCOLS.get(scheme, scheme),
        "format_whitelist": _FORMATS.get(scheme, _STREAMS),
        "analyzeduration": str(round(_ANALYSE * 1_000_000)),
        # Counting pictures to find their rate would delay the first picture; the rate that the stream states is used.
        "fpsprobesize": "0",
    }
    if scheme in ("rtsp", "rtsps"):
        # Only "timeout" and the timeouts of av.open together limit the wait for a stopped server.
        options |= {
            "timeout": deadline,
            "rtsp_transport": transport,
            # Sound and data would only cost bandwidth, and time while FFmpeg analyses them.
            "allowed_media_types": "video",
            "max_delay": str(round(_REORDER * 1_000_000)),
            "buffer_size": str(_SOCKET_BUFFER),
        }
        if not parsed:
            options["fflags"] = "+noparse+nofillin"
    else:
        options |= {"rw_timeout": deadline}
        if scheme == "udp":
            options |= {"buffer_size": str(_SOCKET_BUFFER), "overrun_nonfatal": "1", "timeout": deadline}
    return CameraOpening(address, None, options)


def reason_of(error: BaseException, address: str, *, opened: bool, late: bool, patience: float) -> str:
    """Why a camera could not be opened or read, in a few words without address and password.

    opened: whether the camera had been opened. late: whether the deadline had passed. patience: the deadline, seconds.
    """
    number = error.errno if isinstance(error, OSError | av.FFmpegError) else None
    words = next((text for kind, text in _REASONS if isinstance(error, kind)), None) or _BY_NUMBER.get(number or 0)
    if late or isinstance(error, av.ExitError | TimeoutError) or number == errno.ETIMEDOUT:
        return f"nothing came for {patience:g} s" if opened else f"no answer within {patience:g} s"
    if isinstance(error, av.HTTPOtherClientError) and address.lower().startswith("rtsp"):
        # If video is requested from a stream with sound only, servers answer "method not valid in this state" or alike.
        return "there is no video in it, or not by this transport"
    if words:
        return words
    if opened:
        return "the connection broke"
    if is_address(address):
        return "there is no host of that name" if is_unknown_host(address) else "it cannot be opened"
    return "it cannot be opened"


def is_refusal(error: BaseException) -> bool:
    """Whether user or password were refused, so that trying again soon is useless."""
    return isinstance(error, av.HTTPUnauthorizedError | av.HTTPForbiddenError)


_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (av.HTTPUnauthorizedError, "user or password are wrong or missing (401)"),
    (av.HTTPForbiddenError, "access is forbidden (403)"),
    (av.HTTPNotFoundError, "there is no such stream (404)"),
    (av.HTTPClientError, "the server refuses the request"),
    (av.HTTPServerError, "the server has an error of its own"),
    (av.ProtocolNotFoundError, "the FFmpeg in PyAV does not know this protocol"),
    (av.DecoderNotFoundError, "its video codec is not supported"),
    (av.InvalidDataError, "it is not a video stream"),
    (av.ArgumentError, "it is not a video stream"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionResetError, "the connection was reset"),
    (BrokenPipeError, "the connection was closed"),
    (FileNotFoundError, "there is no such device or file"),
    (PermissionError, "there is no permission to open it"),
)
_BY_NUMBER = {
    errno.EHOSTUNREACH: "there is no way to the host",
    errno.ENETUNREACH: "there is no way to the host",
    errno.EBUSY: "the device is in use",
    errno.ENODEV: "there is no such device",
    errno.ENXIO: "there is no such device",
    errno.ENOTTY: "it is not a camera",
    errno.EADDRINUSE: "the port is in use",
}
