"""The faults of `faults`: what goes wrong where, drawn from a seed, and with which exit code the run must end.

A `Fault` is a value: kind, words that describe it, what it does to the detector, to the program's parts (patches by
name, undone afterwards), to the file, and what the command line says. Faults of the detector are here, others in
`faults/elsewhere.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.faults.clip import RATE, SIZE
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.core.protocols import Detector
from streamdeid.errors import ExitCode

DEADLINE = 0.4
"""Seconds that a detector has in a run in which it hangs."""
_TWO_CLIPS = 5 * RATE
"""Frames of a clip in which a second of missed faces is a tenth of everything, on average."""

FaultyDetector = Callable[[Detector], Detector]
Rng = np.random.Generator


@dataclass(frozen=True)
class Patch:
    """A part of the program that is replaced for one run: `streamdeid.<module>`, an attribute path, and by what."""

    module: str
    name: str
    replaced: Callable[[Any], Any]
    """From the real part to the broken one."""


@dataclass(frozen=True)
class Fault:
    """One fault; see the module."""

    kind: str
    words: str
    codes: frozenset[int] = frozenset({int(ExitCode.FAILED_CLOSED)})
    """Exit codes that are right."""
    frames: int = 20
    detector: FaultyDetector | None = None
    patches: tuple[Patch, ...] = ()
    options: tuple[str, ...] = ()
    """For the command line."""
    damage: Callable[[bytes], bytes] | None = None
    """What happens to the input's bytes."""
    extra: int | None = 0
    """Frames that the output has more than the clip; None when damage makes them unknown."""
    library: bool = True
    """Whether it can be met by `Filter` too: no file is needed for it."""


@dataclass
class Broken:
    """A detector that does something else in some frames; frames of the self-test pass, unless they are chosen."""

    inner: Detector
    when: Callable[[Frame], bool]
    what: Callable[[list[Face], Frame], Any]

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """What the inner detector says, or something else."""
        faces = list(self.inner(frame))
        result: Sequence[Face] = self.what(faces, frame) if self.when(frame) else faces
        return result

    def close(self) -> None:
        """Nothing to stop."""


def broken(what: Callable[[list[Face], Frame], Any], chosen: set[int], self_test: bool = False) -> FaultyDetector:
    """A fault in the chosen frames of the clip; or in the self-test's picture."""

    def when(frame: Frame) -> bool:
        return (frame.planes.size == SIZE) is not self_test and (self_test or frame.index in chosen)

    return lambda inner: Broken(inner, when, what)


def nothing(rng: Rng) -> Fault:
    """The detector finds nothing for up to a second: one gap, or many misses of one or two frames."""
    frames = _TWO_CLIPS
    if rng.random() < 0.5:
        length = int(rng.integers(1, RATE + 1))
        start = int(rng.integers(0, frames - length + 1))
        missed = set(range(start, start + length))
        words = f"nothing in frames {start} to {start + length - 1} of {frames}"
    else:
        missed = set(np.flatnonzero(rng.random(frames) < 0.1).tolist())
        words = f"nothing in {len(missed)} frames of {frames}: {sorted(missed)[:6]}..."
    return Fault("nothing", words, frozenset({0}), frames, broken(lambda faces, frame: [], missed))


def raises(rng: Rng) -> Fault:
    """The detector raises, in the self-test or in some frame."""
    errors = (RuntimeError, ValueError, OSError, ZeroDivisionError, MemoryError, KeyError, TypeError, RecursionError)
    error = errors[int(rng.integers(len(errors)))]
    chosen, words = _frame(rng)

    def what(faces: list[Face], frame: Frame) -> Any:
        raise error("the graph\nbroke")

    return Fault("raises", f"{error.__name__} {words}", detector=broken(what, chosen, not chosen))


def hangs(rng: Rng) -> Fault:
    """The detector never answers, or answers long after its time."""
    chosen, words = _frame(rng)
    for_ever = bool(rng.random() < 0.5)
    released = threading.Event()

    def what(faces: list[Face], frame: Frame) -> Any:
        released.wait(60.0 if for_ever else 2 * DEADLINE)
        return faces

    words = f"{'for a minute' if for_ever else 'for twice its time'} {words}"
    return Fault(
        "hangs", words, detector=broken(what, chosen, not chosen), options=("--detector-deadline", str(DEADLINE))
    )


def no_number(rng: Rng) -> Fault:
    """Something in a face is no number: NaN, infinite, or text."""
    chosen, words = _frame(rng, self_test=False)
    value = (float("nan"), float("inf"), float("-inf"), "left", None, 1e300)[int(rng.integers(6))]
    part = ("box", "score", "presence", "landmarks", "forehead", "iris")[int(rng.integers(6))]
    if value is None and part in ("landmarks", "iris"):
        part = "box"  # these may be None
    if value == 1e300 and part in ("score", "presence"):
        value = float("nan")
    seed = int(rng.integers(1 << 30))

    def spoilt(face: Face) -> Face:
        if part == "box":
            corner = seed % 4
            return replace(face, box=(*face.box[:corner], value, *face.box[corner + 1 :]))  # type: ignore[arg-type]
        if part in ("score", "presence"):
            return replace(face, **{part: value})
        if not isinstance(value, float):
            return replace(face, **{part: value})
        points = np.array(getattr(face, part))
        points.ravel()[seed % points.size] = value
        return replace(face, **{part: points})

    return Fault(
        "no number",
        f"{part} has {value!r} {words}",
        detector=broken(lambda faces, frame: [spoilt(face) for face in faces], chosen),
    )


def misplaced(rng: Rng) -> Fault:
    """A box wholly outside the frame, empty, or inverted, beside the true faces or instead of them."""
    chosen, words = _frame(rng, self_test=False)
    width, height = SIZE
    side = float(rng.uniform(20, 90))
    gap = float(rng.choice([0.0, 1.0, 40.0, 5000.0]))
    boxes = {
        "left of the frame": (-side - gap, 40.0, -gap, 40.0 + side),
        "above the frame": (60.0, -side - gap, 60.0 + side, -gap),
        "right of the frame": (width + gap, 40.0, width + gap + side, 40.0 + side),
        "below the frame": (60.0, height + gap, 60.0 + side, height + gap + side),
        "empty": (60.0, 50.0, 60.0, 50.0),
        "inverted": (60.0 + side, 50.0 + side, 60.0, 50.0),
    }
    name = sorted(boxes)[int(rng.integers(len(boxes)))]
    alone = bool(rng.random() < 0.5)
    return Fault(
        "misplaced",
        f"a box {name}, {'instead of' if alone else 'beside'} the faces, {words}",
        detector=broken(lambda faces, frame: [*([] if alone else faces), Face(boxes[name], 0.9)], chosen),
    )


def many(rng: Rng) -> Fault:
    """Ten thousand boxes: withheld; or hundreds, among which the true ones are: covered."""
    count = 10_000 if rng.random() < 0.6 else int(rng.integers(100, 400))
    frames = 10
    chosen = {int(rng.integers(frames))}
    seed = int(rng.integers(1 << 30))

    def what(faces: list[Face], frame: Frame) -> list[Face]:
        middle = np.random.default_rng(seed).uniform((0, 0), SIZE, (count, 2))
        half = np.random.default_rng(seed + 1).uniform(4, 40, (count, 2))
        boxes = np.concatenate([middle - half, middle + half], axis=1).tolist()
        return [*(Face((a, b, c, d), 0.4) for a, b, c, d in boxes), *faces]

    code = int(ExitCode.FAILED_CLOSED) if count == 10_000 else 0
    return Fault("many", f"{count} boxes in frame {chosen}", frozenset({code}), frames, broken(what, chosen))


def nonsense(rng: Rng) -> Fault:
    """An answer of a wrong type, or faces whose points have wrong shapes."""
    chosen, words = _frame(rng, self_test=False)

    def points(shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.full(shape, 50.0)

    box = (40.0, 40.0, 90.0, 90.0)
    answers: dict[str, Callable[[list[Face]], Any]] = {
        "None": lambda faces: None,
        "a number": lambda faces: 7,
        "a text": lambda faces: "two faces",
        "an array": lambda faces: np.zeros((2, 4)),
        "a generator": lambda faces: (face for face in faces),
        "boxes without faces": lambda faces: [face.box for face in faces],
        "None for a face": lambda faces: [*faces, None],
        "a box of three": lambda faces: [replace(face, box=face.box[:3]) for face in faces],
        "a box of one": lambda faces: [replace(face, box=5.0) for face in faces],
        "5 landmarks": lambda faces: [Face(box, 0.9, points((5, 2)), points((13, 2)))],
        "landmarks in a list": lambda faces: [Face(box, 0.9, [[1.0, 2.0]] * 68, points((13, 2)))],
        "landmarks of text": lambda faces: [Face(box, 0.9, np.full((68, 2), "x"), points((13, 2)))],
        "landmarks without forehead": lambda faces: [replace(face, forehead=None) for face in faces],
        "a wrong iris": lambda faces: [replace(face, iris=points((2, 3))) for face in faces],
    }
    name = sorted(answers)[int(rng.integers(len(answers)))]
    return Fault("nonsense", f"{name} {words}", detector=broken(lambda faces, frame: answers[name](faces), chosen))


def landmarker(rng: Rng) -> Fault:
    """The landmarker fails on all or some faces, for some frames: no points, or points that are not the face's."""
    frames = 18
    start = int(rng.integers(0, frames - 2))
    chosen = set(range(start, min(frames, start + int(rng.integers(1, 14)))))
    whom = int(rng.integers(-1, 2))  # -1: all faces
    ways = ("none", "collapsed", "elsewhere", "too large", "mirrored", "upside down", "shuffled", "noise", "shifted")
    way = ways[int(rng.integers(len(ways)))]
    seed = int(rng.integers(1 << 30))

    def failed(face: Face) -> Face:
        return wrong_points(face, way, np.random.default_rng(seed))

    def what(faces: list[Face], frame: Frame) -> list[Face]:
        return [failed(face) if whom in (-1, number) else face for number, face in enumerate(faces)]

    who = "all faces" if whom < 0 else f"face {whom}"
    words = f"{way} for {who} in frames {start} to {max(chosen)}"
    return Fault("landmarker", words, frozenset({0}), frames, broken(what, chosen))


def wrong_points(face: Face, way: str, rng: Rng) -> Face:
    """A face whose points a landmarker got wrong, in one of the ways of `landmarker`; its box stays right."""
    assert face.landmarks is not None and face.forehead is not None
    if way == "none":
        return Face(face.box, face.score, presence=face.presence)
    points = np.concatenate([face.landmarks, face.forehead])
    middle = points.mean(axis=0)
    across = float(np.ptp(points[:, 0]))
    angle = rng.uniform(0, 2 * np.pi)
    changed = {
        "collapsed": lambda: np.repeat(middle[None], 81, axis=0),
        "elsewhere": lambda: points + rng.uniform(0.7, 3.0) * across * np.array([np.cos(angle), np.sin(angle)]),
        "too large": lambda: middle + (points - middle) * rng.uniform(2.5, 50.0),
        "mirrored": lambda: middle + (points - middle) * (-1.0, 1.0),
        "upside down": lambda: middle - (points - middle),
        "shuffled": lambda: rng.permutation(points),
        "noise": lambda: rng.uniform(points.min(axis=0), points.max(axis=0), points.shape),
        "shifted": lambda: points + 0.35 * across * np.array([np.cos(angle), np.sin(angle)]),
    }[way]()
    return Face(face.box, face.score, changed[:68], changed[68:], None, face.presence)


def _frame(rng: Rng, self_test: bool = True) -> tuple[set[int], str]:
    """One frame of the clip, or none: then the self-test's."""
    if self_test and rng.random() < 0.15:
        return set(), "in the self-test"
    frame = int(rng.integers(20))
    return {frame}, f"in frame {frame}"
