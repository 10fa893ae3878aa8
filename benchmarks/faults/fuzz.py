"""Damaged files thrown at the filter: does one pixel of a face get through, and does every run end as documented?

    python -m benchmarks fuzz [--files 1000] [--seed 1] [--keep DIR] [--json]

Draws people who walk, a watermark in the pixels of every face, encodes them (mp4 with H.264, mkv with HEVC, ts with
H.264, mpg with MPEG-2, avi with MPEG-4, webm with VP9, each with sound), changes bytes of the files from a seed (1, 6
or 30 places, half of them where the file is described; one in eight is cut, too), and filters each, strictly and with
`--tolerant` in turn, with the program's own detector. Then: no face uncovered; exit code 0 or 1 (the input is damaged)
and one line for the user; an output, with as many pictures as can be decoded, exactly when the code is 0; nothing else
left on disk; over within a minute. A crash of the process, which filters one file after another, costs no other file.

A face is uncovered when its picture was decoded as from the whole recording (all pixels, by the number that every
picture carries) and its watermark is found in the output there. What counts as found is calibrated in the same run,
for each container: in every face of the whole recording as it was encoded, never where other patterns are, and never in
the filtered whole recording. Watermarks in damaged pictures are counted beside it, and fail nothing: without a checksum
in the codec (VP9, MPEG-2, MPEG-4) changed bits are another picture, in which half a face is no face.

Exit code 1 when any run failed, 2 when the process cannot start, with one line that says why. `--only NUMBER` repeats
one file of the list; `--keep` saves the files that failed.
"""

from __future__ import annotations

import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures import TimeoutError as Late
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.faults.clip import number_of
from benchmarks.faults.faults import threshold_between
from benchmarks.faults.mutated import FORMS, FRAMES, Recording, decoded, mutate, record
from benchmarks.watermark import Watermark
from streamdeid.cli.error_text import explain
from streamdeid.core.arrays import Plane
from streamdeid.errors import ExitCode
from streamdeid.runs.files import FileRun
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models
from streamdeid.video.files.source import FileSource

_METHOD = "blackout"
"""A mask: what is asked is whether a face was found, and this costs a third of a synthetic face."""
_LONGEST = 60.0
"""Seconds in which every file has to be done."""
_FILES_EACH = 200
"""Files after which the process is a new one."""
_ALIKE = 1.0
"""Grey levels by which a picture may differ on average and still be that of the whole recording."""
_AROUND = 8
"""Pixels about a face's box in which its watermark is looked for."""
_ALLOWED = (ExitCode.DONE, ExitCode.INPUT)
_HEADER = (
    "container", "mode", "files", "exit codes", "pictures out", "faces compared", "faces in damaged pictures",
    "longest s", "failed",
)  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What was seen of an output."""

    pictures: int = 0
    faces: int = 0
    """In pictures that were decoded as from the whole recording."""
    uncovered: int = 0
    """Of these."""
    damaged: int = 0
    """Watermarks found in pictures that were decoded otherwise."""
    lost: bool = False
    """Whether the output has other pictures than can be decoded."""


@dataclass(frozen=True)
class Verdict:
    """One damaged file, judged."""

    number: int
    words: str
    code: int
    """-1: the process died or hung."""
    said: str
    seen: Seen
    seconds: float
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """What is known of the whole recording of a container."""

    recording: Recording
    pictures: list[Plane]
    """Luma as it was encoded."""
    threshold: float
    """Correlation from which a watermark counts as found."""


def form_of(number: int) -> tuple[str, bool]:
    """Container of a file of the list, and whether it is filtered tolerantly."""
    return FORMS[number % len(FORMS)], bool(number // len(FORMS) % 2)


def judge(number: int, seed: int, keep: Path | None) -> Verdict:
    """Damage one file, filter it, and check what came of it."""
    form, tolerant = form_of(number)
    known = known_of(form, seed)
    data, words = mutate(known.recording.data, seed * 1_000_003 + number)
    with tempfile.TemporaryDirectory() as name:
        given, result = Path(name) / known.recording.name, Path(name) / "out.mkv"
        given.write_bytes(data)
        begun = time.perf_counter()
        code, said, problems = _filtered(given, result, tolerant)
        seconds = time.perf_counter() - begun
        if result.exists() is not (code == ExitCode.DONE):
            problems.append(f"{'an' if result.exists() else 'no'} output although the code is {code}")
        left = sorted(path.name for path in Path(name).iterdir() if path not in (given, result))
        if left:
            problems.append(f"left behind: {left}")
        seen = compared(known, given, result, tolerant) if result.exists() else Seen()
    if seen.uncovered:
        problems.append(f"{seen.uncovered} faces uncovered")
    if seen.lost:
        problems.append("other pictures in the output than can be decoded")
    if keep is not None and problems:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{seed}_{number}{given.suffix}").write_bytes(data)
    return Verdict(number, words, code, said, seen, seconds, tuple(problems))


def _filtered(given: Path, result: Path, tolerant: bool) -> tuple[int, str, list[str]]:
    """Exit code, what the user is told, and what is wrong with either."""
    problems: list[str] = []
    try:
        _run(tolerant).filter(given, result)
        return int(ExitCode.DONE), "", problems
    except Exception as error:
        code, said = explain(error)
        if code not in _ALLOWED:
            problems.append(f"exit code {int(code)}: {said}: {traceback.format_exc().splitlines()[-3:]}")
    if "\n" in said or not said:
        problems.append(f"not one line: {said!r}")
    return int(code), said, problems


def compared(known: Known, given: Path, result: Path, tolerant: bool) -> Seen:
    """What an output shows of the faces of its input, picture by picture."""
    clip, faces, uncovered, damaged = known.recording.clip, 0, 0, 0
    before = [frame.planes for frame in FileSource(given, tolerant=tolerant)]
    after = decoded(result)
    for planes, published in zip(before, after, strict=False):
        number = number_of(planes)
        if number is not None and (number >= len(known.pictures) or not _alike(planes.y, known.pictures[number])):
            number = None
        for place, mark in enumerate(clip.watermarks):
            if number is not None:
                faces += 1
                box = _box(clip.faces[number][place].box, planes.y)
                uncovered += mark.strongest(published[box]) >= known.threshold
            else:
                damaged += mark.strongest(published) >= known.threshold
    return Seen(len(after), faces, uncovered, damaged, len(before) != len(after))


def _box(box: tuple[float, float, float, float], luma: Plane) -> tuple[slice, slice]:
    x0, y0, x1, y1 = (round(edge) for edge in box)
    rows = slice(max(0, y0 - _AROUND), min(luma.shape[0], y1 + _AROUND))
    return rows, slice(max(0, x0 - _AROUND), min(luma.shape[1], x1 + _AROUND))


def _alike(one: Plane, other: Plane) -> bool:
    return one.shape == other.shape and float(np.abs(one.astype(np.int16) - other).mean()) < _ALIKE


@cache
def _run(tolerant: bool) -> FileRun:
    return FileRun(Settings(method=_METHOD, tolerant=tolerant, preset="ultrafast", crf=17, codec="libx264"))


@cache
def known_of(form: str, seed: int) -> Known:
    """The whole recording of a container. Raises ValueError where a control fails: then nothing could be said."""
    with tempfile.TemporaryDirectory() as name:
        recording = record(load_models(None), form, seed, Path(name))
        whole, result = Path(name) / recording.name, Path(name) / "out.mkv"
        pictures, marks = decoded(whole), recording.clip.watermarks
        found = min(mark.strongest(picture) for picture in pictures for mark in marks)
        others = [Watermark.of((seed, 99, n), *mark.pattern.shape[::-1]) for n, mark in enumerate(marks)]
        other = max(mark.strongest(picture) for picture in pictures for mark in others)
        known = Known(recording, pictures, threshold_between(found, other))
        _run(False).filter(whole, result)
        seen = compared(known, whole, result, False)
    if not found > known.threshold > other or seen != Seen(FRAMES, FRAMES * len(marks)):
        raise ValueError(f"{form}: unfiltered {found:.2f}, others {other:.2f}, filtered: {seen}; take another --seed")
    return known


class NotStarted(Exception):
    """The process that does the work cannot be started, or finds that nothing could be said; the message says why."""


class _Process:
    """The process that does the work; it is replaced where it dies or hangs."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._done = 0

    def judge(self, number: int, seed: int, keep: Path | None) -> Verdict:
        """What `judge` says, or that the process died or hung. Raises NotStarted."""
        if self._pool is None or self._done >= _FILES_EACH:
            self.close()
            self._done = 0
            self._pool = ProcessPoolExecutor(1, get_context("spawn"))
            try:
                failed = self._pool.submit(_begin, seed).result()  # once the recordings are drawn
            except (BrokenProcessPool, OSError) as error:
                failed = str(error)
            if failed:
                self.close()
                raise NotStarted(" ".join(failed.split()))
        self._done += 1
        try:
            return self._pool.submit(judge, number, seed, keep).result(_LONGEST)
        except BrokenProcessPool:
            problem = "the process died"
        except Late:
            problem = f"not done after {_LONGEST:.0f} s"
            for process in self._pool._processes.values():
                process.kill()
        self._pool = None
        return Verdict(number, "", -1, "", Seen(), _LONGEST, (problem,))

    def close(self) -> None:
        """End it."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _begin(seed: int) -> str:
    """Draw all recordings; what failed, in words, as not every error can be sent from process to process."""
    cv2.setNumThreads(1)
    try:
        for form in FORMS:
            known_of(form, seed)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--files", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="of the file")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="save files that failed")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    numbers = range(given.files) if given.only is None else [given.only]
    process = _Process()
    verdicts: list[Verdict] = []
    for number in numbers:
        try:
            verdict = process.judge(number, given.seed, given.keep)
        except NotStarted as error:
            print(f"fuzz: after {len(verdicts)} files the process did not start: {error}", file=sys.stderr)
            return 2
        verdicts.append(verdict)
        if verdict.problems and not given.json:
            print(f"--seed {given.seed} --only {number}: {'; '.join(verdict.problems)} ({verdict.words})", flush=True)
    process.close()
    failed = sum(bool(verdict.problems) for verdict in verdicts)
    if given.json:
        print(as_json([asdict(verdict) for verdict in verdicts]))
        return 1 if failed else 0
    print(table_of(verdicts))
    print(f"\n{len(verdicts)} files, {failed} failed")
    return 1 if failed else 0


def table_of(verdicts: list[Verdict]) -> str:
    """A Markdown table by container and mode."""
    rows = []
    for form, tolerant in sorted({form_of(one.number) for one in verdicts}):
        runs = [one for one in verdicts if form_of(one.number) == (form, tolerant)]
        codes = ", ".join(f"{code}: {count}" for code, count in sorted(Counter(one.code for one in runs).items()))
        pictures, faces, damaged = (
            sum(counts) for counts in zip(*((o.seen.pictures, o.seen.faces, o.seen.damaged) for o in runs), strict=True)
        )
        longest, failed = f"{max(one.seconds for one in runs):.1f}", sum(bool(one.problems) for one in runs)
        mode = "tolerant" if tolerant else "strict"
        rows.append((form, mode, len(runs), codes, pictures, faces, damaged, longest, failed))
    return markdown(_HEADER, rows)
