"""Faces for a recogniser: which can be recognised, the vectors they get, and the people known by pictures.

The data about people are biometric: they stay in memory, and are never written or logged.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.piecewise_affine import sample
from streamdeid.aam.pose import pose_of
from streamdeid.core.arrays import Vector
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.errors import FailedClosed, StreamdeidError
from streamdeid.identity.face_recogniser import FaceRecogniser
from streamdeid.observe.observation import SMALL_WIDTH, reduced_face
from streamdeid.observe.signals import Sharpness

_DIFFER = 1.2
"""A frame that is so many times farther away than the accepted distance shows somebody else."""
_LEAST_WIDTH = 64.0
"""Pixels: smaller faces are not recognised."""
_YAW, _PITCH = 0.35, 0.35
"""Radians: faces that are turned or nod more are not recognised."""
_PRESENCE = 0.8
LEAST_SHARPNESS = 1.0
"""Sharpness (`signals`) below which a face is too blurred to be told apart from others that are blurred as much. Of
pairs of London pictures blurred alike by 0, 0.5, 0.75 and 1 % of the face's width, both sharper than this, the built-in
recogniser accepts 0 of 20,604, 3 of 19,015, 6 of 12,803 and 0 of 3,705; at 1.5 % no picture is so sharp
(`benchmarks/people/whitelist.py`). Sharp photographs are above it."""
_GROWN = 1.2
"""Largest width of the face in the crop for a recogniser, over the width of the model's frame."""


@dataclass(frozen=True)
class Recogniser:
    """A way to tell whether two faces are one person's."""

    describe: FaceRecogniser
    accept: float
    """Largest distance at which two faces are one person's; its false acceptances are measured by whoever sets it."""
    sharpness: float = LEAST_SHARPNESS
    """Least sharpness of a face, in a whitelisted picture and in the stream: pictures that are soft in the same way
    become similar, whomever they show."""

    @property
    def differ(self) -> float:
        """Smallest distance at which two faces are surely not one person's."""
        return _DIFFER * self.accept


@dataclass(frozen=True)
class Known:
    """Whitelisted people."""

    recogniser: Recogniser = field(repr=False)
    vectors: Vector = field(repr=False)
    """One for each picture, float64 (m, d). Biometric: kept out of every repr."""
    _people: NDArray[np.intp] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Pictures that may show one person count as one person: a face near any of them is near all.
        near = np.linalg.norm(self.vectors[:, None] - self.vectors[None], axis=2) <= self.recogniser.differ
        people = np.arange(len(near))
        for _ in people:
            people = np.array([people[row].min() for row in near])
        object.__setattr__(self, "_people", np.unique(people, return_inverse=True)[1])

    @property
    def people(self) -> int:
        """How many people the pictures show, as far as can be told."""
        return int(self._people.max()) + 1

    def distances(self, vector: Vector) -> Vector:
        """Distance of a face's vector (d,) to the nearest picture of each person, (people,)."""
        apart = np.linalg.norm(self.vectors - vector, axis=1)
        return np.array([apart[self._people == person].min() for person in range(self.people)])


def unfit(face: Face, model: AppearanceModel, least_width: float = _LEAST_WIDTH) -> str | None:
    """Why a face cannot be recognised, in a few words; None when it can."""
    if face.landmarks is None or face.forehead is None:
        return "has no landmarks"
    points = np.concatenate([face.landmarks, face.forehead])
    if not np.isfinite(points).all() or face.presence < _PRESENCE:
        return "is not clearly seen"
    if float(np.ptp(points[:, 0])) < least_width:
        return f"is less than {least_width:g} pixels wide"
    pose = pose_of(points, model)
    if not (abs(pose.yaw) <= _YAW and abs(pose.pitch) <= _PITCH):
        return "is turned away"
    return None


def sharpness_of(planes: Planes, face: Face, model: AppearanceModel, measure: Sharpness) -> float:
    """Sharpness of a face that is not `unfit`. measure: one for the model's `fit_table`."""
    assert face.landmarks is not None and face.forehead is not None
    points = np.concatenate([face.landmarks, face.forehead])
    image, into = reduced_face(planes, points, SMALL_WIDTH)
    return measure(sample(image, into(points), model.fit_table))


def vector_of(planes: Planes, face: Face, model: AppearanceModel, describe: FaceRecogniser) -> Vector | None:
    """The vector of a face that is not `unfit`; None where it is empty or not finite.

    Raises FailedClosed when the recogniser fails.
    """
    assert face.landmarks is not None and face.forehead is not None
    points = np.concatenate([face.landmarks, face.forehead])
    image, into = reduced_face(planes, points, _GROWN * model.frame_size[0])
    try:
        vector = np.asarray(describe(image, into(points)), np.float64).ravel()
    except FailedClosed:
        raise
    except Exception as error:
        said = str(error) if isinstance(error, StreamdeidError) else type(error).__name__
        raise FailedClosed(f"the recogniser of the whitelist failed: {said}") from error
    return vector if vector.size and np.isfinite(vector).all() else None
