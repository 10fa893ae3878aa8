"""Relays as actors of a Ray cluster, one for each camera's process. `runs/cluster.py` imports Ray and hands it in."""

from __future__ import annotations

from typing import Any

from streamdeid.runs.cluster import last_line
from streamdeid.service.placed_child import RelayLost
from streamdeid.service.relay import CameraRelay

CPUS = 1
MEMORY = 700 << 20
"""Bytes requested for a camera: for Ray's worker and the processes that filter and encode 720p (docs/cluster.md)."""


class RayRelay:
    """A relay on any machine that has room; implements `placed_child.Remote`.

    Ray does not restart a relay that dies. The service does, so that it counts restarts, waits and gives the reason as
    for every camera.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        made = ray.remote(CameraRelay).options(
            num_cpus=CPUS,
            memory=MEMORY,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        self._actor = made.remote()

    def ask(self, name: str, *given: object) -> Any:
        """Call a method; returns a handle for `answer`. An order goes through the object store. Raises RelayLost."""
        try:
            sent = [self._ray.put(one) for one in given] if name == "start" else given
            return getattr(self._actor, name).remote(*sent)
        except self._ray.exceptions.RayError as error:
            raise RelayLost(last_line(error)) from error

    def answer(self, asked: Any, timeout: float) -> Any:
        """The return value of a called method. Raises TimeoutError after `timeout` seconds, and RelayLost."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(asked, timeout=timeout)
        except errors.GetTimeoutError as error:
            raise TimeoutError from error
        except errors.RayError as error:
            raise RelayLost(f"a machine of the cluster cannot run it: {last_line(error)}") from error

    def kill(self) -> None:
        """Kill the relay wherever it is, or prevent its start."""
        self._ray.kill(self._actor)
