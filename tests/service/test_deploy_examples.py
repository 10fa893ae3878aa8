"""What docs/deploy.md has people copy: Kubernetes' example and its probes against the real service, systemd's units."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from streamdeid.runs.profiles import EDGE, PROFILES
from streamdeid.service.cameras_file import read_cameras
from streamdeid.service.http_settings import LISTEN, HttpSettings
from tests.service.test_service_http import DOOR, YARD, served

DOCS = Path(__file__).parents[2] / "docs"
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def _documents() -> dict[str, Any]:
    read = list(yaml.safe_load_all((DOCS / "kubernetes.yaml").read_text(encoding="utf-8")))
    return {one["kind"]: one for one in read}


def _container() -> Any:
    (container,) = _documents()["Deployment"]["spec"]["template"]["spec"]["containers"]
    return container


def _probe(name: str, port: int) -> int:
    """Exit code of a probe's command, asked of another port."""
    command = _container()[name]["exec"]["command"]
    assert command[0] == "python3" and f"http://{LISTEN}/" in command[-1]
    words = [sys.executable, *command[1:-1], command[-1].replace(LISTEN, f"127.0.0.1:{port}")]
    return subprocess.run(words, capture_output=True, timeout=30, check=False).returncode


def test_its_cameras_file_is_one(tmp_path: Path) -> None:
    documents = _documents()
    file = tmp_path / "cameras.toml"
    file.write_text(documents["ConfigMap"]["data"]["cameras.toml"], encoding="utf-8")
    read = read_cameras(file, {"DOOR_LOGIN": "user:password"})
    assert read.http == HttpSettings() and f"{read.http.host}:{read.http.port}" == LISTEN
    assert read.variables == {"DOOR_LOGIN"}
    assert read.cameras[0].live.most_lines == PROFILES[EDGE].live["most_lines"]
    pod = documents["Deployment"]["spec"]["template"]["spec"]
    (volume,) = (one for one in pod["volumes"] if "configMap" in one)
    assert volume["configMap"]["name"] == documents["ConfigMap"]["metadata"]["name"]
    (mount,) = (one for one in _container()["volumeMounts"] if one["name"] == volume["name"])
    assert _container()["args"] == ["serve", f"{mount['mountPath']}/cameras.toml"]


def test_its_selector_finds_its_pods() -> None:
    spec = _documents()["Deployment"]["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]


def test_probes_pass_where_all_is_well() -> None:
    with served(HttpSettings(port=0), DOOR) as visitor:
        assert [_probe(name, visitor.port) for name in PROBES] == [0, 0, 0]


def test_a_camera_that_is_away_makes_it_unready_and_not_dead() -> None:
    with served(HttpSettings(port=0), replace(DOOR), YARD) as visitor:
        assert [_probe(name, visitor.port) == 0 for name in PROBES] == [True, True, False]


def test_a_service_that_is_gone_fails_them_all() -> None:
    with served(HttpSettings(port=0), DOOR) as visitor:
        port = visitor.port
    assert all(_probe(name, port) != 0 for name in PROBES)


def test_the_drop_in_for_a_board_belongs_to_the_unit(tmp_path: Path) -> None:
    parsed = configparser.ConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string((DOCS / "streamdeid-edge.conf").read_text(encoding="utf-8"))
    assert parsed.sections() == ["Service"]
    assert {"MemoryMax", "MemorySwapMax", "CPUQuota"} <= set(parsed["Service"])
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "streamdeid.service"
    text = (DOCS / "streamdeid.service").read_text(encoding="utf-8")
    assert "/usr/local/bin/streamdeid serve" in text
    unit.write_text(text.replace("/usr/local/bin/streamdeid", sys.executable), encoding="utf-8")
    drop = tmp_path / "streamdeid.service.d"
    drop.mkdir()
    shutil.copy(DOCS / "streamdeid-edge.conf", drop / "edge.conf")
    told = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    about = [line for line in (told.stdout + told.stderr).splitlines() if str(tmp_path) in line or "streamdeid" in line]
    assert not about, about
