"""The measure of leaks can see them: partial covers, forgotten faces, wrong tables, silent detectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.leaks import leaks
from benchmarks.leaks import run as leaks_run
from streamdeid.aam.fit import FitModel
from streamdeid.core.frames import Frame, Planes
from streamdeid.lab.attacks.gaps import Box
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import Models
from tests.synthetic_video import encode


def planes(seed: int = 0) -> Planes:
    """A picture of noise, 200 x 160."""
    rng = np.random.default_rng(seed)
    y, u, v = (rng.integers(0, 255, size).astype(np.uint8) for size in ((160, 200), (80, 100), (80, 100)))
    return Planes(y, u, v)


BOX = Box(0, 40.0, 40.0, 100.0, 100.0, 0.9)


@pytest.mark.parametrize(("covered", "share"), [(0, 1.0), (15, 0.5), (30, 0.0)])
def test_a_partial_cover_keeps_the_rest(covered: int, share: float) -> None:
    original, output = planes(), planes().copy()
    output.y[55 : 55 + covered, 55:85] ^= 255
    assert leaks.kept_share(original, output, BOX) == pytest.approx(share, abs=0.02)


def test_pixels_that_happen_to_be_as_bright_are_not_kept() -> None:
    original, output = planes(), planes().copy()
    output.u[:] ^= 1
    assert leaks.kept_share(original, output, BOX) == 0


def moment(index: int, found: tuple[object, ...] = (), redactions: tuple[object, ...] = ()) -> object:
    """A frame at 25 per second."""
    return leaks_run.Moment(Fraction(index, 25), found, redactions)


def test_causes_are_told_apart() -> None:
    face, beside = (40.0, 40.0, 100.0, 100.0), (75.0, 40.0, 140.0, 100.0)
    assert leaks.cause([moment(0)], 0, face) == "never seen"
    assert leaks.cause([moment(0, found=(face,))], 0, face) == "not believed"
    assert leaks.cause([moment(0), moment(10, redactions=(face,))], 0, face) == "late or lost"
    assert leaks.cause([moment(0), moment(60, redactions=(face,))], 0, face) == "never seen"
    assert leaks.cause([moment(0, redactions=(beside,))], 0, face) == "misplaced"


def test_a_covered_face_is_remembered_over_frames_without_a_box() -> None:
    one = leaks._Covered(Fraction(0), BOX)
    moved = Box(10, 70.0, 45.0, 130.0, 105.0, 0.9)
    assert one.is_at(moved, Fraction(10, 25))
    assert not one.is_at(moved, Fraction(0))
    assert not one.is_at(Box(10, 40.0, 40.0, 60.0, 60.0, 0.9), Fraction(10, 25))


@pytest.mark.parametrize("rate", [10.0, 25.0, 30.0])
def test_the_detector_is_silent_in_a_tenth_of_the_frames_for_a_second_at_most(rate: float) -> None:
    shares = []
    for seed in range(20):
        silent = leaks_run.Silent(lambda frame: ["a face"], (seed, 7), rate)
        seen = [bool(silent(Frame(planes(), Fraction(index, 25), index))) for index in range(500)]
        runs = "".join("x" if one else "." for one in seen).split("x")
        assert max(map(len, runs)) <= rate
        shares.append(1 - np.mean(seen))
        assert shares[-1] > 0
    assert np.mean(shares) == pytest.approx(0.1, abs=0.02)


def test_of_a_slower_camera_every_third_frame_is_taken_with_its_boxes(
    tmp_path: Path, fitting: FitModel, gallery: Gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = encode(tmp_path / "a.mp4", frames=10, size=(200, 160), time_base=Fraction(1, 24))
    rows = [f"{index},{40 + index},40,{100 + index},100,0.9" for index in range(10)]
    video.with_name("a.faces.csv").write_text("\n".join(["frame,x0,y0,x1,y1,score", *rows]) + "\n")
    taken: list[tuple[int, Fraction]] = []
    waits: list[int] = []

    def filtered(frames: Iterable[Frame], step: object, lookahead: int) -> Iterator[SimpleNamespace]:
        waits.append(lookahead)
        for frame in frames:
            taken.append((frame.index, frame.time))
            pending = SimpleNamespace(frame=frame, tracks=())
            yield SimpleNamespace(pending=pending, frame=SimpleNamespace(planes=frame.planes, redactions=()))

    monkeypatch.setattr(leaks_run, "filtered", filtered)
    models = Models(fitting, gallery)
    for every in (1, 3):
        found = leaks.measure(video, models, Settings(), None, every)
        assert found.faces.total() == found.exposed.total() == found.frames == len(range(0, 10, every))
    assert taken[10:] == [(number, time) for number, (_, time) in enumerate(taken[:10:3])]
    assert 2 * waits[1] < waits[0] < 4 * waits[1], "as many seconds of look-ahead"
