"""What a process holds of the system: a frugal one gives back large blocks, whatever lies behind them, and code that is
not used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamdeid.core import process_usage
from streamdeid.core.process_usage import processors

_PROGRAM = """
import sys
import cv2
import numpy as np
from streamdeid.core.process_usage import be_frugal, own_usage
if sys.argv[1] == "frugal":
    be_frugal()
    assert cv2.getNumThreads() == 1
np.ones(1 << 24, np.uint8)  # freed at once, for glibc a sign that such blocks are better kept
for _ in range(2):
    large, small = [], []
    for _ in range(20):
        large.append(np.ones(1 << 23, np.uint8))
        small.append(np.ones(1 << 18, np.uint8))
    full = own_usage()[1]
    large.clear()
print((full - own_usage()[1]) >> 20)
"""


def _given_back(kind: str) -> int:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, kind], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's mallopt")
def test_a_frugal_process_gives_large_blocks_back() -> None:
    assert _given_back("frugal") >= 150
    assert _given_back("plain") < 150


_CODE = """
import llvmlite.binding
import numba
from streamdeid.core.process_usage import let_go_of_code, own_usage

@numba.njit
def added(a, b):
    return a + b

assert added(1, 2) == 3
full = own_usage()[1]
let_go_of_code()
print((full - own_usage()[1]) >> 20)
assert added(1.0, 2.0) == 3.0  # another type: the compiler is needed once more
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's /proc")
def test_code_that_was_let_go_comes_back_when_it_is_needed() -> None:
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 30


@pytest.mark.parametrize(
    ("limit", "worth"),
    [("max 100000", 4), ("150000 100000", 1), ("50000 100000", 1), ("", 4), ("900000 100000", 4)],
)
def test_a_container_has_as_many_processors_as_its_limit_is_worth(
    limit: str, worth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(process_usage, "_LIMIT", tmp_path / "cpu.max")
    assert processors() == 4
    (tmp_path / "cpu.max").write_text(f"{limit}\n")
    assert processors() == worth
