"""Parts of a live stream that begin anew: the people keep their faces, nothing else is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.errors import FailedClosed, SettingsError
from streamdeid.protect.levels import Level
from streamdeid.protect.plan import at_once
from streamdeid.runs import parts as named_parts
from streamdeid.runs import proof
from streamdeid.runs.live_parts import StreamParts
from streamdeid.runs.stream import Stream
from streamdeid.settings import Settings
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import SyntheticFrame, synthetic_people
from tests.live_fakes import FakeTime, planes

RATE = Fraction(25)


@pytest.fixture(scope="module")
def people(fitting: FitModel, gallery: Gallery) -> list[SyntheticFrame]:
    return list(synthetic_people(fitting, gallery, people=1, seconds=2.0, size=(320, 240), rate=25))


@pytest.fixture
def parts() -> Iterator[StreamParts]:
    made = StreamParts(Settings(lookahead=0.0))
    yield made
    made.close()


def _run(stream: Stream, frames: Sequence[Frame]) -> int:
    """The number of own faces that are shown."""
    own = 0
    for frame in frames:
        tracks = stream.tracker.update(stream.detect(frame), frame.time)
        done = at_once(stream.deidentifier, frame, tracks)
        own += sum(one.level == Level.OWN_FACE.label for one in done.redactions)
    return own


def test_people_keep_their_faces_over_a_loss(parts: StreamParts, people: list[SyntheticFrame]) -> None:
    frames = [Frame(one.frame.planes, one.frame.time, index) for index, one in enumerate(people)]
    first = parts((320, 240), RATE, None)
    _run(first, frames[:25])
    assert first.faces is not None and first.known_people == 1
    before = first.faces.vectors()
    second = parts((320, 240), RATE, first)
    own = _run(second, [Frame(frame.planes, frame.time + 5, frame.index) for frame in frames[25:]])
    assert second.faces is not None and second.faces is not first.faces
    after = second.faces.vectors()
    assert len(before) == 1 and after.keys() == before.keys()
    assert second.faces.decoded is first.faces.decoded, "or everybody's face is decoded again, 0.1 s each"
    assert all((after[person] == before[person]).all() for person in before)
    assert second.known_people == 1 and second.faces.tracklets > first.faces.tracklets
    assert own > 8


def test_strangers_after_a_loss_get_faces_of_their_own(
    parts: StreamParts, people: list[SyntheticFrame], fitting: FitModel, gallery: Gallery
) -> None:
    first = parts((320, 240), RATE, None)
    _run(first, [Frame(one.frame.planes, one.frame.time, index) for index, one in enumerate(people[:15])])
    others = list(synthetic_people(fitting, gallery, people=1, seconds=1.0, size=(320, 240), rate=25, seed=77))
    second = parts((320, 240), RATE, first)
    _run(second, [Frame(one.frame.planes, one.frame.time + 9, 100 + i) for i, one in enumerate(others)])
    assert first.faces is not None and second.faces is not None
    old, new = first.faces.vectors(), second.faces.vectors()
    assert len(new) == 1 and new.keys().isdisjoint(old)
    assert not any((vector == other).all() for vector in new.values() for other in old.values())


def test_a_detector_that_hung_is_replaced_a_few_times_only() -> None:
    release, made = threading.Event(), []

    def detector() -> tuple[object, None]:
        made.append(len(made))

        def detect(frame: Frame) -> Sequence[Face]:
            release.wait(20)
            return []

        return detect, None

    settings = Settings(method="blackout", detector_deadline=0.1)
    parts = StreamParts(settings, detector=detector, tested=False)  # type: ignore[arg-type]
    stream = None
    try:
        for _ in range(4):
            stream = parts((64, 48), RATE, stream)
            with pytest.raises(FailedClosed, match="did not answer"):
                stream.detect(Frame(planes(90), Fraction(0), 0))
        with pytest.raises(FailedClosed, match="4 detectors hang"):
            parts((64, 48), RATE, stream)
        assert len(made) == 4
    finally:
        release.set()
        parts.close()
    with pytest.raises(FailedClosed, match="closed"):
        parts((64, 48), RATE, stream)


def test_detectors_that_are_only_late_now_and_then_end_nothing() -> None:
    late = threading.Semaphore(0)

    def detect(frame: Frame) -> Sequence[Face]:
        assert late.acquire(timeout=60), "nobody missed it"
        return []

    settings = Settings(method="blackout", detector_deadline=0.1)
    parts = StreamParts(settings, detector=lambda: (detect, None), tested=False)
    stream = None
    try:
        for _ in range(6):
            stream = parts((64, 48), RATE, stream)
            with pytest.raises(FailedClosed, match="did not answer"):
                stream.detect(Frame(planes(90), Fraction(0), 0))
            late.release()
            until, hung = time.monotonic() + 60, parts._detect
            while hung is not None and not hung.ended and time.monotonic() < until:
                time.sleep(0.01)
    finally:
        parts.close()


@dataclass
class SelfTests:
    """The self-tests that were run, and what the next ones raise."""

    count: int = 0
    error: FailedClosed | None = None

    def __call__(self, *parts: object) -> float:
        self.count += 1
        if self.error is not None:
            raise self.error
        return 10.0


@pytest.fixture
def tests(monkeypatch: pytest.MonkeyPatch) -> SelfTests:
    counted = SelfTests()
    monkeypatch.setattr(named_parts, "self_test", counted)
    return counted


def test_what_passed_and_was_never_in_doubt_is_not_tested_again(
    tests: SelfTests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only then: a busy machine has no second of CPU for each time that a camera reconnects."""
    monkeypatch.setattr(proof, "time", clock := FakeTime())
    waits = threading.Event()

    def detect(frame: Frame) -> Sequence[Face]:
        waits.wait(0.0 if frame.index < 9 else 20.0)
        return []

    parts = StreamParts(Settings(method="blackout", detector_deadline=0.1), detector=lambda: (detect, None))
    size, counts = (64, 48), []

    def built(stream: Stream | None, *, doubted: bool = False) -> Stream:
        made = parts(size, RATE, stream, doubted=doubted)
        counts.append(tests.count)
        return made

    try:
        parts.warm_up()
        stream = built(built(None))
        clock.ahead = 59.0
        stream = built(stream)
        assert counts == [1, 1, 1]
        clock.ahead = 61.0
        stream = built(built(stream))
        assert counts[3:] == [2, 2], "a minute old"
        stream = built(built(stream, doubted=True))
        assert counts[5:] == [3, 3], "something failed"
        with pytest.raises(FailedClosed, match="did not answer"):
            stream.detect(Frame(planes(90), Fraction(0), 9))
        built(built(stream))
        assert counts[7:] == [4, 4], "another detector"
    finally:
        waits.set()
        parts.close()


def test_after_a_self_test_that_failed_nothing_is_built_until_one_passes(tests: SelfTests) -> None:
    parts = StreamParts(Settings(method="blackout"), detector=lambda: (lambda frame: [], None))
    try:
        stream = parts((64, 48), RATE, None, doubted=False)
        assert tests.count == 1, "nothing had passed before"
        tests.error = FailedClosed("the self-test failed")
        for doubted in (True, False, False):
            with pytest.raises(FailedClosed, match="self-test"):
                parts((64, 48), RATE, stream, doubted=doubted)
        tests.error = None
        parts((64, 48), RATE, stream, doubted=False)
        assert tests.count == 5
    finally:
        parts.close()


def test_a_new_connection_costs_little_beside_a_doubt(parts: StreamParts) -> None:
    """CPU time, which a busy machine does not stretch as it does time; 0.03 s against 0.4."""

    stream = parts((320, 240), RATE, None)

    def cost(doubted: bool) -> float:
        nonlocal stream
        began = time.thread_time()
        stream = parts((320, 240), RATE, stream, doubted=doubted)
        return time.thread_time() - began

    assert min(cost(False) for _ in range(3)) < min(cost(True) for _ in range(3)) / 3


def test_wrong_settings_are_known_before_anything_is_opened() -> None:
    with pytest.raises(SettingsError, match="k must be"):
        StreamParts(Settings(k=100))
