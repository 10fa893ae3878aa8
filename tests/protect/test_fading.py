"""A change of level fades: what was published goes on, ever weaker, moved along, and nothing else gets through."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Planes
from streamdeid.protect.fading import KEPT, Fading
from streamdeid.protect.fixed_regions import FixedRegions
from streamdeid.protect.levels import Level
from streamdeid.protect.region import Region
from tests.filmed import Drawn, Filmed, bared, drawer, track

SIZE = 96, 80
PLACE = 30.0, 24.0, 62.0, 60.0
CHANGED = 22.0, 15.0, 70.0, 68.0
SHOWN, HIDDEN = 200, 40
"""Grey levels of a head that shows a face, and of one that is redacted."""


@pytest.fixture
def drawn(model: AppearanceModel) -> Drawn:
    return drawer(model)


def _picture(level: int, noise: int = 0) -> Planes:
    width, height = SIZE
    rng = np.random.default_rng(level)

    def plane(rows: int, columns: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
        return (level + rng.integers(-noise, noise + 1, (rows, columns))).astype(np.uint8)

    return Planes(plane(height, width), plane(height // 2, width // 2), plane(height // 2, width // 2))


def _track(place: tuple[float, float, float, float] = PLACE, number: int = 1) -> Track:
    return Track(number, place, Face(place, 1.0), 0, False)


def _frame(fading: Fading, out: Planes, time: Fraction, level: Level, who: Track | None = None) -> Planes:
    fading.begin(time)
    fading.fade(out, who or _track(), CHANGED, level)
    fading.publish(out, time)
    return out


def _time(frame: int) -> Fraction:
    return Fraction(frame, 25)


def _slow(now: Planes, before: Planes, box: tuple[float, ...], shift: tuple[int, int], share: float) -> Planes:
    """What `Fading.fade` does, pixel by pixel. shift: even numbers of pixels."""
    x0, y0, x1, y1 = box
    done = now.copy()
    for step, plane, last in ((1, done.y, before.y), (2, done.u, before.u), (2, done.v, before.v)):
        rows, columns = plane.shape
        for row in range(rows):
            for column in range(columns):
                u = ((column + 0.5) * step - (x0 + x1) / 2) / ((x1 - x0) / 2)
                v = ((row + 0.5) * step - (y0 + y1) / 2) / ((y1 - y0) / 2)
                weight = share * np.clip((1 - np.hypot(u, v)) / 0.3, 0, 1)
                there = last[
                    np.clip(row - shift[1] // step, 0, rows - 1), np.clip(column - shift[0] // step, 0, columns - 1)
                ]
                plane[row, column] = int(plane[row, column] * (1 - weight) + there * weight + 0.5)
    return done


@pytest.mark.parametrize(("shift", "place"), [((0, 0), PLACE), ((4, -6), PLACE), ((8, 2), (-6.0, 24.0, 26.0, 60.0))])
def test_the_kernel_mixes_as_its_slow_twin_does(
    shift: tuple[int, int], place: tuple[float, float, float, float]
) -> None:
    before, now, fading = _picture(SHOWN, 30), _picture(HIDDEN, 30), Fading()
    out, (dx, dy) = now.copy(), shift
    moved = place[0] + dx, place[1] + dy, place[2] + dx, place[3] + dy
    fading.begin(_time(0))
    fading.fade(before, _track(place), place, Level.OWN_FACE)
    fading.publish(before, _time(0))
    fading.begin(_time(1))
    fading.fade(out, _track(moved), moved, Level.SOFT)
    twin = _slow(now, before, moved, shift, KEPT)
    for one, other in ((out.y, twin.y), (out.u, twin.u), (out.v, twin.v)):
        assert np.abs(one.astype(int) - other).max() <= 1
    assert (out.y != now.y).any()


def test_a_level_that_changes_fades_ever_weaker_and_is_over_after_a_quarter_of_a_second() -> None:
    fading = Fading()
    for frame in range(3):
        still = _frame(fading, _picture(SHOWN), _time(frame), Level.OWN_FACE)
        assert (still.y == SHOWN).all() and (still.u == SHOWN).all()
    middles = [
        int(_frame(fading, _picture(HIDDEN), _time(frame), Level.SOFT).y[42, 46]) for frame in range(3, 11)
    ]  # fmt: skip
    expected = [HIDDEN + (SHOWN - HIDDEN) * KEPT**n for n in range(1, 6)]
    assert middles[:5] == pytest.approx(expected, abs=2)
    assert middles[5:] == [HIDDEN] * 3


def test_nothing_outside_what_was_done_to_the_head_changes() -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.POSED)
    out = _frame(fading, _picture(HIDDEN), _time(1), Level.OWN_FACE)
    rows, columns = np.nonzero(out.y != HIDDEN)
    assert len(rows) > 1000
    assert columns.min() >= 22 and columns.max() < 70 and rows.min() >= 15 and rows.max() < 68
    assert out.y[16, 23] == HIDDEN  # a corner of the box


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("another track", {"who": _track(number=2)}),
        ("a head that jumped", {"who": _track((50.0, 24.0, 82.0, 60.0))}),
        ("a place that is no number", {"who": _track((np.nan, 24.0, 82.0, 60.0))}),
        ("a gap of half a second", {"time": Fraction(1, 2)}),
        ("the same time", {"time": _time(0)}),
        ("an earlier time", {"time": Fraction(-1)}),
    ],
)
def test_nothing_fades_where_the_frame_before_does_not_tell_what_was_there(
    what: str, change: dict[str, object]
) -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE)
    now = {"time": _time(1), "level": Level.SOFT, **change}
    assert (_frame(fading, _picture(HIDDEN), **now).y == HIDDEN).all(), what  # type: ignore[arg-type]


def test_nothing_fades_from_a_picture_of_another_size() -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE)
    y, u, v = (np.full(shape, HIDDEN, np.uint8) for shape in ((60, 90), (30, 45), (30, 45)))
    small = Planes(y, u, v)
    assert (_frame(fading, small, _time(1), Level.SOFT).y == HIDDEN).all()


def test_a_track_that_was_away_for_a_frame_begins_anew() -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE)
    _frame(fading, _picture(SHOWN), _time(1), Level.OWN_FACE, _track(number=2))
    assert (_frame(fading, _picture(HIDDEN), _time(2), Level.SOFT).y == HIDDEN).all()


def test_a_frame_that_failed_leaves_nothing_behind() -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE)
    fading.begin(_time(1))
    fading.fade(_picture(90), _track(number=7), CHANGED, Level.SOFT)  # withheld: it is not published
    out = _frame(fading, _picture(HIDDEN), _time(2), Level.SOFT)
    assert out.y[42, 46] == pytest.approx(HIDDEN + (SHOWN - HIDDEN) * KEPT**2, abs=1)
    fading.begin(_time(3))
    assert (_frame(fading, _picture(HIDDEN), _time(3), Level.OWN_FACE, _track(number=7)).y == HIDDEN).all()


def test_what_a_region_hid_does_not_come_through() -> None:
    fading, before = Fading(), _picture(HIDDEN)
    before.y[30:60, 20:40] = 255  # a face that nobody found, below a region
    fading.begin(_time(0))
    fading.fade(before, _track(), CHANGED, Level.OWN_FACE)
    fading.publish(before, _time(0), [(20.0, 30.0, 40.0, 60.0)])
    out = _frame(fading, _picture(HIDDEN), _time(1), Level.SOFT, _track((32.0, 24.0, 64.0, 60.0)))
    assert HIDDEN < out.y.max() <= 128


def test_with_fixed_regions_only_what_is_published_fades(
    fitting: FitModel, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, filled = drawn(), []
    kept: Callable[..., None] = Fading.publish

    def publish(self: Fading, out: Planes, time: Fraction, regions: object = ()) -> None:
        filled.append(regions)
        kept(self, out, time, regions)

    monkeypatch.setattr(Fading, "publish", publish)
    filmed = Filmed(fitting)
    pending = filmed.observe(one.planes, track(one.face))
    within = FixedRegions(filmed.filter, [Region(48, 32, 96, 32)])
    within.settle([pending])
    within.settle([pending], [track(one.face)])
    within.render(pending, within.decide(pending, [track(one.face)]))
    assert filled == [((48, 32, 144, 64),)]


@pytest.mark.parametrize("strict", [False, True])
def test_the_filter_fades_from_an_own_face_to_a_redaction_but_not_to_a_solid_one(
    fitting: FitModel, drawn: Drawn, strict: bool
) -> None:
    one = drawn()
    filmed, always = Filmed(fitting, strict=strict), Filmed(fitting, strict=strict)
    own = filmed.show(one.planes, track(one.face), times=5)
    doubtful = track(one.face, ambiguous=True)
    first = filmed.show(one.planes, doubtful)
    last = filmed.show(one.planes, doubtful, times=9)
    hidden = always.show(one.planes, doubtful, times=9)
    assert {r.level for r in first.redactions} == {r.level for r in last.redactions} == {
        "solid" if strict else "soft redaction"
    }  # fmt: skip
    x0, y0, x1, y1 = (int(v) for v in one.face.box)
    window = np.s_[(y0 + y1) // 2 - 8 : (y0 + y1) // 2 + 8, (x0 + x1) // 2 - 8 : (x0 + x1) // 2 + 8]
    pixels = [done.planes.y[window].astype(float) for done in (own, first, last, hidden)]
    if strict:
        assert (pixels[1] == pixels[2]).all()
    else:
        assert np.abs(pixels[1] - (KEPT * pixels[0] + (1 - KEPT) * pixels[2])).mean() < 3
        assert np.abs(pixels[2] - pixels[3]).mean() < 3 < np.abs(pixels[1] - pixels[2]).mean()


def test_a_face_without_landmarks_fades_into_a_posed_one(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    own = filmed.show(one.planes, track(one.face), times=5).planes.y.astype(float)
    shown = [filmed.show(one.planes, track(bared(one))).planes.y.astype(float) for _ in range(9)]
    x0, y0, x1, y1 = (int(v) for v in one.face.box)
    window = np.s_[(y0 + y1) // 2 - 20 : (y0 + y1) // 2 + 20, (x0 + x1) // 2 - 20 : (x0 + x1) // 2 + 20]
    towards = (own - shown[-1])[window]
    shares = [float((towards * (now - shown[-1])[window]).sum() / (towards**2).sum()) for now in shown]
    assert shares[:3] == pytest.approx([KEPT, KEPT**2, KEPT**3], abs=0.12)
