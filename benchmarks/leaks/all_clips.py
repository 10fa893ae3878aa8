"""Every video of a directory through the command line, and what came of it: one row each.

    python -m benchmarks all_clips DIR --out DIR [--key-file FILE] [--only NAME ...] [--json]

Exit code; frames in and out; largest error of a presentation time; whether the audio packets are the same bytes; faces
by level; CPU ms for a frame (start-up excluded) and peak memory of the process; and, where NAME.faces.csv lies by the
video, how many boxes of an independent detector keep their pixels (see exposure.py). Exit code 1 when a clip failed,
when frames or times or sound are not those of the input, or when a face was kept.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from benchmarks.clips import VIDEOS, as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.leaks.exposure import LEAST_SIDE, measure, read_boxes
from benchmarks.processes import COMMAND, ran
from streamdeid.errors import StreamdeidError
from streamdeid.video.files.source import FileSource

_SOUND_HOLDS = {"mp2": ".mkv", "mp3": ".mkv"}
"""Codecs whose clips are written to another container than the input's, so that H.264 can be written beside them."""


def frame_times(path: Path) -> list[Fraction]:
    """Presentation times of a clip's frames in seconds."""
    return [frame.time for frame in FileSource(path)]


def sound(path: Path) -> list[str]:
    """For each audio stream the hash over its packets' bytes, in order."""
    with av.open(str(path)) as container:
        digests = {stream.index: hashlib.sha256() for stream in container.streams.audio}
        for packet in container.demux(*container.streams.audio) if digests else ():
            if packet.size:
                digests[packet.stream.index].update(bytes(packet))
    return [digest.hexdigest() for digest in digests.values()]


def output_path(video: Path, directory: Path) -> Path:
    """Where a clip's result goes: the input's container, or one that takes H.264 beside the input's sound."""
    codecs = FileSource(video).info.audio_codecs
    extension = next((_SOUND_HOLDS[codec] for codec in codecs if codec in _SOUND_HOLDS), video.suffix)
    return directory / f"{video.stem}{extension}"


def one(video: Path, directory: Path, key_file: Path | None) -> dict[str, Any]:
    """Filter a clip and measure the result."""
    out, report = output_path(video, directory), directory / f"{video.stem}.json"
    key: list[str | Path] = ["--key-file", key_file] if key_file else []
    process = ran([*COMMAND, "filter", video, "-o", out, "--overwrite", "--quiet", "--report", report, *key])
    row: dict[str, Any] = {"clip": video.name, "exit": process.exit_code, "MiB": round(process.peak_mib)}
    if process.exit_code:
        return {**row, "complaint": process.complaint}
    told = json.loads(report.read_text(encoding="utf-8"))["files"][0]
    before, after = frame_times(video), frame_times(out)
    same = len(before) == len(after)
    row |= {
        "frames in": len(before),
        "out": len(after),
        "time error ms": float(1000 * max(abs(a - b) for a, b in zip(before, after, strict=True))) if same else None,
        "audio": _verdict(sound(video), sound(out)),
        "faces": told["faces"],
        "levels": ", ".join(f"{count} {level}" for level, count in told["levels"].items()) or "none",
        "people": told["people"],
        "CPU ms": told["timings"]["cpu_ms_per_frame"],
    }
    boxes = video.with_name(f"{video.stem}.faces.csv")
    if boxes.is_file() and same:
        found = [f for f in measure(video, out, read_boxes(boxes)) if f.box.side >= LEAST_SIDE]
        row["boxes"], row["kept"] = len(found), sum(f.kept for f in found)
        row["kept frames"] = " ".join(str(number) for number in sorted({f.box.frame for f in found if f.kept}))
    return row


def _verdict(before: list[str], after: list[str]) -> str:
    return "none" if not before and not after else "same" if before == after else "DIFFERENT"


def good(row: dict[str, Any]) -> bool:
    """Whether a clip is as the contract wants it."""
    whole = row["exit"] == 0 and row["frames in"] == row["out"] and row["audio"] != "DIFFERENT"
    return whole and (row["time error ms"] or 0) <= 1 and not row.get("kept")


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="directory for the results")
    parser.add_argument("--key-file", type=Path, help="secret that makes the run repeatable")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    videos = sorted(p for p in given.directory.iterdir() if p.suffix.lower() in VIDEOS)
    videos = [path for path in videos if not given.only or path.stem in given.only]
    if not videos:
        parser.error(f"{given.directory} holds no such video")
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        rows = [one(video, given.out, given.key_file) for video in videos]
    except (ValueError, StreamdeidError) as error:
        parser.error(str(error))
    if given.json:
        print(as_json(rows))
    else:
        header = list(dict.fromkeys(name for row in rows for name in row))
        print(markdown(header, [[row.get(name) for name in header] for row in rows]))
    return 0 if all(good(row) for row in rows) else 1
