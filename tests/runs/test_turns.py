"""As many filters as there are processors work at a time, in turn; one that dies or hangs keeps nobody out."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from streamdeid.core.process_usage import processors
from streamdeid.runs import turns as turns_module
from streamdeid.runs.turns import Turns, folder_of_turns, usual
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
GO = threading.Event()
"""Never set."""


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody goes on without a turn."""
    monkeypatch.setattr(turns_module, "PATIENCE", PATIENCE)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Turns, Turns]]:
    """Two filters with one turn between them. Locks belong to files that were opened, so threads will do."""
    with closing(Turns(tmp_path, 1)) as one, closing(Turns(tmp_path, 1)) as other:
        yield one, other


def test_who_finds_a_turn_does_not_wait(two: tuple[Turns, Turns]) -> None:
    for turns in two:
        with turns(GO) as waited:
            assert not waited


def test_there_are_turns_for_all_processors_and_one_more(tmp_path: Path, patient: None) -> None:
    count = usual()
    assert count == processors() + 1
    all_of_them = [Turns(tmp_path) for _ in range(count)]
    held = [turns(GO) for turns in all_of_them]
    assert not any(turn.__enter__() for turn in held)
    assert {path.name for path in tmp_path.iterdir()} == {"next", *(str(number) for number in range(count))}
    for turn in held:
        turn.__exit__(None, None, None)
    for turns in all_of_them:
        turns.close()
        turns.close()


def test_who_has_had_a_turn_comes_after_who_waits(two: tuple[Turns, Turns], patient: None) -> None:
    one, other = two
    order: list[tuple[str, bool]] = []
    pausing = _Pausing()

    def waits() -> None:
        with other(pausing) as waited:
            order.append(("other", waited))

    with one(GO):
        thread = threading.Thread(target=waits)
        thread.start()
        assert pausing.seen.wait(PATIENCE)
        assert not _is_free(one), "it has the next turn"
    with one(GO) as waited:
        order.append(("one", waited))
    thread.join()
    assert order == [("other", True), ("one", True)]


class _Pausing(threading.Event):
    """Never set; tells that somebody has found no turn and pauses."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.seen.set()
        return super().wait(timeout)


def _is_free(turns: Turns) -> bool:
    free = turns_module.take_lock(turns._files[0])
    if free:
        turns_module.give_lock(turns._files[0])
    return free


def test_who_hangs_is_not_waited_for_without_end(two: tuple[Turns, Turns], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "PATIENCE", 0.05)
    one, other = two
    with one(GO):
        with other(GO) as waited:
            assert waited
        assert _is_free(one), "it leaves the next turn to others"
    with other(GO) as waited:
        assert not waited


def test_who_dies_leaves_his_turn(tmp_path: Path, patient: None) -> None:
    program = (
        "import pathlib, sys, threading, time; from streamdeid.runs.turns import Turns\n"
        "with Turns(pathlib.Path(sys.argv[1]), 1)(threading.Event()):\n"
        "    print('has it', flush=True)\n    time.sleep(3600)"
    )
    with closing(Turns(tmp_path, 1)) as turns:
        with subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT, text=True
        ) as process:
            assert process.stdout is not None and process.stdout.readline() == "has it\n"
            assert not turns_module.take_lock(turns._files[1])
            process.kill()
        with turns(GO):
            pass


def test_the_folder_is_gone_in_the_end_and_none_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with folder_of_turns() as folder:
        assert folder is not None and folder.parent == tmp_path
        Turns(folder).close()
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with folder_of_turns() as folder:
        assert folder is None


def test_an_end_is_not_waited_through(two: tuple[Turns, Turns], patient: None) -> None:
    one, other = two
    stop = threading.Event()
    stop.set()
    with one(GO), other(stop) as waited:
        assert waited
        assert _is_free(other)


def test_where_locks_fail_nobody_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(tmp_path, 1)

    def fails(file: int) -> bool:
        raise OSError(37, "no locks available")

    monkeypatch.setattr(turns_module, "take_lock", fails)
    with turns(GO) as waited:
        assert not waited
    turns.close()
    with pytest.raises(OSError, match="no locks"):
        Turns(tmp_path, 1)
    with pytest.raises(OSError, match="none"):
        Turns(tmp_path / "none", 1)
