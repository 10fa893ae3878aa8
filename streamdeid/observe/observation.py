"""Measures one face with landmarks in one frame, before anything is replaced."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import Fit, FitModel, fit
from streamdeid.aam.piecewise_affine import sample
from streamdeid.aam.pose import HeadPose, pose_of
from streamdeid.aam.train import normalised_grey
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.colour import LUMA, rectangle_to_rgb
from streamdeid.core.faces import Face, Keypoints
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import FOREHEAD, LEFT_EYE, MOUTH_CORNERS, NOSE_TIP, OUTLINE, RIGHT_EYE
from streamdeid.core.similarity import Similarity
from streamdeid.observe.glasses import Glasses, GlassesReader
from streamdeid.observe.hair_darkness import FLOOR
from streamdeid.observe.outline import bulge
from streamdeid.observe.pose_swing import PoseSwing
from streamdeid.observe.signals import SignalReader, Signals, relative_sharpness
from streamdeid.observe.smoothing import FaceSmoother
from streamdeid.observe.turned_view import TurnedReader, TurnedView

SMALL_WIDTH = 96
"""Width in pixels to which a face is reduced for fit and light: half as wide again as their frame."""
_MARGIN = 0.22
"""Width of the surroundings in which hair is looked for, share of the face's width."""
_JUMP = 0.5
"""Mean displacement between two frames, share of the face's width, from which nothing of the last frame counts: a cut
that was missed, another face, or a head so quick that smoothing would only lag."""
_SHUTTER = 0.04
"""Longest time, seconds, for which a camera's shutter is open: a frame holds the motion of no more than that time."""
_STRANGEST = 0.25
"""Mean distance of the landmarks from the fitted face, share of the face's width, from which they are not a face's.
Faces of the clips stay under 0.11, random points and landmarks in a wrong order are beyond 4."""
_SMEAR = ((0.75, 0.85), (0.3, 0.03))
"""Sharpness of a face of 64 pixels and wider, and the most by which it can have been smeared to either side while the
shutter was open, share of its width. Rendered faces smeared by .02 have .79 to .97, by .04 to .15 at most .84 (half of
them below .68). Faces of the clips are above .86, whatever their motion: their cameras' shutters are short."""
_BESIDES, _STILLER, _FEWEST, _SHARP = 25, 0.5, 3, 0.95
"""How a face's sharpness is compared with that of frames before: how many frames, the share of its motion now up to
which it moved less there, how many such frames there must be, and the sharpness of a face that nothing blurs. A face
that is about as sharp as in the middle one of them was smeared by hardly more than it can have been in that one (not in
any of them: one may be out of focus). Before, a face in a soft picture was taken for smeared whenever the camera moved,
and the new face grew to a third more than the head (crowd_1080p through a window that moves). Of 58 soft faces of the
clips, smeared by .04 of their width to either side, nine of ten keep at most .84 to .92 of their sharpness, by .08 .76
to .88."""
_FOLLOW = 0.4
"""Share by which the silhouette leaves its last place in a frame when it shrinks; it grows at once."""
_AS_GOOD = 0.002
"""Rise of the fit's residual over that of the last complete fit, up to which the landmarks' correction of the frame
before is kept: the face is then fitted as well as it can be. Rules need the residual to a hundredth."""
_FITS = 0.5
"""Residual from which every fit is completed: the least that a rule asks about is 0.6 (`levels`). When the same was
done for all residuals, 10 of 1,000 faces of crowd_1080p and stage_and_audience, fitted badly, got another protection
level."""
_NO_HAIR = -0.06
"""Natural log of the brightness above the forehead over the skin's, below which it is taken for hair."""
_HAIR_REACHES, _HAIR_QUANTILE = (1.12, 1.2, 1.28), 0.15
"""Where hair is looked for, as distances from the middle of the face over those of the forehead's rim, and the quantile
of what is found there that counts. The mesh ends somewhere on the forehead, and much of what lies above it is skin or a
shine. Of 14 people in clips, the median at 1.06 to 1.18 put four with dark hair among the fair; this quantile puts one
there, whose hair is combed back."""
_ONSET = 1.5
"""Growth of the speed from frame to frame from which the motion is taken to have begun between the two frames: only
half of it then lies between their landmarks."""


@dataclass(frozen=True)
class Observation:
    """A face with landmarks, seen in one frame."""

    points: Points = field(repr=False)
    """float64 (81, 2): smoothed vertices in pixels of the frame."""
    pose: HeadPose
    """The smoothed pose of the head."""
    frontal: Points = field(repr=False)
    """float64 (81, 2): smoothed vertices in the model's frame, with the head pose undone."""
    iris: Points | None = field(repr=False)
    """float64 (2, 2): iris centres in pixels of the frame, smoothed with their eyes; None when not given."""
    small_texture: Pixels = field(repr=False)
    """float32 (f, 3): RGB in the fit's frame."""
    fit: Fit = field(repr=False)
    hair: float | None
    """Natural log of the brightness of the darkest above the forehead over the skin's: how dark the hair is. None where
    nothing darker is visible there."""
    raw: Points = field(repr=False)
    """float64 (81, 2): vertices in pixels of the frame as the landmarker gave them."""
    sweep: Points = field(repr=False)
    """float64 (81, 2): how far each raw vertex may have moved in half the time that the shutter was open, pixels. It is
    zero when the last frame is not known, and small in a sharp picture."""
    onset: bool
    """Whether the motion has just begun: then the face may have moved twice as far."""
    fresh: bool
    """True when nothing of the frames before counts: in the track's first frame, or after a jump."""
    signals: Signals
    bare: Points = field(default_factory=lambda: np.zeros(4))
    """float64 (4,): how far the detector's box reaches beyond the landmarks and forehead points at its left, right, top
    and bottom, shares of its sides; negative where they reach farther."""
    apart: float | None = None
    """Mean distance of the landmarks from another network's keypoints, shares of the face's width; None without."""
    side: float | None = None
    """Mean side of the box about the landmarks over that of the face by those keypoints; None without."""
    bulge: Points = field(default_factory=lambda: np.ones(len(OUTLINE)), repr=False)
    """float64 (30,): factors by which the outline grows to the silhouette (`outline.bulge`), smoothed."""
    turned: TurnedView | None = None
    """What is measured of a turned head; None for a head that is hardly turned, and without the landmarker's mesh."""
    swing: float = 0.0
    """How far the yaw goes to and fro, radians (`PoseSwing`)."""
    glasses: Glasses | None = None
    """The visible ends of the person's glasses beside the new face; None where no glasses are worn."""

    @cached_property
    def width(self) -> float:
        """Width of the face in pixels of the frame."""
        return float(np.ptp(self.points[:, 0]))

    @property
    def places(self) -> tuple[Points, ...]:
        """Meshes (81, 2) at all places where the face may be in this frame, smeared by its motion."""
        return self.raw, self.raw - self.sweep, self.raw + self.sweep

    @property
    def farthest(self) -> tuple[Points, ...]:
        """The same places with all the smear that is possible."""
        return (*self.places, self.raw - 2 * self.sweep, self.raw + 2 * self.sweep) if self.onset else self.places


@dataclass(frozen=True)
class SampledFace:
    """The pixels of a face with landmarks in one frame, reduced once for everything that measures it."""

    raw: Points = field(repr=False)
    """float64 (81, 2): landmarks and forehead points, pixels of the frame."""
    image: NDArray[np.uint8] = field(repr=False)
    """RGB uint8 (h, w, 3) of its surroundings."""
    into: Similarity
    """From pixels of the frame into `image`."""
    small_texture: Pixels = field(repr=False)
    """float32 (f, 3): RGB in the fit's frame."""


def sampled_face(planes: Planes, face: Face, fitting: FitModel) -> SampledFace | None:
    """The pixels of a face; None for one without landmarks and forehead points."""
    if face.landmarks is None or face.forehead is None:
        return None
    raw = np.concatenate([face.landmarks, face.forehead])
    image, into = reduced_face(planes, raw, SMALL_WIDTH)
    return SampledFace(raw, image, into, sample(image, into(raw), fitting.table))


class Observer:
    """Observes the face of one track from frame to frame; its state is the smoothing and the fit's warm start."""

    def __init__(self, fitting: FitModel) -> None:
        self._fitting = fitting
        self._smooth = FaceSmoother()
        self._correction: Points | None = None
        self._residual = 0.0
        """Residual of the last complete fit."""
        self._fit: tuple[Fit, Points, Pixels] | None = None
        """The last fit, with the frontal points and the normalised grey texture of its frame."""
        self._signals = SignalReader(fitting)
        self._last: tuple[Points, float] | None = None
        self._expected: Points | None = None
        """Where the points of the last frame lie in this one if only the camera moved; None where the camera did not
        move."""
        self._half: Points | None = None
        self._others: deque[tuple[float, float]] = deque(maxlen=_BESIDES)
        """Of the frames before: sharpness, and half the motion, share of the width."""
        self._bulge: Points | None = None
        self._glasses = GlassesReader()
        self._turned = TurnedReader(fitting.solid, fitting.model)
        self._swing = PoseSwing()

    def __call__(
        self, planes: Planes, face: Face, time: float, sampled: SampledFace | None = None
    ) -> Observation | None:
        """Observe a face with landmarks and forehead points in a picture at a time in seconds.

        sampled: its pixels, where they were reduced before. Returns None when its points have no pose of a face that is
        visible: the landmarker failed. The next observation then starts anew.
        """
        try:
            pixels = sampled_face(planes, face, self._fitting) if sampled is None else sampled
            seen = None if pixels is None else self._observed(pixels, face, time)
        except np.linalg.LinAlgError:
            seen = None
        if seen is None or not _sound(seen, self._fitting.model.frame_size[0]):
            self._smooth, self._correction, self._last, self._expected = FaceSmoother(), None, None, None
            self._signals = SignalReader(self._fitting)
            return None
        return seen

    def carried(self, camera: CameraMotion) -> None:
        """Account for a motion of the camera before the next frame."""
        self._smooth.carried(camera)
        self._turned.carried(camera)
        if self._last is not None:
            self._expected = camera(self._last[0] if self._expected is None else self._expected)

    def _observed(self, sampled: SampledFace, face: Face, time: float) -> Observation:
        model, raw = self._fitting.model, sampled.raw
        fresh, half, onset = self._moved(raw, time)
        if fresh:
            self._smooth, self._correction, self._bulge = FaceSmoother(), None, None
            self._glasses = GlassesReader()
        pose, frontal = self._smooth(*_posed(raw, model), time)
        points = pose.to_image(frontal, model.depth)
        iris = None
        if face.iris is not None:
            iris = np.stack(
                [
                    c + (points[e] - raw[e]).mean(axis=0)
                    for c, e in zip(face.iris[:, 0], (LEFT_EYE, RIGHT_EYE), strict=True)
                ]
            )
        reduced, to_reduced, small = sampled.image, sampled.into, sampled.small_texture
        places = to_reduced(raw)
        fitted = self._fitted(reduced, to_reduced, pose, frontal, small)
        hair = _hair(reduced, places, small)
        grown = bulge(raw, face.silhouette)
        self._bulge = grown if self._bulge is None else np.maximum(grown, self._bulge + _FOLLOW * (grown - self._bulge))
        signals = self._signals(small, fitted, time, fresh)
        sweep = self._bounded(half, float(np.ptp(raw[:, 0])), signals.sharpness, fresh)
        bare, turned = _bare(raw, face.box), self._turned(face, raw, time, fresh)
        glasses = self._glasses(reduced, places, pose.yaw, float(np.ptp(raw[:, 0])))
        return Observation(
            points,
            pose,
            frontal,
            iris,
            small,
            fitted,
            hair,
            raw,
            sweep,
            onset,
            fresh,
            signals,
            bare,
            _apart(raw, face.keypoints),
            None if face.keypoints is None else face.keypoints.side_of(raw),
            self._bulge,
            turned,
            self._swing(pose.yaw, time),
            glasses,
        )

    def _fitted(
        self, reduced: NDArray[np.uint8], to_reduced: Similarity, pose: HeadPose, frontal: Points, small: Pixels
    ) -> Fit:
        """The fit of a frame: the last one, moved along, where nothing that a rule asks about can have changed."""
        texture = normalised_grey(small @ LUMA)
        if self._fit is not None and self._correction is not None:
            last, there, before = self._fit
            # What the model leaves of a texture changes by no more than the texture does.
            if last.residual + float(np.linalg.norm(texture - before)) <= _FITS:
                return replace(last, points=last.points + (frontal - there).mean(axis=0))
        start = frontal if self._correction is None else frontal + self._correction
        grey = np.asarray(cv2.cvtColor(reduced, cv2.COLOR_RGB2GRAY), np.uint8)
        enough = 0.0 if self._correction is None else min(self._residual + _AS_GOOD, _FITS)
        fitted = fit(self._fitting, grey, to_reduced, pose, start, enough=enough)
        if fitted.steps > 0:
            self._residual = fitted.residual
        # Warm start: the last frame's correction of the landmarks is this frame's first guess.
        self._correction = 0.8 * (fitted.points - frontal) if fitted.converged else None
        self._fit = fitted, frontal, texture
        return fitted

    def _moved(self, raw: Points, time: float) -> tuple[bool, Points, bool]:
        """Whether the face is a fresh one, half its motion (81, 2) in the time that the shutter may have been open, and
        whether that motion has just begun."""
        last, self._last = self._last, (raw, time)
        expected, self._expected = self._expected, None
        if last is None:
            self._half = np.zeros_like(raw)
            return True, self._half, False
        moved = raw - last[0]
        before, half = self._half, 0.5 * min(1.0, _SHUTTER / max(time - last[1], 1e-9)) * moved
        self._half = half
        onset = before is None or _mean_length(half) > _ONSET * _mean_length(before)
        if before is not None and _mean_length(before) > _mean_length(half):
            half = before  # while the motion ends, it may still be as quick as it was
        jumped = moved if expected is None else raw - expected
        return not _mean_length(jumped) <= _JUMP * float(np.ptp(raw[:, 0])), half, onset

    def _bounded(self, half: Points, width: float, sharpness: float, fresh: bool) -> Points:
        """Half the motion (81, 2), bounded by how far a face of that width and sharpness can have been smeared; frames
        in which the face moved less tell how sharp it is without the motion."""
        sharp, motion = relative_sharpness(sharpness, width), _mean_length(half) / max(width, 1e-9)
        if fresh:
            self._others.clear()
        most = float(np.interp(sharp, *_SMEAR))
        stiller = [one for one in self._others if one[1] <= _STILLER * motion]
        if len(stiller) >= _FEWEST:
            other, there = sorted(stiller)[len(stiller) // 2]
            most = min(most, there + float(np.interp(sharp * max(_SHARP / max(other, 1e-6), 1.0), *_SMEAR)))
        if not fresh:  # how it moved before its first frame is not known
            self._others.append((sharp, motion))
        length = np.linalg.norm(half, axis=1, keepdims=True)
        bounded: Points = half * np.minimum(1.0, width * most / np.maximum(length, 1e-9))
        return bounded


def _bare(raw: Points, box: tuple[float, float, float, float]) -> Points:
    """`Observation.bare` of vertices (81, 2) and a detector's box."""
    x0, y0, x1, y1 = box
    width, height = max(x1 - x0, 1e-9), max(y1 - y0, 1e-9)
    (left, top), (right, bottom) = raw.min(axis=0), raw.max(axis=0)
    return np.array([(left - x0) / width, (x1 - right) / width, (top - y0) / height, (y1 - bottom) / height])


def _apart(raw: Points, found: Keypoints | None) -> float | None:
    """`Observation.apart` of vertices (81, 2) and keypoints."""
    if found is None:
        return None
    eyes = [raw[eye].mean(axis=0) for eye in (LEFT_EYE, RIGHT_EYE)]
    five = np.array([*eyes, raw[NOSE_TIP], *raw[list(MOUTH_CORNERS)]])
    return float(np.linalg.norm(five - found.points, axis=1).mean() / max(found.box[2] - found.box[0], 1.0))


def _sound(seen: Observation, frame_width: float) -> bool:
    """Whether an observation is usable: it is made of finite numbers, the face has some width, is like a face of the
    model at all and is not seen from behind. Of a crumpled mesh little would be rendered, of mirrored landmarks
    nothing."""
    finite = all(np.isfinite(part).all() for part in (seen.points, seen.frontal, seen.pose.rotation, seen.sweep))
    strange = float(np.linalg.norm(seen.frontal - seen.fit.points, axis=1).mean()) / frame_width
    return finite and seen.width > 1 and strange <= _STRANGEST and bool(seen.pose.rotation[2, 2] > 0)


def _mean_length(vectors: Points) -> float:
    return float(np.linalg.norm(vectors, axis=1).mean())


def reduced_face(planes: Planes, points: Points, width: float) -> tuple[NDArray[np.uint8], Similarity]:
    """RGB of the face's surroundings, reduced so that the face is at most `width` pixels wide, and the map from the
    frame into it."""
    across = float(np.ptp(points[:, 0]))
    low, high = points.min(axis=0) - _MARGIN * across, points.max(axis=0) + _MARGIN * across
    full = planes.size
    x0, y0 = (int(np.clip(v, 0, limit - 4)) & ~1 for v, limit in zip(low, full, strict=True))
    x1, y1 = (min(limit, max(o + 4, int(v) + 2)) for v, limit, o in zip(high, full, (x0, y0), strict=True))
    rgb = rectangle_to_rgb(planes, x0, y0, x1, y1, min(1.0, width / max(across, 1.0)))
    ratio = np.array([rgb.shape[1] / (x1 - x0), rgb.shape[0] / (y1 - y0)])
    return rgb, Similarity(np.diag(ratio), (0.5 - np.array([x0, y0])) * ratio - 0.5)


def _posed(points: Points, model: AppearanceModel) -> tuple[HeadPose, Points]:
    pose = pose_of(points, model)
    return pose, pose.to_frame(points, model.depth)


def crown_seen(points: Points, size: tuple[int, int]) -> bool:
    """Whether all of where hair is looked for above a face with vertices (81, 2) lies in a picture (width, height)."""
    farthest = _crown(points, _HAIR_REACHES[-1:])
    return bool((farthest >= 0).all() and (farthest <= np.array(size) - 1).all())


def _crown(points: Points, reaches: Sequence[float]) -> Points:
    """Places (n, 2) above the forehead of a face with vertices (81, 2), five for each reach (`_HAIR_REACHES`)."""
    centre = points.mean(axis=0)
    rim = points[FOREHEAD][4:9] - centre  # points farther to the sides may lie beside the head
    return np.concatenate([centre + rim * reach for reach in reaches])


def _hair(image: NDArray[np.uint8], points: Points, small: Pixels) -> float | None:
    """`Observation.hair`: points (81, 2) in the reduced image (h, w, 3), small texture (f, 3) of the face."""
    places = _crown(points, _HAIR_REACHES).round().astype(int)
    height, width = image.shape[:2]
    seen = (places >= 0).all(axis=1) & (places[:, 0] < width) & (places[:, 1] < height)
    if seen.sum() < len(places) / len(_HAIR_REACHES):
        return None
    around = image[places[seen, 1], places[seen, 0]].astype(np.float32).mean(axis=1)
    rank = int(_HAIR_QUANTILE * len(around))
    above = float(np.partition(around, rank)[rank])
    level = (small[:, 0] + small[:, 1] + small[:, 2]) / np.float32(3)
    darkness = float(np.log((above + FLOOR) / (float(np.median(level)) + FLOOR)))
    return darkness if darkness < _NO_HAIR else None
