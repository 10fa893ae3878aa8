"""A folder of recordings of drawn people, and a key: what runs over folders are tried with."""

from __future__ import annotations

from pathlib import Path

from streamdeid.aam.fit import FitModel
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip

_RATE = 10


def draw_recordings(place: Path, files: int, frames: int, fitting: FitModel, gallery: Gallery) -> None:
    """Write in/0.mp4, in/1.mp4 and so on, of two people and so many frames each, and the file `key`."""
    (place / "in").mkdir()
    seconds = files * frames / _RATE
    drawn = list(synthetic_people(fitting, gallery, people=2, seconds=seconds, size=(320, 240), rate=_RATE))
    for number in range(files):
        part = drawn[number * frames : (number + 1) * frames]
        write_drawn_clip(place / "in" / f"{number}.mp4", (one.frame.planes for one in part), _RATE)
    (place / "key").write_bytes(bytes(range(32)))
    (place / "key").chmod(0o600)
