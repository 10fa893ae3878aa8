"""The redaction of a lost face leaves a larger head in front of it as it is, and covers all else."""

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
from streamdeid.analysis.applied import FrameEdits
from streamdeid.core.arrays import Box, Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Planes
from streamdeid.protect.edited import Edited
from streamdeid.protect.fading import Fading
from streamdeid.protect.levels import Level
from streamdeid.protect.nearer_heads import left_as_it_is, nearer_heads
from streamdeid.protect.plan import Plan, Plans, settled
from streamdeid.protect.soft_head import Head
from tests.drawn_faces import Scene, inside_hull
from tests.filmed import OWN, SIZE, SOFT, Drawn, Filmed, bared, drawer, filled, inside, levels, lost, track


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Drawn:
    return drawer(model)


def _beside(one: Scene, size: float = 0.55) -> Box:
    """A box of that share of a face's size on its ear."""
    x0, y0, x1, y1 = one.face.box
    side = size * max(x1 - x0, y1 - y0)
    return x1 - 0.3 * side, y0, x1 + 0.7 * side, y0 + side


def _plans(one: Scene, fitting: FitModel, *tracks: Track) -> Plans:
    filmed = Filmed(fitting)
    filmed.show(one.planes, tracks[0], times=5)
    return filmed.plans(filmed.observe(one.planes, *tracks), tracks)


def _shown(one: Scene, fitting: FitModel, planes: Planes, *tracks: Track, **options: Any) -> DeidentifiedFrame:
    filmed = Filmed(fitting, **options)
    filmed.show(one.planes, track(one.face), times=5)
    return filmed.show(planes, *tracks)


def _mask(polygon: Points) -> NDArray[np.bool_]:
    mask = np.zeros(SIZE[::-1], np.uint8)
    cv2.fillPoly(mask, [np.round(polygon).astype(np.int32)], (1,))
    return mask > 0


def test_a_lost_face_on_an_ear_leaves_the_head_in_front_and_covers_all_of_the_place_beside_it(
    fitting: FitModel, drawn: Drawn
) -> None:
    one = drawn()
    away = lost(_beside(one), 2)
    plans = _plans(one, fitting, track(one.face), away)
    (head,) = nearer_heads(plans[1], plans)
    noisy = filled(one.planes, inside(plans[1].head, plans[1].head.reach) & ~_mask(head))
    done, other = (_shown(one, fitting, planes, track(one.face), away).planes for planes in (one.planes, noisy))
    place = inside(plans[1].head)
    depth = cv2.distanceTransform(_mask(head).astype(np.uint8), cv2.DIST_L2, 5)
    kept = place & (depth > 0.06 * np.ptp(head, axis=0).min() + 3) & ~inside_hull(one.points, SIZE, -8.0)
    assert kept.sum() > 200 and np.array_equal(done.y[kept], one.planes.y[kept]), "ear and hair stay"
    few = kept.reshape(SIZE[1] // 2, 2, SIZE[0] // 2, 2).all(axis=(1, 3))
    assert np.array_equal(done.u[few], one.planes.u[few]) and np.array_equal(done.v[few], one.planes.v[few])
    beside = place & ~_mask(head)
    assert beside.sum() > 200
    assert np.abs(done.y[beside].astype(int) - other.y[beside]).max() <= 40, "of noise nothing"
    assert abs(np.corrcoef(other.y[beside], noisy.y[beside])[0, 1]) < 0.3
    assert levels(_shown(one, fitting, one.planes, track(one.face), away)) == {1: OWN, 2: SOFT}


Change = Callable[[Scene, Track, Track], tuple[Track, Track]]


@pytest.mark.parametrize(
    ("what", "change", "own"),
    [
        ("a face that the detector sees", lambda s, a, b: (a, track(replace(bared(s), box=b.box), 2)), True),
        (
            "a face found again with a second network's points",
            lambda s, a, b: (a, track(replace(bared(s), box=b.box, again=True), 2)),
            True,
        ),
        ("a place that a reviewer drew", lambda s, a, b: (a, replace(b, number=-1)), True),
        ("a face two thirds as large", lambda s, a, b: (a, lost(_beside(s, 0.7), 2)), True),
        ("a place elsewhere", lambda s, a, b: (a, lost((400.0, 20.0, 440.0, 70.0), 2)), True),
        ("a head in front that is doubtful", lambda s, a, b: (replace(a, ambiguous=True), b), False),
        ("a head in front without landmarks", lambda s, a, b: (track(bared(s)), b), False),
    ],
)
def test_nothing_is_left_for(what: str, change: Change, own: bool, fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    plans = _plans(one, fitting, *change(one, track(one.face), lost(_beside(one), 2)))
    assert (plans[0].level is Level.OWN_FACE) == own
    assert nearer_heads(plans[1], plans) == [], what


def _other(plan: Plan, **face: Any) -> Plan:
    assert plan.track.face is not None
    return replace(plan, track=replace(plan.track, face=replace(plan.track.face, **face)))


def test_a_head_hides_only_where_it_is_surely_seen_by_its_box_and_its_landmarks(
    fitting: FitModel, drawn: Drawn
) -> None:
    one = drawn()
    near, far = _plans(one, fitting, track(one.face), lost(_beside(one), 2))
    assert near.measured is not None
    seen = near.measured.seen
    small, large = ((seen.raw - seen.raw.mean(axis=0)) * times + seen.raw.mean(axis=0) for times in (0.7, 3.0))
    x0, y0, x1, y1 = one.face.box
    shrunk = x0 + 20, y0 + 20, x1 - 20, y1 - 20
    assert len(nearer_heads(far, [near, far])) == 1
    assert len(nearer_heads(far, [_with(near, raw=large), far])) == 1, "the box says less"
    for what, other in (
        ("evidence", _other(near, evidence=0.3)),
        ("presence", _other(near, presence=0.2)),
        ("found by looking again", _other(near, again=True, keypoints=None)),
        ("a small box", _other(near, box=shrunk)),
        ("small landmarks", _with(near, raw=small)),
        ("a pose without end", _with(near, pose=replace(seen.pose, shift=seen.pose.shift + 1e7))),
        ("a pose that is no number", _with(near, pose=replace(seen.pose, scale=np.nan))),
        ("a head far larger than its face", _with(near, pose=replace(seen.pose, scale=3 * seen.pose.scale))),
    ):
        assert nearer_heads(far, [other, far]) == [], what


def _with(plan: Plan, **changes: Any) -> Plan:
    assert plan.measured is not None
    return replace(plan, measured=replace(plan.measured, seen=replace(plan.measured.seen, **changes)))


def test_a_face_that_one_network_found_by_looking_again_counts_as_lost(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    second = track(replace(bared(one), box=_beside(one), keypoints=None, again=True), 2)
    plans = _plans(one, fitting, track(one.face), second)
    assert plans[0].level is Level.OWN_FACE
    assert len(nearer_heads(plans[1], plans)) == 1 and nearer_heads(plans[0], plans) == []


def test_the_size_of_a_lost_face_is_without_the_room_in_which_it_may_be(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    x0, y0, x1, y1 = _beside(one)
    wide = x0 - 12, y0 - 12, x1 + 12, y1 + 12
    plans = _plans(one, fitting, track(one.face), lost(wide, 2, sides=(x1 - x0, y1 - y0)), lost(wide, 3))
    assert [len(nearer_heads(plan, plans)) for plan in plans] == [0, 1, 0]


def test_the_head_that_is_left_holds_the_face_and_its_hair(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn(yaw=0.35)
    plans = _plans(one, fitting, track(one.face), lost(_beside(one), 2))
    (head,) = nearer_heads(plans[1], plans)
    x0, y0, x1, y1 = one.face.box
    low, high = head.min(axis=0), head.max(axis=0)
    assert low[1] < y0 - 0.2 * (y1 - y0) and high[1] < y1 + 0.15 * (y1 - y0), "hair, and no neck"
    front, back = x0 - low[0], high[0] - x1  # the head looks to the left of the picture
    assert back > front + 0.1 * (x1 - x0) > 0 and back < 0.7 * (x1 - x0)
    assert plans[0].measured is not None
    chin = plans[0].measured.seen.raw[8]
    assert _mask(head)[round(chin[1]) - 2, round(chin[0])]


def test_all_heads_in_front_are_left(fitting: FitModel, drawn: Drawn) -> None:
    left = drawn(3, 100.0, (120.0, 165.0))
    both = drawn(12, 100.0, (260.0, 165.0), left)
    between = lost((165.0, 130.0, 215.0, 180.0), 3)
    filmed, tracks = Filmed(fitting), (track(left.face), track(both.face, 2))
    filmed.show(both.planes, *tracks, times=5)
    plans = filmed.plans(filmed.observe(both.planes, *tracks, between), [*tracks, between])
    heads = nearer_heads(plans[2], plans)
    assert len(heads) == 2
    out = both.planes.copy()
    with left_as_it_is(out, plans[2].head, heads):
        out.y[:] = 7
    here = inside(plans[2].head)
    for head in heads:
        deep = here & (cv2.distanceTransform(_mask(head).astype(np.uint8), cv2.DIST_L2, 5) > 9)
        assert deep.sum() > 20 and np.array_equal(out.y[deep], both.planes.y[deep])


def test_nothing_fades_into_what_leaves_a_head(
    fitting: FitModel, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What replaced the lost face in the frame before would be seen on the other one's hair."""
    one, told = drawn(), []
    monkeypatch.setattr(Fading, "fade", lambda _self, _out, who, _level, place: told.append((who.number, place)))
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    for box, left in ((_beside(one), True), ((400.0, 20.0, 440.0, 70.0), False)):
        filmed.show(one.planes, track(one.face), lost(box, 2))
        assert [place is None for number, place in told[-2:] if number == 2] == [left]


def test_strict_covers_the_whole_place_and_takes_no_tone_for_a_posed_face(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    box = _beside(one)
    done = _shown(one, fitting, one.planes, track(one.face), lost(box, 2), strict=True)
    x, y = round(box[0] * 0.2 + box[2] * 0.8), round((box[1] + box[3]) / 2)
    assert np.ptp(done.planes.y[y - 6 : y + 6, x - 6 : x + 6]) == 0
    filmed = Filmed(fitting, strict=True)
    filmed.show(one.planes, track(one.face), times=5)
    tracks = track(one.face), lost(box, 2)
    pending = filmed.observe(one.planes, *tracks)
    plans = list(filmed.plans(pending, tracks))
    assert nearer_heads(plans[1], plans)
    out = one.planes.copy()
    assert filmed.filter._redact(out, pending.frame, replace(plans[1], level=Level.SOFT), plans) is Level.SOFT
    place = inside(plans[1].head, 0.9)
    changed = out.y[place] != one.planes.y[place]
    assert changed.mean() > 0.9, "nothing is left as it is"


def test_a_place_that_a_reviewer_drew_on_a_head_is_redacted_whole(fitting: FitModel, drawn: Drawn) -> None:
    one = drawn()
    box = _beside(one)
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    edits = FrameEdits(frozenset(), {}, {}, [(1, box)], [], {})
    edited = Edited(filmed.filter, lambda index: edits, lambda index: {1: one.face.box}, filmed.filter)
    pending = filmed.observe(one.planes, track(one.face))
    done = edited.render(pending, settled(edited, filmed.waiting, [track(one.face)]))
    x0, y0, x1, y1 = (round(v) for v in box)
    here = done.planes.y[y0:y1, x0:x1] == one.planes.y[y0:y1, x0:x1]
    assert levels(done)[-1] == SOFT and here.mean() < 0.2


@pytest.mark.parametrize("size", [(96, 80), (97, 81)])
@pytest.mark.parametrize("middle", [(55.0, 40.0), (80.0, 66.0), (8.0, 10.0)])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (30.0, 25.0), (-35.0, -20.0), (500.0, 0.0)])
def test_what_is_left_is_put_back_as_a_slow_twin_does(
    size: tuple[int, int], middle: tuple[float, float], shift: tuple[float, float]
) -> None:
    rng = np.random.default_rng(5)
    half = (size[1] + 1) // 2, (size[0] + 1) // 2
    before = Planes(*(rng.integers(60, 256, s, dtype=np.uint8) for s in (size[::-1], half, half)))
    polygon = np.array([(20.0, 15.0), (60.0, 12.0), (70.0, 50.0), (25.0, 60.0)]) + shift
    head, out = Head(*middle, 20.0, 25.0), before.copy()
    window = head.window(size)
    assert window is not None
    x0, y0, x1, y1 = window
    with left_as_it_is(out, head, [polygon]):
        out.y[y0:y1, x0:x1] = 7
        for plane in (out.u, out.v):
            plane[y0 // 2 : (y1 + 1) // 2, x0 // 2 : (x1 + 1) // 2] = 7
    rows, columns = np.mgrid[0 : size[1], 0 : size[0]].astype(float)
    away = np.full(size[::-1], np.inf)
    for (ax, ay), (bx, by) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        away = np.minimum(away, ((bx - ax) * (rows - ay) - (by - ay) * (columns - ax)) / np.hypot(bx - ax, by - ay))
    there = np.zeros_like(away, bool)
    there[y0:y1, x0:x1] = True
    weights = np.clip(away / 0.06 / np.ptp(polygon, axis=0).min(), 0, 1)
    twin = np.where(there, 7 + weights * (before.y - 7.0), before.y)
    off = np.abs(twin - out.y)
    assert off.max() < 0.5 * 248 and off.mean() < 2 and off[(weights == 0) | ~there].max(initial=0) == 0
    ones = np.ones((2 * half[0], 2 * half[1]))
    ones[: size[1], : size[0]] = np.where(there, weights, 1)
    least = ones.reshape(half[0], 2, half[1], 2).min(axis=(1, 3))
    for plane, was in ((out.u, before.u), (out.v, before.v)):
        assert (plane[least == 0] == 7).all(), "no chroma of a pixel that is covered"
        assert np.abs(7 + least * (was - 7.0) - plane).mean() < 4
        assert (plane[least == 1] == was[least == 1]).mean() > 0.9


def test_without_a_head_in_front_nothing_is_copied() -> None:
    out: Any = object()  # it would fail at once
    with left_as_it_is(out, Head(5.0, 5.0, 2.0, 2.0), []):
        pass
