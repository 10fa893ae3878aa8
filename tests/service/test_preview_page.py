"""The real thing: `streamdeid serve` over a drawn clip, looked at by HTTP and in a real Chromium.

Each face of the clip carries a watermark (benchmarks/watermark.py), which is found in the clip and must be found in no
picture that the service shows.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.watermark import Watermark
from streamdeid.aam.fit import FitModel
from streamdeid.runs.parts import open_source, write_drawing
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from tests.chromium import Chromium, needs_chromium
from tests.patience import eventually
from tests.served import PASSWORD, Service, children, serving

RATE = 5
LAPS = 24
"""Times that the drawn seconds are in the clip, forwards and backwards. Where it begins anew, all parts of the filter
are made and tested anew, as after every loss of a camera: 1 to 2 s of CPU. A busy machine takes longer for that than
3 s of clip last, and then no picture is ever fresh enough to leave."""
THERE, GONE = 0.9, 0.45
"""Correlation above which a watermark is there, and below which it is gone (as in tests/benchmarks/test_faults.py)."""
JPEG = b"\xff\xd8\xff"
BUSY = 120.0
"""Seconds after which a busy machine is no excuse any more."""
RIM = 0.08
"""Width of the rim that is left unmarked, in face widths: there a synthetic face blends into the person's own skin."""


@dataclass(frozen=True)
class Served:
    """A running service, and what its faces would give themselves away by."""

    service: Service
    clip: list[NDArray[np.uint8]]
    marks: list[Watermark]

    def get(self, path: str) -> bytes:
        """The body of an answer."""
        return self.service.get(path)

    def shows_scene(self, jpeg: bytes) -> bool:
        """Whether it shows the scene; a placeholder, which leaves while the filter is late, does not.

        Fails when any piece of an original face is in it.
        """
        grey = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
        picture = np.asarray(grey * (219 / 255) + 16.5, np.uint8)  # as luma of a video
        assert picture.shape == self.clip[0].shape
        for mark in self.marks:
            assert mark.strongest(picture) < GONE
        top = (slice(0, 50), slice(None))  # over everybody's head
        return min(float(np.abs(picture[top] - raw[top].astype(float)).mean()) for raw in self.clip) < 6

    def scene(self, path: str) -> bytes:
        """A picture of the scene from there, as soon as there is one; every picture before it shows no face either."""

        def asked() -> bytes | None:
            body = self.get(path)  # or a line that there is no picture now
            return body if body.startswith(JPEG) and self.shows_scene(body) else None

        return bytes(eventually(asked))


def _clip(path: Path, fitting: FitModel, gallery: Gallery) -> list[Watermark]:
    """Draw two people into a file, each face with a pattern that stays in its place on the picture."""
    drawn = list(synthetic_people(fitting, gallery, people=2, seconds=3.0, size=(640, 480), rate=RATE))
    marks, places = [], []
    for face in range(2):
        boxes = np.array([one.truths[face].box for one in drawn])
        x0, y0, x1, y1 = boxes.mean(axis=0).round().astype(int)
        marks.append(Watermark.of((5, face), x1 - x0, y1 - y0))
        places.append((x0, y0))
    for one in drawn:
        for truth, mark, (x, y) in zip(one.truths, marks, places, strict=True):
            hull = np.zeros(one.frame.planes.y.shape, np.float32)
            cv2.fillConvexPoly(hull, cv2.convexHull(truth.points.round().astype(np.int32)), 1.0)
            rim = 2 * round(RIM * mark.pattern.shape[1]) + 1
            hull = np.asarray(cv2.erode(hull, np.ones((rim, rim))), np.float32)
            height, width = mark.pattern.shape
            mark.stamp(one.frame.planes.y, x, y, hull[y : y + height, x : x + width])
    lap = [one.frame.planes for one in drawn]
    write_drawing(path, (lap + lap[::-1]) * (LAPS // 2), RATE)
    return marks


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Iterator[Served]:
    """`streamdeid serve` with two cameras: a clip that is replayed, and one that is not there."""
    place = tmp_path_factory.mktemp("served")
    marks = _clip(place / "clip.mp4", fitting, gallery)
    clip = [frame.planes.y for frame in itertools.islice(open_source(place / "clip.mp4", Settings()), 3 * RATE)]
    cameras = (
        '[[camera]]\nname = "door"\nsource = "clip.mp4"\nloop = true\noutput = "filtered.mkv"\noverwrite = true\n'
        "most_rate = 2\n"  # a busy machine is late for more, and what is late never leaves
        f'[[camera]]\nname = "yard"\nsource = "rtsp://user:{PASSWORD}@127.0.0.1:9/x"\noutput = "yard.m3u8"\n'
    )
    with serving(place, cameras) as service:
        eventually(lambda: service.cameras()["door"]["filtered"])  # live it is when the machine lets it
        yield Served(service, clip, marks)


def test_the_watermark_is_in_the_clip(served: Served) -> None:
    """Or nothing that follows means anything."""
    for mark in served.marks:
        assert min(mark.strongest(luma) for luma in served.clip[::6]) > THERE
    grey = np.clip((served.clip[0] - 16.0) * (255 / 219), 0, 255).astype(np.uint8)
    with pytest.raises(AssertionError):
        served.shows_scene(cv2.imencode(".jpg", grey)[1].tobytes())


def test_pictures_are_filtered(served: Served) -> None:
    """However late the filter is: then a placeholder leaves, or no picture at all, and the scene comes again."""
    for path in ("cameras/door/preview.jpg", "cameras/door/snapshot.jpg"):
        for _ in range(3):
            served.scene(path)
    until, scenes, data = time.monotonic() + BUSY, set(), b""
    with urllib.request.urlopen(served.service.address + "cameras/door/stream.mjpeg", timeout=BUSY) as stream:
        while len(scenes) < 3 and time.monotonic() < until:
            data += stream.read1(1 << 16)
            *parts, data = data.split(b"\r\n--")
            found = (re.search(rb"Content-Length: \d+\r\n\r\n(.*)", part, re.DOTALL) for part in parts)
            pictures = (part[1] for part in found if part is not None)
            scenes |= {one for one in pictures if served.shows_scene(one)}
    assert len(scenes) == 3, "and it moves"


def test_health_names_the_camera_that_is_away(served: Served) -> None:
    eventually(lambda: "yard" in json.loads(served.get("healthz"))["degraded"])
    health = json.loads(served.get("healthz"))
    assert health["cameras"]["yard"] == {"state": "degraded", "reason": "camera: the connection was refused"}
    eventually(lambda: json.loads(served.get("healthz"))["cameras"]["door"]["state"] == "live")
    eventually(lambda: list(json.loads(served.get("readyz"))["not_ready"]) == ["yard"])
    text = served.get("metrics").decode()
    filtered = re.search(r'streamdeid_frames_filtered_total\{camera="door"\} (\S+)', text)
    assert filtered is not None and float(filtered[1]) > 0
    assert PASSWORD not in text + json.dumps(health) + str(served.service.cameras()["door"])


def test_nothing_of_it_is_in_arguments_or_environment(served: Served) -> None:
    for child in [served.service.process, *served.service.children()]:
        for name in ("cmdline", "environ"):
            assert PASSWORD.encode() not in Path(f"/proc/{child}/{name}").read_bytes()


@needs_chromium
def test_chromium_sees_the_picture_move_and_saves_a_filtered_snapshot(served: Served, tmp_path: Path) -> None:
    with Chromium(tmp_path) as browser:
        browser.open(served.service.address)
        shown = '[data-camera="door"] img:not([hidden])'
        eventually(lambda: browser.run(f"return document.querySelector('{shown}')?.naturalWidth") == 640)
        first = browser.picture('[data-camera="door"] .picture')
        eventually(lambda: browser.picture('[data-camera="door"] .picture') != first)
        texts = "return [...document.querySelectorAll('[data-camera=door] SELECTOR')].map((e) => e.textContent)"
        eventually(lambda: browser.run(texts.replace("SELECTOR", ".state")) == ["live"])
        rate = re.compile(r"(?!0\.0 )\d+\.\d / s")
        eventually(lambda: rate.fullmatch(browser.run(texts.replace("SELECTOR", "[data-is=rate]"))[0]))
        assert re.fullmatch(r"\d+ ms", browser.run(texts.replace("SELECTOR", "[data-is=p50]"))[0])
        faces = texts.replace("SELECTOR", "li")
        eventually(lambda: any(face.startswith("own face: ") for face in browser.run(faces)))
        yard = eventually(lambda: browser.run("return document.querySelector('[data-camera=yard]')?.innerText"))
        assert "degraded" in yard and "the connection was refused" in yard and "There is no picture now." in yard
        assert browser.run("return document.querySelector('[data-camera=yard] img').hidden")

        def saved() -> bool:
            browser.click('[data-camera="door"] .snapshot')
            (file,) = eventually(lambda: list(tmp_path.glob("door-*.jpg")))
            picture = file.read_bytes()
            file.unlink()
            return served.shows_scene(picture)

        eventually(saved)
        assert browser.console() == []
        if keep := os.environ.get("STREAMDEID_KEEP_SCREENSHOT"):
            Path(keep).write_bytes(browser.picture())


@needs_chromium
def test_the_page_shows_no_old_picture(served: Served, tmp_path: Path) -> None:
    """Of a service that does not answer: it might be gone, and the picture would stay for ever."""
    with Chromium(tmp_path) as browser:
        browser.open(served.service.address)
        image = "return document.querySelector('[data-camera=door] img:not([hidden])') !== null"
        eventually(lambda: browser.run(image))
        os.kill(served.service.process, signal.SIGSTOP)
        try:
            eventually(lambda: not browser.run(image))
            eventually(lambda: browser.run("return summary.textContent") == "The service does not answer.")
            assert browser.run("return document.querySelector('[data-camera=door] .state').textContent") == "unknown"
        finally:
            os.kill(served.service.process, signal.SIGCONT)
        eventually(lambda: browser.run(image))


@needs_chromium
def test_the_page_says_when_a_camera_is_restarted(served: Served, tmp_path: Path) -> None:
    """Last of all, as it takes the camera away for seconds."""
    with Chromium(tmp_path) as browser:
        browser.open(served.service.address)
        image = "return document.querySelector('[data-camera=door] img:not([hidden])') !== null"
        eventually(lambda: browser.run(image))
        before = served.service.cameras()["door"]["filtered"]
        os.kill(next(child for child in served.service.children() if _is_door(child)), signal.SIGKILL)
        eventually(lambda: not browser.run(image))
        said = eventually(lambda: browser.run("return document.querySelector('[data-camera=door] .none').innerText"))
        assert said in ("The camera is being restarted.", "The camera is starting.", "There is no picture now.")
        eventually(lambda: browser.run(image))
        after = served.service.cameras()["door"]
        assert after["restarts"] == 1 and int(str(after["filtered"])) >= int(str(before))


def _is_door(process: int) -> bool:
    """Whether this camera's process writes the door's file: its encoder is below it."""
    if b"camera_process" not in Path(f"/proc/{process}/cmdline").read_bytes():
        return False
    files = [os.readlink(link) for child in children(process) for link in Path(f"/proc/{child}/fd").iterdir()]
    return any("filtered.mkv" in file for file in files)
