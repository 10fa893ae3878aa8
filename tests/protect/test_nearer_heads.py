"""The redaction of a face that is not seen leaves a larger head in front of it as it is, and covers all else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import Planes
from streamdeid.protect.levels import Level
from streamdeid.protect.nearer_heads import LARGER, left_as_it_is, nearer_heads, replaced
from streamdeid.protect.plan import Plans
from streamdeid.protect.soft_head import Head
from tests.drawn_faces import Scene, inside_hull
from tests.filmed import OWN, SIZE, SOFT, Drawn, Filmed, bared, drawer, filled, inside, levels, lost, track


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Drawn:
    return drawer(model)


def _beside(one: Scene, size: float = 0.7) -> tuple[float, float, float, float]:
    """A box of that share of a face's size on its ear."""
    x0, y0, x1, y1 = one.face.box
    wide, high = size * (x1 - x0), size * (y1 - y0)
    return x1 - 0.3 * wide, y0, x1 + 0.7 * wide, y0 + high


def _plans(filmed: Filmed, one: Scene, *tracks: Track) -> Plans:
    filmed.show(one.planes, tracks[0], times=5)
    return filmed.plans(filmed.observe(one.planes, *tracks), tracks)


def _around(polygon: Points, picture: tuple[int, int] = (480, 320)) -> NDArray[np.bool_]:
    mask = np.zeros(picture[::-1], np.uint8)
    cv2.fillConvexPoly(mask, np.round(polygon).astype(np.int32), (1,))
    return mask > 0


def test_a_lost_face_on_an_ear_leaves_the_head_in_front_and_covers_all_of_the_place_beside_it(
    fitting: FitModel, drawn: Drawn
) -> None:
    one = drawn()
    away = lost(_beside(one), 2)
    plans = _plans(Filmed(fitting), one, track(one.face), away)
    (head,) = nearer_heads(plans[1], plans)
    noisy = filled(one.planes, inside(plans[1].head, plans[1].head.reach) & ~_around(head))
    outs = []
    for planes in (one.planes, noisy):
        filmed = Filmed(fitting)
        filmed.show(one.planes, track(one.face), times=5)
        outs.append(filmed.show(planes, track(one.face), away))
    done = outs[0]
    assert levels(done) == {1: OWN, 2: SOFT}
    place = inside(plans[1].head)
    deep = cv2.distanceTransform(_around(head).astype(np.uint8), cv2.DIST_L2, 5) > 0.06 * np.ptp(head, axis=0).min() + 3
    kept = place & deep & ~inside_hull(one.points, SIZE, -8.0)
    assert kept.sum() > 300 and np.array_equal(done.planes.y[kept], one.planes.y[kept]), "ear and hair stay"
    beside = place & ~_around(head)
    assert beside.sum() > 300
    assert np.abs(outs[0].planes.y[beside].astype(int) - outs[1].planes.y[beside]).max() <= 40, "of noise nothing"
    assert np.corrcoef(outs[1].planes.y[beside], noisy.y[beside])[0, 1] < 0.3


Change = Callable[[Scene, Track, Track], tuple[Track, Track]]


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("a face that the detector sees", lambda s, a, b: (a, track(replace(bared(s), box=b.box), 2))),
        ("a face as large", lambda s, a, b: (a, lost(_beside(s, 1 / LARGER + 0.02), 2))),
        ("a head in front that is doubtful", lambda s, a, b: (replace(a, ambiguous=True), b)),
        ("a head in front that is not sure", lambda s, a, b: (track(replace(s.face, evidence=0.3)), b)),
        ("a head in front found by looking again", lambda s, a, b: (track(replace(s.face, again=True)), b)),
        ("a head in front without landmarks", lambda s, a, b: (track(bared(s)), b)),
        ("a place elsewhere", lambda s, a, b: (a, lost((400.0, 20.0, 440.0, 70.0), 2))),
    ],
)
def test_nothing_is_left_of(what: str, change: Change, fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    plans = _plans(Filmed(fitting), one, *change(one, track(one.face), lost(_beside(one), 2)))
    assert nearer_heads(plans[1], plans) == [], what


def test_a_face_that_was_only_found_by_looking_again_counts_as_not_seen(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    second = track(replace(bared(one), box=_beside(one), keypoints=None, again=True), 2)
    plans = _plans(Filmed(fitting), one, track(one.face), second)
    assert plans[0].level is Level.OWN_FACE
    assert len(nearer_heads(plans[1], plans)) == 1 and nearer_heads(plans[0], plans) == []


def test_the_head_that_is_left_holds_the_face_and_its_hair(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn(yaw=0.35)
    plans = _plans(Filmed(fitting), one, track(one.face), lost(_beside(one), 2))
    (head,) = nearer_heads(plans[1], plans)
    x0, y0, x1, y1 = one.face.box
    low, high = head.min(axis=0), head.max(axis=0)
    assert low[1] < y0 - 0.2 * (y1 - y0) and high[1] < y1 + 0.15 * (y1 - y0), "hair, and no neck"
    front, back = x0 - low[0], high[0] - x1  # the head looks to the left of the picture
    assert back > front + 0.1 * (x1 - x0) > 0 and back < 0.7 * (x1 - x0)


def test_nothing_fades_where_the_head_in_front_was_left(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    plans = _plans(Filmed(fitting), one, track(one.face), lost(_beside(one), 2))
    place = replaced(plans[1], Level.SOFT, plans)
    assert place is not None and [hole.shape for hole in place.holes] == [nearer_heads(plans[1], plans)[0].shape]
    assert replaced(plans[1], Level.SOLID, plans) is None
    own = replaced(plans[0], Level.OWN_FACE, plans)
    assert own is not None and own.holes and own.inset > 0


def test_strict_covers_the_whole_place(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    filmed = Filmed(fitting, strict=True)
    filmed.show(one.planes, track(one.face), times=5)
    box = _beside(one)
    done = filmed.show(one.planes, track(one.face), lost(box, 2))
    x, y = round(box[0] * 0.2 + box[2] * 0.8), round((box[1] + box[3]) / 2)
    assert np.ptp(done.planes.y[y - 6 : y + 6, x - 6 : x + 6]) == 0


@pytest.mark.parametrize("size", [(96, 80), (97, 81)])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (40.0, -30.0), (-45.0, 35.0), (500.0, 0.0)])
def test_what_is_left_is_put_back_as_a_slow_twin_does(size: tuple[int, int], shift: tuple[float, float]) -> None:
    rng = np.random.default_rng(5)
    half = (size[1] + 1) // 2, (size[0] + 1) // 2
    before = Planes(*(rng.integers(0, 256, s, dtype=np.uint8) for s in (size[::-1], half, half)))
    polygon = np.array([(20.0, 15.0), (60.0, 12.0), (70.0, 50.0), (25.0, 60.0)]) + shift
    head, out = Head(55.0, 40.0, 20.0, 25.0), before.copy()
    with left_as_it_is(out, head, [polygon]):
        for plane in (out.y, out.u, out.v):
            plane[:] = 7
    window = head.window(size)
    assert window is not None
    x0, y0, x1, y1 = window
    rows, columns = np.mgrid[0 : size[1], 0 : size[0]].astype(float)
    away = np.full(size[::-1], np.inf)
    for (ax, ay), (bx, by) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        away = np.minimum(away, ((bx - ax) * (rows - ay) - (by - ay) * (columns - ax)) / np.hypot(bx - ax, by - ay))
    there = np.zeros_like(away, bool)
    there[y0:y1, x0:x1] = True
    rim = max(2.0, 0.06 * np.ptp(polygon, axis=0).min())
    weights = np.where(there, np.clip(away / rim, 0, 1), 0)
    twin = 7 + weights * (before.y - 7.0)
    sure = (weights == 0) | (cv2.erode(weights, np.ones((5, 5))) == 1)
    assert np.abs(twin - out.y)[sure].max() <= 1 and np.abs(twin - out.y).mean() < 2
    coarse = out.u != 7
    assert not (coarse & ~(weights[::2, ::2] > 0)).any(), "no chroma of a pixel that is covered"


def test_without_a_head_in_front_nothing_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    out: Any = object()  # it would fail at once
    with left_as_it_is(out, Head(5.0, 5.0, 2.0, 2.0), []):
        pass
