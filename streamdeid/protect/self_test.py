"""The self-test: a known synthetic face must be found and replaced before anything may be published (architecture.md
4).

It runs the parts of a run on one rendered picture, but with a tracker and a de-identifier of its own, so that no state
of it remains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.synthesise import render_patch, to_yuv
from streamdeid.core.arrays import Plane, Points
from streamdeid.core.colour import yuv_from_rgb
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.errors import FailedClosed
from streamdeid.protect.levels import Cause
from streamdeid.protect.plan import Deidentifier, planned_at_once
from streamdeid.render.new_face import NewFace

_SIDE = 320
"""Width and height of the picture in pixels."""
_FACE = 0.45
"""Width of the face, share of the picture's."""
_LEAST_CHANGE = 3.0
"""Mean absolute difference in luma by which the middle of the face must have changed;
`tests/runs/test_filter_library.py` shows that every method is well above it."""
_PERSON = 1
"""Number of the rendered person, who has a separate table of surrogates."""


class DrawnPerson:
    """The register of persons of a self-test: every track that is committed shows the rendered person."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Do nothing: there is nothing to note."""

    def person_of(self, track: int) -> int | None:
        """The rendered person, once the track is committed; None before."""
        return _PERSON if track in self._known else None

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        """Commit a track: it shows the rendered person."""
        self._known.add(track)
        return _PERSON


def self_test(
    fitting: FitModel,
    detect: Callable[[Frame], Sequence[Face]],
    track: Callable[[Sequence[Face], Fraction], Sequence[Track]],
    deidentifier: Deidentifier,
) -> float:
    """Render the model's mean face on a grey picture, run the parts over it, and check that it was replaced.

    track and deidentifier: fresh ones. Returns by how much the middle of the face changed, mean absolute luma. Raises
    FailedClosed when not exactly one face is found, when it is found in the wrong place, when too little changed, or
    when a face with landmarks could not be given a synthetic one.
    """
    frame, box = known_face(fitting)
    tracks = track(detect(frame), frame.time)
    if len(tracks) != 1:
        raise FailedClosed(f"the self-test failed: the detector found {len(tracks)} faces in a picture of one")
    x0, y0, x1, y1 = tracks[0].box
    centre = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    if not (x0 < centre[0] < x1 and y0 < centre[1] < y1):
        raise FailedClosed("the self-test failed: the detector found a face where there is none")
    pending, plans = planned_at_once(deidentifier, frame, tracks)
    before, after = (_middle(one.planes.y, box) for one in (frame, deidentifier.render(pending, plans)))
    change = float(np.abs(after.astype(np.float64) - before).mean())
    if change < _LEAST_CHANGE:
        raise FailedClosed(f"the self-test failed: a known face changed by {change:.1f} grey levels only")
    # Without landmarks from the detector there can only be a redaction; with them there must be a synthetic face here.
    if {plan.cause for plan in plans} - {None, Cause.NO_LANDMARKS}:
        raise FailedClosed("the self-test failed: no synthetic face could be rendered over a known one")
    return change


def known_face(fitting: FitModel) -> tuple[Frame, tuple[float, float, float, float]]:
    """A picture of the model's mean face on grey, and the box of its mesh in pixels."""
    model = fitting.model
    mean = NewFace.photographed(np.zeros(len(model.variances)), fitting)
    grey = Planes(
        np.full((_SIDE, _SIDE), 110, np.uint8),
        np.full((_SIDE // 2, _SIDE // 2), 128, np.uint8),
        np.full((_SIDE // 2, _SIDE // 2), 128, np.uint8),
    )
    scale = _FACE * _SIDE / model.frame_size[0]
    points = (model.mean_shape - model.mean_shape.mean(axis=0)) * scale + _SIDE / 2
    texture = to_yuv(mean.picture, *yuv_from_rgb(grey.colour))
    patch = render_patch(texture, model.mean_shape, points, model.closed_triangles, grey.size, 2.0)
    if patch is None:
        raise FailedClosed("the self-test failed: the model's mean face lies outside the picture")
    height, width = patch.y.shape
    window = slice(patch.y0, patch.y0 + height), slice(patch.x0, patch.x0 + width)
    rendered = patch.covered_luma.astype(bool)
    grey.y[window][rendered] = np.clip(patch.y, 0, 255)[rendered]
    half = tuple(slice(side.start // 2, (side.stop + 1) // 2) for side in window)
    rendered = patch.covered.astype(bool)
    for plane, channel in ((grey.u, 0), (grey.v, 1)):
        plane[half][rendered] = np.clip(patch.uv[:, :, channel], 0, 255)[rendered]
    low, high = points.min(axis=0), points.max(axis=0)
    return Frame(grey, Fraction(0), 0), (float(low[0]), float(low[1]), float(high[0]), float(high[1]))


def _middle(plane: Plane, box: tuple[float, float, float, float]) -> Plane:
    """The middle of the face: half its box in each direction, moved up a little so that the eyes are in it."""
    x0, y0, x1, y1 = box
    width, height = x1 - x0, y1 - y0
    rows = slice(int(y0 + 0.3 * height), int(y0 + 0.8 * height))
    return plane[rows, int(x0 + 0.2 * width) : int(x0 + 0.8 * width)]
