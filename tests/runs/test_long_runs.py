"""Runs that never end: what is kept of people, tracklets and frames stays bounded, and nothing is dropped too early."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.identity.identity_check import Estimate
from streamdeid.identity.person_templates import FusedTemplates
from streamdeid.identity.register import PersonRegister, new_persons
from streamdeid.observe.observation import Observation, Observer, sampled_face
from streamdeid.protect import measured_faces, replace_faces
from streamdeid.protect.measured_faces import MeasuredFaces
from streamdeid.protect.plan import at_once
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.runs.step import Step, filtered
from tests import drawn_faces


@dataclass
class Vector:
    vector: Points = field(repr=False)
    beard: bool = True


class Choice:
    """Gives everybody another vector and remembers them."""

    def __init__(self, length: int) -> None:
        self.table: dict[int, Vector] = {}
        self._length = length

    def surrogate(self, person: int, y: Points) -> Vector:
        return self.table.setdefault(person, Vector(np.full(self._length, float(person))))

    def forget(self, person: int) -> None:
        del self.table[person]


@dataclass
class Stage:
    """A filter whose measuring and drawing are left out."""

    filter: ReplaceFaces
    choice: Choice
    face: Face
    planes: Planes

    def frame(self, index: int, rate: float) -> Frame:
        return Frame(self.planes, Fraction(index) / Fraction(rate), index)


@pytest.fixture
def stage(model: AppearanceModel, fitting: FitModel, monkeypatch: pytest.MonkeyPatch) -> Stage:
    shape, texture = model.decode(drawn_faces.some_identity(model, 4))
    seen = drawn_faces.scene(model, shape, texture, drawn_faces.pose_at(model))
    found = Observer(fitting)(seen.planes, seen.face, 0.0)
    sampled = sampled_face(seen.planes, seen.face, fitting)
    choice = Choice(len(model.variances))

    def observer(fitting: FitModel) -> Any:
        return lambda planes, face, time, sampled: found

    class NoNeutral:
        ready = True

        def __getattr__(self, name: str) -> Any:
            return lambda *given: False

    def estimate(self: MeasuredFaces, number: int, final: bool) -> Estimate:
        vector = np.r_[1e5 * number, np.zeros(len(model.variances) - 1)]
        return Estimate(vector, vector)

    monkeypatch.setattr(measured_faces, "Observer", observer)
    monkeypatch.setattr(measured_faces, "NeutralEstimator", NoNeutral)
    monkeypatch.setattr(measured_faces, "OccluderMask", lambda fitting, mean: lambda seen, doubt: None)
    monkeypatch.setattr(measured_faces, "sampled_face", lambda planes, face, fitting: sampled)
    monkeypatch.setattr(MeasuredFaces, "_estimate", estimate)
    monkeypatch.setattr(FusedTemplates, "choose", lambda self, good: ())
    monkeypatch.setattr(replace_faces, "render_surrogate", lambda *given, **named: True)
    made = ReplaceFaces(fitting, choice, PersonRegister(new_persons(reentry=True, rate=10)))
    blank = np.zeros((64, 64), np.uint8)
    assert isinstance(found, Observation)
    return Stage(made, choice, seen.face, Planes(blank, blank[::2, ::2], blank[::2, ::2]))


def test_people_who_will_not_come_back_are_forgotten_everywhere(stage: Stage) -> None:
    """One every 15 frames and ten seconds: 60 fit into the ten minutes for which they are remembered."""
    filter, people, each, shown = stage.filter, 110, 15, 0
    for index in range(people * each):
        frame = stage.frame(index, 1.5)
        tracks = [Track(index // each + 1, stage.face.box, stage.face, 0, False)]
        shown += len(at_once(filter, frame, tracks).redactions)
        kept = (stage.choice.table, filter.vectors(), filter.decoded, filter._over)
        assert max(map(len, kept)) <= 64 and len(filter._faces._followed) <= 2
    assert len(stage.choice.table) > 50 and shown == people * each


@pytest.mark.parametrize(("rate", "ahead"), [(30, 10.0), (60, 10.0)])
def test_who_left_long_ago_is_still_drawn_in_the_frames_that_wait(stage: Stage, rate: int, ahead: float) -> None:
    shown = 40
    frames = [stage.frame(index, rate) for index in range(int(rate * ahead) + 60)]
    given = iter(range(len(frames)))

    class Tracker:
        def update(self, faces: Sequence[Face], time: Fraction) -> Sequence[Track]:
            return [Track(1, stage.face.box, stage.face, 0, False)] if next(given) < shown else []

    step: Step[None] = Step(lambda _: (), Tracker(), stage.filter)
    done = list(filtered(frames, step, int(rate * ahead)))
    assert Counter(redaction.level for one in done for redaction in one.frame.redactions) == {"own face": shown}
    assert not any(plan.cause for one in done for plan in one.plans)
    assert not stage.filter._faces._followed


def test_of_two_who_claim_one_person_in_a_frame_the_nearer_gets_it(stage: Stage) -> None:
    """Both come in together; the stranger's track has the lower number, and his face is just near enough."""
    near, far = 500.0, 3100.0
    places = {1: 0.0, 2: far, 3: near}
    check = stage.filter._faces.check

    def estimate(tracklet: int, final: bool) -> Estimate:
        return Estimate(np.zeros(2), np.array([places[tracklet], 0.0]))

    check._estimate = estimate
    check._named = lambda person, identity: None

    def played(start: int, numbers: Sequence[int]) -> None:
        for index in range(start, start + 15):
            tracks = [Track(number, stage.face.box, stage.face, 0, False) for number in numbers]
            tracklets = check.update(stage.frame(index, 25), tracks)
            for track in tracklets:
                check.saw(track.number)
            check.settle()

    played(0, [1])
    check.update(stage.frame(15, 25), [])
    played(16, [2, 3])
    assert check.settle_last(1) == check.settle_last(3) == 1 and check.settle_last(2) == 2
