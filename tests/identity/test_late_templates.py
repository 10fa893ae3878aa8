"""Templates that come late: many people at once, many frames a second. Who is known still gets one in the end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.identity.identity_check import Estimate, IdentityCheck
from streamdeid.identity.register import PersonRegister, new_persons

_BOX = (0.0, 0.0, 9.0, 9.0)
_PICTURE = Planes(np.zeros((2, 2), np.uint8), np.zeros((1, 1), np.uint8), np.zeros((1, 1), np.uint8))


class _People:
    """People whose every frame is good, and whose templates are there after so many of them."""

    def __init__(self, after: int) -> None:
        self.persons = new_persons(reentry=True)
        self.estimates = 0
        self._after = after
        self._good: dict[int, int] = {}
        self._check = IdentityCheck(PersonRegister(self.persons), self._estimate, lambda person, y: None)
        self._index = 0

    def _estimate(self, tracklet: int, final: bool) -> Estimate:
        self.estimates += 1
        there = self._good.get(tracklet, 0) >= self._after
        return Estimate(np.zeros(3), np.array([1e5 * (tracklet % 3), 0.0]) if there else None)

    def frame(self, tracks: list[int]) -> dict[int, int | None]:
        """One more frame; the person of each track, as it is published at once."""
        frame = Frame(_PICTURE, Fraction(self._index, 30), self._index)
        self._index += 1
        shown = [Track(number, _BOX, Face(_BOX, 1.0), 0, False) for number in tracks]
        tracklets = self._check.update(frame, shown, {})
        for tracklet in tracklets:
            self._check.saw(tracklet.number)
            self._good[tracklet.number] = self._good.get(tracklet.number, 0) + 1
        self._check.settle()
        found = {track: self._check.settle_last(one.number) for track, one in zip(tracks, tracklets, strict=True)}
        return found


@pytest.mark.parametrize("after", [3, 30, 60, 150])
def test_who_was_named_before_there_was_a_template_is_recognised_later(after: int) -> None:
    people = _People(after)
    for _ in range(200):
        first = people.frame([1, 2])
    people.frame([])
    people._after = 3  # they come back one by one, and the recogniser has time for them
    for _ in range(30):
        again = people.frame([4])  # tracklet 3: as the template of neither
    for _ in range(30):
        back = people.frame([4, 5])
    assert again[4] not in first.values()
    assert back[5] == first[1]


def test_an_estimate_is_not_made_in_every_frame_without_a_template() -> None:
    people = _People(3)
    for _ in range(30):
        people.frame([1])
    people.frame([])
    people._after, people.estimates = 10_000, 0
    for _ in range(23):
        assert people.frame([2]) == {2: None}, "it may be the first one"
    assert people.estimates <= 6
