"""A camera process that filters nothing and behaves as badly as its source's name says; it speaks the real protocol.

`python tests/fake_camera.py`: well (frames leave), dies, hangs (says nothing more), stands (no frame leaves any more),
away (no camera), ends (a file at its end), wrong (exit code 2), garbage, nested (JSON that is far too deep), deaf
(ignores SIGTERM and the end of input).
Its environment is told in its complaint, so that a test can look for what must not be there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from streamdeid.core.status import LATENCY_BOUNDS, LiveStatus, SinkState, SourceState

EVERY = 0.05
_JPEG = b"\xff\xd8\xff\xe0 a picture \xff\xd9"


def _status(count: int, behaviour: str) -> LiveStatus:
    """The status after as many frames."""
    here = behaviour != "away"
    return LiveStatus(
        state="ended" if behaviour == "ended" else "live" if here and count else "starting",
        source=SourceState(connected=here, connections=1, frames=count, reason=None if here else "no answer"),
        sink=SinkState(connected=True, openings=1, written=count),
        filtered=count,
        faces={"own face": 2 * count} if count else {},
        people=2,
        frame_age=0.1 if here and count else None,
        size=(640, 480),
        rate=15.0,
        latency=(0, count) + (0,) * (len(LATENCY_BOUNDS) - 1),
        latency_sum=0.04 * count,
        cpu_seconds=0.01 * count,
        memory_bytes=1 << 20,
    )


def _tell(status: LiveStatus) -> None:
    sys.stdout.buffer.write(json.dumps({"status": asdict(status)}).encode() + b"\n")
    sys.stdout.buffer.flush()


def _listen(behaviour: str) -> None:
    pictures = ("preview", "snapshot")
    while line := os.read(0, 100).decode():
        for kind in (word for word in line.split() if word in pictures):
            head = json.dumps({"picture": kind, "length": len(_JPEG)}).encode() + b"\n"
            sys.stdout.buffer.write(head + _JPEG)
            sys.stdout.buffer.flush()
    if behaviour != "deaf":
        os._exit(0)


def started(place: Path) -> list[dict[str, Any]]:
    """What fake cameras said of themselves in the file `log` of a directory, in the order of their starts."""
    log = place / "log"
    whole = log.read_text().rpartition("\n")[0] if log.exists() else ""  # the last line may be half written
    return [json.loads(line) for line in whole.splitlines()]


def main() -> None:
    """Behave."""
    order = b""
    while not order.endswith(b"\n"):
        order += os.read(0, 1)
    for _ in range(json.loads(order)["sent"]):
        os.read(0, 1)
    table = json.loads(order)["camera"]
    name, behaviour = table["name"], Path(table["source"]).name.partition("?")[0]
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
        words = {
            "pid": os.getpid(),
            "name": name,
            "order": json.loads(order),
            "env": dict(os.environ),
            "argv": sys.argv,
        }
        log.write(json.dumps(words) + "\n")
    if behaviour == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_listen, args=(behaviour,), daemon=True).start()
    for count in range(1 << 30):
        if count > 3:
            if behaviour == "dies":
                os._exit(7)
            if behaviour == "garbage":
                print("Hello from a library", flush=True)
            if behaviour == "nested":
                print("[" * 200_000, flush=True)
            if behaviour == "wrong":
                print(f"streamdeid: {name}: k is wrong rtsp://user:geheim@host/x", file=sys.stderr, flush=True)
                os._exit(2)
            if behaviour == "ends":
                _tell(_status(4, "ended"))
                os._exit(0)
            if behaviour == "hangs":
                time.sleep(1000)
        shown = 0 if behaviour == "away" else min(count, 4) if behaviour == "stands" else count
        _tell(_status(shown, behaviour))
        time.sleep(EVERY)


if __name__ == "__main__":
    main()
