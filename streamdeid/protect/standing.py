"""What is settled about a face in the frame that is decided next, and the pure function that chooses its level.

`levels` holds the rules; this module turns their answers into a protection level (docs/architecture.md, 4).
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
    """A track in a frame, with everything that its protection level follows from."""

    track: Track
    place: tuple[Box, Points | None, tuple[int, int]]
    """As `Plan.place`."""
    tracklet: int
    ambiguous: bool
    """Whether it is unclear who the track shows."""
    person: int
    """Number of the person; 0 where nobody is known."""
    face: NewFace | None
    """The face that may be shown; None where there is none, or where none may be shown."""
    posed: PosedView | None
    """The view at which the face may be posed; None where nothing tells one."""
    lost: bool = False
    """Whether the detector does not see the face."""
    measured: Measured | None = None
    followed: Followed | None = None
    turned: bool = False
    """Whether the head is turned too far for any face."""
    worse: Cause | None = None
    """What speaks against rendering the face on its landmarks; None for nothing."""
    neutral: Neutral | None = None
    """The face at rest, where an own face can be rendered (`own_face`)."""


def own_face(one: Standing) -> bool:
    """Whether everything is known that an own face needs, apart from the computed face at rest (`neutral`)."""
    if one.measured is None or one.followed is None or one.face is None or one.worse is not None:
        return False
    return one.followed.rest.ready and not turned_away(one.measured.seen)


def planned(one: Standing, hidden: Level) -> Plan:
    """The best level that a face can have, and why it has no better one. hidden: the level of a track that shows no
    face."""
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
