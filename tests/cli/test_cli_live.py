"""The command line of live runs: what it refuses, how it ends at a signal, and that no listener can hold it up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamdeid.cli import filter_live, live_signals
from streamdeid.cli.error_text import Stopped
from streamdeid.cli.live_signals import heeded
from streamdeid.cli.main import main
from streamdeid.core.status import LiveStatus, SourceState
from tests.patience import PATIENCE

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["rtsp://u:geheim@h/x", "rtsp://h/y", "--rotate", "60"], "--rotate is for an output file"),
        (["rtsp://h/x", "a.m3u8", "--rotate", "60", "--keep-files", "3"], "--rotate is for an output file"),
        (["rtsp://h/x", "a.mkv", "--stdout-format", "matroska"], "--stdout-format is for OUTPUT -"),
        (["rtsp://h/x", "-", "--publish-transport", "udp"], "--publish-transport is for an output that is published"),
        (["http://h/x", "-", "--transport", "udp"], "--transport is for an RTSP camera"),
        (["/dev/video9", "-", "--realtime"], "--realtime is for files"),
        (["a.mp4", "b.mp4", "-o", "rtsp://u:geheim@h/x"], "a file becomes a stream with --realtime"),
        (["a.mp4", "-o", "-"], "a file becomes a stream with --realtime"),
        (["a.mp4", "b.M3U8"], "a file becomes a stream with --realtime"),
        (["a.mp4", "b.mkv", "--loop"], "--loop is for live streams"),
    ],
)
def test_what_means_nothing_is_refused(
    words: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["filter", *words]) == 2
    said = capsys.readouterr().err
    assert line in said and said.count("\n") == 1 and "geheim" not in said
    assert list(tmp_path.iterdir()) == []


def _hang_after(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)
    time.sleep(5)


@pytest.fixture
def before() -> Iterator[list[object]]:
    """Who gets the signals; a shell's background job would be deaf to Ctrl-C."""
    kept = {each: signal.getsignal(each) for each in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield [signal.getsignal(each) for each in SIGNALS]
    for each, earlier in kept.items():
        signal.signal(each, earlier)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_a_flag(number: signal.Signals, before: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_signals, "_PATIENCE", 0.2)
    with heeded():
        pass
    assert [signal.getsignal(each) for each in SIGNALS] == before
    with heeded() as flag:
        os.kill(os.getpid(), number)
        assert flag.stop.wait(PATIENCE) and flag.number == number
    time.sleep(0.3)  # nothing comes after the block
    assert signal.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGINT) == signal.SIG_IGN


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_interrupts_who_does_not_look(
    number: signal.Signals, before: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_signals, "_PATIENCE", 0.2)
    with pytest.raises(Stopped) as stopped, heeded():
        _hang_after(number)
    assert stopped.value.signal == number


def test_a_reader_of_the_status_that_stopped_does_not_hold_up_the_end() -> None:
    lines = """
import argparse, sys, time
from streamdeid.cli import filter_live
from streamdeid.core.status import LiveStatus
filter_live._EVERY = 0.001
class Filter:
    def status(self):
        return LiveStatus()
arguments = argparse.Namespace(json=True, quiet=False)
with filter_live._told(Filter(), arguments):
    time.sleep(2.0)
filter_live._ended(Filter(), arguments, "-", 0.0, 0)
"""
    begun = time.monotonic()
    with subprocess.Popen([sys.executable, "-c", lines], stdout=subprocess.PIPE) as process:
        try:
            assert process.wait(PATIENCE) == 0  # and nobody reads its output
        finally:
            process.kill()
    assert time.monotonic() - begun > 2.0


class _Replayed:
    """A live filter at the end of a recording, of which so many frames were filtered."""

    def __init__(self, filtered: int) -> None:
        self._status = LiveStatus(filtered=filtered, withheld=3, source=SourceState(dropped=37))

    def __enter__(self) -> _Replayed:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to end."""

    def run(self, stop: threading.Event) -> None:
        """It is at its end already."""

    def status(self) -> LiveStatus:
        """What came of it."""
        return self._status


@pytest.mark.parametrize(("filtered", "code"), [(0, 4), (1, 0)])
def test_a_replay_of_which_nothing_came_out_has_failed(
    filtered: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(filter_live, "open_live", lambda *words, **more: _Replayed(filtered))
    assert main(["filter", "--realtime", str(tmp_path / "a.mp4"), str(tmp_path / "b.mkv"), "--quiet"]) == code
    said = capsys.readouterr().err
    assert (code == 0) == (said == "")
    if code:
        assert "not one frame of the recording is in" in said and said.count("\n") == 1
        assert "37 came too fast for this machine and were left out, 3 were withheld" in said
