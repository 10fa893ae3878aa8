"""A plain frame is drawn on whom wears glasses, and on nobody else, dark or fair."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.synthesise import Patch
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.frames import Planes
from streamdeid.observe import glasses
from streamdeid.observe.glasses import GlassesReader, line_in
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation, Observer
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.glasses import render_glasses
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from tests.drawn_faces import Scene, pose_at, scene, some_identity

_WIDTH = 150.0


def with_frame(made: Scene, colour: tuple[int, int, int]) -> Planes:
    """The scene with rims, bridge and temples in an RGB colour."""
    width, height = made.planes.size
    rgb = rectangle_to_rgb(made.planes, 0, 0, width, height).copy()
    left, right = (made.points[eye].mean(axis=0) for eye in (slice(36, 42), slice(42, 48)))
    span = float(right[0] - left[0])
    for eye, side in ((left, -1), (right, 1)):
        middle = (round(eye[0] + side * 0.03 * span), round(eye[1] + 0.06 * span))
        cv2.ellipse(rgb, middle, (round(0.4 * span), round(0.28 * span)), 0, 0, 360, colour, 2, cv2.LINE_AA)
        hinge = (round(middle[0] + side * 0.38 * span), middle[1] - round(0.08 * span))
        cv2.line(rgb, hinge, (round(eye[0] + side * 0.95 * span), hinge[1]), colour, 2, cv2.LINE_AA)
    return planes_from_rgb(rgb)


def watched(planes: Planes, made: Scene, fitting: FitModel, frames: int = 5) -> Observation:
    observe = Observer(fitting)
    seen = [observe(planes, made.face, i / 25) for i in range(frames)][-1]
    assert seen is not None
    return seen


@pytest.fixture(params=[2, 3, 5])
def made(request: pytest.FixtureRequest, model: AppearanceModel) -> Scene:
    shape, texture = model.decode(some_identity(model, request.param))
    return scene(model, shape, texture, pose_at(model, _WIDTH))


@pytest.mark.parametrize("colour", [(25, 25, 25), (235, 235, 240)])
def test_glasses_are_seen(made: Scene, fitting: FitModel, colour: tuple[int, int, int]) -> None:
    seen = watched(with_frame(made, colour), made, fitting)
    assert seen.glasses is not None
    assert abs(seen.glasses.height) < 0.3
    assert abs(float(seen.glasses.colour.mean()) - np.mean(colour)) < 90


@pytest.mark.parametrize("brightness", [1.0, 0.45])
def test_nobody_else_gets_any(made: Scene, fitting: FitModel, brightness: float) -> None:
    width, height = made.planes.size
    rgb = rectangle_to_rgb(made.planes, 0, 0, width, height)
    assert watched(planes_from_rgb((rgb * brightness).astype(np.uint8)), made, fitting).glasses is None


def test_the_frame_is_before_the_new_eyes(
    made: Scene, model: AppearanceModel, fitting: FitModel, light: LightFrame
) -> None:
    worn = watched(with_frame(made, (25, 25, 25)), made, fitting)
    face = NewFace.of(some_identity(model, 8), fitting)
    outs = []
    for seen in (worn, watched(made.planes, made, fitting)):
        out = made.planes.copy()
        neutral = Neutral(seen.frontal, seen.small_texture)
        assert render_surrogate(out, made.planes, seen, neutral, face, fitting, light, Blending())
        outs.append(out.y.astype(float))
    changed = outs[0] - outs[1]
    eye = worn.points[36:42].mean(axis=0)
    span = float(worn.points[42:48, 0].mean() - eye[0])
    below = changed[int(eye[1] + 0.2 * span) : int(eye[1] + 0.45 * span), int(eye[0]) - 2 : int(eye[0]) + 3]
    assert below.min() < -25, "the rim below the eye"
    above = changed[int(eye[1] - 0.4 * span) : int(eye[1] - 0.05 * span), int(eye[0]) - 2 : int(eye[0]) + 3]
    assert above.min() > below.min() + 15, "light falls on the rim from above"
    x, y = int(eye[0]), int(eye[1])
    lens = changed[y - int(0.1 * span) : y + int(0.15 * span), x - int(0.3 * span) : x + int(0.35 * span)]
    assert 3 < np.percentile(lens, 95) < 30 and np.percentile(lens, 20) < 2, "a band of the lens is a reflection"
    chin = worn.points[8]
    assert np.abs(changed[int(chin[1]) - 20 :]).max() < 8, "elsewhere only the light that was measured"


@pytest.mark.parametrize("level", [150.0, 40.0])
def test_reflections_are_as_bright_as_the_scene_lets_them(made: Scene, fitting: FitModel, level: float) -> None:
    seen = watched(with_frame(made, (25, 25, 25)), made, fitting)
    assert seen.glasses is not None
    height, width = made.planes.y.shape
    luma, covered = np.full((height, width), level, np.float32), np.ones((height, width), np.uint8)
    patch = Patch(0, 0, luma, np.full((height // 2, width // 2, 2), 128, np.float32), covered[::2, ::2], covered)
    black = replace(seen.glasses, colour=np.zeros(3, np.float32))
    eyes = np.stack([seen.points[36:42].mean(axis=0), seen.points[42:48].mean(axis=0)])
    span = float(np.linalg.norm(np.subtract(*(fitting.model.mean_shape[a : a + 6].mean(axis=0) for a in (36, 42)))))
    render_glasses(patch, black, eyes, seen.pose, span, made.planes.colour)
    brightest = float(patch.y.max())
    assert 1.02 * level < brightest < 1.2 * level, "on a lens"
    assert patch.y.min() < 0.5 * level, "the lower half of a rim, black (16)"


def test_the_bit_stays_until_it_is_clearly_gone(made: Scene, fitting: FitModel) -> None:
    reader = GlassesReader()
    points, plain = made.points, rectangle_to_rgb(made.planes, 0, 0, *made.planes.size)
    framed = rectangle_to_rgb(with_frame(made, (25, 25, 25)), 0, 0, *made.planes.size)
    found = [reader(image, points, 0.0, _WIDTH) is not None for image in [framed] * 5 + [plain] * 3]
    assert found == [False, False] + [True] * 6
    for _ in range(150):
        last = reader(plain, points, 0.0, _WIDTH)
    assert last is None
    for _ in range(10):
        last = reader(framed, points, 0.5, _WIDTH)
    assert last is None, "of a turned head nothing is measured"


def line_twin(block: NDArray[np.float32], aside: int, parts: int) -> float:
    """`line_in` by trying every path."""
    height, width = block.shape
    best, strength = 0.0, 0.0
    for sign in (1, -1):
        for start in range(aside, height - aside):
            for steps in product((-1, 0, 1), repeat=width - 1):
                rows = start + np.concatenate([[0], np.cumsum(steps)])
                if rows.min() < aside or rows.max() >= height - aside:
                    continue
                values = []
                for x, y in enumerate(rows):
                    sides = [float(block[y, x] - block[y + d, x]) for d in (-aside, aside)]
                    contrast = min(sides, key=abs) if sides[0] * sides[1] > 0 else 0.0
                    values.append(float(np.clip(sign * contrast, *glasses._CONTRASTS)))
                if sum(values) > best + 1e-12:
                    best = sum(values)
                    strength = min(float(np.mean(v)) for v in np.split(np.array(values), parts))
    return max(strength, 0.0)


@pytest.mark.parametrize("seed", range(8))
def test_the_line_is_the_strongest_of_all_paths(seed: int) -> None:
    block = np.random.default_rng(seed).normal(0, 0.08, (9, 6)).astype(np.float32)
    if seed % 2:
        block[4, :] += 0.2
    assert line_in(block, 2, 2)[0] == pytest.approx(line_twin(block, 2, 2), abs=1e-6)
