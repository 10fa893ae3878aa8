"""`benchmarks/people/people.py` counts what was made up by hand: who is shown with which face, and who is missed."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.people import people
from benchmarks.people import run as people_run
from benchmarks.people import score as people_score
from benchmarks.people import truth as people_truth
from streamdeid.aam.fit import FitModel
from streamdeid.core.frames import DeidentifiedFrame, Planes, Redaction
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import Models
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip

OWN, POSED = "own face", "posed face"
LEFT, RIGHT = (100.0, 100.0, 160.0, 180.0), (300.0, 100.0, 360.0, 180.0)


def redaction(box: tuple[float, ...], level: str = OWN, person: int = 0) -> object:
    """A cover a sixth larger on each side than a face's box."""
    dx, dy = (box[2] - box[0]) / 6, (box[3] - box[1]) / 6
    return people_run.Place((box[0] - dx, box[1] - dy, box[2] + dx, box[3] + dy), level, person)


def shown(index: int, *redactions: object, turns: tuple[tuple[tuple[float, ...], float], ...] = ()) -> object:
    return people_run.Shown(index, redactions, turns)


def truth(*frames: tuple[tuple[tuple[float, ...], int], ...], step: int = 1) -> object:
    """Faces (box, person) of the frames 0, step, ..."""
    faces = {step * i: [people_truth.Seen(*one) for one in here] for i, here in enumerate(frames)}
    excuses = {index: [one.corners for one in here] for index, here in faces.items()}
    persons = {one.person for here in faces.values() for one in here} - {0}
    return people_truth.Truth(0, step, faces, excuses, people_truth._between(faces, step), len(persons))


def counted(known: object, *frames: object) -> dict[str, object]:
    count = people_score.Count("clip", known)
    for frame in frames:
        count.add(frame)
    row: dict[str, object] = count.score(0.5, Counter({"texture": 2}), Counter()).row()
    return row


def test_covers_and_places_are_paired_one_to_one() -> None:
    # Each for itself would take the cover between the two, which is the second one's only choice.
    one, two = (0.0, 0.0, 100.0, 100.0), (40.0, 0.0, 140.0, 100.0)
    between, before = (20.0, 0.0, 120.0, 100.0), (-30.0, 0.0, 70.0, 100.0)
    assert people_truth.matched([one, two], [between, before]) == {0: 1, 1: 0}
    assert people_truth.matched([one], []) == people_truth.matched([], [one]) == {}
    assert people_truth.matched([one], [(60.0, 0.0, 160.0, 100.0)]) == {}, "the middle lies outside"
    assert people_truth.matched([one], [(-400.0, -400.0, 500.0, 500.0)]) == {}, "nine times as wide"


def test_shares_keep_what_was_missed_in_the_denominator() -> None:
    small = (500.0, 100.0, 539.0, 180.0)
    known = truth(*[((LEFT, 1), (RIGHT, 2), (small, 0))] * 4)
    turns = (LEFT, 10.0), (RIGHT, 50.0)
    row = counted(
        known,
        shown(0, redaction(LEFT, OWN, 1), redaction(RIGHT, POSED, 2), turns=turns),
        shown(1, redaction(LEFT, POSED, 1), redaction(RIGHT, "soft redaction"), turns=turns),
        shown(2, redaction(LEFT, "solid"), turns=turns),
        shown(3, turns=((LEFT, 39.0),)),
    )
    assert row["faces of 40 px"] == 8 and row["below 40 deg"] == 4 and row["no landmarks"] == 1
    assert row["own face"] == 2 / 4 and row["of it posed"] == 1 / 4 and row["own face, below 65"] == 3 / 7
    assert row["own face, below 40 or no landmarks"] == 2 / 5
    assert row["instead of the own face, below 40"] == "1 nothing, 1 solid"
    assert row["CPU ms per frame"] == 125 and row["breaks"] == "2 texture" and row["causes"] == "none"


def test_a_surrogate_belongs_to_the_first_who_showed_it() -> None:
    known = truth(*[((LEFT, 1), (RIGHT, 2))] * 5)
    row = counted(
        known,
        shown(0, redaction(LEFT, OWN, 1), redaction(RIGHT, "mean face", 1)),
        shown(1, redaction(LEFT, OWN, 1), redaction(RIGHT, OWN, 2)),
        shown(2, redaction(LEFT, OWN, 3), redaction(RIGHT, POSED, 1)),
        shown(3, redaction(LEFT, OWN, 3), redaction(RIGHT, POSED, 1)),
        shown(4, redaction(LEFT, OWN, 0), redaction(RIGHT, OWN, 2)),
    )
    assert row["persons"] == row["persons shown"] == row["surrogates per person"] == row["most"] == 2
    assert row["hand-overs"] == 1 and row["times in another's face"] == 2
    assert row["times on a second face at once"] == 0


def test_crossing_heads_that_exchange_faces_are_seen_and_unknown_faces_take_their_own_covers() -> None:
    boxes = [((x, 100.0, x + 60, 180.0), (220.0 - x, 100.0, 280 - x, 180.0)) for x in (40.0, 90.0, 130.0, 180.0)]
    known = truth(*[((a, 1), (b, 2)) for a, b in boxes])
    right = [shown(i, redaction(a, OWN, 1), redaction(b, OWN, 2)) for i, (a, b) in enumerate(boxes)]
    assert counted(known, *right)["hand-overs"] == 0
    swapped = [
        *right[:2],
        *(shown(i, redaction(b, OWN, 1), redaction(a, OWN, 2)) for i, (a, b) in list(enumerate(boxes))[2:]),
    ]
    row = counted(known, *swapped)
    assert row["hand-overs"] == 2 and row["times in another's face"] == 4
    nobody = truth(((LEFT, 1), (RIGHT, 0)), ((LEFT, 1), (RIGHT, 0)))
    row = counted(nobody, *(shown(i, redaction(LEFT, OWN, 1), redaction(RIGHT, OWN, 1)) for i in range(2)))
    assert row["hand-overs"] == 0 and row["persons shown"] == 1 and row["times on a second face at once"] == 2


def test_frames_between_those_looked_at_count_for_hand_overs_only() -> None:
    moved = tuple(value + 8 for value in LEFT)
    known = truth(((LEFT, 1),), ((moved, 1),), step=4)
    assert known.places[1][0].corners == tuple(value + 2 for value in LEFT) and sorted(known.places) == [0, 1, 2, 3, 4]
    redactions = [shown(i, redaction(LEFT, OWN, 2 if i == 2 else 1), redaction(RIGHT, "solid")) for i in range(5)]
    row = counted(known, *redactions)
    assert row["faces of 40 px"] == 2 and row["surrogates per person"] == 2 and row["covers of no face per frame"] == 1


def test_covers_of_no_face_and_doubles_are_told_apart() -> None:
    huge, beside = (0.0, 0.0, 400.0, 400.0), (600.0, 0.0, 700.0, 100.0)
    redactions = redaction(LEFT), redaction(LEFT, "solid"), redaction(huge), redaction(beside)
    row = counted(truth(((LEFT, 1),), ((LEFT, 1),)), shown(0, *redactions), shown(1, redaction(LEFT)))
    assert row["covers of no face per frame"] == 1 / 2 and row["covers without a face of their own"] == 3 / 2


def test_a_table_of_a_longer_clip_is_refused() -> None:
    with pytest.raises(ValueError, match="no frame 1"):
        counted(truth(((LEFT, 1),), ((LEFT, 1),)), shown(0))


def test_all_clips_together() -> None:
    scores = []
    for clip, level in (("a", OWN), ("b", "solid")):
        count = people_score.Count(clip, truth(((LEFT, 1),)))
        count.add(shown(0, redaction(LEFT, level, 1), turns=((LEFT, 0.0),)))
        scores.append(count.score(0.1, Counter(), Counter({"doubt": 1})))
    row = people_score.total(scores).row()
    assert row["persons"] == 2 and row["persons shown"] == 1 and row["own face"] == 0.5 and row["causes"] == "2 doubt"


def test_what_was_shown_is_read_from_covers_and_tracks(fitting: FitModel) -> None:
    planes = Planes(*(np.zeros(size, np.uint8) for size in ((8, 8), (4, 4), (4, 4))))
    redactions = Redaction(3, LEFT, "synthetic"), Redaction(4, RIGHT, "solid fill")
    seen = people_run.shown(DeidentifiedFrame(planes, 0, 7, redactions), [], fitting.model)
    assert seen.index == 7 and [one.level for one in seen.redactions] == [OWN, "solid fill"] and seen.turns == []


def write(path: Path, head: str, *rows: tuple[object, ...]) -> None:
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")


BOXES, LABELS = "frame,x0,y0,x1,y1,score", "frame,person,x0,y0,x1,y1"


def test_labels_name_boxes_and_take_back_what_is_no_face(tmp_path: Path) -> None:
    arms, ambiguous = (500.0, 10.0, 530.0, 50.0), (10.0, 10.0, 40.0, 50.0)
    rows = [(0, *LEFT, 0.9), (0, *RIGHT, 0.8), (0, *arms, 0.6), (0, *ambiguous, 0.4), (2, *LEFT, 0.9)]
    write(tmp_path / "clip.faces.csv", BOXES, *rows)
    write(tmp_path / "one_person.csv", "clip")
    video = tmp_path / "clip.mp4"
    assert people_truth.read_truth(video, tmp_path).persons is None
    write(tmp_path / "clip.csv", LABELS, (0, 5, 101, 99, 161, 180), (0, -1, *arms))
    known = people_truth.read_truth(video, tmp_path)
    assert known.persons == 1 and [one.person for one in known.faces[0]] == [5, 0] and known.faces[2][0].person == 0
    write(
        tmp_path / "clip.csv", LABELS, (0, 5, 101, 99, 161, 180), (0, -1, *arms), (0, 6, 0, 200, 60, 290), (4, 0, *LEFT)
    )
    missed = people_truth.read_truth(video, tmp_path)
    assert missed.persons == 2 and [one.person for one in missed.faces[0]] == [5, 0, 6]
    assert missed.faces[4] == [people_truth.Seen(LEFT, 0)] and missed.excuses[4] == [LEFT] == missed.excuses[2]
    assert arms not in known.excuses[0] and ambiguous in known.excuses[0] and len(known.excuses[0]) == 3
    assert known.looked_at(4) and not known.looked_at(1)
    write(tmp_path / "one_person.csv", "clip", ("clip",))
    (tmp_path / "clip.csv").unlink()
    assert [one.person for one in people_truth.read_truth(video, tmp_path).faces[0]] == [1, 1, 1]
    write(tmp_path / "clip.csv", LABELS, (1, 5, *LEFT))
    with pytest.raises(ValueError, match="frame 1"):
        people_truth.read_truth(video, tmp_path)


def test_composed_heads_name_boxes_and_hide_one_another(tmp_path: Path) -> None:
    write(tmp_path / "clip.faces.csv", BOXES, (0, 60, 40, 140, 155, 0.9), (0, 360, 40, 440, 155, 0.9))
    heads = [(0, 1, 110, 100, 100), (0, 2, 100, 100, 100), (0, 3, 400, 100, 100), (1, 1, 200, 100, 100)]
    write(tmp_path / "clip.people.csv", "frame,person,x,y,width", *heads)
    known = people_truth.read_truth(tmp_path / "clip.mp4", tmp_path)
    assert [one.person for one in known.faces[0]] == [2, 3] == [one.person for one in known.places[0]]
    assert known.places[1][0].corners == pytest.approx((159, 43, 241, 157)) and known.places[1][0].person == 1


def test_people_in_turn_are_known_up_to_the_cut(tmp_path: Path) -> None:
    small = (10.0, 10.0, 40.0, 50.0)
    rows = [(0, *small, 0.6), (0, *LEFT, 0.9), (5, *RIGHT, 0.9), (10, *RIGHT, 0.9)]
    write(tmp_path / "clip.faces.csv", BOXES, *rows)
    write(tmp_path / "clip.people.csv", "frame,person", *((index, 1 if index < 4 else 2) for index in range(12)))
    known = people_truth.read_truth(tmp_path / "clip.mp4", tmp_path)
    assert known.faces[0] == [people_truth.Seen(LEFT, 1), people_truth.Seen(small, 0)]
    assert [(one.corners, one.person) for i in (3, 4, 11) for one in known.places[i]] == [
        (LEFT, 1),
        (RIGHT, 2),
        (RIGHT, 2),
    ]


def test_the_sheet_shows_three_places_with_most_faces() -> None:
    one, two = ((LEFT, 1),), ((LEFT, 1), (RIGHT, 2))
    assert people.looks(truth(one, one, one, two, one, one, one, one, two)) == [1, 3, 8]
    assert people.looks(truth()) == [0, 40, 80]


def test_a_drawn_clip_end_to_end(fitting: FitModel, gallery: Gallery, tmp_path: Path) -> None:
    drawn = list(synthetic_people(fitting, gallery, people=1, seconds=0.8, size=(320, 240)))
    video = tmp_path / "talk.mp4"
    write_drawn_clip(video, (one.frame.planes for one in drawn), 25)
    boxes = [one.truths[0].box for one in drawn]
    write(tmp_path / "talk.faces.csv", BOXES, *((i, *box, 0.9) for i, box in enumerate(boxes)))
    write(tmp_path / "talk.people.csv", "frame,person", *((i, 1) for i in range(len(boxes))))
    score = people.measure(video, Models(fitting, gallery), Settings(), tmp_path / "sheet")
    row = score.row()
    assert row["faces of 40 px"] == len(drawn) == 20 and row["below 40 deg"] == 20 and row["persons"] == 1
    assert row["own face"] == 1 and row["CPU ms per frame"] > 1 and row["covers of no face per frame"] == 0
    assert (tmp_path / "sheet" / "talk.png").is_file()
    assert json.loads(people.as_json([row]))[0]["own face"] == 1 and not math.isnan(row["own face"])
