"""The filter itself: every tracked face of a frame is protected, at the best level that it can have (`levels`)."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Pixels, Points
from streamdeid.deidentify.draw_face import Blending, draw_surrogate
from streamdeid.deidentify.face_look import LEAST_WIDTH, FaceLook, Look
from streamdeid.deidentify.identity_check import Broken, Estimate, IdentityCheck, Register
from streamdeid.deidentify.k_same_furthest_fet import PaperTransfer
from streamdeid.deidentify.levels import (
    Cause,
    Level,
    Steps,
    recognisable,
    severities,
    shows_a_face,
    turned_away,
    unblemished,
)
from streamdeid.deidentify.light import LightFrame
from streamdeid.deidentify.mask_faces import face_extent, grown
from streamdeid.deidentify.masks import Box, fill
from streamdeid.deidentify.neutral import NeutralEstimator
from streamdeid.deidentify.new_face import NewFace
from streamdeid.deidentify.observation import Observation, Observer, SampledFace, reduced_face, sampled_face
from streamdeid.deidentify.person_templates import FusedTemplates, Templates
from streamdeid.deidentify.quiet_face import draw_quiet_face
from streamdeid.deidentify.soft_head import Head, head_of
from streamdeid.deidentify.soft_redaction import SoftMemory, soft_redaction
from streamdeid.errors import FailedClosed
from streamdeid.faces import Track
from streamdeid.frames import Cover, DeidentifiedFrame, Frame, Planes

_WEAK_KEPT = 12
"""Textures kept of a stretch of which no frame is good to know anybody by."""
_DECODED = 64
"""Surrogates kept decoded; others are decoded again when they are needed."""
KEPT = 400
"""People whose rungs are counted apart. Those of earlier ones, forgotten by the register, are counted together."""
EARLIER = -1
"""Key in `ReplaceFaces.persons` of all of them."""


_log = logging.getLogger(__name__)


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


class Verdict(Protocol):
    """What looks say of the tracks of a frame: `tracking.looks.Verdict`."""

    @property
    def tracks(self) -> Sequence[Track]: ...

    @property
    def broken(self) -> Mapping[int, Broken]: ...

    @property
    def groundless(self) -> Mapping[int, Sequence[int]]: ...


class Judge(Protocol):
    """Decides doubts by what faces look like: `tracking.looks.Looks`."""

    def __call__(self, frame: Frame, tracks: Sequence[Track], looks: Mapping[int, Look | None], /) -> Verdict: ...


@dataclass
class _Followed:
    """State of one stretch of a track (`identity_check`)."""

    observer: Observer
    known: NeutralEstimator = field(default_factory=NeutralEstimator)
    """Of the frames that are good to know the person by."""
    rest: NeutralEstimator = field(default_factory=NeutralEstimator)
    """Of all frames without doubt: the face at rest, as it is drawn."""
    weak: list[Pixels] = field(default_factory=list, repr=False)
    """Full textures (n, 3) of the first frames, while none is good."""
    steps: Steps = field(default_factory=Steps)
    blending: Blending = field(default_factory=Blending)
    seen: dict[int, Observation] = field(default_factory=dict)
    """Observations by frame number, from `observe` until the frame is published."""


@dataclass(frozen=True)
class _Plan:
    """How one face of a frame is protected."""

    track: Track
    """Numbered as its stretch."""
    number: int
    """Of the track itself."""
    head: Head
    level: Level
    cause: Cause | None
    seen: Observation | None
    followed: _Followed | None
    person: int
    face: NewFace | None


class ReplaceFaces:
    """De-identifies frames with synthetic faces. `observe` sees each frame first, `deidentify` publishes it later."""

    def __init__(
        self,
        fitting: FitModel,
        surrogates: Choice,
        register: Register,
        *,
        judge: Judge | None = None,
        templates: Templates | None = None,
        transfer: PaperTransfer | None = None,
        copy_eyes: bool = False,
        strict: bool = False,
    ) -> None:
        """judge: of doubts, None where every doubt counts. templates: what people are recognised by, None for the fused
        vector. transfer: P4's own transfer instead of METHODS 4.0's. copy_eyes: show the person's own eyes. strict:
        solid redactions instead of soft ones, and no tone of the person's skin anywhere in them."""
        self._fitting = fitting
        self._surrogates = surrogates
        self._register = register
        self._judge = judge
        self._look = FaceLook(fitting.table)
        self._templates = FusedTemplates(fitting.model) if templates is None else templates
        self._check = IdentityCheck(register, self._estimate, self._choose)
        self._transfer = transfer
        self._copy_eyes, self._strict = copy_eyes, strict
        model = fitting.model
        mean = NewFace.of(np.zeros(len(model.variances)), fitting)
        self._light = LightFrame.of(fitting.table, mean.small_texture)
        corners = model.mean_shape[model.triangles]
        a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        areas = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
        self._areas = areas / areas.sum()
        self._followed: dict[int, _Followed] = {}
        self._memories: dict[int, SoftMemory] = {}
        self._doubts: dict[int, dict[int, bool]] = {}
        """By frame that waits, then by track: whether it is in doubt."""
        self._vectors: dict[int, Points] = {}
        self._new_faces: OrderedDict[int, NewFace] = OrderedDict()
        self.rungs: Counter[Level] = Counter()
        """Faces covered, by protection level."""
        self.persons: dict[int, Counter[Level]] = {}
        """The same by person; 0 stands for faces whose person was never decided, `EARLIER` for the first ones of a long
        run."""
        self._earlier = 0
        self._over: set[int] = set()
        """Persons whom the register forgot, as long as frames may wait in which they are shown."""
        self.causes: Counter[Cause] = Counter()
        """Why faces were covered by a lower level than the first."""
        self.breaks: Counter[str] = Counter()
        """Why stretches ended in the middle of a track."""

    def observe(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Measure the faces of a frame. Frames come in order, each before it is published."""
        self._templates.next_frame(frame.index)
        sampled = {
            track.number: sampled_face(frame.planes, track.face, self._fitting) if track.face is not None else None
            for track in tracks
        }
        judged = self._judged(frame, tracks, sampled)
        good = []
        for track, stretch in zip(tracks, judged, strict=True):
            followed = self._followed.get(stretch.number)
            if followed is None:
                followed = self._followed[stretch.number] = _Followed(Observer(self._fitting))
            pixels = sampled[track.number]
            if pixels is not None and self._measure(frame, stretch, followed, pixels):
                good.append(stretch.number)
        for number in self._templates.choose([number for number in good if self._check.learns(number)]):
            self._templates.show(number, *self._crop(frame, self._followed[number].seen[frame.index]))
        self._check.settle(judged)
        for track in judged:
            if not self._check.learns(track.number):
                followed = self._followed[track.number]
                followed.known.forget_textures()
                followed.weak.clear()
        self._forget()

    def deidentify(self, frame: Frame, tracks: Sequence[Track]) -> DeidentifiedFrame:
        """The frame with every tracked face covered. Raises FailedClosed in any doubt.

        Soft redactions come first, so that none hides a drawn face, and far (small) faces before near ones.
        """
        out = frame.planes.copy()
        plans = [self._plan(frame, track) for track in tracks]
        heads = [plan.head for plan in plans]
        self._memories = {plan.number: self._memories.get(plan.number) or SoftMemory() for plan in plans}
        for row, plan in enumerate(plans):
            if plan.level is not Level.OWN_FACE:
                self._redact(out, frame, plan, heads[:row] + heads[row + 1 :])
        covers = []
        for row in sorted(range(len(plans)), key=lambda row: _order(plans[row])):
            plan = plans[row]
            level, cause = self._show(out, frame, plan, heads[:row] + heads[row + 1 :])
            shown = plan.person if level in (Level.OWN_FACE, Level.QUIET) else 0
            covers.append(Cover(plan.number, _box(plan), level.label, shown))
            self.rungs[level] += 1
            if cause is not None:
                self.causes[cause] += 1
            self.persons.setdefault(plan.person, Counter())[level] += 1
        self._check.published(frame)
        for index in [index for index in self._doubts if index <= frame.index]:
            del self._doubts[index]
        for followed in self._followed.values():
            for index in [index for index in followed.seen if index <= frame.index]:
                del followed.seen[index]  # of faces that nobody asked to cover (whitelist)
        return DeidentifiedFrame(out, frame.time, frame.index, tuple(covers))

    def allows(self, frame: Frame, track: Track) -> bool:
        """Whether nothing at all speaks against what was just observed of a track in a frame."""
        followed = self._followed.get(self._check.stretch(frame, track.number))
        seen = followed.seen.get(frame.index) if followed is not None else None
        doubtful = self._doubts.get(frame.index, {}).get(track.number, True)
        return seen is not None and not doubtful and unblemished(seen, self._areas)

    def close(self) -> None:
        """Nothing more will be filtered. Harmless when repeated."""
        self._templates.close()

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
                self._templates.forget(number)
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

    def _judged(
        self, frame: Frame, tracks: Sequence[Track], sampled: Mapping[int, SampledFace | None]
    ) -> Sequence[Track]:
        """The tracks under the numbers of their stretches, in the same order, with the doubts that looks left."""
        if self._judge is None:
            self._doubts[frame.index] = {track.number: track.doubtful for track in tracks}
            return self._check.update(frame, tracks)
        looks = {
            number: self._look(pixels.small_texture)
            for number, pixels in sampled.items()
            if pixels is not None and float(np.ptp(pixels.raw[:, 0])) >= LEAST_WIDTH
        }
        verdict = self._judge(frame, tracks, looks)
        self._doubts[frame.index] = {track.number: track.doubtful for track in verdict.tracks}
        for number, indices in verdict.groundless.items():
            for index in indices:
                if number in self._doubts.get(index, {}):
                    self._doubts[index][number] = False
        self.breaks.update(broken.cause.value for broken in verdict.broken.values())
        return self._check.update(frame, verdict.tracks, verdict.broken)

    def _measure(self, frame: Frame, track: Track, followed: _Followed, pixels: SampledFace) -> bool:
        """Measure a face; whether it is good to know its person by."""
        assert track.face is not None
        seen = followed.observer(frame.planes, track.face, float(frame.time), pixels)
        if seen is None:
            return False  # the soft redaction covers it
        followed.seen[frame.index] = seen
        if track.doubtful or not shows_a_face(seen, track.face):
            return False
        found, learns = severities(seen, self._areas), self._check.learns(track.number)
        good = recognisable(seen, self._areas)
        self._check.saw(track.number, good)
        yaw, pitch = seen.pose.yaw, seen.pose.pitch
        followed.rest.observe(seen.frontal, yaw, pitch, seen.small_texture, None, seen.skin, _blemish(found))
        if good:
            wanted = learns and followed.known.wants(seen.frontal, yaw, pitch)
            texture = self._texture(frame, seen) if wanted else None
            followed.known.observe(seen.frontal, yaw, pitch, seen.small_texture, texture, seen.skin)
        elif learns and not followed.known.ready and len(followed.weak) < _WEAK_KEPT:
            followed.weak.append(self._texture(frame, seen))
        return good

    def _crop(self, frame: Frame, seen: Observation) -> tuple[NDArray[np.uint8], Points]:
        """A face and its surroundings, RGB uint8 (h, w, 3), no wider than the model, and its vertices (81, 2) in it."""
        image, into = reduced_face(frame.planes, seen.points, 1.2 * self._fitting.model.frame_size[0])
        return image, into(seen.points)

    def _texture(self, frame: Frame, seen: Observation) -> Pixels:
        """Full texture float32 (n, 3) of a face."""
        return self._fitting.model.texture_of(*self._crop(frame, seen))

    def _estimate(self, number: int, final: bool) -> Estimate:
        """What is known of who a stretch shows, from its frames so far."""
        followed, model = self._followed[number], self._fitting.model
        if followed.known.ready:
            y = model.identity(followed.known.shape(), followed.known.texture())
            return Estimate(y, self._templates.template(number, y, final))
        texture = np.median(followed.weak, axis=0).astype(np.float32)
        return Estimate(model.identity(followed.rest.shape(), texture), None)

    def _choose(self, person: int, y: Points) -> None:
        """Choose the surrogate of a person not known before."""
        with contextlib.suppress(FailedClosed):  # counted there; who gets none is redacted softly
            self._vectors[person] = self._surrogates.surrogate(person, y).vector

    def _plan(self, frame: Frame, track: Track) -> _Plan:
        """Which protection level a face gets in a frame, and why no better one."""
        stretch = self._check.stretch(frame, track.number)
        doubtful = self._doubts.get(frame.index, {}).get(track.number, track.doubtful)
        followed = self._followed.get(stretch)
        seen = followed.seen.pop(frame.index, None) if followed is not None else None
        box, size = track.box if track.face is None else face_extent(track, track.face), frame.planes.size
        head = head_of(box, None if seen is None else seen.raw, size)
        person, face, cause = 0, None, None
        if followed is None or seen is None or track.face is None:
            level, cause = Level.SOFT, Cause.LOST if track.face is None else Cause.NO_LANDMARKS
            person = self._register.person_of(stretch) or 0
        else:
            cause = followed.steps(severities(seen, self._areas))
            if not doubtful:
                person, face = self._face_of(stretch)
            if face is None:
                level, cause = Level.SOFT, Cause.DOUBT if doubtful else Cause.NOBODY
            elif turned_away(seen):
                level, cause = Level.SOFT, Cause.TURNED
            else:
                level = Level.OWN_FACE if cause is None and followed.rest.ready else Level.QUIET
        level = Level.SOLID if self._strict and level is Level.SOFT else level
        return _Plan(replace(track, number=stretch), track.number, head, level, cause, seen, followed, person, face)

    def _redact(self, out: Planes, frame: Frame, plan: _Plan, others: Sequence[Head]) -> Level:
        """Hide a face: softly, or solidly where that is asked for or the soft one cannot be had."""
        if plan.level is not Level.SOLID:
            memory = self._memories[plan.number]
            if plan.track.face is None:
                memory = SoftMemory()  # its tone was that of another place
            tone = not self._strict and plan.track.face is not None
            try:
                soft_redaction(out, frame.planes, plan.head, memory, others, tone=tone)
                return Level.SOFT
            except (ArithmeticError, ValueError, np.linalg.LinAlgError):
                _log.warning("no soft redaction could be computed; a solid one covers the face")
        box = plan.track.box if plan.track.face is None else face_extent(plan.track, plan.track.face)
        fill(out, grown(box, out.size))
        return Level.SOLID

    def _show(self, out: Planes, frame: Frame, plan: _Plan, others: Sequence[Head]) -> tuple[Level, Cause | None]:
        """Draw what a plan shows, in place; the level that came of it, and why no better one."""
        seen, followed, face = plan.seen, plan.followed, plan.face
        if seen is None or followed is None or face is None:
            return plan.level, plan.cause
        if plan.level is Level.OWN_FACE:
            if self._draw(out, frame, seen, followed, face):
                return plan.level, plan.cause
            return self._redact(out, frame, plan, others), Cause.NO_LANDMARKS
        if plan.level is Level.QUIET:
            drawn = draw_quiet_face(out, seen, face, self._fitting, self._light)
            return (Level.QUIET if drawn else Level.SOFT), plan.cause
        return plan.level, plan.cause

    def _draw(self, out: Planes, frame: Frame, seen: Observation, followed: _Followed, face: NewFace) -> bool:
        neutral = followed.rest.neutral(float(frame.time))
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

    def _face_of(self, number: int) -> tuple[int, NewFace | None]:
        """The person of a stretch, 0 for none, and the new face; None while there is none."""
        person = self._check.person(number)
        vector = None if person is None else self._vectors.get(person)
        if person is None or vector is None:
            return person or 0, None
        face = self._new_faces.get(person)
        if face is None:
            face = self._new_faces[person] = NewFace.of(vector, self._fitting)
            if len(self._new_faces) > _DECODED:
                self._new_faces.popitem(last=False)
        self._new_faces.move_to_end(person)
        return person, face


def _blemish(found: Mapping[Cause, float]) -> float:
    """How little a frame says about the face at rest, 0 for one that is seen whole and sharp."""
    return float(np.clip(max(found[Cause.OCCLUDED], found[Cause.BLURRED]) - 1, 0, 10))


def _order(plan: _Plan) -> float:
    """Far (small) faces before near ones."""
    return plan.track.box[2] - plan.track.box[0]


def _box(plan: _Plan) -> Box:
    """The box, in pixels, that what was done to a face lies in."""
    if plan.level is Level.OWN_FACE and plan.track.face is not None:
        return face_extent(plan.track, plan.track.face)
    return plan.head.box
