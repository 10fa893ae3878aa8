"""Is it still the same face? Doubts cleared, kept and undone by looks, and tracklets broken where they must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.identity.looks import Break, BreakCause, Look, Looks, LooksVerdict

RATE = 25
BOX = (100.0, 100.0, 160.0, 160.0)
EMPTY = np.zeros((2, 2), np.uint8)
A, B, C = (np.eye(12, dtype=np.float32)[place] for place in range(3))
"""Faces that look nothing like each other."""


def alike(*likenesses: tuple[Look, float], beside: int = 8) -> Look:
    """A look that correlates so much with each of some others; what is left of it is nobody's."""
    others = np.stack([look for look, _ in likenesses]).astype(np.float64)
    inside = np.linalg.lstsq(others, np.array([share for _, share in likenesses]), rcond=None)[0]
    rest = np.eye(12)[beside]
    rest -= np.linalg.lstsq(others.T, rest, rcond=None)[0] @ others
    look: Look = (inside + rest / np.linalg.norm(rest) * np.sqrt(1 - inside @ inside)).astype(np.float32)
    for other, share in likenesses:
        assert abs(float(look @ other) - share) < 1e-4
    return look


@dataclass(frozen=True)
class Shown:
    """What a frame shows of one track."""

    look: Look | None
    ambiguous: bool = False
    near: bool = False
    lost: bool = False
    number: int = 1
    box: tuple[float, float, float, float] = BOX


def doubt(look: Look | None, *, near: bool = False, number: int = 1) -> Shown:
    return Shown(look, ambiguous=True, near=near, number=number)


GONE = Shown(None, lost=True)


class Played:
    """Looks that are told frame by frame what is seen."""

    def __init__(self, patches: bool = False) -> None:
        self.looks = Looks(patches)
        self.index = -1

    def frame(self, *shown: Shown, luma: NDArray[np.uint8] = EMPTY) -> LooksVerdict:
        """The verdict on the next frame."""
        self.index += 1
        tracks = [
            Track(each.number, each.box, None if each.lost else Face(each.box, 0.9), int(each.lost), each.ambiguous,
                  each.near)
            for each in shown
        ]  # fmt: skip
        told = {each.number: each.look for each in shown if each.look is not None}
        frame = Frame(Planes(luma, EMPTY, EMPTY), Fraction(self.index, RATE), self.index)
        verdict = self.looks(frame, tracks, told)
        assert [track.number for track in verdict.tracks] == [track.number for track in tracks]
        return verdict

    def frames(self, shown: Shown, count: int) -> LooksVerdict:
        """The verdict on the last of so many frames that show the same."""
        for _ in range(count - 1):
            self.frame(shown)
        return self.frame(shown)


def doubted(verdict: LooksVerdict) -> list[bool]:
    return [track.ambiguous for track in verdict.tracks]


def known(look: Look = A, count: int = 10) -> Played:
    """A face that was seen for a while without any doubt."""
    played = Played()
    verdict = played.frames(Shown(look), count)
    assert doubted(verdict) == [False] and not verdict.broken and not verdict.groundless
    return played


@pytest.mark.parametrize(("near", "least"), [(False, 0.65), (True, 0.75)])
def test_a_doubt_is_cleared_at_once_when_the_face_looks_like_itself(near: bool, least: float) -> None:
    for share, left in ((least + 0.02, False), (least - 0.02, True)):
        verdict = known().frame(doubt(alike((A, share)), near=near))
        assert doubted(verdict) == [left]
        assert not verdict.broken and not verdict.groundless


def test_of_a_doubt_that_nobody_was_near_the_frames_are_undone_in_which_it_looked_like_itself() -> None:
    played = known()
    for share in (0.62, 0.58, 0.61, 0.3):
        assert doubted(played.frame(doubt(alike((A, share))))) == [True]
    assert doubted(played.frame(doubt(None))) == [True]
    verdict = played.frame(doubt(A))
    assert doubted(verdict) == [False]
    assert verdict.groundless == {1: [10, 12]}
    assert played.frame(doubt(A)).groundless == {}, "once"


@pytest.mark.parametrize("crowded", range(4))
def test_nothing_is_undone_where_somebody_was_near(crowded: int) -> None:
    """In the last frame before the doubt, in it, while the face was lost, or only at its end."""
    played = known(count=9)
    looked = alike((A, 0.62))
    played.frame(Shown(A, near=crowded == 0))
    played.frame(doubt(looked, near=crowded == 1))
    played.frame(Shown(None, lost=True, near=crowded == 2))
    verdict = played.frame(doubt(A, near=crowded == 3))
    assert doubted(verdict) == [False] and verdict.groundless == {}
    verdict = played.frame(Shown(A))
    played.frame(doubt(looked))
    assert played.frame(Shown(A)).groundless == {1: [14]}, "the next doubt is judged by itself"


def test_a_stranger_who_slides_in_while_templates_are_frozen_is_not_learned() -> None:
    """Each frame looks like the last one, all of them are in doubt, and the doubt is cleared in the first few."""
    played = known()
    lefts = []
    angles = np.linspace(0, np.pi / 2, 46)
    for angle in angles[1:]:
        verdict = played.frame(doubt((np.cos(angle) * A + np.sin(angle) * B).astype(np.float32)))
        assert not verdict.broken and not verdict.groundless
        lefts += doubted(verdict)
    assert lefts == sorted(lefts), "cleared at first, and never again"
    assert 10 < lefts.count(False) < 30
    assert played.frames(Shown(B), 4).broken == {}
    assert played.frame(Shown(B)).broken == {1: Break(BreakCause.CROSSING, likely=False)}


def test_five_failed_looks_without_geometric_doubt_break_a_tracklet_and_four_do_not() -> None:
    played = known()
    for _ in range(20):
        assert not played.frame(doubt(B, near=True)).broken, "as long as geometry doubts, nothing is decided"
    for _ in range(4):
        verdict = played.frame(Shown(B))
        assert doubted(verdict) == [True] and not verdict.broken
    assert doubted(played.frame(Shown(A))) == [False]
    played.frame(doubt(B, near=True))
    for _ in range(4):
        assert not played.frame(Shown(B)).broken, "the count began anew"
    verdict = played.frame(Shown(B))
    assert verdict.broken.keys() == {1} and doubted(verdict) == [True]
    verdict = played.frame(Shown(B))
    assert doubted(verdict) == [False] and not verdict.broken, "from then on it is the stranger's"


def test_the_frame_that_breaks_a_tracklet_is_the_first_of_the_next() -> None:
    played = known()
    while not played.frame(Shown(B)).broken:
        assert played.index < 30
    assert doubted(played.frame(doubt(B))) == [False]


def test_a_face_that_looks_like_itself_in_the_doubt_starts_the_count_of_failures_anew() -> None:
    played = known()
    for _ in range(3):
        played.frame(doubt(B, near=True))
        for _ in range(4):
            assert not played.frame(Shown(B)).broken
        assert doubted(played.frame(doubt(A))) == [False]


@pytest.mark.parametrize(("frames", "share", "left"), [(5, 0.78, False), (6, 0.78, True), (6, 0.82, False)])
def test_after_a_longer_loss_a_face_must_look_more_like_itself(frames: int, share: float, left: bool) -> None:
    """Seven intervals of 40 ms are more than a quarter of a second, six are not."""
    played = known()
    played.frames(GONE, frames)
    assert doubted(played.frame(Shown(alike((A, share))))) == [left]


def test_who_comes_back_as_somebody_else_breaks_the_tracklet() -> None:
    played = known()
    played.frames(GONE, 20)
    assert played.frames(Shown(alike((A, 0.7))), 4).broken == {}
    assert played.frame(Shown(alike((A, 0.7)))).broken == {1: Break(BreakCause.LOST, likely=True)}


@pytest.mark.parametrize(("rival", "near", "left"), [(0.75, True, True), (0.66, True, False), (0.75, False, False)])
def test_somebody_near_who_looks_as_much_alike_keeps_the_doubt(rival: float, near: bool, left: bool) -> None:
    other = alike((A, 0.5))
    between = alike((A, 0.8), (other, rival), beside=5)
    played = Played()
    for _ in range(10):
        played.frame(Shown(A), Shown(other, number=2))
    verdict = played.frame(doubt(between, near=near), doubt(other, near=near, number=2))
    assert doubted(verdict) == [left, False]


def test_a_change_from_one_frame_to_the_next_is_a_doubt_without_any_other() -> None:
    """A cut that nobody noticed: the new face is where the old one was."""
    assert doubted(known().frame(Shown(alike((A, 0.62))))) == [False]
    played = known()
    for _ in range(4):
        verdict = played.frame(Shown(B))
        assert doubted(verdict) == [True] and not verdict.broken
    assert played.frame(Shown(B)).broken == {1: Break(BreakCause.CHANGED, likely=False)}
    played = known()
    assert doubted(played.frame(Shown(alike((A, 0.5))))) == [True]
    assert doubted(played.frame(Shown(alike((A, 0.7))))) == [True], "after a change .65 is not enough"
    verdict = played.frame(Shown(alike((A, 0.77))))
    assert doubted(verdict) == [False] and verdict.groundless == {1: [11]}


def test_a_look_of_seconds_ago_is_no_change() -> None:
    """A grimace and back: unlike the last frame, but like an earlier one. Without a doubt rivals are not asked."""
    played = Played()
    other = alike((A, 0.95))
    for angle in np.linspace(0, np.pi / 2, 15):
        look = (np.cos(angle) * A + np.sin(angle) * B).astype(np.float32)
        played.frame(Shown(look, near=True), Shown(other, near=True, number=2))
    assert doubted(played.frame(Shown(A, near=True), Shown(other, near=True, number=2))) == [False, False]


@pytest.mark.parametrize(("seconds", "left"), [(1.0, False), (3.0, True)])
def test_the_templates_of_the_last_two_seconds_are_kept(seconds: float, left: bool) -> None:
    played = known()
    for angle in np.linspace(0, np.pi / 2, 15):
        played.frame(Shown((np.cos(angle) * A + np.sin(angle) * B).astype(np.float32)))
    played.frames(Shown(B), int(seconds * RATE))
    assert doubted(played.frame(doubt(A))) == [left]


def test_a_face_in_doubt_from_the_start_is_known_after_five_frames_running_that_look_alike() -> None:
    played = Played()
    for _ in range(5):
        assert doubted(played.frame(doubt(A, near=True))) == [True]
    assert doubted(played.frame(doubt(A, near=True))) == [False]
    assert doubted(played.frame(doubt(A, near=True))) == [False]
    assert doubted(played.frame(doubt(B, near=True))) == [True], "its look was learned"


@pytest.mark.parametrize("between", [B, None])
def test_a_swap_in_between_starts_the_count_anew(between: Look | None) -> None:
    played = Played()
    shown = [A, A, A, A, A, between, *[B] * 5]
    lefts = [left for look in shown for left in doubted(played.frame(doubt(look, near=True)))]
    assert lefts == [True] * len(shown[:-1]) + [between is None]


OTHER = alike((A, 0.8))
"""As two people look in a poor picture."""


def beside(apart: float) -> Shown:
    return replace(Shown(OTHER, near=True, number=2), box=shifted(apart))


def side_by_side(apart: float = 60.0) -> Played:
    """Two who were seen without doubt, so many pixels from each other."""
    played = Played()
    for _ in range(10):
        played.frame(Shown(A, near=True), beside(apart))
    return played


@pytest.mark.parametrize(("own", "rival", "left"), [(0.9, 0.83, False), (0.9, 0.86, True), (0.78, 0.6, False)])
def test_in_poor_pictures_where_everybody_looks_alike_a_smaller_step_tells(
    own: float, rival: float, left: bool
) -> None:
    look = alike((A, own), (OTHER, rival), beside=9)
    assert doubted(side_by_side().frame(doubt(look, near=True), beside(60.0))) == [left, False]


@pytest.mark.parametrize(("apart", "left"), [(60.0, True), (400.0, False)])
def test_who_was_never_within_reach_is_no_rival(apart: float, left: bool) -> None:
    look = alike((A, 0.8), (OTHER, 0.95), beside=9)
    assert doubted(side_by_side(apart).frame(doubt(look, near=True), beside(apart))) == [left, False]


def test_who_was_near_when_the_doubt_began_stays_a_rival() -> None:
    played, look = side_by_side(), alike((A, 0.8), (OTHER, 0.95), beside=9)
    for step in range(1, 8):
        assert doubted(played.frame(doubt(look, near=True), beside(60.0 * step))) == [True, False]


def test_two_in_doubt_from_the_start_who_look_alike_are_not_told_apart() -> None:
    twin = alike((A, 0.93))
    played = Played()
    for _ in range(12):
        verdict = played.frame(doubt(A, near=True), doubt(twin, near=True, number=2))
        assert doubted(verdict) == [True, True]
    for _ in range(5):
        played.frame(doubt(A, near=True), doubt(B, near=True, number=2))
    assert doubted(played.frame(doubt(A, near=True), doubt(B, near=True, number=2))) == [False, False]


def test_a_face_without_a_look_breaks_at_the_end_of_a_doubt() -> None:
    played = Played()
    assert doubted(played.frames(Shown(None), 10)) == [False]
    for _ in range(8):
        verdict = played.frame(doubt(None))
        assert doubted(verdict) == [True] and not verdict.broken
    verdict = played.frame(Shown(None))
    assert verdict.broken == {1: Break(BreakCause.UNKNOWN, likely=True)} and doubted(verdict) == [True]
    assert doubted(played.frame(Shown(None))) == [False]
    played.frames(GONE, 8)
    assert played.frame(Shown(None)).broken == {1: Break(BreakCause.UNKNOWN, likely=True)}
    played.frame(doubt(None, near=True))
    assert played.frame(Shown(None)).broken == {1: Break(BreakCause.UNKNOWN, likely=False)}


@pytest.mark.parametrize(
    ("begun", "cause", "likely"),
    [
        (doubt(B), BreakCause.CHANGED, False),
        (Shown(B), BreakCause.CHANGED, False),
        (doubt(alike((A, 0.62))), BreakCause.CROSSING, True),
        (doubt(alike((A, 0.62)), near=True), BreakCause.CROSSING, False),
        (GONE, BreakCause.LOST, True),
        (Shown(None, lost=True, near=True), BreakCause.LOST, False),
    ],
)
def test_causes_are_named_and_the_same_person_is_likely_only_if_nothing_but_geometry_speaks_against_it(
    begun: Shown, cause: BreakCause, likely: bool
) -> None:
    played = known()
    going_on = Shown(alike((A, 0.62)) if cause is not BreakCause.CHANGED else B)
    broken = [played.frame(shown).broken for shown in [begun] * 8 + [going_on] * 5]
    assert [each for each in broken if each] == [{1: Break(cause, likely)}]


def test_the_cause_of_an_earlier_doubt_is_not_that_of_a_later_one() -> None:
    played = known()
    assert doubted(played.frame(Shown(B))) == [True]  # a change, which was none
    assert doubted(played.frames(Shown(A), 10)) == [False]
    played.frame(Shown(None, lost=True, ambiguous=True, near=True))
    assert played.frames(Shown(alike((A, 0.62))), 5).broken == {1: Break(BreakCause.CROSSING, likely=False)}


def test_a_track_that_ended_is_forgotten() -> None:
    """Nothing is known of it any more, and nobody is compared with it."""
    played = known()
    played.frame()
    assert doubted(played.frame(doubt(A))) == [True], "nothing is known to compare it with"
    other = alike((A, 0.5))
    between = alike((A, 0.8), (other, 0.75), beside=5)
    played = Played()
    for _ in range(10):
        played.frame(Shown(A), Shown(other, number=2))
    assert doubted(played.frame(doubt(between, near=True))) == [False], "the rival is gone"


def test_the_same_frames_give_the_same_verdicts() -> None:
    def verdicts() -> list[LooksVerdict]:
        rng = np.random.default_rng(9)
        played = Played()
        found = []
        for index in range(400):
            faces = rng.permutation(3) if index // 20 % 2 else range(3)  # every other second they are mixed up
            shown = []
            for number, face in enumerate(faces, 1):
                look = alike(((A, B, C)[face], float(rng.choice([0.62, 0.9]))), beside=6 + number)
                states = rng.random(4) < (0.05, 0.2, 0.1, 0.1)
                shown.append(Shown(None if states[0] else look, *(bool(state) for state in states[1:]), number))
            found.append(played.frame(*shown))
        return found

    once = verdicts()
    assert once == verdicts()
    assert sum(len(verdict.broken) for verdict in once) > 2 and sum(len(verdict.groundless) for verdict in once) > 2


def picture(seed: int) -> NDArray[np.uint8]:
    """A luma picture full of detail, uint8 (240, 320)."""
    rough = np.random.default_rng(seed).uniform(20, 235, (30, 40)).astype(np.float32)
    return np.clip(cv2.resize(rough, (320, 240), interpolation=cv2.INTER_CUBIC), 0, 255).astype(np.uint8)


def moved(by: int) -> NDArray[np.uint8]:
    """A head 60 pixels wide, so far to the right, before a plain wall."""
    luma = np.full((240, 320), 90, np.uint8)
    luma[100:160, 100 + by : 160 + by] = picture(7)[100:160, 100:160]
    return luma


def shifted(by: float) -> tuple[float, float, float, float]:
    return BOX[0] + by, BOX[1], BOX[2] + by, BOX[3]


@pytest.mark.parametrize(
    ("after", "by", "left"),
    [
        (moved(0), 0, False),
        (moved(20), 20, False),
        (moved(60), 60, False),  # it is looked for where the face went
        (moved(0), 35, True),  # the detector took something else for the face, the head is where it was
        (moved(0), 25, False),
        (picture(5), 0, True),  # another scene
        (picture(5)[:200], 0, False),  # a picture of another size tells nothing
    ],
)
def test_a_head_that_is_not_where_its_patch_was_becomes_a_doubt(
    after: NDArray[np.uint8], by: float, left: bool
) -> None:
    for patches in (True, False):
        played = Played(patches)
        for _ in range(10):
            assert doubted(played.frame(Shown(A), luma=moved(0))) == [False]
        verdict = played.frame(Shown(alike((A, 0.7)), box=shifted(by)), luma=after)
        assert doubted(verdict) == [left and patches]


def test_a_head_that_is_elsewhere_but_looks_like_itself_is_cleared_and_one_that_does_not_breaks() -> None:
    for share, broken in ((0.77, {}), (0.7, {1: Break(BreakCause.CHANGED, likely=False)})):
        played = Played(patches=True)
        for _ in range(10):
            played.frame(Shown(A), luma=moved(0))
        found: dict[int, Break] = {}
        for _ in range(5):
            found |= played.frame(Shown(alike((A, share))), luma=picture(5)).broken
        assert found == broken


def test_a_head_that_goes_on_from_frame_to_frame_is_none() -> None:
    """It is compared with the last picture, not with the first."""
    played = Played(patches=True)
    for step in range(5):
        look = A if step % 2 else alike((A, 0.7))
        assert doubted(played.frame(Shown(look, box=shifted(30 * step)), luma=moved(30 * step))) == [False]


def test_a_face_that_was_lost_in_the_last_frame_has_no_patch() -> None:
    played = patched()
    played.frame(GONE, luma=moved(0))
    assert doubted(played.frame(Shown(alike((A, 0.8))), luma=picture(5))) == [False]


def test_after_a_short_loss_the_look_alone_decides() -> None:
    """No patch says who took the place, so a face must look like itself; the owner is cleared in the next frame."""
    played = patched()
    played.frame(GONE, luma=moved(0))
    assert doubted(played.frame(Shown(alike((A, 0.7))), luma=moved(0))) == [True]
    assert doubted(played.frame(Shown(A), luma=moved(0))) == [False]


def patched(*beside: Shown) -> Played:
    """As `known`, with pictures, and perhaps beside others."""
    played = Played(patches=True)
    for _ in range(10):
        assert doubted(played.frame(Shown(A), *beside, luma=moved(0)))[:1] == [False]
    return played


def test_somewhat_like_itself_is_enough_where_patches_lead_from_a_frame_in_which_it_was_known() -> None:
    """That may be one in which a doubt was cleared, while boxes still overlap."""
    unlike, likely = alike((A, 0.5)), alike((A, 0.62))
    played = patched()
    played.frame(doubt(unlike, near=True), luma=picture(5))
    assert doubted(played.frame(doubt(likely, near=True), luma=picture(5))) == [True], "the picture jumped before"
    assert doubted(played.frame(doubt(A, near=True), luma=picture(5))) == [False]
    assert doubted(played.frame(doubt(likely, near=True), luma=picture(5))) == [False]
    assert doubted(played.frame(doubt(unlike, near=True), luma=picture(5))) == [True]


@pytest.mark.parametrize(("share", "near", "undone"), [(0.4, False, True), (0.55, True, True), (0.45, True, False)])
def test_frames_are_undone_that_patches_lead_from_to_one_in_which_the_face_is_known(
    share: float, near: bool, undone: bool
) -> None:
    """Before the doubt or at its end, however the mesh lies; where somebody is near only if it half looks like it."""
    likely = alike((A, share))
    played = patched()
    for luma in (moved(0), moved(0), picture(5), picture(6), picture(6)):
        assert doubted(played.frame(doubt(likely, near=near), luma=luma)) == [True]
    verdict = played.frame(doubt(A, near=near), luma=picture(6))
    assert doubted(verdict) == [False]
    assert verdict.groundless == ({1: [10, 11, 13, 14]} if undone else {}), "nothing leads to or from 12"
    assert played.frame(Shown(A), luma=picture(6)).groundless == {}


def test_where_somebody_near_is_as_much_alike_patches_do_not_lead() -> None:
    """They may have led onto him; neither they nor what follows them is undone."""
    played = patched(Shown(B, number=2, box=shifted(90)))
    for look in (alike((A, 0.62), (B, 0.6)), alike((A, 0.2), (B, 0.97)), alike((A, 0.62), (B, 0.6))):
        shown = doubt(look, near=True), Shown(B, number=2, box=shifted(90), near=True)
        assert doubted(played.frame(*shown, luma=moved(0)))[0]
    verdict = played.frame(doubt(A, near=True), Shown(B, number=2, box=shifted(90), near=True), luma=moved(0))
    assert not doubted(verdict)[0] and not verdict.groundless


@pytest.mark.parametrize("company", [False, True])
def test_frames_that_lead_to_a_break_are_of_the_tracklet_that_begins_there(company: bool) -> None:
    """Unless somebody else was in the picture, who might be the one that the tracklet turns out to show."""
    played = patched()
    other = [Shown(C, number=2, box=shifted(150))] if company else []
    for luma in (picture(5), picture(6), picture(6), picture(6)):
        assert 1 not in played.frame(Shown(B), *other, luma=luma).broken
    verdict = played.frame(Shown(B), *other, luma=picture(6))
    led = [] if company else [11, 12, 13]
    assert 1 in verdict.broken and verdict.leading[1] == led and 1 not in verdict.groundless
    verdict = played.frame(Shown(B), *other, luma=picture(6))
    assert doubted(verdict)[0] is False
    assert verdict.groundless[1] == [*led, 14] and not verdict.leading
    assert 1 not in played.frame(Shown(B), *other, luma=picture(6)).groundless


def test_frames_through_which_patches_led_to_a_break_are_nobodys() -> None:
    """They led from one in which somebody else was known: somewhere they slid."""
    played = patched()
    played.frame(doubt(alike((A, 0.3))), luma=moved(0))
    for _ in range(5):
        verdict = played.frame(Shown(alike((A, 0.3))), luma=moved(0))
    assert verdict.broken and verdict.leading == {1: []}


def test_who_was_too_small_for_anything_is_compared_when_there_is_a_look() -> None:
    tiny = 127.0, 127.0, 132.0, 132.0
    for look, left in ((A, False), (B, True)):
        played = patched()
        for _ in range(5):
            assert doubted(played.frame(Shown(None, box=tiny), luma=moved(0))) == [False]
        played.frame(Shown(None), luma=moved(0))
        assert doubted(played.frame(Shown(look), luma=moved(0))) == [left]


def test_a_tracklet_that_begins_elsewhere_than_it_goes_on_keeps_its_doubt() -> None:
    played = patched()
    for _ in range(5):
        verdict = played.frame(Shown(B), luma=picture(5))
    assert verdict.broken
    assert not played.frame(Shown(B), luma=picture(6)).groundless


def test_a_face_that_is_lost_in_a_doubt_is_in_doubt() -> None:
    played = known()
    played.frame(doubt(alike((A, 0.3)), near=True))
    assert doubted(played.frame(GONE)) == [True]
    assert doubted(played.frame(Shown(A))) == [False]
    assert doubted(played.frame(GONE)) == [False]


def test_a_box_twice_as_large_about_one_middle_is_one_head() -> None:
    large = BOX[0] - 30, BOX[1] - 30, BOX[2] + 30, BOX[3] + 30
    for near in (True, False):
        assert doubted(patched().frame(Shown(alike((A, 0.7)), near=near, box=large), luma=moved(0))) == [False]


@pytest.mark.parametrize(("near", "left"), [(True, True), (False, False)])
def test_a_box_half_beside_its_head_is_a_doubt_where_somebody_is_near(near: bool, left: bool) -> None:
    by = 0.57 * (BOX[2] - BOX[0])
    assert doubted(patched().frame(Shown(alike((A, 0.7)), near=near, box=shifted(by)), luma=moved(0))) == [left]


def test_a_patch_that_is_too_small_says_nothing() -> None:
    tiny = 100.0, 100.0, 105.0, 105.0
    played = Played(patches=True)
    for luma in (*[moved(0)] * 10, picture(5)):
        assert doubted(played.frame(Shown(None, box=tiny), luma=luma)) == [False]


def test_nothing_is_written_into_what_is_given() -> None:
    look = A.copy()
    luma = moved(0)
    played = Played(patches=True)
    shown: Sequence[Shown] = [Shown(look)] * 6 + [doubt(look)] * 3
    for each in shown:
        played.frame(each, luma=luma)
    assert np.array_equal(look, A) and np.array_equal(luma, moved(0))
