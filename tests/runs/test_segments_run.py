"""Recordings filtered in two passes: the same with any number of processes, exact over the joints, killed or not."""

from __future__ import annotations

import os
import random
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.cli.main import main
from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.errors import FailedClosed, InputError, SettingsError
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.report.redaction_report import FileReport
from streamdeid.runs import files
from streamdeid.runs import workers as worker_processes
from streamdeid.runs.files import filter_file
from streamdeid.runs.segments import run
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.source import FileSource
from tests.patience import eventually
from tests.synthetic_video import encode, packets

FRAMES = 60
LENGTH = 0.75
"""Seconds of a segment here: 20 frames, a key frame's distance."""
KEYS = {"g": "20", "keyint_min": "20", "sc_threshold": "0", "bf": "2"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Path:
    """A key, and two drawn people with sound, and a key frame every 0.8 seconds."""
    folder = tmp_path_factory.mktemp("segments")
    (folder / "key").write_bytes(bytes(range(32)))
    (folder / "key").chmod(0o600)
    drawn = synthetic_people(fitting, gallery, people=2, seconds=FRAMES / 25, size=(320, 240), rate=25)
    rgb = [rectangle_to_rgb(one.frame.planes, 0, 0, 320, 240) for one in drawn]
    encode(folder / "in.mp4", frames=FRAMES, size=(320, 240), options=KEYS, audio=["aac"], pictures=rgb)
    return folder


@pytest.fixture(scope="module")
def calm(place: Path) -> FileReport:
    """The recording filtered in this process alone, as calm.mp4."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "filter_segments", partial(run.filter_segments, length=LENGTH))
        return filter_file(place / "in.mp4", place / "calm.mp4", chosen(place))


@pytest.fixture(autouse=True)
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of less than a second."""
    monkeypatch.setattr(files, "filter_segments", partial(run.filter_segments, length=LENGTH))


def chosen(place: Path, **more: Any) -> Settings:
    return Settings(key_file=place / "key", decisions="whole-file", **more)


def told(report: FileReport) -> tuple[object, ...]:
    return report.frames, report.faces, report.people, report.levels, report.persons, report.tracks, report.scene_cuts


def test_any_number_of_processes_gives_the_same_bits(place: Path, calm: FileReport, tmp_path: Path) -> None:
    (tmp_path / ".2.segments-dead").mkdir()
    (tmp_path / ".2.segments-dead" / "0.analysis").write_bytes(b"landmarks that a killed run left")
    one, two = calm, filter_file(place / "in.mp4", tmp_path / "2.mp4", chosen(place), workers=2)
    assert told(one) == told(two) and (place / "calm.mp4").read_bytes() == (tmp_path / "2.mp4").read_bytes()
    assert one.segments == two.segments == 3 and not one.one_pass
    assert one.people == 2 and one.levels.keys() == {"own face"}, "everybody is known from the first frame"
    source, output = FileSource(place / "in.mp4"), FileSource(tmp_path / "2.mp4")
    assert [frame.time for frame in output] == [frame.time for frame in source]
    assert packets(tmp_path / "2.mp4", "audio") == packets(place / "in.mp4", "audio")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["2.mp4"]


def test_joints_are_not_seen(place: Path, calm: FileReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut up or in one piece: the same persons, the same levels, nearly the same pictures."""
    monkeypatch.setattr(files, "filter_segments", run.filter_segments)
    whole = filter_file(place / "in.mp4", tmp_path / "whole.mp4", chosen(place))
    assert (calm.segments, whole.segments) == (3, 1) and told(calm) == told(whole)
    pairs = zip(FileSource(place / "calm.mp4"), FileSource(tmp_path / "whole.mp4"), strict=True)
    apart = [float(np.abs(a.planes.y.astype(int) - b.planes.y).mean()) for a, b in pairs]
    assert max(apart) < 1.5, "grey levels, the codec's doing"


def test_processes_that_are_killed_cost_an_attempt(
    place: Path, calm: FileReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, started, known = random.Random(3), [], worker_processes.subprocess.Popen

    def start(*words: Any, **more: Any) -> Any:
        process = known(*words, **more)
        started.append(process)
        if len(started) <= 2:
            threading.Timer(rng.uniform(0.1, 3.0), process.kill).start()
        return process

    monkeypatch.setattr(worker_processes.subprocess, "Popen", start)
    filter_file(place / "in.mp4", tmp_path / "out.mp4", chosen(place), workers=2)
    assert (tmp_path / "out.mp4").read_bytes() == (place / "calm.mp4").read_bytes()
    assert len(started) >= 3 and all(one.poll() is not None for one in started), "nothing is left running"


def test_a_segment_that_dies_twice_costs_the_file(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = worker_processes.subprocess.Popen

    def start(*words: Any, **more: Any) -> Any:
        process = known(*words, **more)
        process.kill()
        return process

    monkeypatch.setattr(worker_processes.subprocess, "Popen", start)
    with pytest.raises(FailedClosed, match="died twice"):
        filter_file(place / "in.mp4", tmp_path / "out.mp4", chosen(place), workers=2)
    assert list(tmp_path.iterdir()) == []


def test_what_is_raised_leaves_nothing(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(os.listdir("/proc/self/task"))

    def doubtful(self: ReplaceFaces, *words: Any) -> DeidentifiedFrame:
        raise FailedClosed("in doubt")

    for workers in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            filter_file(place / "in.mp4", tmp_path / "out.mp4", chosen(place), progress=_interrupt, workers=workers)
    monkeypatch.setattr(ReplaceFaces, "render", doubtful)
    with pytest.raises(FailedClosed, match="in doubt"):
        filter_file(place / "in.mp4", tmp_path / "out.mp4", chosen(place))
    assert list(tmp_path.iterdir()) == []
    assert eventually(lambda: set(os.listdir("/proc/self/task")) <= before), (
        "the system lets go a moment after the join"
    )


def test_what_is_raised_leaves_when_nobody_works_any_more(place: Path, tmp_path: Path) -> None:
    """Whoever holds the error, and with it where it was raised, holds no process: their directory is cleared away."""
    with pytest.raises(KeyboardInterrupt) as held:
        filter_file(place / "in.mp4", tmp_path / "out.mp4", chosen(place), progress=_interrupt, workers=2)
    assert held.tb is not None and not [one.name for one in threading.enumerate() if one.name.startswith("worker")]


def _interrupt(done: int, total: int | None, faces: int) -> None:
    raise KeyboardInterrupt


def test_what_cannot_be_cut_is_filtered_in_one_pass(place: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.mkv"
    damaged.write_bytes(_without_a_piece((place / "in.mp4").read_bytes()))
    report = filter_file(damaged, tmp_path / "out.mkv", chosen(place, tolerant=True), workers=2)
    assert report.segments == 0 and report.one_pass.startswith("since it cannot be read") and report.damaged_places
    with pytest.raises(InputError, match="damaged"):
        filter_file(damaged, tmp_path / "strict.mkv", chosen(place), workers=2)
    report = filter_file(place / "in.mp4", tmp_path / "out.avi", chosen(place, audio=False), workers=2)
    assert report.segments == 0 and "segments" in report.one_pass
    assert sorted(one.name for one in tmp_path.iterdir()) == ["damaged.mkv", "out.avi", "out.mkv"]


def _without_a_piece(data: bytes) -> bytes:
    """A file with zeros instead of some of its coded pictures."""
    middle = data.index(b"mdat") + (len(data) - data.index(b"mdat")) // 2
    return data[:middle] + bytes(2000) + data[middle + 2000 :]


def test_a_mask_needs_no_persons(place: Path, tmp_path: Path) -> None:
    settings = Settings(method="blackout", decisions="whole-file", regions=())
    report = filter_file(place / "in.mp4", tmp_path / "out.mp4", settings)
    assert report.segments == 3 and report.people is None and report.persons == {} and report.levels.keys() == {"mask"}
    ahead = filter_file(place / "in.mp4", tmp_path / "ahead.mp4", replace(settings, decisions="look-ahead"))
    assert (ahead.faces, ahead.levels) == (report.faces, report.levels)


def test_what_does_not_go_together(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError, match="whitelist"):
        chosen(place, whitelist=(place / "a.png",))
    with pytest.raises(SettingsError, match="look-ahead"):
        filter_file(place / "in.mp4", tmp_path / "out.mp4", chosen(place), analysis=tmp_path / "in.analysis")
    (tmp_path / "there.mp4").touch()
    with pytest.raises(SettingsError, match="exists already"):
        filter_file(place / "in.mp4", tmp_path / "there.mp4", chosen(place))
    with pytest.raises(SettingsError, match="is the key file itself; choose another output"):
        filter_file(place / "in.mp4", place / "key", chosen(place, overwrite=True))
    words = ["filter", str(place / "in.mp4"), str(tmp_path / "out.mp4"), "--decisions", "whole-file", "--workers", "2"]
    assert main([*words, "--quiet", "--report", str(tmp_path / "r.json")]) == 0
    assert main(["audit", str(tmp_path / "r.json")]) == 0 and "1 file in two passes" in capsys.readouterr().out
