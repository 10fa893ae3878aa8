"""Pieces that were encoded apart, joined: frames, times, sound and subtitles as of one file written in one go."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from streamdeid.core.frames import DeidentifiedFrame
from streamdeid.errors import OutputError, SettingsError
from streamdeid.video.files.joined import join
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource
from tests.synthetic_video import ROTATIONS, encode, packets, set_display_matrix

UNEVEN = [0, 1, 3, 4, 8, 9, 10, 15, 16, 17, *range(20, 50)]
LATE = [100 * 25 + n for n in range(40)]
KEPT = {"audio": True, "keep_metadata": False, "tolerant": False}


def pieces_of(source: FileSource, place: Path, suffix: str, cuts: tuple[int, ...], **wishes: object) -> list[Path]:
    """The frames of a file in files of their own."""
    frames, made = list(source), []
    for number, (first, last) in enumerate(zip((0, *cuts), (*cuts, len(frames)), strict=True)):
        made.append(place / f"{number}{suffix}")
        with FileSink(made[-1], source.info, streams=False, **wishes) as sink:  # type: ignore[arg-type]
            for frame in frames[first:last]:
                sink.write(DeidentifiedFrame(frame.planes, frame.time, frame.index))
    return made


@pytest.mark.parametrize(
    ("suffix", "codec", "wishes", "turned"),
    [
        (".mp4", "libx264", {"audio": ("aac",)}, 0),
        (".mp4", "libx264", {"audio": ("aac", "aac"), "pts": UNEVEN}, 90),
        (".mov", "libx264", {"pts": UNEVEN}, 180),
        (".mkv", "libx264", {"pts": UNEVEN, "audio": ("aac",)}, 270),
        (".mp4", "libx264", {"pts": LATE, "audio": ("aac",), "audio_start": 100}, 0),
        (".ts", "libx264", {"audio": ("aac",)}, 0),
        (".mp4", "mpeg4", {}, 0),
        (".webm", "libvpx-vp9", {}, 0),
        (".mkv", "ffv1", {}, 0),
    ],
)
@pytest.mark.parametrize("cuts", [(), (13,), (5, 6, 30)])
def test_as_if_written_in_one_go(
    tmp_path: Path, suffix: str, codec: str, wishes: dict[str, object], turned: int, cuts: tuple[int, ...]
) -> None:
    recording = encode(tmp_path / "in.mp4", frames=40, options={"bf": "2"}, **wishes)  # type: ignore[arg-type]
    source = FileSource(set_display_matrix(recording, ROTATIONS[turned]) if turned else recording)
    with FileSink(tmp_path / f"once{suffix}", source.info, codec=codec, tolerant=False) as sink:
        for frame in source:
            sink.write(DeidentifiedFrame(frame.planes, frame.time, frame.index))
    once = FileSource(tmp_path / f"once{suffix}")
    path = tmp_path / f"out{suffix}"
    times = [frame.time for frame in source]
    made = pieces_of(source, tmp_path, suffix, cuts, codec=codec)
    dropped = join(made, times, source.info, path, overwrite=False, **KEPT)
    joined = FileSource(path)
    assert dropped.streams == sink.dropped_streams and joined.info.orientation == once.info.orientation
    pairs = list(zip(once, joined, strict=True))
    assert len(pairs) == 40 and all(a.time == b.time for a, b in pairs)
    apart = [float(np.abs(a.planes.y.astype(int) - b.planes.y).mean()) for a, b in pairs]
    assert max(apart) < 8, "grey levels, the codec's doing: the texture is noise, whose next picture is 40 apart"
    assert packets(path, "audio") == packets(tmp_path / f"once{suffix}", "audio")
    # Matroska's own word about the average rate is not handed on; times say it.
    like = {"path": recording, "duration": None, "frames": None, "average_rate": Fraction(25)}
    assert replace(joined.info, **like) == replace(once.info, **like)  # type: ignore[arg-type]


def test_sound_can_stay_behind(tmp_path: Path) -> None:
    source = FileSource(encode(tmp_path / "in.mp4", frames=20, audio=("aac",)))
    made = pieces_of(source, tmp_path, ".mp4", (10,))
    times = [frame.time for frame in source]
    join(made, times, source.info, tmp_path / "out.mp4", overwrite=False, **(KEPT | {"audio": False}))
    assert packets(tmp_path / "out.mp4", "audio") == []


def test_what_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    source = FileSource(encode(tmp_path / "in.mp4", frames=20))
    times = [frame.time for frame in source]
    made = pieces_of(source, tmp_path, ".mp4", (10,))
    (tmp_path / "other").mkdir()
    other = pieces_of(source, tmp_path / "other", ".mp4", (10,), codec="mpeg4")
    path = tmp_path / "out.mp4"
    for pieces, moments, words in (
        (made[:1], times, "have 10 frames, not 20"),
        ([made[1], made[0]], times, "do not follow"),
        (made, [time + Fraction(1, 100) for time in times], "would not have its time"),
        ([made[0], other[1]], times, "in different ways"),
    ):
        with pytest.raises(OutputError, match=words):
            join(pieces, moments, source.info, path, overwrite=False, **KEPT)
        assert not path.exists() and not [one for one in tmp_path.iterdir() if ".partial" in one.name]
    path.write_text("mine")
    with pytest.raises(SettingsError, match="exists already"):
        join(made, times, source.info, path, overwrite=False, **KEPT)
    assert path.read_text() == "mine"
