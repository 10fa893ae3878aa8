"""Why a live output cannot be written, in this program's own words: FFmpeg's messages hold addresses and passwords."""

from __future__ import annotations

import errno
import os
from urllib.parse import urlsplit

import av

from streamdeid.core.addresses import is_unknown_host
from streamdeid.video.live.encoder.pipe import WRONG_PASSWORD, EncoderOpening

_STATUS = (
    (av.error.HTTPUnauthorizedError, WRONG_PASSWORD),
    (av.error.HTTPForbiddenError, "the server does not allow it (403)"),
    (av.error.HTTPNotFoundError, "the server does not know this path (404)"),
    (av.error.HTTPBadRequestError, "the server does not understand the request (400)"),
    (av.error.HTTPOtherClientError, "the server does not take a stream on this path"),
    (av.error.HTTPServerError, "the server has a fault of its own"),
    (av.error.InvalidDataError, "the server does not answer as an RTSP server does"),
    (av.error.ProtocolNotFoundError, "this FFmpeg cannot speak that protocol"),
    (av.error.ArgumentError, "the encoder or the container does not take such pictures"),
)
_ERRNO = {
    errno.ECONNREFUSED: "the connection was refused",
    errno.ECONNRESET: "the server closed the connection",
    errno.ETIMEDOUT: "the server does not answer",
    errno.EHOSTUNREACH: "the host cannot be reached",
    errno.ENETUNREACH: "the network cannot be reached",
}


class NoDevice(Exception):
    """An encoder in hardware cannot be opened; the message is the reason in this program's words."""


def reason_of(error: BaseException, opening: EncoderOpening | None) -> str:
    """The reason of an error in one line without a password. opening: the output that was being opened or written."""
    network = opening is not None and opening.muxer == "rtsp"
    if isinstance(error, NoDevice):
        return str(error)
    for kind, text in _STATUS:
        if isinstance(error, kind):
            return text
    number = getattr(error, "errno", None)
    if number == errno.EPIPE or isinstance(error, av.error.EOFError):
        return "the server closed the connection" if network else "the reader has gone"
    if number in _ERRNO:
        return _ERRNO[number]
    if network and opening is not None and number == errno.EIO:  # FFmpeg's error for a host name without an address
        host = urlsplit(opening.target).hostname
        return f"the host {host} is unknown" if is_unknown_host(opening.target) else "the connection failed"
    if isinstance(error, OSError) and number is not None and 0 < number < 1000:
        return os.strerror(number).lower()
    return f"the encoder or the container failed ({type(error).__name__})"
