"""Who shows a new face, and is it new? Against faces labelled by eye, beside another version of the program.

    python -m benchmarks faces DIRECTORY [--only NAME ...] [--live] [--most FRAMES] [--workers N] [--base TREE]
        [--sheet PNG] [--json]

The labels are those of `recall`; DIRECTORY holds the clips. Each is filtered up to its last labelled frame (--most: the
last one before this frame) without encoding, in a process of its own, under one fixed key. --live: no look-ahead.
--base: another checkout of the repository filters the same frames, too, and each figure reads `base → here`.

In labelled frames, of faces whose shorter side is 14 pixels and up: *show a face*, share on which an own or posed face
has its middle (a face that is shown blurred, as 6f03554 had it, is none); *found again*, of those of 24 pixels and up
that CenterFace finds in the original (score .5, overlap .3) the share that it finds in what is published; *open or
unchanged*, faces of whose ellipse more than half is within three levels of the original's luma, or that are open as
`recall` has it; *correlated above .8*, the high-passed luma of that ellipse, original and published: two faces in one
place correlate, whoever's they are, so this is to be compared with the base; *bare*, mean share of the ellipse that is
the original's pixels; *two on a head*, faces with more than one new face on them; *on no head*, new faces that touch no
head. CenterFace surveys in the filter, too, so it is no stranger to it.

In all frames, by track: *surrogates per head*, of heads that were shown with any (those of a single frame are on the
way from one to the other and do not count); *changes per minute and head*, of the level, and those *face or none*.
A head whose track breaks counts anew, so true people have more surrogates (`people` counts those).

--sheet: original and published, side by side, of each face here that shows none, is open or correlates, and of new
faces on no head (keep it private). --json names these places, and the changes by what went to what.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.clips import as_json, markdown
from benchmarks.command_line import parser_of, positive
from benchmarks.leaks.leaks import picture, write_sheet
from benchmarks.recall.published_clip import HERE, published
from benchmarks.recall.recall import clips_of
from benchmarks.recall.shown_faces import Counts, Looks, by_size, count, follow, total
from benchmarks.recall.truth import Clip
from streamdeid.core.frames import Planes
from streamdeid.core.shipped_models import CENTERFACE, network
from streamdeid.errors import StreamdeidError
from streamdeid.video.files.source import FileSource

Found = tuple[Planes, NDArray[np.float64]]
"""A picture, and the boxes (n, 4) of what the independent detector finds in it."""


def measure(tree: Path, video: Path, clip: Clip, originals: Mapping[int, Found], looks: Looks, *, live: bool) -> Counts:
    """Filter a clip with the version in a tree, and count. originals: by labelled frame.

    Raises RuntimeError when the filter fails, ValueError for a clip that ends before its last labelled frame.
    """
    rate, frames = published(tree, video, clip.heads.keys(), live=live)
    counts = Counts(clip.name)
    follow(counts, frames, rate)
    for index, heads in clip.heads.items():
        (original, seen), output = originals[index], frames[index].planes
        assert output is not None
        pair = original, output
        for why, box in count(counts, heads, pair, frames[index].covers, (seen, looks(output))):
            counts.places.append({"clip": clip.name, "frame": index, "box": box.corners, "why": why})
            counts.pictures += [picture(planes, box) for planes in pair]
    return counts


def measured(video: Path, clip: Clip, trees: Sequence[Path], weights: bytes, live: bool) -> list[Counts]:
    """What each version makes of a clip. Raises what `measure` raises, and StreamdeidError for a bad clip."""
    source = FileSource(video)
    looks = Looks(weights, (source.info.width, source.info.height))
    last = max(clip.heads)
    originals: dict[int, Found] = {}
    for index, frame in enumerate(source):
        if index in clip.heads:
            originals[index] = frame.as_stored, looks(frame.as_stored)
        if index == last:
            break
    return [measure(tree, video, clip, originals, looks, live=live) for tree in trees]


def beside(rows: Sequence[Sequence[dict[str, object]]]) -> str:
    """A table of the rows of one version, or of two with `base → here` in the cells that differ."""
    merged = []
    for several in zip(*rows, strict=True):
        cells = [[_cell(row[name]) for row in several] for name in several[0]]
        merged.append([" → ".join(dict.fromkeys(cell)) for cell in cells])
    return markdown(list(rows[0][0]), merged)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
    return str(value)


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--live", action="store_true", help="no look-ahead")
    parser.add_argument("--most", type=positive, metavar="FRAMES", help="only labelled frames before this one")
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="clips at a time")
    parser.add_argument("--base", type=Path, metavar="TREE", help="another checkout of the repository")
    parser.add_argument("--sheet", type=Path, metavar="PNG", help="pictures of faces that show none, or are not new")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    trees = [HERE] if given.base is None else [given.base, HERE]
    one = functools.partial(measured, trees=trees, weights=network(CENTERFACE), live=given.live)
    try:
        clips = clips_of(given.directory, given.only, None, given.most)
        with ThreadPoolExecutor(given.workers) as pool:
            found = list(pool.map(one, *zip(*clips, strict=True)))
    except (ValueError, OSError, RuntimeError, StreamdeidError) as error:
        parser.error(str(error))
    versions = [[*each, total("all", each)] for each in (list(version) for version in zip(*found, strict=True))]
    tables = [[one.row() for one in each] for each in versions], [by_size(each[-1]) for each in versions]
    if given.json:
        names = ("here",) if given.base is None else ("base", "here")
        places = [[place for counts in each[:-1] for place in counts.places] for each in versions]
        changes = [{" to ".join(pair): n for pair, n in each[-1].changes.most_common()} for each in versions]
        parts = zip(names, *tables, places, changes, strict=True)
        print(as_json({n: {"clips": c, "sizes": s, "places": p, "changes": h} for n, c, s, p, h in parts}))
    else:
        print(*map(beside, tables), sep="\n\n")
    if given.sheet is not None:
        write_sheet(given.sheet, [tile for counts in versions[-1][:-1] for tile in counts.pictures])
    return 0
