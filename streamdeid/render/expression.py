"""Transfer of a frame's expression to a surrogate's neutral shape (P4 repaired: docs/methods.md 1.9, 2.4 and 4.0).

Everything is computed in the model's frame, in Cartesian coordinates. It is not truncated by PCA, since that makes
mouths stiff.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import (
    LEFT_EYE,
    LEFT_EYE_CORNERS,
    LOWER_LIP_PAIRS,
    MOUTH,
    MOUTH_CORNERS,
    OUTLINE,
    RIGHT_EYE,
    RIGHT_EYE_CORNERS,
    RIGID,
    UPPER_LIP_PAIRS,
)
from streamdeid.core.kernel_cache import kernel

_PARTS = ((LEFT_EYE, LEFT_EYE_CORNERS), (RIGHT_EYE, RIGHT_EYE_CORNERS), (MOUTH, MOUTH_CORNERS))
_EYES = np.array([[part.start, *corners] for part, corners in _PARTS[:2]])
_LIP_PAIRS = ((13, 19), (14, 18), (15, 17))
"""Points of the upper and the lower inner lip, from the left, as numbers within the mouth."""
_OVER = UPPER_LIP_PAIRS + LOWER_LIP_PAIRS
"""Points of the outer lip, each with the point of the inner lip that it lies beside."""
_THICK = UPPER_LIP_PAIRS[1:4], LOWER_LIP_PAIRS[1:4]
"""Pairs of points of the outer and the inner lip, numbers within the mouth, whose mean distance is the thickness of the
upper and of the lower lip."""
_THINNEST = 0.06
"""Least thickness, a share of the mouth's width, that a lip of the person at rest counts as having where the
surrogate's is fuller. With pressed lips, noise alone would otherwise make full lips appear and disappear."""
_NOSE, _LIP, _MOUTH_FROM, _MOUTH_TO = 33, 51, MOUTH.start, MOUTH.stop
"""Points between which the philtrum lies, and the range of points of the mouth."""
_NARROWEST = 0.12
"""Least opening over width of an eye at rest: an eye with less was never seen open."""
_AS_OPEN = 0.8
"""Least opening of an eye at rest, as a share of the other eye's. If a person winks while the face at rest is learnt
(lp_d3), one eye is otherwise taken for narrow, and looks down are taken for winks. Chosen by eye on that clip."""
_LOWERED = 0.65, 0.85
"""Share of its opening at rest that the more open eye has: up to the first value both eyes are rendered equally open,
and from the second each is rendered as it is read. In a slightly turned head the landmarker reads two lowered lids up
to .4 apart (lp_d11, grimaces), which would be a wink; people who wink mostly have the other eye open. Chosen by eye on
lp_d3."""
_WIDER = 1.1
"""Largest opening of a rendered eye, over that of the surrogate at rest or that of the person now, whichever is wider.
A wide opening is the person's own, like that of a mouth. Without this limit, people who squint while the face at rest
is learnt would stare afterwards (lp_d3)."""
_MOST_TURN = 0.5
"""Largest turn that is taken out of a surrogate, in pixels for a pixel of depth (about radians)."""
_MOUTH = 1.0, 1.12
"""Bounds of the factor on changes of the mouth, which is the surrogate's width over the person's: a wide mouth makes no
wider smiles, and a narrow one moves as much in speech."""
_REREAD = 1.06
"""Least factor on the opening of a mouth: the landmarker reads less from lips that are not the person's. Without it,
what it reads varies .93 times as much as with the original (median of 13 clips with three surrogates each)."""
_WIDEST, _STRETCHED, _OPEN = 1.12, (1.1, 1.5), (0.25, 0.9)
"""How much wider than the person's a mouth may be that is rendered wide or open. The limit holds fully at the second of
the widths over that at rest, or of the openings over the width, and not at all at the first. At rest the mouth has the
surrogate's width."""
_OUTWARDS = 4.0
"""Largest distance by which the surrogate may widen the person's outline, in pixels of the model's frame."""


def transfer_expression(shape: Points, neutral: Points, surrogate: Points) -> Points:
    """The surrogate's shape with the person's expression, (81, 2).

    shape, neutral: the person in this frame and at rest; surrogate: the new face at rest; all (81, 2) in the model's
    frame. P4 equation (1) moves every point. Within eyes and mouth the change is then computed anew relative to the
    line of their corners, and their openings follow the person's. Contours stay the surrogate's, since those of lids
    and lips identify people.
    """
    moved = surrogate + shape - neutral
    laid = np.empty_like(moved)
    lids = _lids(shape, neutral, _EYES)
    for i, (part, (a, b)) in enumerate(_PARTS):
        wider, more = (1.0, 0.0) if part is MOUTH else lids[i]
        _lay(shape, neutral, surrogate, moved, laid, part.start, part.stop, a, b, part is MOUTH, wider, more)
    _keep_philtrum(shape, neutral, surrogate, moved)
    _push(shape, neutral, surrogate, OUTLINE, moved)
    return moved


@kernel
def _level(points, a, b, first, stop):  # type: ignore[no-untyped-def]
    """Some of the points (81, 2), from the middle between two corners, turned so that these lie level: (n, 2)."""
    x, y = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1]
    length = max(np.sqrt(x * x + y * y), 1e-9)
    x, y = x / length, y / length
    cx, cy = (points[a, 0] + points[b, 0]) / 2, (points[a, 1] + points[b, 1]) / 2
    out = np.empty((stop - first, 2))
    for i in range(first, stop):
        dx, dy = points[i, 0] - cx, points[i, 1] - cy
        out[i - first, 0], out[i - first, 1] = dx * x + dy * y, dy * x - dx * y
    return out


@kernel
def _opening(points, first, a, b):  # type: ignore[no-untyped-def]
    """The mean opening over width of an eye: its points in (81, 2) begin with the first, its corners are a and b."""
    eye = _level(points, a, b, first, first + 6)
    return max(0.5 * (eye[5, 1] + eye[4, 1] - eye[1, 1] - eye[2, 1]), 0.0) / max(_distance(points, a, b), 1e-6)


@kernel
def _lids(shape, neutral, eyes):  # type: ignore[no-untyped-def]
    """For each eye, (2, 2): the factor on its opening at rest, and what is added to the share of it that is open now.

    eyes: int64 (2, 3), the first point and both corners of each eye.
    """
    found, shares, rest = np.empty((2, 2)), np.empty(2), np.empty(2)
    for i in range(2):
        rest[i] = _opening(neutral, eyes[i, 0], eyes[i, 1], eyes[i, 2])
    for i in range(2):
        found[i, 0] = max(_AS_OPEN * rest[1 - i] / max(rest[i], 1e-6), 1.0)
        now = _opening(shape, eyes[i, 0], eyes[i, 1], eyes[i, 2])
        shares[i] = min(now / max(rest[i] * found[i, 0], _NARROWEST), 1.0)
    alike = 1.0 - _risen(max(shares[0], shares[1]), _LOWERED[0], _LOWERED[1])
    for i in range(2):
        found[i, 1] = alike * 0.5 * (shares[1 - i] - shares[i])
    return found


@kernel
def _lay(shape, neutral, surrogate, moved, laid, first, stop, a, b, mouth, wider, more):  # type: ignore[no-untyped-def]
    """Compute the change of an eye or the mouth anew relative to the line of its corners, which are points a and b.

    wider, more: the result of `_lids` for an eye.
    """
    now, rest, own = (
        _level(shape, a, b, first, stop),
        _level(neutral, a, b, first, stop),
        _level(surrogate, a, b, first, stop),
    )
    wide_rest, wide_now, wide_own = _distance(neutral, a, b), _distance(shape, a, b), _distance(surrogate, a, b)
    ratio = wide_own / max(wide_rest, 1e-6)
    if mouth:
        ratio = min(max(ratio, _MOUTH[0]), _MOUTH[1])
    part = laid[first:stop]
    for i in range(stop - first):
        for c in range(2):
            part[i, c] = own[i, c] + ratio * (now[i, c] - rest[i, c])
    if mouth:
        opening = 0.0
        for upper, lower in _LIP_PAIRS:
            opening = max(opening, (now[lower, 1] - now[upper, 1]) / max(wide_now, 1e-6))
        wide = max(wide_own + ratio * (wide_now - wide_rest), 1e-6)
        most = _risen(wide_now / max(wide_rest, 1e-6), _STRETCHED[0], _STRETCHED[1])
        most = max(most, _risen(opening, _OPEN[0], _OPEN[1]))
        wanted = wide + most * (min(wide, _WIDEST * wide_now) - wide)
        for i in range(stop - first):
            part[i, 0] *= wanted / wide
        _thin_lips(part, ratio, now, rest, own, wide_rest)
        _open_lips(part, max(ratio, _REREAD), now)
    else:
        _open_lids(part, ratio, now, rest, own, wider, more)
    x, y = moved[b, 0] - moved[a, 0], moved[b, 1] - moved[a, 1]
    length = max(np.sqrt(x * x + y * y), 1e-9)
    x, y = x / length, y / length
    cx, cy = (moved[a, 0] + moved[b, 0]) / 2, (moved[a, 1] + moved[b, 1]) / 2
    for i in range(stop - first):
        u, v = part[i]
        moved[first + i, 0], moved[first + i, 1] = u * x - v * y + cx, u * y + v * x + cy


@kernel
def _open_lids(laid, ratio, now, rest, own, wider, more):  # type: ignore[no-untyped-def]
    """Open an eye (6, 2), in place.

    Closing is relative, so that shut eyes are shut. Opening wider is absolute, since the twitch of a narrow eye would
    otherwise be a stare, and it ends at `_WIDER`.
    """
    low, high = rest[0, 0], rest[0, 0]
    for i in range(len(rest)):
        low, high = min(low, rest[i, 0]), max(high, rest[i, 0])
    for upper, lower in ((1, 5), (2, 4)):
        open_now, at_rest = now[lower, 1] - now[upper, 1], wider * (rest[lower, 1] - rest[upper, 1])
        share = min(max(open_now, 0.0) / max(at_rest, _NARROWEST * (high - low)), 1.0)
        share = min(max(share + more, 0.0), 1.0)
        own_open = max(own[lower, 1] - own[upper, 1], 0.0)
        most = _WIDER * max(own_open, ratio * open_now)
        laid[upper, 1] = laid[lower, 1] - min(own_open * share + ratio * max(open_now - at_rest, 0.0), most)


@kernel
def _thickness(mouth, lip):  # type: ignore[no-untyped-def]
    """The mean height of a lip of a level mouth (20, 2)."""
    total = 0.0
    for outer, inner in lip:
        total += abs(mouth[inner, 1] - mouth[outer, 1]) / len(lip)
    return total


@kernel
def _thin_lips(laid, ratio, now, rest, own, wide):  # type: ignore[no-untyped-def]
    """Make the lips of a mouth (20, 2) thinner in proportion to the person's, in place.

    With the difference alone, full lips would stay full in a smile that leaves only a line of the person's
    (cup_occlusion). Lips thicken by as much as the person's do. wide: the width of the person's mouth at rest.
    """
    least = _THINNEST * max(wide, 1e-6)
    for upper in (True, False):
        lip = _THICK[0] if upper else _THICK[1]
        thick, at_rest, own_rest = _thickness(now, lip), _thickness(rest, lip), _thickness(own, lip)
        if thick >= at_rest:
            continue
        gain = min(own_rest / at_rest, max(1.0, own_rest / least))
        more = (thick - at_rest) * (gain - ratio)
        for outer, beside in _OVER:
            if (beside < 16) == upper:
                middle = outer != 1 and outer != 5 and outer != 7 and outer != 11
                laid[outer, 1] += (-more if upper else more) * (1.0 if middle else 0.5)


@kernel
def _open_lips(laid, ratio, now):  # type: ignore[no-untyped-def]
    """Open a mouth (20, 2) to the person's opening times a ratio, in place; lips keep their thickness.

    The surrogate's own opening does not count, since a surrogate at rest is shut.
    """
    for upper, lower in _LIP_PAIRS:
        middle = (laid[upper, 1] + laid[lower, 1]) / 2
        half = ratio * max(now[lower, 1] - now[upper, 1], 0.0) / 2
        for inner, at in ((upper, middle - half), (lower, middle + half)):
            for outer, beside in _OVER:
                if beside == inner:
                    laid[outer, 1] += at - laid[inner, 1]
            laid[inner, 1] = at


@kernel
def _risen(value, first, last):  # type: ignore[no-untyped-def]
    """A smooth step: 0 up to the first of two values, 1 from the last one on."""
    t = min(max((value - first) / (last - first), 0.0), 1.0)
    return t * t * (3 - 2 * t)


@kernel
def _keep_philtrum(shape, neutral, surrogate, moved):  # type: ignore[no-untyped-def]
    """Move a mouth down, in place, where the skin between nose and lip is too short.

    It is never shorter than in proportion to the person's: otherwise a short upper lip of a surrogate runs into the
    nose when a person with a long one draws it up.
    """
    rest = max(neutral[_LIP, 1] - neutral[_NOSE, 1], 1e-6)
    share = (shape[_LIP, 1] - shape[_NOSE, 1]) / rest
    if share < 1:
        least = share * (surrogate[_LIP, 1] - surrogate[_NOSE, 1])
        down = max(least - (moved[_LIP, 1] - moved[_NOSE, 1]), 0.0)
        for point in range(_MOUTH_FROM, _MOUTH_TO):
            moved[point, 1] += down


@kernel
def _distance(points, a, b):  # type: ignore[no-untyped-def]
    x, y = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1]
    return np.sqrt(x * x + y * y)


@kernel
def _push(shape, neutral, surrogate, outline, moved):  # type: ignore[no-untyped-def]
    """Push the person's own outline outwards where the surrogate's is wider.

    So nothing of the person's jaw stays visible beside a narrower new one. Any redaction gives away the outline itself
    (the black-hull control).
    """
    count = len(outline)
    cx, cy = 0.0, 0.0
    for point in outline:
        cx, cy = cx + neutral[point, 0] / count, cy + neutral[point, 1] / count
    normals = np.empty((count, 2))
    outwards = 0.0
    for k in range(count):
        before, after = outline[(k + count - 1) % count], outline[(k + 1) % count]
        x, y = neutral[after, 1] - neutral[before, 1], neutral[before, 0] - neutral[after, 0]
        length = max(np.sqrt(x * x + y * y), 1e-9)
        normals[k, 0], normals[k, 1] = x / length, y / length
        outwards += (neutral[outline[k], 0] - cx) * normals[k, 0] + (neutral[outline[k], 1] - cy) * normals[k, 1]
    sign = 1.0 if outwards > 0 else -1.0 if outwards < 0 else 0.0
    for k in range(count):
        point = outline[k]
        x, y = sign * normals[k, 0], sign * normals[k, 1]
        push = (surrogate[point, 0] - neutral[point, 0]) * x + (surrogate[point, 1] - neutral[point, 1]) * y
        push = min(max(push, 0.0), _OUTWARDS)
        moved[point, 0], moved[point, 1] = shape[point, 0] + push * x, shape[point, 1] + push * y


def facing(surrogate: Points, neutral: Points, depth: Points) -> Points:
    """The surrogate's shape (81, 2) turned to look where the person at rest looks.

    A low nose and a nod change a frontal face in the same way: by an offset proportional to the depth (81,) of each
    point. This part of the difference is pose, not identity, and stays the person's (docs/methods.md 2.4). It is found
    as head pose is (`aam.pose`): on the points that expressions move least. These include points of the outline, which
    stay the person's own.
    """
    inner = np.ones(len(neutral), np.bool_)
    inner[OUTLINE] = False
    z = (depth - depth[inner].mean()) * inner
    offset = (surrogate - neutral) * inner[:, None]
    apparent = _apparent_turn(offset, neutral, depth)
    # The apparent turn if only the inner points turn and the outline is held: the response to be inverted.
    across, down = (_apparent_turn(np.outer(z, axis), neutral, depth) for axis in np.eye(2))
    turn = np.linalg.solve(np.column_stack([across, down]), apparent)
    turned: Points = surrogate - np.outer(depth - depth[inner].mean(), np.clip(turn, -_MOST_TURN, _MOST_TURN))
    return turned


def _apparent_turn(offset: Points, shape: Points, depth: Points) -> Points:
    """The turn (2,) in x and y, per pixel of depth, that an offset (81, 2) of a shape (81, 2) looks like.

    A shift, a scaling and a roll are fitted besides; least squares over the rigid points.
    """
    (x, y), z = shape[RIGID].T - shape[RIGID].mean(axis=0)[:, None], depth[RIGID] - depth[RIGID].mean()
    one, none = np.ones(len(z)), np.zeros(len(z))
    rows_x = np.column_stack([one, none, x, -y, z, none])
    rows_y = np.column_stack([none, one, y, x, none, z])
    found, *_ = np.linalg.lstsq(np.vstack([rows_x, rows_y]), offset[RIGID].T.ravel(), rcond=None)
    turn: Points = found[4:]
    return turn
