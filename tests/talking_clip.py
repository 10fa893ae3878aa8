"""A clip of synthetic people with sound, and other files that a user might hand in. Nothing here shows anyone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av

from streamdeid.aam.fit import FitModel
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import SyntheticFrame, synthetic_people
from streamdeid.video.files.drawn_clip import write_drawn_clip
from tests.synthetic_video import RATE, encode


def talking_clip(path: Path, fitting: FitModel, gallery: Gallery, *, seconds: float = 1.0) -> list[SyntheticFrame]:
    """Write an MP4 file of one person who talks, with AAC sound; the frames that went in."""
    drawn = list(synthetic_people(fitting, gallery, people=1, seconds=seconds, size=(320, 240), rate=RATE))
    silent, sound = path.with_name("silent.mp4"), path.with_name("sound.mp4")
    write_drawn_clip(silent, (one.frame.planes for one in drawn), RATE)
    encode(sound, frames=len(drawn), audio=["aac"])
    with av.open(str(path), "w") as output, av.open(str(silent)) as video, av.open(str(sound)) as audio:
        streams: list[tuple[Any, Any, Any]] = [
            (container, stream, output.add_stream_from_template(stream))
            for container, stream in ((video, video.streams.video[0]), (audio, audio.streams.audio[0]))
        ]
        for container, stream, copy in streams:
            for packet in container.demux(stream):
                if packet.dts is not None:
                    packet.stream = copy
                    output.mux(packet)
    silent.unlink()
    sound.unlink()
    return drawn


def audio_only(path: Path) -> Path:
    """An audio file with the name of a video."""
    with av.open(str(path), "w") as output, av.open(str(encode(path.with_name("a.mp4"), audio=["aac"]))) as given:
        source = given.streams.audio[0]
        copy = output.add_stream_from_template(source)
        for packet in given.demux(source):
            if packet.dts is not None:
                packet.stream = copy
                output.mux(packet)
    path.with_name("a.mp4").unlink()
    return path
