"""`benchmarks/looks/looks.py` reads what was done to a drawn face: a cast, a shade, a step, a blur, grain, a beard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from benchmarks.looks import edge_steps, face_pairs, feature_tones, looks, relief, sharpness, sheets, skin_looks
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Pixels
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Redaction
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import Models
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from tests.drawn_faces import Scene, pose_at, scene, some_identity

Edit = Callable[[Pixels, Any], Pixels]


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Scene:
    shape, texture = model.decode(some_identity(model, 3))
    return scene(model, shape, texture, pose_at(model))


@pytest.fixture(scope="module")
def grainy(drawn: Scene) -> Any:
    """The face as a pair, at its own size, with grain of three grey levels before and after."""
    whole = _pair(drawn)
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 3, whole.before.shape[:2]).astype(np.float32)[:, :, None]
    return replace(whole, before=whole.before + noise, after=whole.before + noise)


def _pair(drawn: Scene) -> Any:
    """The face cut out, as if the filter had changed all inside the mesh and nothing of what is seen there."""
    pair = face_pairs.cut((drawn.planes, drawn.planes), drawn.points, working=None)
    inside = face_pairs.filled(pair.changed.shape, pair.points[face_pairs.OUTLINE])
    return replace(pair, changed=inside)


def _edited(pair: Any, edit: Edit) -> Any:
    """The pair with an edit of what was published, inside what was changed."""
    after = np.where(pair.changed[:, :, None], edit(pair.before.copy(), pair), pair.before)
    return replace(pair, after=np.asarray(after, np.float32))


def test_the_same_face_differs_in_nothing(drawn: Scene) -> None:
    pair = _pair(drawn)
    found = skin_looks.skin_looks(pair)
    assert (found.colour, found.shading, found.level) == (0, 0, 0)
    steps = edge_steps.edge_steps(pair)
    assert set(steps) == set(edge_steps.SECTORS)
    assert all(step.luma[0] == step.luma[1] and step.added == 0 for step in steps.values())
    assert sharpness.sharpness(pair, skin_looks.plain_skin(pair)) == 1


@pytest.mark.parametrize(("depth", "size", "seen"), [(0.0, 0.02, False), (0.08, 0.02, True), (0.08, 0.25, False)])
def test_dirt_is_read_as_relief_and_neither_light_nor_nothing_is(
    drawn: Scene, depth: float, size: float, seen: bool
) -> None:
    pair = _pair(drawn)
    noise = np.random.default_rng(2).normal(0, 1, pair.before.shape[:2]).astype(np.float32)
    blotches = cv2.GaussianBlur(noise, (0, 0), size * pair.width)
    blotches = np.exp(depth * blotches / blotches.std())[:, :, None]
    ratio = relief.relief_ratio(*relief.relief(_edited(pair, lambda p, _: p * blotches), skin_looks.plain_skin(pair)))
    assert ratio > 1.3 if seen else ratio == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("name", feature_tones.FEATURES)
def test_the_tone_of_a_feature_is_read_beside_the_skin(drawn: Scene, name: str) -> None:
    pair = _pair(drawn)
    skin = skin_looks.plain_skin(pair)
    same = feature_tones.feature_tones(_edited(pair, lambda picture, _: 0.7 * picture), skin)
    assert {one: (tone.brightness, tone.saturation) for one, tone in same.items()} == {
        one: pytest.approx((1, 1), abs=0.02) for one in feature_tones.FEATURES
    }
    grey = pair.before.mean(axis=2, keepdims=True)
    mask = np.zeros(pair.before.shape[:2], np.uint8)
    for part in feature_tones.FEATURES[name]:
        cv2.fillConvexPoly(mask, cv2.convexHull(np.round(pair.points[part]).astype(np.int32)), (1,))
    mask = cv2.dilate(mask, np.ones((9, 9)))[:, :, None]
    pale = _edited(pair, lambda picture, _: picture + mask * (0.8 * (0.5 * grey + 0.5 * picture) - picture))
    found = feature_tones.feature_tones(pale, skin)[name]
    assert found.saturation == pytest.approx(0.5, abs=0.06) and found.brightness == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("gains", [(1.1, 1.0, 1.0), (1.0, 1.0, 0.85), (1.08, 0.97, 0.95)])
def test_a_cast_is_read_as_that_cast(drawn: Scene, gains: tuple[float, float, float]) -> None:
    pair = _edited(_pair(drawn), lambda picture, _: picture * np.float32(gains))
    found = skin_looks.skin_looks(pair)
    skin = skin_looks.plain_skin(pair)
    mean = pair.before[skin].mean(axis=0)
    luma = float(np.log((mean * gains) @ face_pairs.LUMA) - np.log(mean @ face_pairs.LUMA))
    expected = float(np.sqrt(np.mean((np.log(gains) - luma) ** 2)))
    assert found.colour == pytest.approx(expected, rel=0.06)
    assert found.level == pytest.approx(luma, abs=0.005)
    assert found.shading < 0.005


def test_a_lighter_face_has_another_level_and_the_same_colour_and_shading(drawn: Scene) -> None:
    found = skin_looks.skin_looks(_edited(_pair(drawn), lambda picture, _: picture * 1.1))
    assert found.level == pytest.approx(np.log(1.1), abs=0.005)
    assert found.colour < 0.003 and found.shading < 0.003


def test_light_from_the_side_is_read_as_its_spread(drawn: Scene) -> None:
    def lit(picture: Pixels, pair: Any) -> Pixels:
        x = (np.arange(picture.shape[1]) - pair.points[30, 0]) / pair.width
        return picture * np.exp(0.4 * x).astype(np.float32)[None, :, None]

    pair = _edited(_pair(drawn), lit)
    found = skin_looks.skin_looks(pair)
    across = np.nonzero(skin_looks.plain_skin(pair))[1] / pair.width
    assert found.shading == pytest.approx(0.4 * float(across.std()), rel=0.1)
    assert found.colour < 0.005


def test_what_is_no_skin_on_the_original_is_left_out_and_on_the_new_face_counts(drawn: Scene) -> None:
    plain = _pair(drawn)

    def bearded(picture: Pixels) -> Pixels:
        low = plain.points[33, 1] + 0.02 * plain.width
        picture = picture.copy()
        picture[int(low) :] *= 0.45
        return picture

    hidden = replace(plain, before=bearded(plain.before))
    own = skin_looks.plain_skin(hidden)
    below = np.arange(own.shape[0]) > plain.points[33, 1] + 0.06 * plain.width
    assert own[~below].any() and not own[below].any()
    assert skin_looks.skin_looks(hidden).shading < 0.04
    shown = replace(plain, after=bearded(plain.before))
    assert skin_looks.skin_looks(shown).shading > 0.2


def test_a_known_step_is_read_as_that_step(drawn: Scene) -> None:
    smooth = np.full_like(_pair(drawn).before, 120.0)
    plain = replace(_pair(drawn), before=smooth, after=smooth)
    for gain in (1.1, 0.9):
        found = edge_steps.edge_steps(_edited(plain, lambda picture, _, gain=gain: picture * gain))
        for name in edge_steps.SECTORS:
            before, after = found[name].luma
            assert before == pytest.approx(0, abs=1e-5)
            assert after == pytest.approx(abs(np.log(gain)), rel=0.05)
            assert found[name].colour[1] == pytest.approx(0, abs=1e-4)
            assert found[name].added == pytest.approx(abs(np.log(gain)), rel=0.05)


def test_a_step_at_the_chin_alone_is_the_chins(drawn: Scene) -> None:
    smooth = np.full_like(_pair(drawn).before, 120.0)
    plain = replace(_pair(drawn), before=smooth, after=smooth)

    def shadowed(picture: Pixels, pair: Any) -> Pixels:
        picture[int(pair.points[58, 1]) :] *= 0.8
        return picture

    found = edge_steps.edge_steps(_edited(plain, shadowed))
    assert found["chin"].luma[1] > 0.15
    assert found["forehead"].luma[1] < 0.01


def test_a_step_that_the_original_has_is_no_seam_and_small_ones_are_under_the_floor() -> None:
    step = edge_steps.EdgeStep
    steep = {name: step((0.3, 0.3), (0.05, 0.05), 0.0) for name in edge_steps.SECTORS}
    row = looks.edge_row([steep])
    assert row["edge chin"] == 1 and row["seam"] == 0
    faint = {"chin": step((0.001, 0.019), (0.0, 0.0), 0.01)}
    row = looks.edge_row([faint])
    assert row["edge chin"] == 1 and row["edge forehead"] is None
    plain = {"chin": step((0.01, 0.06), (0.0, 0.0), 0.06)}
    assert looks.edge_row([plain])["edge chin"] == pytest.approx(0.06 / looks.EDGE_FLOOR)


def test_the_rim_in_another_cover_is_left_out(drawn: Scene) -> None:
    pair = _pair(drawn)
    foreign = np.zeros_like(pair.changed)
    foreign[: int(pair.points[30, 1])] = True
    found = edge_steps.edge_steps(replace(pair, foreign=foreign))
    assert "forehead" not in found and "chin" in found
    skin = skin_looks.plain_skin(replace(pair, foreign=foreign))
    assert not (skin & foreign).any()


def test_a_blur_reads_as_softer_the_more_the_wider_and_grain_as_grain(grainy: Any) -> None:
    skin = skin_looks.plain_skin(grainy)

    def blurred(sigma: float) -> float:
        pair = replace(grainy, after=cv2.GaussianBlur(grainy.before, (0, 0), sigma))
        return float(sharpness.sharpness(pair, skin))

    values = [blurred(sigma) for sigma in (0.8, 1.5, 3.0)]
    assert 0.95 > values[0] > values[1] > values[2]
    before, after = sharpness.grain(replace(grainy, after=grainy.before * 0.5), skin)
    assert after == pytest.approx(0.5 * before, rel=0.01)
    assert before == pytest.approx(3 * _of_noise(1.0), rel=0.25)
    assert sharpness.grain_ratio(before, 0.0) < 0.2 and sharpness.grain_ratio(0.0, 0.0) == 1


def _of_noise(sigma: float) -> float:
    """What noise of deviation 1 has left when its blur is taken off."""
    noise = np.random.default_rng(0).normal(0, 1, (400, 400)).astype(np.float32)
    return float((noise - cv2.GaussianBlur(noise, (0, 0), sigma)).std())


def test_the_blur_of_a_known_pattern_is_read_as_a_ratio(drawn: Scene) -> None:
    """For white noise the energies of the bands are known from the blurs' widths alone."""
    plain = _pair(drawn)
    rng = np.random.default_rng(2)
    noise = np.repeat(rng.normal(120, 20, plain.before.shape[:2])[:, :, None], 3, axis=2).astype(np.float32)
    skin = np.zeros_like(plain.changed)  # nowhere to measure grain: all of it counts as detail
    soft = cv2.GaussianBlur(noise, (0, 0), 1.5)
    got = sharpness.sharpness(replace(plain, before=noise, after=soft), skin)
    scale = max(1.0, 0.006 * plain.width)
    fine = [_band(s, 0.0, scale) for s in (0.0, 1.5)]
    middle = [_band(s, 2 * scale, 6 * scale) for s in (0.0, 1.5)]
    assert got == pytest.approx(np.sqrt(fine[1] / fine[0] * middle[0] / middle[1]), rel=0.15)


def _band(blur: float, low: float, high: float) -> float:
    """Energy of white noise, blurred, between two Gaussian blurs; by its spectrum."""
    f = np.fft.fftfreq(256) * 2 * np.pi
    square = f[:, None] ** 2 + f[None] ** 2
    gain = np.exp(-square * blur**2 / 2) * (np.exp(-square * low**2 / 2) - np.exp(-square * high**2 / 2))
    return float((gain**2).mean())


def test_grain_does_not_pass_for_sharpness(grainy: Any) -> None:
    skin = skin_looks.plain_skin(grainy)
    rng = np.random.default_rng(4)
    noise = rng.normal(0, 2, grainy.before.shape[:2]).astype(np.float32)[:, :, None]
    noisier = replace(grainy, after=grainy.before + noise)
    assert sharpness.sharpness(noisier, skin) == pytest.approx(1, abs=0.12)
    before, after = sharpness.grain(noisier, skin)
    assert after > 1.1 * before


def test_a_cut_marks_what_was_changed_and_other_covers(drawn: Scene) -> None:
    after = drawn.planes.copy()
    x, y = (2 * (int(v) // 2) for v in drawn.points[30])
    after.y[y : y + 20, x : x + 20] ^= 1
    after.u[y // 2 - 10 : y // 2 - 5, x // 2 : x // 2 + 5] ^= 1
    other = (float(x) + 20, float(y), float(x) + 40, float(y) + 10)
    pair = face_pairs.cut((drawn.planes, after), drawn.points, [other], working=None)
    left, top = drawn.points[0] - pair.points[0]
    where = np.argwhere(pair.changed) + np.round([top, left]).astype(int)
    luma = {(r, c) for r in range(y, y + 20) for c in range(x, x + 20)}
    chroma = {(r, c) for r in range(y - 20, y - 10) for c in range(x, x + 10)}
    assert {(int(r), int(c)) for r, c in where} == luma | chroma
    assert pair.foreign.sum() == 200
    small = face_pairs.cut((drawn.planes, after), drawn.points, working=40.0)
    assert small.width == pytest.approx(40.0)
    gone = drawn.points + np.array([250.0, 0.0])
    assert face_pairs.cut((drawn.planes, after), gone) is None


def _filmed(drawn: Scene, level: str, index: int, person: int = 1) -> tuple[Frame, DeidentifiedFrame, list[Track]]:
    x0, y0, x1, y1 = drawn.face.box
    darker = drawn.planes.copy()
    darker.y[int(y0) : int(y1), int(x0) : int(x1)] //= 2
    original = Frame(drawn.planes, Fraction(index, 25), index)
    redaction = Redaction(7, drawn.face.box, level, person)
    published = DeidentifiedFrame(darker, original.time, index, (redaction,))
    return original, published, [Track(7, drawn.face.box, drawn.face, 0, False)]


def test_faces_are_counted_by_their_level_and_only_own_ones_measured(
    drawn: Scene, fitting: FitModel, gallery: Gallery
) -> None:
    looking = looks.Looking(Models(fitting, gallery), 10, None)
    for index, level in enumerate(["own face"] * 21 + ["posed face"] * 10 + ["soft redaction"] * 9):
        looking.frame(*_filmed(drawn, level, index), [drawn.face])
    row = looking.measured.row()
    assert row["faces"] == 40
    assert (row["own"], row["posed"], row["other"]) == (21 / 40, 10 / 40, 9 / 40)
    assert row["measured"] == 3  # frames 0, 10 and 20
    assert row["level"] == pytest.approx(np.log(0.5), abs=0.15)
    assert len(looking.measured.people[7].output) == 21


def test_correlations_need_frames_and_follow_the_landmarks(drawn: Scene, fitting: FitModel, gallery: Gallery) -> None:
    looking = looks.Looking(Models(fitting, gallery), 10, None)
    assert drawn.face.landmarks is not None and drawn.face.iris is not None
    for index in range(40):
        swing = np.sin(index / 3)
        wide = drawn.face.landmarks.copy()
        wide[[48, 54], 0] += [-4 * swing, 4 * swing]
        iris = drawn.face.iris + np.array([2 * swing, 0])
        face = replace(drawn.face, landmarks=wide, iris=iris)
        original, published, (track,) = _filmed(drawn, "own face", index)
        against = replace(face, iris=drawn.face.iris - np.array([swing, 0]))
        looking.frame(original, published, [replace(track, face=face)], [against])
    row = looking.measured.row()
    assert row["mouth width"] == pytest.approx(1, abs=1e-6)
    assert row["gaze across"] == pytest.approx(-1, abs=1e-6)
    assert row["gaze across, spread"] == pytest.approx(0.5, rel=1e-6)


def test_the_median_clip_and_its_bars() -> None:
    rows = [{"clip": str(i), "colour": c, "shading": 0.04, "CPU s": 1.0} for i, c in enumerate((0.01, 0.03, 0.05))]
    middle = looks.median_row(rows)
    assert middle == {"clip": "median", "colour": 0.03, "shading": 0.04}
    whole = dict.fromkeys(looks.BARS, 1.0) | middle
    assert looks.missed(whole) == ["colour"]
    assert looks.missed(whole | {"colour": 0.02, "sharpness": 0.79}) == ["sharpness"]
    assert looks.missed(whole | {"colour": None, "edge chin": 1.31}) == ["edge chin"]


def test_a_sheet_shows_the_three_largest_people_twice_as_large(drawn: Scene, tmp_path: Path) -> None:
    sheet = sheets.Sheet()
    assert not sheet.write(tmp_path / "none.png")
    darker = replace(drawn.planes, y=drawn.planes.y // 2)
    for person, side in ((1, 20.0), (2, 50.0), (3, 60.0), (4, 90.0)):
        for index in range(9):
            box = (100.0, 100.0, 100.0 + side, 100.0 + side)
            sheet.note(index, person, "own face", box, (drawn.planes, darker))
    assert sheet.write(tmp_path / "sheet.png")
    picture = cv2.imread(str(tmp_path / "sheet.png"))
    sides = [round(2 * 1.7 * side) for side in (90, 60, 50)]
    assert picture.shape[1] == pytest.approx(5 * (sides[0] + 4) + 4, abs=2)
    assert picture.shape[0] == pytest.approx(sum(2 * (side + 4) + 4 + 18 for side in sides), abs=4)
    above, below = (picture[y : y + sides[0], 4 : 4 + sides[0]].mean() for y in (4, sides[0] + 8))
    assert below < 0.7 * above


def test_a_clip_through_the_filter_gives_a_row_and_a_sheet(fitting: FitModel, gallery: Gallery, tmp_path: Path) -> None:
    drawn = synthetic_people(fitting, gallery, people=1, seconds=1.4, size=(320, 240))
    video = tmp_path / "talk.mp4"
    write_drawn_clip(video, (one.frame.planes for one in drawn), 25)
    row = looks.measure(video, Models(fitting, gallery), 30, 10, tmp_path)
    assert row["clip"] == "talk" and row["faces"] == 30 and row["own"] == 1
    assert row["measured"] == 3 and 0 < row["colour"] < 0.2 and 0 < row["shading"] < 0.3
    assert 0.2 < row["flicker"] < 3 and row["mouth width"] <= 1
    assert (tmp_path / "talk.png").stat().st_size > 10_000
