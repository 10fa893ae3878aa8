"""What is counted of the frames of a recording, in whichever way they are counted."""

from __future__ import annotations

from streamdeid.core.frames import Redaction
from streamdeid.report.counts import EARLIER, KEPT, Counts

OWN, SOFT, MASK = "own face", "soft redaction", "mask"
BOX = (0.0, 0.0, 1.0, 1.0)


def _of(*redactions: tuple[int, str]) -> list[Redaction]:
    return [Redaction(track, BOX, level) for track, level in redactions]


def test_faces_are_counted_by_level_and_person_and_regions_apart() -> None:
    counts = Counts()
    counts.add(_of((1, OWN), (2, SOFT), (0, "region")), {1: 7, 2: 0}, cut=1, left=2)
    counts.add(_of((1, OWN), (3, SOFT)), {1: 7}, cut=0, left=0)
    assert (counts.frames, counts.faces, counts.people, counts.regions) == (2, 4, 1, 1)
    assert (counts.cut, counts.shown) == (1, 2)
    assert counts.by_level == {OWN: 2, SOFT: 2}
    assert counts.by_person == {"0": {SOFT: 2}, "7": {OWN: 2}}, "a track of which nothing is known is nobody"


def test_a_mask_tells_nobody_apart() -> None:
    counts = Counts()
    counts.add(_of((1, MASK), (2, MASK)), None, cut=0, left=0)
    assert (counts.faces, counts.people, counts.by_person) == (2, 0, {})


def test_frames_counted_together_are_those_of_both() -> None:
    parts = [_of((1, OWN), (0, "region")), _of((1, SOFT), (2, OWN))]
    one, other, both = Counts(), Counts(), Counts()
    for counts, frames in ((one, parts[:1]), (other, parts[1:]), (both, parts)):
        for redactions in frames:
            counts.add(redactions, {1: 1, 2: 2}, cut=1, left=1)
    one.together(other)
    assert one == both
    assert other.frames == 1, "it is only added"


def test_the_first_people_of_a_long_recording_are_told_together() -> None:
    counts = Counts()
    for person in range(KEPT + 3):
        counts.redacted(SOFT, person)
    counts.redacted(OWN, 1)
    told = counts.by_person
    assert told[EARLIER] == {OWN: 1, SOFT: 2} and told["0"] == {SOFT: 1}
    assert len(told) == KEPT + 2 and "2" not in told and "3" in told
    assert counts.people == KEPT + 2
    assert sum(sum(levels.values()) for levels in told.values()) == counts.faces
