"""The filter itself: it protects every tracked face of a frame at the best level that the face can have (`levels`)."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import cv2
import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Box, Points
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes, Redaction
from streamdeid.core.whose import Whose
from streamdeid.errors import FailedClosed
from streamdeid.identity.identity_check import Register
from streamdeid.identity.person_templates import Templates
from streamdeid.identity.recorded_identity import RecordedTrack
from streamdeid.protect.choices import Choice, Chosen, ForgettingChoice, ProvisionalChoice
from streamdeid.protect.fading import KEPT, Fading
from streamdeid.protect.held_poses import Going, HeldPoses
from streamdeid.protect.levels import FACES, Cause, Level, astray, shows_a_face, turned_away, unblemished
from streamdeid.protect.mask_faces import face_extent, grown, place_of
from streamdeid.protect.measured_faces import Judge, MeasuredFaces, against_own
from streamdeid.protect.nearer_heads import nearer_heads
from streamdeid.protect.pending import PendingFrame, Waiting
from streamdeid.protect.plan import Plan, Plans
from streamdeid.protect.posed_faces import PosedFaces, few, view_of
from streamdeid.protect.provisional_faces import Between, ProvisionalFaces
from streamdeid.protect.soft_redactions import SoftRedactions
from streamdeid.protect.standing import Standing, own_face, planned
from streamdeid.render.decoded_faces import DecodedFaces
from streamdeid.render.face import render_surrogate
from streamdeid.render.light import LightFrame
from streamdeid.render.masks import fill
from streamdeid.render.new_face import NewFace
from streamdeid.render.paper_transfer import PaperTransfer

_NOT_RENDERED = ArithmeticError, ValueError, IndexError, cv2.error
"""Errors that arithmetic raises on points or pixels that are no face's (ValueError also for an unsolvable linear
system)."""
_log = logging.getLogger(__name__)


class ReplaceFaces:
    """De-identifies frames with synthetic faces; a `plan.Deidentifier`."""

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
        first: int = 0,
        decoded: DecodedFaces | None = None,
        recorded: Callable[[int], Mapping[int, RecordedTrack]] | None = None,
    ) -> None:
        """judge: decides doubts; None: every doubt counts. templates: what people are recognised by; None: the fused
        vector. transfer: P4's own transfer instead of docs/methods.md 4.0's. copy_eyes: show the person's own eyes.
        strict: solid redactions instead of soft ones, and no tone of the person's skin anywhere in them. first: number
        of tracklets in earlier parts of the stream (`tracklets`), whose new faces `decoded` holds. recorded: who is
        who, by the number of a frame, where that is known from an analysis; nobody is recognised then."""
        self._fitting = fitting
        self._surrogates = surrogates
        self._transfer = transfer
        self._copy_eyes, self._strict = copy_eyes, strict
        mean = NewFace.photographed(np.zeros(len(fitting.model.variances)), fitting).small_texture
        self._light = LightFrame.of(fitting)
        self._faces = MeasuredFaces(fitting, mean, register, self._choose, judge, templates, first, recorded)
        self._posed = PosedFaces(fitting, self._light)
        self._poses = HeldPoses()
        self._provisional = ProvisionalFaces(surrogates if isinstance(surrogates, ProvisionalChoice) else None)
        self._soft = SoftRedactions(strict)
        self._fading = Fading(0.0 if strict else KEPT)
        self._chosen: dict[int, Chosen] = {}
        self._identities: dict[int, Points] = {}
        """By person: y (d,), for as long as the person is known."""
        self.decoded = DecodedFaces(fitting) if decoded is None else decoded
        """Decoded new faces, for a part of the stream that follows: decoding one takes a twentieth of a second."""
        self._read = -1
        """Number of the last frame whose faces found by looking again were read."""
        self._over: set[int] = set()
        """Persons whom the register forgot, kept as long as waiting frames may show them."""

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        """Measure the faces of the newest of the waiting frames."""
        self._faces.observe(pending, waiting)

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        """Commit persons and choose their faces; before a frame is decided, settle all that is shown of its tracks.
        Raises FailedClosed in any doubt."""
        if due is None:
            self._faces.settle(waiting[-1])
            self._provisional.note(waiting[-1])
            self._forget(waiting)
            return
        pending, later = waiting[0], waiting[1:]
        for one in waiting:
            if one.covered is not None and one.frame.index > self._read:
                self._faces.read_again(one)
                self._read = one.frame.index
        if pending.camera is not None:
            self._poses.carried(pending.camera)
        self.decoded.make_room(len(due))
        pending.standings = {track.number: self._standing(pending, track, due, later) for track in due}
        self._poses.decided(self.decide(pending, due), pending)

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> Plans:
        """The protection level of each track, and the face that it shows."""
        return [planned(pending.standings[track.number], self._hidden) for track in tracks]

    def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
        """The frame with every tracked face protected. Raises FailedClosed in any doubt.

        Soft redactions come first, so that none hides a face. Far (small) heads come before near ones: where one head
        has two redactions, each of which leaves the other out, the larger one lies above.
        """
        frame, out = pending.frame, pending.frame.planes.copy()
        plans = self._soft.begin(plans, frame.time)
        self._posed.begin(plans, pending)
        self._fading.begin(frame.time)
        hidden = sorted((one for one in plans if one.level not in FACES), key=lambda one: one.head.area)
        done: dict[int, Redaction] = {}
        for plan in (*hidden, *sorted((one for one in plans if one.level in FACES), key=_width)):
            level, number = self._show(out, frame, plan, plans), plan.track.number
            place = self._posed.replaced(number) if level is Level.POSED else plan.replaced(level)
            if (level is Level.OWN_FACE and self._copy_eyes) or (level is Level.SOFT and nearer_heads(plan, plans)):
                place = None  # the person's own eyes, or the head in front, would fade along
            self._fading.fade(out, plan.track, level, place)
            done[number] = Redaction(number, _box(plan, level), level.label, plan.person if level in FACES else 0)
        self._fading.end(out, frame.time)
        redactions = tuple(done[plan.track.number] for plan in sorted(plans, key=_width))
        self._posed.end(out, pending, plans)
        return DeidentifiedFrame(out, frame.time, frame.index, redactions)

    def allows(self, pending: PendingFrame[Any], track: Track) -> bool:
        """Whether no rule at all speaks against what was just observed of a track in a frame."""
        seen = pending.seen.get(track.number)
        return (
            seen is not None
            and seen.measured is not None
            and not seen.ambiguous
            and unblemished(seen.measured.severities)
        )

    @property
    def tracklets(self) -> int:
        """Number of tracklets so far, including those of earlier parts of the stream."""
        return self._faces.check.count

    def close(self) -> None:
        """End the filtering: tell the register what was learned about people. Harmless when repeated."""
        with contextlib.suppress(FailedClosed):  # a person without a template counts as new later
            self._faces.check.close()
        self._provisional.forget(frozenset())
        self._faces.templates.close()

    @property
    def breaks(self) -> Counter[str]:
        """Counts why it became unclear, in the middle of a track, who it shows."""
        return self._faces.breaks

    @property
    def replaced(self) -> int:
        """Heads so far that visibly changed from a provisional face to their person's."""
        return self._provisional.replaced

    def choose_as(self, person: int, like: int) -> None:
        """Choose the new face of a person whom only a reviewer tells from another one, unless it was chosen before.
        like: the person of this recording whose identity y is used for the choice."""
        if person not in self._chosen and like in self._identities:
            self._choose(person, self._identities[like])

    def face_of(self, person: int) -> NewFace | None:
        """The new face of a person; None for a person without one."""
        chosen = self._chosen.get(person)
        return None if chosen is None else self.decoded(Whose(person), chosen.vector, chosen.beard)

    def chosen(self, person: int) -> Chosen | None:
        """The surrogate that was chosen for a person; None for a person without one."""
        return self._chosen.get(person)

    def provisional(self, tracklet: int) -> Chosen | None:
        """The provisional surrogate that a present tracklet showed before its person was known; None where it showed
        none."""
        return self._provisional.shown(tracklet)

    def vectors(self) -> Mapping[int, Points]:
        """The surrogate of each person, float64 (d,). They never enter a report."""
        return {person: chosen.vector for person, chosen in self._chosen.items()}

    def _forget(self, waiting: Waiting) -> None:
        """Drop what no waiting frame needs: the state of tracklets that are over, and of persons whom the register
        forgot."""
        needed = self._faces.forget(waiting)
        for tracklet in self._provisional.forget(needed):
            self.decoded.forget(Whose(tracklet, provisional=True))
        self._over |= self._faces.check.forgotten()
        for person in self._over - {self._faces.check.person_of(number) for number in needed}:
            self._over.discard(person)
            self._chosen.pop(person, None)
            self._identities.pop(person, None)
            self.decoded.forget(Whose(person))
            if isinstance(self._surrogates, ForgettingChoice):
                self._surrogates.forget(person)

    def _choose(self, person: int, y: Points) -> None:
        """Choose the surrogate of a person not known before; a person who already showed a provisional one keeps
        that."""
        self._identities[person] = y
        new, shown = person not in self._chosen, self._provisional.of_person(person, self._faces.check.person_of)
        with contextlib.suppress(FailedClosed):  # counted there; without a surrogate the face is redacted
            if new and shown is not None and isinstance(self._surrogates, ProvisionalChoice):
                self._chosen[person] = self._surrogates.adopt(shown, person, y)
            else:
                self._chosen[person] = self._surrogates.surrogate(person, y)

    def _standing(self, pending: PendingFrame[Any], track: Track, tracks: Sequence[Track], later: Waiting) -> Standing:
        """Settle who a track shows in a frame, and which face and pose it may have. tracks: all tracks of that frame
        that are due. later: the frames that wait after it."""
        tracklet, ambiguous = pending.tracklet(track.number), pending.ambiguous(track.number)
        seen = pending.seen.get(track.number)
        followed = None if seen is None else self._faces.of(tracklet)
        found = None if seen is None or followed is None else seen.measured
        box = place_of(track)
        points = found.seen.raw if found is not None and astray(found.seen) <= 1 else None
        place = box, points, pending.frame.planes.size
        if not np.isfinite(box).all() or (points is not None and not np.isfinite(points).all()):
            raise FailedClosed("a face's place is not finite")
        person = self._faces.check.person_of(tracklet)
        going = Going(pending.frame, tracklet, later, tracks, known=person is not None)
        if person is not None:
            until = going.unclear(track.number) if ambiguous else None
            going = replace(going, known=not self._provisional.lasting(tracklet, pending.frame.time, until))
        hidden = ambiguous and going.known
        # No light can be read from half a head behind another one: such faces became grey.
        unlit = ambiguous and person is not None and not self._poses.was_posed(tracklet)
        newest = going.until(track.number)
        if followed is None or seen is None or track.face is None:
            held = None if unlit else self._poses.of_lost(track, going)
            who, face = (
                (0, None) if hidden or held is None else self._settle_face(pending, tracklet, newest, True, ambiguous)
            )
            who = person or 0 if face is None else who
            return Standing(track, place, tracklet, ambiguous, who, face, held, True, None, self._faces.of(tracklet))
        view = view_of(seen, found)
        sighted = going.agreed(track.number, view)
        turned = (view is not None and view.turned_away) or (found is not None and turned_away(found.seen))
        shown = view if view is not None and sighted and not view.turned_away else None
        posed = None if unlit else self._poses.of_seen(track, shown, going, away=turned)
        surely = sighted or posed is not None or (found is not None and shows_a_face(found.seen, track.face))
        early = track.face.again and few(track.number, later)
        who, face = (0, None) if hidden else self._settle_face(pending, tracklet, newest, surely, ambiguous, early)
        worse: Cause | None = Cause.NO_LANDMARKS
        if found is not None:
            worse = against_own(followed, found, pending.frame.time, later, track.number, tracklet)
        one = Standing(track, place, tracklet, ambiguous, who, face, posed, False, found, followed, turned, worse)
        return replace(one, neutral=followed.rest.neutral(float(pending.frame.time))) if own_face(one) else one

    @property
    def _hidden(self) -> Level:
        """The level of tracks that show no face."""
        return Level.SOLID if self._strict else Level.SOFT

    def _redact(self, out: Planes, frame: Frame, plan: Plan, plans: Sequence[Plan]) -> Level:
        """Redact a face, one of the plans: softly, or solidly where that is asked for or no soft redaction can be
        computed."""
        if plan.level is not Level.SOLID:
            try:
                self._soft.redact(out, frame.planes, plan, plans)
                return Level.SOFT
            except _NOT_RENDERED:
                _log.warning("no soft redaction could be computed; a solid one covers the face")
        box = plan.track.box if plan.track.sighted is None else face_extent(plan.track, plan.track.sighted)
        fill(out, grown(box, out.size))
        return Level.SOLID

    def _show(self, out: Planes, frame: Frame, plan: Plan, plans: Sequence[Plan]) -> Level:
        """Render what one of the plans shows, in place. Returns the level that came of it."""
        if plan.level not in FACES:
            return self._redact(out, frame, plan, plans)
        if plan.face is None:
            raise FailedClosed("a face was to be rendered that nobody has")
        with _or_redacted():
            if plan.level is Level.POSED and self._pose(out, frame, plan, plan.face, plans):
                return plan.level
            if plan.level is Level.OWN_FACE and self._render_own(out, plan, plan.face):
                return plan.level
        return self._redact(out, frame, replace(plan, level=self._hidden), plans)

    def _pose(self, out: Planes, frame: Frame, plan: Plan, face: NewFace, plans: Sequence[Plan]) -> bool:
        """Render a posed face, in place. Returns whether it was rendered."""
        if self._strict:  # the light comes from what is published around the head, not from the person
            self._redact(out, frame, replace(plan, level=Level.SOFT), plans)
        return self._posed.render(out, out if self._strict else frame.planes, plan, face, plans)

    def _render_own(self, out: Planes, plan: Plan, face: NewFace) -> bool:
        """Render an own face, in place. Returns whether it was rendered."""
        found, followed, neutral = plan.measured, plan.followed, plan.neutral
        if found is None or followed is None or neutral is None:
            return False
        shape = None
        if self._transfer is not None:
            shape, face = self._transfer(found.seen, neutral, face)
        return render_surrogate(
            out,
            out,  # where a neighbour is redacted, rim and mouth are to show the redaction, not what it hides
            found.seen,
            neutral,
            face,
            self._fitting,
            self._light,
            followed.blending,
            shape=shape,
            copy_eyes=self._copy_eyes,
            opening=found.opening,
        )

    def _settle_face(
        self,
        pending: PendingFrame[Any],
        tracklet: int,
        newest: Fraction,
        surely: bool,
        ambiguous: bool,
        early: bool = False,
    ) -> tuple[int, NewFace | None]:
        """Commit the person of a tracklet. Returns the person, 0 for none, and the new face in a frame, None for none.

        The face is the person's, or one in transition to it. Where nobody is known it is a provisional one, once this
        is a face (surely) and the frame has room for one that was not shown before. While it is unclear who is who
        (ambiguous), only a provisional face is shown. newest: time of the newest frame of the tracklet, seconds.
        early: nobody is committed yet.
        """
        check = self._faces.check
        person_of = check.person_of if early else check.settle_last
        person = None if ambiguous else person_of(tracklet)
        lent = Whose(tracklet, provisional=True)
        if person is None:
            shown = self._provisional.shown(tracklet)
            if surely and (shown is not None or pending.room > 0):
                begins = shown is None
                shown = self._provisional.of(tracklet, newest, ambiguous)
                pending.room -= begins and shown is not None
            return 0, None if shown is None else self.decoded(lent, shown.vector, shown.beard)
        own = self._chosen.get(person)
        if own is None:
            return person, None
        face, over = self.face_of(person), self._provisional.towards(tracklet, pending.frame.time, own)
        if face is None or not isinstance(over, Between):
            self.decoded.forget(lent)
            return person, face
        return person, self.decoded(lent, over.before.vector, over.before.beard).towards(face, over.share)


@contextlib.contextmanager
def _or_redacted() -> Iterator[None]:
    """Let a redaction follow where a face cannot be rendered: one odd face must not end the whole run. Rendering writes
    into the picture as its last step, and the redaction goes over whatever was written."""
    try:
        yield
    except _NOT_RENDERED:
        _log.warning("no face could be rendered; a redaction covers it")


def _width(plan: Plan) -> float:
    """Width of the face in pixels, of its outline or pose where known: the detector's box of a far face can be larger
    than a near one's."""
    if plan.level is Level.POSED and plan.posed is not None:
        return plan.posed.pose.size
    face = plan.track.face
    x0, _, x1, _ = (face.outline if plan.level in FACES and face is not None else None) or plan.track.box
    return x1 - x0


def _box(plan: Plan, level: Level) -> Box:
    """The box, in pixels, in which everything lies that was done to a face."""
    if level is Level.OWN_FACE and plan.track.face is not None:
        return face_extent(plan.track, plan.track.face)
    if level is Level.POSED and plan.posed is not None:
        return plan.posed.box
    return plan.head.box
