"""Variants of labelled clips for `recall --made`: a label follows what it was drawn around."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.leaks.run import Corners
from benchmarks.recall import changes, made, recall, truth
from streamdeid.aam.fit import FitModel
from streamdeid.core.frames import Planes
from streamdeid.lab.attacks.gaps import Box
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from streamdeid.video.files.source import FileSource

SIZE = WIDTH, HEIGHT = 320, 240
LABELLED = (0, 8, 24)


def place(frame: int) -> Corners:
    """Where the bright head is: it goes from the upper left, which a wrong turn or lens would take elsewhere."""
    return 12.0 + 3 * frame, 16.0 + 2 * frame, 62.0 + 3 * frame, 86.0 + 2 * frame


def pictures() -> Iterator[Planes]:
    """Noise, dark, with a bright head that moves."""
    rng = np.random.default_rng(0)
    noise = rng.integers(30, 60, (HEIGHT, WIDTH)).astype(np.uint8)
    for frame in range(40):
        x0, y0, x1, y1 = map(int, place(frame))
        y = noise.copy()
        y[y0:y1, x0:x1] = 220
        grey = np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8)
        yield Planes(y, grey, grey.copy())


def bright(planes: Planes) -> Corners:
    """The box around what is bright."""
    rows, columns = np.nonzero(planes.y > 0.6 * planes.y.max())
    return float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1)


@pytest.fixture
def clip(tmp_path: Path) -> tuple[Path, truth.Clip]:
    """A drawn clip and its labels."""
    path = tmp_path / "drawn.mp4"
    write_drawn_clip(path, pictures(), 25)
    heads = {frame: [truth.Head(Box(frame, *place(frame), 1.0), "frontal", True)] for frame in LABELLED}
    return path, truth.Clip("drawn", "choosing", heads)


@pytest.mark.parametrize("variant", [one for one in made.VARIANTS if one not in (made.PANNED, made.CUT)])
def test_a_label_follows_its_head(clip: tuple[Path, truth.Clip], tmp_path: Path, variant: str) -> None:
    path, labels = made.make(variant, *clip, tmp_path)
    assert labels.name == f"drawn, {variant}" and len(labels.heads) == len(LABELLED)
    frames = list(FileSource(path))
    for frame, heads in labels.heads.items():
        assert all(head.box.frame == frame and head.face for head in heads)
        assert len(heads) == (36 if variant == made.WALL else 1)
        corners = np.array([head.box.corners for head in heads])
        around = *corners[:, :2].min(axis=0), *corners[:, 2:].max(axis=0)
        if variant != made.TILTED:  # its label is a square in the middle of the head
            assert bright(frames[frame].planes) == pytest.approx(around, abs=2.5), frame
        seen = np.reshape(bright(frames[frame].planes), (2, 2))
        assert np.abs(seen.mean(axis=0) - np.reshape(around, (2, 2)).mean(axis=0)).max() < 2.5
        middles = (corners[:, :2] + corners[:, 2:]) / 2
        assert all(frames[frame].planes.y[int(y), int(x)] > 80 for x, y in middles)


def test_in_a_window_that_pans_a_label_follows_its_head_and_is_cut_with_it(tmp_path: Path) -> None:
    middle = 70, 60, 120, 120
    y = np.full((HEIGHT, WIDTH), 40, np.uint8)
    y[middle[1] : middle[3], middle[0] : middle[2]] = 220
    grey = np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8)
    write_drawn_clip(tmp_path / "drawn.mp4", (Planes(y, grey, grey) for _ in range(100)), 25)
    heads = {n: [truth.Head(Box(n, *map(float, middle), 1.0), "frontal", True)] for n in range(0, 99, 3)}
    path, labels = made.make(made.PANNED, tmp_path / "drawn.mp4", truth.Clip("drawn", "choosing", heads), tmp_path)
    frames, kinds, corners = list(FileSource(path)), set(), set()
    for frame, (head,) in labels.heads.items():
        kinds.add(head.kind)
        corners.add(made.panned(SIZE, frame)[:2])
        assert bright(frames[frame].planes) == pytest.approx(head.box.corners, abs=2.5), frame
        assert head.face == (head.kind != truth.UNSURE)
    assert {"frontal"} < kinds <= {"frontal", "border", truth.UNSURE} and len(corners) > 25


def test_what_a_window_cuts_off_counts_as_long_as_most_of_the_face_is_there() -> None:
    def left(x: float, face: bool = True) -> list[tuple[str, float]]:
        head = truth.Head(Box(0, x + 20, 10.0, x + 60.0, 60.0, 1.0), "frontal" if face else "back", face)
        return [(one.kind, one.box.corners[0]) for one in made.cut(head, (20, 0, 120, 80))]

    assert left(10.0) == [("frontal", 10.0)] and left(-0.5) == [("frontal", -0.5)]
    assert left(-14.0) == [("border", 0.0)] and left(-14.0, face=False) == [(truth.UNSURE, 0.0)]
    assert left(-20.0) == [(truth.UNSURE, 0.0)] and left(-40.0) == left(100.0) == []


def test_the_picture_ends_where_it_cuts_a_part_off_most_faces(tmp_path: Path) -> None:
    boxes = (40, 20, 80, 80), (150, 30, 190, 100), (154, 160, 194, 220), (250, 90, 280, 130)
    y = np.full((HEIGHT, WIDTH), 40, np.uint8)
    for x0, y0, x1, y1 in boxes:
        y[y0:y1, x0:x1] = 220
    grey = np.full((HEIGHT // 2, WIDTH // 2), 128, np.uint8)
    write_drawn_clip(tmp_path / "drawn.mp4", (Planes(y, grey, grey) for _ in range(60)), 25)
    heads = [truth.Head(Box(0, *map(float, box), 1.0), "frontal", True) for box in boxes]
    path, labels = made.make(made.CUT, tmp_path / "drawn.mp4", truth.Clip("drawn", "choosing", {0: heads}), tmp_path)
    left, top, right, bottom = made.ended(truth.Clip("drawn", "choosing", {0: heads}), SIZE)
    assert (left, top, right, bottom) == (160, 0, WIDTH, HEIGHT), "two of the faces are cut, and half of it stays"
    assert [head.kind for head in labels.heads[0]] == ["border", "border", "frontal"]
    seen = next(iter(FileSource(path))).planes.y
    assert seen.shape == (HEIGHT, WIDTH - 160)
    assert all(seen[int((box[1] + box[3]) / 2), int(box[2]) - 162] > 200 for box in boxes[1:])
    nobody = truth.Clip("drawn", "choosing", {0: []})
    assert made.ended(nobody, (321, 241)) == (0, 0, 320, 240)


def test_each_variant_is_what_its_name_says(clip: tuple[Path, truth.Clip], tmp_path: Path) -> None:
    paths = {name: made.make(name, *clip, tmp_path)[0] for name in made.VARIANTS}
    infos = {name: FileSource(path).info for name, path in paths.items()}
    assert (infos[made.TURNED].width, infos[made.TURNED].height) == (HEIGHT, WIDTH)
    assert (infos[made.HALF].width, infos[made.HALF].height) == (WIDTH // 2, HEIGHT // 2)
    assert (infos[made.WALL].width, infos[made.WALL].height) == (6 * WIDTH, 6 * HEIGHT)
    assert (infos[made.PANNED].width, infos[made.PANNED].height) == (212, 160)
    assert (infos[made.NARROW].width, infos[made.NARROW].height) == (WIDTH // 2, HEIGHT)
    assert (infos[made.TILTED].width, infos[made.TILTED].height) == (396, 366), "all of it is there"
    resized = made.TURNED, made.HALF, made.WALL, made.PANNED, made.CUT, made.NARROW, made.TILTED
    others = {(info.width, info.height) for name, info in infos.items() if name not in resized}
    assert others == {SIZE}
    assert infos[made.FIVE].average_rate == 5 and infos[made.BLOCKS].average_rate == 25
    first = next(pictures()).y.astype(float)
    lost = {name: np.abs(next(iter(FileSource(paths[name]))).planes.y - first).mean() for name in ("five", "blocks")}
    assert lost["blocks"] > 2 * lost["five"], "the noise is gone"
    corner = next(iter(FileSource(paths[made.FISHEYE]))).planes.y[:6, :6]
    assert corner.mean() < 22, "a bent picture has black corners"


def test_what_light_and_lens_do_to_a_picture() -> None:
    rng = np.random.default_rng(1)
    y, u, v = (rng.integers(40, 200, shape).astype(np.uint8) for shape in ((HEIGHT, WIDTH), (120, 160), (120, 160)))
    planes = Planes(y, u, v)
    without = changes.grey(planes)
    assert (without.y == y).all() and (without.u == 128).all() and (without.v == 128).all()
    dark, again = changes.dim(planes), changes.dim(planes)
    assert (dark.y == again.y).all() and (dark.u == again.u).all(), "the same in each run"
    darker = dark.y - (16 + 0.5 * (y - 16.0))
    assert abs(darker.mean()) < 0.1 and 3.5 < darker.std() < 4.5
    assert abs(float((dark.v - (128 + 0.5 * (v - 128.0))).mean())) < 0.1
    other = changes.dim(Planes(np.roll(y, 1), u, v))
    assert (other.u != dark.u).mean() > 0.5, "another noise in each frame"
    darkest = changes.dark(planes)
    assert darkest.y.mean() < 0.5 * y.mean() and darkest.y.min() >= 16
    assert (darkest.u == np.rint(128 + 0.6 * (u - 128.0))).all()
    coarse = changes.soft(planes)
    assert coarse.size == planes.size and coarse.y.std() < 0.6 * y.std()
    other_way = changes.mirrored(planes)
    assert (other_way.y == y[:, ::-1]).all() and (other_way.u == u[:, ::-1]).all() and (other_way.v == v[:, ::-1]).all()


def test_the_unchanged_clip_is_the_file_itself(clip: tuple[Path, truth.Clip], tmp_path: Path) -> None:
    path, labels = made.make(made.UNCHANGED, *clip, tmp_path)
    assert path == clip[0] and labels.heads == clip[1].heads and labels.name == "drawn, unchanged"


def test_wanted_frames_are_among_those_about_a_step_apart() -> None:
    frames = made.spaced([7, 12, 27, 28, 50], 5)
    assert frames == sorted(set(frames)) and {7, 12, 27, 28, 50} <= set(frames) and frames[0] == 2
    assert max(np.diff(frames)) <= 7
    assert made.spaced([3, 6], 1) == [0, 1, 2, 3, 4, 5, 6]


def test_a_face_that_a_lens_makes_too_small_is_none() -> None:
    size = (640, 360)
    here = truth.Head(Box(3, 2.0, 2.0, 16.0, 18.0, 1.0), "frontal", True)
    there = made.moved(here, made.FISHEYE, size, 5)
    assert there.box.side < 12 and there.kind == "small" and not there.face and there.box.frame == 5
    middle = truth.Head(Box(3, 313.0, 170.0, 327.0, 190.0, 1.0), "frontal", True)
    assert made.moved(middle, made.FISHEYE, size, 5).face


def test_the_table_has_a_row_for_each_variant(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fitting: FitModel,
    gallery: Gallery,
) -> None:
    frames = list(synthetic_people(fitting, gallery, people=1, seconds=0.4, size=SIZE, rate=25))
    write_drawn_clip(tmp_path / "drawn.mp4", (one.frame.planes for one in frames), 25)
    heads = {i: [truth.Head(Box(i, *frames[i].truths[0].box, 1.0), "frontal", True)] for i in (0, 6)}
    monkeypatch.setattr(recall, "read_clips", lambda: [truth.Clip("drawn", "choosing", heads)])
    assert recall.main([str(tmp_path), "--made", "five,blocks", "--json"]) == 0
    rows = {row["clip"]: row for row in json.loads(capsys.readouterr().out)["clips"]}
    assert list(rows)[3:] == ["unchanged", "five", "blocks"] and "drawn, five" in rows
    assert all(row["frames"] == 2 and row["open"] == "0 of 2" for row in rows.values())
    with pytest.raises(SystemExit):
        recall.main([str(tmp_path), "--made", "backwards"])
    assert "--made" in capsys.readouterr().err
