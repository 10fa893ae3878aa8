"""Does the review list name what slipped through? Its first tenth against the misses of clips, true and seeded ones.

    python -m benchmarks review_doubts DIRECTORY [--only NAME ...] [--half 0|1] [--seeded N] [--seed N] [--json]

Takes each video that has NAME.faces.csv beside it (as `leaks` does, whose misses of 16 pixels and up these are) and
filters it once. The list of all clips is that of each, put together by severity. An entry points at a miss when a face
in it touches the entry's box, grown by half of that face, in the entry's frames or within a second. True misses are
looked for in the clips' lists as they are. Seeded ones (detections and redactions of true faces, deleted at the start,
in the middle or at the end of a stretch for 0.2 to 1 s, or of short stretches as a whole but for an eighth of the
sightings) are put into half of the clips at a time, one in each: a list of a few hundred entries cannot hold a hundred
things in its first tenth. A third table asks of each clip with several people: three seeded misses at once, the false
redactions that touch no box of the independent detector, and persons; what is among the first twelve?

--half: every other clip, by name. Exit code 1 when under 95 % of all misses are in the first tenth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.boxes import middle, touch
from benchmarks.clips import as_json, clips_with_faces, markdown
from benchmarks.command_line import parser_of
from benchmarks.leaks.run import Corners
from benchmarks.review.recorded_clips import Clip, Miss, recorded
from benchmarks.review.seeded import KINDS, without
from streamdeid.analysis.records import Analysis
from streamdeid.errors import StreamdeidError
from streamdeid.review.doubts import Doubt, doubts
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models

WANTED = 0.95
FIRST = 12
_AROUND = 1.0
"""Seconds before and after an entry that whoever looks at it sees."""
_TRIALS = 20
Lists = Mapping[str, Sequence[Doubt]]


def points_at(doubt: Doubt, miss: Miss, rate: float) -> bool:
    """Whether whoever looks at an entry sees a miss. rate: frames per second."""
    x0, y0, x1, y1 = doubt.box
    for frame, box in miss.boxes.items():
        half = min(box[2] - box[0], box[3] - box[1]) / 2
        near: Corners = (x0 - half, y0 - half, x1 + half, y1 + half)
        if doubt.first - _AROUND * rate <= frame <= doubt.last + _AROUND * rate and touch(near, middle(box)):
            return True
    return False


def ranks(lists: Lists, clip: Clip, miss: Miss) -> tuple[float, float]:
    """Where the first entry for a miss stands, as a share of the list of all clips and of the clip's own.

    An entry in the first tenth of n has its number, from 0, below the next whole number from n / 10; infinite: none.
    """
    rate = float(clip.analysis.header.rate)
    row = [one for one in lists[clip.name] if points_at(one, miss, rate)]
    if not row:
        return math.inf, math.inf
    worst = max(one.severity for one in row)
    every = [one.severity for name in lists for one in lists[name]]
    ahead = sum(severity > worst for severity in every)
    own = [one.name for one in lists[clip.name]].index(row[0].name)
    return ahead / math.ceil(len(every) / 10), own / math.ceil(len(lists[clip.name]) / 10)


def seeded_rounds(clips: Sequence[Clip], wanted: int, seed: int) -> Iterator[tuple[Lists, Sequence[tuple[Clip, Miss]]]]:
    """Lists with seeded misses, and these; so many in all."""
    left, plain = wanted, {clip.name: doubts(clip.analysis) for clip in clips}
    for number in range(10 * wanted):
        rng = np.random.default_rng((seed, number))
        lists, misses = dict(plain), []
        for at in rng.permutation(len(clips))[: max(1, len(clips) // 2)].tolist():
            made = _seeded(clips[at], rng) if len(misses) < left else None
            if made is not None:
                lists[clips[at].name] = doubts(made[0])
                misses.append((clips[at], made[1]))
        yield lists, misses
        left -= len(misses)
        if left <= 0:
            return


def _seeded(clip: Clip, rng: np.random.Generator, spared: Sequence[int] = ()) -> tuple[Analysis, Miss] | None:
    kind = KINDS[int(rng.integers(len(KINDS)))]
    return without(clip, kind, rng, spared) or without(clip, "middle", rng, spared)


def first_entries(clip: Clip, seed: int) -> dict[str, object]:
    """What is among the first twelve when three misses are seeded at once: means over some trials."""
    rate = float(clip.analysis.header.rate)
    missed, every, false, persons = [], [], Counter[int](), Counter[int]()
    for trial in range(_TRIALS):
        rng = np.random.default_rng((seed, 1_000_000 + trial))
        changed, misses = clip, []
        for _ in range(3):
            made = _seeded(changed, rng)
            if made is not None:
                changed = replace(changed, analysis=made[0])
                misses.append(made[1])
        first = doubts(changed.analysis)[:FIRST]
        hits = [any(points_at(one, miss, rate) for one in first) for miss in misses]
        missed.append(sum(hits))
        every.append(len(hits) == 3 and all(hits))
        false.update({one.track for one in first} & set(clip.false))
        persons.update({one.person for one in first} - {0})
    return {
        "clip": clip.name,
        "entries": len(doubts(clip.analysis)),
        f"seeded misses of 3 in the first {FIRST}": float(np.mean(missed)),
        "all three": f"{sum(every)} of {_TRIALS}",
        "false redactions, always or mostly": _mostly(false),
        "of": len(clip.false),
        "persons, always or mostly": _mostly(persons),
    }


def _mostly(found: Counter[int]) -> str:
    return ", ".join(str(number) for number, times in sorted(found.items()) if times > _TRIALS / 2)


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only every other clip, by name")
    parser.add_argument("--seeded", type=int, default=100, metavar="N", help="misses to seed (100)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of their choice (1)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    models = load_models(None)
    try:
        videos = clips_with_faces(given.directory, given.only)
        videos = videos if given.half is None else videos[given.half :: 2]
        if not videos:
            raise ValueError(f"{given.directory} holds no clip of this half")
        clips = [recorded(video, models, Settings()) for video in videos]
    except (ValueError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    tables = report(clips, given.seeded, given.seed)
    if given.json:
        print(as_json(tables))
    else:
        print("\n\n".join(_table(rows) for rows in tables.values() if rows))
    total = tables["misses"][-1]
    return 0 if float(str(total["in the first tenth"])) >= WANTED * float(str(total["misses"])) else 1


def report(clips: Sequence[Clip], seeded: int, seed: int) -> dict[str, list[dict[str, object]]]:
    """The tables, as rows: of misses by kind, of those that the first tenth has not, and of the first entries."""
    plain = {clip.name: doubts(clip.analysis) for clip in clips}
    found = [(clip, miss, plain) for clip in clips for miss in clip.misses]
    if seeded:
        found += [(clip, miss, lists) for lists, row in seeded_rounds(clips, seeded, seed) for clip, miss in row]
    counts: dict[str, list[int]] = {}
    absent: list[dict[str, object]] = []
    for clip, miss, lists in found:
        everywhere, own = ranks(lists, clip, miss)
        kind = f"seeded, {miss.kind}" if miss.kind in KINDS else f"true, {miss.kind}"
        for name in (kind, "all"):
            row = counts.setdefault(name, [0, 0, 0])
            for at, hit in enumerate((True, everywhere < 1, own < 1)):
                row[at] += hit
        if everywhere >= 1:
            where = [round(value) for value in next(iter(miss.boxes.values()))]
            rank = None if math.isinf(everywhere) else round(everywhere / 10, 3)
            absent.append({"clip": clip.name, "kind": kind, "frame": min(miss.boxes), "box": where, "share": rank})
    every = counts.pop("all", [0, 0, 0])
    entries = sum(len(row) for row in plain.values())
    titles = ("misses", "in the first tenth", "in the first tenth of the clip's list")
    return {
        "misses": [
            {"kind": name, **dict(zip(titles, row, strict=True))}
            for name, row in [*sorted(counts.items()), (f"all; {entries} entries", every)]
        ],
        "absent": absent,
        "first": [first_entries(clip, seed) for clip in clips if len(plain[clip.name]) > FIRST],
    }


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    return markdown(list(rows[0]), [list(row.values()) for row in rows])
