"""A cluster of Ray nodes on this machine, in a process of its own; nodes are added and killed by a word."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.processes import with_repository

_COMMAND = "from benchmarks.cluster.nodes import keep; keep()"
MARK = "STREAMDEID_LOCAL_CLUSTER"
"""In the environment of everything that belongs to one cluster."""
_MEMORY = 2 << 30
_STORE = 100 << 20


class LocalNodes:
    """A head without places, and nodes with some each. Use `local_nodes`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._said()

    def add(self) -> None:
        """Start another node."""
        self._do("add")

    def kill(self) -> None:
        """Kill the node that was started first of those that are left: no word to anybody."""
        self._do("kill")

    def _do(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        self._said()

    def _said(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("cluster: "):
                return line.removeprefix("cluster: ").strip()
        raise RuntimeError("the local cluster did not start")


@contextlib.contextmanager
def local_nodes(count: int, environment: Mapping[str, str] | None = None, places: int = 1) -> Iterator[LocalNodes]:
    """Start a head and so many nodes; all are gone at the end.

    environment: what nodes, and so the processes of tasks, have besides this process's. places: CPUs of each node.
    """
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _COMMAND, str(count), str(places)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": with_repository(), "RAY_USAGE_STATS_ENABLED": "0", **(environment or {})},
    ) as process:
        try:
            yield LocalNodes(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()  # its end
            process.wait(timeout=60)


def keep() -> None:
    """Keep nodes as standard input says; the program of the process."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    places = int(sys.argv[2])
    node = {"num_cpus": places, "memory": places * _MEMORY, "object_store_memory": _STORE}
    nodes = []
    try:
        nodes += [cluster.add_node(**node) for _ in range(int(sys.argv[1]))]
        print(f"cluster: {cluster.address}", flush=True)
        for line in sys.stdin:
            if line.strip() == "add":
                nodes.append(cluster.add_node(**node))
            else:
                cluster.remove_node(nodes.pop(0), allow_graceful=False)
            print("cluster: done", flush=True)
    finally:
        cluster.shutdown()


def processes_of(mark: str) -> list[str]:
    """Command lines of the running processes that have this mark in their environment (Linux)."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (place / "environ").read_bytes().split(b"\0"):
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
