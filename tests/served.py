"""`streamdeid serve` as a process of its own, and what it must be true of at its end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE, eventually

ROOT = Path(__file__).parent.parent
PASSWORD = "geheim"
"""What no output, argument or environment of a process may hold."""


@dataclass(frozen=True)
class Service:
    """A running service."""

    address: str
    process: int

    def get(self, path: str, method: str = "GET") -> bytes:
        """The body of an answer, whatever its status."""
        request = urllib.request.Request(self.address + path, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return bytes(error.read())

    def cameras(self) -> dict[str, dict[str, Any]]:
        """The cameras' states by name."""
        return {camera["name"]: camera for camera in json.loads(self.get("api/cameras"))["cameras"]}

    def children(self) -> list[int]:
        """Its processes, whole tree, without itself."""
        return children(self.process)


@contextlib.contextmanager
def serving(place: Path, cameras: str, **environment: str) -> Iterator[Service]:
    """Serve cameras from a directory, on a free port. At the end it must stop, alone, and without a word."""
    file, errors = place / "cameras.toml", place / "stderr"
    file.write_text('[http]\nlisten = "127.0.0.1:0"\n' + cameras)
    program = "from streamdeid.cli.main import run; run()"
    with errors.open("wb") as stderr:
        service = subprocess.Popen(
            [sys.executable, "-c", program, "serve", str(file)],
            cwd=ROOT,
            env=os.environ | environment,
            stderr=stderr,
            stdout=subprocess.DEVNULL,
        )
    try:
        # It says so itself; how long a start takes is the machine's affair.
        listening = r"listening on (http://\S+)"
        found = eventually(lambda: re.search(listening, errors.read_text()) or service.poll() is not None)
        assert service.poll() is None, errors.read_text()
        yield Service(found[1], service.pid)
    finally:
        living = children(service.pid)
        service.terminate()
        try:
            code = service.wait(PATIENCE)
        finally:
            service.kill()  # nothing, when it has ended
            service.wait()
    assert code == 128 + signal.SIGTERM
    assert living and not [child for child in living if Path(f"/proc/{child}").exists()]
    said = errors.read_text()
    assert PASSWORD not in said and all(line.startswith("streamdeid: ") for line in said.splitlines()), said


def children(process: int) -> list[int]:
    """Processes below one, whole tree."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == process:
                found += [int(stat.parent.name), *children(int(stat.parent.name))]
    return found
