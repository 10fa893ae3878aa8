"""With the detector at the next frame while one is rendered, recordings come out as one after the other: to the bit."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.around_watch import AroundWatch
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame, Planes
from streamdeid.detection.guard import Watch
from streamdeid.runs.parts import assemble, timed_detector
from streamdeid.runs.session import Session
from streamdeid.runs.step import Done, Step, filtered
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import Models
from streamdeid.synthetic.people import synthetic_people

SIZE, RATE, CUT = (320, 240), Fraction(25), 14
FRAMES = 24


class Noted(Watch):
    """Counts the frames that were begun, on a class, since the parts make their own."""

    begun = 0
    again = 0

    def begin(self, frame: Frame) -> None:
        Noted.begun += 1
        super().begin(frame)

    def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
        Noted.again += 1
        return super().look_again(frame, track, box, others)


@pytest.fixture(scope="module")
def frames(fitting: FitModel, gallery: Gallery) -> list[Frame]:
    """Two drawn people, then one who was not there, alone and darker: a scene cut."""
    seconds = FRAMES / float(RATE)
    two = [one.frame for one in synthetic_people(fitting, gallery, people=2, seconds=seconds, size=SIZE, rate=25)]
    alone = [one.frame for one in synthetic_people(fitting, gallery, people=1, seconds=seconds, size=SIZE, rate=25)]
    darker = [replace(one, planes=_darker(one.planes)) for one in alone]
    return [two[n] if n < CUT else darker[n] for n in range(FRAMES)]


def _darker(planes: Planes) -> Planes:
    y = np.ascontiguousarray(16 + (planes.y[:, ::-1].astype(np.int32) - 16) // 2).astype(np.uint8)
    return replace(planes, y=y, u=np.ascontiguousarray(planes.u[:, ::-1]), v=np.ascontiguousarray(planes.v[:, ::-1]))


def _run(models: Models, frames: list[Frame], lookahead: int, beside: bool) -> tuple[list[Done[None]], int]:
    settings = Settings(lookahead=lookahead / float(RATE))
    with contextlib.closing(timed_detector(settings)) as detect:
        stream = assemble(Session(settings, models, bytes(range(32))), detect, size=SIZE, rate=RATE)
        watch = stream.detect
        assert isinstance(watch, Watch)
        found = watch if beside else AroundWatch(watch)
        step: Step[None] = Step(found, stream.tracker, stream.deidentifier)
        return list(filtered(iter([replace(one) for one in frames]), step, lookahead)), stream.cuts


@pytest.mark.parametrize("lookahead", [0, 5])
def test_the_pictures_and_all_that_was_decided_are_the_same(
    shipped_models: Models, frames: list[Frame], lookahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamdeid.runs.parts.Watch", Noted)
    Noted.begun = Noted.again = 0
    beside, cuts = _run(shipped_models, frames, lookahead, beside=True)
    assert Noted.begun == FRAMES - 1 - lookahead
    alone, others = _run(shipped_models, frames, lookahead, beside=False)
    assert Noted.begun == FRAMES - 1 - lookahead, "not in this one"
    assert cuts == others == 1 and len(beside) == len(alone) == FRAMES
    for one, other in zip(beside, alone, strict=True):
        for a, b in zip(_planes(one), _planes(other), strict=True):
            np.testing.assert_array_equal(a, b)
        assert one.frame.redactions == other.frame.redactions and one.persons == other.persons
        assert [face.box for face in one.pending.found] == [face.box for face in other.pending.found]
    assert any(one.frame.redactions for one in beside[CUT:]) and any(one.frame.redactions for one in beside[:CUT])


def _planes(done: Done[None]) -> tuple[np.ndarray, ...]:
    planes = done.frame.planes
    return planes.y, planes.u, planes.v
