"""Which faces are found and covered, and what is covered that is none? Against heads labelled by eye.

    python -m benchmarks recall DIRECTORY [--only NAME ...] [--half choosing|confirming] [--live | --lookahead SECONDS]
        [--workers N] [--most FRAMES] [--made all|NAME,...] [--sheet-open PNG] [--sheet-false PNG] [--json]

The labels are numbers in `benchmarks/recall/labels` (its README says how they were made); DIRECTORY holds the clips.
The filter runs in this process, without encoding, over each clip up to its last labelled frame; labelled frames are
compared. --live: as a live stream, which has no look-ahead; --lookahead: as one that is given so much and comes so much
later, with surveys as frequent as a recording has, and looks again. --most: only labelled frames before this one, which
is quicker (the first 320 frames of each clip hold nine tenths of the faces). What is chosen is chosen on one half of
the clips and confirmed on the other.

A face is *open* where more than a quarter of the pixels in the middle half of its box are the original's; else it is
*shown as a face* where a redaction with a face in it has its middle in the box, and *covered* where not. Sizes are the
shorter side of the box. A redaction is *on no head* where it touches no labelled head, of whatever kind and enlarged by
a quarter; *on hair or neck* where its middle lies on no labelled head but within 1.8 widths of a face that is shown.
What is labelled unsure counts neither way. *Changed beside heads* is the share of the picture that is not the
original's and lies on no head, likewise enlarged. CPU times are of the process, with the start of a clip (1 to 2 s:
compare like with like); those of several clips are the mean.
--made: variants of the clips beside the unchanged ones, a total for each: `blocks` (strong compression), `five` (five
to seven frames a second), `turned` (by 90 degrees), `upside_down`, `tilted` (by 30 degrees), `fisheye` (barrel
distortion), `grey` (infrared), `dim` (half the levels, noise), `dark`, `soft` (half the detail), `half` (half the
size), `narrow` (half the width), `mirrored`, `wall` (side by side until the picture is 1,920 pixels wide), `panned` (a
window that pans and shakes), `cut` (the picture ends across the most faces): see changes.py and made.py.
--sheet-open, --sheet-false: pictures of open faces, and of redactions on no head, hair or neck (keep them private).
"""

from __future__ import annotations

import functools
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

from benchmarks.clips import VIDEOS, as_json, markdown
from benchmarks.command_line import parser_of, positive
from benchmarks.leaks.leaks import picture, write_sheet
from benchmarks.leaks.run import frames_of
from benchmarks.recall.made import UNCHANGED, VARIANTS, make
from benchmarks.recall.published_clip import PATIENCE
from benchmarks.recall.score import Score, by_size_and_kind, count, total
from benchmarks.recall.truth import HALVES, Clip, read_clips
from streamdeid.errors import StreamdeidError
from streamdeid.lab.attacks.gaps import Box
from streamdeid.runs.step import SETTLED
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models, load_models


def measure(video: Path, clip: Clip, settings: Settings, models: Models) -> Score:
    """Filter a clip up to its last labelled frame, and count the labelled ones.

    Raises what the filter raises, and ValueError for a clip that ends before its last labelled frame."""
    score = Score(clip.name, clip.half)
    last, spent, frames = max(clip.heads), [0.0], 0
    start = time.process_time()
    for index, (original, output, moment) in enumerate(frames_of(video, models, settings, None, spent)):
        frames += 1
        if index in clip.heads:
            paused = time.process_time()
            lists = count(score, clip.heads[index], original, output, moment)
            for pictures, corners in zip((score.open_pictures, score.false_pictures), lists, strict=True):
                pictures += [picture(original, Box(index, *one, 1.0)) for one in corners]
            start += time.process_time() - paused
        if index == last:
            break
    if frames <= last:
        raise ValueError(f"{video.name} has no frame {last}, but the labels have")
    score.detection_ms, score.cpu_ms = 1000 * spent[0] / frames, 1000 * (time.process_time() - start) / frames
    return score


def clips_of(directory: Path, only: Sequence[str], half: str | None, most: int | None) -> list[tuple[Path, Clip]]:
    """The labelled clips that are asked for, up to a frame, with their files. ValueError for one that is not there."""
    known = {clip.name: clip for clip in read_clips()}
    files = {path.stem: path for path in sorted(directory.iterdir()) if path.suffix.lower() in VIDEOS}
    if unknown := set(only) - set(known):
        raise ValueError(f"there are no labels of {min(unknown)}")
    asked = [clip for clip in known.values() if clip.name in (only or known) and half in (None, clip.half)]
    if missing := {clip.name for clip in asked} - set(files):
        raise ValueError(f"{directory} has no video {min(missing)}")
    if not asked:
        raise ValueError(f"none of these clips is in the half {half}")
    return [(files[clip.name], clip.until(most)) for clip in asked]


def measured(clips: Sequence[tuple[Path, Clip]], settings: Settings, workers: int) -> list[Score]:
    """The scores of all clips in their order, in so many processes. Raises what `measure` raises."""
    if workers == 1:
        return [_measured(video, clip, settings) for video, clip in clips]
    longest_first = sorted(clips, key=lambda one: -max(one[1].heads))
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        running = {clip.name: pool.submit(_measured, video, clip, settings) for video, clip in longest_first}
        return [running[clip.name].result() for _, clip in clips]


def _measured(video: Path, clip: Clip, settings: Settings) -> Score:
    return measure(video, clip, settings, _models())


@functools.cache
def _models() -> Models:
    return load_models(None)


def totals(scores: Sequence[Score]) -> list[Score]:
    """The scores of each half that is there, and of all."""
    parts = [(half, [one for one in scores if one.half == half]) for half in HALVES]
    return [*(total(half, part) for half, part in parts if part), total("all", scores)]


def measured_variants(
    variants: Sequence[str], clips: Sequence[tuple[Path, Clip]], settings: Settings, workers: int
) -> tuple[list[Score], list[Score]]:
    """The scores of all clips in each variant, and of each variant. Raises what `make` and `measure` raise."""
    with tempfile.TemporaryDirectory() as directory:
        made = [make(variant, video, clip, Path(directory)) for variant in variants for video, clip in clips]
        scores = measured(made, settings, workers)
    starts = range(0, len(scores), len(clips))
    return scores, [
        total(variant, scores[start : start + len(clips)]) for variant, start in zip(variants, starts, strict=True)
    ]


def variants_of(words: str) -> list[str]:
    """The variants that are named, the unchanged clips first. ValueError for unknown ones."""
    names = VARIANTS if words == "all" else words.split(",")
    if unknown := set(names) - set(VARIANTS):
        raise ValueError(f"there is no variant {min(unknown)}")
    return [UNCHANGED, *names]


def _as_recording(seconds: float) -> float:
    """The look-ahead of a recording that knows as much as a live stream with so much. ValueError where none does."""
    if 0 < seconds <= SETTLED:
        raise ValueError(f"--lookahead must be 0 or more than {SETTLED:g} s: a recording is read so much farther")
    return max(seconds - SETTLED, 0.0)


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--half", choices=HALVES, help="only the clips of one half")
    ahead = parser.add_mutually_exclusive_group()
    ahead.add_argument("--live", action="store_const", const=0.0, dest="lookahead", help="no look-ahead")
    ahead.add_argument("--lookahead", type=float, metavar="SECONDS", help="what a live stream has with it")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, each with clips of its own")
    parser.add_argument("--most", type=positive, metavar="FRAMES", help="only labelled frames before this one")
    parser.add_argument("--made", type=variants_of, metavar="NAMES", help=f"all, or some of {','.join(VARIANTS)}")
    parser.add_argument("--sheet-open", type=Path, metavar="PNG", help="pictures of open faces")
    parser.add_argument("--sheet-false", type=Path, metavar="PNG", help="pictures of redactions on no head or on hair")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(argv)
    settings = replace(Settings(), detector_deadline=PATIENCE)
    try:
        if given.lookahead is not None:
            settings = replace(settings, lookahead=_as_recording(given.lookahead))
        asked = clips_of(given.directory, given.only, given.half, given.most)
        if given.made:
            scores, whole = measured_variants(given.made, asked, settings, given.workers)
        else:
            scores = measured(asked, settings, given.workers)
            whole = totals(scores)
    except (ValueError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    clips = [score.row() for score in [*scores, *whole]]
    faces = by_size_and_kind(whole)
    if given.json:
        print(as_json({"clips": clips, "faces": faces}))
    else:
        print(*(markdown(list(rows[0]), [list(row.values()) for row in rows]) for rows in (clips, faces)), sep="\n\n")
    for path, pictures in (
        (given.sheet_open, [one for score in scores for one in score.open_pictures]),
        (given.sheet_false, [one for score in scores for one in score.false_pictures]),
    ):
        if path is not None:
            write_sheet(path, pictures)
    return 0
