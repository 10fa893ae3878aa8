"""Does everybody keep one face over files and restarts with a register, and does nobody get another's?

    python -m benchmarks register CLIPS [--faces FACES/london] [--videos DIR] [--people N] [--beside N] [--live]
    python -m benchmarks register CLIPS --faces FACES/london --strangers FACES/lfpw/testset

People of photographs set in motion are shown in five recordings (made in the directory CLIPS when they are not there),
two at a time, in another order, light, size and, every second time, expression. Each recording is filtered in a process
of its own, without encoding, as a file is; all name one register. Then comes a recording of as many strangers.
--beside: so many recordings at a time, as with `--workers`. --videos: also five pieces of each clip there with known
people, each as a recording of its own, in five rounds, with another register. As a control the same recordings go
through without a register. --strangers: instead, photographs of others, each against each photograph of FACES.

Kept: people who are shown with the face of the first recording (the face that they are shown with most), over all
later recordings that they are in. Own face: share of the faces that show a face of their own at all, in full or posed;
first face: that show the very face of the first recording. Mixed up: times that a face was shown on somebody else than
the one who had it first, and how many people that were. Apart: distances of templates at the end of recordings, of one
person's in two recordings and of two people's. Exit code 1 when anybody was mixed up.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.people.register_clips import Recording, made, photographed
from benchmarks.people.register_pieces import pieces_of
from benchmarks.people.register_price import price
from benchmarks.people.register_run import Sighted, sighted
from streamdeid.runs.parts import photograph_detector, still_detector
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models

_ROUNDS = 5


@dataclass
class Faces:
    """Which face everybody was shown with, over recordings in order."""

    shown: int = 0
    """Faces that show a face of their own."""
    faces: int = 0
    first: dict[str, str] = field(default_factory=dict)
    """By person: the face of the first recording."""
    owner: dict[str, str] = field(default_factory=dict)
    kept: list[bool] = field(default_factory=list)
    """For each person and later recording."""
    first_face: Counter[bool] = field(default_factory=Counter)
    wrong: int = 0
    mixed: set[str] = field(default_factory=set)
    several: list[int] = field(default_factory=list)
    """Faces that a person was shown with in one recording."""

    def add(self, seen: Sighted) -> None:
        """Count a recording."""
        self.faces += seen.faces
        for name, faces in sorted(seen.shown.items()):
            self.shown += faces.total()
            self.several.append(len(faces))
            most = max(sorted(faces), key=lambda one: faces[one])
            if name in self.first:
                self.kept.append(most == self.first[name])
                self.first_face[True] += faces[self.first[name]]
                self.first_face[False] += faces.total() - faces[self.first[name]]
            for face, count in sorted(faces.items(), key=lambda entry: -entry[1]):
                if self.owner.setdefault(face, name) != name:
                    self.wrong += count
                    self.mixed.add(name)
            self.first.setdefault(name, most)

    def row(self, what: str, runs: Sequence[Sighted]) -> dict[str, object]:
        """A line of the table."""
        later = self.first_face.total()
        same, others = _distances(runs)
        frames = sum(one.frames for one in runs)
        return {
            "recordings": what,
            "people": len(self.first),
            "faces": self.faces,
            "own face": self.shown / max(self.faces, 1),
            "kept": f"{sum(self.kept)} of {len(self.kept)}",
            "first face": self.first_face[True] / later if later else float("nan"),
            "faces a person and recording": float(np.mean(self.several)) if self.several else float("nan"),
            "faces a person": len(self.owner) / max(len(self.first), 1),
            "mixed up": len(self.mixed),
            "times": self.wrong,
            "apart, one person (median, farthest)": _told(same, (50, 100)),
            "apart, two (nearest)": _told(others, (0,)),
            "CPU ms per frame": 1000 * sum(one.cpu for one in runs) / max(frames, 1),
        }


def _distances(runs: Sequence[Sighted]) -> tuple[list[float], list[float]]:
    known = [(name, run, vector) for run, one in enumerate(runs) for name, vector in one.templates]
    pairs = [(a, b) for a, b in combinations(known, 2) if a[1] != b[1]]
    apart: dict[bool, list[float]] = defaultdict(list)
    for a, b in pairs:
        apart[a[0] == b[0]].append(float(np.linalg.norm(a[2] - b[2])))
    return apart[True], apart[False]


def _told(values: Sequence[float], shares: Sequence[float]) -> str:
    array: NDArray[np.float64] = np.array(values)
    return ", ".join(f"{np.percentile(array, share):.3f}" for share in shares) if len(array) else "-"


def rounds(recordings: Sequence[Recording], settings: Settings, beside: int) -> list[Sighted]:
    """Filter recordings in their order, so many at a time, each in a process that is new."""
    if beside > 1:
        with ProcessPoolExecutor(beside, get_context("spawn")) as pool:
            return list(pool.map(sighted, recordings, [settings] * len(recordings)))
    found = []
    for one in recordings:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            found.append(pool.submit(sighted, one, settings).result())
    return found


def measured(
    what: str, recordings: Sequence[Recording], settings: Settings, beside: int
) -> tuple[Faces, dict[str, object]]:
    """What came out for recordings."""
    faces, runs = Faces(), rounds(recordings, settings, beside)
    for one in runs:
        faces.add(one)
    return faces, faces.row(what, runs)


def of_photographs(directory: Path, root: Path, count: int) -> list[Recording]:
    """Five recordings of so many people, and one of as many others."""
    model, detect = load_models(None).fitting.model, still_detector()
    find = photograph_detector(detect)
    known, others = (photographed(root, find, count, skip) for skip in (0, 1))
    detect.close()
    files = [made(directory, known, number, model, root.name) for number in range(_ROUNDS)]
    return [*files, made(directory, others, 0, model, f"{root.name}-strangers")]


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("clips", type=Path, help="where the recordings are, or are made")
    parser.add_argument("--faces", type=Path, help="photographs of people, as for `streamdeid train`, or labelled")
    parser.add_argument("--videos", type=Path, help="clips with known people")
    parser.add_argument("--strangers", type=Path, help="a flat directory of photographs of nobody in FACES")
    parser.add_argument("--people", type=int, default=20, metavar="N")
    parser.add_argument("--beside", type=int, default=1, metavar="N", help="recordings at a time")
    parser.add_argument("--live", action="store_true", help="no look-ahead")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    given = parser.parse_args(argv)
    if not given.clips.is_dir():
        parser.error(f"{given.clips} is not a directory")
    if given.strangers is not None and given.faces is not None:
        row = price(given.faces, given.strangers)
        print(as_json(row) if given.json else markdown(list(row), [list(row.values())]))
        return 0
    if given.faces is None and given.videos is None:
        parser.error("name --faces, --videos or both")
    sets: list[tuple[str, list[Recording]]] = []
    if given.faces is not None:
        sets.append((given.faces.name, of_photographs(given.clips, given.faces, given.people)))
    if given.videos is not None:
        sets.append(("clips", pieces_of(given.videos, given.clips, _ROUNDS)))
    rows, wrong = [], 0
    with tempfile.TemporaryDirectory() as place:
        key = Path(place) / "key"
        key.write_bytes(bytes(range(32)))
        key.chmod(0o600)
        without = replace(Settings(), key_file=key, **({"lookahead": 0.0} if given.live else {}))
        for what, recordings in sets:
            shared = replace(without, register=Path(place) / f"{what}.register")
            faces, row = measured(what, recordings, shared, given.beside)
            wrong += len(faces.mixed)
            rows += [row, measured(f"{what}, no register", recordings, without, given.beside)[1]]
    print(as_json(rows) if given.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    return 1 if wrong else 0
