"""The parts as `assemble` puts them together: what is chosen, wired and left clean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.assemble import assemble, default_detector, lookahead_frames
from streamdeid.deidentify.gallery import Gallery
from streamdeid.deidentify.replace_faces import ReplaceFaces
from streamdeid.deidentify.self_test import known_face
from streamdeid.deidentify.surrogates import Surrogates
from streamdeid.errors import FailedClosed
from streamdeid.evaluation.synthetic_people import synthetic_people
from streamdeid.faces import Face
from streamdeid.frames import Frame, Planes
from streamdeid.library import _pasted
from streamdeid.settings import Settings
from streamdeid.shipped_models import Models
from streamdeid.stream import Stream
from streamdeid.video.source import FileSource, SourceInfo
from tests.synthetic_video import encode

KEY = bytes(range(32))


@pytest.fixture(scope="module")
def models(fitting: FitModel, gallery: Gallery) -> Models:
    """The shipped models."""
    return Models(fitting, gallery)


def run(stream: Stream, frames: Sequence[Frame]) -> list[Planes]:
    """Filter frames without look-ahead."""
    results = []
    for frame in frames:
        tracks = stream.tracker.update(stream.detect(frame), frame.time)
        stream.deidentifier.observe(frame, tracks)
        results.append(stream.deidentifier.deidentify(frame, tracks).planes)
    return results


@pytest.fixture(scope="module")
def talk(fitting: FitModel, gallery: Gallery) -> list[Frame]:
    """A second of one synthetic person."""
    return [one.frame for one in synthetic_people(fitting, gallery, people=1, seconds=0.8, size=(320, 240))]


def test_the_self_test_leaves_nothing_behind(models: Models, talk: list[Frame]) -> None:
    detector = default_detector(Settings())
    tested = assemble(Settings(), models, detector, key=KEY)
    assert isinstance(tested.inner, ReplaceFaces)
    assert tested.surrogates is not None
    assert len(tested.surrogates) == 0
    assert not tested.surrogates.counts
    assert (tested.covered, tested.people, tested.cuts()) == (0, 0, 0)
    with_test = run(tested, talk)
    detector.forget()
    without = run(assemble(Settings(), models, detector, key=KEY, tested=False), talk)
    detector.close()
    assert all(np.array_equal(a.y, b.y) for a, b in zip(with_test, without, strict=True))
    assert tested.people == 1


def test_a_run_that_could_draw_no_synthetic_face_does_not_start(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise FailedClosed("no surrogate is free")

    monkeypatch.setattr(Surrogates, "surrogate", none)
    detector = default_detector(Settings())
    with pytest.raises(FailedClosed, match="self-test"):
        assemble(Settings(), models, detector)
    detector.close()


def test_a_threshold_that_no_face_reaches_fails_the_self_test(models: Models) -> None:
    detector = default_detector(Settings(threshold=1.0))
    with pytest.raises(FailedClosed, match="self-test"):
        assemble(Settings(threshold=1.0), models, detector, key=KEY)
    detector.close()


def test_a_detector_without_landmarks_passes_the_self_test(models: Models) -> None:
    place = known_face(models.fitting)[1]
    stream = assemble(Settings(), models, lambda _: [Face(place, 1.0)])
    assert stream.covered == 0


def test_transfer_and_eyes_are_those_that_were_asked_for(models: Models, talk: list[Frame]) -> None:
    detector = default_detector(Settings())
    results = []
    for settings in (Settings(), Settings(transfer="paper"), Settings(eyes="original")):
        detector.forget()
        stream = assemble(settings, models, detector, key=KEY)
        results.append(run(stream, talk)[-1].y)
    detector.close()
    assert not np.array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])


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
    stream = assemble(Settings(method="blackout"), models, face_everywhere, size=(320, 240), tested=False)
    numbers = []
    for index in range(20):
        frame = scene(1 if index < 10 else 2, index)
        numbers.append([track.number for track in stream.tracker.update(stream.detect(frame), frame.time)])
    assert numbers == [[1]] * 10 + [[2]] * 10
    assert stream.cuts() == 1


def test_a_lost_face_stays_covered_for_three_frames_at_any_rate(models: Models) -> None:
    seen = [True, False, False, False]
    stream = assemble(
        Settings(method="blackout", coast=0.0),
        models,
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
    assert lookahead_frames(Settings(lookahead=1.0), info) == 25
    assert lookahead_frames(Settings(lookahead=0.0), info) == 0
    assert lookahead_frames(Settings(method="blur"), info) == 25  # a mask has to cover faces before they are found, too
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
