"""A self-test stands for a minute, until something fails; recordings of one run share it, and come out the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.detection.deadline import TimedDetector
from streamdeid.errors import FailedClosed, SettingsError
from streamdeid.runs import parts, proof
from streamdeid.runs.files import FileRun
from streamdeid.runs.parts import write_drawing
from streamdeid.runs.proof import Proof
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.source import FileSource
from tests.live_fakes import FakeTime, planes


def test_it_stands_for_a_minute_for_one_detector_until_something_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "time", clock := FakeTime())
    one, other = (TimedDetector(lambda frame: [], 1.0) for _ in range(2))
    known = Proof()
    assert not known.stands(one)
    known.passed(one)
    with known.lost_on_errors():
        clock.ahead = 59.0
    assert known.stands(one) and not known.stands(other)
    clock.ahead = 61.0
    assert not known.stands(one)
    known.passed(one)
    with pytest.raises(FailedClosed), known.lost_on_errors():
        raise FailedClosed("a doubt")
    assert not known.stands(one)
    known.passed(one)
    one.hung = True
    assert not known.stands(one)
    for detect in (one, other):
        detect.close()


def test_the_recordings_of_a_run_share_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[object] = []
    monkeypatch.setattr(parts, "self_test", lambda *given: counted.append(given))
    write_drawing(tmp_path / "in.mp4", [planes(90 + 9 * number) for number in range(3)], 25)
    with FileRun(Settings(method="blackout")) as run:
        for name in ("a.mp4", "b.mp4", "c.mp4"):
            run.filter(tmp_path / "in.mp4", tmp_path / name)
        assert len(counted) == 1
        with pytest.raises(SettingsError):
            run.filter(tmp_path / "in.mp4", tmp_path / "c.mp4")
        run.filter(tmp_path / "in.mp4", tmp_path / "d.mp4")
        assert len(counted) == 2, "after a run that failed it runs again"


def test_a_recording_comes_out_the_same_whatever_came_before_it(
    tmp_path: Path, fitting: FitModel, gallery: Gallery
) -> None:
    (tmp_path / "key").write_bytes(bytes(range(32)))
    for seed in (1, 2):
        drawn = synthetic_people(fitting, gallery, people=1, seconds=0.3, size=(320, 240), rate=25, seed=seed)
        write_drawing(tmp_path / f"{seed}.mp4", [one.frame.planes for one in drawn], 25)
    settings = Settings(key_file=tmp_path / "key")

    def filtered(*names: str) -> list[bytes]:
        with FileRun(settings) as run:
            for name in names:
                run.filter(tmp_path / f"{name}.mp4", tmp_path / f"{name}_{len(names)}.mp4")
        source = FileSource(tmp_path / f"{names[-1]}_{len(names)}.mp4")
        return [plane.tobytes() for frame in source for plane in (frame.planes.y, frame.planes.u, frame.planes.v)]

    assert filtered("2") == filtered("1", "2")
