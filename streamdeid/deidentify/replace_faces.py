"""The filter itself: every tracked face of a frame is covered, by the best rung of the ladder that it deserves."""

from __future__ import annotations

import contextlib
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Points
from streamdeid.deidentify.draw_face import Blending, draw_mean_face, draw_surrogate
from streamdeid.deidentify.identity_check import IdentityCheck, Register
from streamdeid.deidentify.k_same_furthest_fet import PaperTransfer
from streamdeid.deidentify.ladder import Cause, Rung, Steps, astray, deserved, severities
from streamdeid.deidentify.light import LightFrame
from streamdeid.deidentify.mask_faces import face_extent, grown
from streamdeid.deidentify.masks import Box, fill
from streamdeid.deidentify.neutral import NeutralEstimator
from streamdeid.deidentify.new_face import NewFace
from streamdeid.deidentify.observation import Observation, Observer, reduced_face
from streamdeid.errors import FailedClosed
from streamdeid.faces import Track
from streamdeid.frames import Cover, DeidentifiedFrame, Frame, Planes

_DECODED = 64
"""Surrogates kept decoded; others are decoded again when they are needed."""
KEPT = 400
"""People whose rungs are counted apart. Those of earlier ones, forgotten by the register, are counted together."""
EARLIER = -1
"""Key in `ReplaceFaces.persons` of all of them."""


class Chosen(Protocol):
    """What a choice must tell: `surrogates.Surrogate` does."""

    @property
    def vector(self) -> Points: ...


class Choice(Protocol):
    """Which vector is published for a person of identity y (d,): `surrogates.Surrogates`, or an experiment's own.

    Raises FailedClosed when there is none to publish.
    """

    def surrogate(self, person: int, y: Points, /) -> Chosen: ...


@runtime_checkable
class ForgettingChoice(Choice, Protocol):
    """A choice that remembers people until it is told that they will not come back."""

    def forget(self, person: int, /) -> None: ...


@dataclass
class _Followed:
    """State of one stretch of a track (`identity_check`)."""

    observer: Observer
    neutral: NeutralEstimator = field(default_factory=NeutralEstimator)
    steps: Steps = field(default_factory=Steps)
    blending: Blending = field(default_factory=Blending)
    seen: dict[int, Observation] = field(default_factory=dict)
    """Observations by frame number, from `observe` until the frame is published."""


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
        self._check = IdentityCheck(register, self._identity, self._choose)
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
        self._vectors: dict[int, Points] = {}
        self._new_faces: OrderedDict[int, NewFace] = OrderedDict()
        self.rungs: Counter[Rung] = Counter()
        """Faces covered, by rung."""
        self.persons: dict[int, Counter[Rung]] = {}
        """The same by person; 0 stands for faces whose person was never decided, `EARLIER` for the first ones of a long
        run."""
        self._earlier = 0
        self._over: set[int] = set()
        """Persons whom the register forgot, as long as frames may wait in which they are shown."""
        self.causes: Counter[Cause] = Counter()
        """Why faces were covered by a lower rung than the first."""

    def observe(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Measure the faces of a frame. Frames come in order, each before it is published."""
        stretched = self._check.update(frame, tracks)
        for track in stretched:
            followed = self._followed.setdefault(track.number, _Followed(Observer(self._fitting)))
            if track.face is not None and track.face.landmarks is not None and track.face.forehead is not None:
                self._measure(frame, track, followed)
        self._check.settle(stretched)
        for track in stretched:
            if not self._check.learns(track.number):
                self._followed[track.number].neutral.forget_textures()
        self._forget()

    def deidentify(self, frame: Frame, tracks: Sequence[Track]) -> DeidentifiedFrame:
        """The frame with every tracked face covered. Raises FailedClosed in any doubt.

        Solid fills come first, so that none hides a drawn face, and far (small) faces before near ones.
        """
        out = frame.planes.copy()
        covers = []
        for track in sorted(tracks, key=_order):
            stretch = replace(track, number=self._check.stretch(frame, track.number))
            rung, box, cause = self._cover(out, frame, stretch)
            covers.append(Cover(track.number, box, rung.label))
            self.rungs[rung] += 1
            if cause is not None:
                self.causes[cause] += 1
            person = self._register.person_of(stretch.number)
            self.persons.setdefault(person or 0, Counter())[rung] += 1
        self._check.published(frame)
        for followed in self._followed.values():
            for index in [index for index in followed.seen if index <= frame.index]:
                del followed.seen[index]  # of faces that nobody asked to cover (whitelist)
        return DeidentifiedFrame(out, frame.time, frame.index, tuple(covers))

    def allows(self, frame: Frame, track: Track) -> bool:
        """Whether what was just observed of a track in a frame, by itself, deserves the first rung."""
        followed = self._followed.get(self._check.stretch(frame, track.number))
        seen = followed.seen.get(frame.index) if followed is not None else None
        return seen is not None and deserved(seen, self._areas) is Rung.SYNTHETIC

    @property
    def people(self) -> int:
        """Persons covered so far."""
        return len(self.persons.keys() - {0, EARLIER}) + self._earlier

    def vectors(self) -> Mapping[int, Points]:
        """The surrogate of each person, float64 (d,). They never enter a report."""
        return dict(self._vectors)

    def _forget(self) -> None:
        """Drop what no waiting frame needs: of stretches that are over, and of persons whom the register forgot."""
        waiting = self._check.waiting()
        for number, followed in list(self._followed.items()):
            if not self._check.present(number) and not followed.seen and number not in waiting:
                del self._followed[number]
        self._over |= self._check.forgotten()
        for person in self._over - {self._register.person_of(number) for number in waiting}:
            self._over.discard(person)
            self._vectors.pop(person, None)
            self._new_faces.pop(person, None)
            if isinstance(self._surrogates, ForgettingChoice):
                self._surrogates.forget(person)
        if len(self.persons) > KEPT:
            known = self._vectors.keys() | {0, EARLIER}
            for person in sorted(self.persons.keys() - known)[: len(self.persons) - KEPT]:
                self.persons.setdefault(EARLIER, Counter()).update(self.persons.pop(person))
                self._earlier += 1

    def _measure(self, frame: Frame, track: Track, followed: _Followed) -> None:
        assert track.face is not None
        seen = followed.observer(frame.planes, track.face, float(frame.time))
        if seen is None:
            return  # the solid fill covers it
        followed.seen[frame.index] = seen
        if track.doubtful or deserved(seen, self._areas) is not Rung.SYNTHETIC:
            return
        self._check.saw(track.number)
        yaw, pitch = seen.pose.yaw, seen.pose.pitch
        texture = None
        if self._check.learns(track.number) and followed.neutral.wants(seen.frontal, yaw, pitch):
            model = self._fitting.model
            image, into = reduced_face(frame.planes, seen.points, 1.2 * model.frame_size[0])
            texture = model.texture_of(image, into(seen.points))
        followed.neutral.observe(seen.frontal, yaw, pitch, seen.small_texture, texture, seen.skin)

    def _identity(self, number: int) -> Points:
        """Identity vector (d,) of a stretch, from its good frames so far."""
        neutral = self._followed[number].neutral
        return self._fitting.model.identity(neutral.shape(), neutral.texture())

    def _choose(self, person: int, identity: Points) -> None:
        """Choose the surrogate of a person not known before."""
        with contextlib.suppress(FailedClosed):  # counted there; the mean face covers whom nothing can be drawn for
            self._vectors[person] = self._surrogates.surrogate(person, identity).vector

    def _cover(self, out: Planes, frame: Frame, track: Track) -> tuple[Rung, Box, Cause | None]:
        """Cover one face in place: by which rung, in which box, and why by no better rung."""
        followed = self._followed.get(track.number)
        seen = followed.seen.pop(frame.index, None) if followed is not None else None
        if followed is None or seen is None or track.face is None:
            fill(out, _extent(track, out.size))
            return Rung.SOLID_FILL, _extent(track, out.size), Cause.LOST if track.face is None else Cause.NO_LANDMARKS
        cause = followed.steps(severities(seen, self._areas), track.doubtful)
        face = self._face_of(track.number) if cause is None else None
        if face is not None:
            rung, drawn = Rung.SYNTHETIC, self._draw(out, frame, seen, followed, face)
        else:
            rung, cause = Rung.MEAN_FACE, cause or Cause.NOBODY
            box, whole = track.face.box, not astray(seen) <= 1
            drawn = draw_mean_face(out, frame.planes, seen, self._mean, self._fitting, self._light, box, whole)
        if not drawn:
            fill(out, _extent(track, out.size))
            return Rung.SOLID_FILL, _extent(track, out.size), cause or Cause.NO_LANDMARKS
        return rung, face_extent(track, track.face), cause

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

    def _face_of(self, number: int) -> NewFace | None:
        """The new face of a stretch's person; None while there is none (then the mean face covers)."""
        person = self._check.person(number)
        vector = None if person is None else self._vectors.get(person)
        if person is None or vector is None:
            return None
        face = self._new_faces.get(person)
        if face is None:
            face = self._new_faces[person] = NewFace.of(vector, self._fitting)
            if len(self._new_faces) > _DECODED:
                self._new_faces.popitem(last=False)
        self._new_faces.move_to_end(person)
        return face


def _order(track: Track) -> tuple[bool, float]:
    return track.face is not None and track.face.landmarks is not None, track.box[2] - track.box[0]


def _extent(track: Track, size: tuple[int, int]) -> Box:
    """Where a face may be that has no landmarks: a box reaches from brows to chin, so it is grown by forehead and ears,
    and to the border of a picture of that size where it comes near."""
    return grown(track.box, size)
