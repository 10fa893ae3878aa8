"""The first of two passes over a recording: it gathers who the faces show, and renders nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.core.faces import Track
from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.errors import FailedClosed
from streamdeid.identity.gathered import GatheredTracklets
from streamdeid.identity.person_templates import Templates
from streamdeid.protect.levels import Level
from streamdeid.protect.measured_faces import Judge, MeasuredFaces
from streamdeid.protect.pending import PendingFrame, Waiting
from streamdeid.protect.plan import Plan, Plans
from streamdeid.render.new_face import NewFace


class StudyFaces:
    """Studies the faces of a segment; a `plan.Deidentifier` that lets no frame leave."""

    def __init__(self, fitting: FitModel, judge: Judge, templates: Templates | None) -> None:
        """judge: decides doubts. templates: what people are recognised by; None: the fused vector."""
        self.gathered = GatheredTracklets()
        """What is known of the tracklets; complete after `end`."""
        mean = NewFace.photographed(np.zeros(len(fitting.model.variances)), fitting).small_texture
        gathered = self.gathered
        self._faces = MeasuredFaces(fitting, mean, gathered, gathered.named, judge, templates, identities_only=True)

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        """Learn from the faces of the newest of the waiting frames."""
        self._faces.observe(pending, waiting)

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        """Gather what the newest frame makes known about the tracklets."""
        if due is None:
            self._faces.settle(waiting[-1])
            self._faces.forget(waiting)

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> Plans:
        """Plans that only name the tracks; how they are protected is decided when it is known who is who."""
        size = pending.frame.planes.size
        return [Plan(track, (track.box, None, size), Level.SOFT) for track in tracks]

    def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
        """Raise FailedClosed: no frame may leave during this pass."""
        raise FailedClosed("a frame was to be rendered while the recording was studied")

    def end(self) -> None:
        """End the segment: gather what is known of the tracklets that are still present. Raises FailedClosed when the
        recogniser failed."""
        self._faces.check.end()

    def close(self) -> None:
        """Release everything. Harmless when repeated."""
        self._faces.templates.close()
