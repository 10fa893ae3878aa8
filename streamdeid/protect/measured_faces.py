"""Measures the faces of a stream, frame by frame and by tracklet, before any face is replaced.

This is the first half of the filter. `replace_faces` asks it what was seen in a frame that is to be published, whether
that frame was ambiguous, and who the face shows.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Track
from streamdeid.core.frames import Frame
from streamdeid.identity.face_look import LEAST_WIDTH, FaceLook, Look
from streamdeid.identity.identity_check import LEAST, Broken, Estimate, IdentityCheck, Register
from streamdeid.identity.person_templates import FusedTemplates, Templates
from streamdeid.identity.recorded_identity import RecordedIdentity, RecordedTrack
from streamdeid.observe.hair_darkness import HairDarkness
from streamdeid.observe.keypoint_pose import MeanHead
from streamdeid.observe.neutral import NeutralEstimator
from streamdeid.observe.observation import (
    Observation,
    Observer,
    SampledFace,
    crown_seen,
    reduced_face,
    sampled_face,
)
from streamdeid.observe.occluders import OccluderMask
from streamdeid.observe.pose_swing import WINDOW
from streamdeid.observe.posed_view import PosedReader
from streamdeid.protect.levels import (
    Cause,
    Steps,
    as_rendered,
    landmarks_hold,
    recognisable,
    severities,
    shows_a_face,
)
from streamdeid.protect.pending import Measured, PendingFrame, SeenTrack, Waiting
from streamdeid.render.face import Blending

_WEAK_KEPT = 12
"""Textures that are kept of a tracklet as long as it has no frame good enough to know its person by."""


class Verdict(Protocol):
    """What the looks of faces tell about the tracks of a frame: `identity.looks.LooksVerdict`."""

    @property
    def tracks(self) -> Sequence[Track]: ...

    @property
    def broken(self) -> Mapping[int, Broken]: ...

    @property
    def groundless(self) -> Mapping[int, Sequence[int]]: ...

    @property
    def leading(self) -> Mapping[int, Sequence[int]]: ...


class Judge(Protocol):
    """Decides doubts by what faces look like: `identity.looks.Looks`."""

    def __call__(self, frame: Frame, tracks: Sequence[Track], looks: Mapping[int, Look | None], /) -> Verdict: ...


@dataclass
class Followed:
    """State of one tracklet of a track (`identity_check`)."""

    observer: Observer
    occluders: OccluderMask
    known: NeutralEstimator = field(default_factory=NeutralEstimator)
    """Estimated from the frames that are good enough to know the person by."""
    rest: NeutralEstimator = field(default_factory=NeutralEstimator)
    """Estimated from all frames that are not ambiguous: the face at rest, as it is rendered."""
    weak: list[Pixels] = field(default_factory=list, repr=False)
    """Full textures (n, 3) of the first frames, as long as no frame is good."""
    poses: PosedReader | None = None
    again: PosedReader | None = None
    """Reads the poses of frames that were looked at again, which come later."""
    steps: Steps = field(default_factory=Steps)
    blending: Blending = field(default_factory=Blending)
    hair: HairDarkness = field(default_factory=HairDarkness)

    def carried(self, camera: CameraMotion) -> None:
        """Account for a motion of the camera before the next frame."""
        self.observer.carried(camera)
        if self.poses is not None:
            self.poses.carried(camera)


class MeasuredFaces:
    """Measures the faces of one stream and finds out who they are."""

    def __init__(
        self,
        fitting: FitModel,
        mean: Pixels,
        register: Register,
        named: Callable[[int, Points], None],
        judge: Judge | None = None,
        templates: Templates | None = None,
        first: int = 0,
        recorded: Callable[[int], Mapping[int, RecordedTrack]] | None = None,
        identities_only: bool = False,
    ) -> None:
        """mean: float32 (f, 3), the mean face's small texture. named: called with a person and an identity vector y
        (d,) whenever a tracklet has got its person. judge: decides doubts; None: every doubt counts. templates: what
        people are recognised by; None: the fused vector. first: number of tracklets in earlier parts of the stream.
        recorded: who is who, by the number of a frame, where that is known from an analysis. identities_only: nothing
        of these frames is rendered, so a face is measured only while more can be learned about who it is."""
        self._fitting = fitting
        self._identities_only = identities_only
        self._head = MeanHead.of(fitting)
        self._judge = judge
        self._look = FaceLook(fitting.table)
        self.templates = FusedTemplates(fitting.model) if templates is None else templates
        self.check: IdentityCheck | RecordedIdentity = (
            IdentityCheck(register, self._estimate, named, first, 1 if identities_only else LEAST)
            if recorded is None
            else RecordedIdentity(recorded, named)
        )
        model = fitting.model
        corners = model.mean_shape[model.triangles]
        a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        areas = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
        self.areas: NDArray[np.float64] = areas / areas.sum()
        """float64 (m,): share of the mesh of each triangle."""
        self._mean = mean
        self._followed: dict[int, Followed] = {}
        self.breaks: Counter[str] = Counter()
        """Counts why tracklets ended in the middle of a track."""

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        """Measure the faces of the newest of the waiting frames. Frames come in order. This may clear doubts in earlier
        frames. Nobody is committed: `settle` comes next."""
        frame, tracks = pending.frame, pending.tracks
        if pending.camera is not None:
            for known in self._followed.values():
                known.carried(pending.camera)
        self.templates.next_frame(frame.index)
        sampled = {
            track.number: sampled_face(frame.planes, track.face, self._fitting) if track.face is not None else None
            for track in tracks
        }
        tracklets = self._judged(pending, waiting, sampled)
        good: dict[int, Measured] = {}
        for track, tracklet in zip(tracks, tracklets, strict=True):
            followed = self._followed.get(tracklet.number)
            if followed is None:
                followed = Followed(Observer(self._fitting), OccluderMask(self._fitting, self._mean))
                self._followed[tracklet.number] = followed
            if track.face is not None and not self._identities_only:
                followed.poses = followed.poses or PosedReader(self._head)
                pending.seen[track.number].posed = followed.poses(track.face, float(frame.time))
            pixels = sampled[track.number]
            if pixels is None or (self._identities_only and not self.check.learns(tracklet.number)):
                continue
            found = self._measure(frame, tracklet, followed, pixels)
            pending.seen[track.number].measured = found
            if found is not None and self._learn(frame, tracklet, followed, found):
                good[tracklet.number] = found
        for number in self.templates.choose([number for number in good if self.check.learns(number)]):
            self.templates.show(number, *self._crop(frame, good[number].seen))

    def settle(self, pending: PendingFrame[Any]) -> None:
        """Commit the persons whom the newest frame makes known; it was observed before."""
        self.check.settle()
        for seen in pending.seen.values():
            if not self.check.learns(seen.tracklet):
                followed = self._followed[seen.tracklet]
                followed.known.forget_textures()
                followed.weak.clear()

    def read_again(self, pending: PendingFrame[Any]) -> None:
        """Read the poses of faces that were found when a frame was looked at again. Frames come in order."""
        readers = [known.again for known in self._followed.values() if known.again is not None]
        if pending.camera is not None:
            for reader in readers:
                reader.carried(pending.camera)
        for track in pending.covered or ():
            seen = pending.seen.get(track.number)
            followed = None if seen is None else self._followed.get(seen.tracklet)
            if track.face is None or not track.face.again or seen is None or followed is None:
                continue
            followed.again = followed.again or PosedReader(self._head)
            seen.posed = followed.again(track.face, float(pending.frame.time))

    def of(self, tracklet: int) -> Followed | None:
        """What is kept of a tracklet; None when it is over and was dropped."""
        return self._followed.get(tracklet)

    def forget(self, waiting: Waiting) -> Set[int]:
        """Drop the tracklets that are over and that no waiting frame needs; return the numbers of those that one still
        needs."""
        needed = {seen.tracklet for pending in waiting for seen in pending.seen.values()}
        for number in list(self._followed):
            if not self.check.present(number) and number not in needed:
                del self._followed[number]
                self.templates.forget(number)
        return needed

    def _judged(
        self, pending: PendingFrame[Any], waiting: Waiting, sampled: Mapping[int, SampledFace | None]
    ) -> Sequence[Track]:
        """The tracks under the numbers of their tracklets, in the same order, with the doubts that looks did not
        clear."""
        frame, tracks = pending.frame, pending.tracks
        if self._judge is None:
            return self._noted(pending, tracks, self.check.update(frame, tracks))
        looks = {
            number: self._look(pixels.small_texture)
            for number, pixels in sampled.items()
            if pixels is not None and float(np.ptp(pixels.raw[:, 0])) >= LEAST_WIDTH
        }
        verdict = self._judge(frame, tracks, looks)
        self.breaks.update(broken.cause.value for broken in verdict.broken.values())
        tracklets = self._noted(pending, verdict.tracks, self.check.update(frame, verdict.tracks, verdict.broken))
        for number, indices in verdict.leading.items():
            for seen in _seen_in(waiting, indices, number):
                seen.tracklet = pending.seen[number].tracklet
        for number, indices in verdict.groundless.items():
            for seen in _seen_in(waiting, indices, number):
                seen.ambiguous = False
        return tracklets

    def _noted(
        self, pending: PendingFrame[Any], tracks: Sequence[Track], tracklets: Sequence[Track]
    ) -> Sequence[Track]:
        """Note the tracklets with their frame, and return them."""
        for track, tracklet in zip(tracks, tracklets, strict=True):
            pending.seen[track.number] = SeenTrack(tracklet.number, track.ambiguous)
        return tracklets

    def _measure(self, frame: Frame, track: Track, followed: Followed, pixels: SampledFace) -> Measured | None:
        """What is measured of a face; None where nothing can be measured, so that it is not rendered on its
        landmarks."""
        assert track.face is not None
        seen = followed.observer(frame.planes, track.face, float(frame.time), pixels)
        if seen is None:
            return None
        return Measured(seen, severities(seen, self.areas), followed.occluders(seen, track.ambiguous))

    def _learn(self, frame: Frame, track: Track, followed: Followed, measured: Measured) -> bool:
        """Learn from a face who it is and what it looks like at rest. Returns whether it is good enough to know its
        person by."""
        seen, found, opening = measured.seen, measured.severities, measured.opening
        assert track.face is not None
        if track.ambiguous or not shows_a_face(seen, track.face):
            return False
        learns = self.check.learns(track.number)
        if opening is None and landmarks_hold(found, seen) and crown_seen(seen.raw, frame.planes.size):
            followed.hair.see(seen.hair)
        good = recognisable(seen, self.areas, found)
        self.check.saw(track.number, good)
        yaw, pitch = seen.pose.yaw, seen.pose.pitch
        if opening is None or not followed.rest.ready:  # a face behind a cup is not at rest, but better than none
            followed.rest.observe(seen.frontal, yaw, pitch, seen.small_texture, None, seen.hair, _blemish(found))
        if good and learns:
            wanted = followed.known.wants(seen.frontal, yaw, pitch)
            texture = self._texture(frame, seen) if wanted else None
            followed.known.observe(seen.frontal, yaw, pitch, seen.small_texture, texture, seen.hair)
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
        """What is known of the identity of a tracklet's person, from its frames so far."""
        followed, model = self._followed[number], self._fitting.model
        if followed.known.ready:
            y = model.identity(followed.known.shape(), followed.known.texture())
            return Estimate(y, self.templates.template(number, y, final))
        texture = np.median(followed.weak, axis=0).astype(np.float32)
        return Estimate(model.identity(followed.rest.shape(), texture), None)


def _seen_in(waiting: Waiting, indices: Sequence[int], track: int) -> Iterator[SeenTrack]:
    """What the waiting frames with these numbers know of a track."""
    wanted = set(indices)
    for one in waiting:
        if one.frame.index in wanted and track in one.seen:
            yield one.seen[track]


def against_own(
    followed: Followed, found: Measured, time: Fraction, later: Waiting, track: int, tracklet: int
) -> Cause | None:
    """Why a known face, measured at a time in seconds, is to be posed; None when it is rendered on its landmarks."""
    jumps = any(
        not seen.measured.severities[Cause.UNSTEADY] <= 1
        for one in itertools.takewhile(lambda one: float(one.frame.time - time) <= WINDOW, later)
        if (seen := one.seen.get(track)) is not None and seen.tracklet == tracklet and seen.measured is not None
    )
    coming = _coming(later, track, tracklet)
    return followed.steps(as_rendered(found.severities, found.seen), coming, jumps_soon=jumps)


def _coming(later: Waiting, track: int, tracklet: int) -> Iterator[Mapping[Cause, float] | None]:
    """What speaks against rendering a face on its landmarks, for each later frame in which its tracklet goes on; None
    for a frame without landmarks."""
    for one in later:
        seen = one.seen.get(track)
        if seen is None or seen.tracklet != tracklet:
            return
        yield None if seen.measured is None else as_rendered(seen.measured.severities, seen.measured.seen)


def _blemish(found: Mapping[Cause, float]) -> float:
    """How little a frame tells about the face at rest: 0 for a face that is seen whole and sharp, at most 10."""
    return float(np.clip(max(found[Cause.OCCLUDED], found[Cause.BLURRED]) - 1, 0, 10))
