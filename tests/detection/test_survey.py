"""The survey: CenterFace's numbers read rightly, what it says of places, and when it looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core import shipped_models
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.shipped_models import CENTERFACE, network
from streamdeid.detection import centerface
from streamdeid.detection.centerface import CenterFace, Seen
from streamdeid.detection.five_points import FiveFaces, as_detected
from streamdeid.detection.mediapipe_faces import MediapipeFaces
from streamdeid.detection.survey import FOUND, Survey, Surveyed, limits, windows
from streamdeid.errors import ModelError
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people

WEIGHTS = network(CENTERFACE)


def slow_faces(
    scores: NDArray[np.float64], sides: NDArray[np.float32], places: NDArray[np.float32], points: NDArray[np.float32]
) -> list[tuple[float, ...]]:
    """The cells with a face, one by one as the paper says: score, box, five points."""
    found = []
    for row in range(scores.shape[0]):
        for column in range(scores.shape[1]):
            if scores[row, column] < 0.3:
                continue
            high, wide = np.exp(sides[:, row, column].astype(float)) * 4
            y, x = (np.array([row, column]) + places[:, row, column] + 0.5) * 4
            if not (np.isfinite([high, wide]).all() and max(high, wide) < 16 * max(scores.shape)):
                continue
            five = []
            for k in range(5):
                five += [
                    points[2 * k + 1, row, column] * wide + x - wide / 2,
                    points[2 * k, row, column] * high + y - high / 2,
                ]
            found.append((scores[row, column], x - wide / 2, y - high / 2, x + wide / 2, y + high / 2, *five))
    return found


def test_the_networks_numbers_are_read_as_one_by_one() -> None:
    rng = np.random.default_rng(3)
    shape = (12, 20)
    scores = rng.uniform(0, 0.29, shape)
    for row, column in ((2, 3), (2, 15), (9, 8)):  # far enough from one another not to be joined
        scores[row, column] = rng.uniform(0.3, 1)
    sides, places = rng.uniform(1.0, 1.6, (2, *shape)), rng.uniform(0, 1, (2, *shape))
    sides[0, 2, 15] = 200.0  # as it does at times
    points = rng.uniform(0, 1, (10, *shape))
    arrays = [a.astype(np.float32) for a in (sides, places, points)]
    found = centerface._decoded(scores, *arrays, 0.3, np.ones(2))
    rows = np.column_stack([found.scores, found.boxes, found.points.reshape(-1, 10)])
    expected = slow_faces(scores, *arrays)
    assert len(rows) == len(expected) == 2
    np.testing.assert_allclose(sorted(map(tuple, rows)), sorted(expected), rtol=1e-5)


def test_two_boxes_of_one_face_are_one() -> None:
    scores = np.zeros((12, 20))
    scores[5, 5:7] = 0.9, 0.6
    sides = np.full((2, 12, 20), np.log(8.0), np.float32)
    found = centerface._decoded(
        scores, sides, np.zeros((2, 12, 20), np.float32), np.zeros((10, 12, 20), np.float32), 0.3, np.ones(2)
    )
    assert found.scores.tolist() == [0.9]


def test_other_weights_or_none_are_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shipped_models, "shipped", lambda: tmp_path)
    with pytest.raises(ModelError, match="cannot be read: no such file"):
        MediapipeFaces(survey=0.5)
    (tmp_path / CENTERFACE).write_bytes(b"another")
    with pytest.raises(ModelError, match="has been changed"):
        MediapipeFaces(survey=0.5)


def surveyed(
    score: float, at: tuple[int, int] = (10, 10), scale: float = 1.0, contrast: int = 90, side: float = 20.0
) -> Surveyed:
    """A survey of 160 x 160 pixels with a face's middle in one cell."""
    scores = np.zeros((40, 40), np.float32)
    scores[at] = score
    none = FiveFaces(np.zeros((0, 4)), np.zeros((0, 5, 2)), np.zeros(0))
    light = np.full((160, 160), 100, np.uint8)
    light[::2] += np.uint8(contrast)
    sides = np.full((40, 40), side, np.float32)
    return Surveyed((), Seen(none, scores, sides, (4 / scale, 4 / scale)), scale, light, 1.0)


def test_an_opinion_is_the_score_over_the_bar_for_the_size() -> None:
    box = (30.0, 30.0, 54.0, 54.0)  # 24 pixels, its middle in the cell (10, 10)
    assert surveyed(0.5).opinion(box) > 1.5
    assert surveyed(0.1).opinion(box) < 1
    assert surveyed(0.5, at=(30, 30)).opinion(box) == 0
    assert surveyed(0.15, side=9.0).opinion((37.0, 37.0, 46.0, 46.0)) > 1  # 9 pixels: little is enough


@pytest.mark.parametrize(("side", "face"), [(8.0, False), (11.0, True), (50.0, True), (60.0, False)])
def test_a_face_of_another_size_says_nothing_of_a_box(side: float, face: bool) -> None:
    """Two people side by side are no face between them."""
    assert (surveyed(0.5, side=side).opinion((30.0, 30.0, 54.0, 54.0)) > 1) == face


def test_what_is_too_small_gets_no_opinion() -> None:
    assert surveyed(0.5).opinion((40.0, 40.0, 46.0, 46.0)) is None
    assert surveyed(0.5).opinion((-90.0, -90.0, -60.0, -60.0)) is None


def test_what_is_too_large_or_too_dark_is_not_denied_but_a_face_there_counts() -> None:
    large, dark = (10.0, 10.0, 74.0, 74.0), (30.0, 30.0, 54.0, 54.0)
    assert surveyed(0.2, scale=2.0, side=64.0).opinion(large) is None
    assert surveyed(0.2, scale=2.0, side=64.0, at=(20, 20)).opinion(large) is None
    assert surveyed(0.5, scale=2.0, side=64.0, at=(20, 20)).opinion(large) == pytest.approx(0.5 / 0.375)
    assert surveyed(0.1, contrast=20).opinion(dark) is None
    assert surveyed(0.5, contrast=20).opinion(dark) == surveyed(0.5).opinion(dark)


def test_drawn_people_are_found_where_they_are_with_their_points() -> None:
    models = load_models(None)
    one = next(iter(synthetic_people(models.fitting, models.gallery, people=2, size=(640, 360))))
    survey = Survey(WEIGHTS, 0.5, 640)
    survey.lay_out((640, 360))
    found = survey(one.frame.planes, Fraction(0))
    assert found is not None
    assert len(found.faces) == 2
    for truth in one.truths:
        opinion = found.opinion(truth.box)
        assert opinion is not None
        assert opinion > 1
        face = min(found.faces, key=lambda face: abs(face.box[0] - truth.box[0]))
        assert abs(face.points[2] - truth.points[30]).max() < 0.15 * (truth.box[2] - truth.box[0])
    assert all(face.score >= FOUND for face in found.faces)


def test_it_looks_at_once_then_every_so_many_seconds_and_after_a_cut() -> None:
    survey = Survey(WEIGHTS, 0.5, 64)
    survey.lay_out((64, 48))
    planes = planes_from_rgb(np.zeros((48, 64, 3), np.uint8))
    looked = [index for index in range(30) if survey(planes, Fraction(index, 20)) is not None]
    assert looked == [0, 10, 20]
    assert survey(planes, Fraction(0)) is not None  # a clock that went back
    assert survey(planes, Fraction(1, 20)) is None
    survey.restart()
    assert survey(planes, Fraction(2, 20)) is not None


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((640, 360), (960, 544)),
        ((1280, 720), (960, 544)),
        ((1920, 1080), (960, 544)),
        ((3840, 2160), (1920, 1088)),
        ((320, 240), (480, 384)),
        ((640, 480), (832, 640)),
    ],
)
def test_the_picture_that_it_sees(size: tuple[int, int], expected: tuple[int, int]) -> None:
    survey = Survey(WEIGHTS, 0.5, 960)
    survey.lay_out(size)
    survey(planes_from_rgb(np.zeros((size[1], size[0], 3), np.uint8)), Fraction(0))
    assert isinstance(survey._network, CenterFace)
    assert survey._network.size == expected


@pytest.mark.parametrize("side", [960, 640])
@pytest.mark.parametrize(
    "size", [(1920, 1080), (1080, 1920), (2560, 1440), (3840, 2160), (1919, 1081), (1917, 1077), (4000, 600)]
)
def test_a_small_face_is_whole_in_some_window(size: tuple[int, int], side: int) -> None:
    survey = Survey(WEIGHTS, 0.5, side)
    survey.lay_out(size)
    assert survey.finer
    scale, regions = windows(size, survey._shape)
    assert 1.7 < scale / survey._scale <= 2
    assert survey._windows == regions and len(regions) == 4
    assert min(r[0] for r in regions) == min(r[1] for r in regions) == 0
    assert max(r[2] for r in regions) == size[0] and max(r[3] for r in regions) == size[1]
    assert all(r[0] % 2 == r[1] % 2 == 0 for r in regions)
    for x0, y0, x1, y1 in regions:
        assert abs((x1 - x0) * scale - survey._shape[0]) <= 3 and abs((y1 - y0) * scale - survey._shape[1]) <= 3
    face = 48 / scale
    for x in np.linspace(0, size[0] - face, 41):
        for y in np.linspace(0, size[1] - face, 41):
            assert any(r[0] <= x and x + face <= r[2] and r[1] <= y and y + face <= r[3] for r in regions), (x, y)


@pytest.mark.parametrize(("size", "side"), [((1248, 702), 960), ((640, 480), 640), ((640, 352), 960)])
def test_pictures_that_are_seen_nearly_whole_have_no_windows(size: tuple[int, int], side: int) -> None:
    survey = Survey(WEIGHTS, 0.5, side)
    survey.lay_out(size)
    assert not survey.finer


@pytest.mark.parametrize("size", [(1280, 720), (720, 1280), (1920, 1080)])
def test_people_of_24_pixels_are_told_of_in_windows_whatever_the_tiles_search_for(size: tuple[int, int]) -> None:
    """In a picture of 1,280 pixels the whole look sees 15 of the 20 that a face of 16 from ear to ear is high."""
    survey = Survey(WEIGHTS, 0.5, 960)
    survey.lay_out(size)
    assert survey.finer
    planes = planes_from_rgb(np.full((size[1], size[0], 3), 90, np.uint8))
    told = [survey(planes, Fraction(index, 20)) for index in range(6)]
    assert {one._most for one in told if one is not None and one._window is not None} == {24.0}
    live = Survey(WEIGHTS, 0.5, 960, beside=True)
    live.lay_out(size)
    assert live.finer == (max(size) > 1280), "live the whole look is not to wait for windows of 720p"


def looks(survey: Survey, times: Sequence[Fraction], calm: bool = False) -> list[tuple[Fraction, int | None]]:
    """When it looks, and at which window; None for the whole picture. Turned pictures are left out."""
    planes = planes_from_rgb(np.full((180, 320, 3), 90, np.uint8))
    corners = [(int(x0), int(y0)) for x0, y0, _, _ in survey._windows]
    seen = [(time, survey(planes, time, calm)) for time in times]
    upright = [(time, one) for time, one in seen if isinstance(one, Surveyed)]
    return [(t, None if one._window is None else corners.index(one._corner)) for t, one in upright]


@pytest.fixture
def windowed() -> Survey:
    """A survey of 320 x 180 pixels in windows; small, so that it is quick."""
    survey = Survey(WEIGHTS, 0.5, 96)
    survey.lay_out((320, 180))
    return survey


def test_windows_are_looked_at_one_after_another_and_then_seldom(windowed: Survey) -> None:
    """The first frame as a whole, all windows soon after it, and from then on one window a second."""
    count = len(windowed._windows)
    seen = looks(windowed, [Fraction(frame, 20) for frame in range(100)])
    assert [time for time, window in seen if window is None] == [Fraction(k, 2) for k in range(10)]
    windows_seen = [(time, window) for time, window in seen if window is not None]
    assert [window for _, window in windows_seen[:count]] == list(range(count)) and count >= 4
    assert windows_seen[count - 1][0] <= Fraction(count + 2, 20)
    assert [window for _, window in windows_seen[count:]] == [
        number % count for number in range(len(windows_seen) - count)
    ]
    times = [time for time, _ in windows_seen[count - 1 :]]
    assert all(1 <= after - before <= Fraction(11, 10) for before, after in pairwise(times)) and len(times) >= 4


def test_windows_are_looked_at_less_often_while_all_is_calm(windowed: Survey) -> None:
    looks(windowed, [Fraction(frame, 20) for frame in range(40)])
    seen = looks(windowed, [Fraction(frame, 20) for frame in range(40, 160)], calm=True)
    assert len([window for _, window in seen if window is not None]) in (2, 3)


def test_with_few_frames_a_second_the_whole_picture_and_windows_take_turns(windowed: Survey) -> None:
    seen = [window for _, window in looks(windowed, [Fraction(frame) for frame in range(10)])]
    assert seen == [None, 0, None, 1, None, 2, None, 3]


def test_after_a_restart_and_when_the_clock_goes_back_all_windows_are_owed_the_next_one_first(windowed: Survey) -> None:
    count = len(windowed._windows)
    looks(windowed, [Fraction(0), Fraction(1, 20)])
    windowed.restart()
    seen = [window for _, window in looks(windowed, [Fraction(1) + Fraction(k, 20) for k in range(count + 1)])]
    assert seen == [None, *((1 + k) % count for k in range(count))]
    back = [window for _, window in looks(windowed, [Fraction(k, 20) for k in range(count + 1)])]
    assert back == seen


def test_another_size_in_mid_stream_has_windows_of_its_own(windowed: Survey) -> None:
    looks(windowed, [Fraction(0), Fraction(1, 20)])
    windowed.lay_out((96, 54))
    assert not windowed.finer
    assert windowed(planes_from_rgb(np.full((54, 96, 3), 90, np.uint8)), Fraction(1, 10)) is not None
    assert windowed(planes_from_rgb(np.full((54, 96, 3), 90, np.uint8)), Fraction(2, 10)) is None


def test_nobody_is_cut_where_a_window_ends_with_the_picture() -> None:
    size = (1920, 1080)
    assert limits((0.0, 0.0, 984.0, 564.0), size) == (-np.inf, -np.inf, 984.0, 564.0)
    assert limits((936.0, 516.0, 1920.0, 1080.0), size) == (936.0, 516.0, np.inf, np.inf)


def test_a_window_denies_nobody_beside_its_seam() -> None:
    """There hair and shoulders are cut off; a face that it sees there counts."""
    none, face = surveyed(0.1), surveyed(0.5)
    box = (30.0, 30.0, 54.0, 54.0)
    for seam, denied in ((20.0, False), (10.0, True), (-np.inf, True)):
        window = (seam, -np.inf, np.inf, np.inf)
        opinion = replace(none, _window=window).opinion(box)
        assert (opinion is not None and opinion < 1) == denied
        assert replace(face, _window=window).opinion(box) == face.opinion(box)
    assert replace(face, _window=(31.0, -np.inf, np.inf, np.inf)).opinion(box) is None


def test_a_face_in_a_window_is_where_it_is_in_the_frame() -> None:
    """A drawn face of 17 pixels in a large picture, which the whole picture shows at half the size."""
    models = load_models(None)
    one = next(iter(synthetic_people(models.fitting, models.gallery, people=1, size=(320, 180))))
    x0, y0, x1, y1 = one.truths[0].box
    scale = 17 / (x1 - x0)
    person = rectangle_to_rgb(one.frame.planes, 0, 0, 320, 180, 1.0)
    small = cv2.resize(person, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    left, top = 1400, 700
    rgb = np.full((1080, 1920, 3), small[0, 0], np.uint8)
    rgb[top : top + small.shape[0], left : left + small.shape[1]] = small
    box = (left + scale * x0, top + scale * y0, left + scale * x1, top + scale * y1)
    survey = Survey(WEIGHTS, 0.5, 960)
    survey.lay_out((1920, 1080))
    planes = planes_from_rgb(rgb)
    seen = [survey(planes, Fraction(frame, 20)) for frame in range(5)]
    assert all(one is not None for one in seen)
    found = [face for one in seen[1:] if one is not None for face in one.faces]
    assert len(found) == 1
    assert found[0].box == pytest.approx(box, abs=8)
    assert (np.abs(found[0].points.mean(axis=0) - [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]) < 8).all()
    opinions = [one.opinion(as_detected(box)) for one in seen[1:] if one is not None]
    assert [opinion is not None and opinion > 1 for opinion in opinions] == [False, False, False, True]
    assert opinions[:3] == [None, None, None], "what a window does not show it says nothing of"
    large = (left - 100.0, top - 100.0, left + 100.0, top + 100.0)
    assert seen[4] is not None and seen[4].opinion(large) is None
