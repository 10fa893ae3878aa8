"""`streamdeid serve` between real RTSP servers: cameras that refuse, and one that goes and comes back."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.runs.parts import write_drawing
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from tests.patience import eventually
from tests.rtsp import GstServer, gst_missing
from tests.served import PASSWORD, Service, serving

pytestmark = pytest.mark.skipif(gst_missing() is not None, reason=str(gst_missing()))


@pytest.fixture(scope="module")
def camera(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Iterator[GstServer]:
    """A camera with a password that shows one person."""
    place = tmp_path_factory.mktemp("camera")
    drawn = synthetic_people(fitting, gallery, people=1, seconds=3.0, size=(320, 240), rate=10)
    write_drawing(place / "cam.mp4", (one.frame.planes for one in drawn), 10)
    with GstServer(place / "cam.mp4", user="user", password=PASSWORD) as server:
        yield server


def _state(service: Service, name: str) -> str:
    return str(service.cameras()[name]["state"])


def test_cameras_that_refuse_are_degraded_and_say_why(camera: GstServer, tmp_path: Path) -> None:
    """No password anywhere; the good camera does not mind, and comes back after its server was killed."""
    sources = {
        "door": camera.url().replace(f"user:{PASSWORD}", "${DOOR_LOGIN}"),
        "wrong": camera.url(password=f"{PASSWORD}-not"),
        "nowhere": f"rtsp://user:{PASSWORD}@nowhere.invalid/x",
        "refused": f"rtsp://user:{PASSWORD}@127.0.0.1:9/x",
        "sound": camera.url("/sound"),
    }
    text = "method = 'blur'\n"
    cameras = (
        "[defaults]\n"
        + text
        + "".join(
            f'[[camera]]\nname = "{name}"\nsource = "{source}"\noutput = "{name}.m3u8"\n'
            for name, source in sources.items()
        )
    )
    cameras = cameras.replace('output = "door.m3u8"', f'output = "{camera.url("/rec")}"')
    with serving(tmp_path, cameras, DOOR_LOGIN=f"user:{PASSWORD}") as service:
        eventually(lambda: _state(service, "door") == "live")
        refused = [name for name in sources if name != "door"]
        eventually(lambda: all(_state(service, name) == "degraded" for name in refused))
        told = service.cameras()
        reasons = {name: str(told[name]["reason"]) for name in refused}
        print(reasons)
        assert len(set(reasons.values())) == 4 and all("\n" not in reason for reason in reasons.values())
        assert "password" in reasons["wrong"] and "refused" in reasons["refused"]
        assert all(told[name]["restarts"] == 0 for name in refused)
        for page in ("api/cameras", "healthz", "readyz", "metrics", ""):
            assert PASSWORD.encode() not in service.get(page)
        for child in service.children():
            for name in ("cmdline", "environ"):
                assert PASSWORD.encode() not in Path(f"/proc/{child}/{name}").read_bytes()

        camera.kill()
        eventually(lambda: _state(service, "door") == "degraded")
        filtered = service.cameras()["door"]["filtered"]
        camera.start()
        eventually(lambda: service.cameras()["door"]["filtered"] > filtered)
        eventually(lambda: _state(service, "door") == "live")
        assert service.cameras()["door"]["restarts"] == 0

        file = tmp_path / "cameras.toml"
        file.write_text("[http]\n" + cameras.replace('name = "sound"', 'name = "other"'))
        os.kill(service.process, signal.SIGHUP)
        eventually(lambda: list(service.cameras()) == [*list(sources)[:-1], "other"])
        assert _state(service, "door") == "live" and service.cameras()["door"]["filtered"] > filtered
