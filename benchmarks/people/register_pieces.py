"""Pieces of clips with known people, each a recording of its own, for `register`: real people, filmed."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from benchmarks.clips import encode
from benchmarks.people.recogniser import ALONE, ALSO, SHOTS
from benchmarks.people.register_clips import Recording
from streamdeid.video.files.source import FileSource

_LENGTH, _SHOT = 60, 40
"""Frames of a piece of a clip that shows one person, and of a shot of the clip of jump cuts."""


def pieces_of(videos: Path, directory: Path, rounds: int) -> list[Recording]:
    """So many rounds of pieces, in each of them a piece of every person who has as many; made where they are not there.

    Raises ValueError where the clips are not there.
    """
    found: dict[str, list[Recording]] = {}
    for path in sorted(videos.iterdir()):
        if path.suffix not in (".mp4", ".mpg") or path.stem not in (*ALONE, SHOTS):
            continue
        places = _shots(path) if path.stem == SHOTS else {path.stem: _spread(path, rounds)}
        for name, starts in places.items():
            length = _SHOT if path.stem == SHOTS else _LENGTH
            found.setdefault(name, [])
            found[name] += [_piece(path, name, start, length, directory) for start in starts]
    if not found:
        raise ValueError(f"{videos} has no clip of known people")
    return [pieces[number] for number in range(rounds) for _, pieces in sorted(found.items()) if number < len(pieces)]


def _spread(path: Path, rounds: int) -> list[int]:
    count = sum(1 for _ in FileSource(path))
    length = min(_LENGTH, count // rounds)
    return [number * (count - length) // (rounds - 1) for number in range(rounds)]


def _shots(path: Path) -> dict[str, list[int]]:
    """By person: the first frames of the shots."""
    starts: dict[str, list[int]] = defaultdict(list)
    with path.with_name(f"{path.stem}.people.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if int(row["frame"]) % _SHOT == 0:
                person = row["person"]
                starts[ALSO.get((path.stem, person), f"{path.stem} {person}")].append(int(row["frame"]))
    return starts


def _piece(path: Path, name: str, start: int, length: int, directory: Path) -> Recording:
    made = directory / f"{path.stem}-{start}.mp4"
    if not made.is_file():
        source = FileSource(path)
        partial = made.with_name(f".{made.name}")
        encode(islice(source, start, start + length), partial, source.info.average_rate)
        partial.rename(made)
    pair: Sequence[str] = (name, name)
    return Recording(made, (tuple(pair),))
