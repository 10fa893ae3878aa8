"""Where pictures end in RTP: told early where it was learnt, never given in pieces, never hasty twice."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from streamdeid.video.live.camera import CameraConnection
from streamdeid.video.live.camera_address import opening
from streamdeid.video.live.picture_ends import CodedPicture, PictureEnds
from tests.rtsp import GstServer, gst_missing
from tests.synthetic_video import encode

LIVE = {"tune": "zerolatency", "preset": "ultrafast", "g": "12"}
FRAGMENT = 300
"""Bytes of a NAL unit in a fragment: a short one, so that pictures have many."""
LEARNT = 50
"""Pictures given late."""


def coded(count: int, slices: int = 1) -> list[bytes]:
    """H.264 pictures in Annex B form, `slices` to each."""
    target = io.BytesIO()
    with av.open(target, "w", format="h264") as output:
        options = {
            "preset": "ultrafast",
            "tune": "zerolatency",
            "x264-params": f"slices={slices}:sliced-threads=0:threads=1:keyint=20:aud=1",
        }
        stream = output.add_stream("libx264", rate=15, options=options)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        noise = np.random.default_rng(0).integers(0, 255, (180, 160), np.uint8)
        packets = []
        for index in range(count):
            picture = av.VideoFrame.from_ndarray(np.roll(noise, index, 1), format="yuv420p")
            picture.pts = index
            packets += [bytes(packet) for packet in stream.encode(picture)]
        return packets + [bytes(packet) for packet in stream.encode(None)]


def sent(picture: bytes) -> list[bytes]:
    """A picture as FFmpeg takes it out of RTP: a NAL unit to a packet, long ones in fragments (RFC 6184, FU-A)."""
    units = [unit for unit in picture.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1") if unit]
    packets = []
    for unit in units:
        head, rest = unit[:1], unit[1:]
        if len(unit) <= FRAGMENT + 2:
            packets.append(b"\0\0\0\1" + unit)
            continue
        pieces = [rest[i : i + FRAGMENT] for i in range(0, len(rest), FRAGMENT)]
        packets += [b"\0\0\0\1" + head + pieces[0], *pieces[1:]]
    return packets


def received(pictures: Sequence[Sequence[bytes]], codec: str = "h264") -> tuple[list[CodedPicture], list[int]]:
    """What comes of the packets of some pictures, and the numbers of those given before the next one began."""
    ends, found, early = PictureEnds(codec), [], []
    for number, packets in enumerate(pictures):
        for place, packet in enumerate(packets):
            given = ends.add(packet, 6000 * number)
            early += [number] * (place == len(packets) - 1 and any(one.stamp == 6000 * number for one in given))
            found += given
    return found + ends.rest(), early


@pytest.mark.parametrize("slices", [1, 2, 4])
def test_ends_are_told_early_once_they_were_learnt_and_pictures_are_whole(slices: int) -> None:
    pictures = [sent(picture) for picture in coded(120, slices)]
    found, early = received(pictures)
    assert [one.data for one in found] == [b"".join(packets) for packets in pictures]
    assert [one.stamp for one in found] == [6000 * number for number in range(120)]
    assert LEARNT <= min(early) <= LEARNT + 2
    exact = sum(len(packets[-1]) >= FRAGMENT - 2 for packets in pictures[LEARNT:])  # as long as any: they must wait
    assert len(early) >= 120 - LEARNT - 1 - exact and len(early) > 50


def test_filler_after_the_slices_makes_the_end_uncertain_for_good() -> None:
    filler = b"\0\0\0\1\x0c" + b"\xff" * 40 + b"\x80"
    pictures = [[*sent(picture), filler] for picture in coded(120)]
    found, early = received(pictures)
    assert [one.data for one in found] == [b"".join(packets) for packets in pictures]
    assert not early


def test_another_number_of_slices_is_waited_for() -> None:
    one, two = coded(120, 1), coded(120, 2)
    pictures = [sent(two[i] if i % 3 == 0 else one[i]) for i in range(120)]
    found, early = received(pictures)
    assert [each.data for each in found] == [b"".join(packets) for packets in pictures] and not early


def test_a_wrong_end_comes_apart_once_and_never_again() -> None:
    pictures = [sent(picture) for picture in coded(160)]
    fragments = next(i for i in range(100, 160) if len(pictures[i]) > 3)
    last = pictures[fragments].pop()
    pictures[fragments] += [last[:20], last[20:]]  # a fragment shorter than those before it that is not the last
    found, early = received(pictures)
    assert b"".join(one.data for one in found) == b"".join(b"".join(packets) for packets in pictures)
    assert sum(one.stamp == 6000 * fragments for one in found) == 2
    assert max(early) == fragments or max(early) < fragments
    assert len(found) == 161


def test_a_lost_last_packet_is_no_end() -> None:
    pictures = [sent(picture) for picture in coded(160)]
    cut = next(i for i in range(100, 160) if len(pictures[i]) > 3)
    pictures[cut].pop()
    found, early = received(pictures)
    assert cut not in early and len(found) == 160


@pytest.mark.parametrize("codec", ["hevc", "mpeg4"])
def test_other_codecs_are_given_when_the_next_picture_begins(codec: str) -> None:
    pictures = [sent(picture) for picture in coded(120)]
    found, early = received(pictures, codec)
    assert [one.data for one in found] == [b"".join(packets) for packets in pictures] and not early


def test_what_comes_whole_is_given_at_once() -> None:
    ends = PictureEnds("mjpeg")
    assert ends.add(b"one", 0) == [CodedPicture(b"one", 0)]
    assert ends.add(b"two", None) == [CodedPicture(b"two", None)] and not ends.rest()


def test_a_picture_without_an_end_does_not_fill_the_memory() -> None:
    ends = PictureEnds("h264")
    given = [one for _ in range(50) for one in ends.add(b"x" * (1 << 20), 0)]
    assert given and all(len(one.data) <= (1 << 25) + (1 << 20) for one in given)


def test_h264_over_rtsp_is_given_when_its_last_packet_came(tmp_path: Path) -> None:
    if (missing := gst_missing()) is not None:
        pytest.skip(missing)
    clip = encode(tmp_path / "camera.mp4", frames=50, size=(160, 120), options=LIVE)

    def stamps(codec: str | None) -> tuple[CameraConnection, list[tuple[Fraction, float]]]:
        camera = CameraConnection(server.url("/live"), "tcp", 3.0, 3.0, file=False, codec=codec)
        found: list[tuple[Fraction, float]] = []
        with contextlib.closing(camera):
            while len(found) < 100:
                found += [(one.stamp, one.arrived) for one in camera.read() if one.stamp is not None]
        return camera, found

    with GstServer(cam=clip) as server:
        camera, early = stamps(None)
    assert camera.damaged == 0 and camera.codec == "h264"
    steps = np.diff([float(stamp) for stamp, _ in early])
    assert np.abs(steps - 0.04).max() < 0.005  # no picture is missing or torn in two
    delays = [arrived - float(stamp) for stamp, arrived in early]
    assert np.median(delays[10:45]) - np.median(delays[60:]) > 0.03  # of a frame's 0.04 s


def test_the_parser_is_left_out_only_where_that_is_asked_for() -> None:
    assert "fflags" not in opening("rtsp://h/x", "tcp", 2, 3).options
    assert "noparse" in opening("rtsp://h/x", "tcp", 2, 3, parsed=False).options["fflags"]
