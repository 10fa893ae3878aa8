"""Crowds as pictures through the real `ReplaceFaces`: who was drawn with which surrogate, byte for byte.

Faces of nobody, drawn by the model, walk through one another. The detector knows the true places and errs as
`synthetic_crowds.detected` says; all else is the filter's own, from the tracker to the drawing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import cv2
import numpy as np

from benchmarks.people.crowd_runs import Run
from benchmarks.people.identity_metrics import Identities, Sighting, identities
from streamdeid.aam.fit import FitModel
from streamdeid.aam.pose import HeadPose
from streamdeid.core.arrays import Points
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame, Planes
from streamdeid.core.ibug68 import LANDMARKS
from streamdeid.identity.looks import Looks
from streamdeid.identity.person_recogniser import load_person_recogniser
from streamdeid.identity.person_templates import RecognisedTemplates
from streamdeid.identity.register import FUSED, PersonRegister, new_persons, recognised
from streamdeid.identity.tracklet_vectors import TrackletVectors
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.render.new_face import NewFace
from streamdeid.runs.step import Step, filtered
from streamdeid.surrogates.bank import sample_bank
from streamdeid.surrogates.certificate import Plausibility, default_limits
from streamdeid.surrogates.choice import Surrogates
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.crowds import HIDDEN, Crowd, Walker, crowd, detected
from streamdeid.synthetic.faces import draw_talking_face
from streamdeid.synthetic.motion import PersonMotion, motion
from streamdeid.tracking.tracker import FaceTracker

_KEY = bytes(range(32))
_MARKS, _MARK_SIZE = 22.0, 3.0
"""Strength of the marks on drawn skin, grey levels, and their size, pixels of the texture."""


class Stage:
    """A crowd, drawn: pictures and what the detector says of them."""

    def __init__(self, run: Run, fitting: FitModel, gallery: Gallery) -> None:
        self._rng = np.random.default_rng([run.seed, run.rate, round(run.width), len(run.kind)])
        self.truth: Crowd = crowd(run.kind, self._rng, rate=run.rate, width=run.width, seconds=run.seconds)
        self._fitting, self._rate = fitting, run.rate
        donors = gallery.identities
        plausibility = Plausibility.of(donors, fitting.model.variances)
        bank = sample_bank(donors, donors, plausibility, default_limits(donors, plausibility), 5, 0.5, 128, self._rng)
        chosen = bank.candidates[self._rng.choice(128, 5, replace=False)]
        self._faces = [_marked(NewFace.photographed(vector, fitting), self._rng) for vector in chosen]
        count = len(self.truth.frames)
        self._motion: list[PersonMotion] = [motion(count, run.rate, number, self._rng) for number in range(5)]
        spots = self._rng.uniform(80, 150, (3, 9, 3)).astype(np.float32)
        self._wall = np.asarray(cv2.resize(spots, self.truth.size, interpolation=cv2.INTER_CUBIC), np.uint8)
        self.found: list[list[Face]] = []
        """Detections by frame."""

    def frames(self) -> Iterator[Frame]:
        """The pictures, one by one; `found` grows along."""
        for index, walkers in enumerate(self.truth.frames):
            planes = planes_from_rgb(self._wall)
            faces: list[Face] = []
            for walker in walkers:
                points, iris = self._draw(planes, walker, index)
                face = self._detected(walker, points, iris)
                if face is not None:
                    faces.append(face)
            for low, high in self.truth.bars:
                a, b = max(0, int(low)) & ~1, int(high) & ~1
                planes.y[:, a:b] = 90
                planes.u[:, a // 2 : b // 2] = planes.v[:, a // 2 : b // 2] = 128
            self.found.append(faces)
            yield Frame(planes, Fraction(index, self._rate), index)

    def _draw(self, planes: Planes, walker: Walker, index: int) -> tuple[Points, Points]:
        model, moves = self._fitting.model, self._motion[walker.person]
        face = self._faces[walker.person]
        shape = moves.shape(face.shape, index)
        pose = self._pose(walker, float(moves.yaw[index]))
        points = pose.to_image(shape, model.depth)
        iris = pose.to_image(model.iris[:, :2] + moves.gaze[index], np.full(2, -5.0))
        draw_talking_face(planes, face, points, iris, pose, model)
        return points, iris

    def _pose(self, walker: Walker, yaw: float) -> HeadPose:
        model = self._fitting.model
        turn = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
        scale = walker.width / float(np.ptp(model.mean_shape[:, 0]))
        middle = model.mean_shape.mean(axis=0) @ turn[:2, :2].T + model.depth.mean() * turn[:2, 2]
        return HeadPose(scale, turn, np.asarray(walker.centre) - scale * middle)

    def _detected(self, walker: Walker, points: Points, iris: Points) -> Face | None:
        shape = (points - walker.centre) / walker.width
        face = detected(walker, shape, self._rng)
        if face is None or face.landmarks is None:
            return None
        rim = np.array([[0, 0], [1, 0], [0, -1], [-1, 0], [0, 1]]) * 0.03 * walker.width
        return replace(
            face, landmarks=face.landmarks[:LANDMARKS], forehead=face.landmarks[LANDMARKS:], iris=iris[:, None] + rim
        )


def _marked(face: NewFace, rng: np.random.Generator) -> NewFace:
    """The face with marks on its skin, its own: without them two drawn people look more alike (.9) than two frames of
    one real person; with them looks of two correlate at .4 to .5, of two real people at .3 (`identity.looks`)."""
    noise = cv2.GaussianBlur(rng.normal(0, 1, face.picture.shape[:2]), (0, 0), _MARK_SIZE)
    marks = (_MARKS / noise.std() * noise).astype(np.float32)
    return replace(face, picture=np.clip(face.picture + marks[:, :, None], 0, 255))


def drawn(run: Run, fitting: FitModel, gallery: Gallery) -> Identities:
    """Counts of one run, by the surrogates' bytes."""
    stage, recogniser = Stage(run, fitting, gallery), load_person_recogniser()
    distances = FUSED if recogniser is None else recognised(recogniser)
    deidentifier = ReplaceFaces(
        fitting,
        Surrogates(gallery, fitting.model.variances, key=_KEY),
        PersonRegister(new_persons(reentry=True, rate=run.rate, distances=distances)),
        judge=Looks(),
        templates=None if recogniser is None else RecognisedTemplates(TrackletVectors(recogniser, run.rate)),
    )
    tracker = FaceTracker(coast=max(1.0, 3 / run.rate), size=stage.truth.size)
    sightings: list[Sighting] = []
    step: Step[None] = Step(lambda frame: stage.found[frame.index], tracker, deidentifier)
    for done in filtered(stage.frames(), step, round(run.lookahead * run.rate)):
        frame = done.frame
        visible = [walker for walker in stage.truth.frames[frame.index] if walker.hidden <= HIDDEN]
        surrogates = deidentifier.vectors()
        shown: dict[int, bytes] = {}
        for redaction in frame.redactions:
            if redaction.person and visible:
                middle = np.reshape(redaction.box, (2, 2)).mean(axis=0)
                nearest = min(visible, key=lambda walker: float(np.hypot(*(middle - walker.centre))))
                if float(np.hypot(*(middle - nearest.centre))) < nearest.width:  # else it is on nobody who is seen
                    shown[nearest.person] = surrogates[redaction.person].tobytes()
        sightings += [Sighting(frame.index, walker.person, shown.get(walker.person)) for walker in visible]
    deidentifier.close()
    return identities(sightings)
