"""Protection levels, and the measured rules by which `replace_faces` gives each face its level (docs/architecture.md
4).

The rules answer two separate questions. *Is this frame good enough to know a person by?* (`recognisable`): light from
the side, a raised eyebrow or a worse fit than a second ago do not count against that. *How is a known person shown?*
(`Steps`): a known person keeps the own face. Where the landmarks are true, the face is rendered on them, even if it is
occluded or blurred, and as a solid where the head is turned. Where the face is too small, or has no true landmarks, it
is posed by five points. A face whose person or pose is unknown gets a soft redaction: there is no face for it
that others do not have.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.faces import AS_LARGE, Face
from streamdeid.observe.observation import Observation
from streamdeid.observe.signals import relative_sharpness


class Level(enum.IntEnum):
    """Protection levels in the order in which they are tried; after the last the frame is withheld (`FailedClosed`)."""

    OWN_FACE = 1
    """The person's surrogate, rendered on the landmarks."""
    POSED = 2
    """The person's surrogate, rendered at a pose, over the whole face."""
    SOFT = 3
    """A soft redaction, with no face in it but one that fades (`fading`)."""
    SOLID = 4
    """One colour: with `--strict`, and where the soft redaction cannot be computed."""
    MASK = 5
    """One of the masks, where the user asked for a mask instead of all other levels (`--method blur`)."""

    @property
    def label(self) -> str:
        """Its name in reports: `own face`, `posed face`, `soft redaction`, `solid`, `mask`."""
        return _LABELS[self]


_LABELS = {
    Level.OWN_FACE: "own face",
    Level.POSED: "posed face",
    Level.SOFT: "soft redaction",
    Level.SOLID: "solid",
    Level.MASK: "mask",
}


FACES = Level.OWN_FACE, Level.POSED
"""The levels at which a face is shown."""


class Cause(enum.Enum):
    """Why a face was not shown at the first level."""

    DOUBT = "doubt"
    """It is unclear who is who: people cross."""
    SMALL = "small"
    TURNED = "turned"
    OCCLUDED = "occluded"
    BLURRED = "blurred"
    POOR_FIT = "poor fit"
    ASTRAY = "landmarks astray"
    """The landmarks are not on the face: too small or beside it, by the detector's box or another network's
    keypoints."""
    UNSTEADY = "unsteady"
    """The landmarks jump between two readings of the face: the pose that they tell goes to and fro as no head does."""
    NOBODY = "no surrogate"
    """The person was never decided, or no surrogate could be sampled for this person."""
    NO_LANDMARKS = "no landmarks"
    LOST = "lost"
    """The detector does not see the face; its place is predicted."""


TRUE_LANDMARKS = frozenset({Cause.OCCLUDED, Cause.BLURRED})
"""Causes that put no doubt on where the landmarks are: a known face is rendered on its landmarks all the same."""
_SMALLEST, _SMALLEST_SHOWN = 24.0, 10.0
"""Width of a face in pixels below which nobody is known by it, and below which its landmarks are of no use. Between the
two, landmarks that lie where the detector saw the face, and at another network's points where it was asked, are true
enough to render a face on, and not to tell who it is. By eye on LFPW (32 faces each of 13, 16 and 22 pixels) and two
clips that chose it; of 479 such faces there at most a quarter of the pixels in the middle of a labelled box are as they
were (9 % on average), of faces of 26 to 50 pixels 15 % (8 on average)."""
_YAW, _PITCH = 0.85, 0.7
"""Radians of yaw and pitch beyond which the frontal model no longer fits a turned head."""
_YAW_SOLID, _SOLID_WIDTH = 1.12, 60.0
"""The yaw for a head rendered as a solid (`turned_face`), and the width in pixels that its face must have as seen from
the front. The landmarker reads true profiles as 56 to 68 degrees, and beyond 64 its mesh leaves mouth and chin outside.
In stage_and_audience, which chose this, a head read as 56 to 62 is covered in every frame, and one read as 65 to 68 in
none. Of 175 turned faces of LFPW, which did not choose it, none reads more than 46."""
_FITTED = 0.35
"""Radians of yaw up to which a poor fit of the frontal model counts against a face that is rendered as a solid
(docs/methods.md 6.3)."""
_AWAY, _STEEPER = 0.96, 1.2
"""Radians of yaw beyond which no face is shown, and the factor by which a nod counts more, since the model knows less
of nods. True profiles read 0.98 to 1.15, whatever their yaw is, and a flat mesh that is turned so far shows no face
worth looking at. Where the fit is poor as well, landmarks may lie anywhere from `_YAW` on."""
_RESIDUAL = 0.7
"""Largest residual of the fit. Unoccluded faces of the clips reach 0.62 (glasses), those of the London set 0.29."""
_RESIDUAL_COVERED = 0.78
"""The same for a face that something covers in part. In stage_and_audience, which chose this, 14 of 18 sightings of
known people with residuals from 0.7 to 0.78 are faces (behind a microphone or a hand), in cctv_classroom, which did
not, 3 of 3; seven other clips have no such sightings."""
_NO_FACE = 0.85
"""Residual beyond which nothing is taken for a face, however sure the detector is: faces of 11 clips reach 0.82 (a
helmet)."""
_BESIDE, _LEAST_SHARE = 0.3, 0.45
"""Largest distance of the middle of the landmarks from the middle of the detector's box, in shares of their own extent,
and least share of the box's sides over which they must extend. A box may be generous (a tile that saw the whole head, a
turned one, one with much hair), but its middle is on the face. In crowd_1080p, which chose this, right meshes reach
0.27 (99 of 100 up to 15 degrees of turn) and 0.37 (99 of 100 above), one beside a profile 0.5; in stage_and_audience,
crossing_heads and street_bikes, which did not, right ones reach 0.24. They extend over 0.47 and more of their box."""
_APART = 0.16
"""Largest mean distance of the landmarks from another network's five points, shares of the face's width
(docs/methods.md 8.2). It is used instead of the box, since boxes are up to 1.9 times as large as the face: of the heads
of friends2 that are turned by 40 to 50 degrees, the box called every second right mesh astray."""
_BARE, _UNSURE = np.array([0.25, 0.25, 0.12, 0.12]), 0.55
"""Share of the detector's box that landmarks leave bare at the left, right, top and bottom, and residual of the fit:
beyond both together the landmarks are too small or beside the face. Either alone is common: generous boxes, and faces
in a crowd. Rendered faces are fitted with 0.15; with landmarks at three quarters of their size, or shifted by an eighth
of the face, with 0.52 to 0.7."""
_SWING = 0.6
"""By how much the way of the yaw through a fifth of a second may be longer than the straight one, radians. Of 7,700 own
faces of 15 clips, which chose it, 31 had more: a blurred profile, a woman bowed over her plate, a man in the dark, all
with landmarks that jump. Of the others 99 of 100 in every clip stay below 0.55. In a face that is too small to know
anybody by it counts by the width: in one of 12 pixels features move by two at most."""
_NO_POSE = 0.6
"""Residual from which landmarks that are astray do not tell the pose either: profiles in stage_and_audience were read
as half turned and upside down, with 0.60 to 0.64."""
_OCCLUDED_TRIANGLE, _OCCLUDED_SHARE = 0.7, 0.3
"""Residual from which a triangle fits badly, and share of the mesh in such triangles from which a face counts as
occluded, by something large (docs/methods.md 4.5). Unoccluded faces of the clips reach 0.23 (glasses)."""
_ODD = 0.13
"""Share of the skin that has no skin colour, from which something in another colour occludes the face. Unoccluded faces
of the clips reach 0.06."""
_CHANGED = 0.15
"""Share of the mesh that looks different from seconds ago, from which something has come before the face. Unoccluded
faces of the clips reach 0.09."""
_STRAIN = 0.17
"""Rise of the residual over seconds, from which something in skin's own colour occludes the face. Unoccluded faces of
the clips reach 0.12."""
_SHARPNESS = 0.6
"""Least sharpness of a face of 64 pixels and wider. Faces of the clips stay above 0.86, sharp photographs above 1; a
blur of a thirtieth of the width brings them to 0.5. For smaller faces it is less, as their pixels allow."""
_LEAVE = 0.88
"""Share of its threshold to which a signal must fall before a rule that holds stops: no flicker about a threshold."""
_STEADY, _STEADY_SMALL = 5, 9
"""Frames for which a face must deserve a better level before it gets that level, and the same for one that is too small
to know anybody by: its landmarks are often lost, or astray, for a frame. With 5 for all, levels change 4.7 times in 100
faces of street_next instead of 3.9, in cctv_classroom 3.9 times instead of 2.7."""


def severities(seen: Observation, areas: NDArray[np.float64]) -> dict[Cause, float]:
    """How far each rule's signal goes, 1 at its threshold. areas (m,): share of the mesh of each triangle."""
    signals = seen.signals
    width = max(seen.width, 1e-6)
    covers = (misfit(seen, areas), signals.odd / _ODD, signals.changed / _CHANGED, signals.strain / _STRAIN)
    return {
        Cause.SMALL: _SMALLEST / width,
        Cause.TURNED: float(np.max([abs(seen.pose.yaw) / _YAW, abs(seen.pose.pitch) / _PITCH])),
        Cause.OCCLUDED: float(np.max(covers)),
        Cause.BLURRED: _SHARPNESS / max(relative_sharpness(signals.sharpness, width), 1e-6),
        Cause.POOR_FIT: seen.fit.residual / _RESIDUAL if seen.fit.converged else np.inf,
        Cause.ASTRAY: astray(seen),
        Cause.UNSTEADY: seen.swing / _SWING * min(width / _SMALLEST, 1.0),
    }


def as_rendered(found: Mapping[Cause, float], seen: Observation) -> Mapping[Cause, float]:
    """The severities of what speaks against rendering a known face on its landmarks.

    They are `severities` with three exceptions. A face may be smaller than one to know somebody by. A head that is
    rendered as a solid may be turned farther, and it does not matter that the frontal model fits no turned head. A face
    that something covers may be fitted worse, since that is known already.
    """
    view = seen.turned
    borne: dict[Cause, float] = {Cause.SMALL: _SMALLEST_SHOWN / max(seen.width, 1e-6)}
    if found[Cause.OCCLUDED] > 1:
        borne[Cause.POOR_FIT] = seen.fit.residual / _RESIDUAL_COVERED
    if view is None or view.width < _SOLID_WIDTH:
        return {**found, **borne}
    borne |= {Cause.TURNED: max(abs(view.pose.yaw) / _YAW_SOLID, abs(seen.pose.pitch) / _PITCH)}
    if abs(view.pose.yaw) > _FITTED:
        borne[Cause.POOR_FIT] = 0.0
    return {**found, **borne}


def astray(seen: Observation) -> float:
    """How far the landmarks lie from the eyes, nose and mouth that another network sees, or else from where the
    detector's box says, 1 at the threshold."""
    if seen.apart is not None and seen.side is not None:
        return max(seen.apart / _APART, AS_LARGE / max(seen.side, 1e-3))
    left, right, top, bottom = seen.bare
    share = np.maximum([1 - left - right, 1 - top - bottom], 1e-3)
    beside = np.abs([left - right, top - bottom]) / 2 / share
    bare = float(np.max(seen.bare / _BARE))
    return float(max(beside.max() / _BESIDE, _LEAST_SHARE / share.min(), min(bare, seen.fit.residual / _UNSURE)))


def landmarks_hold(found: Mapping[Cause, float], seen: Observation) -> bool:
    """Whether nothing puts doubt on where the landmarks of an observation with these severities are."""
    return not _against(as_rendered(found, seen), frozenset())


def unblemished(found: Mapping[Cause, float]) -> bool:
    """Whether no rule at all speaks against a face with these severities; the whitelist asks for that."""
    return not _holding(found, frozenset())


def shows_a_face(seen: Observation, face: Face) -> bool:
    """Whether an observation may be of a person's face at all. A hand, a print or an ear can have landmarks too, but
    then detector and landmarker are not both sure. Of the sightings with landmarks on 5 clips 96 of 100 faces pass and
    14 of 161 hands and the like. The fit does not tell them apart: dark and turned faces are fitted as badly."""
    return face.confirmed and seen.fit.residual <= _NO_FACE


def recognisable(seen: Observation, areas: NDArray[np.float64], severe: Mapping[Cause, float] | None = None) -> bool:
    """Whether an observation is good enough to know its person by. severe: its `severities`, where they are known.

    Of the signs of an occluder only misfitting triangles count. Odd colours are as often light from the side. A change
    or a strain only says that the face is not as it was, which is for `identity.looks` to judge.
    """
    found = dict(severities(seen, areas) if severe is None else severe)
    del found[Cause.OCCLUDED]
    return misfit(seen, areas) <= 1 and not _holding(found, frozenset())


def misfit(seen: Observation, areas: NDArray[np.float64]) -> float:
    """Share of the mesh whose triangles fit badly, 1 at the threshold from which a face counts as occluded."""
    return float(areas[seen.fit.triangle_residual > _OCCLUDED_TRIANGLE].sum()) / _OCCLUDED_SHARE


def turned_away(seen: Observation) -> bool:
    """Whether a head is turned so far that its pose is no longer known, or its landmarks tell nothing of the pose."""
    if astray(seen) > 1 and seen.fit.residual > _NO_POSE:
        return True
    fitted = seen.fit.converged and seen.fit.residual <= _RESIDUAL
    yaw, most = seen.pose.yaw, _AWAY if fitted else _YAW
    if seen.turned is not None and seen.turned.width >= _SOLID_WIDTH:
        yaw, most = seen.turned.pose.yaw, _YAW_SOLID
    return not max(abs(yaw), _STEEPER * abs(seen.pose.pitch)) <= most


class Steps:
    """Hysteresis between the own face and the posed one, so that a face does not flicker between the two. It goes down
    at once. It goes up only when every signal is well back, after a few good frames and before a few more where those
    are known."""

    def __init__(self) -> None:
        self._held: frozenset[Cause] = frozenset()
        self._cause: Cause | None = None
        self._good = 0

    def __call__(
        self,
        found: Mapping[Cause, float],
        coming: Iterable[Mapping[Cause, float] | None] = (),
        *,
        jumps_soon: bool = False,
    ) -> Cause | None:
        """Why a known face with these severities is to be posed; None when it is rendered on its landmarks. coming: the
        severities in the next frames, None for a frame without landmarks; one fewer of these count than
        a face must be good for (`_STEADY`). jumps_soon: whether the landmarks are seen to jump in the frames to come
        whose swing this frame is part of."""
        known = self._cause is not None or self._good > 0
        steady = _STEADY if found.get(Cause.SMALL, 0.0) <= _SMALLEST_SHOWN / _SMALLEST else _STEADY_SMALL
        self._held = _against(found, self._held)
        if self._held:
            self._good = 0
            self._cause = _worst(self._held, found)
            return self._cause
        self._good += 1
        if jumps_soon:  # to and fro is known only after the first swing
            self._good, self._cause = 0, self._cause or Cause.UNSTEADY
        elif (self._good >= steady and self._cause is not None) or not known:
            self._cause = _soon(itertools.islice(coming, steady - 1))
        return self._cause


def _soon(coming: Iterable[Mapping[Cause, float] | None]) -> Cause | None:
    """Why a face that can be rendered on its landmarks now cannot be in one of the next frames; None where it always
    can."""
    for found in coming:
        if found is None:
            return Cause.NO_LANDMARKS
        held = _against(found, frozenset())
        if held:
            return _worst(held, found)
    return None


def _worst(held: Iterable[Cause], found: Mapping[Cause, float]) -> Cause:
    return max(held, key=lambda cause: np.nan_to_num(found[cause]))


def _against(found: Mapping[Cause, float], held: frozenset[Cause]) -> frozenset[Cause]:
    """The rules that hold and put doubt on where the landmarks are; held: those that held in the frame before."""
    return _holding({cause: s for cause, s in found.items() if cause not in TRUE_LANDMARKS}, held)


def _holding(found: Mapping[Cause, float], held: frozenset[Cause]) -> frozenset[Cause]:
    """The rules that hold; one that held before holds until its signal is well back. A severity that is no number
    holds."""
    return frozenset(c for c, severity in found.items() if not severity <= (_LEAVE if c in held else 1.0))
