"""Relays as actors of a Ray cluster, one for each camera's process. Ray is handed in (`runs/cluster.py` imports it)."""

from __future__ import annotations

from typing import Any

from streamdeid.runs.cluster import last_line
from streamdeid.service.placed_child import RelayLost
from streamdeid.service.relay import CameraRelay

CPUS = 1
MEMORY = 700 << 20
"""Bytes that a camera asks for: Ray's worker, and the processes that filter and encode 720p (docs/cluster.md)."""


class RayRelay:
    """A relay on whatever machine has room; `placed_child.Remote`.

    Ray does not start it again when it dies: the service does, so that it counts, waits and says why as it always does.
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
        """Call a method; what `answer` is to be asked for. An order goes through the object store. Raises RelayLost."""
        try:
            sent = [self._ray.put(one) for one in given] if name == "start" else given
            return getattr(self._actor, name).remote(*sent)
        except self._ray.exceptions.RayError as error:
            raise RelayLost(last_line(error)) from error

    def answer(self, asked: Any, timeout: float) -> Any:
        """What the method returned. Raises TimeoutError after so many seconds, and RelayLost."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(asked, timeout=timeout)
        except errors.GetTimeoutError as error:
            raise TimeoutError from error
        except errors.RayError as error:
            raise RelayLost(f"a machine of the cluster cannot run it: {last_line(error)}") from error

    def kill(self) -> None:
        """Have it killed, wherever it is, or never started."""
        self._ray.kill(self._actor)
