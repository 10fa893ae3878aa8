"""`faces` counts what was made up by hand: who shows a new face, what of the original is left, what changes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.processes import of_version
from benchmarks.recall import faces, published_clip, recall, truth
from benchmarks.recall.published_clip import Cover, Published, filtered_clip, published
from benchmarks.recall.shown_faces import (
    OWN,
    POSED,
    Counts,
    by_size,
    correlation,
    count,
    finds,
    follow,
    kept_in_ellipse,
    total,
)
from streamdeid.aam.fit import FitModel
from streamdeid.core.frames import Planes
from streamdeid.lab.attacks.gaps import Box
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip

SOFT = "soft redaction"
FACE = Box(0, 40.0, 40.0, 80.0, 90.0, 1.0)
NOTHING: NDArray[np.float64] = np.empty((0, 4))
THERE = np.array([FACE.corners])


def noise(seed: int = 0) -> Planes:
    """A picture, 200 x 120."""
    rng = np.random.default_rng(seed)
    y, u, v = (rng.integers(0, 255, size).astype(np.uint8) for size in ((120, 200), (60, 100), (60, 100)))
    return Planes(y, u, v)


def covered(box: tuple[float, float, float, float], by: Planes) -> Planes:
    """The picture of `noise` with a part of another one."""
    out = noise()
    x0, y0, x1, y1 = map(int, box)
    for plane, other, scale in ((out.y, by.y, 1), (out.u, by.u, 2), (out.v, by.v, 2)):
        place = slice(y0 // scale, y1 // scale), slice(x0 // scale, x1 // scale)
        plane[place] = other[place]
    return out


def cover(level: str, track: int = 1, surrogate: int = 7, box: tuple[float, ...] = FACE.corners) -> Cover:
    x0, y0, x1, y1 = box
    return Cover(track, (x0, y0, x1, y1), level, 0 if level == SOFT else surrogate)


def counted(covers: list[Cover], output: Planes, seen: NDArray[np.float64] = THERE) -> tuple[Counts, list[str]]:
    counts = Counts("clip")
    poor = count(counts, [truth.Head(FACE, "frontal", True)], (noise(), output), covers, (THERE, seen))
    return counts, [why for why, _ in poor]


NEW = covered((30, 30, 90, 100), noise(1))


@pytest.mark.parametrize(
    ("levels", "own", "posed", "doubled"),
    [([OWN], 1, 0, 0), ([POSED], 0, 1, 0), ([SOFT], 0, 0, 0), (["own face quiet"], 0, 0, 0), ([POSED, OWN], 1, 0, 1)],
)
def test_a_face_is_shown_by_the_own_or_a_posed_face(levels: list[str], own: int, posed: int, doubled: int) -> None:
    counts, poor = counted([cover(level) for level in levels], NEW)
    found = counts.of()
    assert (found["own"], found["posed"], counts.doubled) == (own, posed, doubled)
    assert found["show a face"] == own + posed and poor == ([] if own + posed else ["no face"])
    assert found["found again"] == 1 and found["faces"] == 1


def test_what_the_detector_did_not_know_before_need_not_be_found_again() -> None:
    assert counted([cover(OWN)], NEW, NOTHING)[0].of()["found again"] == 0
    counts = Counts("clip")
    count(counts, [truth.Head(FACE, "frontal", True)], (noise(), NEW), [], (NOTHING, THERE))
    assert counts.of()["found in the original, 24 px"] == 0
    small = truth.Head(Box(0, 40.0, 40.0, 63.0, 70.0, 1.0), "frontal", True)
    count(counts, [small], (noise(), NEW), [], (np.array([small.box.corners]), NOTHING))
    assert counts.of()["found in the original, 24 px"] == 0, "23 pixels"
    assert finds(THERE, FACE) and not finds(THERE + 25.0, FACE) and not finds(NOTHING, FACE)


def test_faces_below_14_pixels_and_heads_without_a_face_are_not_counted() -> None:
    counts = Counts("clip")
    heads = [truth.Head(Box(0, 40.0, 40.0, 53.9, 60.0, 1.0), "frontal", True), truth.Head(FACE, "back", False)]
    beside = (150.0, 0.0, 180.0, 20.0)
    ((why, poor),) = count(counts, heads, (noise(), noise()), [cover(OWN, box=beside)], (THERE, THERE))
    assert poor.corners == beside and why == "on no head"
    assert counts.of()["faces"] == 0 and counts.astray == 1


def test_original_left_in_the_face_is_told() -> None:
    untouched, poor = counted([cover(OWN)], noise())
    assert (untouched.of()["open or unchanged"], untouched.of()["correlated above .8"]) == (1, 1)
    assert untouched.of()["bare, %"] == 100 and poor == ["open or unchanged, correlated"]
    new, poor = counted([cover(OWN)], NEW)
    assert (new.of()["open or unchanged"], new.of()["correlated above .8"], poor) == (0, 0, [])
    assert new.of()["bare, %"] < 1
    # The upper half of the face is left: bare, but neither of the two.
    half = counted([cover(OWN)], covered((30, 64, 90, 100), noise(1)))[0].of()
    assert half["bare, %"] == pytest.approx(47, abs=3)


def test_a_face_is_unchanged_within_three_levels_and_correlates_when_only_its_light_is_another() -> None:
    before = Planes(*(np.full(plane.shape, 100, np.uint8) for plane in (noise().y, noise().u, noise().v)))
    for step, unchanged in ((3, 1.0), (4, 0.0)):
        after = Planes(before.y + np.uint8(step), before.u, before.v)
        assert kept_in_ellipse(before, after, FACE) == (unchanged, 0.0)
    assert correlation(before, before, FACE) == 0, "flat"
    darker = Planes((noise().y // 2 + 20).astype(np.uint8), noise().u, noise().v)
    assert correlation(noise(), darker, FACE) > 0.95 > 0.3 > abs(correlation(noise(), noise(1), FACE))
    beyond = Box(0, -60.0, -60.0, -20.0, -20.0, 1.0)
    assert kept_in_ellipse(before, before, beyond) == (0, 0) and correlation(before, before, beyond) == 0


def test_changes_are_counted_by_track_and_minute() -> None:
    """At one frame a second: two heads for six seconds, one of them away for a while."""
    levels = {1: [OWN, POSED, SOFT, SOFT, OWN, OWN], 2: [SOFT, None, None, OWN, OWN, OWN]}
    frames = [
        Published([cover(several[i] or "", track, track) for track, several in levels.items() if several[i]], None)
        for i in range(6)
    ]
    counts = Counts("clip")
    follow(counts, frames, 1.0)
    assert counts.minutes == pytest.approx(10 / 60)
    assert counts.changes == {(OWN, POSED): 1, (POSED, SOFT): 1, (SOFT, OWN): 2}
    row = counts.row()
    assert (row["changes per minute and head"], row["of them face or none"]) == (pytest.approx(24), pytest.approx(18))
    follow(counts, [Published([cover(SOFT, 0)], None)], 1.0)
    assert counts.minutes == pytest.approx(10 / 60), "a place that is no track's is no head"


def test_surrogates_on_the_way_to_another_do_not_count() -> None:
    shown = [5, 5, 61, 62, 63, 7, 7, 7]
    counts = Counts("clip")
    follow(counts, [Published([cover(OWN, 1, one), cover(OWN, 2, 9)], None) for one in shown], 25.0)
    follow(counts, [Published([cover(SOFT, 3)], None)], 25.0)
    follow(counts, [Published([cover(OWN, 4, 11)], None)], 25.0)
    assert counts.surrogates == Counter({2: 1, 1: 2})
    assert counts.row()["surrogates per head"] == pytest.approx(4 / 3)


def test_clips_are_summed_and_told_by_size() -> None:
    one, other = counted([cover(OWN)], NEW)[0], counted([cover(SOFT)], noise())[0]
    follow(one, [Published([cover(OWN)], None)] * 2, 1.0)
    whole = total("all", [one, other])
    assert whole.of()["faces"] == 2 and whole.of()["show a face"] == 0.5 and whole.frames == 2
    assert whole.of()["bare, %"] == pytest.approx(50, abs=0.5) and whole.minutes == pytest.approx(2 / 60)
    rows = {row["faces of"]: row for row in by_size(whole)}
    assert rows["40-80 px"]["faces"] == 2 and rows["24-40 px"]["faces"] == 0
    table = faces.beside([[{"clip": "a", "n": 1, "share": 0.25}], [{"clip": "a", "n": 1, "share": float("nan")}]])
    assert table.splitlines()[2] == "| a | 1 | 0.25 → - |"


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fitting: FitModel, gallery: Gallery) -> Path:
    """A directory with a drawn clip of one person, and labels of two of its frames."""
    frames = list(synthetic_people(fitting, gallery, people=1, seconds=0.4, size=(320, 240), rate=25))
    write_drawn_clip(tmp_path / "drawn.mp4", (one.frame.planes for one in frames), 25)
    heads = {i: [truth.Head(Box(i, *frames[i].truths[0].box, 1.0), "frontal", True)] for i in (0, 6)}
    monkeypatch.setattr(recall, "read_clips", lambda: [truth.Clip("drawn", "choosing", heads)])
    return tmp_path


def test_a_drawn_clip_is_filtered_by_two_versions_and_counted(
    drawn: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The base, here, leaves everything as it is."""
    asked: list[tuple[Path, bool]] = []

    def either(tree: Path, video: Path, frames: set[int], *, live: bool) -> tuple[float, list[Published]]:
        asked.append((tree, live))
        rate, found = filtered_clip(video, frames, Settings(lookahead=0.0))
        if tree == drawn:
            pictures = [frame.planes for frame in faces.FileSource(video)]
            found = [Published([], pictures[i] if one.planes is not None else None) for i, one in enumerate(found)]
        return float(rate), found

    monkeypatch.setattr(faces, "published", either)
    sheet = drawn / "sheet.png"
    words = [str(drawn), "--live", "--base", str(drawn), "--sheet", str(sheet)]
    assert faces.main([*words, "--json"]) == 0
    assert asked == [(drawn, True), (published_clip.HERE, True)]
    said = json.loads(capsys.readouterr().out)
    (base, _), (here, whole) = said["base"]["clips"], said["here"]["clips"]
    assert base["faces"] == here["faces"] == whole["faces"] == 2
    assert [one["frame"] for one in said["base"]["places"]] == [0, 6]
    assert base["open or unchanged"] == 2 and base["bare, %"] > 95 and base["surrogates per head"] is None
    assert here["open or unchanged"] == 0 and here["bare, %"] < 20 and here["show a face"] > base["show a face"]
    assert faces.main(words) == 0
    assert "| drawn | 2 | 0.00 → " in capsys.readouterr().out


def test_a_clip_goes_through_a_version_in_a_process_of_its_own(drawn: Path) -> None:
    rate, found = published(published_clip.HERE, drawn / "drawn.mp4", {2}, live=True)
    assert rate == 25 and len(found) == 3 and [one.planes is not None for one in found] == [False, False, True]
    assert {one.level for frame in found for one in frame.covers} <= {OWN, POSED, SOFT}
    assert all(bool(one.surrogate) == (one.level in (OWN, POSED)) for frame in found for one in frame.covers)
    with pytest.raises(ValueError, match=r"drawn\.mp4 has no frame 99"):
        published(published_clip.HERE, drawn / "drawn.mp4", {99}, live=True)
    with pytest.raises(RuntimeError, match="nothing"):
        published(published_clip.HERE, drawn / "nothing.mp4", {1}, live=True)


def test_another_version_is_what_the_child_imports(tmp_path: Path) -> None:
    """Its streamdeid, with the benchmarks of this one."""
    (tmp_path / "streamdeid").mkdir()
    (tmp_path / "streamdeid" / "__init__.py").write_text("raise SystemExit('that one')", encoding="utf-8")
    with pytest.raises(RuntimeError, match="that one"):
        published(tmp_path, tmp_path / "clip.mp4", {1}, live=False)
    assert of_version(tmp_path, "benchmarks.x", "word")[-3:] == [str(tmp_path), "benchmarks.x", "word"]
