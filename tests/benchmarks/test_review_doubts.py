"""The measure of the review list: what is deleted, what an entry points at, and what the first tenth is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.review.recorded_clips import Clip, Miss
from benchmarks.review.review_doubts import points_at, ranks, report
from benchmarks.review.seeded import KINDS, without
from streamdeid.core.arrays import Box
from streamdeid.review.doubts import Doubt
from tests.review.test_doubts import MIDDLE, Scene

LEFT: Box = (100.0, 250.0, 180.0, 330.0)


def clip(frames: int = 50) -> Clip:
    """Two faces that stand still; the independent detector sees the one in the middle only."""
    scene = Scene(frames).track(1, range(frames)).track(2, range(frames), LEFT)
    return Clip("drawn", scene.analysis, {index: [MIDDLE] for index in range(0, frames, 5)}, [], [2])


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_face_that_is_one_is_deleted_and_the_rest_stays_whole(kind: str) -> None:
    made = without(clip(), kind, np.random.default_rng(1))
    assert made is not None
    analysis, miss = made
    frames = sorted(miss.boxes)
    assert {"start": frames[0] == 0, "end": frames[-1] == 49, "whole": len(frames) == 50}.get(kind, frames[0] > 0)
    traces = 0
    for index, record in enumerate(analysis.frames):
        gone = index in miss.boxes
        assert [one.track for one in record.decisions] == ([2] if gone else [1, 2])
        assert record.found[record.decisions[-1].face or 0].box == LEFT
        traces += gone and len(record.found) == 2
    assert 0 < traces <= 6 if kind == "whole" else traces == 0


def test_a_clip_without_a_face_has_nothing_to_delete() -> None:
    assert without(replace(clip(), faces={0: []}), "start", np.random.default_rng(1)) is None
    assert without(clip(100), "whole", np.random.default_rng(1)) is None


def entry(first: int, last: int, box: Box, severity: float = 0.5, name: str = "a") -> Doubt:
    return Doubt(name, "gap", first, last, 0, 0, box, severity, "")


@pytest.mark.parametrize(
    ("doubt", "seen"),
    [
        (entry(40, 60, MIDDLE), True),
        (entry(76, 80, MIDDLE), False),
        (entry(20, 25, MIDDLE), True),
        (entry(40, 60, (541.0, 250.0, 580.0, 330.0)), True),
        (entry(40, 60, (561.0, 250.0, 600.0, 330.0)), False),
    ],
)
def test_an_entry_points_at_what_is_seen_beside_it_and_a_second_around(doubt: Doubt, seen: bool) -> None:
    assert points_at(doubt, Miss("gap", {50: MIDDLE}), 25.0) is seen


def test_ranks_are_shares_of_a_tenth_of_all_lists_and_of_the_own_one() -> None:
    away = [entry(0, 0, (0.0, 0.0, 1.0, 1.0), 0.9 - 0.01 * n, str(n)) for n in range(15)]
    lists = {"drawn": [*away[:5], entry(40, 60, MIDDLE, 0.5, "it")], "other": away[5:]}
    everywhere, own = ranks(lists, clip(), Miss("gap", {50: MIDDLE}))
    assert everywhere == 15 / 2 and own == 5
    lists["drawn"] = lists["drawn"][::-1]
    assert ranks(lists, clip(), Miss("gap", {50: MIDDLE}))[1] == 0
    assert math.isinf(ranks(lists, clip(), Miss("gap", {50: LEFT}))[0])


def test_a_report_counts_seeded_and_true_misses_and_says_which_are_absent() -> None:
    unseen = Miss("never seen", {20: (800.0, 20.0, 840.0, 60.0)})
    tables = report([replace(clip(), misses=[unseen])], 4, 1)
    total = tables["misses"][-1]
    assert (total["misses"], total["in the first tenth"]) == (5, 4)
    assert [row["kind"] for row in tables["absent"]] == ["true, never seen"]
