"""What a reviewer opened is open, what was covered besides is covered, and anything that does not fit ends the run."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from streamdeid.analysis.applied import FrameEdits
from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.errors import FailedClosed
from streamdeid.protect.edited import Edited
from streamdeid.protect.fixed_regions import FixedRegions
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import Plans, settled
from streamdeid.protect.region import Region

LEFT, RIGHT = (20.0, 20.0, 60.0, 70.0), (120.0, 20.0, 160.0, 70.0)
NOTHING = FrameEdits(frozenset(), {}, {}, (), (), {})


def frame() -> Frame:
    half = np.full((60, 100), 90, np.uint8)
    return Frame(Planes(np.full((120, 200), 200, np.uint8), half, half.copy()), Fraction(3, 25), 3)


def tracks() -> list[Track]:
    return [Track(number, box, Face(box, 0.9), 0, False) for number, box in ((1, LEFT), (2, RIGHT))]


def filtered(edits: FrameEdits, known: dict[int, Box], given: list[Track]) -> tuple[DeidentifiedFrame, set[int]]:
    mask = MaskFaces("blackout")
    edited = Edited(mask, lambda index: edits, lambda index: known, mask)
    pending = PendingFrame(frame(), given, None)
    edited.observe(pending, [pending])
    edited.settle([pending])
    return edited.render(pending, settled(edited, [pending], given)), pending.left


def test_who_is_visible_is_left_as_he_is_and_the_other_covered() -> None:
    edits = FrameEdits(frozenset(), {1: 7}, {}, (), (), {1: 7, 2: 8})
    done, left = filtered(edits, {1: LEFT, 2: RIGHT}, tracks())
    assert (done.planes.y[25:65, 25:55] == 200).all() and (done.planes.y[25:65, 125:155] == 16).all()
    assert [one.track for one in done.redactions] == [2] and left == {1}


def test_a_false_redaction_is_taken_away_and_nobody_counts_as_visible() -> None:
    done, left = filtered(FrameEdits(frozenset({2}), {}, {}, (), (), {}), {1: LEFT, 2: RIGHT}, tracks())
    assert [one.track for one in done.redactions] == [1] and left == set()


def test_places_and_regions_are_covered_besides() -> None:
    edits = FrameEdits(frozenset(), {}, {}, ((4, (80.0, 80.0, 100.0, 100.0)),), ((180.0, 100.0, 200.0, 120.0),), {})
    done, _ = filtered(edits, {1: LEFT, 2: RIGHT}, tracks())
    assert (done.planes.y[80:100, 80:100] == 128).all() and (done.planes.y[102:118, 182:198] == 128).all()
    assert sorted((one.track, one.level) for one in done.redactions) == [
        (-4, "solid"), (0, "region"), (1, "mask"), (2, "mask"),
    ]  # fmt: skip


def test_regions_are_told_before_anything_is_rendered() -> None:
    """What is filled after the faces are rendered is no background of theirs."""
    edits, pending = (
        FrameEdits(frozenset(), {}, {}, (), ((180.0, 100.0, 200.0, 120.0),), {}),
        PendingFrame(frame(), [], None),
    )
    told: list[list[Box]] = []

    class Noting(MaskFaces):
        def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
            told.append(list(pending.regions))
            return super().render(pending, plans)

    mask = Noting("blackout")
    Edited(FixedRegions(mask, [Region(1.0, 2.0, 30.0, 40.0)]), lambda _: edits, lambda _: {}, mask).render(pending, [])
    assert len(told) == 1 and len(told[0]) == 2 and (180.0, 100.0, 200.0, 120.0) in told[0]


@pytest.mark.parametrize(
    ("known", "given"),
    [
        ({1: (30.0, 20.0, 70.0, 70.0), 2: RIGHT}, 2),
        ({2: RIGHT}, 2),
        ({1: LEFT, 2: RIGHT}, 0),
        ({1: (float("nan"), 20.0, 60.0, 70.0)}, 2),
    ],
    ids=["elsewhere", "not in the analysis", "not in this run", "no number"],
)
def test_what_is_to_be_open_but_is_not_there_ends_the_run(known: dict[int, Box], given: int) -> None:
    edits = FrameEdits(frozenset(), {1: 7}, {}, (), (), {})
    with pytest.raises(FailedClosed, match="frame 3"):
        filtered(edits, known, tracks()[:given])


def test_all_of_a_box_that_a_hand_drew_lies_inside_the_head_that_is_covered() -> None:
    """The desk fills the box; the soft redaction is an ellipse."""
    box = (60.0, 40.0, 100.0, 90.0)
    edits = FrameEdits(frozenset(), {}, {}, ((4, box),), (), {})
    mask = MaskFaces("blackout")
    edited = Edited(mask, lambda index: edits, lambda index: {}, mask)
    pending = PendingFrame(frame(), (), None)
    edited.observe(pending, [pending])
    (plan,) = settled(edited, [pending], ())
    x, y = np.array([60.0, 100.0, 60.0, 100.0]), np.array([40.0, 40.0, 90.0, 90.0])
    assert (plan.head.radii(x, y) <= 1).all()


def test_without_edits_nothing_changes() -> None:
    done, _ = filtered(NOTHING, {}, tracks())
    assert [one.track for one in done.redactions] == [1, 2]
