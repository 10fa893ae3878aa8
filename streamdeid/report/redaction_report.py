"""The report of a run, versioned JSON: what was done, to which bytes, with which guarantee.

It holds names, hashes, counts and timings. It holds no vector, no key, no path of a key and no directory, so a report
can be handed on with its video. Fields are only ever added within a version.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import cv2

from streamdeid.core.atomic_file import check_paths, write_whole
from streamdeid.core.shown_text import json_bytes
from streamdeid.core.system_reason import system_reason
from streamdeid.errors import InputError
from streamdeid.surrogates.choice import KEPT, PROVISIONAL, PROVISIONAL_FACTOR, Surrogates

SCHEMA = "streamdeid.report"
VERSION = 2
"""Version 2 has the names "levels" and "leakage" where version 1 had others; `audit` reads version 1, too."""

_MOST_BYTES = 1 << 28
"""Bytes of the largest report: a report over a hundred thousand files takes a tenth of this."""
_LIBRARIES = ("streamdeid", "ai-edge-litert", "mediapipe", "numpy", "numba", "av")


@dataclass(frozen=True)
class RunChoice:
    """What the user asked for, and what this guarantees."""

    method: str
    k: int | None
    """None for a mask."""
    q: float | None
    """None unless the method samples."""
    factor: float | None
    """By how much looking at a surrogate can raise the chance of naming its person; None: no such bound."""
    preserved: tuple[str, ...]
    leakage_bits: float
    """Leakage of the preserved attributes, on average over the gallery."""
    worst_leakage_bits: float
    """The same for the rarest class."""
    transfer: str | None
    eyes: str | None
    keyed: bool
    """True when a key file was given, so that the run can be repeated."""
    threshold: float
    lookahead_seconds: float
    coast_seconds: float
    reentry: bool
    tolerant: bool
    model_sha256: str
    gallery_sha256: str
    guarantee: str
    whitelisted_pictures: int = 0
    """How many pictures were given of people who stay unfiltered. The report keeps nothing else of them."""
    regions: tuple[str, ...] = ()
    """Fixed areas that were filled, as x,y,w,h."""
    min_face: float | None = None
    """Width in pixels of the smallest face that is searched for; None: by the picture's size."""
    detector_interval: int | None = None
    """Frames within which every part of the picture was searched; None in reports from before this setting existed."""
    strict: bool = False
    """Whether faces without a synthetic face were filled with one colour instead of a soft redaction."""
    children: bool = False
    """Whether everybody got a child's face."""
    register_days: float | None = None
    """Days for which the register that was used remembers people; None without a register."""


@dataclass(frozen=True)
class FileSide:
    """An input or output file."""

    name: str
    """Without its directory."""
    sha256: str
    bytes: int

    @staticmethod
    def of(path: Path) -> FileSide:
        """The name, hash and size of a file, which is read once."""
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return FileSide(path.name, digest.hexdigest(), path.stat().st_size)


def sha256_of(path: Path) -> str:
    """The hash of a file that a user named, as in its `FileSide`. Raises InputError."""
    try:
        return FileSide.of(path).sha256
    except OSError as error:
        raise InputError(f"{path} cannot be read: {system_reason(error)}") from error


@dataclass(frozen=True)
class ProvisionalCounts:
    """Counts of provisional faces: surrogates that are sampled while, or though, the person is not known."""

    factor: float
    """By how much looking at a provisional face can raise the chance of naming its person, whatever is preserved."""
    shown: int
    """Tracklets (each is one head, for as long as it is clearly the same) that were shown with a provisional face."""
    kept: int
    """Persons who keep their provisional face for good."""
    tested: int
    """How many provisional faces were compared with the person's real face once that was known. This is always 0,
    since the outcome would give information about the real face."""
    replaced: int
    """Tracklets whose face was seen to change, because a person was recognised who already has another face."""

    @staticmethod
    def of(surrogates: Surrogates | None, replaced: int) -> ProvisionalCounts | None:
        """The counts of a run; None for a mask and for fixed maps, which have no provisional faces."""
        if surrogates is None or math.isinf(surrogates.factor):
            return None
        counts = surrogates.counts
        return ProvisionalCounts(PROVISIONAL_FACTOR, counts[PROVISIONAL], counts[KEPT], 0, replaced)


@dataclass(frozen=True)
class PictureFormat:
    """The video of the input."""

    codec: str
    width: int
    height: int
    frames_per_second: float


@dataclass(frozen=True)
class Timings:
    """How long the parts of the work took."""

    start_up_seconds: float
    """Surrogates and self-test; for the first file of a run also models and detector."""
    filter_seconds: float
    """From the first frame to the finished file."""
    cpu_ms_per_frame: float
    """Process time of all threads, decoding and encoding included."""
    frames_per_second: float
    peak_memory_mib: float | None
    """Of the whole process so far; None where the system does not say."""


@dataclass(frozen=True)
class EditCounts:
    """What a reviewer's edits did to a recording."""

    visible_frames: Mapping[str, int]
    """By person who was left visible: the frames in which the original shows."""
    wanted_frames: Mapping[str, int]
    """By person: the frames in which the original was to show; in some the redaction had to stay all the same."""
    covered_places: int
    covered_frames: int
    """Places that were redacted by hand, and frames with such a place."""
    removed_tracks: int
    removed_frames: int
    """Tracks from which a redaction was removed as false, and frames with such a removal."""
    regions: int
    region_frames: int
    joined: int
    parted: int
    other_surrogates: int
    doubts_looked_at: int | None
    doubts_not_looked_at: int | None
    """Doubts of the review's list; None where the list was not made."""


@dataclass(frozen=True)
class ReviewReport:
    """How an analysis and the edits of a reviewer were used for a file."""

    analysis: str
    """How the analysis was used, in words."""
    edits: EditCounts | None = None
    """What the edits did; None where there were none."""
    reviewer: str = ""
    """The name of the reviewer, where it is to be told."""
    reviewed: str = ""
    """The time of the review, ISO 8601, where it is to be told."""
    frames_rendered: int | None = None
    """Frames that were rendered again; the others were copied from the earlier output. None: all were rendered."""


@dataclass(frozen=True)
class FileReport:
    """The report of one file that was filtered."""

    input: FileSide
    output: FileSide
    picture: PictureFormat
    frames: int
    faces: int
    """Redactions of faces, summed over the frames."""
    people: int | None
    """Persons told apart; None for a mask, which tells nobody apart."""
    levels: Mapping[str, int]
    """Redactions by protection level: `own face`, `posed face`, `soft redaction`, `solid`, `mask`. In earlier
    reports: `own face quiet`, `synthetic`, `mean face`, `solid fill`."""
    persons: Mapping[str, Mapping[str, int]]
    """The same by person number; "0" stands for faces whose person was never decided, "earlier" for the first
    people of a long recording together. Empty for masks."""
    tracks: Mapping[str, int]
    """How the tracks were assigned to persons; empty for masks."""
    surrogates: Mapping[str, int]
    """Surrogates chosen, separations relaxed, persons for whom none could be certified."""
    scene_cuts: int
    damaged_places: int
    """Damage passed over in a tolerant run."""
    dropped_streams: tuple[str, ...]
    timings: Timings
    shown: int = 0
    """Faces of whitelisted people left as they are, summed over the frames; not among `faces`."""
    filled_regions: int = 0
    """Fixed areas filled, summed over the frames; not among `faces`."""
    review: ReviewReport | None = None
    """None where there was neither an analysis nor edits."""
    segments: int = 0
    """Segments of a file that was filtered in two passes; 0: the file was filtered in one pass."""
    one_pass: str = ""
    """Why the file was filtered in one pass where two were asked for."""
    dropped_parts: tuple[str, ...] = ()
    """What was left out of copied streams: comments and pictures in headers, tags, notes."""
    cut: int = 0
    """Redactions of faces that were not seen which were cut to the limits of docs/filter.md (1.6 times the face, a
    quarter of the picture), summed over the frames; among `faces`."""
    provisional: ProvisionalCounts | None = None
    """None for masks and fixed maps, in a run that repeats an analysis, and in earlier reports."""


@dataclass(frozen=True)
class FileFailure:
    """One file that was not filtered; nothing of it was written."""

    input: str
    """Name without its directory."""
    error: str
    exit_code: int


@dataclass(frozen=True)
class Report:
    """A run over one or more files."""

    choice: RunChoice | None
    """None when no file got as far as the filter."""
    files: tuple[FileReport, ...]
    failures: tuple[FileFailure, ...] = ()
    versions: Mapping[str, str] = field(default_factory=lambda: versions())


def versions() -> dict[str, str]:
    """Versions of streamdeid, the libraries that its pixels depend on, Python and the machine. A library that is not
    installed is "none": mostly mediapipe, and ai-edge-litert where it has no wheel."""
    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    # OpenCV states its own version: it comes as four packages, and several may be installed over one another.
    return found | {name: _installed(name) for name in _LIBRARIES} | {"opencv-python": cv2.__version__}


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # run from a source tree that was not installed
        return "unknown" if name == "streamdeid" else "none"


def as_json(report: Report) -> dict[str, Any]:
    """The report as JSON values; the people whom a reviewer left visible come first."""
    visible = left_visible(report.files)
    return {**({"left_visible": visible} if visible else {}), "schema": SCHEMA, "version": VERSION, **asdict(report)}


def left_visible(files: Sequence[FileReport]) -> list[str]:
    """Lines that say, by file, which persons a reviewer left visible and which redactions were removed."""
    visible = [
        f"{one.input.name}: person {person} VISIBLE in {frames} frames"
        for one in files
        if one.review is not None and one.review.edits is not None
        for person, frames in one.review.edits.visible_frames.items()
        if frames
    ]
    removed = [
        f"{one.input.name}: redactions REMOVED as false in {one.review.edits.removed_frames} frames"
        for one in files
        if one.review is not None and one.review.edits is not None and one.review.edits.removed_frames
    ]
    return visible + removed


def check_report_path(path: Path, *, overwrite: bool = False) -> None:
    """Raise SettingsError for a file that is no report and may not be replaced, OutputError where no file can be.

    An earlier report may always be replaced.
    """
    check_paths(path, None, overwrite or is_report(path))


def is_report(path: Path) -> bool:
    """Whether a file is a report that this program wrote, of whatever version."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return False
        with path.open("rb") as file:
            if file.read(1) != b"{":
                return False
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(values, dict) and values.get("schema") == SCHEMA


def write_report(path: Path, report: Report, *, overwrite: bool = False) -> None:
    """Write a report as indented JSON; the file is whole then, or as it was. Raises as `check_report_path` does."""
    text = json.dumps(as_json(report), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    write_whole(path, json_bytes(text), overwrite=overwrite or is_report(path))


def finite(value: float) -> float | None:
    """The value, or None where it is not finite: JSON has no infinity."""
    return value if math.isfinite(value) else None


def peak_memory_mib() -> float | None:
    """Largest resident size of this process so far, MiB; None where the system does not say."""
    with contextlib.suppress(OSError, StopIteration, ValueError):
        # `getrusage`, below, never says less than the memory of the process that started this one (Linux).
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
