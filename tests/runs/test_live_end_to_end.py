"""The whole of it: an RTSP camera, `streamdeid filter`, an RTSP server, a reader. In long: benchmarks/live*.py."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.live.clip import LiveClip, read_code, write_code, write_live_clip
from benchmarks.live.marks import calibrate, search, threshold
from benchmarks.live.receivers import Receiver, Seen, numbered
from benchmarks.live.rounds import Stage, play
from benchmarks.live.runs import FilterRun
from streamdeid.cli.main import main
from streamdeid.core.arrays import Plane
from streamdeid.surrogates.models import load_models
from tests.patience import PATIENCE
from tests.rtsp import GstServer, gst_missing

SECONDS = 5.0
"""Of undisturbed filtering that are looked at."""
PASSWORD = "hunter2/@"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> LiveClip:
    """Two drawn people with watermarks and a time code."""
    path = tmp_path_factory.mktemp("camera") / "camera.mp4"
    return write_live_clip(path, load_models(None), size=(480, 360), seconds=30.0, drawn=2.0)


@pytest.fixture(scope="module")
def guarded(clip: LiveClip) -> Iterator[GstServer]:
    """A server that lets in only who knows the password."""
    if (missing := gst_missing()) is not None:
        pytest.skip(missing)
    with GstServer(cam=clip.path, user="eve", password=PASSWORD) as running:
        yield running


def test_time_codes_are_read_as_written() -> None:
    luma = np.full((40, 160), 128, np.uint8)
    assert read_code(luma) is None
    for number in (0, 1, 0x5555, 0xAAAA, 65535):
        write_code(luma, number)
        assert read_code(luma) == number
    luma[3:5, 40:48] = 128
    luma[11:13, 40:48] = 128
    luma[:16, 40:48] = luma[:16, 40:48] // 4 + 96
    assert read_code(luma) is None, "a square that can hardly be told from its negative"


def test_watermarks_are_found_where_nothing_is_filtered(clip: LiveClip) -> None:
    found, chance = calibrate(clip)
    assert found > 0.8 and chance < 0.35


def test_a_camera_is_filtered_published_lost_and_found(clip: LiveClip, tmp_path: Path) -> None:
    """Two people for some seconds; then the camera dies and comes back; then SIGTERM."""
    if (missing := gst_missing()) is not None:
        pytest.skip(missing)
    published, epoch = tmp_path / "published.h264", time.monotonic()
    pictures: list[Plane] = []

    def keep(one: Seen, luma: Plane) -> None:
        pictures.append(luma.copy())

    with (
        GstServer(cam=clip.path, epoch=epoch, user="eve", password=PASSWORD) as camera,
        GstServer(record=published) as server,
        FilterRun(camera.url(), server.url("/rec")) as run,
        Receiver(server.url("/out"), keep) as receiver,
    ):
        first = receiver.wait(lambda one: one.code is not None, PATIENCE)
        assert first is not None, run.complaint()
        time.sleep(SECONDS)
        seen = receiver.seen(first.at)
        stage = Stage(camera, server, receiver, [clip], epoch, None)
        lost = play(stage, "camera killed", 3.0)
        assert run.wait(lambda status: status["state"] == "live", PATIENCE), run.status()
        status, ended = run.status(), run.end()

    found = search(published, [clip])
    assert found.found == (), f"{found.strongest:.2f} from {found.threshold:.2f}"
    assert max(map(clip.strongest, pictures)) < threshold(found.unfiltered, found.chance)
    assert found.pictures >= len(seen)
    assert lost.faults == []  # how soon and how often is for `live_faults`, on a machine that has the time
    assert lost.placeholders > 0, "the outage is longer than a picture may be repeated"
    numbers = list(numbered(seen, clip, epoch))
    assert all(before < after for before, after in pairwise(numbers))
    assert len(numbers) > SECONDS, "too few: however busy the machine is, one a second has to come"
    assert {one.size for one in seen} == {clip.size}
    assert status["source"]["connections"] >= 2, "a busy machine may lose it once more"
    assert status["placeholders"] > 0
    assert sum(status["faces"].values()) > 1.5 * status["filtered"], "about two covers in each picture"
    assert (ended.code, ended.left) == (143, 0)
    assert "hunter2" not in str(status) + ended.complaint


def complaint(capfd: pytest.CaptureFixture[str], source: str, target: str, code: int) -> str:
    """Run a filter that must end with `code` by itself; its one line on stderr, which holds no password."""
    assert main(["filter", source, target, "--quiet", "--open-timeout", "2"]) == code
    captured = capfd.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == "" and len(lines) == 1, captured
    assert lines[0].startswith("streamdeid: ") and "hunter2" not in lines[0] and "Traceback" not in lines[0]
    return lines[0]


def closed_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    "kind", ["wrong password", "no password", "unknown host", "refused", "no video", "no such path"]
)
def test_a_camera_that_cannot_be_read_is_said_in_one_line(
    guarded: GstServer, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    source = {
        "wrong password": guarded.url(password="hunter2x"),
        "no password": guarded.url(user="", password=""),
        "unknown host": "rtsp://eve:hunter2@camera.invalid/cam",
        "refused": f"rtsp://eve:hunter2@127.0.0.1:{closed_port()}/cam",
        "no video": guarded.url("/sound"),
        "no such path": guarded.url("/nothing"),
    }[kind]
    words = complaint(capfd, source, guarded.url("/rec"), 1)
    assert "127.0.0.1" in words or "camera.invalid" in words
    print(kind, words)


@pytest.mark.parametrize("kind", ["wrong password", "refused"])
def test_a_server_that_does_not_take_it_is_said_in_one_line(
    guarded: GstServer, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    wrong = guarded.url("/rec", password="hunter2x")
    target = wrong if kind == "wrong password" else f"rtsp://eve:hunter2@127.0.0.1:{closed_port()}/rec"
    assert "127.0.0.1" in complaint(capfd, guarded.url(), target, 3)
