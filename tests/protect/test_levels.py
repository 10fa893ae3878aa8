"""Protection levels: what speaks against a face, what a known one is shown as, and steps down at once, up slowly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Keypoints, Track
from streamdeid.core.frames import Frame
from streamdeid.lab.published_pictures import TrackRegister
from streamdeid.observe.observation import Observation, Observer
from streamdeid.observe.signals import Signals
from streamdeid.protect.levels import (
    Cause,
    Level,
    Steps,
    as_rendered,
    recognisable,
    severities,
    shows_a_face,
    turned_away,
    unblemished,
)
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import settled
from streamdeid.protect.replace_faces import ReplaceFaces
from tests.drawn_faces import Scene, pose_at, scene, some_identity, with_mouth

Areas = NDArray[np.float64]
_STEP = 0.04


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Scene:
    shape, texture = model.decode(some_identity(model, 4))
    return scene(model, shape, texture, pose_at(model))


@pytest.fixture(scope="module")
def seen(fitting: FitModel, drawn: Scene) -> Observation:
    return observed(Observer(fitting), drawn, drawn.rgb)


@pytest.fixture(scope="module")
def areas(model: AppearanceModel) -> Areas:
    return np.full(len(model.triangles), 1 / len(model.triangles))


def observed(observe: Observer, drawn: Scene, rgb: NDArray[np.uint8], time: float = 0.0) -> Observation:
    """Another picture at the drawn face's landmarks."""
    found = observe(planes_from_rgb(np.ascontiguousarray(rgb)), drawn.face, time)
    assert found is not None
    return found


def over_chin(drawn: Scene, colour: tuple[int, int, int], share: float) -> NDArray[np.uint8]:
    """The picture with a plain cover over the lower part of the face."""
    (x0, y0), (x1, y1) = drawn.points.min(axis=0).astype(int), drawn.points.max(axis=0).astype(int)
    rgb = drawn.rgb.copy()
    rgb[y1 - int(share * (y1 - y0)) : y1 + 10, x0:x1] = colour
    return rgb


def holding(found: Observation, areas: Areas) -> set[Cause]:
    return {cause for cause, severity in severities(found, areas).items() if severity > 1}


def test_nothing_speaks_against_a_plain_face(seen: Observation, areas: Areas) -> None:
    assert unblemished(severities(seen, areas)) and recognisable(seen, areas) and not turned_away(seen)
    assert max(severities(seen, areas).values()) < 0.8


@pytest.mark.parametrize("angles", [{"yaw": 1.2}, {"yaw": -1.2}, {"pitch": 1.1}, {"pitch": -1.1}])
def test_its_turn_speaks_against_a_strongly_turned_one(
    model: AppearanceModel, seen: Observation, areas: Areas, angles: dict[str, float]
) -> None:
    turned = replace(seen, pose=pose_at(model, 150, (160.0, 165.0), **angles))
    assert holding(turned, areas) == {Cause.TURNED}
    assert not unblemished(severities(turned, areas)) and not recognisable(turned, areas) and turned_away(turned)


def test_a_turned_head_is_shown_as_long_as_its_pose_is_known(model: AppearanceModel, seen: Observation) -> None:
    for yaw, away in ((0.0, False), (0.9, False), (1.0, True), (1.2, True), (np.nan, True)):
        pose = pose_at(model, 150, (160.0, 165.0), yaw=0.0 if np.isnan(yaw) else yaw)
        if np.isnan(yaw):
            pose = replace(pose, rotation=np.full((3, 3), np.nan))
        assert turned_away(replace(seen, pose=pose)) == away


def test_nor_one_that_was_not_fitted(seen: Observation, areas: Areas) -> None:
    assert holding(replace(seen, fit=replace(seen.fit, converged=False)), areas) == {Cause.POOR_FIT}
    assert holding(replace(seen, fit=replace(seen.fit, residual=0.75)), areas) == {Cause.POOR_FIT}


def test_nor_a_tiny_one(seen: Observation, areas: Areas) -> None:
    centre = seen.points.mean(axis=0)
    tiny = replace(seen, points=centre + (seen.points - centre) * (12 / seen.width))
    assert holding(tiny, areas) == {Cause.SMALL}


def test_nor_one_whose_triangles_fit_badly(seen: Observation, areas: Areas) -> None:
    """A third of the mesh that fits badly is an occlusion, a twentieth is not."""
    for share, causes in ((0.33, {Cause.OCCLUDED}), (0.05, set())):
        residual = np.full(len(areas), 0.5)
        residual[: int(share * len(areas))] = 50.0
        assert holding(replace(seen, fit=replace(seen.fit, triangle_residual=residual)), areas) == causes


@pytest.mark.parametrize("signals", [{"odd": 0.2}, {"changed": 0.2}, {"strain": 0.2}])
def test_signs_of_a_cover_say_nothing_against_who_it_is(
    seen: Observation, areas: Areas, signals: dict[str, float]
) -> None:
    """Side light, a smile, a turn of the head make the same signs. A part that fits badly does say something."""
    found = replace(seen, signals=replace(seen.signals, **signals))
    assert holding(found, areas) == {Cause.OCCLUDED}
    assert recognisable(found, areas) and not unblemished(severities(found, areas))
    assert Steps()(severities(found, areas)) is None
    residual = np.where(np.arange(len(areas)) < 0.35 * len(areas), 50.0, 0.5)
    assert not recognisable(replace(seen, fit=replace(seen.fit, triangle_residual=residual)), areas)


def test_blurred_and_occluded_faces_of_known_people_are_rendered_whole(seen: Observation, areas: Areas) -> None:
    soft = replace(seen, signals=replace(seen.signals, sharpness=0.1))
    assert holding(soft, areas) == {Cause.BLURRED} and not recognisable(soft, areas)
    assert Steps()(severities(soft, areas)) is None


@pytest.mark.parametrize(
    ("evidence", "presence", "residual", "face"),
    [
        (0.8, 0.9, 0.5, True),
        (0.8, 0.9, 0.8, True),
        (0.8, 0.9, 0.9, False),
        (0.45, 0.9, 0.5, False),
        (0.8, 0.4, 0.5, False),
    ],
)
def test_a_hand_is_nobody(
    seen: Observation, drawn: Scene, evidence: float, presence: float, residual: float, face: bool
) -> None:
    found = replace(seen, fit=replace(seen.fit, residual=residual))
    assert shows_a_face(found, replace(drawn.face, evidence=evidence, presence=presence)) == face


@pytest.mark.parametrize(
    ("size", "shift", "good"),
    [
        (1.0, 0.0, True),
        (0.93, 0.0, True),
        (0.9, 0.12, False),
        (1.0, 0.2, False),
        (1.0, -0.2, False),
        (1.0, 0.33, False),
        (0.44, 0.0, False),
    ],
)
def test_landmarks_that_are_beside_the_face_are_doubted_and_the_whole_box_is_covered(
    fitting: FitModel, drawn: Scene, areas: Areas, size: float, shift: float, good: bool
) -> None:
    assert drawn.face.landmarks is not None and drawn.face.forehead is not None
    middle, down = drawn.points.mean(axis=0), np.array([0.0, shift * drawn.face.height])
    astray = replace(
        drawn.face,
        landmarks=middle + (drawn.face.landmarks - middle) * size + down,
        forehead=middle + (drawn.face.forehead - middle) * size + down,
        iris=None,
        depth=None,
    )
    choice = _Nobody(len(fitting.model.variances))
    filter = ReplaceFaces(fitting, choice, TrackRegister(set()))
    frame = Frame(drawn.planes, Fraction(0), 0)
    tracks = [Track(1, drawn.face.box, astray, 0, False)]
    pending = PendingFrame(frame, tracks, None)
    filter.observe(pending, [pending])
    assert filter.allows(pending, tracks[0]) == good
    filter.settle([pending])
    done = filter.render(pending, settled(filter, [pending], tracks))
    if good:
        assert [redaction.level for redaction in done.redactions] == [Level.OWN_FACE.label]
    else:
        x0, y0, x1, y1 = (int(side) for side in np.round(drawn.face.box))
        same = done.planes.y[y0:y1, x0:x1] == drawn.planes.y[y0:y1, x0:x1]
        assert done.redactions[0].level in (Level.POSED.label, Level.SOFT.label) and same.mean() < 0.05


@pytest.mark.parametrize(("size", "good"), [(1.0, True), (0.85, True), (0.6, False)])
def test_landmarks_near_the_second_networks_points_have_to_be_as_large_as_its_face(
    seen: Observation, areas: Areas, size: float, good: bool
) -> None:
    """Half a mesh on the eyes and the nose of a face lies near enough to five points."""
    (x0, y0), (x1, y1) = seen.raw.min(axis=0), seen.raw.max(axis=0)
    face = Keypoints((x0, y0, x1, y1), np.zeros((5, 2)), 0.9)
    middle = seen.raw.mean(axis=0)
    smaller = replace(seen, apart=0.1, side=face.side_of(middle + size * (seen.raw - middle)))
    assert smaller.side == pytest.approx(size)
    assert (severities(smaller, areas)[Cause.ASTRAY] <= 1) == good


class _Nobody:
    """Gives everybody the mean face."""

    def __init__(self, length: int) -> None:
        self.vector, self.beard = np.zeros(length), True

    def surrogate(self, person: int, y: Areas) -> _Nobody:
        return self


def test_what_is_no_number_is_never_good(seen: Observation, areas: Areas) -> None:
    for signals in (Signals(np.nan, 0, 0, 0), Signals(1.2, np.nan, 0, 0), Signals(1.2, 0, np.nan, 0)):
        assert not unblemished(severities(replace(seen, signals=signals), areas))
    assert Steps()(severities(replace(seen, fit=replace(seen.fit, residual=np.nan)), areas)) is Cause.POOR_FIT


@pytest.mark.parametrize("colour", [(240, 238, 235), (25, 25, 30), (60, 90, 170)])
def test_a_cover_that_comes_before_a_face_is_noticed_and_let_go(
    fitting: FitModel, drawn: Scene, areas: Areas, colour: tuple[int, int, int]
) -> None:
    """A cup: white, black or blue, without any texture, over a third of the face."""
    observe = Observer(fitting)
    for i in range(3):
        assert Cause.OCCLUDED not in holding(observed(observe, drawn, drawn.rgb, i * _STEP), areas)
    for i in range(3, 28):  # it stays for a second
        hidden = observed(observe, drawn, over_chin(drawn, colour, 0.4), i * _STEP)
        assert hidden.signals.changed > 0.15
        assert Cause.OCCLUDED in holding(hidden, areas)
    after = [holding(observed(observe, drawn, drawn.rgb, i * _STEP), areas) for i in range(28, 40)]
    assert Cause.OCCLUDED not in after[-1]


def test_a_coloured_cover_is_noticed_in_the_first_frame(fitting: FitModel, drawn: Scene, areas: Areas) -> None:
    hidden = observed(Observer(fitting), drawn, over_chin(drawn, (60, 90, 170), 0.4))
    assert hidden.signals.odd > 0.15 and not unblemished(severities(hidden, areas))


def test_a_patterned_cover_is_noticed(fitting: FitModel, drawn: Scene, areas: Areas) -> None:
    rgb = over_chin(drawn, (0, 0, 0), 0.5)
    dark = (rgb == 0).all(axis=2)
    rgb[dark] = np.random.default_rng(1).integers(0, 255, (int(dark.sum()), 3))
    assert not unblemished(severities(observed(Observer(fitting), drawn, rgb), areas))


def test_talking_and_a_lamp_are_no_cover(model: AppearanceModel, fitting: FitModel, areas: Areas) -> None:
    shape, texture = model.decode(some_identity(model, 4))
    observe = Observer(fitting)
    across = np.linspace(1.0, 1.0, 320)[None, :, None]
    for i in range(40):
        made = scene(model, with_mouth(shape, 0.4 * (i % 5) / 4), texture, pose_at(model))
        if i >= 20:  # a lamp from one side comes on within half a second
            across = np.linspace(1.0, 1.0 + 0.35 * min(1.0, (i - 20) / 12), 320)[None, :, None]
        lit = np.clip(made.rgb * across, 0, 255).astype(np.uint8)
        found = severities(observed(observe, made, lit, i * _STEP), areas)
        assert max(found.values()) < 0.9, (i, found)


@pytest.mark.parametrize("width", [150.0, 60.0, 36.0])
def test_a_blurred_face_is_noticed_at_any_size(
    model: AppearanceModel, fitting: FitModel, areas: Areas, width: float
) -> None:
    shape, texture = model.decode(some_identity(model, 4))
    made = scene(model, shape, texture, pose_at(model, width))
    sharp = made.rgb.astype(np.float32)
    sharp += np.random.default_rng(2).normal(0, 4, sharp.shape).astype(np.float32)  # skin, which the model smooths away
    rgb = np.clip(sharp, 0, 255).astype(np.uint8)
    assert Cause.BLURRED not in holding(observed(Observer(fitting), made, rgb), areas)
    soft = np.asarray(cv2.GaussianBlur(rgb, (0, 0), 0.045 * width), np.uint8)
    assert Cause.BLURRED in holding(observed(Observer(fitting), made, soft), areas)


def test_motion_blurs_one_direction_and_that_is_enough(fitting: FitModel, drawn: Scene) -> None:
    rgb = np.clip(drawn.rgb + np.random.default_rng(2).normal(0, 4, drawn.rgb.shape), 0, 255).astype(np.uint8)
    kernel = np.zeros((31, 31), np.float32)
    kernel[15, :] = 1 / 31
    smeared = np.asarray(cv2.filter2D(rgb, -1, kernel), np.uint8)
    sharp, blurred = (observed(Observer(fitting), drawn, picture).signals.sharpness for picture in (rgb, smeared))
    assert blurred < 0.65 * sharp


GOOD = {Cause.SMALL: 0.3, Cause.TURNED: 0.3}


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3)), min_size=1, max_size=60))
def test_a_face_never_gets_better_than_it_deserves(frames: list[tuple[float, float]]) -> None:
    steps = Steps()
    for small, turned in frames:
        cause = steps({Cause.SMALL: small, Cause.TURNED: turned})
        if max(small, turned) > 1:
            assert cause is not None


def test_down_at_once_up_after_a_while() -> None:
    steps = Steps()
    assert steps(GOOD) is None
    assert steps({**GOOD, Cause.TURNED: 1.2}) is Cause.TURNED
    got = [steps(GOOD) for _ in range(12)]
    assert got[:4] == [Cause.TURNED] * 4 and got[4:] == [None] * 8, "once up, it stays up"


def test_a_relapse_starts_the_wait_anew() -> None:
    steps = Steps()
    steps({**GOOD, Cause.SMALL: 1.2})
    for _ in range(4):
        for _ in range(3):
            assert steps(GOOD) is Cause.SMALL
        assert steps({**GOOD, Cause.SMALL: 1.2}) is Cause.SMALL


def test_a_signal_that_wavers_about_its_threshold_does_not_flicker() -> None:
    steps = Steps()
    steps(GOOD)
    wavering = [steps({**GOOD, Cause.SMALL: 0.92 if i % 10 else 1.08}) for i in range(40)]
    assert wavering == [Cause.SMALL] * 40
    assert [steps({**GOOD, Cause.SMALL: 0.8}) for _ in range(10)][-1] is None


@pytest.mark.parametrize(("small", "frames"), [(0.41, 5), (0.42, 9)])
def test_a_face_too_small_to_know_anybody_by_waits_longer(small: float, frames: int) -> None:
    steps, good = Steps(), {**GOOD, Cause.SMALL: small}
    assert steps({**good, Cause.TURNED: 1.2}) is Cause.TURNED
    got = [steps(good) for _ in range(12)]
    assert got == [Cause.TURNED] * (frames - 1) + [None] * (13 - frames)


def test_a_face_is_rendered_on_landmarks_too_small_to_know_anybody_by(seen: Observation, areas: Areas) -> None:
    centre = seen.points.mean(axis=0)
    for width, known, shown in ((25, True, True), (23, False, True), (11, False, True), (9, False, False)):
        one = replace(seen, points=centre + (seen.points - centre) * (width / seen.width))
        found = severities(one, areas)
        assert (found[Cause.SMALL] <= 1) == known and (as_rendered(found, one)[Cause.SMALL] <= 1) == shown


def test_the_gravest_cause_is_named() -> None:
    steps = Steps()
    assert steps({Cause.SMALL: 1.1, Cause.TURNED: 1.5}) is Cause.TURNED
    assert steps({Cause.POOR_FIT: np.inf, Cause.SMALL: 1.1}) is Cause.POOR_FIT


def test_levels_are_ordered_from_best_to_safest() -> None:
    assert Level.OWN_FACE < Level.POSED < Level.SOFT < Level.SOLID
    assert [level.label for level in Level] == ["own face", "posed face", "soft redaction", "solid", "mask"]


def test_the_own_face_begins_only_where_the_next_frames_keep_it() -> None:
    fine, bad = {Cause.TURNED: 0.5, Cause.OCCLUDED: 3.0}, {Cause.TURNED: 1.2}
    assert Steps()(fine, [fine] * 4) is None
    assert Steps()(fine, [fine, fine, fine, fine, bad]) is None, "as many count as frames that are behind"
    assert Steps()(fine, [fine, bad]) is Cause.TURNED
    assert Steps()(fine, [fine, None]) is Cause.NO_LANDMARKS
    steps = Steps()
    said = [steps(bad)] + [steps(fine, [bad]) for _ in range(8)] + [steps(fine, [fine])]
    assert said == [Cause.TURNED] * 9 + [None]
    assert steps(fine, [bad]) is None, "once it is shown it is until a rule holds"


def test_landmarks_that_jump_are_in_doubt_and_nobody_is_known_by_them(seen: Observation, areas: Areas) -> None:
    for swing, believed in ((0.59, True), (0.61, False), (np.nan, False)):
        jumping = replace(seen, swing=swing)
        assert (Steps()(severities(jumping, areas)) is None) == believed
        assert recognisable(jumping, areas) == believed
    small = replace(seen, swing=1.0, points=seen.points * (12 / seen.width))
    assert severities(small, areas)[Cause.UNSTEADY] == pytest.approx(1.0 / 0.6 / 2), "it moves half as many pixels"


def test_a_known_face_is_posed_before_its_landmarks_are_seen_to_jump() -> None:
    """To and fro is known only after the first swing: without that a frame of it was shown."""
    steps = Steps()
    assert steps(GOOD) is None
    assert steps(GOOD, jumps_soon=True) is Cause.UNSTEADY
    assert [steps(GOOD) for _ in range(4)] == [Cause.UNSTEADY] * 4
    assert steps(GOOD) is None
    assert steps({**GOOD, Cause.TURNED: 1.2}) is Cause.TURNED
    assert steps(GOOD, jumps_soon=True) is Cause.TURNED, "why it was posed is not another reason now"
    assert Steps()(GOOD, jumps_soon=True) is Cause.UNSTEADY
