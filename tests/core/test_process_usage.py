"""What a process holds of the system: a frugal one gives back large blocks, whatever lies behind them."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
