"""Prometheus, Debian's, scrapes the service; the dashboard and the alerts in the docs name what is really exported."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamdeid.service.metrics import COUNTERS, GAUGES
from streamdeid.video.files.drawn_clip import write_drawn_clip
from tests.live_fakes import planes
from tests.patience import PATIENCE, eventually
from tests.served import Service, serving

DOCS = Path(__file__).parents[2] / "docs" / "monitoring"
LONG = 3000
"""Pictures of a clip of five minutes: each time that it begins anew the filter is made and tested anew, which a busy
machine does not do in seconds."""
INSTALLED = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="needs Debian's package prometheus"
)
EXPORTED = (
    {f"streamdeid_{name}_total" for name in (*COUNTERS, "faces", "reloads")}
    | {
        f"streamdeid_{name}"
        for name in (*GAUGES, "camera_state", "camera_node", "build_info", "start_time_seconds", "cameras")
    }
    | {f"streamdeid_latency_seconds_{part}" for part in ("bucket", "sum", "count")}
)


def expressions() -> list[str]:
    """What the panels ask for, for all cameras."""
    panels = json.loads((DOCS / "grafana.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) >= 8
    return [target["expr"].replace("$camera", ".*") for panel in panels for target in panel["targets"]]


def alerts() -> list[str]:
    return re.findall(r"expr: (.*)", (DOCS / "streamdeid-alerts.yml").read_text())


def test_the_dashboard_and_the_alerts_name_what_there_is() -> None:
    asked = {name for text in (*expressions(), *alerts()) for name in re.findall(r"streamdeid_\w+", text)}
    assert asked <= EXPORTED and len(asked) > 15


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A camera that is a file, played for ever."""
    place = tmp_path_factory.mktemp("monitored")
    write_drawn_clip(place / "in.mp4", (planes(100 + number % 40) for number in range(LONG)), 10)
    camera = '[[camera]]\nname = "hall"\nsource = "in.mp4"\nloop = true\noutput = "out.m3u8"\nmethod = "blackout"\n'
    with serving(place, camera) as running:
        yield running


@INSTALLED
def test_promtool_finds_nothing_wrong(service: Service) -> None:
    eventually(lambda: b"streamdeid_frames_filtered_total" in service.get("metrics"))
    text = service.get("metrics")
    told = set(re.findall(r"^(streamdeid_\w+)", text.decode(), re.MULTILINE))
    assert {name for name in told if not name.endswith("_created")} <= EXPORTED
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    for kind, name in (("rules", "streamdeid-alerts.yml"), ("config", "prometheus.yml")):
        done = subprocess.run(["promtool", "check", kind, DOCS / name], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def scraping(config: str, place: Path) -> Iterator[str]:
    """Debian's Prometheus with such a configuration, and where it answers."""
    (place / "prometheus.yml").write_text(config.replace("10s", "1s"))
    (place / "streamdeid-alerts.yml").write_text((DOCS / "streamdeid-alerts.yml").read_text())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = ["prometheus", f"--config.file={place / 'prometheus.yml'}", f"--storage.tsdb.path={place / 'data'}"]
    with subprocess.Popen(
        [*words, f"--web.listen-address={address}", "--log.level=error"], stderr=subprocess.DEVNULL
    ) as running:
        try:
            yield address
        finally:
            running.terminate()


def configured(service: Service) -> str:
    return (
        (DOCS / "prometheus.yml").read_text().replace("127.0.0.1:8090", urllib.parse.urlsplit(service.address).netloc)
    )


@INSTALLED
def test_prometheus_scrapes_it_and_answers_every_panel(service: Service, tmp_path: Path) -> None:
    with scraping(configured(service), tmp_path) as address:
        found = eventually(lambda: asked(address, "streamdeid_frames_filtered_total"))
        assert found[0]["metric"]["camera"] == "hall"
        for expression in (*expressions(), *alerts()):
            asked(address, expression)
        assert {one["metric"]["state"] for one in asked(address, "streamdeid_camera_state == 1")} <= {
            "live", "starting", "degraded"
        }  # fmt: skip


@INSTALLED
def test_prometheus_brings_the_token(tmp_path: Path) -> None:
    """With the lines that the example has as a comment; without them it sees nothing."""
    (tmp_path / "token").write_text("a-long-token-that-nobody-guesses\n")
    write_drawn_clip(tmp_path / "in.mp4", (planes(100 + number % 40) for number in range(LONG)), 10)
    camera = '[[camera]]\nname = "hall"\nsource = "in.mp4"\nloop = true\noutput = "out.m3u8"\nmethod = "blackout"\n'
    with serving(tmp_path, 'token_file = "token"\n' + camera) as service:
        config = configured(service)
        told = re.sub(r"^    # (authorization:|  credentials_file:)", r"    \1", config, flags=re.MULTILINE)
        told = told.replace("/etc/streamdeid/token", str(tmp_path / "token"))
        assert len(set(config.splitlines()) - set(told.splitlines())) == 2
        for text, up in ((told, "1"), (config, "0")):
            place = tmp_path / up
            place.mkdir()
            with scraping(text, place) as address:
                assert eventually(lambda: asked(address, "up"))[0]["value"][1] == up
                assert bool(asked(address, "streamdeid_cameras")) == (up == "1")


def asked(address: str, expression: str) -> list[dict[str, Any]]:
    """Prometheus' answer to an expression; an empty list as long as it does not answer. Fails for one it refuses."""
    words = urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(f"http://{address}/api/v1/query?{words}", timeout=PATIENCE) as answer:
            told: dict[str, Any] = json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        with refused:
            pytest.fail(f"{expression}: {refused.read()!r}")
    except urllib.error.URLError:
        return []
    result: list[dict[str, Any]] = told["data"]["result"]
    return result
