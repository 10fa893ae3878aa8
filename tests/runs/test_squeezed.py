"""Drawn people in pixels that are not square are covered as others are, whichever way the pictures come."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid import Face, Filter, Frame, Settings
from streamdeid.aam.fit import FitModel
from streamdeid.analysis import layout
from streamdeid.analysis.edits import CoverRegion, Edits, RemoveRedaction, Span
from streamdeid.analysis.edits_file import write_edits
from streamdeid.analysis.read_analysis import read_analysis
from streamdeid.analysis.records import AnalysisHeader
from streamdeid.core.frames import Planes
from streamdeid.core.square_pixels import frame_of, resized
from streamdeid.core.status import Arrival
from streamdeid.errors import SettingsError
from streamdeid.protect.region import Region
from streamdeid.review.pictures import Pictures
from streamdeid.runs.analysed import why_not_decided_so
from streamdeid.runs.files import filter_file
from streamdeid.runs.live import LiveFilter
from streamdeid.surrogates.gallery import Gallery
from streamdeid.synthetic.people import SyntheticFrame, synthetic_people
from streamdeid.video.files.source import FileSource
from streamdeid.video.picture_memory import picture_of
from tests.live_fakes import FakeCamera, FakeParts, FakeReceiver, planes
from tests.synthetic_video import ROTATIONS, set_display_matrix

SHOWN = 480, 272
RATE = 10


@pytest.fixture(scope="module")
def drawn(fitting: FitModel, gallery: Gallery) -> list[SyntheticFrame]:
    """Two people, side by side."""
    return list(synthetic_people(fitting, gallery, people=2, seconds=1.2, size=SHOWN, rate=RATE))


def squeezed(path: Path, pictures: Sequence[Planes], stored: tuple[int, int], aspect: Fraction) -> Path:
    """Store pictures in another size, with the aspect with which they look the same."""
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("libx264", rate=RATE, options={"crf": "12"})
        (stream.width, stream.height), stream.pix_fmt = stored, "yuv420p"
        stream.codec_context.sample_aspect_ratio = aspect
        for index, one in enumerate(pictures):
            picture = picture_of(resized(one, stored), *stored)
            picture.pts, picture.time_base = index, Fraction(1, RATE)
            output.mux(stream.encode(picture))
        output.mux(stream.encode(None))
    return path


def changed(before: Planes, after: Planes, box: Sequence[float]) -> float:
    """Share of the pixels in the middle of a box, in pixels as they are shown, that are not the input's any more."""
    x, y = (side / whole for side, whole in zip(before.size, SHOWN, strict=True))
    dx, dy = (box[2] - box[0]) / 4, (box[3] - box[1]) / 4
    x0, y0, x1, y1 = (round(v) for v in ((box[0] + dx) * x, (box[1] + dy) * y, (box[2] - dx) * x, (box[3] - dy) * y))
    difference = np.abs(before.y[y0:y1, x0:x1].astype(int) - after.y[y0:y1, x0:x1])
    return float((difference > 6).mean())


def covered(path: Path, output: Path, drawn: Sequence[SyntheticFrame], settings: Settings = Settings()) -> float:
    """Filter a recording; the share of the faces that show a synthetic one, 0 where the original's pixels are left."""
    report = filter_file(path, output, replace(settings, overwrite=True))
    sides = (FileSource(one, pixel_aspect=Fraction(1)) for one in (path, output))
    shares = [
        changed(before.planes, after.planes, truth.box)
        for one, before, after in zip(drawn, *sides, strict=True)
        for truth in one.truths
    ]
    return report.levels.get("own face", 0) / len(shares) if min(shares) > 0.3 else 0.0


@pytest.mark.parametrize(
    ("aspect", "stored"),
    [("1/2", (480, 136)), ("2", (240, 272)), ("1/4", (480, 68)), ("4", (120, 272)), ("16/11", (330, 272))],
)
def test_squeezed_people_are_covered(tmp_path: Path, drawn: list[SyntheticFrame], aspect: str, stored: Any) -> None:
    path = squeezed(tmp_path / "a.mp4", [one.frame.planes for one in drawn], stored, Fraction(aspect))
    squared = covered(path, tmp_path / "b.mp4", drawn)
    assert squared > 0.8
    info = FileSource(tmp_path / "b.mp4").info
    assert info.stored_size == stored and info.sample_aspect_ratio == Fraction(aspect)
    if aspect in ("2", "1/4", "4"):  # as it would be without
        # (at 2:1 the survey, the five points and looks at what waits find most of them even so)
        as_stored = covered(path, tmp_path / "c.mp4", drawn, Settings(pixel_aspect="1:1"))
        assert as_stored < (squared if aspect == "2" else 0.2)


def test_a_camera_that_says_nothing_is_helped(tmp_path: Path, drawn: list[SyntheticFrame]) -> None:
    path = squeezed(tmp_path / "a.mp4", [one.frame.planes for one in drawn], (480, 68), Fraction(1))
    assert covered(path, tmp_path / "b.mp4", drawn) < 0.2
    assert covered(path, tmp_path / "b.mp4", drawn, Settings(pixel_aspect="1:4")) > 0.8


def test_squeezed_people_in_a_turned_recording_are_covered(tmp_path: Path, drawn: list[SyntheticFrame]) -> None:
    """Stored lying, shown upright: its wide pixels are high ones then."""
    lying = []
    for one in drawn:
        small = resized(one.frame.planes, (480, 68))
        lying.append(Planes(*(np.ascontiguousarray(np.rot90(plane, -1)) for plane in (small.y, small.u, small.v))))
    path = squeezed(tmp_path / "a.mp4", lying, (68, 480), Fraction(4))
    set_display_matrix(path, ROTATIONS[90])
    assert FileSource(path).info.stored_size == (480, 68)
    assert covered(path, tmp_path / "b.mp4", drawn) > 0.8
    assert FileSource(tmp_path / "b.mp4").info.sample_aspect_ratio == Fraction(4)


def test_two_passes_cover_squeezed_people(tmp_path: Path, drawn: list[SyntheticFrame]) -> None:
    path = squeezed(tmp_path / "a.mp4", [one.frame.planes for one in drawn], (120, 272), Fraction(4))
    assert covered(path, tmp_path / "b.mp4", drawn, Settings(decisions="whole-file")) > 0.8


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory, drawn: list[SyntheticFrame]) -> tuple[Path, Settings]:
    """A squeezed recording with its output b.mp4 and analysis a.analysis; settings with a key."""
    place = tmp_path_factory.mktemp("reviewed")
    key = place / "key"
    key.write_bytes(bytes(range(32)))
    key.chmod(0o600)
    settings = Settings(key_file=key, overwrite=True)
    path = squeezed(place / "a.mp4", [one.frame.planes for one in drawn], (480, 68), Fraction(1, 4))
    filter_file(path, place / "b.mp4", settings, analysis=place / "a.analysis")
    return path, settings


def test_an_analysis_is_in_square_pixels_and_says_so(
    reviewed: tuple[Path, Settings], drawn: list[SyntheticFrame]
) -> None:
    path, _ = reviewed
    analysis = read_analysis(path.with_name("a.analysis"))
    header = analysis.header
    assert (header.width, header.height) == SHOWN and header.settings["pixel_aspect"] == "1:4"
    assert layout.fits(header, 2) and not layout.fits(header, 1)
    for record, one in zip(analysis.frames, drawn, strict=True):
        for truth in one.truths:
            x, y = (truth.box[0] + truth.box[2]) / 2, (truth.box[1] + truth.box[3]) / 2
            assert any(d.box[0] < x < d.box[2] and d.box[1] < y < d.box[3] for d in record.decisions)


def test_an_older_analysis_is_of_stored_pixels(reviewed: tuple[Path, Settings]) -> None:
    """It said nothing of the shape: it fits a run that takes the pixels as stored, and no other."""
    path, settings = reviewed
    now = read_analysis(path.with_name("a.analysis")).header
    plain = FileSource(path, pixel_aspect=Fraction(1)).info
    older = AnalysisHeader(
        now.input, plain.width, plain.height, now.rate,
        {name: value for name, value in now.settings.items() if name != "pixel_aspect"},
        now.model_sha256, now.gallery_sha256,
    )  # fmt: skip
    as_stored = replace(older, settings={**now.settings, "pixel_aspect": "1:1"})
    assert layout.fits(older, 1) and layout.fits(as_stored, 1)
    assert why_not_decided_so(older, as_stored) is None
    assert why_not_decided_so(older, now) == "pixel aspect was 1:1, and is 1:4"
    other = replace(settings, pixel_aspect="1:1", overwrite=False)
    with pytest.raises(SettingsError, match="pixel aspect was 1:4, and is 1:1"):
        filter_file(path, path.with_name("c.mp4"), other, analysis=path.with_name("a.analysis"))


def test_the_desk_shows_square_pixels(reviewed: tuple[Path, Settings]) -> None:
    path, _ = reviewed
    analysis = read_analysis(path.with_name("a.analysis"))
    times = [float(record.time) for record in analysis.frames]
    for size in (SHOWN, (480, 68)):  # of an older analysis
        pictures = Pictures(path, path.with_name("b.mp4"), times, size)
        with av.open(io.BytesIO(pictures.original(3))) as container:
            picture = next(iter(container.decode(video=0)))  # type: ignore[union-attr]
            assert (picture.width, picture.height) == size
        pictures.close()


def test_edits_of_squeezed_pictures_are_where_a_hand_drew_them(
    reviewed: tuple[Path, Settings], tmp_path: Path, drawn: list[SyntheticFrame]
) -> None:
    path, settings = reviewed
    analysis = read_analysis(path.with_name("a.analysis"))
    box = (10.0, 200.0, 70.0, 260.0)
    first = min(one.track for one in analysis.frames[5].decisions)
    (place,) = (one.place for one in analysis.frames[5].decisions if one.track == first)
    done = (CoverRegion(box, Span(4, 6)), RemoveRedaction(first, Span(4, 6)))
    write_edits(tmp_path / "e.json", Edits(analysis.header.input.sha256, len(analysis.frames), done))
    output = tmp_path / "b.mp4"
    filter_file(path, output, settings, analysis=path.with_name("a.analysis"), edits=tmp_path / "e.json")
    before, after = (list(FileSource(one, pixel_aspect=Fraction(1))) for one in (path, output))
    assert changed(before[5].planes, after[5].planes, box) > 0.95
    assert changed(before[5].planes, after[5].planes, place) < 0.1
    assert changed(before[8].planes, after[8].planes, place) > 0.3


def test_the_library_takes_the_aspect_from_the_settings() -> None:
    """Region and face lie where the stored picture has them; all else comes back bit for bit."""
    rng = np.random.default_rng(4)
    picture: NDArray[np.uint8] = rng.integers(60, 200, (60, 240, 3), np.uint8)
    sizes = []

    def detect(frame: Frame, /) -> Sequence[Face]:
        sizes.append(frame.planes.size)
        return [Face((140.0, 80.0, 200.0, 160.0), 1.0, None, evidence=1.0)]

    settings = Settings(method="blackout", pixel_aspect="1:4", regions=(Region(10, 20, 30, 20),))
    with Filter(settings, detect=detect, self_test=False) as filter:
        out = [filter(picture) for _ in range(5)][-1]
    assert set(sizes) == {(240, 240)}
    assert (out[20:40, 10:40].reshape(-1, 3) == out[20, 10]).all()
    assert (out[24:36, 155:185] != picture[24:36, 155:185]).any(axis=2).all()
    far = np.s_[:, 60:90]
    assert np.array_equal(out[far], picture[far])


def test_regions_are_in_stored_pixels(tmp_path: Path) -> None:
    grey = [planes(40, (96, 64))] * 3
    path = squeezed(tmp_path / "a.mp4", grey, (96, 64), Fraction(1, 2))
    settings = Settings(method="blackout", regions=(Region(20, 30, 40, 20),), overwrite=True)
    report = filter_file(path, tmp_path / "b.mp4", settings)
    assert report.picture.width == 96 and report.picture.height == 64 and report.filled_regions == 3
    after = FileSource(tmp_path / "b.mp4", pixel_aspect=Fraction(1))
    for frame in after:
        assert (frame.planes.y[30:50, 20:60] > 90).all() and (frame.planes.y[:24] < 60).all()
        assert (frame.planes.y[58:] < 60).all() and (frame.planes.y[:, 68:] < 60).all()


def test_a_live_stream_whose_pixels_change_their_shape_begins_anew() -> None:
    camera, receiver, parts = FakeCamera(ends=True), FakeReceiver(), FakeParts()
    for index, aspect in enumerate([Fraction(1, 2)] * 2 + [Fraction(2)] * 2):
        frame = frame_of(planes(50 + index), Fraction(index, 25), index, aspect, aspect)
        camera.waiting.append(Arrival(frame, time.monotonic(), 1, 25.0))
    live = LiveFilter(camera, receiver, parts)
    live.run(threading.Event())
    status = live.status()
    live.close()
    assert [size for size, _ in parts.built] == [(64, 96), (128, 48)] and parts.built[1][1] is not None
    assert [frame.aspect for frame in receiver.frames] == [Fraction(1, 2)] * 2 + [Fraction(2)] * 2
    assert {frame.planes.size for frame in receiver.frames} == {(64, 48)} and status.size == (64, 48)
