"""The parts as `runs.parts` puts them together: what is chosen, wired and left clean."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.errors import FailedClosed
from streamdeid.identity.identity import Identity
from streamdeid.identity.looks import Looks
from streamdeid.identity.person_recogniser import PersonRecogniser
from streamdeid.identity.person_templates import FusedTemplates, RecognisedTemplates, Templates
from streamdeid.identity.reentry import Outcome, Persons
from streamdeid.protect.levels import Level
from streamdeid.protect.plan import at_once
from streamdeid.protect.self_test import known_face
from streamdeid.runs import session
from streamdeid.runs.parts import assemble, default_detector, lookahead_frames
from streamdeid.runs.pictures import _pasted
from streamdeid.runs.session import Session
from streamdeid.runs.stream import Stream
from streamdeid.settings import Settings
from streamdeid.surrogates.choice import Surrogates
from streamdeid.surrogates.gallery import Gallery
from streamdeid.surrogates.models import Models
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.source import FileSource, SourceInfo
from tests.synthetic_video import encode

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def models(fitting: FitModel, gallery: Gallery) -> Models:
    """The shipped models."""
    return Models(fitting, gallery)


def published(stream: Stream, frames: Sequence[Frame]) -> list[DeidentifiedFrame]:
    results = []
    for frame in frames:
        tracks = stream.tracker.update(stream.detect(frame), frame.time)
        results.append(at_once(stream.deidentifier, frame, tracks))
    return results


def run(stream: Stream, frames: Sequence[Frame]) -> list[Planes]:
    return [done.planes for done in published(stream, frames)]


@pytest.fixture(scope="module")
def talk(fitting: FitModel, gallery: Gallery) -> list[Frame]:
    """A second of one synthetic person."""
    return [one.frame for one in synthetic_people(fitting, gallery, people=1, seconds=0.8, size=(320, 240))]


def test_the_self_test_leaves_nothing_behind(models: Models, talk: list[Frame]) -> None:
    detector = default_detector(Settings())
    tested = assemble(Session(Settings(), models, KEY), detector)
    assert tested.people.surrogates is not None
    assert len(tested.people.surrogates) == 0
    assert not tested.people.surrogates.counts
    assert (tested.known_people, tested.cuts) == (0, 0)
    with_test = run(tested, talk)
    detector.forget()
    without = run(assemble(Session(Settings(), models, KEY), detector, tested=False), talk)
    detector.close()
    assert all(np.array_equal(a.y, b.y) for a, b in zip(with_test, without, strict=True))
    assert tested.known_people == 1


def test_a_run_that_could_draw_no_synthetic_face_does_not_start(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise FailedClosed("no surrogate is free")

    monkeypatch.setattr(Surrogates, "surrogate", none)
    detector = default_detector(Settings())
    with pytest.raises(FailedClosed, match="self-test"):
        assemble(Session(Settings(), models), detector)
    detector.close()


def test_a_threshold_that_no_face_reaches_fails_the_self_test(models: Models) -> None:
    detector = default_detector(Settings(threshold=1.0))
    with pytest.raises(FailedClosed, match="self-test"):
        assemble(Session(Settings(threshold=1.0), models, KEY), detector)
    detector.close()


def test_a_detector_without_landmarks_passes_the_self_test(models: Models) -> None:
    place = known_face(models.fitting)[1]
    stream = assemble(Session(Settings(), models), lambda _: [Face(place, 1.0)])
    assert stream.faces is not None and stream.known_people == 0


def test_transfer_eyes_and_children_are_what_was_asked_for(models: Models, talk: list[Frame]) -> None:
    detector = default_detector(Settings())
    results = []
    for settings in (Settings(), Settings(transfer="paper"), Settings(eyes="original"), Settings(children=True)):
        detector.forget()
        stream = assemble(Session(settings, models, KEY), detector)
        results.append(run(stream, talk)[-1].y)
    detector.close()
    assert not np.array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])
    assert not np.array_equal(results[0], results[3])


def face_everywhere(frame: Frame) -> list[Face]:
    """A detector that sees one face in the middle, always."""
    return [Face((100.0, 60.0, 180.0, 160.0), 1.0)]


def scene(seed: int, index: int) -> Frame:
    """A frame of a scene of its own."""
    rng = np.random.default_rng(seed)
    y = np.kron(rng.integers(20, 235, (6, 8)), np.ones((40, 40))).astype(np.uint8)
    half = np.full((120, 160), 128, np.uint8)
    return Frame(Planes(y, half, half.copy()), Fraction(index, 25), index)


def test_a_scene_cut_ends_all_tracks(models: Models) -> None:
    stream = assemble(Session(Settings(method="blackout"), models), face_everywhere, size=(320, 240), tested=False)
    numbers = []
    for index in range(20):
        frame = scene(1 if index < 10 else 2, index)
        numbers.append([track.number for track in stream.tracker.update(stream.detect(frame), frame.time)])
    assert numbers == [[1]] * 10 + [[2]] * 10
    assert stream.cuts == 1


def test_a_lost_face_stays_covered_for_three_frames_at_any_rate(models: Models) -> None:
    seen = [True, False, False, False]
    stream = assemble(
        Session(Settings(method="blackout", coast=0.0), models),
        lambda frame: face_everywhere(frame) if seen[frame.index] else [],
        rate=Fraction(1),
        tested=False,
    )
    counts = []
    for index in range(4):
        frame = replace(scene(1, index), time=Fraction(index))
        counts.append(len(stream.tracker.update(stream.detect(frame), frame.time)))
    assert counts == [1, 1, 1, 1]


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> SourceInfo:
    """What is known of a small file."""
    return FileSource(encode(tmp_path_factory.mktemp("info") / "a.mp4", frames=3)).info


def test_the_look_ahead_is_in_frames_and_bounded_in_memory(info: SourceInfo) -> None:
    assert lookahead_frames(Settings(lookahead=1.0), info) == 32, "and the quarter of a second that is settled before"
    assert lookahead_frames(Settings(lookahead=0.0), info) == 0
    assert lookahead_frames(Settings(method="blur"), info) == 32  # a mask has to cover faces before they are found, too
    huge = replace(info, width=7680, height=4320)
    assert lookahead_frames(Settings(lookahead=10.0), huge) == (512 << 20) // (7680 * 4320 * 3 // 2)


def test_pasting_takes_whole_rectangles_and_leaves_the_rest() -> None:
    rng = np.random.default_rng(5)
    picture = rng.integers(0, 255, (120, 160, 3), dtype=np.uint8)
    before = Planes(
        np.full((120, 160), 90, np.uint8), np.full((60, 80), 128, np.uint8), np.full((60, 80), 128, np.uint8)
    )
    after = before.copy()
    after.y[40:60:19, 50:80] = 200  # a frame around pixels that happen to be equal
    after.y[40:60, 50:80:29] = 200
    out = _pasted(picture, before, after)
    changed = (out != picture).any(axis=2)
    rows, columns = np.nonzero(changed)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (32, 67, 42, 87)
    assert changed[32:68, 42:88].all()
    assert np.array_equal(_pasted(picture, before, before.copy()), picture)


def test_pasting_sees_a_change_of_colour_alone() -> None:
    picture = np.full((64, 64, 3), 99, np.uint8)
    before = Planes(np.full((64, 64), 90, np.uint8), np.full((32, 32), 128, np.uint8), np.full((32, 32), 128, np.uint8))
    after = before.copy()
    after.v[10, 10] = 90
    assert (_pasted(picture, before, after) != picture).any()


def nobody(frame: Frame) -> list[Face]:
    """A detector that sees nothing."""
    return []


@pytest.fixture
def recogniser(monkeypatch: pytest.MonkeyPatch) -> PersonRecogniser:
    """Finds everybody alike; whoever loads a recogniser gets it."""
    made = PersonRecogniser(lambda picture, points: picture[:2, :2].copy(), lambda cut: np.eye(4)[0], 0.3, 0.4, 0.03)
    monkeypatch.setattr(session, "load_person_recogniser", lambda: made)
    return made


def templates_of(stream: Stream) -> Templates:
    assert stream.faces is not None
    return stream.faces._faces.templates


def outcome_at(persons: Persons, distance: float, expected: bool = False) -> Outcome:
    """How it is decided about somebody so far from the only one who is known."""
    face = Face((0, 0, 9, 9), 1.0)
    persons.update([Track(1, face.box, face, 0, False)], Fraction(0))
    persons.commit({1: Identity(np.zeros(2), frames=50)})
    persons.update([Track(2, face.box, face, 0, True)], Fraction(1))
    if expected:
        persons.expect(2, 1)
    persons.update([Track(2, face.box, face, 0, False)], Fraction(2))
    return persons.commit({2: Identity(np.array([distance, 0.0]), frames=50)})[2].outcome


KNOWN, UNSURE, NEW = Outcome.RETURNED, Outcome.UNCERTAIN, Outcome.NEW


@pytest.mark.parametrize(
    ("distance", "expected", "outcome"),
    [(3500, False, KNOWN), (3700, False, UNSURE), (6900, False, UNSURE), (7100, False, NEW), (4400, True, KNOWN)],
)
def test_without_a_recogniser_people_are_known_by_the_fused_vector(
    models: Models, monkeypatch: pytest.MonkeyPatch, distance: float, expected: bool, outcome: Outcome
) -> None:
    monkeypatch.setattr(session, "load_person_recogniser", lambda: None)
    stream = assemble(Session(Settings(), models), nobody, tested=False)
    assert isinstance(templates_of(stream), FusedTemplates)
    assert outcome_at(stream.people.persons, distance, expected) is outcome


@pytest.mark.usefixtures("recogniser")
@pytest.mark.parametrize(
    ("distance", "expected", "outcome"),
    [(0.29, False, KNOWN), (0.31, False, UNSURE), (0.39, False, UNSURE), (0.41, False, NEW), (0.32, True, KNOWN)],
)
def test_with_a_recogniser_people_are_known_by_its_vectors_and_distances(
    models: Models, distance: float, expected: bool, outcome: Outcome
) -> None:
    stream = assemble(Session(Settings(), models), nobody, tested=False)
    assert isinstance(templates_of(stream), RecognisedTemplates)
    assert outcome_at(stream.people.persons, distance, expected) is outcome


def test_a_mask_loads_no_recogniser(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise AssertionError("nobody is to be recognised")

    monkeypatch.setattr(session, "load_person_recogniser", none)
    assemble(Session(Settings(method="blackout"), models), nobody, tested=False).close()


def test_without_a_recogniser_everything_else_is_as_before(
    models: Models, talk: list[Frame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The self-test passes, and the person is shown by the own face."""
    monkeypatch.setattr(session, "load_person_recogniser", lambda: None)
    detector = default_detector(Settings())
    stream = assemble(Session(Settings(), models, KEY), detector)
    done = published(stream, talk)
    detector.close()
    assert stream.known_people == 1
    assert [[one.level for one in frame.redactions] for frame in done] == [[Level.OWN_FACE.label]] * len(talk)


@pytest.mark.parametrize("strict", [False, True])
def test_doubts_are_judged_by_looks_and_strict_is_handed_on(models: Models, strict: bool) -> None:
    stream = assemble(Session(Settings(strict=strict), models), nobody, tested=False)
    assert stream.faces is not None
    assert isinstance(stream.faces._faces._judge, Looks)
    blank = Planes(*(np.full((side, side), 90, np.uint8) for side in (64, 32, 32)))
    face = Face((20.0, 20.0, 44.0, 44.0), 1.0)
    frame = Frame(blank, Fraction(0), 0)
    (redaction,) = at_once(stream.faces, frame, [Track(1, face.box, face, 0, False)]).redactions
    assert redaction.level == ("solid" if strict else "soft redaction")
    stream.close()


@pytest.mark.usefixtures("recogniser")
def test_the_next_part_of_a_stream_keeps_the_people_and_ends_the_thread_of_the_first(
    models: Models, talk: list[Frame]
) -> None:
    def running() -> set[threading.Thread]:
        return {one for one in threading.enumerate() if one.name.startswith("recogniser")}

    before = running()
    detector = default_detector(Settings())
    first = assemble(Session(Settings(), models, KEY), detector, tested=False)
    run(first, talk)
    assert len(running() - before) == 1
    second = assemble(Session(Settings(), models), detector, tested=False, people=first.handed_on())
    assert running() <= before
    assert second.people.persons is first.people.persons and second.people.surrogates is first.people.surrogates
    assert templates_of(second) is not templates_of(first)
    run(second, [replace(frame, time=frame.time + 5) for frame in talk])
    assert first.faces is not None and second.faces is not None
    old, new = first.faces.vectors(), second.faces.vectors()
    assert old.keys() == new.keys() == {1} and np.array_equal(old[1], new[1])
    assert second.known_people == 1
    for _ in range(2):
        second.close()
    assert running() <= before
    detector.close()
