"""A head that turns quickly beside somebody: its doubt is undone throughout where its patch was always found again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.identity.test_looks import A, B, C, Shown, alike, doubt, doubted, moved, patched, picture, shifted


def turning(count: int, alike: float) -> list[NDArray[np.uint8]]:
    """A head that turns so quickly that each picture of it correlates by so much with the one before; the first is
    `moved(0)`."""
    head = picture(7)[100:160, 100:160].astype(np.float64) - 127
    shown = [moved(0)]
    for seed in range(1, count):
        other = picture(50 + seed)[100:160, 100:160].astype(np.float64) - 127
        head = alike * head + np.sqrt(1 - alike**2) * other
        shown.append(moved(0))
        shown[-1][100:160, 100:160] = np.clip(head + 127, 0, 255)
    return shown


@pytest.mark.parametrize(
    ("correlates", "looks", "undone"),
    [
        (0.86, [(0.3, 0.2), (0.3, 0.2), (0.45, 0.1)], True),
        (0.86, [(0.3, 0.2), None, (0.45, 0.1)], False),  # nothing tells that it is not the one near
        (0.86, [(0.3, 0.2), (0.2, 0.3), (0.45, 0.1)], False),
        (0.6, [(0.3, 0.2), (0.3, 0.2), (0.45, 0.1)], False),  # that could be another head
    ],
)
def test_a_doubt_is_undone_throughout_where_the_patch_was_found_again_all_the_time(
    correlates: float, looks: Sequence[tuple[float, float] | None], undone: bool
) -> None:
    """Also where it is less alike than patches that lead: the face is known before and after."""
    beside = Shown(B, number=2, box=shifted(90), near=True)
    pictures = turning(len(looks) + 2, correlates)
    played = patched(beside)
    for shares, luma in zip(looks, pictures[1:], strict=False):
        look = None if shares is None else alike((A, shares[0]), (B, shares[1]))
        assert doubted(played.frame(doubt(look, near=True), beside, luma=luma))[0]
    verdict = played.frame(doubt(A, near=True), beside, luma=pictures[-1])
    assert not doubted(verdict)[0]
    assert verdict.groundless.get(1, []) == ([10, 11, 12] if undone else [])


@pytest.mark.parametrize(("share", "near", "undone"), [(0.45, True, False), (0.55, True, True), (0.55, False, False)])
def test_where_the_looks_of_those_near_are_not_known_the_face_has_to_be_half_like_itself(
    share: float, near: bool, undone: bool
) -> None:
    """And where nobody is near, only what looks like itself is undone, and what patches lead to."""
    pictures = turning(5, 0.86)
    beside = [Shown(None, number=2, box=shifted(90), near=True)] if near else []
    played = patched(*beside)
    for luma in pictures[1:4]:
        assert doubted(played.frame(doubt(alike((A, share)), near=near), *beside, luma=luma))[0]
    verdict = played.frame(doubt(A, near=near), *beside, luma=pictures[-1])
    assert not doubted(verdict)[0]
    assert (verdict.groundless.get(1) == [10, 11, 12]) == undone


def test_the_looks_of_all_who_were_near_have_to_be_known() -> None:
    """Also of one who is gone, and may have come back as this one."""
    for left, undone in ((2, False), (3, True)):
        beside = [Shown(B, number=2, box=shifted(80), near=True), Shown(C, number=3, box=shifted(-80), near=True)]
        pictures = turning(5, 0.86)
        played = patched(*beside)
        played.frame(doubt(alike((A, 0.3), (B, 0.1), (C, 0.1)), near=True), *beside, luma=pictures[1])
        for luma in pictures[2:4]:
            look = alike((A, 0.3), (B, 0.1), (C, 0.1))
            played.frame(doubt(look, near=True), *beside[: left - 1], luma=luma)
        verdict = played.frame(doubt(A, near=True), *beside[: left - 1], luma=pictures[4])
        assert (verdict.groundless.get(1) == [10, 11, 12]) == undone, left


def test_a_patch_that_tells_heads_apart_is_enough_where_there_is_no_look() -> None:
    beside = Shown(B, number=2, box=shifted(90), near=True)
    pictures = turning(2, 0.86)
    played = patched(beside)
    played.frame(doubt(alike((A, 0.3), (B, 0.2)), near=True), beside, luma=pictures[1])
    played.frame(doubt(None, near=True), beside, luma=pictures[1])
    assert played.frame(doubt(A, near=True), beside, luma=pictures[1]).groundless[1] == [10, 11]


def test_each_doubt_is_undone_for_itself() -> None:
    beside = Shown(B, number=2, box=shifted(90), near=True)
    pictures = turning(5, 0.86)
    played = patched(beside)
    played.frame(doubt(alike((A, 0.3), (B, 0.5)), near=True), beside, luma=pictures[0])
    assert not played.frame(doubt(A, near=True), beside, luma=pictures[0]).groundless
    played.frame(Shown(A, near=True), beside, luma=pictures[0])
    for luma in pictures[1:4]:
        played.frame(doubt(alike((A, 0.3), (B, 0.1)), near=True), beside, luma=luma)
    assert played.frame(doubt(A, near=True), beside, luma=pictures[4]).groundless[1] == [13, 14, 15]


def test_where_the_patch_was_found_again_all_the_time_a_weaker_likeness_is_enough() -> None:
    for correlates, cleared in ((0.86, True), (0.6, False)):
        beside = Shown(B, number=2, box=shifted(90), near=True)
        pictures = turning(3, correlates)
        played = patched(beside)
        played.frame(doubt(alike((A, 0.3)), near=True), beside, luma=pictures[1])
        verdict = played.frame(doubt(alike((A, 0.67)), near=True), beside, luma=pictures[2])
        assert doubted(verdict)[0] is not cleared, correlates
