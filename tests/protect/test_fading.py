"""A change of level fades: what replaced a head goes on, ever weaker, moved along, and nothing of an original does."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Planes
from streamdeid.protect import soft_redactions
from streamdeid.protect.fading import KEPT, LONGEST, Fading, Replaced
from streamdeid.protect.levels import Level
from streamdeid.render.blend import Feather
from tests.filmed import Drawn, Filmed, bared, drawer, track

SIZE = 96, 80
PLACE = 30.0, 24.0, 62.0, 60.0
REGION = np.array([(24.0, 18.0), (68.0, 18.0), (68.0, 66.0), (24.0, 66.0)])
WHOLE = Replaced(REGION)
SHOWN, HIDDEN = 200, 40
"""Grey levels of a head that shows a face, and of one that is redacted."""
MIDDLE = 42, 46


def _moved(region: Points, across: float, down: float) -> Points:
    moved: Points = region + np.array([across, down])
    return moved


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Drawn:
    return drawer(model)


def _picture(level: int, noise: int = 0, size: tuple[int, int] = SIZE) -> Planes:
    rng = np.random.default_rng(level)

    def plane(width: int, height: int) -> NDArray[np.uint8]:
        return (level + rng.integers(-noise, noise + 1, (height, width))).astype(np.uint8)

    (width, height), half = size, ((size[0] + 1) // 2, (size[1] + 1) // 2)
    return Planes(plane(width, height), plane(*half), plane(*half))


def _track(shift: tuple[float, float] = (0, 0), number: int = 1) -> Track:
    (x0, y0, x1, y1), (dx, dy) = PLACE, shift
    place = x0 + dx, y0 + dy, x1 + dx, y1 + dy
    return Track(number, place, Face(place, 1.0), 0, False)


def _time(frame: float) -> Fraction:
    return Fraction(frame) / 25


def _frame(
    fading: Fading,
    out: Planes,
    time: Fraction,
    level: Level,
    who: Track | None = None,
    place: Replaced | None = WHOLE,
) -> Planes:
    fading.begin(time)
    fading.fade(out, who or _track(), level, place)
    fading.end(out, time)
    return out


def _within(region: Points, width: int, height: int) -> NDArray[np.float64]:
    """How far inside a convex region, corners clockwise on the screen, the middle of each pixel lies, pixels."""
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    away = np.full((height, width), np.inf)
    for (x0, y0), (x1, y1) in zip(region, np.roll(region, -1, axis=0), strict=True):
        length = np.hypot(x1 - x0, y1 - y0)
        away = np.minimum(away, ((x1 - x0) * (rows - y0) - (y1 - y0) * (columns - x0)) / length)
    return away


@pytest.mark.parametrize("size", [SIZE, (97, 81)])
@pytest.mark.parametrize("shift", [(0, 0), (4, -6), (-8, 2), (-3, 5), (9, 9)])
@pytest.mark.parametrize("beyond", [0, -40, 45])
def test_it_mixes_inside_both_regions_as_a_slow_twin_does(
    shift: tuple[int, int], beyond: int, size: tuple[int, int]
) -> None:
    before, now, fading = _picture(SHOWN, 30, size), _picture(HIDDEN, 30, size), Fading()
    then, here = _moved(REGION, beyond, 0), _moved(REGION, beyond + 6, 2)
    _frame(fading, before.copy(), _time(0), Level.OWN_FACE, place=Replaced(then))
    out = _frame(fading, now.copy(), _time(1), Level.SOFT, _track(shift), Replaced(here))
    dx, dy = (2 * round(v / 2) for v in shift)
    height, width = now.y.shape
    inside = [np.clip((_within(r, width, height)) / 4.4, 0, 1) for r in (_moved(then, dx, dy), here)]
    weights = KEPT * np.minimum(*inside)
    moved = np.roll(before.y, (dy, dx), axis=(0, 1)).astype(float)
    twin = now.y + weights * (moved - now.y)
    off = np.abs(twin - out.y)
    seen = np.zeros(now.y.shape, bool)  # what comes from beyond the picture is no part of it
    seen[max(dy, 0) : height // 2 * 2 + min(dy, 0), max(dx, 0) : width // 2 * 2 + min(dx, 0)] = True
    assert off[seen].max() < 0.5 * (SHOWN - HIDDEN) / 4.4 * 1.3 and off[seen].mean() < 2
    core = seen & (np.minimum(*inside) == 1) & (cv2.erode(weights, np.ones((7, 7))) == KEPT)
    assert off[core].max(initial=0.0) <= 1
    assert (out.y == now.y)[~seen | (np.minimum(*inside) == 0)].all()
    if core.any():
        half = core[::2, ::2]
        assert (out.u[half] != now.u[half]).mean() > 0.9 and (out.v[half] != now.v[half]).mean() > 0.9


def test_a_level_that_changes_fades_ever_weaker_and_ends_after_a_fifth_of_a_second() -> None:
    fading = Fading()
    for frame in range(3):
        still = _frame(fading, _picture(SHOWN), _time(frame), Level.OWN_FACE)
        assert (still.y == SHOWN).all() and (still.u == SHOWN).all()
    middles = [int(_frame(fading, _picture(HIDDEN), _time(frame), Level.SOFT).y[MIDDLE]) for frame in range(3, 11)]
    expected = [HIDDEN + (SHOWN - HIDDEN) * KEPT**n for n in range(1, 6)]
    assert middles[:5] == pytest.approx(expected, abs=2)
    assert middles[5:] == [HIDDEN] * 3


@pytest.mark.parametrize("rate", [5, 10, 25, 60, 100])
def test_it_fades_by_time_and_for_so_many_frames_at_most(rate: int) -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), Fraction(0), Level.OWN_FACE)
    times = [Fraction(n, rate) for n in range(1, 30)]
    middles = [int(_frame(fading, _picture(HIDDEN), time, Level.SOFT).y[MIDDLE]) for time in times]
    changed = [value != HIDDEN for value in middles]
    assert sum(changed) <= LONGEST and not any(changed[LONGEST:])
    assert middles[0] == pytest.approx(HIDDEN + (SHOWN - HIDDEN) * min(KEPT ** (25 / rate), 0.7), abs=1)
    assert max(np.abs(np.diff(middles))) < 0.31 * (SHOWN - HIDDEN), "it ends softly"
    assert any(changed) and middles == sorted(middles, reverse=True)


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("another track", {"who": _track(number=2)}),
        ("a head that jumped to the right", {"who": _track((13, 0))}),
        ("a head that jumped to the left", {"who": _track((-13, 0))}),
        ("a head that jumped up", {"who": _track((0, -13))}),
        ("a place that is no number", {"who": _track((np.nan, 0))}),
        ("no region now", {"place": None}),
        ("a region that is no number", {"place": Replaced(REGION * np.nan)}),
        ("a region that is endless", {"place": Replaced(REGION * np.inf)}),
        ("a region elsewhere", {"place": Replaced(_moved(REGION, 50, 0))}),
        ("a region without end", {"place": Replaced(REGION * 1e300)}),
        ("a region beyond the picture", {"place": Replaced(_moved(REGION, 5000, 0))}),
        ("a gap of half a second", {"time": Fraction(1, 2)}),
        ("the same time", {"time": _time(0)}),
        ("an earlier time", {"time": Fraction(-1)}),
        ("the same level", {"level": Level.OWN_FACE}),
    ],
)
def test_nothing_fades_where_the_frame_before_does_not_tell_what_was_there(what: str, change: dict[str, Any]) -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE)
    now: dict[str, Any] = {"time": _time(1), "level": Level.SOFT, **change}
    assert (_frame(fading, _picture(HIDDEN), **now).y == HIDDEN).all(), what


def test_a_head_that_moves_by_a_third_of_its_size_still_fades() -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE)
    out = _frame(fading, _picture(HIDDEN), _time(1), Level.SOFT, _track((11, -11)))
    assert out.y[MIDDLE] > HIDDEN


@pytest.mark.parametrize("place", [None, Replaced(REGION * np.nan), Replaced(_moved(REGION, 200, 0))])
def test_nothing_fades_from_a_frame_without_a_region(place: Replaced | None) -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE, place=place)
    assert (_frame(fading, _picture(HIDDEN), _time(1), Level.SOFT).y == HIDDEN).all()


def test_nothing_fades_from_a_picture_of_another_size() -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE)
    assert (_frame(fading, _picture(HIDDEN, size=(90, 60)), _time(1), Level.SOFT).y == HIDDEN).all()


def test_a_track_that_was_away_for_a_frame_begins_anew() -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE)
    _frame(fading, _picture(SHOWN), _time(1), Level.OWN_FACE, _track(number=2))
    assert (_frame(fading, _picture(HIDDEN), _time(2), Level.SOFT).y == HIDDEN).all()


def test_a_frame_that_did_not_end_leaves_nothing_behind() -> None:
    fading = Fading()
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE)
    fading.begin(_time(1))
    fading.fade(_picture(90), _track(number=7), Level.SOFT, WHOLE)  # the frame is withheld
    out = _frame(fading, _picture(HIDDEN), _time(2), Level.SOFT)
    assert out.y[MIDDLE] == pytest.approx(HIDDEN + (SHOWN - HIDDEN) * KEPT**2, abs=1)
    assert (_frame(fading, _picture(HIDDEN), _time(3), Level.OWN_FACE, _track(number=7)).y == HIDDEN).all()


def test_no_frame_tells_anything_of_one_that_lies_farther_back_than_it_fades() -> None:
    """However often levels change meanwhile."""
    for every in (1, 2, 3, 5):
        for rate in (25, 60, 120):
            histories = []
            for first in (SHOWN, 90):
                fading, seen = Fading(), []
                for frame in range(4 * LONGEST):
                    level = (Level.OWN_FACE, Level.SOFT)[frame // every % 2]
                    out = _picture(first if frame == 0 else HIDDEN)
                    seen.append(_frame(fading, out, Fraction(frame, rate), level).y)
                histories.append(seen)
            same = [bool((one == other).all()) for one, other in zip(*histories, strict=True)]
            assert not same[0] and all(same[LONGEST + 1 :])


def test_a_hole_and_the_inset_of_what_was_shown_are_left_out_and_so_is_what_lies_near_them() -> None:
    hole = np.array([(40.0, 36.0), (52.0, 36.0), (52.0, 46.0), (40.0, 46.0)])
    less = Replaced(REGION, 4.0, (hole,))
    for then, now in ((less, WHOLE), (less, less), (WHOLE, less)):
        fading = Fading()
        _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE, place=then)
        out = _frame(fading, _picture(HIDDEN), _time(1), Level.SOFT, place=now)
        left_out = (out.y[34:48, 38:54] == HIDDEN).all() and (out.u[17:24, 19:27] == HIDDEN).all()
        inset = (out.y[:, :28] == HIDDEN).all() and (out.y[:22] == HIDDEN).all()
        assert left_out == inset == (then is less)
        assert out.y[32, 32] > HIDDEN + 20


@pytest.mark.parametrize("far", [2e4, 1e5, 9e5])
def test_a_region_far_larger_than_the_picture_costs_no_more_than_the_picture(far: float) -> None:
    fading, region = Fading(), np.array([(-far, -far), (far, -far), (far, far), (-far, far)])
    _frame(fading, _picture(SHOWN), _time(0), Level.OWN_FACE, place=Replaced(region))
    _frame(fading, _picture(HIDDEN), _time(1), Level.SOFT, place=Replaced(region))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_happens_only_what_is_redacted_now_and_was_then_changes_and_by_what_replaced_it(
    data: st.DataObject,
) -> None:
    fading, place = Fading(), st.integers(-60, 150)
    outside: NDArray[np.int64] = np.zeros((80, 96), np.int64)
    for frame in range(data.draw(st.integers(2, 5))):
        x, y = data.draw(place), data.draw(place)
        wide, high = data.draw(st.integers(2, 90)), data.draw(st.integers(2, 90))
        region = np.array([(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)], float)
        out = _picture(HIDDEN)
        inside = _within(region, *SIZE) >= 0
        out.y[~inside] = 255  # an original, wherever nothing replaces it
        plain = out.y.copy()
        _frame(
            fading, out, _time(frame), data.draw(st.sampled_from(list(Level))), _track((x / 3, y / 3)), Replaced(region)
        )
        outside = out.y[~inside].astype(np.int64)
        assert (outside == 255).all()
        assert out.y[inside].max(initial=0) <= HIDDEN, plain


def test_what_one_did_not_hide_does_not_come_through_anothers_redaction(fitting: FitModel, drawn: Drawn) -> None:
    """B is found a frame late, beside A, whose level changes in that frame: only B's own redaction is seen there."""
    one = drawn(centre=(150.0, 165.0))
    both = drawn(5, centre=(235.0, 165.0), behind=one)
    filmed, alone = Filmed(fitting), Filmed(fitting)
    for each in (filmed, alone):
        each.show(both.planes, track(one.face), times=5)
    hidden = track(one.face, ambiguous=True), track(both.face, 2, ambiguous=True)
    alone.filter._fading = Fading(0.0)
    done, never = filmed.show(both.planes, *hidden), alone.show(both.planes, *hidden)
    mask = np.zeros(done.planes.y.shape, np.uint8)
    cv2.fillConvexPoly(mask, cv2.convexHull(both.points.astype(np.int32)), (1,))
    here = mask > 0
    of_b = [np.corrcoef(out.planes.y[here], both.planes.y[here])[0, 1] for out in (done, never)]
    assert of_b[0] == pytest.approx(of_b[1], abs=0.1)


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
    pixels = [_middle_of(one.face, done.planes) for done in (own, first, last, hidden)]
    if strict:
        assert (pixels[1] == pixels[2]).all()
    else:
        assert np.abs(pixels[1] - (KEPT * pixels[0] + (1 - KEPT) * pixels[2])).mean() < 3
        assert np.abs(pixels[2] - pixels[3]).mean() < 3 < np.abs(pixels[1] - pixels[2]).mean()


def test_a_redaction_that_could_only_be_solid_is_of_one_colour_and_says_so(
    fitting: FitModel, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)

    def fails(*_given: object, **_named: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(soft_redactions, "soft_redaction", fails)
    done = filmed.show(one.planes, track(one.face, ambiguous=True))
    assert [one.level for one in done.redactions] == ["solid"]
    assert np.ptp(_middle_of(one.face, done.planes)) == 0


def test_a_face_without_landmarks_fades_into_a_posed_one(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    fading, plain = Filmed(fitting), Filmed(fitting)
    plain.filter._fading = Fading(0.0)
    own = _middle_of(one.face, fading.show(one.planes, track(one.face), times=5).planes)
    plain.show(one.planes, track(one.face), times=5)
    shares = []
    for _ in range(3):
        there, without = (
            _middle_of(one.face, each.show(one.planes, track(bared(one))).planes) for each in (fading, plain)
        )
        towards = own - without
        shares.append(float((towards * (there - without)).sum() / (towards**2).sum()))
    assert shares == pytest.approx([KEPT, KEPT**2, KEPT**3], abs=0.06)


def test_nothing_of_an_open_mouth_fades_into_a_redaction(fitting: FitModel, drawn: Drawn) -> None:
    """The inside of an own face's mouth is the person's."""
    one = drawn(width=150.0)
    lips = cv2.convexHull(np.round(one.face.landmarks[60:68]).astype(np.int32))  # type: ignore[index]
    mask = np.zeros(one.planes.y.shape, np.uint8)
    cv2.fillConvexPoly(mask, lips, (1,))
    other = one.planes.copy()
    other.y[mask > 0] = 255 - other.y[mask > 0]
    seen = []
    for last in (one.planes, other):
        filmed = Filmed(fitting)
        filmed.show(one.planes, track(one.face), times=5)
        filmed.show(last, track(one.face))
        seen.append(filmed.show(one.planes, track(one.face, ambiguous=True)).planes.y.astype(int))
    near = cv2.dilate(mask, np.ones((9, 9))) > 0
    assert np.abs(seen[0] - seen[1])[near].max() <= 1


def test_with_the_persons_own_eyes_nothing_fades_from_an_own_face(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    doubtful = track(one.face, ambiguous=True)
    filmed, never = Filmed(fitting, copy_eyes=True), Filmed(fitting, copy_eyes=True)
    never.filter._fading = Fading(0.0)
    for each in (filmed, never):
        each.show(one.planes, track(one.face), times=5)
    assert (filmed.show(one.planes, doubtful).planes.y == never.show(one.planes, doubtful).planes.y).all()


def test_with_strict_nothing_fades_into_a_posed_face(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    filmed, never = Filmed(fitting, strict=True), Filmed(fitting, strict=True)
    never.filter._fading = Fading(0.0)
    for each in (filmed, never):
        each.show(one.planes, track(one.face), times=5)
    done, plain = (each.show(one.planes, track(bared(one))) for each in (filmed, never))
    assert {redaction.level for redaction in done.redactions} == {"posed face"}
    assert (done.planes.y == plain.planes.y).all()


def test_the_places_where_nothing_of_the_original_is_left(fitting: FitModel, drawn: Drawn) -> None:
    """Of an own face they begin inside its feather, and what shows before it is the picture's own."""
    one = drawn()
    filmed = Filmed(fitting)
    pending = filmed.observe(one.planes, track(one.face))
    (plan,) = filmed.plans(pending, [track(one.face)])
    assert plan.level is Level.OWN_FACE and plan.measured is not None
    own, soft = plan.replaced(Level.OWN_FACE), plan.replaced(Level.SOFT)
    assert own is not None and soft is not None and plan.replaced(Level.SOLID) is None
    feather = Feather.of(plan.measured.seen.width)
    assert own.inset > feather.soft + 1 and len(own.holes) == 1
    assert plan.head.radii(*soft.region.T).max() <= 1 + 1e-6
    something: Any = object()
    covered = replace(plan, measured=replace(plan.measured, opening=something))
    assert covered.replaced(Level.OWN_FACE) is None


def _middle_of(face: Face, planes: Planes) -> NDArray[np.float64]:
    """The pixels in the middle of a face, (16, 16)."""
    x0, y0, x1, y1 = (int(v) for v in face.box)
    x, y = (x0 + x1) // 2, (y0 + y1) // 2
    return planes.y[y - 8 : y + 8, x - 8 : x + 8].astype(np.float64)
