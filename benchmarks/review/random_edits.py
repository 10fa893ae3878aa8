"""Random edits of a recording, rendered in part and as a whole: is what they do not open as covered as before?

    python -m benchmarks random_edits VIDEO [VIDEO ...] [--seeds 3]

In each frame, of every redaction of the unedited run that the edits leave, outside of the places that they open: the
share of the pixels it had changed that are changed in the edited output, too. And of every place that a hand drew: the
correlation of its fine detail with the original's. One line for each seed and way; exit code 1 when one came open.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.command_line import parser_of
from streamdeid.analysis import edits as e
from streamdeid.analysis.applied import Applied
from streamdeid.analysis.edits_check import check_done
from streamdeid.analysis.edits_file import write_edits
from streamdeid.analysis.places import Places
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import Analysis
from streamdeid.core.arrays import Box
from streamdeid.errors import SettingsError
from streamdeid.runs.files import filter_file
from streamdeid.settings import Settings
from streamdeid.video.files.source import FileSource

_APART = 14
"""Grey levels by which a pixel was changed, beyond what a codec does."""
_STILL = 8
"""Grey levels by which it still has to be."""
_LEAST = 0.35
"""Share of the changed pixels that must still be. Of what is open less than 0.1 are; of another person's face in the
same place, after joining or parting, by chance as few as a half."""
_FEW = 60
"""Changed pixels from which on a redaction is measured."""
_FLAT = 3
"""Grey levels below which detail is the codec's, as at the border of a filled region."""
_PART = 0.25
"""Of one that is opened but for a seam, since a removed one lies over it, the seam is not measured."""
_ALIKE = 0.6
"""Correlation with the original from which on a place that a hand drew counts as open."""


@dataclass
class Measured:
    """What came of one output."""

    redactions: int = 0
    places: int = 0
    least: float = 1.0
    """Smallest share that is still changed."""
    open: int = 0
    """Redactions and places that came open."""
    worst: str = ""


def random_edits(analysis: Analysis, places: Places, seed: int) -> tuple[e.Edit, ...]:
    """A dozen edits that fit."""
    rng = np.random.default_rng(seed)
    frames, size = len(analysis.frames), (analysis.header.width, analysis.header.height)
    persons, tracks = places.persons.tolist(), np.unique(places.track[places.covers]).tolist()
    done: list[e.Edit] = []
    for _ in range(200):
        first = int(rng.integers(frames))
        span = e.Span(first, None if rng.random() < 0.2 else int(min(first + rng.integers(1, 60), frames - 1)))
        person, other = (int(one) for one in rng.choice(persons, 2))
        box = _drawn(rng, size)
        boxes = [box] * min(20, frames - first)
        kinds: tuple[e.Edit, ...] = (
            e.ShowPerson(person, span),
            e.CoverPerson(person, span),
            e.RemoveRedaction(int(rng.choice(tracks)), span),
            e.CoverPlace(len(done) + 1, [(first, box)], first, boxes),
            e.CoverRegion(box, span),
            e.JoinPersons(person, other),
            e.PartPerson(person, first, max(persons) + len(done) + 1),
        )
        one = kinds[int(rng.integers(len(kinds)))]
        try:
            check_done(places, size, (*done, one))
        except SettingsError:
            continue
        # The parts that a new face needs are rendered as a whole; every other seed leaves them out.
        if not (seed % 2 and isinstance(one, e.PartPerson)):
            done.append(one)
        if len(done) == 12:
            break
    return tuple(done)


def _drawn(rng: np.random.Generator, size: tuple[int, int]) -> Box:
    side = float(rng.integers(24, size[1] // 4))
    x, y = (float(rng.uniform(0, most - side)) for most in size)
    return x, y, x + side, y + side


def measured(
    analysis: Analysis, applied: Applied, original: FileSource, before: FileSource, after: FileSource
) -> Measured:
    """Compare an edited output with the unedited one, frame by frame."""
    result = Measured()
    for index, pictures in enumerate(zip(original, before, after, strict=True)):
        raw, old, new = (one.planes.y.astype(np.int16) for one in pictures)
        now = applied.at(index)
        decisions = analysis.frames[index].decisions
        elsewhere = np.ones(raw.shape, np.bool_)
        for one in decisions:
            if one.track in now.open or one.level == "shown":
                elsewhere[_inside(one.box, raw)] = False
        was, still = (np.abs(old - raw) > _APART) & elsewhere, np.abs(new - raw) > _STILL
        for one in decisions:
            if one.track in now.open or one.level == "shown":
                continue
            here = _inside(one.box, raw)
            count = int(was[here].sum())
            if count >= max(_FEW, _PART * int((np.abs(old - raw)[here] > _APART).sum())):
                share = int((was[here] & still[here]).sum()) / count
                result.redactions += 1
                result.open += share < _LEAST
                if share < result.least:
                    result.least, result.worst = share, f"frame {index}, track {one.track}, {one.level}"
        for number, box in [*now.places, *((0, box) for box in now.regions)]:
            here = _inside(box, raw)
            if min(raw[here].shape) > 8 and raw[here].std() > 6:
                result.places += 1
                if _alike(raw[here], new[here]) > _ALIKE:
                    result.open += 1
                    result.worst = f"frame {index}, place {number} by hand"
    return result


def _inside(box: Sequence[float], of: NDArray[np.int16]) -> tuple[slice, slice]:
    x0, y0, x1, y1 = (max(round(value), 0) for value in box)
    return slice(y0, min(y1, of.shape[0])), slice(x0, min(x1, of.shape[1]))


def _alike(one: NDArray[np.int16], other: NDArray[np.int16]) -> float:
    """Correlation of what is finer than an eighth of the place: a soft redaction keeps the broad light and dark."""
    fine = [each - cv2.GaussianBlur(each.astype(np.float32), (0, 0), min(each.shape) / 16) for each in (one, other)]
    if min(each.std() for each in fine) < _FLAT:
        return 0.0
    return float(np.corrcoef(fine[0].ravel(), fine[1].ravel())[0, 1])


def main(argv: Sequence[str] | None = None) -> int:
    """Print what came open; 1 when anything did."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("videos", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args(argv)
    found = 0
    for video in arguments.videos:
        with tempfile.TemporaryDirectory(prefix="streamdeid-") as place:
            found += _one(video, Path(place), arguments.seeds)
    return 1 if found else 0


def _one(video: Path, place: Path, seeds: int) -> int:
    """Try a recording; how much came open."""
    key = place / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    settings = Settings(key_file=key, overwrite=True)
    output, kept, edited = (place / name for name in ("out.mp4", "in.analysis", "edited.mp4"))
    filter_file(video, output, settings, analysis=kept)
    analysis = read_analysis(kept)
    places, found = Places.of(analysis), 0
    for seed in range(seeds):
        done = random_edits(analysis, places, seed)
        for way, chosen in (("with the key", settings), ("without", replace(settings, key_file=None))):
            edited.write_bytes(output.read_bytes())
            file = e.Edits(analysis.header.input.sha256, len(analysis.frames), done, places_sha256=places.fingerprint)
            write_edits(place / "edits.json", file)
            report = filter_file(video, edited, chosen, analysis=kept, edits=place / "edits.json")
            result = measured(
                analysis, Applied(places, done), FileSource(video), FileSource(output), FileSource(edited)
            )
            rendered = report.review.frames_rendered if report.review is not None else None
            print(
                f"{video.name}, seed {seed}, {way} ({'all' if rendered is None else rendered} rendered): "
                f"{result.redactions} redactions, {result.places} places by hand, {result.open} open; least share "
                f"{result.least:.3f} ({result.worst})",
                flush=True,
            )
            found += result.open
    return found
