"""Faults outside the detector, for `faults`: the fit, memory, the decoder, the encoder and the disk."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import av
import numpy as np

from benchmarks.faults.injected import Fault, Patch, Rng
from streamdeid.errors import ExitCode

_INPUT, _OUTPUT, _FAILED = int(ExitCode.INPUT), int(ExitCode.OUTPUT), int(ExitCode.FAILED_CLOSED)
_STAGES = {
    "the tracker": ("tracking.tracker", "FaceTracker.update"),
    "observation": ("protect.replace_faces", "ReplaceFaces.observe"),
    "the filter": ("protect.replace_faces", "ReplaceFaces.render"),
    "drawing": ("protect.replace_faces", "render_surrogate"),
    "the fit": ("observe.observation", "fit"),
    "the choice": ("surrogates.choice", "Surrogates.surrogate"),
    "the decoder": ("video.files.source", "planes_of"),
    "the encoder": ("video.files.sink", "picture_of"),
    "the muxer": ("video.files.sink", "FileSink._mux"),
    "the last rename": ("video.files.sink", "put_in_place"),
}
"""Where memory runs short."""


def failing(make: Callable[[], BaseException], after: int) -> Callable[[Any], Any]:
    """A function that works so many times, and from then on raises."""

    def replaced(real: Any) -> Any:
        calls = 0

        @wraps(real)
        def instead(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > after:
                raise make()
            return real(*arguments, **named)

        return instead

    return replaced


def memory(rng: Rng) -> Fault:
    """Memory runs short in some part: a run that ends with 4, whoever noticed it."""
    where = sorted(_STAGES)[int(rng.integers(len(_STAGES)))]
    module, name = _STAGES[where]
    # How often a synthetic face is drawn is the ladder's affair: the first time of all is in the self-test.
    after = 0 if where in ("the last rename", "the choice", "drawing") else int(rng.integers(0, 14))
    ours = bool(rng.random() < 0.5)
    make = MemoryError if ours else lambda: av.error.MemoryError(errno.ENOMEM, "Cannot allocate memory")
    patch = Patch(module, name, failing(make, after))
    words = f"{where}, after {after} calls, {'Python' if ours else 'FFmpeg'}'s error"
    return Fault("memory", words, patches=(patch,), library=False)


def fit_diverges(rng: Rng) -> Fault:
    """The fit or the pose is no number, far away, or a singular matrix: a lower level, no error."""
    share = float(rng.choice([0.1, 0.5, 1.0]))
    seed = int(rng.integers(1 << 30))
    ways: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
        "a singular step": ("aam.fit", "_step", lambda result: _singular()),
        "a step to nowhere": ("aam.fit", "_step", lambda result: (result[0], result[1] * np.nan)),
        "a step far away": ("aam.fit", "_step", lambda result: (result[0], result[1] + 1e12)),
        "a texture of no numbers": ("aam.fit", "normalised_grey", lambda result: result * np.float32("nan")),
        "a pose without a solution": ("observe.observation", "pose_of", lambda result: _singular()),
        "a pose of no numbers": ("observe.observation", "pose_of", lambda result: _nowhere(result)),
    }
    way = sorted(ways)[int(rng.integers(len(ways)))]
    module, name, spoil = ways[way]

    def replaced(real: Any) -> Any:
        dice = np.random.default_rng(seed)

        @wraps(real)
        def instead(*arguments: Any, **named: Any) -> Any:
            result = real(*arguments, **named)
            return spoil(result) if dice.random() < share else result

        return instead

    return Fault("fit", f"{way}, {share:.0%} of the time", frozenset({0}), 16, patches=(Patch(module, name, replaced),))


def _singular() -> Any:
    raise np.linalg.LinAlgError("Singular matrix")


def _nowhere(pose: Any) -> Any:
    return type(pose)(float("nan"), pose.rotation * np.nan, pose.shift * np.nan)


def corrupt(rng: Rng) -> Fault:
    """Noise in the coded pictures: refused, or filtered as far as it goes with `--tolerant`."""
    tolerant = bool(rng.random() < 0.5)
    seed = int(rng.integers(1 << 30))
    places = int(rng.integers(1, 4))

    def damage(data: bytes) -> bytes:
        dice = np.random.default_rng(seed)
        spoilt = bytearray(data)
        start = data.index(b"mdat") + 4
        end = start - 8 + int.from_bytes(data[start - 8 : start - 4], "big")
        for _ in range(places):
            length = int(dice.integers(20, 200))
            at = int(dice.integers(start + (end - start) // 8, end - length))
            spoilt[at : at + length] = dice.bytes(length)
        return bytes(spoilt)

    return Fault(
        "corrupt",
        f"noise in {places} places{', tolerated' if tolerant else ''}",
        # Tolerated, nothing may be left of it: what follows a place of damage up to the next key frame is left out.
        frozenset({0, _INPUT}) if tolerant else frozenset({_INPUT}),
        40,
        options=("--tolerant",) if tolerant else (),
        damage=damage,
        extra=None,
        library=False,
    )


def _pictures(change: Callable[[list[Any]], Iterator[Any]], skip_first: bool = True) -> Patch:
    """What the decoder hands over, changed; the first look at the file, for its size, is left alone."""

    def replaced(real: Any) -> Any:
        @wraps(real)
        def instead(self: Any) -> Iterator[Any]:
            return change(list(real(self)))

        return instead

    return Patch("video.reading", "Reading.pictures", replaced)


def repeated(rng: Rng) -> Fault:
    """Pictures that come two or three times, with the same time stamp or none."""
    times = dict.fromkeys(rng.choice(20, int(rng.integers(1, 5)), replace=False).tolist(), int(rng.integers(2, 4)))
    stamped = bool(rng.random() < 0.5)

    def change(pictures: list[Any]) -> Iterator[Any]:
        for index, picture in enumerate(pictures):
            for again in range(times.get(index, 1)):
                if again and not stamped:
                    picture.pts = None
                yield picture

    extra = sum(count - 1 for count in times.values())
    return Fault(
        "repeated",
        f"pictures {sorted(times)} {next(iter(times.values()))} times, {'same time' if stamped else 'no time'}",
        frozenset({0}),
        patches=(_pictures(change),),
        extra=extra,
        library=False,
    )


def resized(rng: Rng) -> Fault:
    """Pictures of another size from some frame on: refused, tolerated or not."""
    start, tolerant = int(rng.integers(1, 20)), bool(rng.random() < 0.5)
    width, height = (int(v) & ~1 for v in rng.integers(64, 400, 2))

    def change(pictures: list[Any]) -> Iterator[Any]:
        for index, picture in enumerate(pictures):
            yield picture.reformat(width, height, "yuv420p") if index >= start else picture

    return Fault(
        "resized",
        f"{width}x{height} from frame {start}{', tolerated' if tolerant else ''}",
        frozenset({_INPUT}),
        patches=(_pictures(change),),
        options=("--tolerant",) if tolerant else (),
        library=False,
    )


def out_of_order(rng: Rng) -> Fault:
    """Time stamps that step back: a little (taken for jitter), or seconds (damage); pictures in another order."""
    way = ("swapped", "a little back", "seconds back", "seconds back, tolerated")[int(rng.integers(4))]
    start = int(rng.integers(1, 19))

    def change(pictures: list[Any]) -> Iterator[Any]:
        second = round(1 / pictures[0].time_base)
        for index, picture in enumerate(pictures):
            if way == "swapped" and index in (start, start - 1):
                yield pictures[2 * start - 1 - index]
                continue
            if way != "swapped" and index >= start:
                picture.pts -= second // 4 if way == "a little back" else 3 * second
            yield picture

    return Fault(
        "out of order",
        f"{way} at frame {start}",
        frozenset({_INPUT}) if way == "seconds back" else frozenset({0}),
        patches=(_pictures(change),),
        options=("--tolerant",) if way.endswith("tolerated") else (),
        library=False,
    )


def output(rng: Rng) -> Fault:
    """The encoder, the muxer or the disk fails in the middle or at the very end."""
    ends = {
        "the encoder": ("video.files.sink", "picture_of", lambda: av.error.ExternalError(0x20545845, "encoder died")),
        "the muxer": ("video.files.sink", "FileSink._mux", lambda: OSError(errno.ENOSPC, "No space left on device")),
        "the last rename": ("video.files.sink", "put_in_place", lambda: OSError(errno.EIO, "Input/output error")),
    }
    where = sorted(ends)[int(rng.integers(len(ends)))]
    module, name, make = ends[where]
    after = 0 if where == "the last rename" else int(rng.integers(0, 16))
    patch = Patch(module, name, failing(make, after))
    return Fault("output", f"{where}, after {after} calls", frozenset({_OUTPUT}), patches=(patch,), library=False)
