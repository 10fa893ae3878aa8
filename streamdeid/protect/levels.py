"""Protection levels, and the measured rules by which `replace_faces` gives a face one (docs/architecture.md 4).

Two questions that were one once are kept apart. *Is this frame good to know somebody by?* (`recognisable`): light from
aside, a raised eyebrow or a worse fit than a second ago say nothing against who it is. *How is a known person shown?*
(`Steps`): whoever is known keeps the own face. Where the landmarks are true it is rendered on them, occluded or blurred
as it may be, and as a solid where the head is turned; where that is too small, or there are none that are true, it is
posed rigidly by five points. Who is not known, and whose pose nobody knows, gets a soft redaction: there is no shared
face.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.faces import Face
from streamdeid.observe.observation import Observation
from streamdeid.observe.signals import relative_sharpness


class Level(enum.IntEnum):
    """Protection levels in the order in which they are tried; after the last the frame is withheld (`FailedClosed`)."""

    OWN_FACE = 1
    """The person's surrogate, rendered on the landmarks."""
    POSED = 2
    """The person's surrogate, rendered rigidly at a pose, over the whole face."""
    SOFT = 3
    """A soft redaction, with no face in it."""
    SOLID = 4
    """One colour: with `--strict`, and where the soft one cannot be computed."""
    MASK = 5
    """One of the masks, where that was asked for instead of all others (`--method blur`)."""

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
    """Why a face was not shown by the first level."""

    DOUBT = "doubt"
    """It is unclear who is who: people cross."""
    SMALL = "small"
    TURNED = "turned"
    OCCLUDED = "occluded"
    BLURRED = "blurred"
    POOR_FIT = "poor fit"
    ASTRAY = "landmarks astray"
    """The landmarks leave much of the detector's box bare: they are too small, or beside the face."""
    NOBODY = "no surrogate"
    """Its person was never decided, or no surrogate could be drawn for it."""
    NO_LANDMARKS = "no landmarks"
    LOST = "lost"
    """The detector does not see it; its place is predicted."""


TRUE_LANDMARKS = frozenset({Cause.OCCLUDED, Cause.BLURRED})
"""Causes that say nothing against where the landmarks are: a known face is rendered on them all the same."""
_SMALLEST = 24.0
"""Width in pixels below which landmarks say nothing."""
_YAW, _PITCH = 0.85, 0.7
"""Radians beyond which the frontal model no longer fits a turned head."""
_YAW_SOLID, _SOLID_WIDTH = 1.12, 60.0
"""The same of a head drawn as a solid (`turned_face`), and the width, pixels, that it must have, seen from the front:
the landmarker reads true profiles as 56 to 68 degrees, and beyond 64 its mesh leaves mouth and chin outside. In
stage_and_audience, which chose this, a head read as 56 to 62 is covered in every frame, and one read as 65 to 68 in
none. Of 175 turned faces of LFPW, which did not, none reads more than 46."""
_FITTED = 0.35
"""Radians of yaw up to which a poor fit of the frontal model says anything, where a solid is drawn (docs/methods.md
6.3)."""
_AWAY, _STEEPER = 0.96, 1.2
"""Radians of yaw beyond which no face is shown, and how much more a nod counts: the model knows less of it. True
profiles read 0.98 to 1.15, whatever they are, and a flat mesh turned so far shows no face that one could look at; where
the fit is poor, too, landmarks may lie anywhere from `_YAW` on."""
_RESIDUAL = 0.7
"""Residual of the fit. Open faces of the clips reach 0.62 (glasses), of the London set 0.29."""
_RESIDUAL_COVERED = 0.78
"""The same of a face that something covers in part. In stage_and_audience, which chose this, 14 of 18 sightings of
known people with residuals from 0.7 to 0.78 are faces (a microphone, a hand), in cctv_classroom, which did not, 3 of 3;
seven other clips have none."""
_NO_FACE = 0.85
"""Residual beyond which nothing is a face, however sure the detector is: faces of 11 clips reach 0.82 (a helmet)."""
_BESIDE, _LEAST_SHARE = 0.3, 0.45
"""How far the middle of the landmarks may lie from the middle of the detector's box, shares of their own extent, and
the share of the box's sides that they extend over at least. A box may be generous (a tile that saw the whole head, a
turned one, one with much hair), but its middle is on the face: in crowd_1080p, which chose this, right meshes reach
0.27 (99 of 100 up to 15 degrees of turn) and 0.37 (99 of 100 above), one beside a profile 0.5; on stage_and_audience,
crossing_heads and street_bikes, which did not, right ones reach 0.24. They extend over 0.47 and more of their box."""
_APART = 0.16
"""Mean distance of the landmarks from a second network's five points, shares of the face's width (docs/methods.md 8.2).
Boxes are up to 1.9 times the face: of the heads of friends2 that are turned by 40 to 50 degrees the box called every
second right mesh astray."""
_BARE, _UNSURE = np.array([0.25, 0.25, 0.12, 0.12]), 0.55
"""Share of the detector's box that landmarks leave bare at the left, right, top and bottom, and residual of the fit,
from which both together say that the landmarks are too small or beside the face. Either alone is common: generous
boxes, and faces in a crowd. Drawn faces are fitted with 0.15; with landmarks at three quarters of their size, or
shifted by an eighth of the face, with 0.52 to 0.7."""
_NO_POSE = 0.6
"""Residual from which landmarks that are astray do not tell the pose either: profiles in stage_and_audience were read
as half turned, upside down, with 0.60 to 0.64."""
_OCCLUDED_TRIANGLE, _OCCLUDED_SHARE = 0.7, 0.3
"""Share of the mesh whose triangles fit badly, from which a face counts as occluded: gross covers (docs/methods.md
4.5). Open faces of the clips reach 0.23 (glasses)."""
_ODD = 0.13
"""Share of the skin in no skin's colour: covers in another colour. Open faces of the clips reach 0.06."""
_CHANGED = 0.15
"""Share of the mesh unlike itself seconds ago: whatever comes before a face. Open faces of the clips reach 0.09."""
_STRAIN = 0.17
"""Rise of the residual over seconds: covers in skin's own colour. Open faces of the clips reach 0.12."""
_SHARPNESS = 0.6
"""Sharpness of a face of 64 pixels and wider. Faces of the clips keep above 0.86, sharp photographs above 1; a blur of
a thirtieth of the width brings them to 0.5. Smaller ones have as much less as their pixels allow."""
_LEAVE = 0.88
"""A rule that holds goes on holding until its signal is back by so much: no flicker about a threshold."""
_STEADY = 5
"""Frames a face must deserve a better level before it gets it."""


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
    }


def as_drawn(found: Mapping[Cause, float], seen: Observation) -> Mapping[Cause, float]:
    """The severities of what speaks against rendering a known face on its landmarks: `severities`, but those of a head
    that is drawn as a solid bear more of a turn, and of a frontal model that fits no turned head; and that a face which
    something covers is fitted worse is known already."""
    view = seen.turned
    borne: dict[Cause, float] = {}
    if found[Cause.OCCLUDED] > 1:
        borne[Cause.POOR_FIT] = seen.fit.residual / _RESIDUAL_COVERED
    if view is None or view.width < _SOLID_WIDTH:
        return {**found, **borne}
    borne |= {Cause.TURNED: max(abs(view.pose.yaw) / _YAW_SOLID, abs(seen.pose.pitch) / _PITCH)}
    if abs(view.pose.yaw) > _FITTED:
        borne[Cause.POOR_FIT] = 0.0
    return {**found, **borne}


def astray(seen: Observation) -> float:
    """How far the landmarks lie from where a second network sees eyes, nose and mouth, or else from where the
    detector's box says, 1 at the threshold."""
    if seen.apart is not None:
        return seen.apart / _APART
    left, right, top, bottom = seen.bare
    share = np.maximum([1 - left - right, 1 - top - bottom], 1e-3)
    beside = np.abs([left - right, top - bottom]) / 2 / share
    bare = float(np.max(seen.bare / _BARE))
    return float(max(beside.max() / _BESIDE, _LEAST_SHARE / share.min(), min(bare, seen.fit.residual / _UNSURE)))


def unblemished(found: Mapping[Cause, float]) -> bool:
    """Whether no rule at all speaks against a face with these severities: the whitelist asks for that."""
    return not _holding(found, frozenset())


def shows_a_face(seen: Observation, face: Face) -> bool:
    """Whether anybody may be behind an observation: a hand, a print or an ear can have landmarks too, but detector and
    landmarker are not both sure of them. Of the sightings with landmarks on 5 clips 96 of 100 faces pass and 14 of 161
    hands and the like; the fit does not tell them apart, dark and turned faces are fitted as badly."""
    return face.confirmed and seen.fit.residual <= _NO_FACE


def recognisable(seen: Observation, areas: NDArray[np.float64], severe: Mapping[Cause, float] | None = None) -> bool:
    """Whether an observation is good enough to know somebody by. severe: its `severities`, where they are known.

    Of the signs of an occluder only misfitting triangles count: odd colours are side light as often, and a change or a
    strain says that it is not as it was, which is for `identity.looks` to judge.
    """
    found = dict(severities(seen, areas) if severe is None else severe)
    del found[Cause.OCCLUDED]
    return misfit(seen, areas) <= 1 and not _holding(found, frozenset())


def misfit(seen: Observation, areas: NDArray[np.float64]) -> float:
    """Share of the mesh whose triangles fit badly, 1 at the threshold from which a face counts as occluded."""
    return float(areas[seen.fit.triangle_residual > _OCCLUDED_TRIANGLE].sum()) / _OCCLUDED_SHARE


def turned_away(seen: Observation) -> bool:
    """Whether a head is turned so far that its pose is no longer known, or its landmarks say nothing of it."""
    if astray(seen) > 1 and seen.fit.residual > _NO_POSE:
        return True
    fitted = seen.fit.converged and seen.fit.residual <= _RESIDUAL
    yaw, most = seen.pose.yaw, _AWAY if fitted else _YAW
    if seen.turned is not None and seen.turned.width >= _SOLID_WIDTH:
        yaw, most = seen.turned.pose.yaw, _YAW_SOLID
    return not max(abs(yaw), _STEEPER * abs(seen.pose.pitch)) <= most


class Steps:
    """Hysteresis between the own face and the posed one: down at once, up only when every signal is well back, after a
    few good frames and before a few more where those are known, so that a face does not flicker between the two."""

    def __init__(self) -> None:
        self._held: frozenset[Cause] = frozenset()
        self._cause: Cause | None = None
        self._good = 0

    def __call__(
        self, found: Mapping[Cause, float], coming: Iterable[Mapping[Cause, float] | None] = ()
    ) -> Cause | None:
        """Why a known face with these severities is to be posed; None when it is rendered on its landmarks. coming:
        those of the next frames, None for one without landmarks; as many count as frames that are behind."""
        known = self._cause is not None or self._good > 0
        self._held = _against(found, self._held)
        if self._held:
            self._good = 0
            self._cause = _worst(self._held, found)
            return self._cause
        self._good += 1
        if (self._good >= _STEADY and self._cause is not None) or not known:
            self._cause = _soon(itertools.islice(coming, _STEADY - 1))
        return self._cause


def _soon(coming: Iterable[Mapping[Cause, float] | None]) -> Cause | None:
    """Why a face that could be rendered on its landmarks now cannot in one of the next frames; None where it can."""
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
    """The rules that hold and speak against where the landmarks are; held: those of the frame before."""
    return _holding({cause: s for cause, s in found.items() if cause not in TRUE_LANDMARKS}, held)


def _holding(found: Mapping[Cause, float], held: frozenset[Cause]) -> frozenset[Cause]:
    """The rules that hold, those that held before until they are well back. What is no number holds."""
    return frozenset(c for c, severity in found.items() if not severity <= (_LEAVE if c in held else 1.0))
