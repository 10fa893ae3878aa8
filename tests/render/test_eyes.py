"""Eyes: an iris where it is wanted, lids that close, and nothing painted beyond them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Pixels
from streamdeid.core.ibug68 import LEFT_EYE, RIGHT_EYE
from streamdeid.render.eyes import EyeColours, browner, eye_colours, render_eye, shut
from streamdeid.render.new_face import NewFace
from tests.drawn_faces import some_identity
from tests.eye_twin import eye_twin

_COLOURS = EyeColours(np.float32([220, 128, 128]), np.float32([90, 110, 140]), np.float32([20, 128, 128]))
_RADIUS = 9.0


def _lids(opening: float, angle: float = 0.0) -> NDArray[np.float64]:
    """Lid points of an eye 60 pixels wide around (50, 40), opened to a share of its width."""
    half = 30 * opening
    lids = np.array([[-30.0, 0], [-10, -half], [10, -half], [30, 0], [10, half], [-10, half]])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return lids @ turn.T + (50.0, 40.0)


def _patch() -> Patch:
    shape = (40, 50)
    return Patch(
        0,
        0,
        np.full((80, 100), 150, np.float32),
        np.full((*shape, 2), 120, np.float32),
        np.ones(shape, np.uint8),
        np.ones((80, 100), np.uint8),
    )


def _drawn(opening: float, at: tuple[float, float] = (50.0, 40.0), angle: float = 0.0) -> Patch:
    patch = _patch()
    render_eye(patch, _lids(opening, angle), np.array(at), _RADIUS, _COLOURS)
    return patch


def _dark(patch: Patch) -> NDArray[np.float64]:
    """Centre of what is nearly black: the pupil."""
    rows, columns = np.nonzero(patch.y < 45)
    return np.array([columns.mean(), rows.mean()])


@pytest.mark.parametrize("offset", [-14.0, -5.0, 0.0, 5.0, 14.0])
@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_the_iris_is_where_the_original_looks(offset: float, angle: float) -> None:
    at = np.array([50 + offset * np.cos(angle), 40 + offset * np.sin(angle)])
    np.testing.assert_allclose(_dark(_drawn(0.6, (float(at[0]), float(at[1])), angle)), at, atol=1.2)


def test_of_a_closed_eye_only_lashes_are_left() -> None:
    closed, wide = _drawn(0.04), _drawn(0.6)
    assert (closed.uv == 120).all() and (closed.y <= 150).all(), "no sclera, no iris"
    column = closed.y[:, 50]
    assert column.min() < 0.75 * 150 and 2 <= (column < 140).sum() <= 6, "a dark line with some thickness"
    assert np.abs(closed.y - 150).sum() < 0.12 * np.abs(wide.y - 150).sum()


def test_an_eye_that_closes_never_jumps() -> None:
    drawn = np.stack([_drawn(float(opening)).y for opening in np.arange(0.0, 0.2, 0.005)])
    steps = np.abs(np.diff(drawn, axis=0)).mean(axis=(1, 2))
    assert steps.max() < 0.2 * np.abs(drawn[25] - drawn[10]).mean(), "of the 15 steps from a line to an eye"


def test_beyond_the_lids_there_is_only_shade() -> None:
    patch = _drawn(0.5)
    changed_rows, changed_columns = np.nonzero(patch.y != 150)
    assert changed_columns.min() >= 20 and changed_columns.max() <= 80
    assert changed_rows.min() >= 40 - 30 and changed_rows.max() <= 40 + 24
    outside = np.ones(patch.y.shape, np.bool_)
    outside[40 - 22 : 40 + 23] = False
    assert (patch.y[outside] <= 150).all() and patch.y[outside].min() > 0.8 * 150
    rows, columns = np.nonzero((patch.uv != 120).any(axis=2))
    assert columns.min() >= 9 and columns.max() <= 40 and rows.min() >= 7 and rows.max() <= 32


@pytest.mark.parametrize("angle", [-0.6, 0.3, 0.8])
def test_a_turned_eye_lies_between_its_own_lids(angle: float) -> None:
    patch = _drawn(0.4, angle=angle)
    rows, columns = np.nonzero(np.abs(patch.uv - 120).max(axis=2) > 2)
    x, y = 2 * columns + 0.5 - 50, 2 * rows + 0.5 - 40
    along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    assert along.min() < -22 and along.max() > 22, "from corner to corner"
    assert np.abs(across).max() < 30 * 0.4 * 1.35 + 1.5
    level = _drawn(0.4)
    for plane, wide in ((patch.y, level.y), (patch.uv, level.uv)):
        count, usual = ((np.abs(p - p.flat[0]) > 2).sum() for p in (plane, wide))
        assert count == pytest.approx(usual, rel=0.06), "and as large as when level"


@pytest.mark.parametrize("radius", [2.0, 4.0, 9.0])
@pytest.mark.parametrize(
    ("opening", "angle", "squash"), [(0.45, 0.0, 1.0), (0.3, 0.4, 0.7), (0.1, -0.3, 0.9), (0.02, 0, 1)]
)
def test_the_kernel_draws_what_its_slow_twin_says(radius: float, opening: float, angle: float, squash: float) -> None:
    scale = radius / _RADIUS
    lids = (_lids(opening, angle) - (50, 40)) * scale + (50.3, 40.6)
    centre, light = np.array([50.3 + 8 * scale, 40.1]), np.array([0.8, -0.6])
    patch = _patch()
    render_eye(patch, lids, centre, radius, _COLOURS, squash, light)
    twin = eye_twin(150.0, (120.0, 120.0), lids, centre, radius, _COLOURS, squash, light)
    for y in range(0, 80):
        for x in range(0, 100):
            near_corner = min(np.hypot(*(lids[k] - (x, y))) for k in (0, 3)) < 4 * scale + 1.5
            luma, chroma = twin(x, y)
            assert patch.y[y, x] == pytest.approx(luma, abs=25 if near_corner else 2.5), (x, y)
            if x % 2 == 0 and y % 2 == 0:
                assert patch.uv[y // 2, x // 2] == pytest.approx(chroma, abs=8 if near_corner else 1.0), (x, y)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_glint_lies_towards_the_light(side: float) -> None:
    patch = _patch()
    render_eye(patch, _lids(0.7), np.array([50.0, 40.0]), _RADIUS, _COLOURS, towards=np.array([side * 0.8, -0.6]))
    iris = patch.y[34:47, 44:57]
    row, column = np.unravel_index(int(iris.argmax()), iris.shape)
    assert iris.max() > 150 and (column - 6) * side > 1 and row < 6


def test_a_glint_is_dark_in_the_dark() -> None:
    patch = _patch()
    patch.y[:] = 30
    dim = EyeColours(np.float32([40, 128, 128]), np.float32([25, 128, 128]), np.float32([18, 128, 128]))
    render_eye(patch, _lids(0.6), np.array([50.0, 40.0]), _RADIUS, dim)
    assert 45 < patch.y.max() < 75


def test_a_turned_head_narrows_the_iris() -> None:
    wide, narrow = _patch(), _patch()
    for patch, squash in ((wide, 1.0), (narrow, 0.6)):
        render_eye(patch, _lids(0.9), np.array([50.0, 40.0]), _RADIUS, _COLOURS, squash)
    across = [(patch.y[40, 35:66] < 130).sum() for patch in (wide, narrow)]
    down = [(patch.y[28:53, 50] < 130).sum() for patch in (wide, narrow)]
    assert across[1] == pytest.approx(0.6 * across[0], abs=1.5) and down[1] == pytest.approx(down[0], abs=1)


def test_moving_a_small_eye_by_less_than_a_pixel_changes_its_light_little() -> None:
    """Eyes of a face 60 pixels wide do not flicker while the head drifts."""
    lids = (_lids(0.5) - (50, 40)) * 0.2
    sums = []
    for shift in np.linspace(0, 1, 11):
        patch, to = _patch(), np.array([50 + shift, 40.3 + 0.7 * shift])
        render_eye(patch, lids + to, to, 1.9, _COLOURS)
        sums.append(float(np.abs(patch.y - 150).sum()))
    assert np.ptp(sums) < 0.15 * np.mean(sums)


def test_sclera_iris_and_pupil_have_their_colours() -> None:
    patch = _drawn(0.7)
    assert patch.y[40, 50] == pytest.approx(20, abs=15), "pupil"
    assert 40 < patch.y[42, 55] < 140, "iris"
    assert patch.y[40, 33] > 160, "sclera"
    np.testing.assert_allclose(patch.uv[21, 17], 128, atol=4)


def test_chroma_follows_luma() -> None:
    patch = _patch()
    colours = EyeColours(_COLOURS.sclera, np.float32([90, 60, 200]), np.float32([20, 60, 200]))
    render_eye(patch, _lids(0.6), np.array([62.0, 40.0]), _RADIUS, colours)
    rows, columns = np.nonzero(patch.uv[:, :, 1] > 170)
    assert 2 * columns.mean() + 0.5 == pytest.approx(62, abs=1.5) and 2 * rows.mean() + 0.5 == pytest.approx(
        40, abs=1.5
    )


def test_patch_origin_counts() -> None:
    here, there = (
        _patch(),
        Patch(200, 100, *(getattr(_patch(), name) for name in ("y", "uv", "covered", "covered_luma"))),
    )
    render_eye(here, _lids(0.5), np.array([52.0, 40.0]), _RADIUS, _COLOURS)
    render_eye(there, _lids(0.5) + np.array([200, 100]), np.array([252.0, 140.0]), _RADIUS, _COLOURS)
    np.testing.assert_allclose(here.y, there.y, atol=1e-3)


@pytest.mark.parametrize("centre", [(2.0, 2.0), (98.0, 78.0), (-40.0, 500.0)])
def test_an_eye_at_or_beyond_the_border_writes_nothing_outside(centre: tuple[float, float]) -> None:
    canvas = np.full((120, 140), 150, np.float32)
    uv = np.full((60, 70, 2), 120, np.float32)
    patch = Patch(
        0, 0, canvas[20:100, 20:120], uv[10:50, 10:60], np.ones((40, 50), np.uint8), np.ones((80, 100), np.uint8)
    )
    render_eye(patch, _lids(0.6) - np.array([50, 40]) + np.array(centre), np.array(centre), _RADIUS, _COLOURS)
    canvas[20:100, 20:120], uv[10:50, 10:60] = 150, 120
    assert (canvas == 150).all() and (uv == 120).all()


def test_an_eye_that_is_seen_edge_on_stays_by_its_lids() -> None:
    """Its lids' points lie beside its corners; the far eye of a posed profile was a line across the brow."""
    lids = np.array([[54.0, 37], [46, 33], [46, 32], [55, 40], [50, 42.5], [49, 42]])
    patch = _patch()
    render_eye(patch, lids, np.array([50.0, 38.0]), 6.0, _COLOURS, 0.5)
    rows, columns = np.nonzero(np.abs(patch.y - 150) > 1)
    assert len(rows) == 0 or (np.hypot(rows - 37.0, columns - 50.0).max() < 16)


def test_an_eye_of_no_size_draws_nothing() -> None:
    patch = _patch()
    render_eye(patch, np.full((6, 2), 40.0), np.array([40.0, 40.0]), 1.0, _COLOURS)
    assert (patch.y == 150).all()


def _painted_eye(
    model: AppearanceModel, white: float, iris: tuple[float, float, float] = (50, 70, 120)
) -> NDArray[np.float32]:
    """A plain texture of grey 170 with one painted eye."""
    height, width = model.frame_size[1], model.frame_size[0]
    picture = np.full((height, width, 3), 170, np.float32)
    x, y, radius = (float(v) for v in model.iris[0])
    rows, columns = np.mgrid[0:height, 0:width]
    lids = model.mean_shape[LEFT_EYE]
    (x0, y0), (x1, y1) = lids.min(axis=0), lids.max(axis=0)
    picture[(columns > x0) & (columns < x1) & (rows > y0) & (rows < y1)] = white
    distance = np.hypot(columns - x, rows - y)
    picture[distance < radius] = iris
    picture[distance < 0.42 * radius] = 15
    return picture


def _left_eye(model: AppearanceModel, picture: Pixels) -> EyeColours:
    return eye_colours(picture, model.mean_shape[LEFT_EYE], model.iris[0], np.median(picture, axis=(0, 1)))


def test_colours_of_a_painted_eye_are_found(model: AppearanceModel) -> None:
    found = _left_eye(model, _painted_eye(model, 190))
    # A mean of eyes is greyer and lighter than any: a quarter as much colour again, and four fifths of the light.
    np.testing.assert_allclose(found.iris, 0.8 * (80 + 1.25 * (np.array([50, 70, 120]) - 80)), atol=1)
    np.testing.assert_allclose(found.sclera, 1.02 * 170, atol=1)
    np.testing.assert_allclose(_left_eye(model, _painted_eye(model, 165)).sclera, 165, atol=1)
    assert found.pupil.max() <= 16


def test_the_sky_in_a_donors_eye_is_no_colour_of_it(model: AppearanceModel) -> None:
    picture = _painted_eye(model, 1.0)
    picture[picture[:, :, 0] == 1.0] = (150, 180, 240)
    sclera = _left_eye(model, picture).sclera
    assert np.ptp(sclera) < 2 and sclera.mean() == pytest.approx(1.02 * 170, abs=2)


def test_pale_irises_do_not_stare(model: AppearanceModel) -> None:
    pale = _left_eye(model, _painted_eye(model, 190, (110, 140, 170))).iris
    assert pale.mean() == pytest.approx(0.42 * 170, abs=1)
    own = 140 + 1.25 * (np.array([110, 140, 170]) - 140)
    np.testing.assert_allclose(pale / pale.mean(), own / own.mean(), atol=0.02, err_msg="the hue is their own")


def test_irises_that_are_darker_than_brown_ones_are_made_no_brighter() -> None:
    own = EyeColours(np.float32([190, 180, 170]), np.float32([22, 24, 29]), np.float32([10, 10, 10]))
    brown = browner(own, 1.0).iris
    assert brown.mean() == pytest.approx(own.iris.mean(), rel=1e-4) and brown[0] > brown[2]


@pytest.mark.parametrize("blue", [(60, 80, 100), (70, 62, 52)])
def test_browner_irises(blue: tuple[int, int, int]) -> None:
    own = EyeColours(np.float32([190, 180, 170]), np.float32(blue), np.float32([20, 20, 20]))
    same, half, brown = (browner(own, share) for share in (0.0, 0.5, 1.0))
    np.testing.assert_allclose(same.iris, own.iris)
    assert brown.iris[0] > 1.15 * brown.iris[2] and brown.iris.mean() < own.iris.mean()
    np.testing.assert_allclose(half.iris, (own.iris + brown.iris) / 2, rtol=1e-5)
    np.testing.assert_allclose((brown.sclera, brown.pupil), (own.sclera, own.pupil))
    tenth = browner(EyeColours(own.sclera / 10, own.iris / 10, own.pupil / 10), 1.0)
    np.testing.assert_allclose(tenth.iris, brown.iris / 10, rtol=1e-5, err_msg="in the dark it is as dark")


def test_both_eyes_of_a_face_have_the_same_colours(fitting: FitModel) -> None:
    left, right = NewFace.of(some_identity(fitting.model, 5), fitting).eyes
    assert (left.iris == right.iris).all() and (left.sclera == right.sclera).all()


def test_whites_do_not_glare(model: AppearanceModel) -> None:
    found = _left_eye(model, _painted_eye(model, 250))
    np.testing.assert_allclose(found.sclera, 1.02 * 170, atol=1)


def test_whites_have_a_little_of_the_skins_hue(model: AppearanceModel) -> None:
    picture = _painted_eye(model, 160)
    picture[(picture == 170).all(axis=2)] = (200, 150, 130)
    sclera = _left_eye(model, picture).sclera
    skin = np.array([200, 150, 130]) / 160
    np.testing.assert_allclose(sclera / sclera.mean(), 1 + 0.15 * (skin - 1), atol=0.01)


def test_the_iris_beside_a_white_that_is_too_bright_is_darkened_with_it(model: AppearanceModel) -> None:
    usual, bright = (_left_eye(model, _painted_eye(model, white)).iris for white in (190, 250))
    np.testing.assert_allclose(bright, usual * 190 / 250, rtol=0.02)


def test_lashes_have_the_hue_of_the_lids(model: AppearanceModel) -> None:
    picture = np.empty((model.frame_size[1], model.frame_size[0], 3), np.float32)
    picture[:] = (190, 140, 120)
    lids = model.mean_shape[LEFT_EYE]
    shut(picture, lids)
    x, y = lids.mean(axis=0).astype(int)
    np.testing.assert_allclose(picture[y, x], np.array([190, 140, 120]) - 75, atol=6)


def test_of_a_shut_eye_a_dark_line_is_left(model: AppearanceModel) -> None:
    picture = _painted_eye(model, 205)
    lids = model.mean_shape[LEFT_EYE]
    before = picture.copy()
    shut(picture, lids)
    column, row = (round(float(v)) for v in lids.mean(axis=0))
    assert picture[row, column].max() < 0.7 * 205
    far = np.hypot(*np.mgrid[-row : len(picture) - row, -column : picture.shape[1] - column]) > 30
    np.testing.assert_array_equal(picture[far], before[far])


@pytest.mark.parametrize("seed", range(4))
def test_every_surrogate_has_eyes_that_can_be_told_apart(fitting: FitModel, seed: int) -> None:
    face = NewFace.of(some_identity(fitting.model, seed), fitting)
    for eye in face.eyes:
        assert eye.sclera.mean() > eye.iris.mean() + 15 > eye.pupil.mean() + 15
        assert np.isfinite([*eye.sclera, *eye.iris, *eye.pupil]).all()
    assert (RIGHT_EYE.stop - RIGHT_EYE.start) == 6


def test_no_white_line_is_left_under_a_new_eye(model: AppearanceModel) -> None:
    """Where a donor's eye was open wider, its white shows below the surrogate's lid."""
    picture, lids = _painted_eye(model, 205), model.mean_shape[LEFT_EYE]
    column, row = (round(float(v)) for v in (lids[:, 0].mean(), lids[:, 1].max() + 2))
    picture[row - 1 : row + 2, column - 6 : column + 7] = 230
    shut(picture, lids)
    assert picture[row + 1, column - 4 : column + 5].max() < 1.1 * 170
