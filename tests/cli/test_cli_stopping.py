"""A signal ends a run also where what its handler raises gets lost on the way."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamdeid.cli.error_text import begin_again
from streamdeid.cli.main import _stop, main
from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.errors import ExitCode
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.video.files.drawn_clip import write_drawn_clip
from tests.live_fakes import planes


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    known = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in known.items():
        signal.signal(number, handler)
    begin_again()


@pytest.mark.parametrize("lost", [True, False])
def test_what_gets_lost_is_raised_again(
    tmp_path: Path, lost: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """lost: swallowed whole, as numpy does; or taken for an error of somebody else's."""
    for name in ("a.mp4", "b.mp4"):
        write_drawn_clip(tmp_path / name, (planes(100 + number) for number in range(8)), 10)
    known, calls = MaskFaces.render, []

    def rendered(self: MaskFaces, *words: Any) -> DeidentifiedFrame:
        calls.append(1)
        try:
            if len(calls) == 3:
                _stop(signal.SIGTERM, None)
        except BaseException as stopped:
            if not lost:
                raise RuntimeError("something else") from stopped
        return known(self, *words)

    monkeypatch.setattr(MaskFaces, "render", rendered)
    words = ["filter", str(tmp_path), str(tmp_path / "out"), "--method", "blackout", "--quiet"]
    assert main(words) == ExitCode.TERMINATED
    assert "stopped; nothing was written" in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*.mp4")) and not list((tmp_path / "out").glob(".*partial*"))
    monkeypatch.setattr(MaskFaces, "render", known)
    assert main(words) == ExitCode.DONE, "another run is not stopped"
