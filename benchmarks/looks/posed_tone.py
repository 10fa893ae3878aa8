"""Are posed faces as bright, and of the colour, of the faces that they replace? On clips, beside each other.

    python -m benchmarks posed_tone DIRECTORY [--only NAME ...] [--most FRAMES] [--json]

The filter runs in this process over the first frames of each clip (--most, 260). Where it publishes a posed face, the
means over the middle of its redaction (half of each side) are compared, published less original, 8-bit levels of luma
and chroma: the mean of the absolute difference, the tenth of the faces that differ most, the bias, and how much the
difference of luma changes from one frame to the next at the same place (flicker that the original does not have).
What hides a face, or stands behind a head that is turned, is in these means too: compare versions, not clips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.boxes import middle
from benchmarks.clips import as_json, clips_with_faces, markdown
from benchmarks.command_line import parser_of, positive
from benchmarks.leaks.run import Corners, frames_of
from benchmarks.recall.published_clip import PATIENCE
from streamdeid.core.arrays import Box, Points
from streamdeid.core.frames import Planes
from streamdeid.errors import StreamdeidError
from streamdeid.protect.levels import Level
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models, load_models

_LEAST = 3
"""Pixels that what is compared has at least in each direction."""
_COLUMNS = "luma", "a tenth", "bias", "chroma", "flicker", "hair"


@dataclass
class Tone:
    """The posed faces of a clip."""

    clip: str
    apart: list[Points] = field(default_factory=list)
    """Published less original, float64 (3,): luma and chroma."""
    steps: list[float] = field(default_factory=list)
    """Changes of that of luma from the frame before, absolute."""
    hair: list[float] = field(default_factory=list)
    """Absolute differences of luma about the upper sides."""

    def row(self) -> dict[str, object]:
        """A line of the table."""
        line: dict[str, object] = {"clip": self.clip, "posed faces": len(self.apart)}
        if not self.apart:
            return line | dict.fromkeys(_COLUMNS)
        apart = np.array(self.apart)
        luma = np.abs(apart[:, 0])
        numbers = luma.mean(), np.percentile(luma, 90), apart[:, 0].mean(), np.abs(apart[:, 1:]).mean()
        told = (
            round(float(number), 2)
            for number in (*numbers, *(np.mean(values or [np.nan]) for values in (self.steps, self.hair)))
        )
        return line | dict(zip(_COLUMNS, told, strict=True))


def differences(original: Planes, published: Planes, box: Corners) -> Points | None:
    """Mean of what was published less the original, float64 (3,), in the middle of a box in pixels; None where little
    of that lies in the picture."""
    x0, y0, x1, y1 = (int(np.clip(side, 0, most)) for side, most in zip(middle(box), 2 * original.size, strict=True))
    if x1 - x0 < _LEAST or y1 - y0 < _LEAST:
        return None
    full, half = np.s_[y0:y1, x0:x1], np.s_[y0 // 2 : (y1 + 1) // 2, x0 // 2 : (x1 + 1) // 2]
    old, new = (np.array([one.y[full].mean(), one.u[half].mean(), one.v[half].mean()]) for one in (original, published))
    return np.asarray(new - old, np.float64)


def above(box: Corners) -> Box:
    """The box whose middle half lies about the upper side of a box."""
    height = box[3] - box[1]
    return box[0], box[1] - 0.425 * height, box[2], box[1] + 0.275 * height


def measure(video: Path, most: int, models: Models) -> Tone:
    """The posed faces in the first frames of a clip. Raises what the filter raises."""
    tone, before = Tone(video.stem), None
    settings = replace(Settings(), detector_deadline=PATIENCE)
    for number, (original, published, moment) in enumerate(frames_of(video, models, settings, None, [0.0]), start=1):
        for box, level in zip(moment.redactions, moment.levels, strict=True):
            apart = differences(original, published, box) if level == Level.POSED.label else None
            if apart is None:
                continue
            tone.apart.append(apart)
            hair = differences(original, published, above(box))
            tone.hair += [] if hair is None else [abs(float(hair[0]))]
            last = None if before is None else differences(*before, box)
            if last is not None:
                tone.steps.append(abs(float(apart[0] - last[0])))
        before = original, published
        if number == most:
            break
    return tone


def main(argv: Sequence[str]) -> int:
    """Run; the exit code."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only clips of these stems")
    parser.add_argument("--most", type=positive, default=260, metavar="FRAMES", help="so many frames of each")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(argv)
    try:
        models = load_models(None)
        rows = [measure(video, given.most, models).row() for video in clips_with_faces(given.directory, given.only)]
    except (ValueError, OSError, StreamdeidError) as error:
        parser.error(str(error))
    print(as_json(rows) if given.json else markdown(list(rows[0]), [list(row.values()) for row in rows]))
    return 0
