"""The walls of the house: types, style and the direction of imports, checked with everything else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "command",
    [["mypy"], ["ruff", "check", "."], ["ruff", "format", "--check", "."], ["lint-imports"]],
    ids=["mypy", "ruff", "format", "imports"],
)
def test_check_passes(command: list[str]) -> None:
    if command[0] == "mypy" and sys.version_info[:2] != (3, 11):
        pytest.skip("PyAV's types differ between the releases pinned for each Python; they are checked on 3.11")
    program = Path(sys.executable).with_name(command[0])
    found = str(program) if program.exists() else shutil.which(command[0])
    if found is None:
        pytest.skip(f"{command[0]} is not installed (dependency group dev)")
    done = subprocess.run([found, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
