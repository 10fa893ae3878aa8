"""What is settled of a face in the frame that is decided next, and the choice of its protection level: a pure function.

`levels` has the rules that are asked; here is what follows from their answers (docs/architecture.md, 4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamdeid.core.arrays import Box, Points
from streamdeid.core.faces import Track
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.posed_view import PosedView
from streamdeid.protect.levels import Cause, Level, turned_away
from streamdeid.protect.measured_faces import Followed
from streamdeid.protect.pending import Measured
from streamdeid.protect.plan import Plan
from streamdeid.render.new_face import NewFace


@dataclass(frozen=True)
class Standing:
    """A track in a frame, with all that its protection level follows from."""

    track: Track
    place: tuple[Box, Points | None, tuple[int, int]]
    """As `Plan.place`."""
    tracklet: int
    ambiguous: bool
    """Whether it is unclear who it shows."""
    person: int
    """0 for nobody known."""
    face: NewFace | None
    """The face that may be shown; None where nobody has one, or nobody's may be."""
    posed: PosedView | None
    """A pose at which it may be shown; None where none is told."""
    lost: bool = False
    """Whether the detector does not see it."""
    measured: Measured | None = None
    followed: Followed | None = None
    turned: bool = False
    """Whether the head is turned too far for any face."""
    worse: Cause | None = None
    """What speaks against rendering it on its landmarks; None for nothing."""
    neutral: Neutral | None = None
    """The face at rest, where an own face can be rendered (`own_face`)."""


def own_face(one: Standing) -> bool:
    """Whether everything is there for an own face, but for the face at rest itself."""
    if one.measured is None or one.followed is None or one.face is None or one.worse is not None:
        return False
    return one.followed.rest.ready and not turned_away(one.measured.seen)


def planned(one: Standing, hidden: Level) -> Plan:
    """The level of a face, the best that it can have, and why no better one. hidden: that of who shows no face."""
    plan = Plan(
        one.track,
        one.place,
        hidden,
        None,
        one.measured,
        one.followed,
        person=one.person,
        face=one.face,
        tracklet=one.tracklet,
    )
    if one.lost:
        lost = replace(plan, cause=Cause.LOST)
        return lost if one.face is None or one.posed is None else replace(lost, level=Level.POSED, posed=one.posed)
    if own_face(one) and one.neutral is not None:
        return replace(plan, level=Level.OWN_FACE, neutral=one.neutral)
    if one.face is None:
        cause = Cause.DOUBT if one.ambiguous else Cause.NOBODY if one.measured is not None else Cause.NO_LANDMARKS
        return replace(plan, cause=cause)
    if one.posed is None:
        return replace(plan, cause=Cause.TURNED if one.turned else one.worse)
    return replace(plan, level=Level.POSED, cause=one.worse, posed=one.posed)
