"""`recall` counts what was made up by hand: open, covered and shown faces, redactions on no head and on hair."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from benchmarks.leaks.run import Corners, Moment
from benchmarks.recall import recall, score, truth
from benchmarks.recall.late_survey import LateSurvey
from streamdeid.aam.fit import FitModel
from streamdeid.core.frames import Planes
from streamdeid.detection.survey_beside import SurveyBeside
from streamdeid.lab.attacks.gaps import Box
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip

OWN, SOFT = "own face", "soft redaction"
FACE: Corners = (40.0, 40.0, 80.0, 90.0)


def planes() -> Planes:
    """A picture of noise, 400 x 200."""
    rng = np.random.default_rng(0)
    y, u, v = (rng.integers(0, 255, size).astype(np.uint8) for size in ((200, 400), (100, 200), (100, 200)))
    return Planes(y, u, v)


def head(box: Corners = FACE, kind: str = "frontal") -> truth.Head:
    """A labelled head; of the kinds that are both it is a face."""
    return truth.Head(Box(0, *box, 1.0), kind, kind in truth.KINDS)


def larger(box: Corners, by: float = 6.0) -> Corners:
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


def counted(heads: list[truth.Head], covers: list[tuple[Corners, str]]) -> tuple[score.Score, list[list[Corners]]]:
    """A frame in which the covers change all their pixels."""
    original, output = planes(), planes().copy()
    for (x0, y0, x1, y1), _ in covers:
        output.y[int(y0) : int(y1), int(x0) : int(x1)] ^= 255
    moment = Moment(Fraction(0), (), [box for box, _ in covers], [level for _, level in covers])
    one = score.Score("clip", "choosing")
    return one, score.count(one, heads, original, output, moment)


@pytest.mark.parametrize(
    ("covers", "fate"),
    [
        ([], "open"),
        ([(larger(FACE), SOFT)], "covered"),
        ([(larger(FACE), OWN)], "shown as a face"),
        ([(larger(FACE), "posed face")], "shown as a face"),
        ([((75.0, 40.0, 120.0, 90.0), OWN)], "open"),
        # Covered, and beside it a face: its middle is on no face.
        ([(larger(FACE), SOFT), ((85.0, 40.0, 120.0, 90.0), OWN)], "covered"),
    ],
)
def test_a_face_is_open_covered_or_shown(covers: list[tuple[Corners, str]], fate: str) -> None:
    one, places = counted([head()], covers)
    assert one.faces == {((40.0, 80.0), "frontal", fate): 1}
    assert places[0] == ([FACE] if fate == "open" else [])


def test_a_face_is_open_from_more_than_a_quarter_of_its_middle() -> None:
    # The middle half is 50..70; 15 of its 20 columns are covered, then 14.
    for edge, fate in ((65.0, "covered"), (64.0, "open")):
        one, _ = counted([head()], [((0.0, 0.0, edge, 200.0), SOFT)])
        assert one.of() == {fate: 1}


def test_heads_that_are_no_faces_count_for_nothing_but_covers() -> None:
    for kind in ("back", "small", "picture", "unsure"):
        one, _ = counted([head(kind=kind)], [])
        assert one.of().total() == 0
        one, _ = counted([head(kind=kind)], [(larger(FACE), SOFT)])
        assert one.false == 0, kind
    one, places = counted([], [(larger(FACE), SOFT)])
    assert one.false == 1 and places[1] == [larger(FACE)]


def test_a_redaction_is_on_no_head_where_it_touches_none_enlarged_by_a_quarter() -> None:
    # The face is 40 wide: a quarter larger it ends at 85.
    for x0, false in ((84.0, 0), (86.0, 1)):
        one, _ = counted([head()], [((x0, 40.0, x0 + 30.0, 90.0), SOFT)])
        assert one.false == false


HAIR: Corners = (50.0, 0.0, 70.0, 30.0)
"""Its middle lies 50 pixels, 1.25 widths, from the face's."""


@pytest.mark.parametrize(
    ("heads", "covers", "hair"),
    [
        ([head()], [(FACE, OWN), (HAIR, SOFT)], 1),
        ([head()], [(FACE, SOFT), (HAIR, SOFT)], 0),  # the head shows no face
        ([head()], [(FACE, OWN), ((50.0, 40.0, 70.0, 60.0), SOFT)], 0),  # on the face
        ([head()], [(FACE, OWN), ((130.0, 60.0, 150.0, 70.0), SOFT)], 0),  # 1.9 widths away
        ([head(), head(HAIR, "back")], [(FACE, OWN), (HAIR, SOFT)], 0),  # another head is there
        ([head(), head(HAIR, "unsure")], [(FACE, OWN), (HAIR, SOFT)], 0),
    ],
)
def test_redactions_on_hair(heads: list[truth.Head], covers: list[tuple[Corners, str]], hair: int) -> None:
    one, places = counted(heads, covers)
    assert one.hair == hair
    assert len(set(places[1])) == len(places[1]), "once, though it is on no head either"
    assert HAIR in places[1] or not hair


def test_shares_of_the_picture() -> None:
    one, _ = counted([head()], [((35.0, 40.0, 85.0, 90.0), SOFT), ((200.0, 0.0, 280.0, 200.0), SOFT)])
    assert one.off_heads == pytest.approx(20.0) and one.largest == pytest.approx(20.0)
    one, _ = counted([], [((-100.0, 0.0, 100.0, 200.0), SOFT)])
    assert one.largest == pytest.approx(25.0), "what lies beyond the picture does not count"


def test_halves_are_summed_and_told_by_size_and_kind() -> None:
    scores = [
        score.Score("a", "choosing", looked_at=2, false=1, cpu_ms=10.0),
        score.Score("b", "confirming", looked_at=2, false=2, cpu_ms=30.0),
    ]
    scores[0].faces.update({((12.0, 16.0), "bowed", "open"): 2, ((40.0, 80.0), "frontal", "covered"): 1})
    scores[1].faces.update({((12.0, 16.0), "turned", "shown as a face"): 3})
    whole = recall.totals(scores)
    assert [one.clip for one in whole] == ["choosing", "confirming", "all"]
    assert [one.row()["on no head, per frame"] for one in whole] == [0.5, 1.0, 0.75]
    assert whole[2].row()["12-16 px"] == "2 of 5" and whole[2].cpu_ms == 20
    rows = {row["faces"]: row for row in score.by_size_and_kind(whole)}
    assert rows["bowed"]["choosing: open"] == 2 and rows["turned"]["confirming: shown as a face"] == 3
    assert rows["12-16 px"]["all"] == 5 and rows["all"]["all: covered"] == 1
    assert [one.clip for one in recall.totals(scores[:1])] == ["choosing", "all"]


def test_the_labels_in_the_repository_are_whole() -> None:
    clips = truth.read_clips()
    assert {clip.half for clip in clips} == set(truth.HALVES)
    for half in truth.HALVES:
        mine = [clip for clip in clips if clip.half == half]
        assert any(len(clip.heads) > 6 for clip in mine) and any(len(clip.heads) == 6 for clip in mine)
    faces = [one for clip in clips for heads in clip.heads.values() for one in heads if one.face]
    assert {one.size for one in faces} == set(truth.CLASSES) and {one.kind for one in faces} == set(truth.KINDS)


@pytest.mark.parametrize(
    ("frames", "heads", "said"),
    [
        ("a,0,choosing\na,1,confirming", "", "no half, or in two"),
        ("a,0,either", "", "no half"),
        ("a,0,choosing", "a,1,0,0,20,20,frontal,1", "not looked at"),
        ("a,0,choosing", "a,0,0,0,11,20,frontal,1", "frontal of 11 pixels"),
        ("a,0,choosing", "a,0,0,0,20,20,back,1", "back of 20 pixels"),
    ],
)
def test_wrong_labels_are_refused(tmp_path: Path, frames: str, heads: str, said: str) -> None:
    (tmp_path / "frames.csv").write_text(f"clip,frame,half\n{frames}\n", encoding="utf-8")
    (tmp_path / "heads.csv").write_text(f"clip,frame,x0,y0,x1,y1,kind,face\n{heads}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        truth.read_clips(tmp_path)


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fitting: FitModel, gallery: Gallery) -> Path:
    """A directory with a drawn clip of one person, labels of two of its frames, and a labelled clip without file."""
    frames = list(synthetic_people(fitting, gallery, people=1, seconds=0.4, size=(320, 240), rate=25))
    write_drawn_clip(tmp_path / "drawn.mp4", (one.frame.planes for one in frames), 25)
    here = {index: [head(frames[index].truths[0].box)] for index in (0, 6)}
    clips = [truth.Clip("drawn", "choosing", here), truth.Clip("elsewhere", "confirming", {0: []})]
    monkeypatch.setattr(recall, "read_clips", lambda: clips)
    return tmp_path


def test_a_drawn_clip_is_filtered_and_counted(drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheets = {name: drawn / f"{name}.png" for name in ("open", "false")}
    given = [str(drawn), "--half", "choosing", "--json"]
    assert recall.main([*given, *(word for name in sheets for word in (f"--sheet-{name}", str(sheets[name])))]) == 0
    said = json.loads(capsys.readouterr().out)
    row = said["clips"][0]
    assert row["clip"] == "drawn" and row["frames"] == 2 and row["open"] == "0 of 2" and row["40-80 px"] == "0 of 2"
    assert row["detection, CPU ms per frame"] > 0 and row["all, CPU ms per frame"] > row["detection, CPU ms per frame"]
    assert row["largest redaction, %"] > 1 and row["on no head, per frame"] == 0
    assert said["faces"][-1]["all: open"] == 0 and said["faces"][-1]["all"] == 2
    assert not any(path.exists() for path in sheets.values()), "there is nothing to show"


def test_what_is_open_or_on_no_head_is_pictured(
    drawn: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same clip with labels beside the face, and frames that are not asked for."""
    beside = truth.Clip("drawn", "choosing", {0: [head((5.0, 5.0, 30.0, 35.0))], 1: [], 99: []})
    monkeypatch.setattr(recall, "read_clips", lambda: [beside])
    paths = [drawn / "open.png", drawn / "false.png"]
    given = [str(drawn), "--most", "1"]
    assert recall.main([*given, "--sheet-open", str(paths[0]), "--sheet-false", str(paths[1])]) == 0
    assert "| drawn | choosing | 1 |" in capsys.readouterr().out
    assert all(path.stat().st_size > 0 for path in paths)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no video elsewhere"),
        (["--only", "nobody"], "no labels of nobody"),
        (["--only", "drawn", "--half", "confirming"], "none of these clips"),
        (["--most", "0"], "--most"),
    ],
)
def test_clips_that_cannot_be_had_are_told(
    drawn: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    with pytest.raises(SystemExit):
        recall.main([str(drawn), *words])
    assert said in capsys.readouterr().err


def test_a_clip_that_ends_before_its_labels_is_refused(
    drawn: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recall, "read_clips", lambda: [truth.Clip("drawn", "choosing", {99: []})])
    with pytest.raises(SystemExit):
        recall.main([str(drawn)])
    assert "drawn.mp4 has no frame 99" in capsys.readouterr().err


def test_several_processes_give_the_clips_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each clip in a process of its own, the longest first; here in threads."""
    monkeypatch.setattr(recall, "_measured", lambda video, clip, settings: score.Score(clip.name, clip.half))
    monkeypatch.setattr(recall, "ProcessPoolExecutor", lambda workers, context: ThreadPoolExecutor(workers))
    clips = [
        (Path("a.mp4"), truth.Clip("a", "choosing", {3: []})),
        (Path("b.mp4"), truth.Clip("b", "choosing", {9: []})),
    ]
    for workers in (1, 2):
        assert [one.clip for one in recall.measured(clips, Settings(), workers)] == ["a", "b"]


@pytest.mark.parametrize(("words", "seconds"), [([], 1.0), (["--live"], 0.0), (["--lookahead", "0.5"], 0.25)])
def test_so_much_is_known_ahead(words: list[str], seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def measured(clips: object, settings: Settings, workers: int) -> list[score.Score]:
        asked.append(settings.lookahead)
        return [score.Score("clip", "choosing")]

    monkeypatch.setattr(recall, "clips_of", lambda *given: [])
    monkeypatch.setattr(recall, "measured", measured)
    assert recall.main(["somewhere", *words]) == 0
    assert asked == [seconds]
    with pytest.raises(SystemExit):
        recall.main(["somewhere", "--lookahead", "0.2"])


def test_the_late_survey_can_be_told_all_that_the_one_beside_can() -> None:
    there = [name for name in vars(SurveyBeside) if not name.startswith("_")]
    assert there and all(callable(getattr(LateSurvey, name, None)) for name in there)
