"""What is known of the background behind heads."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Box, Points
from streamdeid.core.frames import Planes
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.render.background import Background, Behind
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead, PosedMemory, render_posed_face
from streamdeid.render.posed_region import face_ellipse

HEAD = (60.0, 40.0, 100.0, 90.0)


def wall(seed: int = 0, size: tuple[int, int] = (160, 120)) -> Planes:
    """A picture (width, height) of patches of 8 pixels."""
    rng, (width, height) = np.random.default_rng(seed), size
    cells = rng.integers(40, 200, (height // 8 + 1, width // 8 + 1), dtype=np.uint8)
    y = np.kron(cells, np.ones((8, 8), np.uint8))[:height, :width]
    halves = (height + 1) // 2, (width + 1) // 2
    return Planes(y.copy(), *(np.full(halves, level, np.uint8) for level in (120, 135)))


def patch(x0: int, y0: int, x1: int, y1: int) -> Patch:
    """An empty patch of these pixels."""
    height, width = y1 - y0, x1 - x0
    halves = (height + 1) // 2, (width + 1) // 2
    return Patch(
        x0,
        y0,
        np.zeros((height, width), np.float32),
        np.zeros((*halves, 2), np.float32),
        np.zeros(halves, np.uint8),
        np.zeros((height, width), np.uint8),
    )


WHOLE = patch(0, 0, 160, 120)


class Filmed:
    """A stream of ten pictures a second."""

    def __init__(self) -> None:
        self.background, self.time, self.scene = Background(), Fraction(0), 0

    def show(
        self, out: Planes, boxes: Sequence[Box] = (), *, times: int = 1, moved: bool = False, after: str = "0.1"
    ) -> Behind | None:
        """Publish a picture so many times; what is known of the background while the next one is rendered."""
        for _ in range(times):
            self.background.begin(out, self.time, scene=self.scene, moved=moved)
            self.background.note(out, boxes)
            self.time += Fraction(after)
        self.background.begin(out, self.time, scene=self.scene)
        return self.background.behind(WHOLE)


def test_what_was_published_twice_is_known_as_it_was() -> None:
    filmed, picture = Filmed(), wall()
    assert filmed.show(picture, times=8) is None
    behind = filmed.show(picture, times=1)
    assert behind is not None and (behind.known == 1).all()
    assert np.array_equal(behind.y[:, :, 0], picture.y)
    assert np.array_equal(behind.uv, np.dstack([picture.u, picture.v]))
    part = filmed.background.behind(patch(20, 10, 61, 51))
    assert (
        part is not None and np.array_equal(part.y[:, :, 0], picture.y[10:51, 20:61]) and part.known.shape == (21, 21)
    )


def test_what_is_covered_is_not_known_and_what_a_head_hid_a_moment_ago_is() -> None:
    filmed, empty, covered = Filmed(), wall(), wall()
    covered.y[40:90, 60:100] = 90
    behind = filmed.show(covered, [HEAD], times=9)
    assert behind is not None and (behind.known[20:45, 30:50] == 0).all() and behind.known[5:10].min() == 1
    filmed = Filmed()
    filmed.show(empty, times=9)
    behind = filmed.show(covered, [HEAD], times=8)
    assert behind is not None and behind.known.min() == 1 and np.array_equal(behind.y[:, :, 0], empty.y)
    empty.y[10:30, 60:100] = 99
    covered.y[10:30, 60:100] = 99
    behind = filmed.show(covered, [HEAD], times=90)
    assert behind is not None and behind.known.min() == 1
    assert np.array_equal(behind.y[:, :, 0], empty.y), "of what is hidden the last, of all else what is there now"


def test_what_moves_is_not_background() -> None:
    filmed, behind = Filmed(), None
    for step in range(12):
        picture = wall()
        picture.y[40:90, 10 + 8 * step : 40 + 8 * step] = 250
        behind = filmed.show(picture)
    assert behind is not None
    known = np.kron(behind.known, np.ones((2, 2))) > 0
    assert (behind.y[:, :, 0][known] == wall().y[known]).all() and known[:30].all()


@pytest.mark.parametrize(
    "how", ["the camera moved", "a cut", "a gap", "the time goes back", "the light changes", "another size"]
)
def test_all_is_forgotten_when(how: str) -> None:
    filmed, picture = Filmed(), wall()
    assert filmed.show(picture, times=9) is not None
    if how == "a gap":
        filmed.time += 2
    if how == "the time goes back":
        filmed.time -= Fraction(17, 20)
    if how == "the light changes":
        picture.y[:80] -= 20
    if how == "another size":
        picture = wall(size=(162, 122))
    if how == "a cut":
        filmed.scene = 1
    assert filmed.show(picture, moved=how == "the camera moved") is None
    assert filmed.background.behind(patch(0, 0, 162, 122)) is None


def test_a_small_change_of_the_picture_is_no_other_light() -> None:
    filmed, picture = Filmed(), wall()
    filmed.show(picture, times=9)
    picture.y[:40] -= 20
    assert filmed.show(picture) is not None


def test_nothing_is_known_where_a_head_begins_to_be_followed() -> None:
    """It may have been there unseen for long; a picture in which it was so counts no more, either."""
    filmed, picture = Filmed(), wall()
    filmed.show(picture, times=12)
    filmed.background.forget(HEAD)
    behind = filmed.background.behind(WHOLE)
    assert behind is not None and (behind.known[20:45, 30:50] == 0).all() and behind.known[5:10].min() == 1
    behind = filmed.show(picture, times=3)
    assert behind is not None and (behind.known[20:45, 30:50] == 0).all()
    behind = filmed.show(picture, times=8)
    assert behind is not None and behind.known.min() == 1, "it went, and twice nobody was there"


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_place_that_is_not_finite_may_be_everywhere(wrong: float) -> None:
    filmed = Filmed()
    assert filmed.show(wall(), [(wrong, 0.0, 10.0, 10.0)], times=20) is None
    assert filmed.show(wall(), [(-1e30, -1e30, 1e30, 1e30)], times=20) is None


@pytest.mark.parametrize("first", [Fraction(-400), Fraction(1_760_000_000)])
def test_times_of_any_clock(first: Fraction) -> None:
    filmed = Filmed()
    filmed.time = first
    assert filmed.show(wall(), times=8) is None
    assert filmed.show(wall(), times=4) is not None


def test_a_picture_may_be_changed_after_it_was_published() -> None:
    filmed, picture = Filmed(), wall()
    filmed.show(picture, times=9)
    picture.y[:] = 0
    behind = filmed.show(wall(), times=1)
    assert behind is not None and np.array_equal(behind.y[:, :, 0], wall().y)


def test_what_is_known_of_the_warm_up_is_known_the_same_from_wherever_it_begins() -> None:
    def shown(first: int) -> Behind | None:
        background, behind = Background(), None
        for index in range(first, 130):
            picture, left = wall(), 10.0 + index
            picture.y[80:] += index // 40
            background.begin(picture, Fraction(index, 25))
            behind = background.behind(WHOLE)
            background.note(picture, [(left, 20.0, left + 40, 70.0)])
        return behind

    whole, again = shown(0), shown(130 - 75)
    assert whole is not None and again is not None
    known = again.known > 0
    assert known.mean() > 0.9 and (whole.known[known] > 0).all()
    pixels = np.kron(known, np.ones((2, 2))) > 0
    assert np.array_equal(whole.y[pixels], again.y[pixels])


def test_places_that_agree_by_chance_are_not_known() -> None:
    filmed = Filmed()
    for index in range(9):
        noise = wall()
        noise.y[:] += np.random.default_rng(index).integers(0, 40, noise.y.shape, dtype=np.uint8)
        noise.y[50:56, 70:76] = 100
        noise.y[80:110, 20:60] = 77
        behind = filmed.show(noise)
    assert behind is not None
    assert (behind.known[20:30, 30:40] == 0).all() and behind.known[43:52, 13:27].min() == 1


def test_pictures_of_odd_sides() -> None:
    background, picture = Background(), wall(size=(161, 121))
    for index in range(9):
        background.begin(picture, Fraction(index, 10))
        background.note(picture, [HEAD])
    behind = background.behind(patch(100, 60, 161, 121))
    assert behind is not None and np.array_equal(behind.y[:, :, 0], picture.y[60:, 100:])
    assert behind.known[20:, 20:].min() == 1


@pytest.mark.parametrize("same", [True, False])
def test_a_profile_that_comes_before_a_wall_shows_the_wall_before_its_nose(
    frame: PosedFrame, face: NewFace, same: bool
) -> None:
    """Unless the wall beside the region is another one by then."""
    pose = KeypointPose(80.0, 60.0, 40.0, np.radians(70.0), 0.0, 0.0)
    head = PosedHead(pose, face_ellipse((50.0, 30.0, 104.0, 90.0)))
    before, now, background = wall(), wall(), Background()
    if not same:
        now.y[:] = np.where(now.y < 120, now.y + 60, now.y - 60)
    for index in range(9):
        background.begin(before, Fraction(index, 10))
        background.note(before, [])

    def published(known: Background | None) -> Points:
        memory = PosedMemory()
        for _ in range(25):
            out = now.copy()
            assert render_posed_face(out, now, head, face, frame, memory, background=known) is not None
        return out.y.astype(float)

    again, blurred = published(background), published(None)
    differs = np.abs(again - blurred) > 10
    if same:
        away = [np.abs(one - before.y)[differs].mean() for one in (again, blurred)]
        assert differs.sum() > 60 and away[0] < 0.3 * away[1], (differs.sum(), away)
    else:
        assert not differs.any()
