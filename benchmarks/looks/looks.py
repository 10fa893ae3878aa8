"""Do the new faces pass for real? Each clip of a directory through the filter in this process, under one fixed key.

    python -m benchmarks looks DIRECTORY [--clips NAME ...] [--frames N] [--every N] [--key N] [--sheets DIR] [--json]

Nothing is encoded: what is measured is what was published. Measured are faces shown as their own face in full, with a
mesh 48 pixels wide and up, in every tenth frame; those shown posed or at a lower level are counted (`own`, `posed`,
`other`: shares; `overlaid`: share of the measured with another cover's box over a tenth of the face and more; no pixel
in such a box is measured). Medians over the faces of a clip of: colour and shading error of plain skin
(`skin_looks.py`, natural logs; `level`: lighter above 0); step across the rim over the original's at chin, cheeks and
forehead (`edge_steps.py`; luma, `colour` for all three together, `seam`: the step that was not there); relief of the
skin, sharpness and grain over the original's (`relief.py`, `sharpness.py`); brightness and saturation of eyes, brows
and lips over the original's, each beside its skin (`feature_tones.py`). From every frame, against landmarks
detected again on the output: flicker over the original's (`flicker.py`), and for people of 25 frames and more the
correlation of gaze across, gaze up and down, mouth width and opening and the lift of the corners of the mouth
(`corners`), as `expression` does, and of each the spread of the output over the original's; means by frames, and where
nothing moves they mean nothing.

The last row is the median over the clips. Bars on it: colour .02, shading .05, each edge step 1.3, sharpness .8 to
1.25; exit code 1 when one is missed. --sheets: five pictures of each clip's three largest people, original above,
result below, at twice their size where that is at most 400 pixels; they show real people. To measure another version of
the filter with this program, put that version's directory on PYTHONPATH.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.clips import KEY, VIDEOS, as_json, markdown
from benchmarks.command_line import parser_of
from benchmarks.looks.edge_steps import SECTORS, EdgeStep, edge_steps
from benchmarks.looks.face_pairs import Corners, cut, face_width, filled, mesh_of
from benchmarks.looks.feature_tones import FEATURES, Tone, feature_tones
from benchmarks.looks.flicker import Flicker
from benchmarks.looks.head_geometry import counterpart, features, gaze, upright
from benchmarks.looks.relief import relief, relief_ratio
from benchmarks.looks.series import correlation
from benchmarks.looks.sharpness import at_own_size, grain, grain_ratio, sharpness
from benchmarks.looks.sheets import Sheet
from benchmarks.looks.skin_looks import SkinLooks, plain_skin, skin_looks
from benchmarks.people.run import OWN, POSED, Filtering, level_of
from streamdeid.core.arrays import Points
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes, Redaction
from streamdeid.core.ibug68 import MOUTH_CORNERS, OUTLINE
from streamdeid.errors import StreamdeidError
from streamdeid.runs.parts import default_detector
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models, load_models

LEAST_WIDTH = 48
"""Pixels of the mesh's width from which a face is measured."""
LEAST_FRAMES = 25
"""Frames in which a person must be seen for correlations."""
EDGE_FLOOR = 0.02
"""Log step of the original below which it counts as this: nobody sees one of 2 %."""
OVERLAID = 0.1
"""Share of a face in the boxes of other covers from which it counts as overlaid."""
SIGNALS = ("gaze across", "gaze up down", "mouth width", "mouth opening", "corners")
BARS = {
    "colour": (0.0, 0.02),
    "shading": (0.0, 0.05),
    **{f"edge {name}": (0.0, 1.3) for name in (*SECTORS, "colour")},
    "sharpness": (0.8, 1.25),
}
"""Least and most that the median clip may have."""


@dataclass
class Moves:
    """What a person does in each frame: SIGNALS of original and output."""

    original: list[np.ndarray] = field(default_factory=list)
    output: list[np.ndarray] = field(default_factory=list)
    flicker: Flicker = field(default_factory=Flicker)


@dataclass
class Measured:
    """What was measured of a clip."""

    levels: Counter[str] = field(default_factory=Counter)
    skin: list[SkinLooks] = field(default_factory=list)
    edges: list[dict[str, EdgeStep]] = field(default_factory=list)
    overlaid: list[bool] = field(default_factory=list)
    sharpness: list[float] = field(default_factory=list)
    grain: list[float] = field(default_factory=list)
    relief: list[float] = field(default_factory=list)
    tones: list[dict[str, Tone]] = field(default_factory=list)
    people: defaultdict[int, Moves] = field(default_factory=lambda: defaultdict(Moves))

    def look(self, planes: tuple[Planes, Planes], points: Points, others: Sequence[Corners]) -> None:
        """Take in one face shown in full: the original's mesh (81, 2), the corners of the frame's other covers."""
        pair, whole = cut(planes, points, others), cut(planes, points, others, None)
        if pair is None or whole is None:
            return
        self.overlaid.append(float(pair.foreign[filled(pair.foreign.shape, pair.points[OUTLINE])].mean()) > OVERLAID)
        self.edges.append(edge_steps(pair))
        skin, mask = skin_looks(pair), plain_skin(pair)
        if skin is None or mask is None:
            return
        self.skin.append(skin)
        self.relief.append(relief_ratio(*relief(pair, mask)))
        self.tones.append(feature_tones(pair, mask))
        mask = at_own_size(mask, whole)
        self.sharpness.append(sharpness(whole, mask))
        self.grain.append(grain_ratio(*grain(whole, mask)))

    def row(self) -> dict[str, object]:
        """The figures of the clip."""
        faces = sum(self.levels.values())
        row: dict[str, object] = {"faces": faces, "measured": len(self.skin)}
        others = faces - self.levels[OWN] - self.levels[POSED]
        for name, count in (("own", self.levels[OWN]), ("posed", self.levels[POSED]), ("other", others)):
            row[name] = count / faces if faces else None
        row["overlaid"] = float(np.mean(self.overlaid)) if self.overlaid else None
        row["colour"], row["shading"], row["level"] = (
            _median(getattr(skin, name) for skin in self.skin) for name in ("colour", "shading", "level")
        )
        row["shading worst"] = float(np.percentile([s.shading for s in self.skin], 90)) if self.skin else None
        row |= edge_row(self.edges)
        row["relief"] = _median(self.relief)
        for name in FEATURES:
            seen = [one[name] for one in self.tones if name in one]
            row[f"{name} bright"] = _median(one.brightness for one in seen)
            row[f"{name} vivid"] = _median(one.saturation for one in seen)
        row["sharpness"], row["grain"] = _median(self.sharpness), _median(self.grain)
        row["flicker"] = _weighted((moves.flicker.ratio, len(moves.output)) for moves in self.people.values())
        followed = [moves for moves in self.people.values() if len(moves.output) >= LEAST_FRAMES]
        for i, name in enumerate(SIGNALS):
            pairs = [(np.array(m.original)[:, i], np.array(m.output)[:, i]) for m in followed]
            row[name] = _weighted((correlation(*pair), len(pair[0])) for pair in pairs)
            row[f"{name}, spread"] = _weighted((spread_ratio(*pair), len(pair[0])) for pair in pairs)
        return row


def edge_row(edges: Sequence[dict[str, EdgeStep]]) -> dict[str, float | None]:
    """Steps of the output over those of the original, each the median over the faces."""
    row: dict[str, float | None] = {}
    for name in SECTORS:
        steps = [found[name].luma for found in edges if name in found]
        row[f"edge {name}"] = _ratio(steps)
    steps = [step for found in edges for step in found.values()]
    row["edge colour"] = _ratio([step.colour for step in steps])
    row["seam"] = _median(step.added for step in steps)
    return row


def spread_ratio(original: np.ndarray, output: np.ndarray) -> float:
    """Standard deviation of the output's signal over the original's; below 1 the new face does less. NaN for a still
    one."""
    spread = float(np.nanstd(original)) if np.isfinite(original).any() else 0.0
    return float(np.nanstd(output)) / spread if spread > 0 and np.isfinite(output).any() else float("nan")


def _ratio(steps: Sequence[tuple[float, float]]) -> float | None:
    if not steps:
        return None
    before, after = np.median(np.array(steps), axis=0)
    return float(max(after, EDGE_FLOOR) / max(before, EDGE_FLOOR))


def _median(values: Iterable[float]) -> float | None:
    known = [value for value in values if np.isfinite(value)]
    return float(np.median(known)) if known else None


def _weighted(values: Iterable[tuple[float, int]]) -> float | None:
    known = [(value, weight) for value, weight in values if np.isfinite(value)]
    return float(np.average([v for v, _ in known], weights=[w for _, w in known])) if known else None


class Looking:
    """Measuring one clip."""

    def __init__(self, models: Models, every: int, sheet: Sheet | None) -> None:
        """every: faces are looked at in every so many frames; sheet: where their pictures go."""
        self.measured = Measured()
        self._model, self._every, self._sheet = models.fitting.model, every, sheet

    def frame(
        self, original: Frame, published: DeidentifiedFrame, tracks: Sequence[Track], found: Sequence[Face]
    ) -> None:
        """Take in a frame; found: faces detected in what was published."""
        redactions = {redaction.track: redaction for redaction in published.redactions if redaction.track}
        for track in tracks:
            mesh = None if track.face is None else mesh_of(track.face)
            redaction = redactions.get(track.number)
            if track.face is None or mesh is None or redaction is None or face_width(mesh) < LEAST_WIDTH:
                continue
            self._face(original, published, track, redaction, mesh)
            twin = counterpart(track.face, found) if level_of(redaction) == OWN else None
            if twin is not None and twin.landmarks is not None:
                moves = self.measured.people[track.number]
                moves.original.append(signals(track.face))
                moves.output.append(signals(twin))
                moves.flicker.note(original.index, track.face, twin, original.planes, published.planes, self._model)

    def _face(
        self, original: Frame, published: DeidentifiedFrame, track: Track, redaction: Redaction, mesh: Points
    ) -> None:
        level = level_of(redaction)
        self.measured.levels[level] += 1
        if original.index % self._every:
            return
        if level == OWN:
            others = [other.box for other in published.redactions if other is not redaction]
            self.measured.look((original.planes, published.planes), mesh, others)
        if self._sheet is not None and track.face is not None:
            known = getattr(redaction, "person", 0)  # an earlier version of the filter does not say
            person = known if known else -track.number
            planes = original.planes, published.planes
            self._sheet.note(original.index, person, level, track.face.box, planes)


def signals(face: Face) -> np.ndarray:
    """SIGNALS (5,) of a face with landmarks."""
    assert face.landmarks is not None
    level = upright(face.landmarks)
    lift = float(level[[51, 57], 1].mean() - level[list(MOUTH_CORNERS), 1].mean())
    opening, width = features(level)[:2]
    return np.array([*gaze(face), width, opening, lift])


def measure(
    video: Path, models: Models, most: int | None, every: int, sheets: Path | None, key: bytes = KEY
) -> dict[str, object]:
    """The row of a clip, ended after so many frames. Raises StreamdeidError."""
    start = time.process_time()
    settings = Settings()
    sheet = None if sheets is None else Sheet()
    looking = Looking(models, every, sheet)
    with contextlib.closing(default_detector(settings)) as detect:
        for original, published, tracks in Filtering(video, models, settings, most, key).published():
            found = detect(Frame(published.planes, original.time, original.index)) if tracks else ()
            looking.frame(original, published, tracks, found)
    if sheet is not None and sheets is not None:
        sheet.write(sheets / f"{video.stem}.png")
    return {"clip": video.stem, **looking.measured.row(), "CPU s": time.process_time() - start}


def median_row(rows: Sequence[dict[str, object]]) -> dict[str, object]:
    """The median clip, figure by figure, over the clips that have it."""
    middle: dict[str, object] = {"clip": "median"}
    for name in rows[0]:
        if name not in ("clip", "CPU s"):
            known = [value for row in rows if isinstance(value := row[name], int | float)]
            middle[name] = float(np.median(known)) if known else None
    return middle


def missed(row: dict[str, object]) -> list[str]:
    """The figures of the median clip beyond their bars."""
    return [
        name
        for name, (least, most) in BARS.items()
        if isinstance(value := row[name], int | float) and not least <= value <= most
    ]


def chosen(directory: Path, names: Sequence[str]) -> list[Path]:
    """The clips of a directory, or those of these stems. ValueError for names that are not there."""
    videos = sorted(path for path in directory.iterdir() if path.suffix.lower() in VIDEOS)
    unknown = set(names) - {path.stem for path in videos}
    if unknown or not videos:
        raise ValueError(f"there is no {min(unknown)}" if unknown else f"{directory} holds no video")
    return [path for path in videos if not names or path.stem in names]


def main(argv: list[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--clips", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--frames", type=int, help="end each clip after so many frames")
    parser.add_argument("--every", type=int, default=10, metavar="N", help="look at faces in every Nth frame (10)")
    parser.add_argument("--key", type=int, choices=range(256), metavar="N", help="other surrogates: a key of bytes N")
    parser.add_argument("--sheets", type=Path, metavar="DIR", help="directory for pictures of the faces")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    try:
        videos, models = chosen(given.directory, given.clips), load_models(None)
        if given.sheets is not None:
            given.sheets.mkdir(parents=True, exist_ok=True)
        key = KEY if given.key is None else bytes([given.key]) * len(KEY)
        rows = [measure(video, models, given.frames, given.every, given.sheets, key) for video in videos]
    except (ValueError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    rows = [row for row in rows if row["measured"]] + [row for row in rows if not row["measured"]]
    middle = median_row([row for row in rows if row["measured"]] or rows)
    table = [*rows, middle]
    print(as_json(table) if given.json else markdown(list(rows[0]), [[row.get(n) for n in rows[0]] for row in table]))
    return 1 if missed(middle) else 0
