"""The whitelist: its own person is shown, late; strangers, doubts, crossings and second claims are covered.

Drawn faces have less detail than real ones and lie nearer each other, so these tests have a threshold of their own:
any two of them are 0.26 and more apart, two pictures of one of them 0.2 at most. Nor are they as sharp.
"""

from __future__ import annotations

import contextlib
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid import Filter, Settings
from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.cli.main import main
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.errors import FailedClosed, InputError, SettingsError
from streamdeid.identity.recognised_faces import Known, Recogniser, unfit, vector_of
from streamdeid.identity.upper_face import ACCEPT as ACCEPT_OF_UPPER_FACE
from streamdeid.identity.upper_face import UpperFace
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import at_once, settled
from streamdeid.protect.whitelist import Recognition, Whitelist
from streamdeid.report.audit import read_report, warnings_of
from streamdeid.runs.parts import photograph_detector, still_detector
from streamdeid.runs.step import Step, filtered
from streamdeid.runs.whitelist import read_whitelist, recogniser_of
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from tests import drawn_faces
from tests.tiny_onnx import averaging_network

ACCEPT = 0.2
SHARPNESS = 0.8
LEARNT = 24
"""Frames after which a face may be shown: twelve to be certain, and twelve certain ones before it."""
NOBODY: list[Track] = []


@pytest.fixture(scope="module")
def recogniser(model: AppearanceModel) -> Recogniser:
    """The shipped one, stricter."""
    return Recogniser(UpperFace(model), ACCEPT, SHARPNESS)


class Stage:
    """Draws people and remembers the pictures: one drawing serves many frames."""

    def __init__(self, model: AppearanceModel, recogniser: Recogniser) -> None:
        self.model, self.recogniser = model, recogniser
        self._drawn: dict[Any, drawn_faces.Scene] = {}

    def scene(self, seed: int, width: float = 110.0, **angles: float) -> drawn_faces.Scene:
        """A picture of one person."""
        key = seed, width, *angles.items()
        if key not in self._drawn:
            shape, texture = self.model.decode(drawn_faces.some_identity(self.model, seed))
            pose = drawn_faces.pose_at(self.model, width=width, **angles)
            self._drawn[key] = drawn_faces.scene(self.model, shape, texture, pose)
        return self._drawn[key]

    def vector(self, seed: int, **angles: float) -> Points:
        """What a whitelisted picture of a person gives."""
        seen = self.scene(seed, 150.0, **angles)
        vector = vector_of(seen.planes, seen.face, self.model, self.recogniser.describe)
        assert vector is not None
        return vector

    def frame(self, index: int, *seeds: int, **how: Any) -> tuple[Frame, list[Track]]:
        """A frame with people side by side, each 320 pixels apart, and their tracks, numbered from 1."""
        planes, tracks = [], []
        for place, seed in enumerate(seeds):
            seen = self.scene(seed, **how)
            planes.append(seen.planes)
            face = moved(seen.face, 320.0 * place)
            tracks.append(Track(place + 1, face.box, face, 0, False))
        joined = Planes(*(np.concatenate([getattr(p, c) for p in planes], axis=1) for c in "yuv"), planes[0].colour)
        return Frame(joined, Fraction(index, 25), index), tracks

    def whitelist(self, *seeds: int, good: Callable[[PendingFrame[Any], Track], bool] | None = None) -> Whitelist:
        """The rule around a mask, which knows these people."""
        known = Known(self.recogniser, np.stack([self.vector(seed) for seed in seeds]))
        return Whitelist(MaskFaces("blackout"), known, self.model, *([good] if good else []))


@pytest.fixture(scope="module")
def stage(model: AppearanceModel, recogniser: Recogniser) -> Stage:
    """Shared by the tests, for its drawings."""
    return Stage(model, recogniser)


def moved(face: Face, x: float) -> Face:
    """The face so many pixels farther to the right."""
    assert face.landmarks is not None and face.forehead is not None
    shift = np.array([x, 0.0])
    box = (face.box[0] + x, face.box[1], face.box[2] + x, face.box[3])
    return Face(box, face.score, face.landmarks + shift, face.forehead + shift, None, face.presence)


def played(
    whitelist: Whitelist, frames: Sequence[tuple[Frame, list[Track]]], lookahead: int = 0
) -> list[tuple[int, ...]]:
    """For each frame the tracks that were covered."""
    given = iter(frames)
    step: Step[None] = Step(lambda _: (), _Replayed(given), whitelist)
    done = filtered((frame for frame, _ in frames), step, lookahead)
    return [tuple(redaction.track for redaction in one.frame.redactions) for one in done]


def published(whitelist: Whitelist, frame: Frame, tracks: list[Track], late: list[Track]) -> DeidentifiedFrame:
    """A frame in which some tracks were seen, and others are to be covered."""
    pending = PendingFrame(frame, tracks, None)
    whitelist.observe(pending, [pending])
    whitelist.settle([pending])
    return whitelist.render(pending, settled(whitelist, [pending], late))


class _Replayed:
    """A tracker that knows beforehand."""

    def __init__(self, frames: Iterator[tuple[Frame, list[Track]]]) -> None:
        self._frames = frames

    def update(self, faces: Sequence[Face], time: Fraction) -> Sequence[Track]:
        return next(self._frames)[1]


def test_the_same_person_is_shown_once_recognised_and_is_no_cover(stage: Stage) -> None:
    whitelist = stage.whitelist(3)
    turned = [{"yaw": 0.1}, {"yaw": -0.1}, {"pitch": 0.1}, {}]
    frames = [stage.frame(i, 3, **turned[i // 3 % 4]) for i in range(50)]
    covered = played(whitelist, frames)
    assert covered[: LEARNT - 1] == [(1,)] * (LEARNT - 1)
    assert covered[LEARNT - 1 :] == [()] * (50 - LEARNT + 1)


def test_what_is_shown_is_the_original_to_the_bit(stage: Stage) -> None:
    whitelist = stage.whitelist(3)
    for index in range(40):
        frame, tracks = stage.frame(index, 3)
        done = at_once(whitelist, frame, tracks)
    assert not done.redactions and np.array_equal(done.planes.y, frame.planes.y)


def test_drawn_strangers_are_farther_apart_than_two_pictures_of_one(stage: Stage) -> None:
    vectors = np.stack([stage.vector(seed) for seed in range(24)])
    apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)[np.triu_indices(24, 1)]
    again = [np.linalg.norm(stage.vector(seed, yaw=0.15) - vectors[seed]) for seed in range(6)]
    assert max(again) < ACCEPT < 1.2 * ACCEPT < min(apart)


@pytest.mark.parametrize("seed", range(20, 26))
def test_another_person_never_is(stage: Stage, seed: int) -> None:
    assert played(stage.whitelist(3, 4, 5), [stage.frame(i, seed) for i in range(40)]) == [(1,)] * 40


def test_beside_a_shown_person_the_others_stay_covered(stage: Stage) -> None:
    covered = played(stage.whitelist(3), [stage.frame(i, 3, 21) for i in range(40)])
    assert covered[0] == (1, 2) and covered[-1] == (2,)


def test_two_claims_are_both_covered_and_for_a_second_after(stage: Stage) -> None:
    alone = [stage.frame(i, 3) for i in range(30)]
    both = [stage.frame(i, 3, 3) for i in range(30, 60)]
    after = [stage.frame(i, 3) for i in range(60, 130)]
    covered = played(stage.whitelist(3), [*alone, *both, *after])
    assert covered[29] == ()
    assert covered[30:60] == [(1, 2)] * 30
    assert covered[60:85] == [(1,)] * 25
    assert covered[-1] == ()


def test_two_pictures_that_may_show_one_person_are_one_claim(stage: Stage) -> None:
    vectors = np.stack([stage.vector(3), stage.vector(3, yaw=0.15), stage.vector(9)])
    known = Known(stage.recogniser, vectors)
    assert known.people == 2
    assert known.distances(vectors[1]) == pytest.approx([0, np.linalg.norm(vectors[1:2] - vectors[2])])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: Track(t.number, t.box, t.face, 0, True),
        lambda t: Track(t.number, t.box, None, 1, False),
        lambda t: Track(t.number, t.box, Face(t.box, 0.9), 0, False),
        lambda t: Track(t.number, t.box, Face(t.box, 0.9, t.face.landmarks, t.face.forehead, None, 0.5), 0, False),
        lambda t: Track(7, t.box, t.face, 0, False),
    ],
    ids=["ambiguous", "predicted", "no landmarks", "not sure a face", "another number"],
)
def test_a_single_doubt_covers_at_once_and_starts_anew(stage: Stage, spoil: Callable[[Track], Track]) -> None:
    frames = [stage.frame(i, 3) for i in range(95)]
    frames[40] = frames[40][0], [spoil(frames[40][1][0])]
    covered = played(stage.whitelist(3), frames)
    assert covered[39] == ()
    assert covered[40] in ((1,), (7,))
    assert covered[41 : 41 + LEARNT - 1] == [(1,)] * (LEARNT - 1)
    assert covered[-1] == ()


def test_one_frame_of_another_face_covers_for_a_second(stage: Stage) -> None:
    frames = [stage.frame(i, 23 if i == 40 else 3) for i in range(100)]
    covered = played(stage.whitelist(3), frames)
    assert covered[39] == () and covered[40:65] == [(1,)] * 25 and covered[-1] == ()


def test_looking_ahead_covers_before_a_doubt_too(stage: Stage) -> None:
    frames = [stage.frame(i, 23 if i == 60 else 3) for i in range(70)]
    covered = played(stage.whitelist(3), frames, lookahead=25)
    assert covered[LEARNT - 1 : 48] == [()] * (48 - LEARNT + 1)
    assert covered[48:] == [(1,)] * 22


def test_somebody_who_takes_over_a_track_is_never_shown(stage: Stage) -> None:
    frames = [stage.frame(i, 3 if i < 50 else 23) for i in range(110)]
    assert played(stage.whitelist(3), frames)[50:] == [(1,)] * 60


def test_touching_places_are_both_covered(stage: Stage) -> None:
    """The other's cover is whole where faces overlap, and nobody who crossed is still believed."""
    frames = [stage.frame(i, 3) for i in range(90)]
    for index in range(40, 45):
        frame, (one,) = frames[index]
        x0, y0, x1, y1 = one.box
        beside = (x1 + 0.2 * (x1 - x0), y0, x1 + 1.2 * (x1 - x0), y1)  # no overlap, but covers reach farther than faces
        frames[index] = frame, [one, Track(2, beside, None, 3, False)]
    covered = played(stage.whitelist(3), frames)
    assert covered[39] == () and covered[40:45] == [(1, 2)] * 5
    assert covered[45 : 45 + LEARNT - 1] == [(1,)] * (LEARNT - 1) and covered[-1] == ()


def test_a_track_that_turns_up_only_when_published_counts_too(stage: Stage) -> None:
    whitelist = stage.whitelist(3)
    for index in range(40):
        frame, tracks = stage.frame(index, 3)
        late = [*tracks, Track(9, tracks[0].box, None, 1, False)] if index == 39 else tracks
        done = published(whitelist, frame, tracks, late)
    assert {redaction.track for redaction in done.redactions} == {1, 9}


def test_a_face_that_was_not_the_one_recognised_is_covered(stage: Stage) -> None:
    whitelist = stage.whitelist(3)
    for index in range(40):
        frame, tracks = stage.frame(index, 3)
        late = [Track(1, tracks[0].box, stage.frame(index, 3)[1][0].face, 0, False)] if index == 39 else tracks
        done = published(whitelist, frame, tracks, late)
    assert {redaction.track for redaction in done.redactions} == {1}


@pytest.mark.parametrize("how", [{"width": 50.0}, {"yaw": 0.5}, {"pitch": 0.5}], ids=["tiny", "turned", "nodding"])
def test_small_and_turned_faces_are_covered(stage: Stage, how: dict[str, float]) -> None:
    frames = [stage.frame(i, 3, **how) for i in range(30)]
    assert unfit(frames[0][1][0].face, stage.model) is not None  # type: ignore[arg-type]
    assert played(stage.whitelist(3), frames) == [(1,)] * 30


def test_blurred_faces_are_covered(stage: Stage) -> None:
    frames = []
    for index in range(30):
        frame, tracks = stage.frame(index, 3)
        frames.append((Frame(softened(frame.planes, 9.0), frame.time, index), tracks))
    assert played(stage.whitelist(3), frames) == [(1,)] * 30


def softened(planes: Planes, sigma: float) -> Planes:
    """The planes blurred by so many pixels of luma."""
    widths = (sigma, sigma / 2, sigma / 2)
    soft = (cv2.GaussianBlur(getattr(planes, c), (0, 0), s) for c, s in zip("yuv", widths, strict=True))
    return Planes(*(np.asarray(plane, np.uint8) for plane in soft), planes.colour)


@pytest.mark.parametrize(("blur", "shown"), [(0.0, True), (0.02, False), (0.03, False)])
def test_a_face_as_blurred_as_its_picture_is_covered_though_it_is_near(stage: Stage, blur: float, shown: bool) -> None:
    """Blur that both pictures share takes away what tells people apart; masks have no level that would notice."""

    def soft(planes: Planes, width: float) -> Planes:
        return softened(planes, blur * width) if blur else planes

    seen = stage.scene(3, 150.0)
    vector = vector_of(soft(seen.planes, 150.0), seen.face, stage.model, stage.recogniser.describe)
    assert vector is not None
    whitelist = Whitelist(MaskFaces("blackout"), Known(stage.recogniser, vector[None]), stage.model)
    frames = []
    for index in range(30):
        frame, tracks = stage.frame(index, 3)
        frames.append((Frame(soft(frame.planes, 110.0), frame.time, index), tracks))
    frame, (track,) = frames[0]
    assert track.face is not None
    here = vector_of(frame.planes, track.face, stage.model, stage.recogniser.describe)
    assert here is not None and np.linalg.norm(here - vector) < ACCEPT
    assert (played(whitelist, frames)[-1] == ()) == shown


def test_a_face_that_deserves_a_lower_level_is_covered(stage: Stage) -> None:
    covered = played(
        stage.whitelist(3, good=lambda pending, track: pending.frame.index != 40),
        [stage.frame(i, 3) for i in range(60)],
    )
    assert covered[39] == () and covered[40:] == [(1,)] * 20


def test_half_of_the_frames_must_be_near_and_none_far() -> None:
    """At a threshold of 1, and so 1.2 against: the median counts, over a second of frames."""

    def certain(*distances: float) -> bool:
        row = Recognition(Recogniser(lambda image, landmarks: landmarks, 1.0))
        for number, distance in enumerate(distances):
            row.add(np.array([distance]), Fraction(number, 25))
        return row.certain(Fraction(len(distances), 25)) == 0

    assert certain(*[0.9] * 12) and not certain(*[0.9] * 11)
    assert not certain(*[1.1] * 40)
    assert certain(*[0.9, 1.1, 0.9] * 8)
    assert not certain(*[0.9] * 25, *[1.1] * 13)
    assert not certain(*[0.9] * 25, 1.21) and not certain(1.21, *[0.9] * 23) and certain(1.21, *[0.9] * 25)


def test_repeated_frames_are_a_doubt_and_time_that_stands_still_lifts_no_penalty(stage: Stage) -> None:
    whitelist = stage.whitelist(3)
    known = [stage.frame(i, 3) for i in range(30)]
    played(whitelist, known)
    assert {redaction.track for redaction in at_once(whitelist, *known[-1]).redactions} == {1}
    row = Recognition(stage.recogniser)
    row.add(np.array([1.0]), Fraction(0))
    for _ in range(40):
        row.add(np.array([0.1]), Fraction(1, 2))
    assert row.certain(Fraction(1, 2)) is None and row.certain(Fraction(1)) == 0


def test_memory_stays_bounded(stage: Stage) -> None:
    whitelist = stage.whitelist(3)
    frame, tracks = stage.frame(0, 3)
    for index in range(80):
        one = Track(index, tracks[0].box, tracks[0].face, 0, False)
        now = Frame(frame.planes, Fraction(index, 25), index)
        at_once(whitelist, now, [one])
    assert len(whitelist._before) < 30 and len(whitelist._recognition) < 30 and len(whitelist._claims[0]) < 30


def test_a_recogniser_that_fails_withholds_the_frame(stage: Stage) -> None:
    def raises(image: NDArray[np.uint8], landmarks: Points) -> Points:
        raise ValueError("secret")

    def longer(image: NDArray[np.uint8], landmarks: Points) -> Points:
        return np.zeros(7)

    for describe, said in ((raises, "ValueError"), (longer, "lengths")):
        known = Known(Recogniser(describe, 1.0), np.zeros((1, 3)))
        whitelist = Whitelist(MaskFaces("blackout"), known, stage.model)
        with pytest.raises(FailedClosed, match=said):
            at_once(whitelist, *stage.frame(0, 3))
    none = Known(Recogniser(lambda image, landmarks: np.full(3, np.nan), 1.0), np.zeros((1, 3)))
    assert played(Whitelist(MaskFaces("blackout"), none, stage.model), [stage.frame(i, 3) for i in range(40)])[-1] == (
        1,
    )


def test_templates_do_not_show_in_a_repr(stage: Stage) -> None:
    known = Known(stage.recogniser, np.full((1, 3), 0.123456))
    assert "0.12" not in repr(known)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, fitting: FitModel, gallery: Gallery) -> dict[str, Path]:
    """A clip of one synthetic person, a picture out of it, and pictures that will not do."""
    folder = tmp_path_factory.mktemp("films")
    drawn = list(synthetic_people(fitting, gallery, people=1, seconds=2.4, size=(480, 360)))
    write_drawn_clip(folder / "talk.mp4", (sharpened(one.frame.planes) for one in drawn), 25)
    names = ("face", "none", "two", "small", "soft", "text", "huge", "missing")
    found = {name: folder / f"{name}.png" for name in names}
    found["talk"] = folder / "talk.mp4"
    one = rgb(sharpened(drawn[20].frame.planes))
    cv2.imwrite(str(found["face"]), one)
    cv2.imwrite(str(found["two"]), np.hstack([one, one]))
    small = cv2.resize(one, None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(found["small"]), small)
    cv2.imwrite(str(found["none"]), np.full((240, 320, 3), 120, np.uint8))
    found["text"].write_text("no picture")
    cv2.imwrite(str(found["soft"]), cv2.GaussianBlur(one, (0, 0), 2.5))
    header = b"IHDR" + struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    found["huge"].write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\r" + header + struct.pack(">I", zlib.crc32(header)))
    return found


def sharpened(planes: Planes) -> Planes:
    """The planes with the detail of a photograph: coding takes some of a drawn face's."""
    luma = cv2.addWeighted(planes.y, 2.5, cv2.GaussianBlur(planes.y, (0, 0), 1.2), -1.5, 0)
    return replace(planes, y=np.asarray(luma, np.uint8))


def rgb(planes: Planes) -> NDArray[np.uint8]:
    """The planes as OpenCV has them (blue first)."""
    stacked = np.concatenate([planes.y.ravel(), planes.u.ravel(), planes.v.ravel()])
    return np.asarray(cv2.cvtColor(stacked.reshape(planes.y.shape[0] * 3 // 2, -1), cv2.COLOR_YUV2BGR_I420), np.uint8)


@pytest.mark.parametrize(
    ("picture", "said"),
    [
        ("none", "shows no face"),
        ("two", "2 faces"),
        ("small", "less than 80 pixels"),
        ("text", "not a picture"),
        ("huge", "not a picture"),
        ("soft", "too blurred"),
        ("missing", "does not exist"),
    ],
)
def test_a_wrong_picture_ends_the_run_with_code_2_and_one_line(
    films: dict[str, Path], picture: str, said: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    output = tmp_path / "out.mp4"
    code = main(["filter", str(films["talk"]), str(output), "--quiet", "--whitelist", str(films[picture])])
    lines = capfd.readouterr().err.splitlines()
    assert code == 2 and not output.exists()
    assert [line for line in lines if line.startswith("streamdeid: ")] == lines[-1:] and said in lines[-1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"whitelist_threshold": 0.4},
        {"whitelist_recogniser": "dlib"},
        {"whitelist": (Path("a.jpg"),), "whitelist_threshold": 0.0},
        {"whitelist": (Path("a.jpg"),), "whitelist_recogniser": "magic"},
        {"whitelist": (Path("a.jpg"),), "whitelist_recogniser": "net.onnx"},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="whitelist"):
        Settings(**wrong)


@pytest.mark.parametrize("method", ["k-diff-furthest", "blackout"])
def test_a_file_with_a_whitelisted_person(films: dict[str, Path], tmp_path: Path, method: str) -> None:
    report = tmp_path / "report.json"
    # Drawn people in an encoded film, blinking, are less alike than photographs of one person.
    options = ["--method", method, "--whitelist", str(films["face"]), "--whitelist-threshold", "0.55"]
    code = main(["filter", str(films["talk"]), str(tmp_path / "out.mp4"), "--quiet", "--report", str(report), *options])
    text = report.read_text()
    told = json.loads(text)
    assert code == 0
    (one,) = told["files"]
    assert one["shown"] > 10 and one["faces"] >= LEARNT - 1 and one["faces"] + one["shown"] == one["frames"]
    assert sum(one["levels"].values()) == one["faces"]
    assert told["choice"]["whitelisted_pictures"] == 1 and "not protected" in told["choice"]["guarantee"]
    assert "face.png" not in text
    assert any("shown as they are" in line for line in warnings_of(read_report(report)))


def test_the_library_takes_a_recogniser_of_the_users_own(films: dict[str, Path], model: AppearanceModel) -> None:
    calls = []

    def describe(image: NDArray[np.uint8], landmarks: Points) -> Points:
        assert image.dtype == np.uint8 and landmarks.shape == (81, 2)
        calls.append(1)
        return np.zeros(4)  # everybody is the same to it

    picture = cv2.imread(str(films["face"]))
    same = []
    settings = Settings(method="blackout", whitelist=(films["face"],))
    with Filter(settings, recognise=Recogniser(describe, 0.5)) as filter:
        same = [np.array_equal(filter(picture), picture) for _ in range(30)]
    assert len(calls) == 31 and not any(same[: LEARNT - 1]) and all(same[LEARNT - 1 :])
    with pytest.raises(SettingsError, match="whitelist"):
        Filter(recognise=Recogniser(describe, 0.5))


def test_a_published_frame_is_still_what_the_inner_one_built(stage: Stage) -> None:
    assert isinstance(at_once(stage.whitelist(3), *stage.frame(0, 3)), DeidentifiedFrame)


def test_a_recogniser_that_cannot_be_used_is_a_wrong_setting_at_first_and_a_doubt_later(
    stage: Stage, films: dict[str, Path]
) -> None:
    def describe(image: NDArray[np.uint8], landmarks: Points) -> Points:
        raise InputError("recogniser net does not take RGB pictures of 112 x 112")

    bad = Recogniser(describe, 1.0, SHARPNESS)
    picture = cv2.cvtColor(cv2.imread(str(films["face"])), cv2.COLOR_BGR2RGB)
    with contextlib.closing(still_detector()) as detect:
        (face,) = [one for one in photograph_detector(detect)(picture) if one.landmarks is not None]
    with pytest.raises(SettingsError, match="112 x 112"):
        read_whitelist([films["face"]], bad, stage.model, lambda _: [face])
    whitelist = Whitelist(MaskFaces("blackout"), Known(bad, np.zeros((1, 3))), stage.model)
    with pytest.raises(FailedClosed, match="112 x 112"):
        at_once(whitelist, *stage.frame(0, 3))


def test_an_onnx_recogniser_is_used_with_its_threshold_and_a_missing_one_is_refused(
    model: AppearanceModel, stage: Stage, tmp_path: Path
) -> None:
    path = tmp_path / "averages.onnx"
    chosen = Settings(whitelist=(path,), whitelist_recogniser=str(path), whitelist_threshold=0.7)
    with pytest.raises(SettingsError, match="no recogniser"):
        recogniser_of(chosen, model)
    path.write_bytes(averaging_network())
    found = recogniser_of(chosen, model)
    seen = stage.scene(3, 150.0)
    vector = vector_of(seen.planes, seen.face, model, found.describe)
    assert found.accept == 0.7 and vector is not None and vector.shape == (3,)
    assert recogniser_of(Settings(), model).accept == ACCEPT_OF_UPPER_FACE
