"""A drawn face gets the sharpness and grain of the scene around it, and nothing of the original's face says which."""

from __future__ import annotations

import time
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.synthesise import Patch
from streamdeid.core.frames import Planes
from streamdeid.render.scene_grain import SceneGrain, _blurred_by, _coherence, edge_width, grain_of, soften_colours

_SIZE = 320
_TURN = np.linspace(0, 2 * np.pi, 81)
_OVAL: NDArray[np.float64] = np.stack([160 + 75 * np.cos(_TURN), 160 + 95 * np.sin(_TURN)], axis=1)
"""float64 (81, 2): where the face is."""
_SMOOTH = np.array([0.25, 0.5, 0.25], np.float32)
_ALL = np.ones((_SIZE, _SIZE), np.uint8)


def _discs(blur: float, seed: int = 0) -> NDArray[np.float32]:
    """Discs of several greys, edges of all directions, blurred by so many pixels; drawn at eight times the size."""
    rng = np.random.default_rng(seed)
    large: NDArray[Any] = np.full((8 * _SIZE, 8 * _SIZE), 90, np.float32)
    for _ in range(60):
        x, y = rng.uniform(0, 8 * _SIZE, 2)
        cv2.circle(large, (int(x), int(y)), int(rng.uniform(80, 260)), (rng.uniform(50, 200),), -1)
    return np.asarray(
        cv2.resize(cv2.GaussianBlur(large, (0, 0), 8 * blur), (_SIZE, _SIZE), interpolation=cv2.INTER_AREA)
    )


def _grain(deviation: float, smooth: float, seed: int) -> NDArray[np.float32]:
    """Noise of a camera: white, or blurred as demosaicing does, of a given deviation."""
    noise = np.random.default_rng(seed).standard_normal((_SIZE, _SIZE)).astype(np.float32)
    if smooth > 0:
        noise = np.asarray(cv2.GaussianBlur(noise, (0, 0), smooth), np.float32)
    return np.asarray(deviation * noise / noise.std(), np.float32)


def _planes(luma: NDArray[np.float32], chroma: NDArray[np.float32] | None = None) -> Planes:
    half = np.full((_SIZE // 2, _SIZE // 2), 128, np.float32) if chroma is None else 128 + chroma[::2, ::2]
    y, u = (np.clip(np.round(p), 0, 255).astype(np.uint8) for p in (luma, half))
    return Planes(y, u, u.copy())


def _oval() -> NDArray[np.uint8]:
    rows, columns = np.indices((_SIZE, _SIZE))
    return np.asarray(((columns - 160) / 75.0) ** 2 + ((rows - 160) / 95.0) ** 2 <= 1, np.uint8)


def _patch(luma: NDArray[np.float32]) -> Patch:
    covered = _oval()
    box = slice(60, 260), slice(80, 240)
    uv = np.full((100, 80, 2), 128, np.float32)
    return Patch(80, 60, luma[box].copy(), uv, covered[box][::2, ::2].copy(), covered[box].copy())


def _slow_edge_width(plane: NDArray[np.float32]) -> float:
    """`edge_width` of all of a plane: a pixel at a time, by the formula, with the same shrinking to what is usual."""
    widths = []
    taps = np.exp(-0.5 * np.arange(-4, 5) ** 2)
    for lines in (plane, plane.T):
        for line in lines.astype(float):
            slope = np.array([0, *((line[2:] - line[:-2]) / 2), 0])
            again = np.convolve(slope, taps / taps.sum(), mode="same")
            for x in range(6, len(line) - 6):
                here = abs(slope[x])
                if here >= 4 and here >= abs(slope[x - 1]) and here > abs(slope[x + 1]):
                    ratio = here / max(abs(again[x]), 1e-6)
                    if 1.02 < ratio < 6:
                        widths.append(1 / np.sqrt(ratio**2 - 1))
    return float((len(widths) * np.quantile(widths, 0.25) + 60 * 0.70) / (len(widths) + 60))


@pytest.mark.parametrize("blur", [0.6, 1.2])
def test_edge_width_is_that_of_the_slow_twin(blur: float) -> None:
    picture = np.round(_discs(blur))
    assert edge_width(picture, _ALL) == pytest.approx(_slow_edge_width(picture), abs=0.03)


@pytest.mark.parametrize("channels", [(), (2,)])
@pytest.mark.parametrize("amount", [-1.0, 0.6])
def test_a_plane_is_blurred_and_sharpened_as_the_slow_twin_does_it(channels: tuple[int, ...], amount: float) -> None:
    rng = np.random.default_rng(3)
    plane = rng.uniform(0, 255, (31, 24, *channels)).astype(np.float32)
    mask = np.zeros((31, 24), np.uint8)
    mask[4:28, 3:20] = rng.uniform(size=(24, 17)) < 0.9
    sigma, reach = 1.2, 5
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    wanted = plane.astype(np.float64)
    for y, x in np.argwhere(mask):
        total, weight = 0.0, 0.0
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                if 0 <= y + dy < 31 and 0 <= x + dx < 24 and mask[y + dy, x + dx]:
                    total = total + bell[dy + reach] * bell[dx + reach] * plane[y + dy, x + dx].astype(np.float64)
                    weight += bell[dy + reach] * bell[dx + reach]
        wanted[y, x] += amount * (plane[y, x] - total / weight)
    outside = plane[mask == 0].copy()
    _blurred_by(plane, mask, sigma, amount)
    np.testing.assert_allclose(plane, wanted, atol=0.05)
    np.testing.assert_array_equal(plane[mask == 0], outside)


def test_edge_width_tells_blur() -> None:
    narrow, wide = edge_width(_discs(0.7), _ALL), edge_width(_discs(1.4), _ALL)
    assert np.sqrt(wide**2 - narrow**2) == pytest.approx(np.sqrt(1.4**2 - 0.7**2), rel=0.15)


@pytest.mark.parametrize(("deviation", "smooth"), [(2.0, 0.0), (5.0, 0.0), (4.0, 0.6)])
def test_grain_is_found_beside_edges(deviation: float, smooth: float) -> None:
    noise = _grain(deviation, smooth, 1)
    found = grain_of(np.round(_discs(0.7) + noise), _ALL)
    alone = cv2.sepFilter2D(noise, -1, _SMOOTH, _SMOOTH)
    assert found is not None
    assert found[0] == pytest.approx((noise - alone).std(), rel=0.15)


def test_a_clean_picture_has_no_grain() -> None:
    slope = np.add.outer(np.linspace(60, 150, _SIZE), np.linspace(0, 40, _SIZE)).astype(np.float32)
    found = grain_of(np.round(slope), _ALL)
    assert found is not None and found.max() < 0.25


def test_a_sharp_face_in_a_soft_scene_is_blurred_and_a_soft_one_in_a_sharp_scene_crisped() -> None:
    for scene, face, left in ((2.0, 0.6, 0.5), (0.6, 1.2, 0.85)):  # what was lost does not all come back
        patch = _patch(_discs(face, 1))
        before = edge_width(patch.y, patch.covered_luma)
        SceneGrain().match(patch, _planes(_discs(scene)), _OVAL)
        after, around = edge_width(patch.y, patch.covered_luma), edge_width(_discs(scene), _ALL)
        assert abs(after - around) < left * abs(before - around)


def test_the_colours_of_a_face_are_as_soft_as_a_cameras() -> None:
    """An iris of one pixel keeps a third of its own colour, its surroundings take the rest, and none is lost."""
    patch = _patch(_discs(0.6, 1))
    patch.uv[50, 40] = (168, 108)
    soften_colours(patch)
    away = patch.uv - 128
    assert away[50, 40, 0] == pytest.approx(-2 * away[50, 40, 1], rel=1e-3)
    assert away[:, :, 0].sum() == pytest.approx(40, rel=0.02)
    bell = np.exp(-0.5 * np.square(np.arange(-3, 4) / 0.7))
    assert away[50, 40, 0] / 40 == pytest.approx(1 / bell.sum() ** 2, rel=0.01)


def test_the_rim_of_a_face_gets_no_colour_of_what_is_beside_it() -> None:
    patch = _patch(_discs(0.6, 1))
    patch.uv[patch.covered == 1] = (100, 160)
    soften_colours(patch)
    np.testing.assert_allclose(
        patch.uv[patch.covered == 1], np.broadcast_to((100, 160), (int(patch.covered.sum()), 2)), rtol=1e-5
    )
    assert (patch.uv[patch.covered == 0] == 128).all()


def test_grain_is_the_scenes_and_alive_and_repeatable() -> None:
    noise = _grain(4.0, 0.5, 2)
    plain = np.full((_SIZE, _SIZE), 120, np.float32)
    pictures = []
    for _ in range(2):
        state = SceneGrain()
        made = [_patch(plain) for _ in range(3)]
        for patch in made:
            state.match(patch, _planes(plain + noise, noise), _OVAL)
        pictures.append(made)
    for one, other in zip(*pictures, strict=True):
        assert np.array_equal(one.y, other.y) and np.array_equal(one.uv, other.uv)
    first, second = (patch.y - 120 for patch in pictures[0][:2])
    assert first.std() == pytest.approx(4.0, rel=0.2)
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.05, "another grain in each frame"
    beside = np.corrcoef(first[:, :-1].ravel(), first[:, 1:].ravel())[0, 1]
    wanted = np.corrcoef(noise[:, :-1].ravel(), noise[:, 1:].ravel())[0, 1]
    assert beside == pytest.approx(wanted, abs=0.15), "as coarse as the scene's"
    assert pictures[0][0].uv.std() > 2


def test_nothing_of_the_face_itself_is_looked_at() -> None:
    scene = _discs(1.0) + _grain(2.0, 0.0, 3)
    other = np.where(_oval() > 0, _grain(40.0, 0.0, 4) + 120, scene)
    patches = [_patch(_discs(0.8, 1)) for _ in range(2)]
    for patch, picture in zip(patches, (scene, other), strict=True):
        SceneGrain().match(patch, _planes(picture), _OVAL)
    assert np.array_equal(patches[0].y, patches[1].y) and np.array_equal(patches[0].uv, patches[1].uv)


def test_a_face_that_fills_the_picture_has_no_surroundings() -> None:
    patch = _patch(_discs(0.8, 1))
    SceneGrain().match(patch, _planes(_discs(1.0)), _OVAL * 4 - 480)
    assert np.isfinite(patch.y).all()


def test_it_is_cheap() -> None:
    """Against blurring the patch ten times, which is as slow as the machine is: 0.2 of that here."""
    planes, state = _planes(_discs(1.0) + _grain(2.0, 0.0, 3)), SceneGrain()
    patches = [_patch(_discs(0.8, 1)) for _ in range(24)]
    state.match(patches[0], planes, _OVAL)
    begun = time.process_time()
    for patch in patches:
        for _ in range(10):
            cv2.GaussianBlur(patch.y, (0, 0), 4.0)
    blurred = time.process_time()
    for patch in patches:
        state.match(patch, planes, _OVAL)
    assert time.process_time() - blurred < blurred - begun


def test_a_scene_without_a_flat_place_is_not_taken_for_grain() -> None:
    """Rails and lamps everywhere, of another strength in each block: the faintest are no camera's grain."""
    strength = np.repeat(np.repeat(np.random.default_rng(5).uniform(4, 60, (16, 16)), 8, axis=0), 8, axis=1)
    rails = 128 + strength * np.where(np.arange(128) % 4 < 2, 1.0, -1.0)
    found = grain_of(np.round(rails), np.ones((128, 128), np.uint8))
    assert found is not None and found.max() <= 0.25


def test_curls_are_not_taken_for_grain() -> None:
    """Strands that run another way in each block, everywhere; noise runs no way."""
    ways = np.repeat(np.repeat(np.random.default_rng(7).uniform(0, np.pi, (16, 16)), 8, axis=0), 8, axis=1)
    rows, columns = np.mgrid[0:128, 0:128]
    strands = 128 + 12 * np.sin(2 * (np.cos(ways) * columns + np.sin(ways) * rows)) + _grain(1.0, 0.5, 3)[:128, :128]
    found = grain_of(np.round(strands), np.ones((128, 128), np.uint8))
    assert found is not None and found.max() <= 0.25 + 1e-6


@pytest.mark.parametrize("smooth", [0.0, 0.5, 0.8, 1.0])
def test_coarse_noise_is_grain_too(smooth: float) -> None:
    """As of a picture that was enlarged."""
    noise = _grain(5.0, smooth, 3)
    found = grain_of(np.round(128 + noise), _ALL)
    alone = cv2.sepFilter2D(noise, -1, _SMOOTH, _SMOOTH)
    assert found is not None
    assert found[0] == pytest.approx((noise - alone).std(), rel=0.15)


def test_grain_is_believed_less_and_less_as_it_takes_a_direction() -> None:
    """No step: a clip that lies between both cases does not blink."""
    white = np.random.default_rng(3).normal(0, 9, (_SIZE, _SIZE)).astype(np.float32)
    found = [
        grain_of(np.round(128 + cv2.GaussianBlur(white, (0, 0), 0.3, sigmaY=along)), _ALL)
        for along in np.linspace(0.3, 2.0, 86)
    ]
    finest = np.array([f[0] for f in found if f is not None])
    assert len(finest) == 86 and finest[0] > 2 and finest[-1] <= 0.25 + 1e-6
    assert (np.abs(np.diff(finest)) < 0.6).all()


@pytest.mark.parametrize(("angle", "wanted"), [(0.0, 1.0), (0.7, 1.0), (None, 0.0)])
def test_the_coherence_of_gradients(angle: float | None, wanted: float) -> None:
    """A slope runs one way, a bowl all ways."""
    rows, columns = np.mgrid[0:8, 0:8].astype(np.float64)
    bowl = (rows - 3.5) ** 2 + (columns - 3.5) ** 2
    values = bowl if angle is None else np.cos(angle) * columns + np.sin(angle) * rows
    assert _coherence(values.astype(np.float32), 0, 0) == pytest.approx(wanted, abs=1e-5)
    assert _coherence(np.full((8, 8), 90, np.float32), 0, 0) == 0.0


def test_the_direction_of_the_flattest_blocks_counts_alone() -> None:
    """A noisy wall beside hair: the wall tells."""
    noise = _grain(3.0, 0.0, 3)
    rows, columns = np.mgrid[0:_SIZE, 0:_SIZE]
    strands = np.where(columns > _SIZE // 4, 25 * np.sin(2 * columns + 0.3 * rows), 0.0)
    found = grain_of(np.round(128 + noise + strands), _ALL)
    alone = grain_of(np.round(128 + noise), _ALL)
    assert found is not None and alone is not None and found[0] == pytest.approx(alone[0], rel=0.25)
