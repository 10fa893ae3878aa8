"""Checks what a detector says before the tracker gets it, and reports scene cuts; any doubt withholds the frame.

A detector is foreign code: a plug-in, a network, a graph in C++. Its answers are used only where they make sense.

* The detector raises, or returns something that is not a list of faces: the frame is withheld (`FailedClosed`).
* A box is not four finite numbers, is empty or inverted, or lies wholly outside the frame: withheld. The tracker would
  drop such a box, and nobody could say which face it stood for. A detector whose boxes may lie beyond the border has to
  drop them itself.
* Points are not finite or have a wrong shape, landmarks have no forehead points, or scores are not numbers: withheld.
  So are keypoints of another network with such points, with an empty box or with a score outside 0 to 1, and a
  survey's opinion that is not a number from 0 on: posed faces are rendered at keypoints, and surveys end redactions.
* There are more than `MOST_FACES` faces: withheld, before they cost time.
* Points make sense by themselves but do not belong to their box (elsewhere, collapsed, ten times as large): the
  landmarker failed. The face is kept without points, so that a redaction covers the whole box.
* A mesh is not where the landmarks are: the face is kept without its mesh. A turned head is rendered where its mesh is,
  so the face beside the mesh would be left open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Box, Plane
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.face_mesh import MESH
from streamdeid.core.faces import Face, Keypoints
from streamdeid.core.frames import Frame
from streamdeid.core.ibug68 import LANDMARKS
from streamdeid.core.protocols import Begins, Detector, LooksAgain
from streamdeid.detection.deadline import MOST_FACES
from streamdeid.errors import FailedClosed, StreamdeidError

_GAP, _WIDER = Fraction(1, 10), 2
"""A gap is longer than this many seconds, and this many times the step before; steady recordings have none."""
_FARTHEST = 1e6
"""Largest magnitude of a coordinate, pixels: no frame is larger."""
_LEAST_SHARE, _MOST_SHARE = 0.4, 2.0
"""Limits of the extent of a face's points over its box's sides. The default detector stays between 0.6 and 1.0 on
twelve clips; a plug-in's box may end at the brows, while the points reach to the hairline."""
_ASIDE, _ABOVE, _BELOW = 0.25, 0.4, 0.25
"""How far the middle of a face's points may lie from the middle of its box, shares of its sides: 0.16 on the clips."""
_MESH_BESIDE, _MESH_LARGER = 0.1, 1.6
"""How far landmarks may lie outside the rectangle of their mesh, share of its sides, and how many times as large as the
landmarks the mesh may be. The default detector's landmarks are mesh points or lie between them: none is outside."""
_POINTS = {
    "landmarks": (LANDMARKS, 2),
    "forehead": (13, 2),
    "iris": (2, 5, 2),
    "depth": (LANDMARKS + 13,),
    "mesh": (MESH, 3),
}
"""Shapes of a face's points."""
_KEYPOINTS = 5, 2
"""Shape of the points of another network."""


class Change(NamedTuple):
    """What changed between a picture and the picture before it."""

    cut: bool = False
    """Whether a scene begins with the picture."""
    jumped: bool = False
    """Whether the picture differs much from the one before, though perhaps no new scene begins with it."""
    camera: CameraMotion | None = None
    """How the camera moved; None where it stood, or where the motion is unknown."""


def _nothing() -> None:
    """Do nothing: for a detector that searches all of each picture."""


def _still(motion: CameraMotion) -> None:
    """Do nothing: for a detector that remembers no places."""


class Watch:
    """A `protocols.Detector` around another one that checks all its answers; see the module.

    detect: the detector, with a deadline of its own (`detection.deadline`). change: tells what changed in a picture
    from the levels of its luma plane (`luma_pyramid`); called once for each frame, in order. The others are called
    before the detector gets a frame: on_cut for a frame with which a scene begins; on_last for a frame that is the last
    of the stream, of its scene, or before a gap or a jump, as `foresee` told (a person who is first seen there cannot
    be found in a later frame); on_jump for a frame that jumped (a person who is first seen there cannot be found in an
    earlier frame); on_camera for a frame before which the camera moved.
    """

    def __init__(
        self,
        detect: Detector,
        change: Callable[[Sequence[Plane]], Change],
        on_cut: Callable[[], None],
        on_last: Callable[[], None] = _nothing,
        on_jump: Callable[[], None] = _nothing,
        on_camera: Callable[[CameraMotion], None] = _still,
    ) -> None:
        self._detect, self._change, self._on_cut, self._on_last = detect, change, on_cut, on_last
        self._on_jump, self._on_camera = on_jump, on_camera
        self.cuts = 0
        """Scene cuts so far."""
        self.camera: CameraMotion | None = None
        """How the camera moved before the frame that the detector got last."""
        self._foreseen: dict[int, Change] = {}
        """By frame number: what changed in frames that the detector will get."""
        self._last = False
        """Whether the frame that the detector gets next is the last of the stream or scene, or before a gap or jump."""
        self._begun: int | None = None
        """Number of the frame that the detector was told to begin with."""
        self._before: Fraction | None = None
        """Time of the frame before."""

    def foresee(self, frame: Frame, following: Frame | None) -> None:
        """Tell which frame follows `frame`, before `frame` is asked for; None at the end of the stream."""
        for one in (frame, following):
            if one is not None and one.index not in self._foreseen:
                self._foreseen[one.index] = self._change(one.luma_levels)
        coming = None if following is None else self._foreseen[following.index]
        self._last = following is None or coming is None or coming.cut or coming.jumped or self._gap(frame, following)

    def _gap(self, frame: Frame, following: Frame) -> bool:
        """Whether the time between two frames is much longer than before, as in a damaged part of a recording."""
        usual = Fraction(0) if self._before is None else frame.time - self._before
        return following.time - frame.time > max(_GAP, _WIDER * usual)

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """The faces of a frame, boxes as four floats. Raises FailedClosed in any doubt."""
        if self._begun != frame.index:
            self._prepare(frame)
        self._begun = None
        try:
            return checked(self._detect(frame), frame)
        except StreamdeidError:
            raise
        except Exception as error:
            raise FailedClosed(f"the detector failed on frame {frame.index}: {type(error).__name__}") from error

    def begin(self, frame: Frame) -> None:
        """Let a detector that can do so begin with the next frame, while the caller does work that needs no detector.
        Errors are raised when the frame is asked for."""
        if isinstance(self._detect, Begins):
            self._prepare(frame)
            self._begun = frame.index
            self._detect.begin(frame)

    def _prepare(self, frame: Frame) -> None:
        """Call `on_cut`, `on_camera`, `on_last` and `on_jump` where they apply, before the detector sees a frame."""
        known = self._foreseen.pop(frame.index, None)
        change = self._change(frame.luma_levels) if known is None else known
        if change.cut:
            self.cuts += 1
            self._on_cut()
        self.camera = change.camera
        if change.camera is not None:
            self._on_camera(change.camera)
        if self._last:
            self._on_last()
        if change.jumped:
            self._on_jump()
        self._last, self._before = False, frame.time

    def look_again(self, frame: Frame, track: int, box: Box, others: Sequence[Box], /) -> Face | None:
        """The answer of a detector that can look again at a place in a frame; for any other: there may be a face.
        None for a place outside the frame. Raises FailedClosed in any doubt."""
        if self._begun is not None:  # the detector is busy with the next frame, and its result would be lost
            raise FailedClosed(f"frame {frame.index} is asked about while the detector is at work on {self._begun}")
        if _outside(box, frame):
            return None
        if not isinstance(self._detect, LooksAgain):
            return Face(box, 0.0, evidence=0.0)
        try:
            found = self._detect.look_again(frame, track, box, others)
            return None if found is None else _checked(found, frame)
        except StreamdeidError:
            raise
        except Exception as error:
            raise FailedClosed(f"the detector failed on frame {frame.index}: {type(error).__name__}") from error


def checked(faces: object, frame: Frame) -> list[Face]:
    """The faces of a frame if they make sense; see the module. Raises FailedClosed."""
    if isinstance(faces, str | bytes) or not isinstance(faces, Sequence):
        raise _doubt(frame, f"no list of faces but a {type(faces).__name__}")
    if len(faces) > MOST_FACES:
        raise _doubt(frame, f"more than {MOST_FACES} faces")
    return [_checked(face, frame) for face in faces]


def _checked(face: object, frame: Frame) -> Face:
    if not isinstance(face, Face):
        raise _doubt(frame, f"a {type(face).__name__} for a face")
    box = _numbers(face.box)
    if box is None or box.shape != (4,) or not _finite(box):
        raise _doubt(frame, "a face without a place")
    x0, y0, x1, y1 = (float(value) for value in box)
    if x1 <= x0 or y1 <= y0:
        raise _doubt(frame, "a face with an empty box")
    if _outside((x0, y0, x1, y1), frame):
        raise _doubt(frame, "a face outside the frame")
    for name in ("score", "presence", "evidence"):
        value = _numbers(getattr(face, name))
        if value is None or value.shape != () or not math.isfinite(float(value)):
            raise _doubt(frame, f"a face whose {name} is no number")
        if name == "evidence" and not 0 <= float(value) <= 1:
            raise _doubt(frame, "a face whose evidence is not from 0 to 1")
    for name, shape in _POINTS.items():
        points = getattr(face, name)
        if points is not None and not (isinstance(points, np.ndarray) and points.shape == shape and _finite(points)):
            raise _doubt(frame, f"a face whose {name} {'are' if name == 'landmarks' else 'is'} no such thing")
    if face.landmarks is not None and face.forehead is None:
        raise _doubt(frame, "landmarks without forehead points")
    if face.keypoints is not None and not _are_keypoints(face.keypoints):
        raise _doubt(frame, "a face whose keypoints are no such thing")
    if face.surveyed is not None and not _within(face.surveyed, math.inf):
        raise _doubt(frame, "a face whose survey is no number from 0 on")
    face = replace(face, box=(x0, y0, x1, y1))
    if face.landmarks is not None and face.forehead is not None and not _belong(face.landmarks, face.forehead, box):
        return replace(face, landmarks=None, forehead=None, iris=None, depth=None, mesh=None)
    if face.mesh is not None and not _of_mesh(face.landmarks, face.forehead, face.mesh):
        return replace(face, mesh=None)
    return face


def _outside(box: Box, frame: Frame) -> bool:
    """Whether a box, pixels, lies wholly outside a frame."""
    (x0, y0, x1, y1), (width, height) = box, frame.planes.size
    return x1 <= 0 or y1 <= 0 or x0 >= width or y0 >= height


def _are_keypoints(found: object) -> bool:
    """Whether a value can be keypoints of another network: a box with an area, five points, a score from 0 to 1."""
    if not isinstance(found, Keypoints):
        return False
    box, points = _numbers(found.box), found.points
    if box is None or box.shape != (4,) or not _finite(box) or not (box[2:] > box[:2]).all():
        return False
    if not (isinstance(points, np.ndarray) and points.shape == _KEYPOINTS and _finite(points)):
        return False
    return _within(found.score, 1.0)


def _within(value: object, most: float) -> bool:
    """Whether a value is a finite number from 0 to `most`."""
    number = _numbers(value)
    return number is not None and number.shape == () and math.isfinite(float(number)) and 0 <= float(number) <= most


def _belong(landmarks: NDArray[np.float64], forehead: NDArray[np.float64], box: NDArray[np.float64]) -> bool:
    """Whether landmarks (68, 2) and forehead points (13, 2) can belong to the face in a box (4,)."""
    points = np.concatenate([landmarks, forehead])
    low, high = points.min(axis=0), points.max(axis=0)
    middle, sides = (low + high) / 2, box[2:] - box[:2]
    share = (high - low) / sides
    right, down = (middle - (box[:2] + box[2:]) / 2) / sides
    near = abs(right) <= _ASIDE and -_ABOVE <= down <= _BELOW
    return bool((share >= _LEAST_SHARE).all() and (share <= _MOST_SHARE).all() and near)


def _of_mesh(
    landmarks: NDArray[np.float64] | None, forehead: NDArray[np.float64] | None, mesh: NDArray[np.float64]
) -> bool:
    """Whether landmarks (68, 2) and forehead points (13, 2) can belong to a mesh (468, 3)."""
    if landmarks is None or forehead is None:
        return False
    points = np.concatenate([landmarks, forehead])
    low, high = mesh[:, :2].min(axis=0), mesh[:, :2].max(axis=0)
    reach = _MESH_BESIDE * (high - low)
    within = ((points >= low - reach) & (points <= high + reach)).all()
    return bool(within and (high - low <= _MESH_LARGER * np.ptp(points, axis=0)).all())


def _numbers(value: object) -> NDArray[np.float64] | None:
    """The value as float64, or None when it does not consist of numbers."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def _finite(values: NDArray[np.float64]) -> bool:
    try:
        return bool((np.abs(values) <= _FARTHEST).all())
    except (TypeError, ValueError):  # an array, but not of numbers
        return False


def _doubt(frame: Frame, what: str) -> FailedClosed:
    return FailedClosed(f"the detector gave frame {frame.index} {what}")
