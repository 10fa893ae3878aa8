"""The small parts of a live source: its waits, its pace, its reasons, its eye for what is missing."""

from __future__ import annotations

import errno
from fractions import Fraction
from pathlib import Path

import av
import pytest

from streamdeid.video.live.backoff import Backoff
from streamdeid.video.live.camera_address import is_refusal, opening, reason_of
from streamdeid.video.live.coded_gaps import CodedGaps
from streamdeid.video.live.pace import Pace
from tests.synthetic_video import encode


def test_waits_double_up_to_two_seconds() -> None:
    backoff = Backoff(lambda: 1.0)
    assert [backoff.after(0.0) for _ in range(6)] == [0.25, 0.5, 1, 2, 2, 2]
    assert [Backoff(lambda: 0.0).after(0.0), Backoff(lambda: 0.5).after(0.0)] == [0.125, 0.1875]


def test_waits_count_from_the_start_of_the_attempt() -> None:
    backoff = Backoff(lambda: 1.0)
    assert backoff.after(3.0) == 0
    assert backoff.after(0.1) == pytest.approx(0.4)


def test_a_good_connection_makes_waits_short_again_and_a_bad_one_does_not() -> None:
    backoff = Backoff(lambda: 1.0)
    for _ in range(5):
        backoff.after(0.0)
    assert backoff.after(0.1, pictures=0.1) == pytest.approx(1.9)
    assert backoff.after(60, pictures=59) == 0
    assert backoff.after(0.0) == 0.5


def test_a_refused_password_is_not_tried_often() -> None:
    backoff = Backoff(lambda: 0.0)
    assert backoff.after(0.0, refused=True) == 5
    assert backoff.after(0.0) < 1


def test_a_file_is_replayed_at_its_own_pace() -> None:
    now = 100.0
    pace = Pace(lambda: now)
    assert pace.wait(Fraction(7), 0.04) == 0
    assert pace.wait(Fraction(15, 2), 0.04) == pytest.approx(0.5)
    now = 100.6  # a little late: no wait, and the next one is due by the stamps again
    assert pace.wait(Fraction(151, 20), 0.04) == 0
    assert pace.wait(Fraction(8), 0.04) == pytest.approx(0.4)
    assert pace.wait(None, 0.04) == pytest.approx(0.44)
    assert pace.wait(Fraction(3), 0.04) == pytest.approx(0.48)
    now = 200.0  # held up for long: a second at most is made up
    assert [pace.wait(Fraction(3) + Fraction(n, 2), 0.04) for n in range(1, 5)] == [0, 0, 0, pytest.approx(0.5)]


ADDRESS = "rtsp://anna:sesame@127.0.0.1:1/x"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (av.HTTPUnauthorizedError(1, ADDRESS, ADDRESS), "401"),
        (av.HTTPForbiddenError(1, ADDRESS, ADDRESS), "403"),
        (av.HTTPNotFoundError(1, ADDRESS, ADDRESS), "404"),
        (av.HTTPServerError(1, ADDRESS, ADDRESS), "the server has an error"),
        (av.ExitError(1, ADDRESS, ADDRESS), "no answer within 3 s"),
        (av.TimeoutError(errno.ETIMEDOUT, ADDRESS, ADDRESS), "no answer within 3 s"),
        (av.InvalidDataError(1, ADDRESS, ADDRESS), "not a video stream"),
        (av.ConnectionRefusedError(errno.ECONNREFUSED, ADDRESS, ADDRESS), "refused"),
        (av.ProtocolNotFoundError(1, ADDRESS, ADDRESS), "protocol"),
        (av.OSError(errno.EHOSTUNREACH, ADDRESS, ADDRESS), "no way to the host"),
        (av.UnknownError(1, ADDRESS, ADDRESS), "cannot be opened"),
        (ValueError(ADDRESS), "cannot be opened"),
    ],
)
def test_reasons_are_plain_and_know_no_password(error: Exception, words: str) -> None:
    reason = reason_of(error, ADDRESS, opened=False, late=False, patience=3)
    assert words in reason and "sesame" not in reason and "\n" not in reason
    assert is_refusal(error) == (words in ("401", "403"))


def test_what_comes_too_late_is_called_late_by_whatever_name() -> None:
    error = av.InvalidDataError(1, "x", "x")
    assert reason_of(error, ADDRESS, opened=False, late=True, patience=3) == "no answer within 3 s"
    assert reason_of(error, ADDRESS, opened=True, late=True, patience=3) == "nothing came for 3 s"


@pytest.mark.parametrize("address", ["rtsp://h/x", "http://h/x", "https://h/x", "udp://h:1", "tcp://h:1", "rtp://h:1"])
def test_no_address_leads_to_files_or_playlists(address: str) -> None:
    options = opening(address, "udp", 2, 3).options
    assert "file" not in options["protocol_whitelist"].split(",")
    assert not {"hls", "concat", "tty", "image2"} & set(options["format_whitelist"].split(","))
    assert options.get("timeout", options.get("rw_timeout")) == "3000000"


def test_a_device_is_opened_as_one() -> None:
    how = opening("/dev/video0", "tcp", 3, 3)
    assert (how.name, how.format) == ("/dev/video0", "video4linux2,v4l2")
    assert av.ContainerFormat(how.format, "r").input is not None


def _packets(path: Path) -> tuple[str, bytes | None, list[bytes]]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        packets = [bytes(packet) for packet in container.demux(stream) if packet.size]
        return stream.codec_context.codec.canonical_name, stream.codec_context.extradata, packets


STREAMS = {
    "plain": ("libx264", {"tune": "zerolatency", "g": "25"}),
    "b frames": ("libx264", {"bf": "3", "g": "30", "b-pyramid": "normal"}),
    "slices": ("libx264", {"tune": "zerolatency", "g": "25", "slices": "4", "preset": "ultrafast"}),
    "interlaced": ("libx264", {"flags": "+ilme+ildct", "g": "25"}),
    "4:4:4": ("libx264", {"tune": "zerolatency", "g": "25", "crf": "20"}),
}


@pytest.mark.parametrize("name", STREAMS)
def test_every_lost_reference_picture_is_noticed_and_nothing_else(name: str, tmp_path: Path) -> None:
    codec, options = STREAMS[name]
    pix_fmt = "yuv444p" if name == "4:4:4" else "yuv420p"
    path = encode(tmp_path / "a.ts", codec, frames=70, options=options, pix_fmt=pix_fmt)
    kind, extradata, packets = _packets(path)
    whole = CodedGaps(kind, extradata)
    assert [whole.before(packet) for packet in packets] == [False] * 70
    for lost in (5, 9, 10, 11, 12, 13, 40):
        data = packets[lost]
        head = next(
            data[i + 3] for i in range(len(data)) if data[i : i + 3] == b"\0\0\1" and data[i + 3] & 31 in (1, 5)
        )
        gaps = CodedGaps(kind, extradata)
        found = [number for number, packet in enumerate(packets) if number != lost and gaps.before(packet)]
        # Up to the next reference picture every picture stands behind the gap.
        assert found[:1] == ([lost + 1] if head >> 5 & 3 else [])


def _without_unit(packet: bytes, number: int) -> bytes:
    return b"\0\0\1".join(part for place, part in enumerate(packet.split(b"\0\0\1")) if place != number)


@pytest.mark.parametrize(
    ("codec", "options"),
    [
        ("libx264", {"tune": "zerolatency", "g": "100", "slices": "4", "preset": "ultrafast"}),
        ("libx265", {"x265-params": "keyint=100:slices=3:log-level=none", "tune": "zerolatency"}),
    ],
)
def test_a_lost_slice_is_noticed(codec: str, options: dict[str, str], tmp_path: Path) -> None:
    kind, extradata, packets = _packets(encode(tmp_path / "a.ts", codec, size=(320, 240), frames=50, options=options))
    gaps = CodedGaps(kind, extradata)
    parts = packets[40].count(b"\0\0\1")
    packets[40] = _without_unit(packets[40], parts)
    assert [number for number, packet in enumerate(packets) if gaps.before(packet)] == [40]


def test_noise_is_no_reason_to_fall_over() -> None:
    gaps = CodedGaps("h264", b"\0\0\1\x67")
    assert not gaps.before(b"") and not gaps.before(b"\0\0\1")
    gaps.before(b"\0\0\1\x67\xff\0\0\0\0\0")
    gaps.before(b"\0\0\1\x41" + bytes(50))
    assert not CodedGaps("mjpeg", None).before(b"\0\0\1\x41")
