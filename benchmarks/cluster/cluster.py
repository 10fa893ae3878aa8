"""Does a cluster of two nodes, one of them killed, give what a plain run gives, from a folder and from S3 with errors?

Drawn clips are filtered three times with one key: by a plain run, by a cluster of two Ray nodes on this machine from a
mounted folder, and by another one from an S3 stand-in (moto) that fails a share of its requests. In both clusters a
node is killed when a third of the files is done, and another joins when half of them are. Needs the extra `cluster` and
`pip install 'moto[server]'`; prints one JSON object. Ends with exit code 1 when a result is not byte for byte the plain
run's, has another number of frames, is missing or twice in the report, or when a process, a scratch directory or a part
of a result is left.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.cluster.nodes import MARK, LocalNodes, local_nodes, processes_of
from benchmarks.cluster.store import injected, s3_stand_in
from benchmarks.command_line import parser_of
from benchmarks.processes import COMMAND
from streamdeid.surrogates.models import load_models
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from streamdeid.video.files.source import FileSource

_RATE = 10
_SIZE = (320, 240)
_BUCKET = "archive"


@dataclass(frozen=True)
class Found:
    """What came of one run."""

    seconds: float
    files: int
    equal: int
    """Byte for byte those of the plain run."""
    right_frames: int
    reported: int
    """Files in the report, each once, with the hashes of what is there."""
    second_attempts: int
    left: list[str]
    """Of tasks: processes, scratch directories, parts of results; of the nodes, when they are gone: processes."""
    errors: Mapping[str, int] | None = None
    """What the S3 stand-in answered."""


def main(argv: list[str]) -> int:
    """Draw clips, run, compare; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--frames", type=int, default=10)
    parser.add_argument("--errors", type=float, default=0.05, help="share of requests that the S3 stand-in fails")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="streamdeid-cluster-") as folder:
        place = Path(folder)
        draw(place / "in", arguments.files, arguments.frames)
        (place / "key").write_bytes(bytes(range(32)))
        (place / "key").chmod(0o600)
        begun = time.monotonic()
        subprocess.run([*_command(place, str(place / "in"), str(place / "plain")), "--quiet"], check=True)
        plain = time.monotonic() - begun
        mounted = _mounted(place, arguments.frames)
        stored = _stored(place, arguments.frames, arguments.errors, arguments.seed)
    print(json.dumps({"plain_seconds": round(plain, 1), "folder": asdict(mounted), "s3": asdict(stored)}, indent=2))
    whole = arguments.files
    good = all(
        (one.files, one.equal, one.right_frames, one.reported) == (whole,) * 4 and not one.left
        for one in (mounted, stored)
    )
    return 0 if good else 1


def draw(folder: Path, files: int, frames: int) -> None:
    """Write so many clips of two drawn people, 320 x 240."""
    folder.mkdir(parents=True)
    models = load_models()
    seconds = files * frames / _RATE
    people = synthetic_people(models.fitting, models.gallery, people=2, seconds=seconds, size=_SIZE, rate=_RATE)
    for number in range(files):
        part = [next(people).frame.planes for _ in range(frames)]
        write_drawn_clip(folder / f"{number:04}.mp4", part, _RATE)


def _mounted(place: Path, frames: int) -> Found:
    out = place / "out"
    seconds, second, left = _with_a_death(place, str(place / "in"), str(out), {})
    left += [path.name for path in out.glob(".*") if "partial" in path.name]
    return _compared(place, out, frames, seconds, second, left, None)


def _stored(place: Path, frames: int, share: float, seed: int) -> Found:
    with s3_stand_in(share, seed) as environment:
        os.environ.update(environment)
        import s3fs

        store = s3fs.S3FileSystem(skip_instance_cache=True)
        _patiently(lambda: store.mkdir(_BUCKET))
        for path in sorted((place / "in").iterdir()):
            _patiently(lambda path=path: store.put_file(str(path), f"{_BUCKET}/in/{path.name}"))
        root = f"s3://{_BUCKET}"
        seconds, second, left = _with_a_death(place, f"{root}/in/", f"{root}/out/", environment)
        _patiently(store.invalidate_cache)
        names = _patiently(lambda: store.find(f"{_BUCKET}/out"))
        results = [name for name in names if "/.streamdeid-journal/" not in name]
        left += [name for name in results if "partial" in name]
        fetched = place / "fetched"
        fetched.mkdir()
        for name in results:
            _patiently(lambda name=name: store.get_file(name, str(fetched / name.rpartition("/")[2])))
        return _compared(place, fetched, frames, seconds, second, left, injected(environment))


def _patiently(action: Callable[[], object]) -> list[str]:
    """What the stand-in gives, however often it fails; for what the benchmark itself wants of it."""
    left = 20
    while True:
        left -= 1
        try:
            found = action()
            return found if isinstance(found, list) else []
        except FileExistsError:  # it was made, and said that it was not
            return []
        except Exception:
            if not left:
                raise


def _command(place: Path, source: str, target: str) -> list[str]:
    return [*COMMAND, "filter", source, target, "--key-file", str(place / "key")]


def _with_a_death(
    place: Path, source: str, target: str, environment: Mapping[str, str]
) -> tuple[float, int, list[str]]:
    """Filter on a cluster that loses a node: seconds, files at a second attempt, and what is left."""
    mark, scratch = uuid.uuid4().hex, place / f"scratch-{uuid.uuid4().hex[:6]}"
    scratch.mkdir()
    ours = {MARK: mark, "TMPDIR": str(scratch), "RAY_TMPDIR": "/tmp", **environment}
    with local_nodes(2, ours) as nodes:
        command = [*_command(place, source, target), "--ray", nodes.address, "--report", str(place / "report.json")]
        begun = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **ours}) as process:
            second = _told(process, nodes, len(list((place / "in").iterdir())))
        seconds = time.monotonic() - begun
        if process.returncode:
            print(f"exit code {process.returncode}", file=sys.stderr)
        time.sleep(1.0)
        left = [line for line in processes_of(mark) if "runs.workers" in line or "ray::streamdeid" in line]
        left += [str(path) for path in scratch.iterdir() if "streamdeid-scratch" in path.name]
    time.sleep(1.0)
    return seconds, second, left + processes_of(mark)


def _told(process: subprocess.Popen[str], nodes: LocalNodes, files: int) -> int:
    """Read what the run says of each file; kill a node when a third is done, add one when half is."""
    assert process.stdout is not None
    second = 0
    for done, line in enumerate(process.stdout, 1):
        second += "second attempt" in line
        if done == files // 3:
            nodes.kill()
        if done == files // 2:
            nodes.add()
    return second


def _compared(
    place: Path,
    results: Path,
    frames: int,
    seconds: float,
    second: int,
    left: list[str],
    errors: Mapping[str, int] | None,
) -> Found:
    """Compare results with the plain run's and with the report."""
    expected = {path.name: path.read_bytes() for path in (place / "plain").glob("*.mp4")}
    found = {path.name: path.read_bytes() for path in results.glob("*.mp4")}
    report = json.loads((place / "report.json").read_text())
    folders = ("--files", str(results), "--files", str(place / "in"))
    audit = subprocess.run([*COMMAND, "audit", str(place / "report.json"), *folders], stdout=subprocess.DEVNULL)
    names = {one["output"]["name"] for one in report["files"]}
    return Found(
        seconds=round(seconds, 1),
        files=len(found),
        equal=sum(found.get(name) == content for name, content in expected.items()),
        right_frames=sum(len(list(FileSource(results / name))) == frames for name in found),
        reported=len(names) if len(names) == len(report["files"]) and audit.returncode == 0 else 0,
        second_attempts=second,
        left=left,
        errors=errors,
    )
