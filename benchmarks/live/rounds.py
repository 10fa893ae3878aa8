"""One round of `live_faults`: something breaks for a while, comes back, and what the final receiver saw of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.live.clip import LiveClip
from benchmarks.live.receivers import Receiver, Seen
from benchmarks.live.servers import GstServer, Namespace

RECOVERY_BAR = 5.0
"""Seconds from the source's return to a fresh filtered frame at the final receiver."""
REPEAT_BAR = 2.0
"""Seconds for which a filtered frame may be repeated."""
_TRANSPORT = 0.5
"""Seconds by which the receiver may see the last repeated frame later than it left: encoder, busy machine."""
_PATIENCE = 240.0
"""Seconds after which a round has failed."""
_SLATE = 0.8
"""Share of a placeholder that has one brightness, at least; a picture of the scene is far below."""
_CAMERA = ("camera killed", "camera stopped", "camera changed", "network cut")
KINDS = (*_CAMERA, "server killed", "server stopped")


@dataclass
class Stage:
    """All that takes part."""

    camera: GstServer
    server: GstServer
    receiver: Receiver
    clips: Sequence[LiveClip]
    """The clips that the camera plays in turn; they have the same rate and number of frames."""
    epoch: float
    network: Namespace | None
    playing: int = 0

    def fault(self, kind: str, outage: float) -> float:
        """Break it for so many seconds; `time.monotonic` of its return."""
        breaks, mends = self._actions(kind)
        breaks()
        time.sleep(outage)
        mends()
        return time.monotonic()

    def captured(self, one: Seen) -> float | None:
        """When the camera sent a picture, `time.monotonic`; None without a time code."""
        if one.code is None:
            return None
        clip = self.clips[0]
        return one.at - (one.at - self.epoch - one.code / clip.rate + 1.0) % (clip.frames / clip.rate) + 1.0

    def _actions(self, kind: str) -> tuple[Callable[[], None], Callable[[], None]]:
        who = self.camera if kind.startswith("camera") else self.server
        if kind == "network cut":
            assert self.network is not None
            return self.network.cut, self.network.join
        if kind == "camera changed":
            return self.camera.kill, self._change
        return (who.kill, who.start) if kind.endswith("killed") else (who.stop, who.cont)

    def _change(self) -> None:
        self.playing = (self.playing + 1) % len(self.clips)
        self.camera.restart(self.clips[self.playing].path)


@dataclass(frozen=True)
class Round:
    """What came of a fault; times in seconds."""

    kind: str
    outage: float
    recovery: float | None
    """From the return to the first picture at the final receiver that the camera sent after it; None: none came."""
    size_right: bool
    """Whether that picture has the size of the camera's."""
    repeated: float
    """From the last new picture before the return to the last repetition of it."""
    placeholders: int
    strangers: int = field(default=0)
    """Pictures without a time code that are no placeholders."""

    @property
    def problems(self) -> list[str]:
        """Bars that were missed."""
        found = self.faults
        if self.recovery is not None and self.recovery > RECOVERY_BAR:
            found.append(f"the first fresh picture came after {self.recovery:.1f} s")
        if self.repeated > REPEAT_BAR + _TRANSPORT:
            found.append(f"a picture was repeated for {self.repeated:.1f} s")
        return found

    @property
    def faults(self) -> list[str]:
        """What may not be on any machine, however busy."""
        found = []
        if self.recovery is None:
            found.append(f"no fresh picture within {_PATIENCE:.0f} s")
        elif not self.size_right:
            found.append("the picture has another size than the camera's")
        if self.strangers:
            found.append(f"{self.strangers} pictures are neither the camera's nor placeholders")
        return found


def play(stage: Stage, kind: str, outage: float) -> Round:
    """Play one round to its end."""
    begun = time.monotonic()
    returned = stage.fault(kind, outage)

    def is_fresh(one: Seen) -> bool:
        sent = stage.captured(one)
        return sent is not None and sent >= returned

    fresh = stage.receiver.wait(is_fresh, _PATIENCE, since=returned)
    until = fresh.at if fresh is not None else time.monotonic()
    seen = [one for one in stage.receiver.seen(begun - 1.0) if one.at < until]
    without = [one for one in seen if one.code is None]
    placeholders = sum(one.plain >= _SLATE for one in without)
    return Round(
        kind=kind,
        outage=outage,
        recovery=None if fresh is None else fresh.at - returned,
        size_right=fresh is not None and fresh.size == stage.clips[stage.playing].size,
        repeated=_repeated(seen) if kind in _CAMERA else 0.0,
        placeholders=placeholders,
        strangers=len(without) - placeholders,
    )


def _repeated(seen: Sequence[Seen]) -> float:
    """The longest time from a picture with a new time code to the last one in a row that has the same."""
    longest, since = 0.0, None
    for before, one in zip([None, *seen[:-1]], seen, strict=True):
        if before is None or one.code != before.code:
            since = one.at
        elif one.code is not None and since is not None:
            longest = max(longest, one.at - since)
    return longest


def plan(kinds: Sequence[str], rounds: int, seed: int) -> list[tuple[str, float]]:
    """Kinds in turn, shuffled within each turn, and how long each lasts: half of them shorter than the deadlines."""
    rng = np.random.default_rng(seed)
    planned: list[tuple[str, float]] = []
    while len(planned) < rounds:
        for kind in rng.permutation(kinds):
            short = rng.random() < 0.5
            planned.append((str(kind), float(rng.uniform(0.4, 2.5) if short else rng.uniform(3.0, 8.0))))
    return planned[:rounds]


def stage_of(directory: Path, clips: Sequence[LiveClip], network: Namespace | None, epoch: float) -> Stage:
    """The servers, not started, and a receiver without its thread yet; the camera in the network, if there is one."""
    camera = GstServer(cam=clips[0].path, epoch=epoch)
    if network is not None:
        camera.address, camera.prefix = network.address, network.prefix
    server = GstServer(record=directory / "published.h264")
    with server:  # its port is chosen at its first start
        pass
    return Stage(camera, server, Receiver(server.url("/out")), clips, epoch, network)
