"""The pictures of docs/review.md: `python -m tests.review.desk_screenshots DIRECTORY` draws people, filters them and
opens the desk on it, in light and dark. Everybody in them is drawn."""

from __future__ import annotations

import io
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
from tests.chromium import Chromium, eventually
from tests.review.desk_server import serving

RATE = 12
SCENES = ((4, 7, 8.0), (3, 21, 6.0), (4, 7, 6.0))
"""People, seed of their looks, seconds."""
OWN_COLOURS = 64
"""Colours of the page itself that a screenshot keeps exactly."""
KEYS = (["j"], ["Enter"], ["Enter"], ["Home"], ["Shift+Right"] * 3, ["Tab"], ["u"], ["y"], ["Tab"], ["s"], ["j"])
"""What is pressed before the picture is taken: two doubts looked at, a person left visible, another's face changed."""


def _drawn(models: Models) -> Iterator[Planes]:
    for people, seed, seconds in SCENES:
        for one in synthetic_people(
            models.fitting, models.gallery, people=people, seed=seed, seconds=seconds, size=(960, 540), rate=RATE
        ):
            yield one.frame.planes if seed == SCENES[0][1] else _other_camera(one.frame.planes)


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
            with (
                serving(lambda: open_review(files)) as page,
                Chromium(place / theme, dark=theme == "dark", size=(1440, 1043)) as browser,
            ):
                browser.open(page.address)
                eventually(lambda: browser.run("return document.body.dataset.ready"), 30)
                for keys in (
                    ["j"],
                    ["Enter"],
                    ["Enter"],
                    ["Home"],
                    ["Shift+Right"] * 3,
                    ["Tab"],
                    ["u"],
                    ["y"],
                    ["Tab"],
                    ["s"],
                    ["j"],
                ):
                    browser.press(*keys)
                    time.sleep(0.6)
                time.sleep(2)
                _write(out / f"review-{theme}.png", browser.picture())


def _write(path: Path, png: bytes) -> None:
    """As a small file with a palette: the page's own colours as they are, the rest for the picture in it."""
    with Image.open(io.BytesIO(png)) as opened:
        picture = opened.convert("RGB")
    pixels = np.asarray(picture).reshape(-1, 3)
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    own = colours[np.argsort(counts)[::-1][:OWN_COLOURS]]
    rest = pixels[~(pixels[:, None] == own[None, :8]).all(axis=2).any(axis=1)]
    others = Image.fromarray(rest[: len(rest) // 512 * 512].reshape(-1, 512, 3)).quantize(256 - OWN_COLOURS)
    palette = Image.new("P", (1, 1))
    palette.putpalette(own.astype(np.uint8).tobytes() + bytes(others.getpalette() or ())[: 3 * (256 - OWN_COLOURS)])
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
