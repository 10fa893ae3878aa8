"""The camera's motion: told where all of a picture moves, and only there."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import pytest

from streamdeid.core.arrays import Floats, Plane
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.luma_pyramid import luma_pyramid
from streamdeid.tracking.cuts import Cuts

WIDTH, HEIGHT = 640, 360


def wall(seed: int, scale: int = 40) -> Plane:
    """A wall of blobs that is larger than the picture, (800, 1200)."""
    rough = np.random.default_rng(seed).integers(30, 220, (800 // scale, 1200 // scale)).astype(np.uint8)
    return np.asarray(cv2.resize(rough, (1200, 800), interpolation=cv2.INTER_CUBIC), np.uint8)


SCENE = wall(1)


def seen(x: float, y: float, zoom: float = 1.0, roll: float = 0.0, scene: Plane = SCENE) -> Plane:
    """What a camera sees of a scene whose middle is here, so much enlarged, and rolled by radians."""
    turn = np.array([[np.cos(roll), -np.sin(roll)], [np.sin(roll), np.cos(roll)]]) / zoom
    middle = np.array([x, y]) - turn @ np.array([WIDTH / 2, HEIGHT / 2])
    into = np.column_stack([turn, middle])
    picture = cv2.warpAffine(scene, into, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
    return np.asarray(picture, np.uint8)


def told(pictures: Sequence[Plane]) -> list[CameraMotion | None]:
    watch, found = Cuts(), []
    for picture in pictures:
        assert not watch(luma_pyramid(picture))
        found.append(watch.camera)
    return found


def middle(motion: CameraMotion | None) -> Floats:
    """By how much the middle of the picture moved."""
    assert motion is not None
    here = np.array([WIDTH / 2, HEIGHT / 2])
    return motion(here) - here


@pytest.mark.parametrize("step", [(6, 0), (-20, 9), (45, -30), (0, 55)])
def test_a_pan_is_told_to_a_fraction_of_a_small_face(step: tuple[int, int]) -> None:
    dx, dy = step
    pictures = [seen(500, 400), seen(500 + dx, 400 + dy), seen(500 + 2 * dx, 400 + 2 * dy)]
    first, *others = told(pictures)
    assert first is None
    for motion in others:
        np.testing.assert_allclose(middle(motion), [-dx, -dy], atol=1.0)
        assert motion is not None and motion.scale == pytest.approx(1, abs=0.01)


def test_zoom_and_roll_are_told() -> None:
    zoomed, rolled = told([seen(500, 400), seen(500, 400, zoom=1.1), seen(500, 400, zoom=1.1, roll=0.1)])[1:]
    assert zoomed is not None and zoomed.scale == pytest.approx(1.1, abs=0.01)
    assert rolled is not None and rolled.angle == pytest.approx(-0.1, abs=0.01)
    np.testing.assert_allclose(middle(zoomed), 0, atol=1.5)


def test_a_camera_that_stands_or_hardly_moves_is_not_told() -> None:
    noise = np.random.default_rng(2)
    pictures = [np.clip(seen(500, 400) + noise.normal(0, 4, (HEIGHT, WIDTH)), 0, 255).astype(np.uint8) for _ in "1234"]
    assert told(pictures) == [None] * 4
    assert told([seen(500 + 0.5 * step, 400) for step in range(5)]) == [None] * 5


def test_who_walks_by_is_no_camera() -> None:
    """Two people on a plain wall cross, as large as the picture is high; and one before a wall that tells more."""

    def crossing(step: int, before: Plane) -> Plane:
        picture = before.copy()
        for seed, left in ((3, 30 + 12 * step), (4, 430 - 12 * step)):
            picture[40:330, left : left + 180] = wall(seed, 25)[:290, :180]
        return picture

    plain = np.full((HEIGHT, WIDTH), 120, np.uint8)
    assert told([crossing(step, plain) for step in range(6)]) == [None] * 6
    assert told([crossing(step, seen(500, 400)) for step in range(6)]) == [None] * 6


@pytest.mark.parametrize("share", [0.5, 0.7])
@pytest.mark.parametrize("step", [10, 24])
def test_a_train_is_no_camera(share: float, step: int) -> None:
    """It fills half of the picture and more; what stands beside it is not to be moved along."""

    def passing(number: int) -> Plane:
        picture = seen(500, 400)
        left = 40 + step * number
        picture[:, : int(share * WIDTH)] = wall(9)[200 : 200 + HEIGHT, left : left + int(share * WIDTH)]
        return picture

    assert told([passing(number) for number in range(8)]) == [None] * 8


def test_a_frame_of_a_quick_pan_that_tells_no_motion_is_no_cut() -> None:
    watch, told_of, cuts = Cuts(), [], []
    for step in (0, 1, 2, 3, 4, 7, 8, 9, 12, 13):  # now and then by a fifth of the picture
        cuts.append(watch(luma_pyramid(seen(330 + 45 * step, 400))))
        told_of.append(watch.camera is not None)
    assert not all(told_of[1:]) and sum(told_of) > 5 and not any(cuts)


def test_nothing_is_told_of_nothing_or_of_another_scene() -> None:
    plain = np.full((HEIGHT, WIDTH), 120, np.uint8)
    assert told([plain, plain + 4, plain]) == [None] * 3
    watch = Cuts()
    for picture, cut in ((SCENE[:HEIGHT, :WIDTH], False), (wall(7)[:HEIGHT, :WIDTH], True)):
        assert watch(luma_pyramid(np.ascontiguousarray(picture))) == cut
        assert watch.camera is None


def test_a_picture_of_another_size_tells_nothing() -> None:
    watch = Cuts()
    watch(luma_pyramid(seen(500, 400)))
    watch(luma_pyramid(np.ascontiguousarray(seen(520, 400)[:200, :300])))
    assert watch.camera is None


def test_a_pan_is_no_jump_and_what_comes_with_it_is() -> None:
    """A quick pan changes most of the picture; what was found in the last one says where to look all the same."""
    watch, jumps = Cuts(), []
    for step in range(6):
        watch(luma_pyramid(seen(400 + 45 * step, 400)))
        jumps.append(watch.jumped)
    assert not any(jumps)
    flash = np.clip(seen(400 + 45 * 6, 400).astype(np.int32) + 60, 0, 255).astype(np.uint8)
    watch(luma_pyramid(flash))
    assert watch.jumped
