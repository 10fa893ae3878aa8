"""A surrogate's face at rest, at ease: it neither frowns nor smirks nor squints, since nobody does.

A surrogate is far from the person whom it replaces, in all that faces differ in, and studio photographs are stern. So
what a viewer takes for a mood would be where few people have it. `expression.facing` adds to that: what looks like a
turn of the head is taken out of the surrogate, and a nod moves brows, lids and corners of the mouth. So this comes
after it, and is a function of the turned shape alone.
"""

from __future__ import annotations

from streamdeid.aam.brows import with_brows_at_least, with_tilt_at_most
from streamdeid.aam.eye_opening import with_eyes_at_least
from streamdeid.aam.mouth_corners import with_corners_between
from streamdeid.core.arrays import Points
from streamdeid.render.expression import facing

_CORNERS = -0.04, 0.01
"""Least and largest height of the corners of a surrogate's mouth, a share of its width. The first is the median of the
bank, where corners hang by up to .16. In studio photographs people look stern; a new face with such a mouth frowns when
nobody does. The higher the corners, the less of smiles the landmarker reads (night_turning: correlation .86 with none
lifted, .81 at this height, .73 at -.01), and at -.01 a sad person seems to smile (lp_d3). Of London's donors nine of
ten have at most the second. People at rest had -.06 to .03 in seven clips; three of their surrogates, turned as they
are, had .06 to .08, and smirked at all that was said."""

_OPEN = 0.31, 0.25
"""Openness of eyes below which only a share is left of what they lack, and that share. London's median is .29, and
rendered eyes are read a tenth narrower than they are (12 clips). A narrow one looks angry or asleep: in speech_3 and
lp_d19, who look straight ahead, most of the iris was hidden."""

_TILT, _HIGH = (-0.03, 0.25), (0.25, 0.25)
"""Tilt of brows above which, and height below which, only a share is left of the difference, and that share. Both are
London's medians. Of seven clips with one key people had tilts of -.11 to .06 at rest, and the surrogates .03 to .10,
London's uppermost tenth. A viewer who was told nothing named low, slanting brows over narrow eyes as the most frequent
fault of 26 pictures."""


def faced(surrogate: Points, neutral: Points, depth: Points) -> Points:
    """The surrogate's shape (81, 2) at rest as it is rendered: turned to look where the person at rest looks
    (`expression.facing`; neutral (81, 2), depth (81,), the model's frame), and at ease."""
    return at_ease(facing(surrogate, neutral, depth))


def at_ease(shape: Points) -> Points:
    """The shape (81, 2) of a surrogate at rest, the model's frame, without what looks like a mood; the same array where
    there is none of it."""
    shape = with_corners_between(shape, *_CORNERS)
    shape = with_eyes_at_least(shape, *_OPEN)
    return with_brows_at_least(with_tilt_at_most(shape, *_TILT), *_HIGH)
