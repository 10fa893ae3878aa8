"""One recording through the filter, in this process: who was shown with which face, for `register`."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.people.register_clips import Recording
from benchmarks.people.run import OWN, POSED, level_of
from streamdeid.runs.parts import assemble, lookahead_frames, open_source, timed_detector
from streamdeid.runs.session import open_session
from streamdeid.runs.step import Step, filtered
from streamdeid.runs.stream import Stream
from streamdeid.settings import Settings


@dataclass(frozen=True)
class Sighted:
    """What came of a recording."""

    frames: int
    faces: int
    """Of people who are known, in all frames."""
    shown: dict[str, Counter[str]]
    """By person: faces of his own by their vector's hash, and how often."""
    templates: list[tuple[str, NDArray[np.float64]]]
    """At the end: whom most of a person's frames showed, and his template (e,)."""
    cpu: float
    """Seconds of filtering, without the start."""
    counts: dict[str, int]
    """Of surrogates."""


def sighted(recording: Recording, settings: Settings) -> Sighted:
    """Filter a recording. Raises StreamdeidError."""
    source = open_source(recording.path, settings)
    info = source.info
    shown: dict[str, Counter[str]] = defaultdict(Counter)
    persons: dict[int, Counter[str]] = defaultdict(Counter)
    frames = faces = 0
    with contextlib.closing(timed_detector(settings)) as detect:
        size = (info.width, info.height)
        stream = assemble(open_session(settings), detect, size=size, rate=info.average_rate)
        assert stream.faces is not None
        step: Step[None] = stream.step()
        begun = time.process_time()
        for done in filtered(source, step, lookahead_frames(settings, info)):
            frames += 1
            here: set[str] = set()
            for one in done.frame.redactions:
                name = recording.person(done.frame.index, (one.box[0] + one.box[2]) / 2 / info.width)
                if name is None or name in here:
                    continue
                here.add(name)
                if one.person and level_of(one) in (OWN, POSED):
                    vector = stream.faces.vectors()[one.person]
                    shown[name][hashlib.sha256(vector.tobytes()).hexdigest()[:12]] += 1
                    persons[one.person][name] += 1
            faces += len(here)
        stream.end()
        cpu = time.process_time() - begun
    counts = dict(stream.people.surrogates.counts) if stream.people.surrogates is not None else {}
    return Sighted(frames, faces, dict(shown), _templates(stream, persons), cpu, counts)


def _templates(stream: Stream, persons: dict[int, Counter[str]]) -> list[tuple[str, NDArray[np.float64]]]:
    found = []
    for person, names in sorted(persons.items()):
        known = stream.people.persons.known(person)
        if known is not None and known[0].vector is not None:
            found.append((names.most_common(1)[0][0], known[0].vector))
    return found
