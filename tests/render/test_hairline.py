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


@pytest.mark.parametrize("material", [24.0, 32.0, 50.0, 60.0, 95.0, 130.0])
@pytest.mark.parametrize("fade", [5.0, 28.0, 40.0])  # strands end together, nearly so, and apart
def test_moved_material_is_that_of_a_slow_twin(material: float, fade: float) -> None:
    rng = np.random.default_rng(5)
    size, count = 64, hairline.DIRECTIONS
    plane = rng.integers(20, 80, (size, size)).astype(np.uint8)
    if fade > 5:  # strands that end apart: hair with a few gaps, since nothing is seen behind one
        plane = (material + rng.integers(-12, 12, (size, size))).astype(np.uint8)
        plane[rng.random((size, size)) < 0.05] = 62
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
    gaps = gaps_twin(plane, rim, depth, material, fade)
    for row, column in np.ndindex(luma.shape):
        assert luma[row, column] == pytest.approx(
            moved_twin(row, column, plane, covered, rim, depth, skin, material, fade, gaps), abs=1e-2
        ), (row, column)


@pytest.mark.parametrize(("hair", "seen"), [(40, 150), (150, 40), (110, 150)])
def test_behind_a_gap_in_a_fringe_there_is_no_mark(hair: int, seen: int) -> None:
    count, size = hairline.DIRECTIONS, 240
    plane, half = np.full((size, size), hair, np.uint8), np.full((size // 2, size // 2), 128, np.uint8)
    plane[28:34, 130:150] = seen  # the gap in what is moved 45 pixels down, from 13 to 19 pixels below the border
    covered = np.zeros((160, 160), np.uint8)
    covered[5:155, 5:155] = 1
    angles = (np.arange(count) * (2 * np.pi / count)).astype(np.float32)
    rim = hairline.rays_to_rim(covered, 80.0, 80.0, angles)
    depth = np.where(np.arange(count) > count // 2, 30.0, 0.0).astype(np.float32)
    same = np.ones(count, np.float32)
    rays = angles, rim, depth, 45 * same, hair * same, seen * same, np.zeros((count, 3), np.float32), 40.0
    luma, chroma = np.full((160, 160), seen, np.float32), np.full((80, 80, 2), 128, np.float32)
    strands.moved_inwards(luma, chroma, covered, (plane, half, half), (60, 60), (80.0, 80.0), *rays, strands.TURNS)
    behind, beside = luma[23:26, 78:83], luma[23:26, 45:55]
    assert np.abs(beside - hair).max() < 30, "where there is no gap, hair"
    if hair != 110:
        assert np.abs(behind - seen).max() < 2
    else:  # strands of fair hair are as bright as skin
        assert np.abs(behind - seen).max() > 5


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


def gaps_twin(
    plane: NDArray[np.uint8], rim: NDArray[np.float32], depth: NDArray[np.float32], material: float, fade: float
) -> list[list[float]]:
    """By a quarter of a direction and by pixels from the rim: the material's mean, or what is nearer to the skin's
    brightness and lies between, straight from the definition."""
    outside, ring = int(strands._OUTSIDE * fade) + 1, np.arange(97)
    furthest = strands._BROKEN[1] + strands._STRANDS[0]

    def ends(k: int) -> int:
        deep = max(depth[k // 4], depth[(k // 4 + 1) % 96])
        return int(deep * furthest) + 2 if deep > 0 else -outside

    def there(k: int, inner: int) -> float:
        far = float(np.interp(k / 4, ring, np.append(rim, rim[0]))) - inner
        if inner >= 0:
            far += next(away for away in (6.0, 12.0, 18.0) if away >= inner + 2)
        turn = k * 2 * np.pi / 384
        return bilinear_twin(plane, 32.0 + far * np.cos(turn), 32.0 + far * np.sin(turn))

    extreme = max if material < 62 else min
    table = []
    for k in range(384):
        means = []
        for inner in range(-outside, ends(k)):
            near = [there(j, inner) for j in ((k - 1) % 384, k, (k + 1) % 384) if inner < ends(j)]
            means.append(sum(near) / len(near))
        longest = int(float(depth.max()) * furthest) + 2
        table.append([extreme([material, *means[: outside + n + 1]]) for n in range(longest)])
    return table


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
    gaps: list[list[float]],
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
    if reach > 0:
        k, n = int(4 * turn), min(int(inner), len(gaps[0]) - 2)
        across = min(inner - n, 1.0)
        here, there = (row[n] + across * (row[n + 1] - row[n]) for row in (gaps[k % 384], gaps[(k + 1) % 384]))
        gap = (here + (4 * turn - k) * (there - here) - material) / (62.0 - material)
        loose, more = strands._LOOSE
        unlike = (abs(material - 62.0) / (max(material, 62.0) - 16) - strands._UNLIKE[0]) / strands._UNLIKE[1]
        own *= 1 - np.clip(unlike, 0, 1) * np.clip((gap - loose) / more, 0, 1)
    return value + own * (1 - t * t * (3 - 2 * t)) * (source - value)
