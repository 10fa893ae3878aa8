"""Pixels that are not square: recordings and cameras give them square, outputs have them as they came."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes
from streamdeid.core.square_pixels import resized
from streamdeid.errors import InputError
from streamdeid.video.files.seeking import SeekingSource
from streamdeid.video.files.sink import FileSink
from streamdeid.video.files.source import FileSource
from streamdeid.video.live.fewer import smaller
from streamdeid.video.live.sink import LiveSink
from streamdeid.video.live.source import Handed, LiveSource
from tests.synthetic_video import ROTATIONS, encode, set_display_matrix


def changing(path: Path, *aspects: Fraction) -> Path:
    """A raw H.264 stream whose pixel aspect changes, 20 frames of each; nothing beside the coded pictures says it."""
    parts = [path.with_name(f"{number}.h264") for number in range(len(aspects))]
    for part, aspect in zip(parts, aspects, strict=True):
        encode(part, frames=20, size=(64, 48), sample_aspect_ratio=aspect)
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.ts", "a.avi"])
@pytest.mark.parametrize(("aspect", "square"), [("1/2", (64, 96)), ("2", (128, 48)), ("16/11", (94, 48))])
def test_frames_have_square_pixels_and_carry_the_stored_ones(
    tmp_path: Path, name: str, aspect: str, square: tuple[int, int]
) -> None:
    source = FileSource(encode(tmp_path / name, frames=3, size=(64, 48), sample_aspect_ratio=Fraction(aspect)))
    as_it_is = FileSource(source.path, pixel_aspect=Fraction(1))
    assert (source.info.width, source.info.height) == square and source.info.stored_size == (64, 48)
    for frame, plain in zip(source, as_it_is, strict=True):
        assert frame.planes.size == square and frame.aspect == Fraction(aspect) == plain.aspect
        assert np.array_equal(frame.as_stored.y, plain.planes.y) and plain.stored is None
        assert np.array_equal(frame.planes.u, resized(plain.planes, square).u)


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_the_aspect_turns_with_the_picture(tmp_path: Path, rotation: int) -> None:
    path = encode(tmp_path / "a.mp4", frames=2, size=(96, 64), sample_aspect_ratio=Fraction(2))
    source = FileSource(set_display_matrix(path, ROTATIONS[rotation]))
    lies = rotation == 180
    assert source.info.stored_size == ((96, 64) if lies else (64, 96)) and source.info.coded_size == (96, 64)
    assert (source.info.width, source.info.height) == ((192, 64) if lies else (64, 192))
    frame = next(iter(source))
    assert frame.planes.size == ((192, 64) if lies else (64, 192))
    assert frame.aspect == (Fraction(2) if lies else Fraction(1, 2))
    given = FileSource(path, pixel_aspect=Fraction(4))
    assert next(iter(given)).planes.size == ((384, 64) if lies else (256, 96)), (
        "a user's word is of the upright picture"
    )


@pytest.mark.parametrize("name", ["b.mp4", "b.mkv", "b.ts"])
def test_an_output_has_size_and_aspect_of_the_input(tmp_path: Path, name: str) -> None:
    path = encode(tmp_path / "a.mp4", frames=4, size=(96, 64), sample_aspect_ratio=Fraction(1, 2))
    source = FileSource(path, pixel_aspect=Fraction(1, 4))
    with FileSink(tmp_path / name, source.info) as sink:
        for frame in source:
            sink.write(DeidentifiedFrame(frame.as_stored, frame.time, frame.index))
    info = FileSource(tmp_path / name).info
    assert info.stored_size == (96, 64) and info.sample_aspect_ratio == Fraction(1, 2)


def test_a_recording_whose_pixels_change_their_shape_is_refused(tmp_path: Path) -> None:
    path = changing(tmp_path / "a.h264", Fraction(16, 15), Fraction(64, 45))
    with pytest.raises(
        InputError, match=r"changes the shape of its pixels after frame \d+, from 16:15 to 64:45.*--pixel"
    ):
        list(FileSource(path))
    for given, square in (("1", (64, 48)), ("64/45", (92, 48))):
        frames = list(FileSource(path, pixel_aspect=Fraction(given)))
        assert len(frames) == 40 and {frame.planes.size for frame in frames} == {square}


def test_a_small_change_of_the_shape_is_none(tmp_path: Path) -> None:
    assert len(list(FileSource(changing(tmp_path / "a.h264", Fraction(16, 15), Fraction(12, 11))))) == 40


def test_pixels_of_an_impossible_shape_are_asked_about(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mkv", frames=3, size=(64, 48), sample_aspect_ratio=Fraction(9))
    with pytest.raises(InputError, match=r"a.mkv says that its pixels are 9:1.*--pixel-aspect"):
        FileSource(path)
    assert len(list(FileSource(path, pixel_aspect=Fraction(1)))) == 3


def test_frames_asked_for_by_number_come_in_the_size_that_was_analysed(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4", frames=5, size=(64, 48), sample_aspect_ratio=Fraction(2))
    with SeekingSource(path, size=(128, 48)) as squared, SeekingSource(path) as stored:
        for number, frame in enumerate(FileSource(path)):
            assert np.array_equal(squared.frame(number).y, frame.planes.y)
            assert np.array_equal(squared.beside(1 << 20).frame(number).y, frame.planes.y)
            assert np.array_equal(stored.frame(number).y, frame.as_stored.y)


def arrivals(path: Path, handed: Handed = Handed()) -> list[Frame]:
    """The frames of a file that is replayed as a camera, as many as were taken."""
    source = LiveSource(str(path), realtime=True, handed=handed)
    source.start()
    found = []
    try:
        while not source.ended:
            arrival = source.take(0.2)
            if arrival is not None:
                found.append(arrival.frame)
    finally:
        source.close()
    return found


def test_a_camera_gives_square_pixels_and_changes_with_its_stream(tmp_path: Path) -> None:
    path = changing(tmp_path / "a.h264", Fraction(1, 2), Fraction(2))
    frames = arrivals(path)
    sizes = [frame.planes.size for frame in frames]
    assert set(sizes) == {(64, 96), (128, 48)} and sizes[0] == (64, 96) and sizes[-1] == (128, 48)
    assert {frame.as_stored.size for frame in frames} == {(64, 48)}
    assert all(
        frame.aspect == (Fraction(1, 2) if size == (64, 96) else 2) for frame, size in zip(frames, sizes, strict=True)
    )
    assert {frame.planes.size for frame in arrivals(path, Handed(pixel_aspect=Fraction(1)))} == {(64, 48)}


def test_a_turned_camera_gives_its_pixels_square(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mp4", frames=3, size=(96, 64), sample_aspect_ratio=Fraction(2))
    (size,) = {frame.planes.size for frame in arrivals(set_display_matrix(path, ROTATIONS[90]))}
    assert size == (64, 192)


def test_a_camera_with_pixels_of_an_impossible_shape_is_refused(tmp_path: Path) -> None:
    path = encode(tmp_path / "a.mkv", frames=3, size=(64, 48), sample_aspect_ratio=Fraction(9))
    with pytest.raises(InputError, match="it says that its pixels are 9:1"):
        arrivals(path)
    assert arrivals(path, Handed(pixel_aspect=Fraction(1)))


def test_the_lines_of_a_camera_are_those_that_are_filtered() -> None:
    half = np.full((144, 352), 128, np.uint8)
    planes = Planes(np.zeros((288, 704), np.uint8), half, half)
    assert smaller(planes, 360) is planes
    assert smaller(planes, 360, Fraction(1, 2)).size == (440, 180)
    assert smaller(planes, 576, Fraction(1, 2)) is planes


def shown(index: int, aspect: Fraction | None) -> DeidentifiedFrame:
    """A grey picture."""
    half = np.full((24, 32), 128, np.uint8)
    return DeidentifiedFrame(
        Planes(np.full((48, 64), 90, np.uint8), half, half), Fraction(index, 25), index, (), aspect
    )


@pytest.mark.parametrize("name", ["out.mp4", "out.ts", "out.mkv"])
def test_a_live_output_says_the_aspect_and_begins_anew_when_it_changes(tmp_path: Path, name: str) -> None:
    sink = LiveSink(str(tmp_path / name))
    for count, aspect in enumerate((Fraction(1, 2), Fraction(16, 11)), 1):
        end = time.monotonic() + 60
        sink.write(shown(count, aspect), 25.0)
        while sink.state().openings < count or sink.state().written < count:
            assert time.monotonic() < end, sink.state()
            time.sleep(0.01)
    sink.close()
    said = []
    for path in sorted(tmp_path.glob("out*")):
        with av.open(str(path)) as container:
            said.append(Fraction(container.streams.video[0].sample_aspect_ratio or 0))
    assert sorted(said) == [Fraction(1, 2), Fraction(16, 11)]
