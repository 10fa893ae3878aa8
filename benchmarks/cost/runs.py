"""One clip filtered, merely transcoded, and handed to `deface`, each in processes of their own: what that costs."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path

from benchmarks.clips import PRESET, default_crf, encode
from benchmarks.processes import COMMAND, Ran, ran
from streamdeid.core.frames import Frame
from streamdeid.video.files.source import FileSource

_DEFACE_FRAMES, _DEFACE_START = 24, 4
"""Frames of the clips whose difference is taken, so that its start is not counted: CenterFace takes up to a second."""
_SAME_ENCODER = json.dumps({"codec": "libx264", "output_params": ["-preset", PRESET, "-crf", str(default_crf())]})
DEFACE = {"deface": (), "deface, best": ("--scale", "640x360", "--ffmpeg-config", _SAME_ENCODER)}
"""Its default, and the cheapest that its page names, with the encoder settings of the others."""
_TRANSCODE = (
    "import sys, pathlib; from benchmarks.cost.runs import transcode; print(transcode(pathlib.Path(sys.argv[1])))"
)


@dataclass(frozen=True)
class Cost:
    """Medians of several runs over one clip. CPU times are of a process and its children, all threads, in ms a frame.

    Those of filter and transcode are without their start, and that of deface too.
    """

    filter: float
    transcode: float
    deface: dict[str, float]
    """By the names of `DEFACE`; empty where it was not asked for."""
    peak: float
    """Largest resident set of the filter, MiB."""
    redactions: float
    """Places covered in a frame."""
    busy: float
    """Processors that the filter keeps busy, between its first frame and its last."""

    @property
    def ratio(self) -> float:
        """Transcodes that the filter costs."""
        return self.filter / self.transcode


def measured(frames: Iterable[Frame], rate: Fraction, runs: int, deface: str | None = None) -> Cost:
    """Make a clip of the frames and run everything over it. deface: its program, None: leave it out.

    Filter and transcode take turns, so that a machine that becomes slower does so for both. Raises RuntimeError when a
    run fails.
    """
    with tempfile.TemporaryDirectory() as directory:
        clip, out, report = (Path(directory) / name for name in ("clip.mp4", "out.mp4", "report.json"))
        encode(frames, clip, rate, crf=16)
        filtered, again, peaks, busy, covers = [], [], [], [], 0.0
        for _ in range(runs):
            _sound(ran([*COMMAND, "filter", clip, out, "--quiet", "--overwrite", "--report", report]))
            found = json.loads(report.read_text(encoding="utf-8"))["files"][0]
            filtered.append(float(found["timings"]["cpu_ms_per_frame"]))
            peaks.append(float(found["timings"]["peak_memory_mib"]))
            busy.append(filtered[-1] * float(found["timings"]["frames_per_second"]) / 1000)
            covers = found["faces"] / found["frames"]
            again.append(float(_sound(ran([sys.executable, "-c", _TRANSCODE, clip])).output))
        others = {} if deface is None else {name: _defaced(deface, clip, words) for name, words in DEFACE.items()}
    return Cost(*map(statistics.median, (filtered, again)), others, *map(statistics.median, (peaks, [covers], busy)))


def deface_program(wanted: str | None) -> str | None:
    """The program `deface`: a path, or what is found beside this Python or on PATH; None where it is not installed."""
    return shutil.which(wanted or "deface") or shutil.which(Path(sys.executable).with_name("deface"))


def _defaced(program: str, clip: Path, words: Sequence[str]) -> float:
    rate = FileSource(clip).info.average_rate
    spent = []
    for frames in (_DEFACE_START, _DEFACE_FRAMES):
        short = clip.with_name(f"short{frames}.mp4")
        count = encode(islice(FileSource(clip), frames), short, rate, crf=16)
        run = _sound(ran([program, short, "-o", clip.with_name("defaced.mp4"), *words]))
        spent.append((count, run.cpu_seconds))
    (few, start), (many, whole) = spent
    return 1000 * (whole - start) / (many - few)


def _sound(run: Ran) -> Ran:
    if run.exit_code:
        raise RuntimeError(f"a run ended with exit code {run.exit_code}: {run.complaint}")
    return run


def transcode(clip: Path) -> float:
    """CPU milliseconds for a frame of decoding and encoding alone, by this process and its children."""
    begun = sum(os.times()[:4])
    with tempfile.TemporaryDirectory() as directory:
        source = FileSource(clip)
        count = encode(source, Path(directory) / "again.mp4", source.info.average_rate)
    return 1000 * (sum(os.times()[:4]) - begun) / count
