"""A camera that is turned or carried: all parts of a run are told, from the detector to what renders a face."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Points
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.runs.filmed_again import FilmedAgain
from streamdeid.runs.parts import assemble
from streamdeid.runs.session import open_session
from streamdeid.runs.step import Done, filtered
from streamdeid.settings import Settings
from streamdeid.tracking import camera
from tests.drawn_faces import pose_at, scene, some_identity

SIDE, FRAMES, AHEAD = 240, 40, 10


class Beside:
    """A detector that sees a face of which everything is known in a window that moves over a picture."""

    def __init__(self, face: Face, offsets: Points) -> None:
        self._face, self._offsets = face, offsets
        self.moves: list[CameraMotion] = []

    def moved(self, motion: CameraMotion) -> None:
        self.moves.append(motion)

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        x, y = self._offsets[frame.index]
        face = self._face
        assert face.landmarks is not None and face.forehead is not None
        box = tuple(float(v) for v in np.array(face.box) - [x, y, x, y])
        return [
            replace(
                face, box=box, landmarks=face.landmarks - (x, y), forehead=face.forehead - (x, y), mesh=None, iris=None
            )
        ]


def run(model: AppearanceModel, offsets: Points) -> tuple[list[Done[None]], Beside]:
    """A still person filmed through a window that moves by offsets (n, 2), even pixels."""
    shape, texture = model.decode(some_identity(model, 3))
    made = scene(model, shape, texture, pose_at(model, 90.0))
    detect = Beside(made.face, offsets)
    step = assemble(
        open_session(Settings(lookahead=AHEAD / 25), b"k" * 32),
        detect,
        size=(SIDE, SIDE),
        rate=Fraction(25),
        tested=False,
    ).step()
    frames = (
        Frame(
            planes_from_rgb(np.ascontiguousarray(made.rgb[int(y) : int(y) + SIDE, int(x) : int(x) + SIDE])),
            Fraction(index, 25),
            index,
        )
        for index, (x, y) in enumerate(offsets)
    )
    return list(filtered(frames, step, AHEAD)), detect


def fresh(done: Sequence[Done[None]]) -> list[bool]:
    """Whether nothing of the frames before counted in each frame; nothing that is rendered lies beside the face."""
    found = []
    for one in done:
        (plan,) = one.plans
        assert plan.level.label == "own face" and plan.measured is not None
        seen = plan.measured.seen
        assert np.linalg.norm((seen.points - seen.raw).mean(axis=0)) < 1
        found.append(seen.fresh)
    return found


def test_a_shaken_camera_is_told_to_all_and_no_face_lags_behind(
    model: AppearanceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets = 2.0 * np.random.default_rng(8).integers(0, 38, (FRAMES, 2))
    done, detect = run(model, offsets)
    shifts = np.array([motion.shift for motion in detect.moves])
    wanted = [before - now for before, now in itertools.pairwise(offsets)]
    wanted = [step for step in wanted if np.abs(step).max() > 2]
    assert len(shifts) >= len(wanted) - 2
    assert sum(np.abs(shifts - step).sum(axis=1).min() < 2 for step in wanted) >= len(wanted) - 3
    assert sum(one.pending.camera is not None for one in done) == len(shifts)
    assert fresh(done) == [True] + [False] * (FRAMES - 1)
    monkeypatch.setattr(camera, "camera_motion", lambda *_: (None, 1.0))
    assert sum(fresh(run(model, offsets)[0])) > 5, "it jumps, for who is not told"
    assert {plan.person for one in done for plan in one.plans} == {1}


def test_a_camera_that_stands_is_not_told(model: AppearanceModel) -> None:
    done, detect = run(model, np.full((6, 2), 40.0))
    assert not detect.moves and all(one.pending.camera is None for one in done)


def test_what_is_rendered_from_an_analysis_is_told_the_same(model: AppearanceModel) -> None:
    """Smoothing and held views are made anew there, and are to be those of the pass that recorded the faces."""
    offsets = 2.0 * np.random.default_rng(8).integers(0, 38, (12, 2))
    done, detect = run(model, offsets)
    again = FilmedAgain(detect)
    for one in done:
        assert len(again(one.pending.frame)) == 1 and again.cuts == one.pending.scene == 0
        told, first = again.camera, one.pending.camera
        assert (told is None) == (first is None)
        if told is not None and first is not None:
            np.testing.assert_array_equal(told.shift, first.shift)
    assert any(one.pending.camera is not None for one in done)
