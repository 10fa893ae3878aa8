"""Synthetic people who talk, blink and turn: their faces belong to nobody, and every landmark is known.

The faces are sampled from the surrogate bank, so they belong to nobody; head, hair and clothes are plain shapes
(`synthetic.bodies`). The demo shows these people, and tests use what is known of each frame as ground truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.pose import HeadPose
from streamdeid.core.arrays import Points
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.frames import Frame
from streamdeid.core.ibug68 import LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS
from streamdeid.render.new_face import NewFace
from streamdeid.surrogates.bank import sample_bank
from streamdeid.surrogates.certificate import Plausibility, default_limits
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.bodies import Body, background, draw_behind, draw_front, looks
from streamdeid.synthetic.faces import draw_talking_face
from streamdeid.synthetic.motion import PersonMotion, motion

_FACE_SHARE = 0.245
"""Width of a face as a share of the picture's height."""
_CANDIDATES = 128
_NEIGHBOURHOOD = 5
_FAR = 0.5


@dataclass(frozen=True)
class Truth:
    """The truth about one synthetic face in one frame."""

    person: int
    """Number of the person, from 0."""
    points: Points
    """float64 (81, 2): landmarks and forehead points in pixels."""
    iris: Points
    """float64 (2, 2): iris centres in pixels."""
    yaw: float
    """Radians, as `HeadPose.yaw`."""
    opening: float
    """Opening of the mouth, 0 (closed) to 1."""
    blink: float
    """Closing of the eyes, 0 (open) to 1 (closed)."""

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Bounding box of the points."""
        (x0, y0), (x1, y1) = self.points.min(axis=0), self.points.max(axis=0)
        return float(x0), float(y0), float(x1), float(y1)


@dataclass(frozen=True)
class SyntheticFrame:
    """A synthetic frame and the truth about every face in it."""

    frame: Frame
    truths: tuple[Truth, ...]


@dataclass(frozen=True)
class _Person:
    face: NewFace
    body: Body
    motion: PersonMotion
    place: Points
    """(2,): where the middle of the face rests, pixels."""
    scale: float
    """Pixels for one pixel of the model's frame."""


def synthetic_people(
    fitting: FitModel,
    gallery: Gallery,
    *,
    people: int = 3,
    seconds: float = 4.0,
    size: tuple[int, int] = (640, 360),
    rate: int = 25,
    seed: int = 7,
) -> Iterator[SyntheticFrame]:
    """Frames of some people side by side; the same arguments give the same frames. `size` is (width, height)."""
    rng = np.random.default_rng(seed)
    width, height = size
    frames = round(seconds * rate)
    cast: list[_Person] = []
    vectors = distinct_people(fitting, gallery, people, rng)
    for number, vector in enumerate(vectors):
        body = looks(number, rng)
        face = NewFace.photographed(vector, fitting)
        tone = np.array(body.tone, np.float32)
        face = replace(face, picture=face.picture * tone, small_texture=face.small_texture * tone)
        place = np.array([(number + 0.5) * width / people, height * (0.43 + 0.03 * (number % 2))])
        scale = min(_FACE_SHARE * height, 0.4 * width / people) / fitting.model.frame_size[0]
        cast.append(_Person(face, body, motion(frames, rate, number, rng), place, scale))
    wall = background(width, height, rng)
    for index in range(frames):
        yield _frame(fitting, cast, wall, index, Fraction(index, rate))


def _frame(
    fitting: FitModel, cast: list[_Person], wall: NDArray[np.float32], index: int, time: Fraction
) -> SyntheticFrame:
    model = fitting.model
    image = wall.copy()
    poses = [_pose(person, index, model.mean_shape.mean(axis=0)) for person in cast]
    for person, pose in zip(cast, poses, strict=True):
        draw_behind(image, person.body, pose, person.face, model, person.place)
    planes = planes_from_rgb(np.clip(image, 0, 255).astype(np.uint8))
    truths = []
    for number, (person, pose) in enumerate(zip(cast, poses, strict=True)):
        shape = person.motion.shape(person.face.shape, index)
        points = pose.to_image(shape, model.depth)
        iris = pose.to_image(iris_centres(shape, model) + person.motion.gaze[index], np.full(2, -5.0))
        draw_talking_face(planes, person.face, points, iris, pose, model)
        truths.append(
            Truth(
                number,
                points,
                iris,
                pose.yaw,
                float(person.motion.opening[index]),
                float(person.motion.blink[index]),
            )
        )
    for person, pose in zip(cast, poses, strict=True):
        draw_front(planes, person.body, pose, person.face, model)
    return SyntheticFrame(Frame(planes, time, index), tuple(truths))


def distinct_people(fitting: FitModel, gallery: Gallery, people: int, rng: np.random.Generator) -> list[Points]:
    """Vectors of nobody's faces, far from each other; women and men in turn where the gallery's labels allow it."""
    donors, variances = gallery.identities, fitting.model.variances
    plausibility = Plausibility.of(donors, variances)
    limits = default_limits(donors, plausibility)
    chosen: list[Points] = []
    banks: dict[str, Points] = {}
    for number in range(people):
        label = ("female", "male")[number % 2]
        if label not in banks:
            own = donors[gallery.gender == label]
            source = own if len(own) >= 2 * _NEIGHBOURHOOD else donors
            bank = sample_bank(source, donors, plausibility, limits, _NEIGHBOURHOOD, _FAR, _CANDIDATES, rng)
            banks[label] = bank.candidates
        candidates = banks[label]
        apart = [min((float(np.linalg.norm(c - other)) for other in chosen), default=0.0) for c in candidates]
        chosen.append(candidates[int(np.argmax(apart))])
    return chosen


def _pose(person: _Person, index: int, centre: Points) -> HeadPose:
    m = person.motion
    rotation = m.rotation(index)
    # The neck stays in its place, not the face: the head turns about a point behind and below the face.
    pivot = np.array([centre[0], centre[1] + 90.0, 70.0])
    neck = person.place + person.scale * np.array([0.0, 90.0]) + person.scale * m.shift[index]
    return HeadPose(person.scale, rotation, neck - person.scale * (rotation @ pivot)[:2])


def iris_centres(shape: Points, model: AppearanceModel) -> Points:
    """The iris centres (2, 2) in a shape; between the corners of its eyes they lie as in the mean face."""
    centres = []
    for (a, b), mean in zip((LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS), model.iris, strict=True):
        centres.append((shape[a] + shape[b]) / 2 + mean[:2] - (model.mean_shape[a] + model.mean_shape[b]) / 2)
    return np.stack(centres)
