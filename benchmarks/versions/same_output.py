"""Does another version of the program publish the same bits? Its command line beside this one's, under one fixed key.

    python -m benchmarks same_output OTHER_TREE CLIP [CLIP ...] [--live]

OTHER_TREE: the directory of the other version, with its `streamdeid` in it. Each clip goes through `streamdeid filter`
of both, in processes of their own, written without loss, and is compared bit for bit. With --live the clip is
replayed at its own pace into a file instead, as a camera's pictures would be; a clip of which either version left a
picture out, since the machine was too slow, is told and not compared. Exit code 1 when any compared picture differs.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.clips import markdown
from benchmarks.command_line import parser_of
from streamdeid.video.files.source import FileSource

_COMMAND = "from streamdeid.cli.main import run; run()"
_HERE = Path(__file__).resolve().parents[2]


def published(tree: Path, clip: Path, out: Path, live: bool) -> list[str] | None:
    """Hashes of the pictures that a version writes for a clip; None when it left one out. Raises RuntimeError."""
    key = out.with_name("key")
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    ways = ["--realtime", "--json"] if live else ["--quiet", "--codec", "ffv1"]  # without loss
    command = [sys.executable, "-c", _COMMAND, "filter", str(clip), str(out), "--key-file", str(key), "--overwrite"]
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve())}
    ran = subprocess.run([*command, *ways], env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{tree}: {clip.name} ended with {ran.returncode}: {ran.stderr.strip()}")
    if live and _left_out(ran.stdout):
        return None
    return [
        hashlib.sha256(b"".join(plane.tobytes() for plane in (p.y, p.u, p.v))).hexdigest()
        for p in (frame.planes for frame in FileSource(out))
    ]


def _left_out(lines: str) -> bool:
    """Whether the last status of a live run tells of a picture that was dropped or withheld."""
    last = json.loads(lines.strip().splitlines()[-1])
    return bool(last["withheld"] or last["source"]["dropped"] or last["sink"]["unsent"])


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("tree", type=Path, metavar="OTHER_TREE")
    parser.add_argument("clips", type=Path, nargs="+", metavar="CLIP")
    parser.add_argument("--live", action="store_true", help="replay each clip as a camera would send it")
    given = parser.parse_args(argv)
    rows, same = [], True
    for clip in given.clips:
        with tempfile.TemporaryDirectory() as directory:
            one, other = (
                published(tree, clip, Path(directory) / f"{name}.mkv", given.live)
                for name, tree in (("one", given.tree), ("other", _HERE))
            )
        if one is None or other is None:
            rows.append((clip.stem, "", "left out a picture: not compared"))
            continue
        differ = sum(a != b for a, b in zip(one, other, strict=False)) + abs(len(one) - len(other))
        same &= differ == 0
        rows.append((clip.stem, len(one), differ))
        print(clip.stem, len(one), differ, file=sys.stderr, flush=True)
    print(markdown(["clip", "pictures", "differ"], rows))
    return 0 if same else 1
