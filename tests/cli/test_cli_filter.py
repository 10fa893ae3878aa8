"""`streamdeid filter`, `compare` and `demo` on synthetic people, end to end."""

from __future__ import annotations

import json
import secrets
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.cli.main import main
from streamdeid.core.frames import Frame
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import SyntheticFrame
from streamdeid.video.files.source import FileSource
from tests.report.test_report import check_report
from tests.synthetic_video import RATE, packets
from tests.talking_clip import talking_clip


class Run:
    """One filtered clip and what is known of it."""

    def __init__(self, place: Path, drawn: list[SyntheticFrame]) -> None:
        self.place, self.drawn = place, drawn
        self.input, self.output = place / "talk.mp4", place / "talk_deidentified.mp4"
        self.key, self.report = place / "key", place / "report.json"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> Run:
    """A talking person, filtered with a key into the default output."""
    place = tmp_path_factory.mktemp("run")
    one = Run(place, talking_clip(place / "talk.mp4", fitting, gallery))
    one.key.write_bytes(secrets.token_bytes(32))
    argv = ["filter", str(one.input), "--key-file", str(one.key), "--report", str(one.report), "--quiet"]
    assert main(argv) == 0
    return one


def frames(path: Path) -> list[Frame]:
    """All frames of a file."""
    return list(FileSource(path))


def middle(frame: Frame, box: tuple[float, float, float, float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Luma of the middle of a face."""
    x0, y0, x1, y1 = box
    w, h = x1 - x0, y1 - y0
    part = frame.planes.y[int(y0 + 0.3 * h) : int(y0 + 0.8 * h), int(x0 + 0.2 * w) : int(x0 + 0.8 * w)]
    return part.astype(np.float64)


def test_frames_times_and_sound_are_those_of_the_input(run: Run) -> None:
    before, after = frames(run.input), frames(run.output)
    assert len(after) == len(before) == RATE
    assert all(abs(a.time - b.time) <= Fraction(1, 1000) for a, b in zip(before, after, strict=True))
    assert packets(run.output, "audio") == packets(run.input, "audio")


def test_every_face_was_replaced_and_the_rest_was_left(run: Run) -> None:
    for before, after, drawn in zip(frames(run.input), frames(run.output), run.drawn, strict=True):
        box = drawn.truths[0].box
        assert np.abs(middle(after, box) - middle(before, box)).mean() > 3.0
        corner = np.abs(after.planes.y[-40:, -60:].astype(float) - before.planes.y[-40:, -60:])
        assert corner.mean() < 2.0


def test_the_report_tells_what_was_done(run: Run) -> None:
    report = json.loads(run.report.read_text(encoding="utf-8"))
    check_report(report)
    (one,) = report["files"]
    assert one["frames"] == one["faces"] == one["levels"]["own face"] == RATE
    assert one["people"] == 1
    assert one["persons"] == {"1": one["levels"]}
    assert report["choice"]["factor"] == pytest.approx(2.0)
    assert report["choice"]["preserved"] == ["gender"] and report["choice"]["leakage_bits"] < np.log2(3)
    assert "at most 6.00" in report["choice"]["guarantee"]
    assert report["choice"]["keyed"] is True
    text = run.report.read_text(encoding="utf-8")
    assert run.key.read_bytes().hex() not in text
    assert str(run.key) not in text


def test_the_same_key_gives_the_same_pixels_and_another_key_another_face(run: Run, tmp_path: Path) -> None:
    same, other = tmp_path / "same.mp4", tmp_path / "other.mp4"
    assert main(["filter", str(run.input), str(same), "--key-file", str(run.key), "--quiet"]) == 0
    assert main(["filter", str(run.input), str(other), "--quiet"]) == 0
    first = frames(run.output)
    for a, b in zip(first, frames(same), strict=True):
        assert all(np.array_equal(p, q) for p, q in zip(planes(a), planes(b), strict=True))
    box = run.drawn[-1].truths[0].box
    assert np.abs(middle(first[-1], box) - middle(frames(other)[-1], box)).mean() > 2.0


def planes(frame: Frame) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.uint8]], ...]:
    """The three planes of a frame."""
    return frame.planes.y, frame.planes.u, frame.planes.v


@pytest.mark.parametrize(
    "options", [["--method", "pixelate"], ["--transfer", "paper", "--preserve", "none", "--lookahead", "0"]]
)
def test_other_choices_run_and_say_nothing_on_stderr(
    options: list[str], run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "o.mkv"
    assert main(["filter", str(run.input), "--no-audio", *options, str(output), "--json"]) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    one = json.loads(captured.out)
    assert (one["frames"], one["output"]["name"]) == (RATE, "o.mkv")
    assert packets(output, "audio") == []
    assert len(frames(output)) == RATE


def test_compare_draws_a_sheet(run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "sheet.png"
    assert main(["compare", str(run.input), str(run.output), "--sheet", str(sheet), "--columns", "4"]) == 0
    picture = cv2.imread(str(sheet))
    assert picture is not None
    height, width = picture.shape[:2]
    assert width == 4 * 164 + 4
    originals, results = picture[: height // 2], picture[height // 2 :]
    assert originals.std() > 20
    assert not np.array_equal(originals[:160], results[-178:-18])
    assert "4 faces" in capfd.readouterr().out
    assert main(["compare", str(run.input), str(run.output), "--sheet", str(sheet)]) == 2
    capfd.readouterr()


def test_compare_refuses_what_does_not_belong_together(
    run: Run, tmp_path: Path, fitting: FitModel, gallery: Gallery, capfd: pytest.CaptureFixture[str]
) -> None:
    talking_clip(tmp_path / "short.mp4", fitting, gallery, seconds=0.4)
    argv = ["compare", str(run.input), str(tmp_path / "short.mp4"), "--sheet", str(tmp_path / "s.png")]
    assert main(argv) == 1
    assert "as many frames" in capfd.readouterr().err
    assert not (tmp_path / "s.png").exists()


def test_the_demo_shows_two_people_replaced(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path / "demo"), "--seconds", "1"]) == 0
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {"original.mp4", "deidentified.mp4", "side_by_side.mp4", "sheet.png", "report.json"}
    report = json.loads((tmp_path / "demo" / "report.json").read_text(encoding="utf-8"))
    check_report(report)
    (one,) = report["files"]
    assert one["people"] == 2
    assert one["faces"] == 2 * RATE
    assert one["levels"]["own face"] > 0.9 * one["faces"]
    assert frames(tmp_path / "demo" / "side_by_side.mp4")[0].planes.size == (1440, 408)
    said = capfd.readouterr().out
    assert "50 faces" in said
    assert "NASA does not endorse" in said


def test_synthetic_people_can_be_told_apart_from_their_truth(run: Run) -> None:
    openings = [one.truths[0].opening for one in run.drawn]
    gaps = [float(np.ptp(one.truths[0].points[[62, 66], 1])) for one in run.drawn]
    assert np.corrcoef(openings, gaps)[0, 1] > 0.95
