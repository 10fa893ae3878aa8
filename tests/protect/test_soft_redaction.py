"""Soft redaction: nothing of the inside but a quantised tone, nothing of other heads, no edge, no more than a head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Planes
from streamdeid.errors import FailedClosed
from streamdeid.protect import soft_redaction as module
from streamdeid.protect.soft_redaction import Head, SoftMemory, head_of, soft_redaction
from streamdeid.render.soft_tone import SKIN, in_light
from tests.drawn_faces import pose_at, room, rotation
from tests.soft_twin import grain, place_in_head, soft_value, soft_weight, tone_in_light

HEAD = Head(160.0, 150.0, 60.0, 75.0, 0.2)


def _picture(size: tuple[int, int] = (320, 320), seed: int = 0) -> Planes:
    """A made-up room with a skin-coloured disc where the head is."""
    picture = np.ascontiguousarray(room(size, seed))
    cv2.ellipse(picture, (160, 150), (50, 65), 0, 0, 360, (190, 140, 115), -1)
    return planes_from_rgb(np.clip(picture, 0, 255).astype(np.uint8))


def _pixels(head: Head, planes: Planes, radius: float) -> NDArray[np.bool_]:
    """Luma pixels (h, w) within a radius, half axes."""
    width, height = planes.size
    rows, columns = np.mgrid[0:height, 0:width]
    return head.radii(columns, rows) <= radius


def _noisy(planes: Planes, where: NDArray[np.bool_], seed: int = 1, like: Planes | None = None) -> Planes:
    """The picture with noise on pixels (h, w), and on all chroma samples that only those touch; like: most of it the
    median there, so that the tone stays in its step."""
    rng = np.random.default_rng(seed)
    out = planes.copy()
    height, width = where.shape
    whole = np.zeros(((height + 1) // 2 * 2, (width + 1) // 2 * 2), bool)
    whole[:height, :width] = where
    half = whole.reshape(whole.shape[0] // 2, 2, whole.shape[1] // 2, 2).all(axis=(1, 3))
    for plane, mask in ((out.y, where), (out.u, half), (out.v, half)):
        middle = np.median(plane[mask]) if like is not None else 128
        spread = rng.integers(1, 100, int(mask.sum())) * rng.choice([-1, 1], int(mask.sum()))
        if like is not None:
            spread[rng.random(len(spread)) < 0.65] = 0
        plane[mask] = np.clip(middle + spread, 0, 255)
    return out


def _redacted(
    planes: Planes, head: Head = HEAD, others: Sequence[Head] = (), tone: bool = True, frames: int = 1
) -> Planes:
    memory = SoftMemory()
    for _ in range(frames):
        out = planes.copy()
        soft_redaction(out, planes, head, memory, others, tone=tone)
    return out


def _same(a: Planes, b: Planes) -> bool:
    return all(np.array_equal(x, y) for x, y in ((a.y, b.y), (a.u, b.u), (a.v, b.v)))


@pytest.mark.parametrize("size", [(96, 80), (97, 81)])
@pytest.mark.parametrize("head", [Head(45.3, 38.7, 17.0, 21.0, 0.3), Head(3.0, 70.0, 22.0, 30.0, -0.8)])
def test_the_kernel_does_what_the_formulas_say(size: tuple[int, int], head: Head) -> None:
    planes = planes_from_rgb(room(size).astype(np.uint8))
    out, memory = planes.copy(), SoftMemory()
    box = soft_redaction(out, planes, head, memory)
    assert box is not None and memory.waves is not None and memory.shown is not None
    waves = memory.waves
    lift = tone_in_light(memory.shown, waves[0]) - waves[0]
    whole = 1 + 0.75 / min(head.across, head.down)
    wrong = 0
    for c, (before, after) in enumerate(((planes.y, out.y), (planes.u, out.u), (planes.v, out.v))):
        for row in range(after.shape[0]):
            for column in range(after.shape[1]):
                x, y = (column, row) if c == 0 else (2 * column + 0.5, 2 * row + 0.5)
                noise = grain(column, row, 1, 1.2) if c == 0 else 0.0
                value = min(max(soft_value(head, x, y, waves[:, c], lift[c]) + noise, 0), 255)
                weight = soft_weight(head, x, y, 1.0 if c == 0 else whole)
                wanted = int(value * weight + before[row, column] * (1 - weight) + 0.5)
                assert abs(wanted - int(after[row, column])) <= 1, (c, row, column)
                wrong += wanted != after[row, column]
                inside = box[0] <= x <= box[2] and box[1] <= y <= box[3]
                assert inside or after[row, column] == before[row, column], "outside the box that is told"
    assert wrong < 30, "more than float32 can round otherwise"


@pytest.mark.parametrize("size", [(320, 320), (321, 323)])
def test_nothing_of_the_inside_passes_but_the_step_of_its_tone(size: tuple[int, int]) -> None:
    planes = _picture(size)
    inside = _pixels(HEAD, planes, 1.0)
    noise = _noisy(planes, inside, like=planes)
    assert np.abs(noise.y[inside].astype(int) - planes.y[inside]).mean() > 10
    assert _same(_redacted(planes, frames=3), _redacted(noise, frames=3))


def test_without_the_tone_nothing_of_the_inside_passes_at_all() -> None:
    planes = _picture()
    dark = planes.copy()
    dark.y[_pixels(HEAD, planes, 1.0)] = 20
    assert _same(_redacted(planes, tone=False), _redacted(dark, tone=False))
    assert not _same(_redacted(planes), _redacted(dark)), "the test notices a tone"


@pytest.mark.parametrize("rim", [(60.0, 128.0, 128.0), (40.0, 118.0, 146.0), (90.0, 140.0, 120.0)])
@pytest.mark.parametrize("luma", [20.0, 60.0, 136.0, 200.0])
def test_the_colour_of_a_tone_is_what_the_formulas_say(luma: float, rim: tuple[float, float, float]) -> None:
    """A dark head in warm light is neither maroon nor blue beside it."""
    for chroma in (7.0, 21.0):
        tone, around = np.array([luma, chroma]), np.array(rim)
        found = in_light(tone, around)
        np.testing.assert_allclose(found, tone_in_light(tone, around), atol=0.01)
        along = SKIN[0] @ (found[1:] - 128)
        light = min(max(SKIN[0] @ (around[1:] - 128), 0.0), chroma)
        assert min(light, chroma) - 0.01 <= along <= chroma + 0.01
        assert (along > chroma - 0.01) == (luma >= 136 or light > chroma - 0.01)


def test_a_tone_fades_where_it_is_not_hinted_at_any_more() -> None:
    """A head that is lost for a frame does not go from dark to light and back; later nothing of the tone is left."""
    planes, memory, middles = _picture(), SoftMemory(), []
    planes.y[_pixels(HEAD, planes, 1.0)] = 20
    middle = _pixels(HEAD, planes, 0.2)
    for tone in (True, True, True, *[False] * 12, True):
        out = planes.copy()
        soft_redaction(out, planes, HEAD, memory, tone=tone)
        middles.append(float(out.y[middle].mean()))
    hinted, never = middles[2], float(_redacted(planes, tone=False).y[middle].mean())
    assert hinted < never - 30
    assert 0.4 < (never - middles[3]) / (never - hinted) < 0.6
    assert middles[3:14] == sorted(middles[3:14]) or max(np.diff(middles[3:14]) * -1) < 1
    assert middles[14] == pytest.approx(never, abs=1) and middles[15] == pytest.approx(hinted, abs=3)


@pytest.mark.parametrize("side", [6.0, 12.0, 40.0])
def test_of_a_small_head_nothing_is_left_in_chroma_samples_at_its_rim(side: float) -> None:
    planes = planes_from_rgb(room((120, 120)).astype(np.uint8))
    head = Head(60.5, 60.0, side, 1.2 * side)
    noise = _noisy(planes, _pixels(head, planes, 1.0))
    for plane, other in ((planes.u, noise.u), (planes.v, noise.v)):
        assert (plane != other).any()
    assert _same(_redacted(planes, head, tone=False), _redacted(noise, head, tone=False))


def test_the_rim_takes_nothing_from_inside_other_heads() -> None:
    planes = _picture()
    others = [Head(250, 150, 45, 60), Head(160, 40, 30, 30), Head(140, 180, 20, 20)]
    for other in others:
        where = _pixels(other, planes, 1.0) & ~_pixels(HEAD, planes, HEAD.reach)
        noise = _noisy(planes, where)
        both = [soft_redacted_only(each, others) for each in (planes, noise)]
        assert np.array_equal(*both)
    assert not np.array_equal(
        *[soft_redacted_only(each, []) for each in (planes, _noisy(planes, _pixels(others[0], planes, 1.0)))]
    )


def soft_redacted_only(planes: Planes, others: Sequence[Head]) -> NDArray[np.uint8]:
    """Luma of the head's wholly covered inside."""
    return _redacted(planes, HEAD, others).y[_pixels(HEAD, planes, 1.0)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_colours_are_read_where_the_picture_is_and_no_other_head(seed: int) -> None:
    rng = np.random.default_rng(seed)
    planes = _picture((61, 47), seed)
    heads = [Head(*rng.uniform((-10, -10, 3, 3, -2), (70, 60, 30, 30, 2))) for _ in range(int(rng.integers(0, 4)))]
    places = rng.uniform(-20, 80, (5, 8, 2))
    colours, seen = module._colours(planes, places, heads)
    for index in np.ndindex(5, 8):
        x, y = (round(float(value)) for value in places[index])
        inside = 0 <= x < 61 and 0 <= y < 47
        near = any(abs(place_in_head(h, x, y)) < h.reach + 2 / min(h.across, h.down) for h in heads)
        assert bool(seen[index]) == (inside and not near)
        if inside:
            assert tuple(colours[index]) == (planes.y[y, x], planes.u[y // 2, x // 2], planes.v[y // 2, x // 2])


def test_a_field_that_is_there_already_does_not_smear_into_the_next() -> None:
    planes = _picture()
    other = Head(255, 150, 50, 65)
    smeared = planes.copy()
    smeared.y[_pixels(other, planes, other.reach)] = 255
    memory, again = SoftMemory(), SoftMemory()
    one, two = planes.copy(), smeared.copy()
    soft_redaction(one, planes, HEAD, memory, [other])
    soft_redaction(two, planes, HEAD, again, [other])
    inside = _pixels(HEAD, planes, 1.0)
    assert np.array_equal(one.y[inside], two.y[inside])


def _steepest(plane: NDArray[np.uint8], where: NDArray[np.bool_]) -> float:
    """Largest soft gradient, grey levels a pixel."""
    soft = cv2.GaussianBlur(plane.astype(np.float32), (0, 0), 2.0)
    dx, dy = cv2.Sobel(soft, cv2.CV_32F, 1, 0, ksize=3) / 8, cv2.Sobel(soft, cv2.CV_32F, 0, 1, ksize=3) / 8
    return float(np.hypot(dx, dy)[where].max())


@pytest.mark.parametrize("tone", [True, False])
def test_there_is_no_edge(tone: bool) -> None:
    """A head of another colour before a soft room: the rim is no steeper than a tenth of the step that was there."""
    smooth = cv2.GaussianBlur(room((320, 320)), (0, 0), 8.0)
    planes = planes_from_rgb(smooth.astype(np.uint8))
    head = replace(HEAD, angle=0.0)
    planes.y[_pixels(head, planes, 0.95)] = 235
    around = _pixels(head, planes, 1.45) & ~_pixels(head, planes, 0.85)
    beyond = ~_pixels(head, planes, 1.5)
    out = _redacted(planes, head, tone=tone)
    step = _steepest(planes.y, around)
    assert step > 12, "the head had an edge"
    assert _steepest(out.y, around) < max(1.5 * _steepest(planes.y, beyond), 0.25 * step)
    ends = _pixels(head, planes, head.reach + 0.05) & ~_pixels(head, planes, head.reach - 0.05)
    assert _steepest(out.y, ends) < 1.5 * _steepest(planes.y, beyond), "where the feather ends"


def test_only_what_lies_in_the_box_and_the_rim_changes() -> None:
    planes = _picture()
    out = planes.copy()
    box = soft_redaction(out, planes, HEAD, SoftMemory())
    assert box is not None
    beyond = ~_pixels(HEAD, planes, HEAD.reach)
    assert np.array_equal(out.y[beyond], planes.y[beyond])
    assert out.y[~beyond].std() < planes.y[~beyond].std()
    x0, y0, x1, y1 = box
    reach = HEAD.reach * max(HEAD.across, HEAD.down)
    assert max(x1 - x0, y1 - y0) <= 2 * reach + 6


@pytest.mark.parametrize("place", [(-300.0, 50.0), (50.0, -300.0), (900.0, 50.0), (50.0, 900.0), (1e12, 1e12)])
def test_outside_the_picture_nothing_is_done(place: tuple[float, float]) -> None:
    planes = _picture()
    out, memory = planes.copy(), SoftMemory()
    assert soft_redaction(out, planes, replace(HEAD, x=place[0], y=place[1]), memory) is None
    assert _same(out, planes) and memory.waves is None


@pytest.mark.parametrize("tone", [True, False])
def test_a_head_larger_than_the_picture_is_one_constant(tone: bool) -> None:
    planes = _picture((101, 77))
    head = Head(50, 40, 900, 900)
    out = planes.copy()
    assert soft_redaction(out, planes, head, SoftMemory(), tone=tone) is not None
    assert out.y.std() < 3 and out.u.std() == 0 and out.v.std() == 0
    assert abs(float(out.y.mean()) - (np.median(planes.y) if tone else 128)) < 26


def test_a_head_between_others_takes_its_colours_from_farther_away() -> None:
    planes = planes_from_rgb(np.full((320, 320, 3), 60, np.uint8))
    planes.y[_pixels(HEAD, planes, 1.7)] = 200
    out = _redacted(planes, HEAD, [replace(HEAD, across=75.0, down=95.0)], tone=False)
    assert abs(float(out.y[_pixels(HEAD, planes, 1.0)].mean()) - int(planes.y[5, 5])) < 3


def test_a_head_that_others_surround_takes_its_colours_from_what_is_not_drawn_of_them() -> None:
    planes = planes_from_rgb(np.full((320, 320, 3), 30, np.uint8))
    corner, large, drawn = Head(30, 20, 25, 35), Head(160, 160, 290, 290), Head(200, 200, 100, 120)
    planes.y[_pixels(drawn, planes, drawn.reach)] = 200
    out = planes.copy()
    soft_redaction(out, planes, corner, SoftMemory(), [large], [drawn], tone=False)
    assert abs(float(out.y[_pixels(corner, planes, 1.0)].mean()) - int(planes.y[-1, 0])) < 3, "no grey of its own"
    again = planes.copy()
    soft_redaction(again, planes, corner, SoftMemory(), [Head(300, 300, 50, 50)], [drawn], tone=False)
    without = _redacted(planes, corner, [Head(300, 300, 50, 50)], tone=False)
    assert _same(again, without), "only where nothing else is to be seen"


@pytest.mark.parametrize("field", ["x", "y", "across", "down", "angle"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_fails_closed(field: str, value: float) -> None:
    planes = _picture()
    broken = replace(HEAD, **{field: value})
    for head, others in ((broken, []), (HEAD, [broken])):
        with pytest.raises(FailedClosed):
            soft_redaction(planes.copy(), planes, head, SoftMemory(), others)
    broken_memory = SoftMemory(waves=np.full((7, 3), value), middle=np.zeros(3), head=HEAD)
    with pytest.raises(FailedClosed):
        soft_redaction(planes.copy(), planes, HEAD, broken_memory)
    with pytest.raises(FailedClosed):
        head_of((0.0, 0.0, value, 10.0), None, (320, 320))


@pytest.mark.parametrize("field", ["across", "down"])
@pytest.mark.parametrize("extent", [0.0, -5.0, 1e9])
def test_a_head_without_extent_or_end_fails_closed(field: str, extent: float) -> None:
    planes = _picture()
    with pytest.raises(FailedClosed):
        soft_redaction(planes.copy(), planes, replace(HEAD, **{field: extent}), SoftMemory())


def test_the_tone_does_not_flicker_between_two_steps() -> None:
    memory = SoftMemory()
    shown = []
    for i in range(60):
        planes = planes_from_rgb(np.full((200, 200, 3), 90, np.uint8))
        planes.y[:] = 96 + 3 * (-1) ** i  # to and fro over the border between two steps
        out = planes.copy()
        soft_redaction(out, planes, Head(100, 100, 40, 50), memory)
        shown.append(memory.shown.copy() if memory.shown is not None else None)
    assert len({tuple(each) for each in shown if each is not None}) == 1


def test_noise_of_the_camera_does_not_make_the_field_pulse_and_a_cut_is_followed_at_once() -> None:
    rng, memory, means = np.random.default_rng(0), SoftMemory(), []
    clean = _picture()
    inside = _pixels(HEAD, clean, 1.0)
    for _ in range(12):
        planes = clean.copy()
        planes.y[:] = np.clip(clean.y + rng.normal(0, 6, clean.y.shape), 0, 255)
        out = planes.copy()
        soft_redaction(out, planes, HEAD, memory)
        means.append(float(out.y[inside].mean()))
    assert np.abs(np.diff(means)).max() < 0.35
    other = planes_from_rgb(np.full((320, 320, 3), 240, np.uint8))
    out = other.copy()
    soft_redaction(out, other, HEAD, memory)
    assert abs(float(out.y[inside].mean()) - float(other.y[0, 0])) < 12


def test_the_same_frames_give_the_same_pixels_and_the_grain_moves() -> None:
    planes = _picture()
    assert _same(_redacted(planes, frames=3), _redacted(planes, frames=3))
    one, two = _redacted(planes, frames=1), _redacted(planes, frames=2)
    inside = _pixels(HEAD, planes, 1.0)
    change = one.y[inside].astype(float) - two.y[inside]
    assert 0.5 < change.std() / np.sqrt(2) < 2.0
    soft = cv2.GaussianBlur(one.y.astype(np.float32), (0, 0), 3)
    assert 0.8 < (one.y - soft)[inside].std() < 1.8, "a grain as of a camera"


# head_of


@pytest.mark.parametrize("roll", [0.0, 0.6, -1.2])
@pytest.mark.parametrize("yaw", [0.0, 0.5, -0.9])
def test_the_whole_mesh_lies_inside_and_the_head_is_no_larger_than_one(
    model: AppearanceModel, yaw: float, roll: float
) -> None:
    points = pose_at(model, 100.0, yaw=yaw, roll=roll).to_image(model.mean_shape, model.depth)
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    head = head_of((float(x0), float(y0), float(x1), float(y1)), points, (320, 320))
    assert head.radii(points[:, 0], points[:, 1]).max() < 1
    level = points @ rotation(roll=roll)[:2, :2]
    wide, high = np.ptp(level, axis=0)
    assert 2 * head.across < 1.45 * wide and 2 * head.down < 1.65 * high
    assert head.angle == pytest.approx(roll, abs=0.15)


def test_the_mesh_alone_counts_where_the_box_is_too_large_and_both_where_they_disagree(model: AppearanceModel) -> None:
    points = pose_at(model, 60.0).to_image(model.mean_shape, model.depth)
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    close = head_of((float(x0), float(y0), float(x1), float(y1)), points, (320, 320))
    generous = head_of((float(x0 - 30), float(y0 - 30), float(x1 + 30), float(y1 + 30)), points, (320, 320))
    assert generous == close
    astray = head_of((20.0, 20.0, 80.0, 80.0), points, (320, 320))
    assert (astray.radii(points[:, 0], points[:, 1]) <= 1).all() and astray.radii(np.array(50.0), np.array(50.0)) < 1


@settings(max_examples=30, deadline=None)
@given(st.floats(10, 200), st.floats(0.8, 1.4), st.floats(0, 640), st.floats(0, 360))
def test_without_a_mesh_the_box_is_grown_by_forehead_ears_and_chin(w: float, ratio: float, x: float, y: float) -> None:
    h = ratio * w
    size = (640, 360)
    box = (x - w / 2, y - h / 2, x + w / 2, y + h / 2)
    head = head_of(box, None, size)
    around = np.linspace(0, 2 * np.pi, 40)
    face = np.column_stack([x + 0.55 * w * np.cos(around), y - 0.1 * h + 0.65 * h * np.sin(around)])
    assert (head.radii(face[:, 0], face[:, 1]) < 1).all()
    assert 2 * head.across <= 2.4 * w and 2 * head.down <= 2.7 * h, "bounded by the head"
    if 1.2 * w < x < size[0] - 1.2 * w and 1.2 * h < y < size[1] - 1.2 * h:
        assert 2 * head.across <= 1.5 * w and 2 * head.down <= 1.7 * h


@pytest.mark.parametrize("side", ["left", "right", "top", "bottom"])
def test_a_head_that_the_border_cuts_is_covered_up_to_it(side: str) -> None:
    """The measured case: of a profile 187 x 266 pixels large the detector boxed 115 x 170."""
    size = (640, 360)
    if side in ("left", "right"):
        visible = (0.0, 50.0, 187.0, 316.0)
        box = (8.0, 100.0, 123.0, 270.0)
    else:
        visible = (200.0, 0.0, 400.0, 180.0)
        box = (230.0, 6.0, 370.0, 130.0)
    if side == "right":
        visible, box = ((size[0] - b[2], b[1], size[0] - b[0], b[3]) for b in (visible, box))
    if side == "bottom":
        visible, box = ((b[0], size[1] - b[3], b[2], size[1] - b[1]) for b in (visible, box))
    head = head_of(box, None, size)
    # The visible half of an upright ellipse that the border cuts in the middle.
    x0, y0, x1, y1 = visible
    rows, columns = np.mgrid[0 : size[1], 0 : size[0]]
    centre = {
        "left": (x0, (y0 + y1) / 2),
        "right": (x1, (y0 + y1) / 2),
        "top": ((x0 + x1) / 2, y0),
        "bottom": ((x0 + x1) / 2, y1),
    }[side]
    half = (x1 - x0, (y1 - y0) / 2) if side in ("left", "right") else ((x1 - x0) / 2, y1 - y0)
    face = np.hypot((columns - centre[0]) / (0.8 * half[0]), (rows - centre[1]) / (0.8 * half[1])) <= 1
    radii = head.radii(columns, rows)
    assert (radii[face] <= head.reach).all(), "nothing of it is shown as it is"
    assert (radii[face] <= 1).mean() > 0.9
    assert (radii <= head.reach).mean() < 0.5, "and not half of the picture"


def test_a_small_head_before_the_border_is_not_grown(model: AppearanceModel) -> None:
    far, near = (head_of((x, 100.0, x + 40, 140.0), None, (640, 360)) for x in (300.0, 30.0))
    assert far.across == pytest.approx(near.across)


def test_the_module_says_what_it_offers() -> None:
    assert {*module.__all__} == {"Head", "SoftMemory", "head_of", "soft_redaction"}
