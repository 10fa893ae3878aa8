"""What stands between a detector and the filter: no nonsense passes, nothing hangs, nothing stays behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.cli.main import main
from streamdeid.core.faces import Face, Keypoints
from streamdeid.core.frames import Frame, Planes
from streamdeid.detection.deadline import MOST_FACES, TimedDetector
from streamdeid.detection.guard import Change, Watch, checked
from streamdeid.errors import FailedClosed, InputError, SettingsError
from streamdeid.protect.self_test import known_face
from streamdeid.runs import parts, session
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models
from tests.synthetic_video import encode

ROOT = Path(__file__).parents[2]
BOX = (40.0, 30.0, 100.0, 110.0)


def frame(index: int = 0) -> Frame:
    """A grey frame of 160 x 120."""
    half = np.full((60, 80), 128, np.uint8)
    return Frame(Planes(np.full((120, 160), 90, np.uint8), half, half.copy()), Fraction(index, 25), index)


def points(box: tuple[float, float, float, float] = BOX) -> np.ndarray[Any, np.dtype[np.float64]]:
    """81 points that fill a box."""
    x0, y0, x1, y1 = box
    angle = np.linspace(0, 2 * np.pi, 81)
    return np.column_stack([(x0 + x1 + (x1 - x0) * np.cos(angle)) / 2, (y0 + y1 + (y1 - y0) * np.sin(angle)) / 2])


def face(**changed: Any) -> Face:
    """A sound face, or one with something changed."""
    p = points()
    sound = Face(BOX, 0.9, p[:68], p[68:], np.full((2, 5, 2), 60.0), 1.0, np.zeros(81), mesh=mesh())
    return replace(sound, **changed)


def keypoints(**changed: Any) -> Keypoints:
    """What a sound second network says of it, or something changed."""
    return replace(Keypoints((50.0, 40.0, 90.0, 100.0), np.full((5, 2), 60.0), 0.9), **changed)


def mesh() -> np.ndarray[Any, np.dtype[np.float64]]:
    """468 vertices, those points among them."""
    return np.column_stack([np.resize(points(), (468, 2)), np.zeros(468)])


def spoilt(shape: tuple[int, ...], value: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    array = np.full(shape, 60.0)
    array.ravel()[-1] = value
    return array


@pytest.mark.parametrize(
    ("moved", "kept"),
    [
        (mesh(), True),
        (mesh() + np.array([4.0, -4.0, 0.0]), True),  # another network's, a little off
        (mesh() + np.array([20.0, 0.0, 0.0]), False),  # beside the landmarks
        (0.5 * mesh() + np.array([35.0, 35.0, 0.0]), False),  # half a face
        (70 + 3 * (mesh() - 70), False),  # three faces wide
        (np.zeros((468, 3)), False),
    ],
)
def test_a_mesh_that_is_not_where_the_landmarks_are_is_left_out(
    moved: np.ndarray[Any, np.dtype[np.float64]], kept: bool
) -> None:
    (found,) = checked([face(mesh=moved)], frame())
    assert found.landmarks is not None
    assert (found.mesh is moved) if kept else found.mesh is None


def test_sound_faces_pass_as_they_are() -> None:
    given_ = [face(), Face(BOX, 0.5), face(box=tuple(np.float32(v) for v in BOX)), face(iris=None, depth=None)]
    given_ += [face(keypoints=keypoints(), surveyed=0.0), face(keypoints=keypoints(score=1.0), surveyed=3.5)]
    found = checked(given_, frame())
    assert [one.box for one in found] == [BOX] * 6
    assert all(a.keypoints is b.keypoints and a.surveyed == b.surveyed for a, b in zip(found, given_, strict=True))
    assert all(a.landmarks is b.landmarks and a.forehead is b.forehead for a, b in zip(found, given_, strict=True))
    assert checked((), frame()) == []


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        "two faces",
        b"face",
        {"face": 1},
        {1, 2},
        np.zeros((2, 4)),
        (one for one in ()),
        object(),
        [None],
        [BOX],
        [face(), "face"],
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_what_is_no_list_of_faces_is_refused(answer: Any) -> None:
    with pytest.raises(FailedClosed, match="frame 3") as caught:
        checked(answer, frame(3))
    assert "\n" not in str(caught.value)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"box": (NAN, 30.0, 100.0, 110.0)}, "without a place"),
        ({"box": (40.0, 30.0, INF, 110.0)}, "without a place"),
        ({"box": (40.0, 30.0, 1e9, 110.0)}, "without a place"),
        ({"box": (40.0, 30.0, 100.0)}, "without a place"),
        ({"box": (40.0, 30.0, 100.0, 110.0, 1.0)}, "without a place"),
        ({"box": 40.0}, "without a place"),
        ({"box": None}, "without a place"),
        ({"box": ("left", 30.0, 100.0, 110.0)}, "without a place"),
        ({"box": (40.0, 30.0, 40.0, 110.0)}, "empty"),
        ({"box": (100.0, 110.0, 40.0, 30.0)}, "empty"),
        ({"box": (-60.0, 30.0, 0.0, 110.0)}, "outside the frame"),
        ({"box": (160.0, 30.0, 200.0, 110.0)}, "outside the frame"),
        ({"box": (40.0, -80.0, 100.0, 0.0)}, "outside the frame"),
        ({"box": (40.0, 120.0, 100.0, 200.0)}, "outside the frame"),
        ({"score": NAN}, "score"),
        ({"score": "high"}, "score"),
        ({"score": [0.5, 0.6]}, "score"),
        ({"presence": None}, "presence"),
        ({"evidence": NAN}, "evidence"),
        ({"evidence": "sure"}, "evidence"),
        ({"evidence": -0.1}, "evidence"),
        ({"evidence": 1.5}, "evidence"),
        ({"landmarks": spoilt((68, 2), NAN)}, "landmarks"),
        ({"landmarks": spoilt((68, 2), -INF)}, "landmarks"),
        ({"landmarks": spoilt((68, 2), 1e8)}, "landmarks"),
        ({"landmarks": np.full((5, 2), 60.0)}, "landmarks"),
        ({"landmarks": [(1.0, 2.0)] * 68}, "landmarks"),
        ({"landmarks": np.full((68, 2), "x")}, "landmarks"),
        ({"landmarks": np.full((68, 2), None)}, "landmarks"),
        ({"forehead": None}, "without forehead"),
        ({"forehead": spoilt((13, 2), NAN)}, "forehead"),
        ({"iris": np.full((2, 2), 60.0)}, "iris"),
        ({"iris": spoilt((2, 5, 2), INF)}, "iris"),
        ({"depth": np.zeros(68)}, "depth"),
        ({"mesh": np.zeros((478, 3))}, "mesh"),
        ({"mesh": spoilt((468, 3), NAN)}, "mesh"),
        ({"keypoints": np.full((5, 2), 60.0)}, "keypoints"),
        ({"keypoints": keypoints(box=(50.0, 40.0, 90.0))}, "keypoints"),
        ({"keypoints": keypoints(box=(50.0, 40.0, NAN, 100.0))}, "keypoints"),
        ({"keypoints": keypoints(box=None)}, "keypoints"),
        ({"keypoints": keypoints(box=(50.0, 40.0, 50.0, 100.0))}, "keypoints"),
        ({"keypoints": keypoints(box=(50.0, 100.0, 90.0, 40.0))}, "keypoints"),
        ({"keypoints": keypoints(points=np.full((68, 2), 60.0))}, "keypoints"),
        ({"keypoints": keypoints(points=[(60.0, 60.0)] * 5)}, "keypoints"),
        ({"keypoints": keypoints(points=spoilt((5, 2), INF))}, "keypoints"),
        ({"keypoints": keypoints(points=np.full((5, 2), None))}, "keypoints"),
        ({"keypoints": keypoints(score=NAN)}, "keypoints"),
        ({"keypoints": keypoints(score=-0.1)}, "keypoints"),
        ({"keypoints": keypoints(score=1.5)}, "keypoints"),
        ({"keypoints": keypoints(score=None)}, "keypoints"),
        ({"surveyed": NAN}, "survey"),
        ({"surveyed": INF}, "survey"),
        ({"surveyed": -0.5}, "survey"),
        ({"surveyed": "seen"}, "survey"),
        ({"surveyed": [1.0, 2.0]}, "survey"),
    ],
)
def test_nonsense_in_a_face_is_refused(changed: dict[str, Any], named: str) -> None:
    for faces in ([face(**changed)], [face(), face(**changed)]):
        with pytest.raises(FailedClosed, match=named) as caught:
            checked(faces, frame())
        assert len(str(caught.value)) < 100


@pytest.mark.parametrize("edge", [(-59.0, 30.0, 1.0, 110.0), (159.0, 119.0, 300.0, 300.0), (-9e5, -9e5, 9e5, 9e5)])
def test_a_box_that_touches_the_frame_passes(edge: tuple[float, float, float, float]) -> None:
    assert checked([Face(edge, 0.9)], frame())[0].box == edge


@pytest.mark.parametrize(
    "wrong",
    [points() * 0 + 60.0, points() + 60.0, 10 * points() - 600.0, (points() - 60.0) / 10 + 60.0],
    ids=["collapsed", "elsewhere", "too large", "too small"],
)
def test_points_that_are_not_those_of_the_box_are_left_out_and_the_box_stays(wrong: Any) -> None:
    (found,) = checked([face(landmarks=wrong[:68], forehead=wrong[68:])], frame())
    assert (found.box, found.score) == (BOX, 0.9)
    assert found.landmarks is found.forehead is found.iris is found.depth is found.mesh is None


@given(st.lists(st.one_of(st.floats(), st.none(), st.integers(), st.text(max_size=2)), max_size=5))
@settings(max_examples=150, deadline=None)
def test_whatever_the_box_it_is_sound_or_refused(values: list[Any]) -> None:
    try:
        (found,) = checked([Face(tuple(values), 0.5)], frame())  # type: ignore[arg-type]
    except FailedClosed:
        return
    x0, y0, x1, y1 = found.box
    assert x0 < x1 and y0 < y1 and x1 > 0 and y1 > 0 and x0 < 160 and y0 < 120
    assert all(isinstance(value, float) for value in found.box)


def test_too_many_faces_are_refused_at_once() -> None:
    def endless() -> Iterator[Face]:
        while True:
            yield Face(BOX, 0.5)

    class Endless(Sequence[Face]):
        """A list without an end."""

        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: Any) -> Any:
            return Face(BOX, 0.5)

        def __iter__(self) -> Iterator[Face]:
            return endless()

    assert len(checked([Face(BOX, 0.5)] * MOST_FACES, frame())) == MOST_FACES
    begun = time.perf_counter()
    for answer in ([Face(BOX, 0.5)] * 10_000, Endless()):
        timed = TimedDetector(lambda _, answer=answer: answer, 5.0)  # type: ignore[misc]
        with pytest.raises(FailedClosed, match="more than 1000 faces"):
            watch(timed)(frame())
        timed.close()
    assert time.perf_counter() - begun < 1.0


def watch(detect: Any) -> Watch:
    """A watch without scene cuts."""
    return Watch(detect, lambda levels: Change(), lambda: None)


@pytest.mark.parametrize("error", [RuntimeError("graph\nbroke"), MemoryError(), OSError(5, "I/O"), RecursionError()])
def test_whatever_a_detector_raises_withholds_the_frame(error: Exception) -> None:
    def breaks(_: Frame) -> list[Face]:
        raise error

    for detect in (breaks, timed := TimedDetector(breaks, 5.0)):
        with pytest.raises(FailedClosed, match=f"failed on frame 0: {type(error).__name__}$") as caught:
            watch(detect)(frame())
        assert caught.value.__cause__ is error
    timed.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InputError("its own word"), SystemExit(3)])
def test_what_is_not_the_detectors_fault_passes_through(error: BaseException) -> None:
    def breaks(_: Frame) -> list[Face]:
        raise error

    timed = TimedDetector(breaks, 5.0)
    with pytest.raises(type(error)) as caught:
        watch(timed)(frame())
    assert caught.value is error
    timed.close()


def test_a_cut_is_told_before_the_detector_is_asked() -> None:
    told: list[str] = []

    def detect(_: Frame) -> list[Face]:
        told.append("asked")
        return []

    seen = Watch(detect, lambda levels: Change(cut=len(told) == 1), lambda: told.append("cut"))
    for index in range(3):
        seen(frame(index))
    assert told == ["asked", "cut", "asked", "asked"] and seen.cuts == 1


@pytest.mark.parametrize(
    ("times", "cuts", "last"),
    [
        ([0, 1, 2, 3], [], [3]),  # the end
        ([0, 1, 2, 3], [2], [1, 3]),  # before a scene cut
        ([0, 1, 2, 8, 9], [], [2, 4]),  # before a gap
        ([0, 1, 2, 4, 5], [], [4]),  # a picture that is left out is none
        ([0, 10, 20, 30], [], [0, 3]),  # slow, but steady; nothing is known before the first
        ([0], [], [0]),
    ],
)
def test_the_last_frame_of_a_scene_is_told(times: list[int], cuts: list[int], last: list[int]) -> None:
    told: list[str] = []
    asked: list[Any] = []
    frames = [replace(frame(n), time=Fraction(time, 25)) for n, time in enumerate(times)]

    def change(levels: Any) -> Change:
        asked.append(levels)
        return Change(cut=len(asked) - 1 in cuts)

    watch = Watch(lambda _: told.append("asked") or [], change, lambda: told.append("cut"), lambda: told.append("last"))
    for number, one in enumerate(frames):
        told.append(str(number))
        watch.foresee(one, frames[number + 1] if number + 1 < len(frames) else None)
        watch(one)
    wanted = [[str(n), *["cut"] * (n in cuts), *["last"] * (n in last), "asked"] for n in range(len(times))]
    assert told == [word for words in wanted for word in words] and watch.cuts == len(cuts)
    assert len(asked) == len(times), "each is compared with the one before once"


@pytest.mark.parametrize("recorded", [False, True])
def test_both_sides_of_a_jump_are_told(recorded: bool) -> None:
    """Of a live stream the second one, since nobody knows what follows."""
    told: list[str] = []
    asked: list[Any] = []

    def change(levels: Any) -> Change:
        asked.append(levels)
        return Change(jumped=len(asked) == 4)

    def detect(one: Frame) -> list[Face]:
        told.append(str(one.index))
        return []

    def tell(word: str) -> Callable[[], None]:
        return lambda: told.append(word)

    watch = Watch(detect, change, tell("cut"), tell("last"), tell("all"))
    frames = [replace(frame(n), time=Fraction(n, 25)) for n in range(6)]
    for number, one in enumerate(frames[:5]):
        if recorded:
            watch.foresee(one, frames[number + 1])
        watch(one)
    assert told == ["0", "1", *["last"] * recorded, "2", "all", "3", "4"] and watch.cuts == 0


def test_all_calls_come_from_one_thread_that_ends(gone: Callable[[], bool]) -> None:
    seen: list[threading.Thread] = []

    def detect(_: Frame) -> list[Face]:
        seen.append(threading.current_thread())
        return []

    timed = TimedDetector(detect, 5.0, stop=lambda: seen.append(threading.current_thread()))
    for index in range(3):
        assert list(timed(frame(index))) == []
    timed.close()
    timed.close()
    assert len(seen) == 4 and len(set(seen)) == 1 and seen[0] is not threading.current_thread()
    assert gone()
    with pytest.raises(FailedClosed, match="was stopped"):
        timed(frame())


@pytest.fixture
def gone() -> Callable[[], bool]:
    """Whether no thread is left that was not there when the test began."""
    before = set(threading.enumerate())

    def all_gone() -> bool:
        until = time.monotonic() + 2
        while set(threading.enumerate()) - before and time.monotonic() < until:
            time.sleep(0.01)
        return not set(threading.enumerate()) - before

    return all_gone


def test_the_thread_ends_with_its_owner_even_after_an_error(gone: Callable[[], bool]) -> None:
    def breaks(_: Frame) -> list[Face]:
        raise ValueError

    timed = TimedDetector(breaks, 5.0)
    with pytest.raises(ValueError):
        timed(frame())
    del timed
    assert gone()


def test_a_detector_that_hangs_fails_in_time_and_stays_failed() -> None:
    released = threading.Event()

    def hangs(_: Frame) -> list[Face]:
        released.wait(30)
        return [Face(BOX, 0.5)]

    timed = TimedDetector(hangs, 0.15)
    begun = time.perf_counter()
    with pytest.raises(FailedClosed, match=r"did not answer within 0\.15 s on frame 4"):
        watch(timed)(frame(4))
    assert 0.15 <= time.perf_counter() - begun < 1.0
    released.set()
    time.sleep(0.05)  # its late answer must not be taken for the next frame's
    with pytest.raises(FailedClosed, match="hung before"):
        watch(timed)(frame(5))
    begun = time.perf_counter()
    timed.close()
    assert time.perf_counter() - begun < 0.5


@pytest.mark.parametrize("breaks", [False, True])
def test_a_detector_that_hung_is_let_go_of_when_it_comes_back(breaks: bool) -> None:
    """Its networks take 100 MB and more, and another detector has taken its place."""
    released, stopped = threading.Event(), threading.Event()

    class Hangs:
        def __call__(self, _: Frame) -> list[Face]:
            released.wait(30)
            if breaks:
                raise ValueError("late")
            return []

        def close(self) -> None:
            stopped.set()

    detect = Hangs()
    known = weakref.ref(detect)
    timed = TimedDetector(detect, 0.05, detect.close)
    del detect
    with pytest.raises(FailedClosed, match="did not answer") as hung:
        timed(frame())
    assert known() is not None and not timed.ended and not stopped.is_set()
    timed.close()
    released.set()
    timed._thread.join(30)
    gc.collect()
    assert timed.ended and stopped.is_set() and known() is None and hung.value.__traceback__ is not None


def test_a_detector_that_is_slow_but_in_time_is_heard() -> None:
    def slow(_: Frame) -> list[Face]:
        time.sleep(0.1)
        return [Face(BOX, 0.5)]

    timed = TimedDetector(slow, 5.0)
    assert len(watch(timed)(frame())) == 1
    timed.close()


def test_a_stop_that_fails_is_told() -> None:
    def stop() -> None:
        raise RuntimeError("would not stop")

    with pytest.raises(RuntimeError, match="would not stop"):
        TimedDetector(lambda _: [], 5.0, stop).close()


def test_the_thread_costs_less_than_a_third_of_a_millisecond() -> None:
    timed = TimedDetector(lambda _: [], 5.0)
    one = frame()
    costs = []
    for _ in range(300):
        begun = time.perf_counter()
        timed(one)
        costs.append(time.perf_counter() - begun)
    timed.close()
    assert float(np.median(costs)) < 0.0003


@pytest.mark.parametrize("seconds", [0.0, 0.05, -1.0, NAN, INF, 1200.0])
def test_the_deadline_is_bounded(seconds: float) -> None:
    with pytest.raises(SettingsError, match=r"detector-deadline must be from 0\.1 to 600 seconds"):
        Settings(detector_deadline=seconds)


class Hanging:
    """A detector that hangs in its first frame of a real clip, and works after that."""

    def __init__(self, known: tuple[float, float, float, float], hangs: bool, released: threading.Event) -> None:
        self.known, self.hangs, self.released = known, hangs, released
        self.closed = False

    def __call__(self, one: Frame) -> list[Face]:
        if one.planes.size == (320, 320):
            return [Face(self.known, 1.0)]
        if self.hangs:
            self.released.wait(30)
        return []

    def close(self) -> None:
        """Note it."""
        self.closed = True


def test_after_a_hang_the_next_file_gets_a_new_detector(
    fitting: Any, gallery: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.mp4", "b.mp4"):
        encode(tmp_path / name, frames=5)
    released = threading.Event()
    made: list[Hanging] = []

    def detector(_: Settings, *, live: bool = False) -> Hanging:
        made.append(Hanging(known_face(fitting)[1], not made, released))
        return made[-1]

    monkeypatch.setattr(parts, "default_detector", detector)
    monkeypatch.setattr(session, "load_models", lambda _: Models(fitting, gallery))
    argv = ["filter", str(tmp_path), "--method", "blackout", "--quiet", "--detector-deadline", "0.3"]
    assert main(argv) == 4
    released.set()
    captured = capfd.readouterr()
    assert captured.err.splitlines() == [
        f"streamdeid: {tmp_path / 'a.mp4'}: the detector did not answer within 0.3 s on frame 0"
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "b.mp4", "b_deidentified.mp4"]
    assert made[1].closed, "the first one is, too, as soon as its thread finds that it may go on"


HANGING_RUN = """
import sys, threading, time
import streamdeid.runs.parts as parts
import streamdeid.runs.files as files
from streamdeid.cli.main import run
class Hangs:
    def __call__(self, frame):
        print("it hangs", flush=True)
        threading.Event().wait()
    def close(self):
        print("it hangs", flush=True)
        threading.Event().wait()
class HangsAtItsEnd(Hangs):
    def __call__(self, frame):
        raise ValueError
class HangsInOpenCV(Hangs):
    def __call__(self, frame):
        import cv2
        print("it hangs", flush=True)
        while True:  # each call asks for the interpreter in a destructor, where no thread can be ended
            cv2.GaussianBlur(frame.planes.y, (9, 9), 3)
parts.default_detector = lambda settings, live=False: {name}()
run()
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Hangs", "did not answer within 0.2 s"),
        ("HangsAtItsEnd", "ValueError"),
        ("HangsInOpenCV", "did not answer within 0.2 s"),
    ],
)
def test_a_process_whose_detector_hangs_ends(name: str, line: str, tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4", frames=5)
    words = ["filter", str(path), "--method", "blackout", "--detector-deadline", "0.2"]
    command = [sys.executable, "-c", HANGING_RUN.replace("{name}", name), *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            # A start takes as long as the machine lets it. What is asked is how long the process lives when the
            # detector hangs, which it says itself: the deadline, 3 s in which it may stop, and its end.
            assert process.stdout.readline() == "it hangs\n", process.communicate(timeout=60)[1]
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 4
    assert len(said.splitlines()) == 1 and line in said
    assert [one.name for one in tmp_path.iterdir()] == ["a.mp4"]
