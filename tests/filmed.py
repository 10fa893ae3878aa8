"""Drawn people before the filter: pictures, tracks, and what was published of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import spread
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face, Keypoints, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.errors import FailedClosed
from streamdeid.identity.looks import Break, LooksVerdict
from streamdeid.identity.register import PersonRegister, new_persons
from streamdeid.observe.keypoint_pose import points_of_mesh
from streamdeid.protect.levels import Cause, Level
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import Plans, settled
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.protect.soft_head import Head
from tests import drawn_faces
from tests.drawn_faces import Scene

SIZE = (480, 320)
OWN, POSED, SOFT, SOLID, _ = (level.label for level in Level)
Drawn = Callable[..., Scene]


@dataclass
class Vector:
    vector: Points = field(repr=False)
    beard: bool = True


class Choice:
    """Gives each person a face of the model's own distribution; to some nobody's."""

    def __init__(self, model: AppearanceModel, refused: bool = False) -> None:
        self._model, self._refused = model, refused

    def surrogate(self, person: int, y: Points) -> Vector:
        if self._refused:
            raise FailedClosed("none is free")
        return Vector(drawn_faces.some_identity(self._model, 900 + person, 0.8))


class Judged:
    """A judge that says what it was told to."""

    def __init__(self) -> None:
        self.broken: dict[int, Break] = {}
        self.groundless: dict[int, list[int]] = {}
        self.leading: dict[int, list[int]] = {}
        self.looks: Mapping[int, Any] = {}

    def __call__(self, frame: Frame, tracks: Sequence[Track], looks: Mapping[int, Any]) -> LooksVerdict:
        self.looks = looks
        verdict = LooksVerdict(list(tracks), self.broken, self.groundless, self.leading)
        self.broken, self.groundless, self.leading = {}, {}, {}
        return verdict


class Filmed:
    """A filter that is shown pictures with tracks in them."""

    def __init__(self, fitting: FitModel, *, refused: bool = False, **options: Any) -> None:
        register = PersonRegister(new_persons(reentry=True, rate=25))
        self.filter = ReplaceFaces(fitting, Choice(fitting.model, refused), register, **options)
        self.levels: Counter[str] = Counter()
        self.causes: Counter[Cause] = Counter()
        self.index = -1
        self.waiting: list[PendingFrame[None]] = []

    def observe(self, planes: Planes, *tracks: Track) -> PendingFrame[None]:
        """The next frame, observed; it waits then."""
        self.index += 1
        pending = PendingFrame(Frame(planes, Fraction(self.index, 25), self.index), tracks, None)
        self.waiting.append(pending)
        self.filter.observe(pending, self.waiting)
        self.filter.settle(self.waiting)
        return pending

    def publish(self, pending: PendingFrame[None], tracks: Sequence[Track]) -> DeidentifiedFrame:
        """A frame that waits with these tracks covered."""
        plans = self.plans(pending, tracks)
        done = self.filter.render(pending, plans)
        self.causes.update(plan.cause for plan in plans if plan.cause is not None)
        self.levels.update(redaction.level for redaction in done.redactions)
        return done

    def plans(self, pending: PendingFrame[None], tracks: Sequence[Track]) -> Plans:
        """What is decided of these tracks of a frame that waits, after it was settled; it waits no longer."""
        self.waiting.remove(pending)
        return settled(self.filter, [pending, *self.waiting], tracks)

    def ahead(self, planes: Planes, tracks: Sequence[Track]) -> list[DeidentifiedFrame]:
        """Frames that show the same, one track in each, published when all of them were observed."""
        frames = [(self.observe(planes, one), one) for one in tracks]
        return [self.publish(pending, [one]) for pending, one in frames]

    def show(self, planes: Planes, *tracks: Track, times: int = 1) -> DeidentifiedFrame:
        """The last of so many frames that show the same, published at once."""
        for _ in range(times):
            done = self.publish(self.observe(planes, *tracks), tracks)
        return done


def drawer(model: AppearanceModel) -> Drawn:
    """Draws people into a picture: by number, width and middle. marks: of their skin, without which they look alike."""

    def draw(
        person: int = 3, width: float = 110.0, centre: tuple[float, float] = (150.0, 165.0),
        behind: Scene | None = None, marks: float = 0.0, **angles: float,
    ) -> Scene:  # fmt: skip
        shape, texture = model.decode(drawn_faces.some_identity(model, person))
        picture = spread(texture, model.table)
        noise = cv2.GaussianBlur(np.random.default_rng(person).normal(0, 1, picture.shape[:2]), (0, 0), 3.0)
        marked = (marks / noise.std() * noise)[model.table.rows, model.table.columns]
        texture = np.clip(texture + marked[:, None], 0, 255).astype(np.float32)
        pose = drawn_faces.pose_at(model, width, centre, **angles)
        under = None if behind is None else behind.rgb.astype(np.float32)
        return drawn_faces.scene(model, shape, texture, pose, SIZE, under)

    return draw


def track(face: Face, number: int = 1, **changes: Any) -> Track:
    return replace(Track(number, face.box, face, 0, False), **changes)


def lost(box: tuple[float, float, float, float], number: int = 1, sides: tuple[float, float] | None = None) -> Track:
    return Track(number, box, None, 1, False, sides=sides)


def grown(box: tuple[float, float, float, float], times: float) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = box
    x, y, half, tall = (x0 + x1) / 2, (y0 + y1) / 2, times * (x1 - x0) / 2, times * (y1 - y0) / 2
    return x - half, y - tall, x + half, y + tall


def astray(face: Face) -> Face:
    """The same with a box beside its landmarks, that contains them."""
    x0, y0, x1, y1 = face.box
    return replace(face, box=(x0 - 1.2 * (x1 - x0), y0, x1, y1))


def inside(head: Head, radius: float = 1.0) -> NDArray[np.bool_]:
    """Mask (h, w) of the pixels within a head."""
    rows, columns = np.mgrid[0 : SIZE[1], 0 : SIZE[0]]
    return np.asarray(head.radii(columns, rows) < radius)


def filled(planes: Planes, where: NDArray[np.bool_], seed: int = 0) -> Planes:
    """The picture with noise in place of some pixels; chroma only where all that share a sample are meant."""
    rng = np.random.default_rng(seed)
    out = planes.copy()
    out.y[where] = rng.integers(0, 256, int(where.sum()), dtype=np.uint8)
    whole = where.reshape(SIZE[1] // 2, 2, SIZE[0] // 2, 2).all(axis=(1, 3))
    for plane in (out.u, out.v):
        plane[whole] = rng.integers(60, 200, int(whole.sum()), dtype=np.uint8)
    return out


def same(one: Planes, two: Planes) -> bool:
    return all(np.array_equal(a, b) for a, b in ((one.y, two.y), (one.u, two.u), (one.v, two.v)))


def levels(done: DeidentifiedFrame) -> dict[int, str]:
    return {redaction.track: redaction.level for redaction in done.redactions}


def detail(planes: Planes, where: NDArray[np.bool_]) -> float:
    """How much there is of eyes, mouth and the like."""
    luma = planes.y.astype(np.float64)
    return float((cv2.GaussianBlur(luma, (0, 0), 2.0) - cv2.GaussianBlur(luma, (0, 0), 8.0))[where].std())


def middle(face: Scene) -> NDArray[np.bool_]:
    return drawn_faces.inside_hull(face.points, SIZE, 12.0)


def two(drawn: Drawn) -> tuple[Scene, Scene]:
    """Two people side by side; the second picture shows both."""
    left = drawn(3, 80.0, (130.0, 165.0))
    return left, drawn(12, 80.0, (330.0, 165.0), left)


def keypoints(one: Scene, shift: float = 0.0) -> Keypoints:
    """What a second network sees of a drawn face, beside it by so many pixels."""
    assert one.face.mesh is not None
    box = one.face.outline
    assert box is not None
    x0, y0, x1, y1 = box
    return Keypoints((x0 + shift, y0, x1 + shift, y1), points_of_mesh(one.face.mesh) + np.array([shift, 0.0]), 0.9)


def bared(one: Scene) -> Face:
    """A drawn face as the detector sees it where the landmarker sees none."""
    points = keypoints(one)
    return replace(one.face, landmarks=None, forehead=None, iris=None, mesh=None, depth=None, keypoints=points)
