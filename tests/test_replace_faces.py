"""How each face of a frame is protected, and that nothing of the original is left where no own face is shown."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Points, spread
from streamdeid.deidentify.levels import Cause, Level
from streamdeid.deidentify.person_recogniser import PersonRecogniser
from streamdeid.deidentify.person_templates import FusedTemplates, RecognisedTemplates
from streamdeid.deidentify.replace_faces import ReplaceFaces
from streamdeid.deidentify.soft_head import Head, head_of
from streamdeid.deidentify.tracklet_vectors import TrackletVectors
from streamdeid.errors import FailedClosed
from streamdeid.faces import Face, Track
from streamdeid.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.register import PersonRegister, new_persons
from streamdeid.tracking.looks import Break, Looks, Verdict
from streamdeid.tracking.looks import Cause as BreakCause
from tests import drawn_faces
from tests.drawn_faces import Scene

SIZE = (480, 320)
OWN, QUIET, SOFT, SOLID = (level.label for level in Level)
Picture = NDArray[np.uint8]


@dataclass
class Vector:
    vector: Points = field(repr=False)


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
        self.looks: Mapping[int, Any] = {}

    def __call__(self, frame: Frame, tracks: Sequence[Track], looks: Mapping[int, Any]) -> Verdict:
        self.looks = looks
        verdict = Verdict(list(tracks), self.broken, self.groundless)
        self.broken, self.groundless = {}, {}
        return verdict


class Filmed:
    """A filter that is shown pictures with tracks in them."""

    def __init__(self, fitting: FitModel, *, refused: bool = False, **options: Any) -> None:
        register = PersonRegister(new_persons(reentry=True, rate=25))
        self.filter = ReplaceFaces(fitting, Choice(fitting.model, refused), register, **options)
        self.index = -1

    def observe(self, planes: Planes, *tracks: Track) -> Frame:
        """The next frame, observed."""
        self.index += 1
        frame = Frame(planes, Fraction(self.index, 25), self.index)
        self.filter.observe(frame, tracks)
        return frame

    def show(self, planes: Planes, *tracks: Track, times: int = 1) -> DeidentifiedFrame:
        """The last of so many frames that show the same, published at once."""
        for _ in range(times):
            done = self.filter.deidentify(self.observe(planes, *tracks), tracks)
        return done


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Callable[..., Scene]:
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


def lost(box: tuple[float, float, float, float], number: int = 1) -> Track:
    return Track(number, box, None, 1, False)


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
    return {cover.track: cover.rung for cover in done.covers}


def detail(planes: Planes, where: NDArray[np.bool_]) -> float:
    """How much there is of eyes, mouth and the like."""
    luma = planes.y.astype(np.float64)
    return float((cv2.GaussianBlur(luma, (0, 0), 2.0) - cv2.GaussianBlur(luma, (0, 0), 8.0))[where].std())


def middle(face: Scene) -> NDArray[np.bool_]:
    return drawn_faces.inside_hull(face.points, SIZE, 12.0)


def test_alone_a_face_is_shown_by_its_own_face_from_the_first_frame(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    done = filmed.show(one.planes, track(one.face))
    assert [(cover.rung, cover.person) for cover in done.covers] == [(OWN, 1)]
    x0, y0, x1, y1 = done.covers[0].box
    assert x0 <= one.points[:, 0].min() and y0 <= one.points[:, 1].min()
    assert x1 >= one.points[:, 0].max() and y1 >= one.points[:, 1].max()
    assert (done.planes.y != one.planes.y)[middle(one)].mean() > 0.9
    assert filmed.filter.people == 1 and not filmed.filter.causes


def test_a_known_face_with_something_before_it_keeps_the_own_face(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    one = drawn()
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    planes = one.planes.copy()
    x0, y0, x1, y1 = (int(side) for side in one.face.box)
    low = y0 + (y1 - y0) * 2 // 3
    planes.y[low:y1, x0:x1] = 60
    planes.u[low // 2 : y1 // 2, x0 // 2 : x1 // 2] = 100
    frame = filmed.observe(planes, track(one.face))
    followed = filmed.filter._faces.of(1)
    assert followed is not None and followed.measured[frame.index].severities[Cause.OCCLUDED] > 1.2
    done = filmed.filter.deidentify(frame, [track(one.face)])
    assert [(cover.rung, cover.person) for cover in done.covers] == [(OWN, 1)]


@pytest.mark.parametrize("strict", [False, True])
def test_in_doubt_there_is_a_redaction_with_no_face_in_it(
    fitting: FitModel, drawn: Callable[..., Scene], strict: bool
) -> None:
    one = drawn()
    filmed = Filmed(fitting, strict=strict)
    own = filmed.show(one.planes, track(one.face), times=5)
    done = filmed.show(one.planes, track(one.face, doubtful=True))
    assert [(cover.rung, cover.person) for cover in done.covers] == [(SOLID if strict else SOFT, 0)]
    assert filmed.filter.causes == {Cause.DOUBT: 1}
    assert detail(own.planes, middle(one)) > 4 > 1.5 > detail(done.planes, middle(one))


def test_frames_in_doubt_teach_nothing(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    """Who was never seen without doubt has no person, however long; afterwards the first frame is enough."""
    one = drawn()
    filmed = Filmed(fitting, judge=Judged())
    filmed.show(one.planes, track(one.face, doubtful=True), times=30)
    assert filmed.filter.people == 0 and not filmed.filter.vectors()
    followed = filmed.filter._faces.of(1)
    assert followed is not None and not (followed.known.ready or followed.rest.ready or followed.weak)
    assert levels(filmed.show(one.planes, track(one.face))) == {1: OWN}


def test_the_redaction_of_a_face_is_about_its_mesh(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    """It is turned with the head, and no larger than it, though the detector's box is generous."""
    one = drawn(roll=0.5)
    face = replace(one.face, box=grown(one.face.box, 1.3))
    done = Filmed(fitting).show(one.planes, track(face, doubtful=True))
    assert done.covers[0].box == pytest.approx(head_of(face.box, one.points, SIZE).box)
    assert levels(done) == {1: SOFT}
    corner = inside(head_of(face.box, None, SIZE), 0.95) & ~inside(head_of(face.box, one.points, SIZE), 1.4)
    assert corner.sum() > 200 and np.array_equal(done.planes.y[corner], one.planes.y[corner])


def test_who_gets_no_surrogate_is_redacted(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    one = drawn()
    filmed = Filmed(fitting, refused=True)
    done = filmed.show(one.planes, track(one.face), times=3)
    assert [(cover.rung, cover.person) for cover in done.covers] == [(SOFT, 0)]
    assert filmed.filter.causes == {Cause.NOBODY: 3} and not filmed.filter.vectors()
    assert detail(done.planes, middle(one)) < 1.5 < 4 < detail(one.planes, middle(one))


def test_a_small_face_is_somebody_new_after_a_while_and_shown_quietly(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    one = drawn(width=21.0)
    filmed = Filmed(fitting)
    shown = [filmed.show(one.planes, track(one.face)).covers[0] for _ in range(13)]
    assert [(cover.rung, cover.person) for cover in shown] == [(SOFT, 0)] * 11 + [(QUIET, 1)] * 2
    assert filmed.filter.causes == {Cause.NOBODY: 11, Cause.SMALL: 2}


def test_who_was_never_seen_without_something_before_the_face_is_somebody_new_all_the_same(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    """It was no sure face before the cup came, and no frame is good to know anybody by."""
    one = drawn(centre=(300.0, 165.0))
    face = astray(one.face)
    filmed = Filmed(fitting)
    named: list[Points] = []
    filmed.filter._faces.check._named = lambda person, y: named.append(y)
    filmed.show(one.planes, track(replace(face, presence=0.3)), times=14)
    planes = one.planes.copy()
    low = int(one.points[:, 1].mean()) & ~1
    planes.y[low:], planes.u[low // 2 :], planes.v[low // 2 :] = 120, 150, 105
    filmed.show(planes, track(face), times=12)
    followed = filmed.filter._faces.of(1)
    assert followed is not None and not followed.rest.ready, "there is no face at rest"
    assert len(named) == 1 and np.isfinite(named[0]).all()


def test_a_face_whose_landmarks_are_astray_is_shown_quietly(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    one = drawn(centre=(300.0, 165.0))
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=3)
    beside = astray(one.face)
    done = filmed.show(one.planes, track(beside))
    assert [(cover.rung, cover.person) for cover in done.covers] == [(QUIET, 1)]
    assert filmed.filter.causes == {Cause.ASTRAY: 1}
    x0, _, x1, _ = done.covers[0].box
    assert x0 <= beside.box[0] and x1 >= beside.box[2], "all of the box is redacted: it may be right"
    for _ in range(4):
        assert levels(filmed.show(one.planes, track(one.face))) == {1: QUIET}, "and does not flicker"
    assert levels(filmed.show(one.planes, track(one.face))) == {1: OWN}


@pytest.mark.parametrize(("yaw", "level"), [(0.5, OWN), (0.9, QUIET), (1.25, SOFT), (-1.25, SOFT)])
def test_turned_faces_are_shown_quietly_and_in_the_end_not_at_all(
    fitting: FitModel, drawn: Callable[..., Scene], yaw: float, level: str
) -> None:
    one, turned = drawn(), drawn(yaw=yaw)
    filmed = Filmed(fitting)
    filmed.show(one.planes, track(one.face), times=5)
    done = filmed.show(turned.planes, track(turned.face))
    assert levels(done) == {1: level}
    assert done.covers[0].person == (0 if level == SOFT else 1)
    assert filmed.filter.causes == ({} if level == OWN else {Cause.TURNED: 1})


def test_a_quiet_face_takes_the_tone_of_the_skin_but_a_strict_one_nothing_at_all(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    """The pixels of the whole head are exchanged; pose and person stay."""
    one = drawn(centre=(300.0, 165.0))
    beside = astray(one.face)
    where = inside(head_of(beside.box, None, SIZE), 0.99)
    dark = one.planes.copy()
    dark.y[where] = dark.y[where] // 3

    def shown(planes: Planes, strict: bool) -> Planes:
        filmed = Filmed(fitting, strict=strict)
        filmed.show(one.planes, track(one.face), times=2)
        done = filmed.show(planes, track(beside))
        assert levels(done) == {1: QUIET}
        return done.planes

    assert not same(shown(one.planes, False), shown(dark, False))
    assert same(shown(one.planes, True), shown(dark, True))
    assert same(shown(one.planes, True), shown(filled(one.planes, where), True))


def test_a_doubt_that_is_found_groundless_is_undone_in_frames_that_still_wait(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    one = drawn()
    judged = Judged()
    filmed = Filmed(fitting, judge=judged)
    shown = [track(one.face, doubtful=index in (4, 5, 6)) for index in range(9)]
    frames = []
    for index, each in enumerate(shown):
        judged.groundless = {1: [3, 4, 6], 2: [5], 9: [5]} if index == 8 else {}
        frames.append(filmed.observe(one.planes, each))
        if index == 4:  # these are out
            published = [filmed.filter.deidentify(*done) for done in zip(frames, [[t] for t in shown], strict=False)]
            assert [levels(done)[1] for done in published] == [OWN] * 4 + [SOFT]
    late = [filmed.filter.deidentify(frame, [each]) for frame, each in zip(frames[5:], shown[5:], strict=True)]
    assert [levels(done)[1] for done in late] == [SOFT, OWN, OWN, OWN]
    assert [done.covers[0].person for done in late] == [0, 1, 1, 1]


def test_looks_are_told_of_faces_large_enough_to_look_like_anything(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    judged = Judged()
    filmed = Filmed(fitting, judge=judged)
    small = drawn(3, 21.0, (60.0, 60.0))
    large = drawn(12, 30.0, (200.0, 165.0), small)
    bare = replace(large.face, landmarks=None, forehead=None, iris=None)
    filmed.show(large.planes, track(small.face, 1), track(large.face, 2), track(bare, 3), lost(bare.box, 4))
    assert judged.looks.keys() == {2}
    assert float(judged.looks[2] @ judged.looks[2]) == pytest.approx(1.0, abs=1e-5)


def test_who_is_never_good_to_know_is_estimated_from_the_weak_frames(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    """The surrogate is far from whom it is for, so even a poor estimate is better than none."""
    model = fitting.model
    for person, other in ((3, 12), (12, 3)):
        one = drawn(person, centre=(300.0, 165.0))
        filmed = Filmed(fitting)
        named: list[Points] = []
        filmed.filter._faces.check._named = lambda number, y, named=named: named.append(y)  # type: ignore[misc]
        filmed.show(one.planes, track(astray(one.face)), times=12)
        (y,) = named
        own, stranger = (np.linalg.norm(y - drawn_faces.some_identity(model, each)) for each in (person, other))
        assert own < 0.6 * stranger


def test_what_the_recogniser_finds_becomes_the_template(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    one = drawn()
    recogniser = PersonRecogniser(lambda picture, points: picture[:2, :2].copy(), lambda cut: np.ones(4), 0.3, 0.4, 0.0)
    templates = RecognisedTemplates(TrackletVectors(recogniser, 25))
    filmed = Filmed(fitting, templates=templates)
    filmed.show(one.planes, track(one.face), times=12)
    found = templates.template(1, np.zeros(2), False)
    assert found is not None and found.tolist() == [1.0] * 4
    filmed.filter.close()


def test_only_good_frames_are_shown_to_what_people_are_recognised_by(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    one = drawn(centre=(300.0, 165.0))
    filmed = Filmed(fitting)
    templates = filmed.filter._faces.templates
    assert isinstance(templates, FusedTemplates)
    filmed.show(one.planes, track(astray(one.face)), times=4)
    filmed.show(one.planes, track(replace(one.face, evidence=0.3)), times=4)
    assert not templates._uppers
    filmed.show(one.planes, track(one.face), times=2)
    assert [len(shown) for shown in templates._uppers.values()] == [2]


def test_looks_clear_the_doubt_of_a_face_that_goes_on(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    """With the judge that is used; without it every doubt counts."""
    one = drawn()
    for judge, level in ((Looks(), OWN), (None, SOFT)):
        filmed = Filmed(fitting, judge=judge)
        filmed.show(one.planes, track(one.face), times=5)
        assert levels(filmed.show(one.planes, track(one.face, doubtful=True))) == {1: level}


def test_somebody_else_in_the_place_of_a_face_never_gets_its_surrogate(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    """A cut that nobody noticed, on the same track: looks notice it, and the stranger is somebody else."""
    one, other = drawn(3, marks=22.0), drawn(12, marks=22.0)
    filmed = Filmed(fitting, judge=Looks())
    filmed.show(one.planes, track(one.face), times=15)
    done = [filmed.show(other.planes, track(other.face)).covers[0] for _ in range(30)]
    assert not any(cover.person == 1 for cover in done)
    assert {(cover.rung, cover.person) for cover in done[:5]} == {(SOFT, 0)}
    assert (done[-1].rung, done[-1].person) == (OWN, 2)
    assert filmed.filter.breaks == {BreakCause.CHANGED.value: 1}


@pytest.mark.parametrize("unsure", [{"evidence": 0.3}, {"presence": 0.3}])
def test_a_hand_never_gets_a_person_however_long_it_is_seen(
    fitting: FitModel, drawn: Callable[..., Scene], unsure: dict[str, float]
) -> None:
    one = drawn()
    hand = replace(one.face, **unsure)
    filmed = Filmed(fitting)
    for _ in range(40):
        done = filmed.show(one.planes, track(hand))
        assert [(cover.rung, cover.person) for cover in done.covers] == [(SOFT, 0)]
    assert filmed.filter.people == 0 and not filmed.filter.vectors()
    assert filmed.filter.causes == {Cause.NOBODY: 40}
    assert levels(filmed.show(one.planes, track(one.face))) == {1: OWN}, "the same, surely a face"


def two(drawn: Callable[..., Scene]) -> tuple[Scene, Scene]:
    """Two people side by side; the second picture shows both."""
    left = drawn(3, 80.0, (130.0, 165.0))
    return left, drawn(12, 80.0, (330.0, 165.0), left)


def test_two_people_have_faces_of_their_own_and_keep_them(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    """Side by side, in a doubt in which their tracks change places, and when they come back."""
    left, right = two(drawn)
    filmed = Filmed(fitting)
    shown = filmed.show(right.planes, track(left.face, 1), track(right.face, 2), times=15)
    person = {cover.track: cover.person for cover in shown.covers}
    assert set(person.values()) == {1, 2}
    vectors = filmed.filter.vectors()
    assert len(vectors) == 2 and np.linalg.norm(vectors[1] - vectors[2]) > 1000
    filmed.show(right.planes, track(right.face, 1, doubtful=True), track(left.face, 2, doubtful=True), times=3)
    swapped = filmed.show(right.planes, track(right.face, 1), track(left.face, 2), times=20)
    assert {cover.track: cover.person for cover in swapped.covers} == {1: person[2], 2: person[1]}
    filmed.show(right.planes, times=3)
    back = filmed.show(right.planes, track(right.face, 3), track(left.face, 4), times=20)
    assert {cover.track: cover.person for cover in back.covers} == {3: person[2], 4: person[1]}
    assert set(levels(back).values()) == {OWN} and filmed.filter.people == 2
    again = filmed.filter.vectors()
    assert all(np.array_equal(again[number], vectors[number]) for number in vectors)


def test_the_redaction_of_a_lost_face_is_bounded_and_holds_the_last_face(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    one = drawn()
    x0, y0, x1, y1 = one.face.box
    for times in (1.0, 1.6):
        filmed = Filmed(fitting)
        filmed.show(one.planes, track(one.face), times=3)
        done = filmed.show(one.planes, lost(grown(one.face.box, times)))
        assert [(cover.rung, cover.person) for cover in done.covers] == [(SOFT, 0)]
        (cover,) = done.covers
        assert (cover.box[2] - cover.box[0]) <= 2.2 * (x1 - x0)
        assert (cover.box[3] - cover.box[1]) <= 2.5 * (y1 - y0)
        other = Filmed(fitting)
        other.show(one.planes, track(one.face), times=3)
        noisy = filled(one.planes, drawn_faces.inside_hull(one.points, SIZE, -1.0))
        assert same(done.planes, other.show(noisy, lost(grown(one.face.box, times))).planes), "all of the face"
    assert filmed.filter.causes == {Cause.LOST: 1}


def test_the_redaction_of_a_lost_face_is_of_this_frame_alone(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    """It may lie elsewhere: neither the tone of the last place nor its surroundings belong there."""
    one = drawn()
    other = one.planes.copy()
    other.y[:] = np.minimum(other.y, 235) + 12
    results = []
    for before in (one.planes, other):
        filmed = Filmed(fitting)
        filmed.show(before, track(one.face, doubtful=True), times=3)
        results.append(filmed.show(one.planes, lost(one.face.box)).planes)
    assert same(*results)


def test_a_lost_face_that_was_never_seen_is_covered_where_it_may_be(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    one = drawn()
    done = Filmed(fitting).show(one.planes, lost(one.face.box))
    noisy = filled(one.planes, drawn_faces.inside_hull(one.points, SIZE))
    assert levels(done) == {1: SOFT}
    assert same(done.planes, Filmed(fitting).show(noisy, lost(one.face.box)).planes)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("state", ["doubtful", "no landmarks", "lost", "turned"])
def test_nothing_of_the_original_is_left_in_a_redaction(
    fitting: FitModel, drawn: Callable[..., Scene], strict: bool, state: str
) -> None:
    """Noise goes in, and no noise comes out; where no tone is taken, nothing at all."""
    one = drawn(yaw=1.25) if state == "turned" else drawn()
    bare = replace(one.face, landmarks=None, forehead=None, iris=None)
    shown = {
        "doubtful": track(one.face, doubtful=True),
        "no landmarks": track(bare),
        "lost": lost(one.face.box),
        "turned": track(one.face),
    }[state]
    points = None if state in ("lost", "no landmarks") else one.points
    where = inside(head_of(one.face.box, points, SIZE), 0.99)
    if strict:
        where &= drawn_faces.inside_hull(one.points, SIZE, -1.0)
    pictures = [one.planes, filled(one.planes, where, 1), filled(one.planes, where, 2)]
    done = [Filmed(fitting, strict=strict).show(planes, shown) for planes in pictures]
    assert {levels(each)[1] for each in done} == {SOLID if strict else SOFT}
    assert detail(pictures[1], where) > 8
    for each in done:
        assert detail(each.planes, where & inside(head_of(one.face.box, points, SIZE), 0.8)) < 1.5
    if strict or state == "lost":
        assert same(done[0].planes, done[1].planes) and same(done[1].planes, done[2].planes)
    if strict:
        assert np.unique(done[0].planes.y[where]).size == 1


@pytest.mark.parametrize("strict", [False, True])
def test_one_faces_pixels_change_nothing_in_anothers_redaction(
    fitting: FitModel, drawn: Callable[..., Scene], strict: bool
) -> None:
    """Two heads that touch, both in doubt: the rim of the one lies in the other."""
    left = drawn(3, 80.0, (180.0, 165.0))
    right = drawn(12, 80.0, (270.0, 165.0), left)
    heads = [head_of(each.face.box, each.points, SIZE) for each in (left, right)]
    own, others = inside(heads[0], 0.99) & ~inside(heads[1], heads[1].reach), inside(heads[1], 1.0)
    assert (inside(heads[0], heads[0].reach) & others).any()
    own &= drawn_faces.inside_hull(left.points, SIZE) | (not strict)
    tracks = track(left.face, 1, doubtful=True), track(right.face, 2, doubtful=True)
    for order in (tracks, tracks[::-1]):
        plain = Filmed(fitting, strict=strict).show(right.planes, *order).planes
        noisy = Filmed(fitting, strict=strict).show(filled(right.planes, own), *order).planes
        apart = others & ~inside(heads[0], heads[0].reach + 0.05)
        assert np.array_equal(plain.y[apart], noisy.y[apart])
        assert np.array_equal(plain.u[apart[::2, ::2]], noisy.u[apart[::2, ::2]])
        beside = ~inside(heads[0], heads[0].reach + 0.05)
        assert np.array_equal(plain.y[beside], noisy.y[beside])


def test_near_faces_are_drawn_over_far_ones_in_whatever_order_they_are_given(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    far = drawn(3, 60.0, (150.0, 150.0))
    near = drawn(12, 120.0, (225.0, 170.0), far)
    tracks = track(far.face, 1), track(near.face, 2)
    results = []
    for order in (tracks, tracks[::-1]):
        filmed = Filmed(fitting)
        filmed.show(near.planes, *tracks, times=15)
        done = filmed.show(near.planes, *order)
        assert [(cover.track, cover.rung) for cover in done.covers] == [(1, OWN), (2, OWN)]
        results.append(done.planes)
    assert same(*results)


def test_a_redaction_hides_no_face_that_is_drawn(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    """A large head in doubt beside a small known one: it comes first, whatever the sizes."""
    far = drawn(3, 60.0, (150.0, 150.0))
    near = drawn(12, 120.0, (225.0, 170.0), far)
    filmed = Filmed(fitting)
    filmed.show(near.planes, track(far.face, 1), track(near.face, 2), times=15)
    done = filmed.show(near.planes, track(near.face, 2, doubtful=True), track(far.face, 1))
    assert levels(done) == {1: OWN, 2: SOFT}
    touched = drawn_faces.inside_hull(far.points, SIZE, 4.0) & inside(head_of(near.face.box, near.points, SIZE), 1.0)
    assert touched.sum() > 20, "the head reaches into the face"
    alone = Filmed(fitting)
    alone.show(near.planes, track(far.face, 1), track(near.face, 2), times=15)
    beside = alone.show(near.planes, track(far.face, 1))
    assert detail(done.planes, drawn_faces.inside_hull(far.points, SIZE, 4.0)) > 0.7 * detail(
        beside.planes, drawn_faces.inside_hull(far.points, SIZE, 4.0)
    )


def test_only_what_nothing_speaks_against_is_allowed(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    """The whitelist asks for that before it shows anybody as he is."""
    one = drawn(centre=(300.0, 165.0))
    filmed = Filmed(fitting, judge=Judged())
    wanted = [
        (track(one.face), True),
        (track(one.face, doubtful=True), False),
        (track(astray(one.face)), False),
        (lost(one.face.box), False),
        (track(replace(one.face, landmarks=None, forehead=None, iris=None)), False),
    ]
    for shown, allowed in wanted:
        frame = filmed.observe(one.planes, shown)
        assert filmed.filter.allows(frame, shown) is allowed
        assert not filmed.filter.allows(frame, replace(shown, number=2)), "a track that was not there"
        filmed.filter.deidentify(frame, [shown])
        assert not filmed.filter.allows(frame, shown), "it is out, and forgotten"


def test_where_no_soft_redaction_can_be_computed_a_solid_one_covers_the_face(
    fitting: FitModel, drawn: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*given: Any, **named: Any) -> None:
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr("streamdeid.deidentify.replace_faces.soft_redaction", none)
    one = drawn()
    done = Filmed(fitting).show(one.planes, track(one.face, doubtful=True))
    assert np.unique(done.planes.y[middle(one)]).size == 1


def test_closing_ends_the_recognisers_thread(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    def threads() -> list[str]:
        return [each.name for each in threading.enumerate() if each.name.startswith("recogniser")]

    before = len(threads())
    one = drawn()
    recogniser = PersonRecogniser(lambda picture, points: picture[:2, :2].copy(), lambda cut: np.ones(4), 0.3, 0.4, 0.0)
    filmed = Filmed(fitting, templates=RecognisedTemplates(TrackletVectors(recogniser, 25)))
    filmed.show(one.planes, track(one.face), times=6)
    assert len(threads()) == before + 1
    for _ in range(2):
        filmed.filter.close()
        assert len(threads()) == before


def test_closing_does_no_harm_when_the_recogniser_fails(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    """What was asked last is waited for only when the part is over."""

    def fail(cut: Picture) -> NDArray[np.float64]:
        calls.append(len(calls))
        if len(calls) > 1:
            raise RuntimeError
        return np.ones(4)

    calls: list[int] = []
    one = drawn()
    recogniser = PersonRecogniser(lambda picture, points: picture[:2, :2].copy(), fail, 0.3, 0.4, 0.0)
    filmed = Filmed(fitting, templates=RecognisedTemplates(TrackletVectors(recogniser, 25)))
    done = filmed.show(one.planes, track(one.face), times=5)
    assert levels(done) == {1: OWN}
    filmed.filter.close()
    assert calls == [0, 1]


def test_who_comes_and_goes_leaves_nothing_behind(fitting: FitModel, drawn: Callable[..., Scene]) -> None:
    one = drawn()
    filmed = Filmed(fitting, judge=Looks())
    templates = filmed.filter._faces.templates
    assert isinstance(templates, FusedTemplates)
    for number in range(1, 7):
        filmed.show(one.planes, track(one.face, number), times=2)
        filmed.show(one.planes, lost(one.face.box, number))
        kept = filmed.filter._faces._followed, filmed.filter._memories, filmed.filter._sides, templates._uppers
        assert max(map(len, kept)) <= 2
    filmed.show(one.planes, times=2)
    kept = filmed.filter._faces._followed, filmed.filter._memories, filmed.filter._sides, templates._uppers
    assert not any(kept) and not filmed.filter._faces._doubts and not filmed.filter._faces.check.waiting()


def test_nothing_is_written_into_the_frame_and_the_same_frames_give_the_same_pixels(
    fitting: FitModel, drawn: Callable[..., Scene]
) -> None:
    left, right = two(drawn)
    before = right.planes.copy()
    results = []
    for _ in range(2):
        filmed = Filmed(fitting, judge=Looks())
        filmed.show(right.planes, track(left.face, 1), track(right.face, 2), times=8)
        results.append(filmed.show(right.planes, track(left.face, 1), track(right.face, 2, doubtful=True)).planes)
    assert same(*results) and same(before, right.planes)
    assert Counter(level.label for level in filmed.filter.rungs.elements()).total() == 18
