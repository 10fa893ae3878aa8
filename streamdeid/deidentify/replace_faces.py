"""The filter itself: every tracked face of a frame is covered, by the best rung of the ladder that it deserves."""

from __future__ import annotations

import contextlib
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Points
from streamdeid.deidentify.draw_face import Blending, draw_mean_face, draw_surrogate
from streamdeid.deidentify.k_same_furthest_fet import PaperTransfer
from streamdeid.deidentify.ladder import Rung, Steps, deserved
from streamdeid.deidentify.light import LightFrame
from streamdeid.deidentify.mask_faces import face_extent, grown
from streamdeid.deidentify.masks import Box, solid_fill
from streamdeid.deidentify.neutral import NeutralEstimator
from streamdeid.deidentify.new_face import NewFace
from streamdeid.deidentify.observation import Observation, Observer, reduced_face
from streamdeid.errors import FailedClosed
from streamdeid.faces import Track
from streamdeid.frames import Cover, DeidentifiedFrame, Frame, Planes

_ENOUGH = 12
"""Good frames after which a track's identity is known well enough to name its person."""
_DECODED = 64
"""Surrogates kept decoded; others are decoded again when they are needed."""
_GONE = 250
"""Frames after its last appearance at which a track's state is dropped."""


class Chosen(Protocol):
    """What a choice must tell: `surrogates.Surrogate` does."""

    @property
    def vector(self) -> Points: ...


class Choice(Protocol):
    """Which vector is published for a person of identity y (d,): `surrogates.Surrogates`, or an experiment's own.

    Raises FailedClosed when there is none to publish.
    """

    def surrogate(self, person: int, y: Points, /) -> Chosen: ...


class Register(Protocol):
    """Who is who: track numbers to person numbers (`tracking.reentry` through `assemble`)."""

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None: ...

    def person_of(self, track: int) -> int | None: ...

    def commit(self, track: int, identity: Points, frames: int) -> int | None: ...


@dataclass
class _Followed:
    """State of one track."""

    observer: Observer
    neutral: NeutralEstimator = field(default_factory=NeutralEstimator)
    steps: Steps = field(default_factory=Steps)
    blending: Blending = field(default_factory=Blending)
    seen: dict[int, Observation] = field(default_factory=dict)
    """Observations by frame number, from `observe` until the frame is published."""
    good: int = 0
    last: int = 0


class ReplaceFaces:
    """De-identifies frames with synthetic faces. `observe` sees each frame first, `deidentify` publishes it later."""

    def __init__(
        self,
        fitting: FitModel,
        surrogates: Choice,
        register: Register,
        *,
        transfer: PaperTransfer | None = None,
        copy_eyes: bool = False,
    ) -> None:
        """transfer: P4's own transfer instead of METHODS 4.0's. copy_eyes: show the person's own eyes."""
        self._fitting = fitting
        self._surrogates = surrogates
        self._register = register
        self._transfer = transfer
        self._copy_eyes = copy_eyes
        model = fitting.model
        self._mean = NewFace.of(np.zeros(len(model.variances)), fitting)
        self._light = LightFrame.of(fitting.table, self._mean.small_texture)
        corners = model.mean_shape[model.triangles]
        a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        areas = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
        self._areas = areas / areas.sum()
        self._followed: dict[int, _Followed] = {}
        self._present: frozenset[int] = frozenset()
        self._vectors: dict[int, Points] = {}
        self._new_faces: OrderedDict[int, NewFace] = OrderedDict()
        self.rungs: Counter[Rung] = Counter()
        """Faces covered, by rung."""
        self.persons: dict[int, Counter[Rung]] = {}
        """The same by person; 0 stands for faces whose person was never decided."""

    def observe(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Measure the faces of a frame. Frames come in order, each before it is published."""
        self._register.update(frame, tracks)
        self._present = frozenset(track.number for track in tracks)
        for track in tracks:
            followed = self._followed.setdefault(track.number, _Followed(Observer(self._fitting)))
            followed.last = frame.index
            if track.face is not None and track.face.landmarks is not None and track.face.forehead is not None:
                self._measure(frame, track, followed)
            if self._register.person_of(track.number) is None and (
                followed.good >= _ENOUGH or (track.missed > 0 and followed.good)
            ):
                self._commit(track.number, followed)
        for number in [n for n, f in self._followed.items() if frame.index - f.last > _GONE]:
            del self._followed[number]

    def deidentify(self, frame: Frame, tracks: Sequence[Track]) -> DeidentifiedFrame:
        """The frame with every tracked face covered, far (small) ones first. Raises FailedClosed in any doubt."""
        out = frame.planes.copy()
        covers = []
        for track in sorted(tracks, key=lambda t: t.box[2] - t.box[0]):
            person = self._register.person_of(track.number)
            out, rung, box = self._cover(out, frame, track)
            covers.append(Cover(track.number, box, rung.label))
            self.rungs[rung] += 1
            person = self._register.person_of(track.number) if person is None else person
            self.persons.setdefault(person or 0, Counter())[rung] += 1
        return DeidentifiedFrame(out, frame.time, frame.index, tuple(covers))

    def vectors(self) -> Mapping[int, Points]:
        """The surrogate of each person, float64 (d,). They never enter a report."""
        return dict(self._vectors)

    def _measure(self, frame: Frame, track: Track, followed: _Followed) -> None:
        assert track.face is not None
        seen = followed.observer(frame.planes, track.face, float(frame.time))
        followed.seen[frame.index] = seen
        if track.doubtful or deserved(seen, self._areas) is not Rung.SYNTHETIC:
            return
        followed.good += 1
        yaw, pitch = seen.pose.yaw, seen.pose.pitch
        texture = None
        if self._register.person_of(track.number) is None and followed.neutral.wants(seen.frontal, yaw, pitch):
            model = self._fitting.model
            image, into = reduced_face(frame.planes, seen.points, 1.2 * model.frame_size[0])
            texture = model.texture_of(image, into(seen.points))
        followed.neutral.observe(seen.frontal, yaw, pitch, seen.small_texture, texture, seen.skin)

    def _commit(self, number: int, followed: _Followed) -> int | None:
        """Decide a track's person and, for a person not known before, the surrogate; None while undecided."""
        identity = self._fitting.model.identity(followed.neutral.shape(), followed.neutral.texture())
        person = self._register.commit(number, identity, followed.good)
        if person is not None:
            with contextlib.suppress(FailedClosed):  # counted there; the mean face covers whom nothing can be drawn for
                self._vectors[person] = self._surrogates.surrogate(person, identity).vector
        return person

    def _cover(self, out: Planes, frame: Frame, track: Track) -> tuple[Planes, Rung, Box]:
        """The picture with one face covered, by which rung, and in which box."""
        followed = self._followed.get(track.number)
        seen = followed.seen.pop(frame.index, None) if followed is not None else None
        if followed is None or seen is None:
            return solid_fill(out, _extent(track)), Rung.SOLID_FILL, _extent(track)
        worst = Rung.MEAN_FACE if track.doubtful else Rung.SYNTHETIC
        rung = followed.steps(max(worst, deserved(seen, self._areas)))
        face = self._face_of(track.number, followed) if rung is Rung.SYNTHETIC else None
        if face is not None:
            drawn = self._draw(out, frame, seen, followed, face)
        else:
            rung = Rung.MEAN_FACE
            drawn = draw_mean_face(out, frame.planes, seen, self._mean, self._fitting, self._light)
        if not drawn:
            return solid_fill(out, _extent(track)), Rung.SOLID_FILL, _extent(track)
        assert track.face is not None
        return out, rung, face_extent(track, track.face)

    def _draw(self, out: Planes, frame: Frame, seen: Observation, followed: _Followed, face: NewFace) -> bool:
        neutral = followed.neutral.neutral(float(frame.time))
        shape = None
        if self._transfer is not None:
            shape, face = self._transfer(seen, neutral, face)
        return draw_surrogate(
            out,
            frame.planes,
            seen,
            neutral,
            face,
            self._fitting,
            self._light,
            followed.blending,
            shape=shape,
            copy_eyes=self._copy_eyes,
        )

    def _face_of(self, number: int, followed: _Followed) -> NewFace | None:
        """The new face of a track's person; None while there is none (then the mean face covers)."""
        person = self._register.person_of(number)
        if person is None:
            if not followed.good or number not in self._present:
                return None
            person = self._commit(number, followed)
            if person is None:
                return None
        vector = self._vectors.get(person)
        if vector is None:
            return None
        face = self._new_faces.get(person)
        if face is None:
            face = self._new_faces[person] = NewFace.of(vector, self._fitting)
            if len(self._new_faces) > _DECODED:
                self._new_faces.popitem(last=False)
        self._new_faces.move_to_end(person)
        return face


def _extent(track: Track) -> Box:
    """Where a face may be that has no landmarks: a detector's box reaches from brows to chin, so it is grown by
    forehead and ears; a predicted one has been grown by its uncertainty already."""
    return track.box if track.face is None else grown(track.box)
