"""What may be seen before a face: things that come and surely are none of it, with a rim; never light, lips or eyes."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.synthesise import Patch, render_patch
from streamdeid.core.arrays import Picture, Points
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Planes
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation, Observer
from streamdeid.observe.occluders import OccluderMask, structure
from streamdeid.observe.opening import Opening, coldness, shown_through
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from tests.drawn_faces import Scene, inside_hull, pose_at, scene, some_identity, with_mouth

Colour = tuple[int, int, int]

_STEP = 0.04
BLUE, GREEN, CYAN, WHITE, GREY = (40, 80, 170), (50, 140, 70), (120, 180, 200), (196, 203, 208), (96, 101, 105)
LEARNT, ENOUGH = 15, 6
"""Frames in which the face is learnt, and after which what came is open."""


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Scene:
    shape, texture = model.decode(some_identity(model, 4))
    return scene(model, shape, warm(texture), pose_at(model))


def warm(texture: NDArray[np.float32]) -> NDArray[np.float32]:
    """A texture (n, 3) in the light of a lamp, as faces in clips are; the model's own is in grey light."""
    lit: NDArray[np.float32] = np.clip(texture * np.array([1.12, 0.98, 0.82]), 0, 255).astype(np.float32)
    return lit


def mean_texture(fitting: FitModel) -> NDArray[np.float32]:
    return NewFace.of(np.zeros(len(fitting.model.variances)), fitting).small_texture


class Stream:
    """One track, seen at the drawn face's landmarks."""

    def __init__(self, fitting: FitModel, drawn: Scene) -> None:
        self._observe, self._mask, self._drawn = Observer(fitting), OccluderMask(fitting, mean_texture(fitting)), drawn
        self._time = 0.0
        self.seen: Observation | None = None

    def __call__(self, rgb: Picture, count: int = 1, doubt: bool = False) -> Opening | None:
        """The opening after a picture was seen so many times."""
        opening = None
        for _ in range(count):
            self.seen = self._observe(planes_from_rgb(np.ascontiguousarray(rgb)), self._drawn.face, self._time)
            assert self.seen is not None
            opening = self._mask(self.seen, doubt)
            self._time += _STEP
        return opening


@pytest.fixture
def stream(fitting: FitModel, drawn: Scene) -> Stream:
    """A track whose face was learnt."""
    made = Stream(fitting, drawn)
    assert made(drawn.rgb, LEARNT) is None
    return made


def cup_at(drawn: Scene, top: float = 0.4) -> NDArray[np.bool_]:
    """Where a cup stands before the face, from a share of its height down to below the chin."""
    (x0, y0), (x1, y1) = drawn.points.min(axis=0), drawn.points.max(axis=0)
    where = np.zeros(drawn.rgb.shape[:2], np.bool_)
    width = x1 - x0
    where[int(y0 + top * (y1 - y0)) : int(y1 + 20), int(x0 + 0.22 * width) : int(x1 - 0.22 * width)] = True
    return where


def with_cup(drawn: Scene, colour: Colour, top: float = 0.4) -> Picture:
    """The picture with a plain cup before the face."""
    rgb = drawn.rgb.copy()
    rgb[cup_at(drawn, top)] = colour
    return rgb


def opened(opening: Opening | None) -> bool:
    return opening is not None and bool(opening.weights.any())


def patch_of(seen: Observation, fitting: FitModel, size: tuple[int, int]) -> Patch:
    model = fitting.model
    texture = np.zeros((*model.frame_size[::-1], 3), np.float32)
    patch = render_patch(texture, model.mean_shape, seen.points, model.closed_triangles, size, 10.0)
    assert patch is not None
    return patch


def shown(opening: Opening, seen: Observation, planes: Planes, fitting: FitModel) -> NDArray[np.float32]:
    """The opening float32 (h, w) in pixels of the picture."""
    patch = patch_of(seen, fitting, planes.size)
    half = 1 - shown_through(opening, patch, planes, seen, fitting)
    whole = np.zeros(planes.y.shape, np.float32)
    luma = cv2.resize(half, (2 * half.shape[1], 2 * half.shape[0]), interpolation=cv2.INTER_LINEAR)
    height, width = patch.y.shape
    whole[patch.y0 : patch.y0 + height, patch.x0 : patch.x0 + width] = luma[:height, :width]
    return whole


@pytest.mark.parametrize("colour", [BLUE, GREEN, CYAN])
def test_a_cup_that_comes_is_seen_within_a_rim(stream: Stream, fitting: FitModel, drawn: Scene, colour: Colour) -> None:
    rgb = with_cup(drawn, colour)
    opening = stream(rgb, ENOUGH)
    assert opening is not None and opened(opening) and stream.seen is not None
    seen = shown(opening, stream.seen, planes_from_rgb(rgb), fitting)
    cup = cup_at(drawn)
    assert seen[cup].mean() > 0.3, "little of the cup is seen"
    face = inside_hull(drawn.points, shrink=0.0) & ~cup
    rim = cv2.dilate(face.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    assert seen[face].max() == 0, "the face is seen beside the cup"
    assert seen[rim].max() < 0.1, "the cup's edge belongs to the face"
    middle = drawn.points[60:68].mean(axis=0).astype(int)
    assert seen[middle[1], middle[0]] > 0.9, "the mouth that the cup hides is drawn on it"


@pytest.mark.parametrize(
    "colour",
    [(190, 30, 35), (215, 180, 30), (135, 95, 65), (200, 150, 125), (90, 60, 45), (25, 25, 28), (252, 252, 252)],
)
def test_what_could_be_skin_hair_shadow_or_glare_is_painted_over(stream: Stream, drawn: Scene, colour: Colour) -> None:
    assert not any(opened(stream(with_cup(drawn, colour))) for _ in range(12))


def test_what_was_there_from_the_first_frame_is_not_shown_nor_the_face_behind_it(
    fitting: FitModel, drawn: Scene
) -> None:
    stream = Stream(fitting, drawn)
    assert not any(opened(stream(with_cup(drawn, BLUE))) for _ in range(40))
    assert not any(opened(stream(drawn.rgb)) for _ in range(40))


def test_it_takes_some_frames_to_open_and_none_to_close(stream: Stream, drawn: Scene) -> None:
    rgb = with_cup(drawn, BLUE)
    assert [opened(stream(rgb)) for _ in range(5)] == [False, False, False, True, True]
    assert not opened(stream(drawn.rgb))
    assert [opened(stream(rgb)) for _ in range(4)] == [False, False, False, True]
    assert not opened(stream(rgb, doubt=True))
    assert not opened(stream(rgb, 3)) and opened(stream(rgb))


def test_after_a_jump_everything_is_learnt_anew(stream: Stream, fitting: FitModel, drawn: Scene) -> None:
    rgb = with_cup(drawn, BLUE)
    stream(rgb, ENOUGH)
    assert stream.seen is not None
    mask = OccluderMask(fitting, mean_texture(fitting))
    face = Stream(fitting, drawn)
    face(drawn.rgb)
    assert face.seen is not None
    for _ in range(LEARNT):
        mask(replace(face.seen, fresh=False), False)
    for _ in range(ENOUGH):
        opening = mask(replace(stream.seen, fresh=False), False)
    assert opened(opening)
    assert not opened(mask(replace(stream.seen, fresh=True), False))
    assert not any(opened(mask(replace(stream.seen, fresh=False), False)) for _ in range(30))


def test_a_place_opens_and_shuts_with_the_cup(stream: Stream, drawn: Scene) -> None:
    low, high = with_cup(drawn, BLUE, 0.6), with_cup(drawn, BLUE, 0.4)
    first = stream(low, ENOUGH)
    assert first is not None
    risen = stream(high)
    assert risen is not None
    assert (risen.weights > first.weights).sum() == 0, "what was just hidden is shown at once"
    later = stream(high, ENOUGH)
    assert later is not None and later.weights.sum() > 1.2 * first.weights.sum()
    sunk = stream(low)
    assert sunk is not None
    assert (sunk.weights > first.weights + 1e-6).sum() == 0, "what the cup left is still shown"


def _lamp(rgb: Picture, points: Points, gain: tuple[float, float, float], soft: float, down: bool) -> Picture:
    y, x = np.mgrid[: rgb.shape[0], : rgb.shape[1]]
    centre = points.mean(axis=0)
    along = (y - centre[1]) if down else (x - centre[0])
    weight = 1 / (1 + np.exp(np.clip(-along / soft, -30, 30)))
    lit: Picture = np.clip(rgb * (1 + weight[:, :, None] * (np.array(gain) - 1)) + 0.5, 0, 255).astype(np.uint8)
    return lit


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("soft", [0.5, 15.0])
@pytest.mark.parametrize(
    "gain", [(0.3, 0.7, 1.5), (0.4, 1.3, 0.6), (1.2, 1.5, 1.8), (0.3, 0.36, 0.45), (0.7, 0.9, 1.1)]
)
def test_light_opens_nothing(
    stream: Stream, drawn: Scene, gain: tuple[float, float, float], soft: float, down: bool
) -> None:
    rgb = _lamp(drawn.rgb, drawn.points, gain, soft, down)
    assert not any(opened(stream(rgb)) for _ in range(12))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("colour", [BLUE, WHITE])
def test_what_can_be_seen_through_opens_nothing(stream: Stream, drawn: Scene, colour: Colour, share: float) -> None:
    rgb, cup = drawn.rgb.astype(np.float64), cup_at(drawn, 0.2)
    rgb[cup] += share * (np.array(colour) - rgb[cup])
    assert not any(opened(stream(rgb.astype(np.uint8))) for _ in range(12))


@pytest.mark.parametrize("opening", [0.0, 0.3, 0.7])
def test_teeth_lips_and_lids_open_nothing(
    model: AppearanceModel, fitting: FitModel, drawn: Scene, opening: float
) -> None:
    person, texture = model.decode(some_identity(model, 4))
    shape = with_mouth(person, opening)
    for lids in ((37, 38, 41, 40), (43, 44, 47, 46)):  # a blink
        for upper, lower in ((lids[0], lids[2]), (lids[1], lids[3])):
            shape[upper, 1] = shape[lower, 1] - 0.5
    moved = scene(model, shape, warm(texture), pose_at(model))
    stream = Stream(fitting, drawn)
    assert stream(drawn.rgb, LEARNT) is None
    assert not any(opened(stream(moved.rgb)) for _ in range(12)), "seen with the landmarks at rest"


def test_a_patch_within_the_face_is_none_that_came_from_outside(stream: Stream, drawn: Scene) -> None:
    rgb = drawn.rgb.copy()
    centre = drawn.points[27:36].mean(axis=0).astype(int)
    rgb[centre[1] - 28 : centre[1] + 28, centre[0] - 28 : centre[0] + 28] = BLUE
    assert not any(opened(stream(rgb)) for _ in range(12))


def test_a_small_or_turned_face_stays_covered(stream: Stream, fitting: FitModel, drawn: Scene) -> None:
    stream(with_cup(drawn, BLUE), ENOUGH)
    assert stream.seen is not None
    mask = stream._mask
    assert opened(mask(stream.seen, False))
    turned = replace(stream.seen, pose=pose_at(fitting.model, 150.0, (160.0, 165.0), yaw=0.8))
    assert not opened(mask(turned, False))
    assert not opened(mask(replace(stream.seen, points=stream.seen.points * 0.3), False))


def _published(
    stream: Stream, drawn: Scene, planes: Planes, fitting: FitModel, light: LightFrame, opening: Opening | None
) -> Planes:
    rest = Stream(fitting, drawn)
    rest(drawn.rgb)
    assert rest.seen is not None and stream.seen is not None
    neutral = Neutral(rest.seen.frontal, rest.seen.small_texture, rest.seen.hair)
    face = NewFace.of(some_identity(fitting.model, 8), fitting)
    out = planes.copy()
    assert render_surrogate(out, planes, stream.seen, neutral, face, fitting, light, Blending(), opening=opening)
    return out


def test_only_what_is_open_shows_the_original(
    stream: Stream, fitting: FitModel, light: LightFrame, drawn: Scene
) -> None:
    rgb = with_cup(drawn, BLUE)
    opening = stream(rgb, ENOUGH)
    assert opening is not None and stream.seen is not None
    planes = planes_from_rgb(rgb)
    shut = replace(opening, weights=np.zeros_like(opening.weights))
    with_it, without_it = (_published(stream, drawn, planes, fitting, light, o) for o in (opening, shut))
    where = shown(opening, stream.seen, planes, fitting)
    assert np.array_equal(with_it.y[where == 0], without_it.y[where == 0])
    clear = where > 0.999
    assert clear.sum() > 500 and np.abs(with_it.y[clear].astype(int) - planes.y[clear]).max() <= 1
    # The rest of the face may be anything: where the cup is seen nothing else is.
    noise = rgb.copy()
    noise[~cup_at(drawn)] = np.random.default_rng(0).integers(0, 255, (int((~cup_at(drawn)).sum()), 3))
    assert np.array_equal(planes_from_rgb(noise).y[clear], planes.y[clear])


def test_the_colour_of_the_cup_is_no_light_on_the_face(stream: Stream, drawn: Scene) -> None:
    opening = stream(with_cup(drawn, BLUE), ENOUGH)
    assert opening is not None and stream.seen is not None
    own = stream.seen.small_texture
    rest = own.copy()
    filled = opening.without(own, np.full_like(own, 100) * (1.0, 0.8, 0.7))
    assert np.array_equal(own, rest), "the observation was changed"
    assert np.array_equal(filled[~opening.hidden], own[~opening.hidden])
    assert coldness(own[opening.hidden]).max() > 0.2 > 0 > coldness(filled[opening.hidden]).max()


def test_structure_tells_light_from_what_hides_it() -> None:
    rng = np.random.default_rng(1)
    past = cv2.GaussianBlur(rng.normal(0, 1, (40, 40)).astype(np.float32), (0, 0), 1.5)
    where = np.zeros((40, 40), np.bool_)
    where[8:32, 8:32] = True
    kept, alike, strong, missed = structure(past, past, where)
    assert kept == pytest.approx(1, abs=1e-3) and alike == pytest.approx(1, abs=1e-3)
    assert strong == pytest.approx(1, abs=1e-3) and missed == pytest.approx(past[where].var() * where.sum(), rel=1e-3)
    slid = np.roll(past, (2, -1), (0, 1))
    assert structure(slid, past, where)[1] == pytest.approx(1, abs=1e-3), "the mesh has slid a little"
    other = 0.1 * cv2.GaussianBlur(rng.normal(0, 1, (40, 40)).astype(np.float32), (0, 0), 1.5)
    kept, _, strong, _ = structure(other, past, where)
    assert kept < 0.06 and strong < 0.2
    assert structure(past, past, np.zeros_like(where))[3] == 0


def _slow_structure(now: Points, past: Points, where: NDArray[np.bool_]) -> tuple[float, float]:
    best = [-1.0, -1.0]
    rows, columns = np.nonzero(where)
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            a = np.array([now[y, x] for y, x in zip(rows, columns, strict=True)])
            b = np.array(
                [past[min(max(y + dy, 0), 39), min(max(x + dx, 0), 39)] for y, x in zip(rows, columns, strict=True)]
            )
            covariance = np.cov(a, b, bias=True)
            best[0] = max(best[0], covariance[0, 1] / covariance[1, 1])
            best[1] = max(best[1], covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
    return best[0], best[1]


def test_structure_is_that_of_its_slow_twin() -> None:
    rng = np.random.default_rng(2)
    now, past = (rng.normal(0, 1, (40, 40)).astype(np.float32) for _ in range(2))
    where = rng.random((40, 40)) < 0.3
    assert structure(now, past, where)[:2] == pytest.approx(_slow_structure(now, past, where), abs=1e-4)


def test_a_printed_cup_stays_painted_over_but_gives_neither_light_nor_a_mouth(
    stream: Stream, fitting: FitModel, light: LightFrame, drawn: Scene
) -> None:
    rgb, cup = with_cup(drawn, BLUE), cup_at(drawn)
    spots = np.zeros_like(cup)
    spots[::9] = spots[1::9] = True
    rgb[cup & spots] = WHITE
    opening = stream(rgb, 12)
    assert opening is not None and not opened(opening) and opening.mouth
    out = _published(stream, drawn, planes_from_rgb(rgb), fitting, light, opening)
    plain = _published(stream, drawn, planes_from_rgb(rgb), fitting, light, None)
    middle = inside_hull(drawn.points, shrink=20.0) & cup
    cold = [float((p.u[::1, ::1].astype(float) - p.v)[middle[::2, ::2]].mean()) for p in (out, plain)]
    assert cold[0] < cold[1] - 5, "the cup's blue lies on the face"


def test_a_face_that_was_never_learnt_is_still_known_for_one(stream: Stream, fitting: FitModel, drawn: Scene) -> None:
    """Something warm and rough was before it while it was learnt: what is missed then is not the face's structure."""
    stream(_lamp(drawn.rgb, drawn.points, (0.3, 0.7, 1.5), 15.0, True))
    assert stream.seen is not None
    lit = replace(stream.seen, fresh=False)
    rough = cv2.GaussianBlur(np.random.default_rng(3).normal(0, 1, (76, 64)).astype(np.float32), (0, 0), 1.2)
    table = fitting.table
    texture = np.clip(1 + 1.2 * rough[table.rows, table.columns, None], 0.2, 2) * np.array([120, 90, 75])
    mask = OccluderMask(fitting, mean_texture(fitting))
    for _ in range(LEARNT):
        assert mask(replace(lit, small_texture=texture.astype(np.float32)), False) is None
    assert not any(opened(mask(lit, False)) for _ in range(12))
