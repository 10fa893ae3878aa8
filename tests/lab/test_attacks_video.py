"""A8, A10 and A14 on video: each measure sees what is planted and nothing where nothing is; and one clip end to end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Floats
from streamdeid.core.frames import Planes
from streamdeid.errors import InputError
from streamdeid.lab.attacks import averaged_frames, gaps, motion
from streamdeid.lab.attacks.averaged_frames import WHOLE, Aligned, Averages, aligned, nearness, points_of
from streamdeid.lab.attacks.filmed import Filmed, FilmedPair, Person, counterpart
from streamdeid.lab.attacks.gaps_chapter import gaps_chapter
from streamdeid.lab.attacks.video_chapters import averages_chapter, motion_chapter
from streamdeid.lab.evaluate_videos import video_chapters
from streamdeid.surrogates.gallery import Gallery
from tests import drawn_faces
from tests.synthetic_video import encode
from tests.talking_clip import talking_clip


def noise(seed: int, size: tuple[int, int] = (320, 320)) -> Planes:
    """A picture in which no two pixels belong together."""
    rng = np.random.default_rng(seed)
    width, height = size
    half = (height + 1) // 2, (width + 1) // 2
    u, v = rng.integers(0, 256, (2, *half), dtype=np.uint8)
    return Planes(rng.integers(0, 256, (height, width), dtype=np.uint8), u, v)


def box(frame: int, x0: float = 10, y0: float = 10, side: float = 60) -> gaps.Box:
    return gaps.Box(frame, x0, y0, x0 + side, y0 + side, 0.9)


def finding(frame: int, kept: bool, **place: float) -> gaps.Finding:
    return gaps.Finding(box(frame, **place), 0.0 if kept else 30.0, 0.0)


# --- A14 -------------------------------------------------------------------------------------------------------------


def test_a_box_is_kept_exactly_where_the_pixels_stay() -> None:
    original, replaced = noise(1), noise(2)
    half = original.copy()
    half.y[:, 160:] = replaced.y[:, 160:]
    boxes = [box(0), box(0, x0=200)]
    left, right = gaps.compared(original, half, original, boxes)
    assert left.kept and left.changed == 0
    assert not right.kept and right.ratio > 100
    # What encoding alone changes in this place is not the filter's work.
    assert all(each.kept for each in gaps.compared(original, half, replaced, boxes))


def test_measure_refuses_other_sizes_and_boxes_beyond_the_end() -> None:
    original = noise(1)
    assert len(gaps.measure([(original, original, original)] * 3, [box(0), box(2)])) == 2
    with pytest.raises(ValueError, match="frame 3"):
        gaps.measure([(original, original, original)] * 3, [box(0), box(3)])
    with pytest.raises(ValueError, match="size"):
        gaps.measure([(original, noise(1, (300, 320)), original)], [box(0)])
    assert gaps.measure([(original, original, original)], [box(0, x0=900)]) == []


def test_read_boxes_leaves_out_doubtful_and_tiny_ones(tmp_path: Path) -> None:
    path = tmp_path / "faces.csv"
    path.write_text("frame,x0,y0,x1,y1,score\n0,0,0,50,50,0.9\n10,0,0,50,50,0.4\n20,0,0,50,10,0.9\n30,0,0,20,20,0.5\n")
    boxes = gaps.read_boxes(path)
    assert [each.frame for each in boxes] == [0, 30]
    assert gaps.looked_at_every(boxes) == 30 and gaps.looked_at_every([box(1), box(4)]) == 1
    assert gaps.looked_at_every([]) == 1


def test_a_face_that_is_covered_late_is_found() -> None:
    clip = [finding(frame, frame < 3, x0=10 + 2 * frame) for frame in range(8)]
    elsewhere = [finding(frame, False, x0=200) for frame in range(8)]
    assert sorted(gaps.late_frames([*clip, *elsewhere])) == [0, 3]
    sampled = [finding(10 * each.box.frame, each.kept) for each in clip]
    assert gaps.late_frames(sampled, 10) == [30]
    # Never covered is kept, not late; and a face elsewhere is somebody else.
    assert gaps.late_frames([finding(frame, True) for frame in range(5)]) == []
    assert gaps.late_frames([finding(0, True), finding(1, False, x0=200)]) == [0]


@given(st.lists(st.booleans(), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_late_frames_are_the_kept_ones_just_before_a_covered_one(kept: list[bool]) -> None:
    late = gaps.late_frames([finding(frame, each) for frame, each in enumerate(kept)])
    runs = [len(run) for run in "".join("k" if each else "c" for each in kept).rstrip("k").split("c")]
    starts = [frame for frame, each in enumerate(kept) if not each and (frame == 0 or kept[frame - 1])]
    assert len(late) == len(starts)
    assert sum(late) == sum(runs)


def test_copied_pixels_are_told_from_equal_ones_and_by_zone(model: AppearanceModel) -> None:
    points = drawn_faces.pose_at(model, width=200.0).to_image(model.mean_shape, model.depth)
    original, other = noise(1), noise(2)
    shares = [gaps.beyond_chance(zone) for zone in gaps.differences(original, other, points)]
    assert all(abs(share) < 0.01 for share in shares)
    copied = [gaps.beyond_chance(zone) for zone in gaps.differences(original, original, points)]
    assert copied == [1.0, 1.0, 1.0] or np.isnan(copied[2])
    # Only what lies outside a smaller hull is left: that is the rim's business.
    smaller = points.mean(axis=0) + 0.9 * (points - points.mean(axis=0))
    rim = original.copy()
    inside = gaps.differences(original, original, smaller)[0, 3]
    low, high = smaller.min(axis=0).astype(int), smaller.max(axis=0).astype(int)
    rim.y[low[1] : high[1], low[0] : high[0]] = other.y[low[1] : high[1], low[0] : high[0]]
    zones = [gaps.beyond_chance(zone) for zone in gaps.differences(original, rim, points)]
    assert inside > 0 and zones[0] < 0.02 and zones[1] > 0.1
    assert np.isnan(gaps.beyond_chance(np.zeros(4, np.int64)))


def test_fine_detail_knows_its_original_and_passes_light_over(model: AppearanceModel) -> None:
    rng = np.random.default_rng(3)
    face = model.mean_texture + rng.normal(0, 8, (len(model.mean_texture), 1)).astype(np.float32)
    other = model.mean_texture + rng.normal(0, 8, (len(model.mean_texture), 1)).astype(np.float32)
    fine = gaps.fine_detail(face, model.table)
    columns = model.table.columns[:, None] / np.float32(model.table.size[0])
    lit = gaps.fine_detail((face * (0.6 + 0.6 * columns)).astype(np.float32), model.table)
    assert np.isnan(fine).any() and np.isfinite(fine).mean() > 0.5
    assert gaps.correlation(fine, lit) > 0.95
    assert gaps.correlation(fine, gaps.fine_detail(other, model.table)) < 0.5
    assert np.isnan(gaps.correlation(fine, np.zeros_like(fine)))


# --- A10 -------------------------------------------------------------------------------------------------------------


def moving(seed: int, *, rhythm: float, seconds: float = 12.0, rate: float = 25.0) -> motion.MotionSignals:
    """Somebody whose face moves with a rhythm of so many beats a second, in noise."""
    rng = np.random.default_rng(seed)
    times = np.arange(0, seconds, 1 / rate)
    phases = rng.uniform(0, 2 * np.pi, len(motion.SIGNALS))
    values = np.sin(2 * np.pi * rhythm * times[:, None] + phases) + rng.normal(0, 0.3, (len(times), len(phases)))
    return motion.MotionSignals(times, values)


def hits_of(people: Mapping[str, motion.MotionSignals], seconds: float) -> dict[str, NDArray[np.bool_]]:
    parts = {name: person.parts() for name, person in people.items()}
    return motion.trials({n: p[0] for n, p in parts.items()}, {n: p[1] for n, p in parts.items()}, seconds)


def test_people_who_move_differently_are_named_and_others_are_not() -> None:
    different = {str(i): moving(i, rhythm=0.5 + 0.7 * i) for i in range(4)}
    alike = {str(i): moving(i, rhythm=1.5) for i in range(4)}
    named, guessed = (np.mean([hits.mean() for hits in hits_of(people, 2.0).values()]) for people in (different, alike))
    assert named > 0.9
    assert guessed < 0.6


def test_a_frame_rate_or_an_offset_names_nobody() -> None:
    people = {str(i): moving(i, rhythm=0.5 + 0.7 * i, rate=rate) for i, rate in enumerate((25.0, 24.0, 30.0, 15.0))}
    before = hits_of(people, 1.0)
    moved = {name: motion.MotionSignals(each.seconds + 100, each.values + 50) for name, each in people.items()}
    after = hits_of(moved, 1.0)
    assert {name: hits.tolist() for name, hits in after.items()} == {
        name: hits.tolist() for name, hits in before.items()
    }


def test_short_and_broken_films_drop_out() -> None:
    people = {str(i): moving(i, rhythm=0.5 + 0.7 * i) for i in range(3)}
    people["short"] = moving(9, rhythm=1.0, seconds=2.0)
    assert set(hits_of(people, 1.0)) == {"0", "1", "2"}
    # 6.6 s are named: stretches of 1 s begin every 0.4 s, those of 5 s every 2.4 s.
    assert {len(hits) for hits in hits_of(people, 1.0).values()} == {15}
    assert {len(hits) for hits in hits_of(people, 5.0).values()} == {1}
    assert hits_of(people, 10.0) == {}
    whole = moving(0, rhythm=1.0)
    gap = (whole.seconds < 4) | (whole.seconds > 5)
    starts, _ = motion.described(motion.MotionSignals(whole.seconds[gap], whole.values[gap]))
    assert len(starts) and not ((starts > 3.05) & (starts < 4.95)).any()


def test_signals_follow_the_face_and_not_the_camera(model: AppearanceModel) -> None:
    shut, open_ = (drawn_faces.with_mouth(model.mean_shape, opening) for opening in (0.0, 0.5))
    pose = drawn_faces.pose_at(model)
    near = drawn_faces.pose_at(model, width=260.0, centre=(120.0, 90.0), yaw=0.3, roll=0.2)
    here, there = (motion.signals(each.to_image(shut, model.depth), model) for each in (pose, near))
    talking = motion.signals(pose.to_image(open_, model.depth), model)
    assert here.shape == (len(motion.SIGNALS),)
    assert np.abs(here[:8] - there[:8]).max() < 0.03
    assert talking[0] - here[0] > 0.1 and np.abs(talking[4:8] - here[4:8]).max() < 0.03
    assert there[8] - here[8] == pytest.approx(np.degrees(0.3), abs=4)


# --- A8 --------------------------------------------------------------------------------------------------------------


def face_of(vector: Floats) -> Aligned:
    return Aligned(np.zeros((81, 2)), np.tile(vector[:, None], 3).astype(np.float32))


def averaged(own: Floats, published: Floats, spread: float, frames: int, seed: int) -> Averages:
    """Frames of one person: what is published, the same share of the person in each, and noise."""
    rng = np.random.default_rng(seed)
    means = Averages(lambda face: {"plain": face.texture[:, 0].astype(np.float64)})
    for _ in range(frames):
        means.add(face_of(published + own + rng.normal(0, spread, len(own))))
    return means


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_averaging_uncovers_a_person_under_noise_and_nobody_else(share: float) -> None:
    rng = np.random.default_rng(5)
    people = {str(i): rng.normal(0, 1, 40) for i in range(10)}
    drawn = {name: rng.normal(0, 1, 40) for name in people}
    found = {}
    means = {
        name: averaged(share * own, (1 - share) * drawn[name], 6.0, 200, int(name)) for name, own in people.items()
    }
    for count in (1, 100, WHOLE):
        probes = {name: [each["plain"] for each in mean.of(count)] for name, mean in means.items()}
        found[count] = nearness(probes, people)
    one, many, every = (found[count] for count in (1, 100, WHOLE))
    assert abs(one.hits.mean() - 0.1) < 0.15
    if share:
        assert many.hits.mean() > 0.6 and every.relative.mean() < one.relative.mean() - 0.1
        assert every.ranks.mean() < one.ranks.mean()
    else:
        assert many.hits.mean() < 0.5 and abs(every.relative.mean() - 1.0) < 0.15


def test_averages_take_so_many_frames_and_no_more() -> None:
    means = averaged(np.zeros(4), np.ones(4), 0.0, 1005, 0)
    assert [len(means.of(count)) for count in averaged_frames.COUNTS] == [10, 10, 10, 1]
    assert len(means.of(WHOLE)) == 1 and means.frames == 1005
    assert np.allclose(means.of(1000)[0]["plain"], 1.0)
    assert Averages(lambda face: {}).of(WHOLE) == []


def test_nearness_leaves_out_who_was_not_measured() -> None:
    gallery = {"a": np.zeros(2), "b": np.ones(2), "c": np.array([5.0, 5.0])}
    found = nearness({"a": [np.zeros(2)], "c": [np.ones(2)]}, gallery)
    assert found.hits.tolist()[0] == 1.0 and found.hits.tolist()[2] == 0.0 and np.isnan(found.hits[1])
    assert found.ranks[0] == 1.0 and found.ranks[2] == 3.0 and found.relative[0] == 0.0


def test_an_aligned_face_forgets_place_size_and_turn(model: AppearanceModel) -> None:
    scenes = [
        drawn_faces.scene(model, model.mean_shape, model.mean_texture, drawn_faces.pose_at(model, **place))
        for place in ({"width": 150.0}, {"width": 170.0, "roll": 0.2, "yaw": 0.15})
    ]
    faces = [aligned(each.planes, points_of(each.face), model) for each in scenes]
    one, other = (averaged_frames.identity(each, model) for each in faces)
    somebody = drawn_faces.some_identity(model, 1)
    assert np.linalg.norm(one - other) < 0.5 * np.linalg.norm(somebody)
    shown: list[tuple[int, ...]] = []

    def recogniser(image: NDArray[np.uint8], points: Floats) -> Floats:
        shown.append(image.shape)
        assert points.shape == (68, 2) and points.min() > 0 and points.max() < max(image.shape[:2])
        return image.mean(axis=(0, 1), dtype=np.float64)

    assert averaged_frames.recognised(faces[0], model, recogniser).shape == (3,)
    assert shown[0][0] > model.frame_size[1] and shown[0][2] == 3


# --- together --------------------------------------------------------------------------------------------------------


def filmed(model: AppearanceModel, name: str, seed: int, *, copies: bool) -> Filmed:
    """A clip of 13 frames of one drawn person, published as he is or as somebody else."""
    own, drawn = (model.decode(drawn_faces.some_identity(model, number)) for number in (seed, seed + 100))
    clip = Filmed(name, 6.0, 1, [])
    person = Person((Averages(lambda face: {"model": averaged_frames.identity(face, model)}),) * 2)
    person.averages = (person.averages[0], Averages(person.averages[0].describe))
    clip.people[1] = person
    original = drawn_faces.scene(model, *own, drawn_faces.pose_at(model))
    published = original if copies else drawn_faces.scene(model, *drawn, drawn_faces.pose_at(model))
    twin = counterpart(original.face, [published.face])
    assert clip.findings is not None and twin is not None
    x0, y0, x1, y1 = original.face.box
    for index in range(13):
        clip.frames += 1
        person.add(FilmedPair(index / 6, original.planes, published.planes, original.face, twin), model)
        clip.findings += gaps.compared(
            original.planes, published.planes, original.planes, [gaps.Box(index, x0, y0, x1, y1, 0.9)]
        )
    return clip


@pytest.fixture(scope="module")
def clips(model: AppearanceModel) -> dict[bool, list[Filmed]]:
    """Four clips as a filter that works would leave them, and as one would that does nothing."""
    return {copies: [filmed(model, f"clip {i}", i, copies=copies) for i in range(4)] for copies in (False, True)}


def test_a_filter_that_does_nothing_fails_and_one_that_works_does_not(clips: dict[bool, list[Filmed]]) -> None:
    safe, bare = (gaps_chapter(clips[copies], None, []) for copies in (False, True))
    assert [verdict.met for verdict in safe.verdicts[:3]] == [True, True, True]
    assert not bare.verdicts[0].met and "10000.0 per 10,000 (52 of 52)" in bare.verdicts[0].measured
    assert not bare.verdicts[2].met and not bare.verdicts[3].met
    named = {copies: averages_chapter(clips[copies], "k-diff-furthest", [], "none") for copies in clips}
    rank_1 = {
        copies: [row[3] for row in named[copies].tables[0].rows if row[:2] == ("k-diff-furthest", "all")]
        for copies in clips
    }
    assert rank_1[True] == ["100.0 %"] and rank_1[False] != ["100.0 %"]


def test_too_few_people_is_said_and_no_figure_given(clips: dict[bool, list[Filmed]]) -> None:
    for chapter in (
        averages_chapter(clips[False][:3], "k-diff-furthest", [], "none"),
        motion_chapter(clips[False][:3]),
    ):
        assert chapter.text.startswith("Not run") and not chapter.tables and not chapter.verdicts
    chapter = motion_chapter(clips[False])
    assert len(chapter.tables) == 1 and "Not run: 0 of at least 4 people" in chapter.text
    assert "upper bound" in chapter.text


def test_the_main_person_is_seen_most_of_the_time(clips: dict[bool, list[Filmed]]) -> None:
    clip = clips[False][0]
    assert clip.main is clip.people[1] and clip.seen() == pytest.approx(13 / 6)
    assert Filmed("x", 25.0, 1, None, frames=121, people=clip.people).main is None
    assert Filmed("x", 25.0, 10, None, frames=121).looked_at == 13
    assert Filmed("x", 25.0, 1, None).main is None


def test_a_directory_of_clips_end_to_end(tmp_path: Path, fitting: FitModel, gallery: Gallery) -> None:
    clip = tmp_path / "talk.mp4"
    drawn = talking_clip(clip, fitting, gallery, seconds=0.4)
    corners = [(*one.truths[0].points.min(axis=0), *one.truths[0].points.max(axis=0)) for one in drawn]
    rows = [
        f"{one.frame.index},{x0:.1f},{y0:.1f},{x1:.1f},{y1:.1f},0.9"
        for one, (x0, y0, x1, y1) in zip(drawn, corners, strict=True)
    ]
    clip.with_suffix(".faces.csv").write_text("\n".join(["frame,x0,y0,x1,y1,score", *rows, "40,0,0,90,90,0.9"]))
    encode(tmp_path / "empty.mp4", frames=5, metadata={"title": "somebody's garden", "location": "+52.5+013.4/"})
    told: list[str] = []
    averages, moves, gap = video_chapters(tmp_path, quick=True, progress=told.append)
    assert averages.text.startswith("Not run: 1 of at least 4") and moves.text.startswith("Not run: 0 of")
    assert gap.verdicts[0].met and gap.verdicts[0].measured == f"0.0 per 10,000 (0 of {len(drawn)})"
    tags = next(table for table in gap.tables if table.title.startswith("Tags of empty.mp4"))
    assert ("title", "gone") in tags.rows and gap.verdicts[-1].met
    assert "garden" not in str(gap)
    assert any("k-diff-furthest-paper" in line for line in told)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.mp4", "talk.faces.csv", "talk.mp4"]
    with pytest.raises(InputError):
        video_chapters(tmp_path / "nothing")
