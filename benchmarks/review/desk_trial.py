"""A whole review in a real browser, by keyboard alone: are seeded misses found, mended, and nothing else touched?

    python -m benchmarks desk_trial --videos FOLDER [--clip stage_and_audience] [--seed N] [--place FOLDER]

The clip is filtered with an analysis. Then three misses are seeded (detections and redactions of true faces deleted
from the analysis, and left open in the output), two false redactions are put where nothing is, and one person is to be
shown.
`streamdeid review` is opened in Chromium. Of each of the six the place in the list is told; the misses are covered by
drawn boxes that are followed, the false redactions removed, the person left visible, with keys only. Then
`streamdeid filter --edits` renders. Told is in how many frames of the misses the face is covered, in how many the
person is visible of those in which nobody overlaps, and whether any other segment changed.

Exit code 1 when something is not in the first twelve entries, a miss is left open in a frame, or another segment
changed. Needs Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.clips import markdown
from benchmarks.command_line import parser_of
from benchmarks.review.recorded_clips import Clip, Miss, recorded
from benchmarks.review.review_doubts import FIRST, points_at
from benchmarks.review.seeded import without
from streamdeid.analysis.edits import CoverPlace, Edit, Edits, RemoveRedaction, Span
from streamdeid.analysis.edits_file import read_edits, write_edits
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import Analysis, RecordedDecision, Side
from streamdeid.analysis.write_analysis import AnalysisWriter
from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.report.redaction_report import FileSide
from streamdeid.review.doubts import Doubt, doubts
from streamdeid.runs.files import filter_file
from streamdeid.settings import Settings
from streamdeid.surrogates.models import load_models
from streamdeid.video.files.source import FileSource
from streamdeid.video.files.spliced import segments_of
from tests.chromium import Chromium, eventually

KINDS = ("start", "middle", "end")
_EVIDENCE, _LASTS = 0.55, 30
"""Of a false redaction: the detector's evidence, and frames."""
_COVERED = 12.0
"""Grey levels by which a covered face differs from the original, on average; one only encoded again differs by 2."""


@dataclass(frozen=True)
class Seeded:
    """A recording with things to be found."""

    recording: Path
    output: Path
    analysis: Path
    settings: Settings
    misses: Sequence[Miss]
    false: Sequence[tuple[int, Box, int]]
    """Track, place and first frame."""
    person: int


def seeded(video: Path, clip: Clip, place: Path, seed: int) -> Seeded:
    """Filter a clip, and make the misses and false redactions."""
    key = place / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    settings = Settings(key_file=key, overwrite=True)
    recording, output, kept = place / video.name, place / f"out{video.suffix}", place / "whole.analysis"
    shutil.copy(video, recording)
    filter_file(recording, output, settings, analysis=kept)
    whole = read_analysis(kept)
    rng = np.random.default_rng(seed)
    misses: list[Miss] = []
    analysis, spared = whole, []
    for kind in KINDS:
        made = without(replace(clip, analysis=analysis), kind, rng, spared)
        if made is None:
            raise ValueError(f"{video.stem} has nothing to delete at a {kind}")
        before, (analysis, miss) = analysis, made
        misses.append(miss)
        spared += [one.track for frame in miss.boxes for one in _gone(before, analysis, frame)]
    false = [_nowhere(analysis, 900 + number, rng) for number in range(2)]
    edits: list[Edit] = [
        RemoveRedaction(one.track, Span(frame, frame))
        for frame in range(len(whole.frames))
        for one in _gone(whole, analysis, frame)
    ]
    for track, box, first in false:
        edits.append(CoverPlace(track, [(first, box)], first, [box] * _LASTS))
        analysis = _with_false(analysis, track, box, first)
    write_edits(place / "seed.json", Edits(whole.header.input.sha256, len(whole.frames), tuple(edits)))
    filter_file(recording, output, settings, analysis=kept, edits=place / "seed.json")
    side = FileSide.of(output)
    target = recording.with_suffix(".analysis")
    with AnalysisWriter(target, analysis.header, overwrite=True, key=key.read_bytes()) as writer:
        for record in analysis.frames:
            writer.add(record)
        writer.close(replace(analysis.end, output=Side(side.sha256, side.bytes)))
    shown = Counter(one.person for record in analysis.frames for one in record.decisions if one.level == "own face")
    return Seeded(recording, output, target, settings, misses, false, shown.most_common(1)[0][0])


def _gone(before: Analysis, after: Analysis, frame: int) -> list[RecordedDecision]:
    left = {one.track for one in after.frames[frame].decisions}
    return [one for one in before.frames[frame].decisions if one.track not in left]


def _nowhere(analysis: Analysis, track: int, rng: np.random.Generator) -> tuple[int, Box, int]:
    """A place where nothing is, for a while."""
    width, height = analysis.header.width, analysis.header.height
    side = height // 8
    while True:
        first = int(rng.integers(5, len(analysis.frames) - _LASTS - 5))
        x, y = int(rng.integers(0, width - side)), int(rng.integers(0, height - side))
        taken = [face.box for record in analysis.frames[first - 5 : first + _LASTS + 5] for face in record.found] + [
            one.box for record in analysis.frames[first - 5 : first + _LASTS + 5] for one in record.decisions
        ]
        if not any(b[0] < x + 2 * side and b[2] > x - side and b[1] < y + 2 * side and b[3] > y - side for b in taken):
            return track, (float(x), float(y), float(x + side), float(y + side)), first


def _with_false(analysis: Analysis, track: int, box: Box, first: int) -> Analysis:
    frames = list(analysis.frames)
    for index in range(first, first + _LASTS):
        record = frames[index]
        face = Face(box, _EVIDENCE, evidence=_EVIDENCE)
        decision = RecordedDecision(
            track, track, 0, "soft redaction", "no landmarks", box, box, len(record.found), 0, False, False
        )
        frames[index] = replace(record, found=[*record.found, face], decisions=[*record.decisions, decision])
    return replace(analysis, frames=frames)


class Reviewer:
    """Somebody with a keyboard."""

    def __init__(self, chromium: Chromium) -> None:
        self._chromium = chromium
        self.keys = 0

    def press(self, *keys: str) -> None:
        """Press keys."""
        self.keys += len(keys)
        self._chromium.press(*keys)

    def frame(self) -> int:
        """Which one shows."""
        return int(self._chromium.run("return document.getElementById('picture').dataset.frame"))

    def said(self, *what: str) -> str:
        """Wait for the page to say one of some things."""
        news = "return document.getElementById('said').textContent + document.getElementById('wrong').textContent"
        return str(
            eventually(lambda: any(one in self._chromium.run(news) for one in what) and self._chromium.run(news), 60)
        )

    def to_doubt(self, number: int) -> None:
        """Go to an entry of the list."""
        self.press("j")
        for _ in range(400):
            at = eventually(self._entry, 10)
            if at == number + 1:
                return
            self.press("j" if at < number + 1 else "k")
            eventually(lambda: self._entry() != at, 10)  # noqa: B023
        raise ValueError("the entry cannot be reached")

    def _entry(self) -> int:
        """The entry that the page said it is at, from 1; 0 while it says something else."""
        told = re.match(
            r"(\d+) of \d+: ", str(self._chromium.run("return document.getElementById('said').textContent"))
        )
        return int(told[1]) if told else 0

    def to_frame(self, frame: int) -> None:
        """Go to a frame, by seconds and single frames."""
        for _ in range(2000):
            now = self.frame()
            if now == frame:
                return
            self.press("Right" if now < frame else "Left")
            eventually(lambda: self.frame() != now, 10)  # noqa: B023
        raise ValueError("the frame cannot be reached")

    def choose(self, where: str) -> None:
        """Choose a redaction of this frame."""
        for _ in range(80):
            if self._chromium.run("return document.activeElement.dataset.id") == where:
                return
            self.press("Tab")
        raise ValueError(f"{where} cannot be chosen")

    def draw(self, box: Box, size: tuple[int, int]) -> str:
        """Draw a box here and let it be followed; what the page says then."""
        self.press("b")
        self.said("Drawing")
        for edges, held in (((0, 1), ""), ((2, 3), "Shift+")):
            for edge, (less, more) in zip(edges, (("Left", "Right"), ("Up", "Down")), strict=True):
                for _ in range(400):
                    off = box[edge] - self._drawn(size)[edge]
                    if abs(off) <= max(2, round(size[0] / 160)) / 2 + 1:
                        break
                    before = self._drawn(size)
                    self.press(held + (more if off > 0 else less))
                    if self._drawn(size) == before:
                        break  # at the border of the picture
        self.press("Enter")
        return self.said("is covered from", "Nothing was covered")

    def _drawn(self, size: tuple[int, int]) -> Box:
        at = self._chromium.run(
            "const s = document.getElementById('drawn').style; return [s.left, s.top, s.width, s.height]"
        )
        left, top, across, down = (float(value.rstrip("%")) / 100 for value in at)
        return left * size[0], top * size[1], (left + across) * size[0], (top + down) * size[1]


def reviewed(made: Seeded, listed: Sequence[Doubt], rate: float, place: Path) -> tuple[dict[str, int | None], int]:
    """Review by keyboard; where in the list each thing stands, and how many keys it took."""
    command = [sys.executable, "-c", "from streamdeid.cli.main import run; run()", "review", str(made.recording)]
    command += ["-o", str(made.output), "--no-browser"]
    ranks: dict[str, int | None] = {}
    desk = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert desk.stdout is not None
    try:
        address = desk.stdout.readline().split(": ", 1)[1].strip()
        with Chromium(place, size=(1440, 900)) as chromium:
            chromium.open(address)
            eventually(lambda: chromium.run("return document.body && document.body.dataset.ready"), 60)
            one = Reviewer(chromium)
            size = FileSource(made.recording).info
            for number, miss in enumerate(made.misses):
                rank = _rank(listed, lambda doubt, miss=miss: points_at(doubt, miss, rate))  # type: ignore[misc]
                ranks[f"miss, {miss.kind}"] = rank
                if rank is not None:
                    one.to_doubt(rank)
                _cover(one, miss, (size.width, size.height), made, number)
            for track, _, first in made.false:
                ranks[f"false redaction {track - 899}"] = rank = _rank(
                    listed, lambda doubt, track=track: doubt.track == track
                )  # type: ignore[misc]
                if rank is not None:
                    one.to_doubt(rank)
                one.to_frame(first + _LASTS // 2)
                one.choose(f"track {track}")
                one.press("r", "y")
                one.said("removed")
            ranks["person to be shown"] = rank = _rank(listed, lambda doubt: doubt.person == made.person)
            track, frame = _seen(read_analysis(made.analysis), made.person)
            if rank is not None:
                one.to_doubt(rank)
            one.to_frame(frame)
            one.choose(f"track {track}")
            one.press("u", "y")
            one.said("left visible")
            (place / "desk.png").write_bytes(chromium.picture())
            keys = one.keys
    finally:
        desk.terminate()
        desk.wait(20)
    return ranks, keys


def _rank(listed: Sequence[Doubt], about: object) -> int | None:
    return next((number for number, doubt in enumerate(listed) if about(doubt)), None)  # type: ignore[operator]


def _seen(analysis: Analysis, person: int) -> tuple[int, int]:
    """A track and a frame that show a person."""
    return next(
        (one.track, index)
        for index, record in enumerate(analysis.frames)
        for one in record.decisions
        if one.person == person and one.level == "own face"
    )


def _cover(one: Reviewer, miss: Miss, size: tuple[int, int], made: Seeded, number: int) -> None:
    """Draw boxes until every frame of a miss is covered."""
    edits = made.recording.with_suffix(".edits.json")
    for _ in range(12):
        open_frames = [frame for frame, box in sorted(miss.boxes.items()) if not _held(edits, frame, box)]
        if not open_frames:
            return
        frame = open_frames[len(open_frames) // 2]
        one.to_frame(frame)
        x0, y0, x1, y1 = miss.boxes[frame]
        dx, dy = 0.12 * (x1 - x0), 0.12 * (y1 - y0)  # nobody draws tight
        told = one.draw((max(0, x0 - dx), max(0, y0 - dy), min(size[0], x1 + dx), min(size[1], y1 + dy)), size)
        if "Nothing" in told:
            raise ValueError(f"miss {number}: {told}")


def _held(edits: Path, frame: int, box: Box) -> bool:
    """Whether a drawn place holds most of a face in a frame, and its middle."""
    if not edits.exists():
        return False
    for place in (edit for edit in read_edits(edits).done if isinstance(edit, CoverPlace)):
        if place.first <= frame < place.first + len(place.boxes):
            x0, y0, x1, y1 = place.boxes[frame - place.first]
            across, down = min(x1, box[2]) - max(x0, box[0]), min(y1, box[3]) - max(y0, box[1])
            if min(across, down) > 0 and across * down >= 0.8 * (box[2] - box[0]) * (box[3] - box[1]):
                return True
    return False


def checked(made: Seeded) -> list[tuple[str, str]]:
    """Render the edits; what came of it."""
    before = list(FileSource(made.output))
    edits = made.recording.with_suffix(".edits.json")
    report = filter_file(made.recording, made.output, made.settings, analysis=made.analysis, edits=edits)
    after, original = list(FileSource(made.output)), list(FileSource(made.recording))
    rows = []
    for miss in made.misses:
        apart = [_apart(after[frame], original[frame], box) for frame, box in miss.boxes.items()]
        rows.append(
            (
                f"miss, {miss.kind}: frames covered",
                f"{sum(one > _COVERED for one in apart)} of {len(apart)} (least difference {min(apart):.0f})",
            )
        )
    for track, box, first in made.false:
        apart = [_apart(after[frame], original[frame], box) for frame in range(first, first + _LASTS)]
        rows.append(
            (f"false redaction {track - 899}: frames open", f"{sum(one < _COVERED / 2 for one in apart)} of {_LASTS}")
        )
    assert report.review is not None and report.review.edits is not None
    person = str(made.person)
    visible, wanted = report.review.edits.visible_frames[person], report.review.edits.wanted_frames[person]
    rows.append(("person visible, as counted", f"{visible} of {wanted} frames, the others in doubt or beside somebody"))
    differ = {
        index
        for index, (a, b) in enumerate(zip(before, after, strict=True))
        if not np.array_equal(a.planes.y, b.planes.y)
    }
    rendered = report.review.frames_rendered
    rows.append(("frames rendered again", f"{rendered} of {len(after)}"))
    whole = {
        index
        for one in segments_of(made.output)
        if differ & set(range(one.first, one.last + 1))
        for index in range(one.first, one.last + 1)
    }
    rows.append(("segments changed beside those", str(max(0, len(whole) - (rendered or 0)))))
    return rows


def _apart(a: Frame, b: Frame, box: Box) -> float:
    """Mean absolute difference of luma in the middle of a face."""
    x0, y0, x1, y1 = box
    dx, dy = 0.2 * (x1 - x0), 0.2 * (y1 - y0)
    part = np.s_[max(0, int(y0 + dy)) : int(y1 - dy) + 1, max(0, int(x0 + dx)) : int(x1 - dx) + 1]
    return float(np.abs(a.planes.y[part].astype(float) - b.planes.y[part].astype(float)).mean())


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trial and print what came of it."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--videos", type=Path, required=True, help="folder with the clip and its boxes")
    parser.add_argument("--clip", default="stage_and_audience")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--place", type=Path, help="folder in which everything is kept")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        place = given.place or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        (video,) = given.videos.glob(f"{given.clip}.m*")
        clip = recorded(video, load_models(None), Settings())
        made = seeded(video, clip, place, given.seed)
        analysis = read_analysis(made.analysis)
        ranks, keys = reviewed(made, doubts(analysis), float(analysis.header.rate), place)
        rows = [(name, "not in the list" if rank is None else f"entry {rank + 1}") for name, rank in ranks.items()]
        rows += [("keys pressed", str(keys)), *checked(made)]
        print(markdown(("what", "found"), rows))
        return int(any(rank is None or rank >= FIRST for rank in ranks.values()))
