"""Fixed regions: filled in every frame, last of all, to the pixel and its chroma; wrong ones refused in one line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid import Filter, Settings
from streamdeid.cli.main import main
from streamdeid.core.colour import planes_from_rgb
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Frame, Planes
from streamdeid.errors import SettingsError
from streamdeid.protect.fixed_regions import REGION, FixedRegions
from streamdeid.protect.mask_faces import MaskFaces
from streamdeid.protect.plan import at_once
from streamdeid.protect.region import Region, read_region
from streamdeid.video.files.source import FileSource
from tests.synthetic_video import ROTATIONS, encode, set_display_matrix

GREY, NEUTRAL = 128, 128


def noisy(width: int, height: int, seed: int = 1, index: int = 0) -> Frame:
    """A frame of noise without a grey or colourless value."""
    rng = np.random.default_rng(seed)
    half = (height + 1) // 2, (width + 1) // 2
    planes = [rng.integers(0, 100, shape, dtype=np.uint8) for shape in ((height, width), half, half)]
    return Frame(Planes(*planes), Fraction(index, 25), index)


@pytest.mark.parametrize(
    "text",
    ["", "1,2,3", "1,2,3,4,5", "a,b,c,d", "0,0,0,10", "0,0,10,-1", "nan,0,1,1", "0,inf,1,1", "1,2,3,4px", "0,0,1e9,1"],
)
def test_what_is_no_region_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_region(text)
    assert "region" in str(caught.value) and "\n" not in str(caught.value)


def test_a_region_is_read_in_pixels_or_percent() -> None:
    assert read_region("1, 2.5,30,40") == Region(1, 2.5, 30, 40)
    assert read_region("0,90%,100%,10%").on((640, 361)) == (0, pytest.approx(324.9), 640, 361)
    assert read_region(str(read_region("-5,10%,20,3.5%"))) == read_region("-5,10%,20,3.5%")
    assert read_region("600,-10,100,20").on((640, 360)) == (600, -10, 700, 10)


@pytest.mark.parametrize("text", ["640,0,10,10", "0,360,10,10", "-20,0,20,10", "0,-20,10,20", "101%,0,10,10"])
def test_a_region_that_does_not_touch_the_picture_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="outside the picture"):
        read_region(text).on((640, 360))
    outer = FixedRegions(MaskFaces("blackout"), [read_region(text)])
    with pytest.raises(SettingsError, match="outside the picture"):
        at_once(outer, noisy(640, 360), [])


@settings(max_examples=60, deadline=None)
@given(
    size=st.tuples(st.integers(2, 41), st.integers(2, 41)),
    place=st.tuples(st.integers(-10, 40), st.integers(-10, 40)),
    extent=st.tuples(st.integers(1, 50), st.integers(1, 50)),
)
def test_every_touched_pixel_and_chroma_sample_is_filled_and_no_other(
    size: tuple[int, int], place: tuple[int, int], extent: tuple[int, int]
) -> None:
    (width, height), (x, y), (across, down) = size, place, extent
    if x >= width or y >= height or x + across <= 0 or y + down <= 0:
        return
    frame = noisy(width, height)
    out = at_once(FixedRegions(MaskFaces("blackout"), [Region(x, y, across, down)]), frame, []).planes
    inside = np.zeros((height, width), np.bool_)
    inside[max(y, 0) : y + down, max(x, 0) : x + across] = True
    assert (out.y[inside] == GREY).all()
    assert np.array_equal(out.y[~inside], frame.planes.y[~inside])
    padded = np.pad(inside, ((0, height % 2), (0, width % 2)))
    touched = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2).any(axis=(1, 3))
    for before, after in ((frame.planes.u, out.u), (frame.planes.v, out.v)):
        assert (after[touched] == NEUTRAL).all()
        assert np.array_equal(after[~touched], before[~touched])


def test_a_region_is_filled_over_the_faces_and_is_no_face() -> None:
    frame = noisy(320, 240)
    box = (100.0, 80.0, 160.0, 150.0)
    track = Track(1, box, Face(box, 0.9), 0, False)
    outer = FixedRegions(MaskFaces("blackout"), [Region(90, 70, 40, 40), Region(0, 0, 1, 1)])
    done = at_once(outer, frame, [track])
    assert (done.planes.y[70:110, 90:130] == GREY).all()
    assert (done.planes.y[120:140, 135:150] == 16).all()
    assert [(redaction.track, redaction.level) for redaction in done.redactions] == [
        (1, "mask"),
        (0, REGION),
        (0, REGION),
    ]


def run(clip: Path, *options: str, output: str = "out.mp4") -> tuple[int, Path]:
    """Filter a clip; the exit code and where the result is to lie."""
    place = clip.with_name(output)
    return main(["filter", str(clip), str(place), "--quiet", *options]), place


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four frames without faces, 96 x 64."""
    return encode(tmp_path_factory.mktemp("region") / "clip.mp4", frames=4, size=(96, 64))


@pytest.mark.parametrize("method", ["k-diff-furthest", "blackout"])
def test_the_file_has_the_region_and_the_report_counts_it(clip: Path, method: str) -> None:
    report = clip.with_name("report.json")
    options = ["--method", method, "--region", "8,8,31,20", "--region=75%,-5,60,30", "--report", str(report)]
    code, output = run(clip, *options, "--overwrite")
    assert code == 0
    for frame in FileSource(output):
        assert abs(frame.planes.y[10:26, 10:37].astype(int) - GREY).max() < 12
        assert abs(frame.planes.y[1:23, 75:].astype(int) - GREY).max() < 12
        assert frame.planes.y[40:].std() > 5
    told = json.loads(report.read_text())
    assert told["choice"]["regions"] == ["8,8,31,20", "75%,-5,60,30"]
    assert (told["files"][0]["filled_regions"], told["files"][0]["faces"], told["files"][0]["shown"]) == (8, 0, 0)
    assert main(["audit", str(report)]) == 0


def test_a_region_is_of_the_picture_as_it_is_displayed(tmp_path: Path) -> None:
    clip = set_display_matrix(encode(tmp_path / "turned.mp4", frames=3, size=(96, 64)), ROTATIONS[90])
    code, output = run(clip, "--region", "0,0,64,24")
    assert code == 0
    for frame in FileSource(output):
        assert frame.planes.size == (64, 96)
        assert abs(frame.planes.y[2:22].astype(int) - GREY).max() < 12
        assert frame.planes.y[40:].std() > 5


@pytest.mark.parametrize("text", ["96,0,5,5", "1,2,3", "0,0,0,5", "60,0,5,5,5"])
def test_a_wrong_region_ends_the_run_with_code_2_one_line_and_no_file(
    clip: Path, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, output = run(clip, "--region", text, output="never.mp4")
    assert code == 2 and not output.exists()
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1 and "region" in lines[0]


def test_the_library_fills_a_region_even_where_the_planes_are_its_colour_already() -> None:
    picture = np.empty((60, 80, 3), np.uint8)
    picture[:], picture[::2, ::2], picture[1::2, 1::2] = (128, 158, 69), (128, 98, 187), (128, 98, 187)
    assert (planes_from_rgb(np.ascontiguousarray(picture[:, :, ::-1])).u == NEUTRAL).all()
    with Filter(Settings(regions=(Region(11, 7, 20, 30),)), detect=lambda _: [], self_test=False) as filter:
        out = filter(picture)
    assert (abs(out[7:37, 11:31].astype(int) - GREY) <= 2).all()
    assert np.array_equal(out[40:], picture[40:]) and np.array_equal(out[:, 40:], picture[:, 40:])
