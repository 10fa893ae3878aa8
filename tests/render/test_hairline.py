"""Hair over the rim of a new face goes on as deep as it reached, in colours from outside; bare foreheads stay bare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.frames import Planes
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observer
from streamdeid.render import hairline, strands
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from tests.drawn_faces import Scene, inside_hull, pose_at, scene, some_identity

_WIDTH = 150.0
_HAIR = 40


def haired(made: Scene, reach: float, luma: int = _HAIR) -> Planes:
    """The scene with hair from above down to `reach` widths below the top of the face's outline."""
    planes = made.planes.copy()
    top = made.points[68:81, 1].min()
    below = int(top + reach * _WIDTH)
    left, right = (int(v) for v in (made.points[:, 0].min() - 30, made.points[:, 0].max() + 30))
    planes.y[:below, left:right] = luma
    planes.u[: below // 2, left // 2 : right // 2] = 128
    planes.v[: below // 2, left // 2 : right // 2] = 128
    return planes


def published(
    planes: Planes, made: Scene, model: AppearanceModel, fitting: FitModel, light: LightFrame, frames: int = 1
) -> Planes:
    seen = Observer(fitting)(made.planes, made.face, 0.0)
    assert seen is not None
    face, blending = NewFace.of(some_identity(model, 8), fitting), Blending()
    for _ in range(frames):
        out = planes.copy()
        neutral = Neutral(seen.frontal, seen.small_texture)
        assert render_surrogate(out, planes, seen, neutral, face, fitting, light, blending)
        seen = replace(seen, fresh=False)
    return out


@pytest.fixture
def made(model: AppearanceModel) -> Scene:
    shape, texture = model.decode(some_identity(model, 3))
    return scene(model, shape, texture, pose_at(model, _WIDTH))


def forehead(made: Scene, first: float, last: float) -> tuple[slice, slice]:
    """The middle of the forehead, from and to shares of the width below its top."""
    top, middle = made.points[68:81, 1].min(), made.points[:, 0].mean()
    return slice(int(top + first * _WIDTH), int(top + last * _WIDTH)), slice(int(middle) - 20, int(middle) + 20)


def test_a_fringe_goes_on_as_deep_as_it_reached(
    made: Scene, model: AppearanceModel, fitting: FitModel, light: LightFrame
) -> None:
    bare = published(made.planes, made, model, fitting, light)
    near, far = forehead(made, 0.08, 0.11), forehead(made, 0.3, 0.34)
    depths = []
    for reach in (0.0, 0.12, 0.22):
        fringed = published(haired(made, reach), made, model, fitting, light)
        rows = forehead(made, 0.0, 0.4)
        dark = fringed.y[rows].mean(axis=1) < 0.5 * (_HAIR + bare.y[near].mean())
        depths.append(float(dark.sum()) / _WIDTH)
        assert abs(fringed.y[far].mean() - bare.y[far].mean()) < 15, "the hair ends above the brows"
    assert depths[0] < 0.09, "hair that ends at the rim ends there"
    assert depths[1] > depths[0] + 0.03
    assert depths[2] > depths[1] + 0.05


def test_its_colours_are_those_of_outside(
    made: Scene, model: AppearanceModel, fitting: FitModel, light: LightFrame
) -> None:
    planes = haired(made, 0.2)
    inside = inside_hull(made.points)
    speckled = planes.copy()
    noise = np.random.default_rng(2).integers(-12, 13, planes.y.shape)
    speckled.y[inside] = np.clip(planes.y[inside].astype(int) + noise[inside], 0, 255)
    one, other = (published(p, made, model, fitting, light).y.astype(float) for p in (planes, speckled))
    deep = inside_hull(made.points, shrink=0.08 * _WIDTH)
    assert np.abs(one - other)[deep].max() <= 4, "only where the hair ends may follow the inside, and softly"


def test_nothing_is_continued_from_beyond_the_picture() -> None:
    shape = (hairline.DIRECTIONS, hairline._OUTSIDE + hairline._INSIDE, 3)
    seen = np.full(shape, 30.0, np.float32)
    drawn = np.full((hairline.DIRECTIONS, hairline._INSIDE, 3), 140.0, np.float32)
    known = np.zeros(hairline.DIRECTIONS, np.bool_)
    known[: hairline.DIRECTIONS // 2 + 24] = True
    places = np.repeat(known[:, None], hairline._OUTSIDE, axis=1)
    depth, _, _ = hairline.continued(seen, drawn, places, hairline.deepest(0.0, 0.0))
    assert depth[known].max() > 0.1
    assert depth[~known].max() == 0


def test_the_shadow_of_a_jaw_stays_below_it() -> None:
    drawn = np.full((hairline.DIRECTIONS, hairline._INSIDE, 3), 120.0, np.float32)
    seen = np.full((hairline.DIRECTIONS, hairline._OUTSIDE + hairline._INSIDE, 3), 40.0, np.float32)
    depth = hairline.continued(
        seen, drawn, np.ones((hairline.DIRECTIONS, hairline._OUTSIDE), np.bool_), hairline.deepest(0.0, 0.0)
    )[0]
    down, above = hairline.DIRECTIONS // 4, 3 * hairline.DIRECTIONS // 4
    assert depth[above] > 0.2 and depth[down - 8 : down + 9].max() == 0


def test_hair_lies_beside_the_cheek_that_a_turned_head_shows_and_nothing_over_its_profile() -> None:
    """Direction 0 points to the right: who turns to the left of the picture (yaw above 0) shows that cheek."""
    count = hairline.DIRECTIONS
    right, left, up = hairline.deepest(0.7, 1.0), hairline.deepest(-0.7, 1.0), 3 * count // 4
    np.testing.assert_allclose(left, np.roll(right[::-1], count // 2 + 1), atol=1e-6)
    assert right[0] > 0.14 and right[count // 2] == 0
    assert right[up] == pytest.approx(hairline.deepest(0.0, 0.0)[up]), "the forehead's stays"
    assert hairline.deepest(0.2, 0.0)[0] < 0.06, "who faces the camera has none beside the cheeks"
    assert hairline.deepest(0.45, 0.0)[count // 2] > 0, "drawn flat, there is no profile"
    assert right[count // 8 : 3 * count // 8].max() == 0, "nor below"


def reach_twin(covered: NDArray[np.uint8], x: float, y: float, angle: float) -> float:
    """The farthest covered place in a direction, looked for outwards."""
    farthest = 1.0
    for far in np.arange(0, np.hypot(*covered.shape) + 1, 0.05):
        px, py = int(x + far * np.cos(angle) + 0.5), int(y + far * np.sin(angle) + 0.5)
        if 0 <= px < covered.shape[1] and 0 <= py < covered.shape[0] and covered[py, px]:
            farthest = far
    return farthest


def test_the_rim_is_where_the_cover_ends() -> None:
    covered = np.zeros((60, 80), np.uint8)
    covered[10:50, 15:70] = 1
    angles = np.linspace(0, 6.2, hairline.DIRECTIONS).astype(np.float32)
    reach = hairline.rays_to_rim(covered, 40.0, 30.0, angles)
    assert np.allclose(reach, [reach_twin(covered, 40.0, 30.0, a) for a in angles], atol=0.6)


@pytest.mark.parametrize("material", [50.0, 60.0, 95.0])
@pytest.mark.parametrize("fade", [5.0, 28.0, 40.0])  # strands end together, nearly so, and apart
def test_moved_material_is_that_of_a_slow_twin(material: float, fade: float) -> None:
    rng = np.random.default_rng(5)
    size, count = 64, hairline.DIRECTIONS
    plane = rng.integers(20, 80, (size, size)).astype(np.uint8)
    half = rng.integers(100, 150, (size // 2, size // 2)).astype(np.uint8)
    covered = np.zeros((40, 40), np.uint8)
    covered[5:35, 5:35] = 1
    angles = (np.arange(count) * (2 * np.pi / count)).astype(np.float32)  # upright: up is -y
    rim = hairline.rays_to_rim(covered, 20.0, 20.0, angles)
    depth = np.where(np.arange(count) > count // 2, 4.0, 0.0).astype(np.float32)
    shift, tone = np.full(count, 6.0, np.float32), np.full(count, material, np.float32)
    skin = rng.uniform(-4, 4, (count, 3)).astype(np.float32)
    luma, chroma = np.full((40, 40), 150, np.float32), np.full((20, 20, 2), 120, np.float32)
    bare = np.full(count, 62.0, np.float32)  # new skin: what lies on its other side is no material
    rays = angles, rim, depth, shift, tone, bare, skin, fade, strands.TURNS
    strands.moved_inwards(luma, chroma, covered, (plane, half, half), (12, 12), (20.0, 20.0), *rays)
    for row, column in np.ndindex(luma.shape):
        assert luma[row, column] == pytest.approx(
            moved_twin(row, column, plane, covered, rim, depth, skin, material, fade), abs=1e-2
        ), (row, column)


def test_the_rim_knows_the_new_skin_that_material_is_laid_over() -> None:
    seen = np.full((hairline.DIRECTIONS, hairline._OUTSIDE + hairline._INSIDE, 3), 60, np.float32)
    drawn = np.full((hairline.DIRECTIONS, hairline._INSIDE, 3), 90, np.float32)
    drawn[:, hairline._NEXT :] = 200
    known = np.ones((hairline.DIRECTIONS, hairline._OUTSIDE), np.bool_)
    rim = hairline.measured(seen, drawn, known, None, hairline.deepest(0.0, 0.0))
    assert np.allclose(rim.bare, 90) and np.allclose(rim.tone, 60)


def bilinear_twin(plane: NDArray[np.uint8], x: float, y: float) -> float:
    x, y = min(max(x, 0), plane.shape[1] - 1), min(max(y, 0), plane.shape[0] - 1)
    c, r = min(int(x), plane.shape[1] - 2), min(int(y), plane.shape[0] - 2)
    weights = np.outer([1 - (y - r), y - r], [1 - (x - c), x - c])
    return float((plane[r : r + 2, c : c + 2] * weights).sum())


def moved_twin(
    row: int,
    column: int,
    plane: NDArray[np.uint8],
    covered: NDArray[np.uint8],
    rim: NDArray[np.float32],
    depth: NDArray[np.float32],
    skin: NDArray[np.float32],
    material: float,
    fade: float,
) -> float:
    """Luma of one place of `test_moved_material_is_that_of_a_slow_twin`, straight from the definition."""
    value = 150.0
    if not covered[row, column]:
        return value
    offset = np.array([column - 20.0, row - 20.0])
    far = float(np.hypot(*offset))
    if offset[1] > -strands._LOWEST * far:
        return value
    turn = float(np.arctan2(offset[1], offset[0]) / (2 * np.pi) * len(rim)) % len(rim)
    ring = np.arange(len(rim) + 1)

    def at(field: NDArray[np.float32]) -> float:
        return float(np.interp(turn, ring, np.append(field, field[0])))

    inner = max(at(rim) - far, 0.0)
    t = min(inner / fade, 1.0)
    value += (1 - t * t * (3 - 2 * t)) * at(np.ascontiguousarray(skin[:, 0]))
    deep = at(depth)
    if deep <= 0:
        return value
    away = 6.0
    while away < inner + 2:
        away += 6.0
    place = np.array([20.0, 20.0]) + offset * (1 + away / far) + 12
    source = bilinear_twin(plane, *place)
    apart = fade * strands._APART
    around = [bilinear_twin(plane, *(place + d)) for d in ((-apart, 0), (apart, 0), (0, -apart), (0, apart))]
    first, last = strands._BROKEN
    reach, levels = strands._STRANDS
    narrow, wide = strands._WIDE
    reach *= np.clip((apart - narrow) / (wide - narrow), 0, 1)
    source = float(np.clip(source, material - levels, material + levels))
    strand = reach * np.clip(((source + sum(around)) / 5 - material) / levels, -1, 1)
    t = float(np.clip((inner / deep + strand - first) / (last - first), 0, 1))
    other = np.clip((source - 62.0) * np.sign(62.0 - material) / strands._OTHER, 0, 1)
    own = 1 - other * min(abs(material - 62.0) / levels, 1)
    return value + own * (1 - t * t * (3 - 2 * t)) * (source - value)
