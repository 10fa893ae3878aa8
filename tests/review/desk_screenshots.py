"""The pictures of docs/review.md: `python -m tests.review.desk_screenshots DIRECTORY` draws people, filters them and
opens the desk on it, in light and dark. Everybody in them is drawn."""

from __future__ import annotations

import io
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from streamdeid.core.frames import Planes
from streamdeid.review.opening import Files, open_review
from streamdeid.runs.files import FileRun
from streamdeid.runs.reviewed_file import Asked
from streamdeid.settings import Settings
from streamdeid.surrogates.models import Models
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from tests.chromium import Chromium
from tests.patience import eventually
from tests.review.desk_server import serving

RATE = 12
SCENES = ((4, 7, 8.0), (3, 21, 6.0), (4, 7, 6.0))
"""People, seed of their looks, seconds."""
STYLE = Path(__file__).parents[2] / "streamdeid" / "review" / "page" / "desk.css"
KEYS = (["j"], ["Enter"], ["Enter"], ["Home"], ["Shift+Right"] * 3, ["Tab"], ["u"], ["y"], ["j"])
"""What is pressed before the picture is taken: two doubts looked at, a person left visible."""


def _drawn(models: Models) -> Iterator[Planes]:
    for number, (people, seed, seconds) in enumerate(SCENES):
        for one in synthetic_people(
            models.fitting, models.gallery, people=people, seed=seed, seconds=seconds, size=(960, 540), rate=RATE
        ):
            planes = one.frame.planes
            if number == 1:
                planes = _other_camera(planes)
            elif number == 2:
                _walk_past(planes, one.frame.index / (seconds * RATE))
            yield planes


def _walk_past(planes: Planes, share: float) -> None:
    """Something dark that goes by in front of everybody, from left to right."""
    x = int(-200 + 1300 * share) // 2 * 2
    left, right = max(x, 0), max(x + 190, 0)
    planes.y[60:, left:right] = 45
    planes.u[30:, left // 2 : right // 2] = 132
    planes.v[30:, left // 2 : right // 2] = 126


def _other_camera(planes: Planes) -> Planes:
    """The picture of a second camera: mirrored, and darker."""
    y, u, v = (np.ascontiguousarray(plane[:, ::-1]) for plane in (planes.y, planes.u, planes.v))
    return Planes(np.asarray(16 + 0.75 * (y - 16.0), np.uint8), u, v, planes.colour)


def _reviewed(place: Path) -> Files:
    """A drawn recording, filtered, with its analysis."""
    files = Files(*(place / f"interview{end}" for end in (".mp4", "_deidentified.mp4", ".analysis", ".edits.json")))
    with FileRun(Settings(overwrite=True)) as run:
        write_drawn_clip(files.recording, _drawn(run.start().models), RATE)
        run.filter(files.recording, files.output, asked=Asked(files.analysis))
    return files


def main(out: Path) -> None:
    """Write review-light.png and review-dark.png."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        files = _reviewed(place)
        for theme in ("light", "dark"):
            files.edits.unlink(missing_ok=True)
            directory = place / theme
            size = (1440, 1043)
            chromium = Chromium(directory, dark=theme == "dark", size=size)
            with serving(lambda: open_review(files)) as page, chromium as browser:
                browser.open(page.address)
                eventually(lambda: browser.run("return document.body && document.body.dataset.ready"))
                for keys in KEYS:
                    browser.press(*keys)
                    time.sleep(0.6)
                time.sleep(2)
                _write(out / f"review-{theme}.png", browser.picture())


def _write(path: Path, png: bytes) -> None:
    """As a small file with a palette: the page's own colours as they are, the rest for the picture in it."""
    with Image.open(io.BytesIO(png)) as opened:
        picture = opened.convert("RGB")
    own = [
        int(one[i : i + 2], 16) for one in sorted(set(re.findall("#[0-9a-f]{6}", STYLE.read_text()))) for i in (1, 3, 5)
    ]
    others = picture.quantize(256 - len(own) // 3)
    palette = Image.new("P", (1, 1))
    palette.putpalette(own + list(others.getpalette() or ())[: 768 - len(own)])
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
